/* SPDX-License-Identifier: Apache-2.0 */
/* One request: its first line, its body piece by piece, the service's answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "http/private.h"
#include "http/role.h"

#define FORGOTTEN_MAX_BYTES ((size_t)16 << 20)

/* Called with the request line's target before anything is taken apart: the reader of requests
 * wants it whole. */
void *pd_http_begin(void *context, const char *target, struct MHD_Connection *connection)
{
    size_t bytes = strlen(target);
    struct pd_http_exchange *exchange =
        pd_http_slot_of(connection) ? malloc(sizeof *exchange + bytes + 1) : NULL;

    pd_http_phase(context, connection, PD_HTTP_COMING);
    if (!exchange) {
        return NULL;
    }
    *exchange = (struct pd_http_exchange){.http = context, .connection = connection, .holders = 1};
    pd_http_answer_init(&exchange->answer);
    exchange->target_bytes = bytes;
    memcpy(exchange->target, target, bytes + 1);
    return exchange;
}

void pd_http_exchange_drop(struct pd_http_exchange *exchange)
{
    if (atomic_fetch_sub_explicit(&exchange->holders, 1, memory_order_acq_rel) == 1) {
        free(exchange->body);
        free(exchange);
    }
}

/* An answer that nobody came to send goes with its request. */
void pd_http_end(void *context, struct MHD_Connection *connection, void **slot,
                 enum MHD_RequestTerminationCode reason)
{
    struct pd_http_exchange *exchange = *slot;

    (void)reason;
    pd_http_phase(context, connection, PD_HTTP_RESTING);
    if (exchange) {
        if (exchange->pipe) {
            pd_http_pipe_close(exchange->pipe);
        }
        pd_http_answer_done(&exchange->answer);
        pd_http_budget_give(exchange->http->budget, exchange->taken_bytes);
        pd_http_exchange_drop(exchange);
    }
    *slot = NULL;
}

static size_t ask_wanted_bytes(const struct pd_http *http, const char *method, const char *target)
{
    const struct pd_http_service *service = &http->service;

    return service->wanted_bytes ? service->wanted_bytes(service->context, method, target)
                                 : service->body_max_bytes;
}

/* Puts a piece behind what is there. False without memory. */
static bool keep_body(struct pd_http_exchange *exchange, const char *bytes, size_t len)
{
    if (PD_GROW(exchange->body, exchange->body_room, exchange->body_bytes + len + 1)) {
        return false;
    }
    memcpy(exchange->body + exchange->body_bytes, bytes, len);
    exchange->body[exchange->body_bytes + len] = '\0';
    return true;
}

/* Once a body has begun to come the library takes no answer before its end: what is too long, or of
 * a request that is refused anyway, is read and forgotten. False where that would be too much. */
static bool take_body(struct pd_http *http, struct pd_http_exchange *exchange, const char *bytes,
                      size_t len)
{
    if (len > pd_http_body_max(http, exchange) - exchange->body_bytes) {
        pd_http_refuse_body(http, exchange);
    }
    if (!exchange->problem.error.code && exchange->wanted_bytes &&
        !keep_body(exchange, bytes, len)) {
        return false;
    }
    exchange->body_bytes += len;
    return exchange->body_bytes <= FORGOTTEN_MAX_BYTES;
}

/* Does the client wait for a word before it sends, would it send more than is worth reading, or
 * would nobody know where that ends? */
static bool answer_at_once(const struct pd_http_exchange *exchange,
                           struct MHD_Connection *connection)
{
    const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");

    return exchange->problem.error.code &&
           (exchange->problem.error.code == -PD_E_UNSUPPORTED ||
            MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Expect") ||
            (length && strtoull(length, NULL, 10) > FORGOTTEN_MAX_BYTES));
}

static enum MHD_Result send_refusal(struct pd_http *http, struct MHD_Connection *connection,
                                    const struct pd_http_exchange *exchange)
{
    struct pd_answer answer;

    pd_http_answer_init(&answer);
    pd_http_answer_problem(&answer, &exchange->problem);
    return pd_http_send(http, connection, &answer, 0, NULL);
}

/* What the headers say; the body comes after them. */
static enum MHD_Result take_head(struct pd_http *http, struct MHD_Connection *connection,
                                 const char *method, const char *version,
                                 struct pd_http_exchange *exchange)
{
    const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");

    exchange->begun = true;
    pd_http_permit(http, connection, method, version, exchange);
    if (!exchange->problem.error.code) {
        exchange->wanted_bytes = ask_wanted_bytes(http, method, exchange->target);
    }
    if (length && strtoull(length, NULL, 10) > pd_http_body_max(http, exchange)) {
        pd_http_refuse_body(http, exchange);
    }
    return answer_at_once(exchange, connection) ? send_refusal(http, connection, exchange)
                                                : MHD_YES;
}

/* ---- the answer ---- */

static const char *header(const struct pd_http_exchange *exchange, const char *name)
{
    return MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, name);
}

static void say_forbidden(struct pd_http *http, const struct pd_http_exchange *exchange)
{
    struct pd_error why = {0};

    pd_fail(&why, -PD_E_FORBIDDEN, "the role %s does not allow %s %.*s",
            pd_http_role_id(exchange->principal.role), exchange->method,
            (int)strcspn(exchange->target, "?"), exchange->target);
    pd_http_say_refused(http, exchange->connection, PD_HTTP_FORBIDDEN, exchange->principal.name,
                        &why);
}

static void show_certificate(const struct pd_http *http, const struct pd_http_exchange *exchange,
                             struct pd_http_request *request)
{
    gnutls_session_t session = pd_http_session(http, exchange->connection);
    unsigned shown = 0;
    const gnutls_datum_t *chain = session ? gnutls_certificate_get_peers(session, &shown) : NULL;

    if (chain && shown) {
        request->certificate = chain->data;
        request->certificate_bytes = chain->size;
    }
}

void pd_http_ask(struct pd_http *http, struct pd_http_exchange *exchange, struct pd_answer *answer)
{
    char address[64];
    struct pd_http_request request = {
        .method = exchange->method,
        .target = exchange->target,
        .target_bytes = exchange->target_bytes,
        .accept = header(exchange, "Accept"),
        .body = exchange->body ? exchange->body : "",
        .body_bytes = exchange->body ? exchange->body_bytes : 0,
        .role = exchange->principal.role,
        .address = address,
        .peer = exchange->principal.name,
        .accept_encoding = header(exchange, "Accept-Encoding"),
        .if_none_match = header(exchange, "If-None-Match"),
        .last_event_id = header(exchange, "Last-Event-ID"),
        .order = header(exchange, "Pathdump-Order"),
        .cookie = header(exchange, "Cookie"),
        .page = exchange->principal.page,
    };

    pd_http_name_peer(exchange->connection, address, sizeof address);
    show_certificate(http, exchange, &request);
    http->service.answer(http->service.context, &request, answer);
    if (answer->http_status == 403) {
        say_forbidden(http, exchange);
    }
}

/* One client may have three quarters of what is at work or waits, others find room then. */
static bool has_its_share(struct pd_http *http, const struct pd_http_exchange *exchange)
{
    unsigned most = http->requests_max * (1 + PD_HTTP_CREW_WAITING) / 4 * 3;

    return pd_http_slot_of(exchange->connection)->known &&
           pd_http_slots_at_work(http->slots, NULL) >= most &&
           pd_http_slots_at_work(http->slots, exchange->principal.name) >= most;
}

/* The connection is set aside before anybody can take it up again. */
static enum MHD_Result begin_answer(struct pd_http *http, struct pd_http_exchange *exchange,
                                    const char *method)
{
    struct pd_problem problem = {0};
    bool refused = has_its_share(http, exchange);

    exchange->method = method;
    atomic_fetch_add_explicit(&exchange->holders, 1, memory_order_relaxed);
    pd_http_phase(http, exchange->connection, PD_HTTP_AT_WORK);
    MHD_suspend_connection(exchange->connection);
    if (!refused && pd_http_crew_do(http->crew, pd_http_answer, exchange)) {
        return MHD_YES;
    }
    http->service.count(http->service.context, PD_HTTP_REFUSED);
    pd_fail(&problem.error, -PD_E_BUSY,
            "%u requests are at work and as many wait as may%s; try again", http->requests_max,
            refused ? ", most of them yours" : "");
    pd_http_answer_problem(&exchange->answer, &problem);
    exchange->answered = true;
    MHD_resume_connection(exchange->connection);
    return MHD_YES;
}

static enum MHD_Result send_answered(struct pd_http *http, struct pd_http_exchange *exchange)
{
    struct pd_http_pipe *pipe = exchange->pipe;
    uint64_t taken_bytes = exchange->taken_bytes;

    exchange->pipe = NULL;
    exchange->taken_bytes = 0;
    return pd_http_send(http, exchange->connection, &exchange->answer, taken_bytes, pipe);
}

/* Called once for the headers, then for each piece of a body, then for the answer: first to have it
 * made, then to send it. */
enum MHD_Result pd_http_handle(void *context, struct MHD_Connection *connection, const char *url,
                               const char *method, const char *version, const char *body,
                               size_t *body_bytes, void **slot)
{
    struct pd_http *http = context;
    struct pd_http_exchange *exchange = *slot;

    (void)url;
    if (!exchange) {
        return MHD_NO; /* no memory */
    }
    if (!exchange->begun) {
        return take_head(http, connection, method, version, exchange);
    }
    if (*body_bytes) {
        bool taken = take_body(http, exchange, body, *body_bytes);

        *body_bytes = 0;
        return taken ? MHD_YES : MHD_NO;
    }
    if (exchange->problem.error.code) {
        return send_refusal(http, connection, exchange);
    }
    if (exchange->answered) {
        return send_answered(http, exchange);
    }
    if (!exchange->whole) {
        /* Again, once the library has noticed that nothing more is to be read. Else it reads when
         * the connection is taken up again, and takes a client that has closed its half for one
         * that has gone. */
        exchange->whole = true;
        return MHD_YES;
    }
    return begin_answer(http, exchange, method);
}
