/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the server share: the daemon, one request, the connection's slot. */
#ifndef PD_HTTP_PRIVATE_H
#define PD_HTTP_PRIVATE_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/log.h"
#include "http/budget.h"
#include "http/crew.h"
#include "http/pipe.h"
#include "http/server.h"
#include "http/slots.h"

/* Only server.c, permit.c, exchange.c, flow.c, send.c and stream.c see this. */

#define PD_HTTP_MODULE "http"
#define PD_HTTP_SMALL_BYTES                                               \
    ((size_t)16 * 1024) /* answers up to this are not worth being counted \
                         */

struct pd_http {
    struct MHD_Daemon *daemon;
    struct pd_http_service service;
    char *allowed_hosts;
    bool tls, local; /* local: a unix socket, where no page of a browser gets */
    unsigned requests_max, streams_max, stream_take_s;
    atomic_bool stopping;               /* relaxed: streams end within a second */
    struct pd_credentials *credentials; /* NULL: nobody needs any */
    struct pd_http_slots *slots;
    struct pd_http_crew *crew;
    struct pd_http_budget *budget;
    pthread_mutex_t mutex; /* over what follows */
    unsigned streams;
    struct pd_log_limit refusals; /* lines about those who may not */
};

/* One request, from its first line to the end of its answer. */
struct pd_http_exchange {
    struct pd_http *http;
    struct MHD_Connection *connection;
    const char *method;
    atomic_uint holders; /* the library, and the thread that has it answered */
    bool begun;          /* the headers were seen */
    bool whole;          /* all of it is there */
    bool answered;       /* by a thread of the crew; the connection was set aside meanwhile */
    struct pd_answer answer;
    uint64_t taken_bytes;      /* of the budget, by the answer */
    struct pd_http_pipe *pipe; /* its body comes from there; the response's. NULL: it is whole */
    size_t wanted_bytes; /* most that the body may have and be kept; 0: it is read and forgotten */
    char *body;          /* NULL: none so far */
    size_t body_bytes;   /* that came */
    size_t body_room;
    struct pd_http_principal principal;
    struct pd_problem problem; /* with a code: what it is refused with, once its body is over */
    size_t target_bytes;
    char target[];
};

/* ---- connections (server.c) ---- */

gnutls_session_t pd_http_session(const struct pd_http *http,
                                 struct MHD_Connection *connection); /* NULL without TLS */
struct pd_http_slot *pd_http_slot_of(struct MHD_Connection *connection);
void pd_http_phase(struct pd_http *http, struct MHD_Connection *connection,
                   enum pd_http_phase phase);

/* ---- which requests are taken (permit.c) ---- */

/* Looks at all that the header says, before any of the body: exchange->problem says why it is
 * refused, exchange->principal by whom it was sent. */
void pd_http_permit(struct pd_http *http, struct MHD_Connection *connection, const char *method,
                    const char *version, struct pd_http_exchange *exchange);
/* "10.0.0.1"; "unix". */
void pd_http_name_peer(struct MHD_Connection *connection, char *name, size_t size);
/* Counted each time, said once a second. */
void pd_http_say_refused(struct pd_http *http, struct MHD_Connection *connection,
                         enum pd_http_event event, const char *name, const struct pd_error *why);
void pd_http_refuse_body(struct pd_http *http, struct pd_http_exchange *exchange);

/* Most that the body may have. */
size_t pd_http_body_max(const struct pd_http *http, const struct pd_http_exchange *exchange);

/* ---- requests (exchange.c); what the library calls ---- */

void *pd_http_begin(void *context, const char *target, struct MHD_Connection *connection);
void pd_http_end(void *context, struct MHD_Connection *connection, void **exchange,
                 enum MHD_RequestTerminationCode reason);
enum MHD_Result pd_http_handle(void *context, struct MHD_Connection *connection, const char *url,
                               const char *method, const char *version, const char *body,
                               size_t *body_bytes, void **slot);

/* ---- answers (send.c, stream.c, flow.c) ---- */

/* Has it answered, kept or flowing; in a thread of the crew. */
void pd_http_answer(void *exchange);
void pd_http_exchange_drop(struct pd_http_exchange *exchange);
void pd_http_ask(struct pd_http *http, struct pd_http_exchange *exchange, struct pd_answer *answer);

/* The answer's body becomes the library's, with the `taken_bytes` of the budget that it has; it
 * comes from `pipe` instead unless that is NULL. */
enum MHD_Result pd_http_send(struct pd_http *http, struct MHD_Connection *connection,
                             struct pd_answer *answer, uint64_t taken_bytes,
                             struct pd_http_pipe *pipe);

/* Is the answer a stream? Then it gets a pipe, and its source is to be run. A stream more than
 * there may be becomes a problem. */
bool pd_http_stream_begin(struct pd_http *http, struct pd_http_exchange *exchange,
                          struct pd_answer *answer, struct pd_answer_stream *ret_source);
/* Until the source ends, the client goes or the server stops. */
void pd_http_stream_run(struct pd_http *http, struct pd_http_pipe *pipe,
                        const struct pd_answer_stream *source);

#endif
