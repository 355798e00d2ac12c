/* SPDX-License-Identifier: Apache-2.0 */
/* The table of sessions. */
#include "http/sessions.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "http/role.h"

#define SECRET_BYTES 32
#define DIGEST_BYTES 32
#define COOKIE_BYTES (2 * SECRET_BYTES) /* in hex */

struct session {
    bool open;
    uint8_t digest[DIGEST_BYTES]; /* of the cookie */
    uint8_t token[DIGEST_BYTES];  /* it ends with its token */
    char name[64];
    uint64_t begun_ns, used_ns;
};

struct pd_sessions {
    pthread_mutex_t mutex; /* over all below */
    uint64_t (*now_ns)(void);
    struct session items[PD_SESSIONS_MAX];
    struct pd_sessions_stat stat;
};

struct pd_sessions *pd_http_sessions_new(uint64_t (*now_ns)(void))
{
    struct pd_sessions *sessions = calloc(1, sizeof *sessions);

    if (sessions) {
        pthread_mutex_init(&sessions->mutex, NULL);
        sessions->now_ns = now_ns ? now_ns : pd_clock_monotonic_ns;
    }
    return sessions;
}

void pd_http_sessions_free(struct pd_sessions *sessions)
{
    if (sessions) {
        pthread_mutex_destroy(&sessions->mutex);
        gnutls_memset(sessions, 0, sizeof *sessions);
        free(sessions);
    }
}

/* ---- one session ---- */

static void end(struct pd_sessions *sessions, struct session *session)
{
    gnutls_memset(session, 0, sizeof *session);
    sessions->stat.open--;
}

static void expire(struct pd_sessions *sessions)
{
    uint64_t now_ns = sessions->now_ns();

    for (unsigned i = 0; i < PD_SESSIONS_MAX; i++) {
        struct session *session = &sessions->items[i];

        if (session->open &&
            (now_ns - session->used_ns >= PD_SESSION_IDLE_S * (uint64_t)PD_NS_PER_S ||
             now_ns - session->begun_ns >= PD_SESSION_WHOLE_S * (uint64_t)PD_NS_PER_S)) {
            end(sessions, session);
            sessions->stat.expired++;
        }
    }
}

/* A free one, or that which rests longest. */
static struct session *take(struct pd_sessions *sessions)
{
    struct session *oldest = &sessions->items[0];

    for (unsigned i = 0; i < PD_SESSIONS_MAX; i++) {
        struct session *session = &sessions->items[i];

        if (!session->open) {
            return session;
        }
        oldest = session->used_ns < oldest->used_ns ? session : oldest;
    }
    end(sessions, oldest);
    sessions->stat.displaced++;
    return oldest;
}

/* All are compared, whatever was found. */
static struct session *find(struct pd_sessions *sessions, const uint8_t *digest)
{
    struct session *found = NULL;

    for (unsigned i = 0; i < PD_SESSIONS_MAX; i++) {
        struct session *session = &sessions->items[i];

        if (pd_http_tokens_equal(session->digest, digest, DIGEST_BYTES) && session->open) {
            found = session;
        }
    }
    return found;
}

/* ---- the cookie ---- */

/* Its value in "a=b; c=d", of the one length that it has. NULL: it is not there; "": it cannot be
 * one of ours. */
static const char *value_of(const char *cookies, size_t *ret_len)
{
    static const char name[] = PD_SESSION_COOKIE "=";

    while (cookies && *cookies) {
        cookies += strspn(cookies, " ;\t");
        if (!strncmp(cookies, name, sizeof name - 1)) {
            *ret_len = strcspn(cookies + sizeof name - 1, "; \t");
            return cookies + sizeof name - 1;
        }
        cookies += strcspn(cookies, ";");
    }
    return NULL;
}

static int digest_of(const char *cookies, uint8_t *ret_digest)
{
    size_t len = 0;
    const char *value = value_of(cookies, &len);

    if (!value) {
        return -PD_E_NOT_FOUND;
    }
    return len != COOKIE_BYTES || gnutls_hash_fast(GNUTLS_DIG_SHA256, value, len, ret_digest)
               ? -PD_E_UNAUTHORIZED
               : 0;
}

static void set_cookie(struct pd_answer *answer, const char *value, int seconds)
{
    snprintf(answer->cookie, sizeof answer->cookie,
             PD_SESSION_COOKIE "=%s; Path=/; Max-Age=%d; HttpOnly; Secure; SameSite=Strict", value,
             seconds);
}

/* ---- begin, end, find ---- */

static int check_token(const struct pd_credentials_set *set, const char *token,
                       const struct pd_token **ret_token, struct pd_error *error)
{
    const struct pd_token *known =
        set && set->has_tokens ? pd_http_tokens_find(&set->tokens, token, strlen(token)) : NULL;

    if (!known) {
        return pd_fail(error, -PD_E_UNAUTHORIZED, "token: it is not known here");
    }
    if (!pd_http_role_may(known->role, PD_ROLE_READ)) {
        return pd_fail(error, -PD_E_FORBIDDEN, "token: the role %s may not read",
                       pd_http_role_id(known->role));
    }
    *ret_token = known;
    return 0;
}

static int make_secret(char ret_text[COOKIE_BYTES + 1], uint8_t *ret_digest)
{
    uint8_t secret[SECRET_BYTES];

    if (gnutls_rnd(GNUTLS_RND_KEY, secret, sizeof secret)) {
        return -EIO;
    }
    for (unsigned i = 0; i < SECRET_BYTES; i++) {
        snprintf(ret_text + 2 * i, 3, "%02x", secret[i]);
    }
    return gnutls_hash_fast(GNUTLS_DIG_SHA256, ret_text, COOKIE_BYTES, ret_digest) ? -EIO : 0;
}

static void count_refused(struct pd_sessions *sessions)
{
    pthread_mutex_lock(&sessions->mutex);
    sessions->stat.refused++;
    pthread_mutex_unlock(&sessions->mutex);
}

int pd_http_sessions_begin(struct pd_sessions *sessions, const struct pd_credentials_set *set,
                           const char *token, struct pd_answer *answer, struct pd_error *error)
{
    struct session fresh = {.open = true};
    const struct pd_token *known = NULL;
    char text[COOKIE_BYTES + 1];
    int err = check_token(set, token, &known, error);

    if (err) {
        count_refused(sessions);
        return err;
    }
    err = make_secret(text, fresh.digest);
    if (err) {
        return pd_fail(error, err, "no random numbers");
    }
    memcpy(fresh.token, known->digest, sizeof fresh.token);
    snprintf(fresh.name, sizeof fresh.name, "%s", known->name);
    pthread_mutex_lock(&sessions->mutex);
    expire(sessions);
    fresh.begun_ns = fresh.used_ns = sessions->now_ns();
    *take(sessions) = fresh;
    sessions->stat.open++;
    sessions->stat.begun++;
    pthread_mutex_unlock(&sessions->mutex);
    set_cookie(answer, text, PD_SESSION_WHOLE_S);
    gnutls_memset(text, 0, sizeof text);
    return 0;
}

void pd_http_sessions_end(struct pd_sessions *sessions, const char *cookies,
                          struct pd_answer *answer)
{
    uint8_t digest[DIGEST_BYTES];

    if (!digest_of(cookies, digest)) {
        struct session *session;

        pthread_mutex_lock(&sessions->mutex);
        session = find(sessions, digest);
        if (session) {
            end(sessions, session);
            sessions->stat.ended++;
        }
        pthread_mutex_unlock(&sessions->mutex);
    }
    set_cookie(answer, "", 0);
}

static bool has_token(const struct pd_credentials_set *set, const uint8_t *digest)
{
    bool found = false;

    for (size_t i = 0; set && set->has_tokens && i < set->tokens.len; i++) {
        found |= pd_http_tokens_equal(digest, set->tokens.items[i].digest, DIGEST_BYTES);
    }
    return found;
}

/* In use again, if it is not over. */
static int use(struct pd_sessions *sessions, const struct pd_credentials_set *set,
               const uint8_t *digest, struct pd_http_principal *ret_principal)
{
    struct session *session;

    expire(sessions);
    session = find(sessions, digest);
    if (session && !has_token(set, session->token)) {
        end(sessions, session);
        sessions->stat.expired++;
        session = NULL;
    }
    if (!session) {
        sessions->stat.refused++;
        return -PD_E_UNAUTHORIZED;
    }
    session->used_ns = sessions->now_ns();
    *ret_principal = (struct pd_http_principal){.role = PD_ROLE_READ, .page = true};
    memcpy(ret_principal->name, session->name, sizeof session->name);
    return 0;
}

int pd_http_sessions_find(struct pd_sessions *sessions, const struct pd_credentials_set *set,
                          const char *cookies, struct pd_http_principal *ret_principal)
{
    uint8_t digest[DIGEST_BYTES];
    int err = digest_of(cookies, digest);

    if (err) {
        return err;
    }
    pthread_mutex_lock(&sessions->mutex);
    err = use(sessions, set, digest, ret_principal);
    pthread_mutex_unlock(&sessions->mutex);
    return err;
}

void pd_http_sessions_stat(struct pd_sessions *sessions, struct pd_sessions_stat *ret_stat)
{
    pthread_mutex_lock(&sessions->mutex);
    expire(sessions);
    *ret_stat = sessions->stat;
    pthread_mutex_unlock(&sessions->mutex);
}
