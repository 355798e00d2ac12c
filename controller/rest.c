/* SPDX-License-Identifier: Apache-2.0 */
/* The way of every request: route, role, parameters, body, handler. */
#include "controller/rest.h"

#include <stdio.h>
#include <string.h>

#include "controller/routes.h"
#include "http/body.h"
#include "http/role.h"

#define IGNORED_BODY_BYTES ((size_t)65536)

const struct pd_route pd_controller_routes[PD_CONTROLLER_ROUTE_COUNT] = {
#define X(name, method, path, role, parameters, handler, help) \
    [PD_CONTROLLER_##name] = {#method, path, PD_ROLE_##role, help},
    PD_CONTROLLER_ROUTES(X)
#undef X
};

static const struct {
    pd_controller_handler *handler;
    bool parameters;
} works[PD_CONTROLLER_ROUTE_COUNT] = {
#define X(name, method, path, role, parameters, handler, help) \
    [PD_CONTROLLER_##name] = {handler, parameters},
    PD_CONTROLLER_ROUTES(X)
#undef X
};

static int find_route(const struct pd_http_request *http, struct pd_call *call, size_t *ret_route,
                      struct pd_problem *problem)
{
    char path[PD_ROUTE_PATH_BYTES];
    int e = pd_target_path(&call->parameters, http->target, http->target_bytes, path, sizeof path);

    if (e == -PD_E_URI_TOO_LONG) {
        return pd_fail(&problem->error, e, "the request target is longer than %d bytes",
                       PD_TARGET_MAX_BYTES);
    }
    return pd_route_find(pd_controller_routes, PD_CONTROLLER_ROUTE_COUNT, http->method,
                         e ? "" : path, ret_route, call->id, problem);
}

static int refuse_parameters(struct pd_call *call, struct pd_problem *problem)
{
    char value[PD_TARGET_MAX_BYTES];
    int more = pd_target_next(&call->parameters, problem->parameter, sizeof problem->parameter,
                              value, sizeof value, &problem->error);

    return more > 0 ? pd_fail(&problem->error, -PD_E_UNKNOWN_KEY,
                              "%s: unknown parameter, this route takes none", problem->parameter)
                    : more;
}

static int answer_call(struct pd_controller *controller, struct pd_call *call,
                       struct pd_answer *answer, struct pd_problem *problem)
{
    size_t route;
    int e = find_route(call->http, call, &route, problem);

    if (!e) {
        e = pd_role_check(call->http, pd_controller_routes[route].role, problem);
    }
    if (!e && !works[route].parameters) {
        e = refuse_parameters(call, problem);
    }
    if (!e && !strcmp(pd_controller_routes[route].method, "POST")) {
        e = pd_body_json(call->http->body, call->http->body_bytes, &call->body, &problem->error);
    }
    return e ? e : works[route].handler(controller, call, answer, problem);
}

/* What is wrong with a body is told under the member that the words begin with: "hosts[3]: …". */
static void name_parameter(struct pd_problem *problem)
{
    size_t len = strcspn(problem->error.text, ": ");
    int code = problem->error.code;

    if ((code == -PD_E_VALUE || code == -PD_E_UNKNOWN_KEY) && !problem->parameter[0] &&
        problem->error.text[len] == ':') {
        snprintf(problem->parameter, sizeof problem->parameter, "%.*s", (int)len,
                 problem->error.text);
    }
}

void pd_controller_answer(struct pd_controller *controller, const struct pd_http_request *request,
                          struct pd_answer *answer)
{
    struct pd_problem problem = {0};
    struct pd_call call = {.http = request};
    int e = answer_call(controller, &call, answer, &problem);

    json_decref(call.body);
    pd_count(&controller->counters.http_requests, 1);
    if (!e) {
        return;
    }
    if (!problem.error.code) {
        problem.error.code = e;
    }
    name_parameter(&problem);
    pd_count(&controller->counters.http_problems, 1);
    pd_answer_problem(answer, &problem);
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
    case PD_HTTP_UNAUTHORIZED:
        pd_count(&counters->http_unauthorized, 1);
        pd_count(&counters->http_requests, 1);
        pd_count(&counters->http_problems, 1);
        break;
    case PD_HTTP_FORBIDDEN: pd_count(&counters->http_forbidden, 1); break;
    case PD_HTTP_TOO_LARGE:
        pd_count(&counters->http_requests, 1);
        pd_count(&counters->http_problems, 1);
        break;
    }
}

/* Bodies are kept for routes that are posted to; what nobody wants is read and forgotten. */
static size_t wanted_bytes(void *context, const char *method, const char *target)
{
    const struct pd_http_request http = {
        .method = method, .target = target, .target_bytes = strlen(target)};
    struct pd_problem problem = {0};
    struct pd_call call;
    size_t route;

    (void)context;
    return strcmp(method, "POST") || find_route(&http, &call, &route, &problem)
               ? 0
               : PD_CONTROLLER_BODY_BYTES;
}

struct pd_http_service pd_controller_service(struct pd_controller *controller)
{
    return (struct pd_http_service){.context = controller,
                                    .answer = answer_http,
                                    .count = count_event,
                                    .body_max_bytes = IGNORED_BODY_BYTES,
                                    .connections_max = PD_CONTROLLER_CONNECTIONS_MAX,
                                    .streams_max = PD_CONTROLLER_STREAMS_MAX,
                                    .stream_take_s = PD_CONTROLLER_STREAM_TAKE_S,
                                    .wanted_bytes = wanted_bytes};
}
