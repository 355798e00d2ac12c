/* SPDX-License-Identifier: Apache-2.0 */
/* A request's method and target -> route and parameters, each checked. */
#ifndef PD_AGENT_REQUEST_H
#define PD_AGENT_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "http/answer.h"
#include "query/query.h"

/* Thread safety: pure. */

/* Routes beside those of the queries ("/v1/" + name of the query). They take no parameters. */
#define PD_ROUTES(X)                                                             \
    X(ALARMS, "/v1/alarms", "newest alarms of this host")                        \
    X(STATUS, "/v1/status", "state and counters of the daemon")                  \
    X(METRICS, "/metrics", "the same counters in the text format of Prometheus") \
    X(OPENAPI, "/openapi.json", "description of this API")

enum pd_route {
    PD_ROUTE_QUERY,
#define X(name, path, help) PD_ROUTE_##name,
    PD_ROUTES(X)
#undef X
        PD_ROUTE_COUNT
};

struct pd_request {
    enum pd_route route;
    struct pd_query query; /* of PD_ROUTE_QUERY */
};

/* `target` as it stood in the request line, `target_bytes` without a final NUL. Returns 0; or a negative error with
 * `ret_problem` filled: -PD_E_NOT_FOUND, -PD_E_METHOD, -PD_E_URI_TOO_LONG, -PD_E_SYNTAX, -PD_E_VALUE, -PD_E_UNKNOWN_KEY. */
int pd_request_parse(const char *method, const char *target, size_t target_bytes,
                     struct pd_request *ret_request, struct pd_problem *ret_problem);

/* What concerns several parameters, or turns out when a query runs, is told under the name that the words begin with. */
void pd_request_name_parameter(struct pd_problem *problem);

#endif
