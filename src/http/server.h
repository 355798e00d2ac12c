/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/1.1 in front of a service, through libmicrohttpd. */
#ifndef PD_HTTP_SERVER_H
#define PD_HTTP_SERVER_H

#include <stddef.h>

#include "http/answer.h"
#include "http/listen.h"

/* A thread for each connection, at most so many as the service allows: so an answer may block (a
 * query, a picture) without keeping anybody else waiting, and an idle daemon has one sleeping
 * thread more instead of a pool. A connection that neither sends nor takes anything for
 * PD_HTTP_TIMEOUT_S is closed.
 *
 * Slow ones and idle ones lock nobody out: when all slots are taken and somebody else wants one,
 * connections end that have not sent their request line, or the rest of the request after it,
 * within PD_HTTP_HEAD_S, that were idle for PD_HTTP_IDLE_S after an answer, or that take an answer
 * more slowly than PD_HTTP_ANSWER_BYTES_PER_S. Only when there are none of these is the newcomer
 * refused. Both are counted.
 *
 * A stream (struct pd_answer_stream) keeps its slot while it has nothing to say; its number is
 * limited, too. A client that does not take what there is, at the pace demanded of all, is cut off.
 */

#define PD_HTTP_CONNECTIONS_MAX    64 /* unless the service says otherwise */
#define PD_HTTP_TIMEOUT_S          30
#define PD_HTTP_HEAD_S             5
#define PD_HTTP_IDLE_S             1
#define PD_HTTP_ANSWER_BYTES_PER_S 65536 /* after PD_HTTP_TIMEOUT_S */
/* Memory of a connection: over-long targets fit, to get their 414. */
#define PD_HTTP_HEADER_BYTES (160 * 1024)

/* What whoever sent a request may do (http/role.h). ANY is what a route needs, never what somebody
 * has. */
enum pd_role {
    PD_ROLE_NONE, /* nobody knows who it is */
    PD_ROLE_READ,
    PD_ROLE_INSTALL,
    PD_ROLE_ADMIN,
    PD_ROLE_AGENT,
    PD_ROLE_ANY,
};

/* One request, whole. Texts may be NULL where the client did not send them. */
struct pd_http_request {
    const char *method;
    const char *target; /* as it stood in the request line */
    size_t target_bytes;
    const char *accept; /* header Accept; NULL: none */
    const char *body;   /* "" when there is none, or none is wanted; a NUL follows it */
    size_t body_bytes;
    enum pd_role role;
    const char *last_event_id; /* of a client that resumes a stream of events */
    const char *peer;          /* name of who sent it, for logs: an agent's is its host's ID */
};

enum pd_http_event {
    PD_HTTP_ENDED,        /* a connection, for another one */
    PD_HTTP_REFUSED,      /* a connection */
    PD_HTTP_TOO_LARGE,    /* a request got its 413 without `answer` being asked */
    PD_HTTP_UNAUTHORIZED, /* a request got its 401, likewise */
    PD_HTTP_FORBIDDEN,    /* `answer` said 403 */
};

struct pd_credentials;

/* Both functions are called from any thread. */
struct pd_http_service {
    void *context;
    void (*answer)(void *context, const struct pd_http_request *request, struct pd_answer *answer);
    void (*count)(void *context, enum pd_http_event event);
    size_t body_max_bytes; /* of a request: more, or chunked, is refused with 413 */
    /* How much body a request may have that is to be kept; 0: none is, up to body_max_bytes are
     * read and forgotten. May be NULL: as body_max_bytes says. */
    size_t (*wanted_bytes)(void *context, const char *method, const char *target);
    /* Who may come, and TLS (http/credentials.h); must outlive the server. NULL: everybody is an
     * admin, as at a unix socket always. */
    struct pd_credentials *credentials;
    unsigned connections_max; /* 0: PD_HTTP_CONNECTIONS_MAX */
    unsigned streams_max;     /* of these; 0: a quarter. More get 503 */
    unsigned stream_take_s;   /* a client's time to take what a stream gave; 0: PD_HTTP_TIMEOUT_S */
};

struct pd_http;

/* Serves on the listener's socket, which is the server's from then on; `service` is copied. 0 or
 * -errno. */
int pd_http_start(const struct pd_http_service *service, struct pd_listener *listener,
                  struct pd_http **ret_http);

/* Ends all connections and waits for their threads. NULL is fine. */
void pd_http_stop(struct pd_http *http);

#endif
