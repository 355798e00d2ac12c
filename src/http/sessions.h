/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: people who have shown their token once, to a page in a browser. */
#ifndef PD_HTTP_SESSIONS_H
#define PD_HTTP_SESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/answer.h"
#include "http/principal.h"

/* A page cannot show a token with each request (streams of events take no headers), and must not
 * keep one where a script finds it. So a token is shown once, and a cookie stands for it that no
 * script reads, that goes over TLS (or loopback) alone, and that other sites' pages do not make the
 * browser send. Whatever the token may do, a session may read.
 *
 * A session ends when nobody has used it for half an hour, after twelve hours, with its token, and
 * at a restart. There are at most 256; one more takes the place of the one that rests longest. Only
 * digests of cookies are kept.
 *
 * Thread safety: all functions may be called from any thread. */

#define PD_SESSION_COOKIE  "__Host-pathdump"
#define PD_SESSIONS_MAX    256u
#define PD_SESSION_IDLE_S  (30 * 60)
#define PD_SESSION_WHOLE_S (12 * 60 * 60)

struct pd_sessions;

/* Times are those of `now_ns`, which may be NULL: the monotonic clock. NULL without memory. */
struct pd_sessions *pd_http_sessions_new(uint64_t (*now_ns)(void));
void pd_http_sessions_free(struct pd_sessions *sessions); /* NULL is fine */

/* Begins one for who has this token, and has the answer set its cookie. -PD_E_UNAUTHORIZED: it is
 * not known here; -PD_E_FORBIDDEN: its role may not read; -EIO: no random numbers. */
int pd_http_sessions_begin(struct pd_sessions *sessions, const struct pd_credentials_set *set,
                           const char *token, struct pd_answer *answer, struct pd_error *error);

/* Ends the one of this header ("Cookie", NULL: none), if there is one, and has the answer remove
 * the cookie. */
void pd_http_sessions_end(struct pd_sessions *sessions, const char *cookies,
                          struct pd_answer *answer);

/* Whose is it? -PD_E_NOT_FOUND: the header has no such cookie. -PD_E_UNAUTHORIZED: the session is
 * over, or never was. */
int pd_http_sessions_find(struct pd_sessions *sessions, const struct pd_credentials_set *set,
                          const char *cookies, struct pd_http_principal *ret_principal);

struct pd_sessions_stat {
    uint64_t begun, ended, expired, displaced, refused; /* refused: tokens and cookies not known */
    unsigned open;
};
void pd_http_sessions_stat(struct pd_sessions *sessions, struct pd_sessions_stat *ret_stat);

#endif
