/* SPDX-License-Identifier: Apache-2.0 */
/* Who sent a request: from a client certificate, a bearer token, or the socket it came through. */
#ifndef PD_HTTP_PRINCIPAL_H
#define PD_HTTP_PRINCIPAL_H

#include <gnutls/gnutls.h>

#include "http/credentials.h"
#include "http/server.h"
#include "http/tls.h"
#include "http/tokens.h"

/* All that is shown must be good: a bad certificate is not mended by a good token, nor the other
 * way round. With both, the token gives the role. Where a server has neither a CA nor tokens it
 * listens on loopback only, and who can log in to this host is an admin; at a unix socket the
 * file's permissions decide.
 *
 * Thread safety: pure. */

struct pd_credentials_set {
    unsigned holders; /* under the lock of struct pd_credentials */
    struct pd_credentials *owner;
    uint64_t generation;
    char *cert, *key, *ca; /* PEM, as clients need them; NULL: none */
    char crl[32];          /* name of a file for as long as the set lives; "": none */
    int crl_fd;            /* which that is; -1 */
    char *token_out;
    bool has_tokens;
    struct pd_tokens tokens;
    struct pd_tls tls;
};

struct pd_http_principal {
    enum pd_role role;
    char name[64];
    bool page;           /* a page in a browser asks in his name */
    struct pd_error why; /* of PD_ROLE_NONE */
};

/* What verifying the certificate of a connection has given, for a while: it costs more than all the
 * rest of a small request. */
struct pd_http_principal_cache {
    uint64_t generation; /* of the set that it was verified with; 0: never */
    uint64_t until_ns;   /* monotonic */
    int result;
    struct pd_http_principal principal;
};

/* `set` NULL, or one with nothing to know anybody by: everybody is an admin. `session` NULL: no
 * TLS; `authorization`: that header or NULL. `cache` is the connection's, zeroed at its begin. */
void pd_http_principal_find(const struct pd_credentials_set *set, gnutls_session_t session,
                            const char *authorization, struct pd_http_principal_cache *cache,
                            struct pd_http_principal *ret_principal);

#endif
