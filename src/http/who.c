/* SPDX-License-Identifier: Apache-2.0 */
/* From what was shown to a role. */
#include "http/who.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "http/role.h"

#define CACHE_S 60 /* a certificate that expires meanwhile is good for so long */

static void set_who(struct pd_who *who, enum pd_role role, const char *name)
{
    who->role = role;
    snprintf(who->name, sizeof who->name, "%s", name);
}

/* 0 when there is none. */
static int take_certificate(const struct pd_credentials_set *set, gnutls_session_t session,
                            struct pd_who *who)
{
    enum pd_role role;
    char name[PD_TLS_NAME_BYTES];
    int e = session && set->tls.ca ? pd_tls_who(&set->tls, session, &role, name, &who->why)
                                   : -PD_E_NOT_FOUND;

    if (!e) {
        set_who(who, role, name);
    }
    return e == -PD_E_NOT_FOUND ? 0 : e;
}

static int take_certificate_once(const struct pd_credentials_set *set, gnutls_session_t session,
                                 struct pd_who_cache *cache, struct pd_who *who)
{
    uint64_t now_ns = pd_clock_monotonic_ns();

    if (cache->generation != set->generation || cache->until_ns <= now_ns) {
        *cache = (struct pd_who_cache){.generation = set->generation,
                                       .until_ns = now_ns + CACHE_S * PD_NS_PER_S};
        cache->result = take_certificate(set, session, &cache->who);
    }
    *who = cache->who;
    return cache->result;
}

static int take_token(const struct pd_credentials_set *set, const char *authorization,
                      struct pd_who *who)
{
    static const char scheme[] = "Bearer ";
    const struct pd_token *token = NULL;

    if (!authorization) {
        return 0;
    }
    if (strncasecmp(authorization, scheme, strlen(scheme)) != 0) {
        return pd_fail(&who->why, -PD_E_UNAUTHORIZED, "only bearer tokens are taken");
    }
    authorization += strlen(scheme);
    if (set->has_tokens) {
        token = pd_tokens_find(&set->tokens, authorization, strlen(authorization));
    }
    if (!token) {
        return pd_fail(&who->why, -PD_E_UNAUTHORIZED, "the bearer token is not known here");
    }
    set_who(who, token->role, token->name);
    return 0;
}

void pd_who(const struct pd_credentials_set *set, gnutls_session_t session,
            const char *authorization, struct pd_who_cache *cache, struct pd_who *ret_who)
{
    struct pd_who who = {.role = PD_ROLE_NONE};
    int e;

    if (pd_credentials_open(set)) {
        set_who(&who, PD_ROLE_ADMIN, "local");
        *ret_who = who;
        return;
    }
    e = take_certificate_once(set, session, cache, &who);
    if (!e) {
        e = take_token(set, authorization, &who);
    }
    if (e) {
        set_who(&who, PD_ROLE_NONE, "");
    } else if (who.role == PD_ROLE_NONE) {
        pd_fail(&who.why, -PD_E_UNAUTHORIZED, "%s is needed here",
                !session || !set->tls.ca ? "a bearer token"
                : set->has_tokens        ? "a client certificate or a bearer token"
                                         : "a client certificate");
    }
    *ret_who = who;
}
