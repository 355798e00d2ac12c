/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/1.1 in front of a service, through libmicrohttpd. */
#ifndef PD_HTTP_SERVER_H
#define PD_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/role.h"
#include "http/answer.h"
#include "http/listen.h"

/* One thread watches over all connections: handshakes, requests as they come, answers as they are
 * taken. A request that is whole gets a thread of a crew, so an answer may block (a query, a
 * snapshot) without keeping anybody else waiting; of these there are at most `requests_max`, one
 * more is answered with 503. Connections that have nothing whole to say cost no thread, and
 * thousands of them lock nobody out (http/slots.h). One that neither sends nor takes anything for
 * PD_HTTP_TIMEOUT_S is closed.
 *
 * A stream (struct pd_answer_stream) keeps its thread while it has nothing to say; its number is
 * limited, too. A client that does not take what there is, at the pace demanded of all, is cut off.
 */

#define PD_HTTP_CONNECTIONS_MAX 4096 /* or a quarter of the files that may be open */
#define PD_HTTP_REQUESTS_MAX    64   /* at work; unless the service says otherwise */
#define PD_HTTP_TIMEOUT_S       30
#define PD_HTTP_ANSWER_BYTES_PER_S                                \
    65536 /* that a reader has to take, but for a moment at first \
           */
/* Memory of a connection: over-long targets fit, to get their 414. */
#define PD_HTTP_HEADER_BYTES (160 * 1024)

/* One request, whole. Texts may be NULL where the client did not send them. */
struct pd_http_request {
    const char *method;
    const char *target; /* as it stood in the request line */
    size_t target_bytes;
    const char *accept; /* header Accept; NULL: none */
    const char *body;   /* "" when there is none, or none is wanted; a NUL follows it */
    size_t body_bytes;
    enum pd_role role;
    const char *accept_encoding; /* header; NULL: none */
    const char *if_none_match;   /* likewise */
    const char *last_event_id;   /* of a client that resumes a stream of events */
    const char *order;           /* header Pathdump-Order (fleet/order.h); NULL: none */
    const char *cookie;          /* header; NULL: none */
    bool page;                   /* sent by a page in a browser: reads, and runs nothing */
    const char *address;         /* where it came from: "10.0.0.1", or "unix" */
    const char *peer;            /* name of who sent it, for logs: an agent's is its host's ID */
    const void *certificate;     /* that the connection's other end has proven, DER; NULL: none */
    size_t certificate_bytes;
};

enum pd_http_event {
    PD_HTTP_ENDED,        /* a connection, for another one */
    PD_HTTP_REFUSED,      /* a connection, or a request because too many are at work */
    PD_HTTP_TOO_LARGE,    /* a request got its 413 without `answer` being asked */
    PD_HTTP_SLOW,         /* an answer was cut off, for its reader took it too slowly */
    PD_HTTP_MALFORMED,    /* its 400, 421 or 501, likewise */
    PD_HTTP_UNAUTHORIZED, /* a request got its 401, likewise */
    PD_HTTP_FORBIDDEN,    /* `answer` said 403 */
};

struct pd_credentials;
struct pd_sessions;

/* Both functions are called from any thread. */
struct pd_http_service {
    void *context;
    void (*answer)(void *context, const struct pd_http_request *request, struct pd_answer *answer);
    void (*count)(void *context, enum pd_http_event event);
    size_t body_max_bytes; /* of a request: more is refused with 413 */
    /* How much body a request may have that is to be kept; 0: none is, up to body_max_bytes are
     * read and forgotten. May be NULL: as body_max_bytes says. */
    size_t (*wanted_bytes)(void *context, const char *method, const char *target);
    /* Who may come, and TLS (http/credentials.h); must outlive the server. NULL: everybody is an
     * admin, as at a unix socket always. */
    struct pd_credentials *credentials;
    /* Of pages in a browser (http/sessions.h); must outlive the server. NULL: there are none. */
    struct pd_sessions *sessions;
    /* May anybody ask for this, who has shown nothing? May be NULL: never. */
    bool (*open)(void *context, const char *method, const char *target);
    /* Names that Host may have beside those of this machine, where nobody needs credentials
     * (http/host.h); copied. NULL: none. */
    const char *allowed_hosts;
    /* Of all answers that wait for their readers (http/budget.h); 0: PD_HTTP_BUDGET_BYTES. */
    uint64_t answer_budget_bytes;
    /* Does somebody wait for what the maker of a long answer may hold? May be NULL: nobody. */
    bool (*contended)(void *context);
    unsigned requests_max;  /* at work; 0: PD_HTTP_REQUESTS_MAX */
    unsigned streams_max;   /* of these; 0: a quarter. More get 503 */
    unsigned stream_take_s; /* a client's time to take what a stream gave; 0: PD_HTTP_TIMEOUT_S */
};

struct pd_http;

/* Serves on the listener's socket, which is the server's from then on; `service` is copied. 0 or
 * -errno. */
int pd_http_start(const struct pd_http_service *service, struct pd_listener *listener,
                  struct pd_http **ret_http);

/* The credentials have changed: connections end whose certificate is revoked now. NULL is fine. */
void pd_http_reload(struct pd_http *http);

/* Ends all connections and waits for their threads. NULL is fine. */
void pd_http_stop(struct pd_http *http);

#endif
