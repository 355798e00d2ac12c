/* SPDX-License-Identifier: Apache-2.0 */
/* From what was shown to a role. */
#include "http/principal.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "http/role.h"

#define CACHE_S 60 /* a certificate that expires meanwhile is good for so long */

static void set_principal(struct pd_http_principal *principal, enum pd_role role, const char *name)
{
    principal->role = role;
    snprintf(principal->name, sizeof principal->name, "%s", name);
}

/* 0 when there is none. */
static int take_certificate(const struct pd_credentials_set *set, gnutls_session_t session,
                            struct pd_http_principal *principal)
{
    enum pd_role role;
    char name[PD_TLS_NAME_BYTES];
    int err = session && set->tls.ca
                  ? pd_http_tls_principal(&set->tls, session, &role, name, &principal->why)
                  : -PD_E_NOT_FOUND;

    if (!err) {
        set_principal(principal, role, name);
    }
    return err == -PD_E_NOT_FOUND ? 0 : err;
}

static int take_certificate_once(const struct pd_credentials_set *set, gnutls_session_t session,
                                 struct pd_http_principal_cache *cache,
                                 struct pd_http_principal *principal)
{
    uint64_t now_ns = pd_clock_monotonic_ns();

    if (cache->generation != set->generation || cache->until_ns <= now_ns) {
        *cache = (struct pd_http_principal_cache){.generation = set->generation,
                                                  .until_ns = now_ns + CACHE_S * PD_NS_PER_S};
        cache->result = take_certificate(set, session, &cache->principal);
    }
    *principal = cache->principal;
    return cache->result;
}

static int take_token(const struct pd_credentials_set *set, const char *authorization,
                      struct pd_http_principal *principal)
{
    static const char scheme[] = "Bearer ";
    const struct pd_token *token = NULL;

    if (!authorization) {
        return 0;
    }
    if (strncasecmp(authorization, scheme, strlen(scheme)) != 0) {
        return pd_fail(&principal->why, -PD_E_UNAUTHORIZED, "only bearer tokens are taken");
    }
    authorization += strlen(scheme);
    if (set->has_tokens) {
        token = pd_http_tokens_find(&set->tokens, authorization, strlen(authorization));
    }
    if (!token) {
        return pd_fail(&principal->why, -PD_E_UNAUTHORIZED, "the bearer token is not known here");
    }
    set_principal(principal, token->role, token->name);
    return 0;
}

void pd_http_principal_find(const struct pd_credentials_set *set, gnutls_session_t session,
                            const char *authorization, struct pd_http_principal_cache *cache,
                            struct pd_http_principal *ret_principal)
{
    struct pd_http_principal principal = {.role = PD_ROLE_NONE};
    int err;

    if (pd_http_credentials_open(set)) {
        set_principal(&principal, PD_ROLE_ADMIN, "local");
        *ret_principal = principal;
        return;
    }
    err = take_certificate_once(set, session, cache, &principal);
    if (!err) {
        err = take_token(set, authorization, &principal);
    }
    if (err) {
        set_principal(&principal, PD_ROLE_NONE, "");
    } else if (principal.role == PD_ROLE_NONE) {
        pd_fail(&principal.why, -PD_E_UNAUTHORIZED, "%s is needed here",
                !session || !set->tls.ca ? "a bearer token"
                : set->has_tokens        ? "a client certificate or a bearer token"
                                         : "a client certificate");
    }
    *ret_principal = principal;
}
