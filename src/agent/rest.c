/* SPDX-License-Identifier: Apache-2.0 */
/* The routes' work. */
#include "agent/rest.h"

#include <errno.h>
#include <string.h>

#include "agent/ask.h"
#include "agent/metrics.h"
#include "agent/openapi.h"
#include "agent/status.h"

#define PD_REST_BODY_MAX_BYTES ((size_t)65536) /* of bodies that nobody wants */

/* Of parts, and of what openapi.json does not describe; filled before the first request. */
static struct pd_rest part_routes, undescribed;

int pd_agent_rest_alarms(struct pd_agent *agent, const struct pd_request *request,
                         struct pd_answer *answer, struct pd_problem *problem)
{
    (void)request;
    (void)problem;
    pd_http_answer_json(answer, 200, answer->type, pd_alarms_json(agent->alarms));
    return 0;
}

int pd_agent_rest_status(struct pd_agent *agent, const struct pd_request *request,
                         struct pd_answer *answer, struct pd_problem *problem)
{
    (void)request;
    (void)problem;
    pd_http_answer_json(answer, 200, answer->type, pd_agent_status_json(agent));
    return 0;
}

int pd_agent_rest_metrics(struct pd_agent *agent, const struct pd_request *request,
                          struct pd_answer *answer, struct pd_problem *problem)
{
    (void)request;
    (void)problem;
    return pd_agent_metrics_write(agent, answer);
}

int pd_agent_rest_openapi(struct pd_agent *agent, const struct pd_request *request,
                          struct pd_answer *answer, struct pd_problem *problem)
{
    (void)agent;
    (void)request;
    (void)problem;
    json_t *document = pd_daemon_rest_described(&undescribed, pd_openapi);

    if (document) { /* parts have brought routes */
        pd_http_answer_json(answer, 200, answer->type, document);
        return 0;
    }
    return pd_http_answer_write(answer, pd_openapi, pd_agent_openapi_bytes());
}

static pd_rest_handler *const handlers[PD_ROUTE_COUNT] = {[PD_ROUTE_QUESTION] =
                                                              pd_agent_rest_question,
#define X(name, method, path, role, handler, help) [PD_ROUTE_##name] = (handler),
                                                          PD_ROUTES(X)
#undef X
};

void pd_agent_rest_answer(struct pd_agent *agent, const struct pd_http_request *http,
                          struct pd_answer *answer)
{
    struct pd_problem problem = {0};
    struct pd_request request = {0};
    int err = pd_agent_request_parse(http, &request, &problem);

    pd_count(&agent->counters.http_requests, 1);
    if (!err) {
        err = handlers[request.route](agent, &request, answer, &problem);
    } else if (err == -PD_E_NOT_FOUND && part_routes.len) {
        problem = (struct pd_problem){0};
        err = pd_daemon_rest_call(&part_routes, agent, http, answer, &problem);
    }
    pd_agent_request_done(&request);
    if (err) {
        if (!problem.error.code) {
            problem.error.code = err;
        }
        pd_http_problem_name_parameter(&problem);
        pd_count(&agent->counters.http_problems, 1);
        pd_http_answer_problem(answer, &problem);
    }
}

/* ---- behind the HTTP server ---- */

static void answer_http(void *context, const struct pd_http_request *request,
                        struct pd_answer *answer)
{
    pd_agent_rest_answer(context, request, answer);
}

static void count_event(void *context, enum pd_http_event event)
{
    struct pd_agent_counters *counters = &((struct pd_agent *)context)->counters;

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

static size_t wanted_bytes(void *context, const char *method, const char *target)
{
    (void)context;
    const size_t of_part =
        pd_daemon_rest_body_bytes(&part_routes, method, target, PD_REST_BODY_MAX_BYTES);

    return of_part ? of_part : pd_agent_request_body_bytes(method, target);
}

/* Whoever holds a turn and waits for a reader keeps others waiting. */
static bool contended(void *context)
{
    struct pd_daemon_admission_counters counters;

    pd_daemon_admission_counters(((struct pd_agent *)context)->query_turns, &counters);
    return counters.waiting;
}

/* Those of extensions. */
static void add_questions(void)
{
    size_t len;
    const struct pd_route *routes = pd_agent_request_routes(&len);

    for (size_t i = pd_agent_request_routes_own(); i < len; i++) {
        pd_daemon_rest_add(&undescribed, &(const struct pd_part_route){.route = routes[i]});
    }
}

struct pd_http_service pd_agent_rest_service(struct pd_agent *agent)
{
    if (!part_routes.len && !undescribed.len) {
        pd_daemon_parts_routes(pd_agent_parts, &part_routes);
        pd_daemon_parts_routes(pd_agent_parts, &undescribed);
        add_questions();
    }
    return (struct pd_http_service){.context = agent,
                                    .answer = answer_http,
                                    .count = count_event,
                                    .contended = contended,
                                    .body_max_bytes = PD_REST_BODY_MAX_BYTES,
                                    .wanted_bytes = wanted_bytes};
}
