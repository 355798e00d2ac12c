/* SPDX-License-Identifier: Apache-2.0 */
/* The way of every request: route, role, parameters, body, handler. */
#include "controller/rest.h"

#include "controller/audit/rest.h"
#include "controller/routes.h"

#define IGNORED_BODY_BYTES   ((size_t)65536)
#define STRANGERS_BODY_BYTES ((size_t)4096) /* of those who have shown nothing: a token */

const struct pd_route pd_controller_routes[PD_CONTROLLER_ROUTE_COUNT] = {
#define X(name, method, path, role, parameters, handler, help) \
    [PD_CONTROLLER_##name] = {#method, path, PD_ROLE_##role, help},
    PD_CONTROLLER_ROUTES(X)
#undef X
};

#define X(name, method, path, role, parameters, handler, help)                           \
    static int call_##name(void *daemon, struct pd_call *call, struct pd_answer *answer, \
                           struct pd_problem *problem)                                   \
    {                                                                                    \
        return handler(daemon, call, answer, problem);                                   \
    }
PD_CONTROLLER_ROUTES(X)
#undef X

static const struct pd_part_route own_routes[] = {
#define X(name, method, path, role, parameters, handler, help) \
    {{#method, path, PD_ROLE_##role, help}, parameters, call_##name, false, 0},
    PD_CONTROLLER_ROUTES(X)
#undef X
};

/* Made before the first request. */
static struct pd_rest rest;

const struct pd_rest *pd_controller_rest(void)
{
    if (!rest.len) {
        for (size_t i = 0; i < PD_CONTROLLER_ROUTE_COUNT; i++) {
            pd_daemon_rest_add(&rest, &own_routes[i]);
        }
        rest.own_len = rest.len;
        rest.witness = &pd_audit_witness;
        pd_daemon_parts_routes(pd_controller_parts, &rest);
    }
    return &rest;
}

void pd_controller_answer(struct pd_controller *controller, const struct pd_http_request *request,
                          struct pd_answer *answer)
{
    struct pd_problem problem = {0};
    struct pd_http_request reading = *request;
    int err;

    if (controller->simulated) {
        reading.role = PD_ROLE_READ; /* there is nothing to be changed */
    }
    err = pd_daemon_rest_call(&rest, controller, &reading, answer, &problem);

    pd_count(&controller->counters.http_requests, 1);
    if (err) {
        pd_count(&controller->counters.http_problems, 1);
        pd_http_answer_problem(answer, &problem);
    }
}

/* ---- behind the HTTP server ---- */

static void answer_http(void *context, const struct pd_http_request *request,
                        struct pd_answer *answer)
{
    pd_controller_answer(context, request, answer);
}

static void count_event(void *context, enum pd_http_event event)
{
    struct pd_controller_counters *counters = &((struct pd_controller *)context)->counters;

    switch (event) {
    case PD_HTTP_ENDED: pd_count(&counters->http_ended, 1); break;
    case PD_HTTP_REFUSED: pd_count(&counters->http_refused, 1); break;
    case PD_HTTP_SLOW: pd_count(&counters->http_slow, 1); break;
    case PD_HTTP_UNAUTHORIZED:
        pd_count(&counters->http_unauthorized, 1);
        pd_count(&counters->http_requests, 1);
        pd_count(&counters->http_problems, 1);
        break;
    case PD_HTTP_FORBIDDEN: pd_count(&counters->http_forbidden, 1); break;
    case PD_HTTP_TOO_LARGE:
    case PD_HTTP_MALFORMED:
        pd_count(&counters->http_requests, 1);
        pd_count(&counters->http_problems, 1);
        break;
    }
}

/* Bodies are kept for routes that are posted to; what nobody wants is read and forgotten. */
static size_t wanted_bytes(void *context, const char *method, const char *target)
{
    (void)context;
    if (!pd_daemon_rest_wants_body(&rest, method, target)) {
        return 0;
    }
    return pd_daemon_rest_is_open(&rest, method, target) ? STRANGERS_BODY_BYTES
                                                         : PD_CONTROLLER_BODY_BYTES;
}

static bool is_open(void *context, const char *method, const char *target)
{
    (void)context;
    return pd_daemon_rest_is_open(&rest, method, target);
}

/* Whoever holds a turn and waits for a reader keeps others waiting. */
static bool contended(void *context)
{
    struct pd_daemon_admission_counters counters;

    pd_daemon_admission_counters(((struct pd_controller *)context)->admission, &counters);
    return counters.waiting;
}

struct pd_http_service pd_controller_service(struct pd_controller *controller)
{
    pd_controller_rest();
    return (struct pd_http_service){.context = controller,
                                    .answer = answer_http,
                                    .count = count_event,
                                    .contended = contended,
                                    .body_max_bytes = IGNORED_BODY_BYTES,
                                    .requests_max = PD_CONTROLLER_REQUESTS_MAX,
                                    .streams_max = PD_CONTROLLER_STREAMS_MAX,
                                    .stream_take_s = PD_CONTROLLER_STREAM_TAKE_S,
                                    .wanted_bytes = wanted_bytes,
                                    .open = is_open,
                                    .sessions = controller->sessions};
}
