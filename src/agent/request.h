/* SPDX-License-Identifier: Apache-2.0 */
/* A request -> route, parameters and body, each checked. */
#ifndef PD_AGENT_REQUEST_H
#define PD_AGENT_REQUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/routes.h"
#include "http/answer.h"
#include "http/server.h"
#include "query/document.h"

/* Thread safety: pure. */

// clang-format off
/* Routes beside those of the questions of query/question.h ("/v1/" + name): name, method, path ("{id}": any last segment), least role,
 * handler, help. They take no parameters. A POST has a JSON object as its body, of at most
 * pd_agent_request_body_bytes. A new route is a line here and its handler, a pd_rest_handler in a file
 * of its own. */
#define PD_ROUTES(X)                                                                                         \
    X(QUERY, POST, "/v1/query", ANY, pd_agent_rest_query, "a query or a program, of this host or of those below as well") \
    X(ALARMS, GET, "/v1/alarms", READ, pd_agent_rest_alarms, "newest alarms of this host")                         \
    X(INSTALL, POST, "/v1/install", INSTALL, pd_installed_rest_install, "installs a query that runs by itself")        \
    X(INSTALLED, GET, "/v1/installed", READ, pd_installed_rest_installed, "installed queries and their counters")      \
    X(INSTALLED_ONE, GET, "/v1/installed/{id}", READ, pd_installed_rest_installed_one, "one of them, with its last answer") \
    X(UNINSTALL, DELETE, "/v1/installed/{id}", INSTALL, pd_installed_rest_uninstall, "uninstalls a query")             \
    X(LOG, POST, "/v1/logs", INSTALL, pd_log_rest_log, "writes packets that a filter wants, with their paths, to a capture file") \
    X(LOGS, GET, "/v1/logs", READ, pd_log_rest_logs, "packet logs, running and finished, with their counters")   \
    X(LOG_FILE, GET, "/v1/logs/{id}", INSTALL, pd_log_rest_log_file, "the capture file of one of them, pcapng")   \
    X(LOG_ROWS, GET, "/v1/logged/{id}", INSTALL, pd_log_rest_log_rows, "its first packets with their flows and paths, without contents") \
    X(UNLOG, DELETE, "/v1/logs/{id}", INSTALL, pd_log_rest_unlog, "ends a packet log and drops its file")         \
    X(STATUS, GET, "/v1/status", READ, pd_agent_rest_status, "state and counters of the daemon")                   \
    X(METRICS, GET, "/metrics", READ, pd_agent_rest_metrics, "the same counters in the text format of Prometheus") \
    X(OPENAPI, GET, "/openapi.json", ANY, pd_agent_rest_openapi, "description of this API")
// clang-format on

enum pd_request_route {
    PD_ROUTE_QUESTION,
#define X(name, method, path, role, handler, help) PD_ROUTE_##name,
    PD_ROUTES(X)
#undef X
        PD_ROUTE_COUNT
};

struct pd_request {
    enum pd_request_route route;
    struct pd_document document; /* of PD_ROUTE_QUESTION */
    char id[PD_ROUTE_ID_BYTES];  /* of a path with "{id}" */
    json_t *body;                /* of a POST: an object; of PD_ROUTE_QUESTION its parameters */
    uint64_t begun_ns; /* of the thread's processor time, when it began to read the request */
    const struct pd_http_request *http;
};

/* Returns 0; or a negative error with `ret_problem` filled: -PD_E_NOT_FOUND, -PD_E_METHOD,
 * -PD_E_UNAUTHORIZED, -PD_E_FORBIDDEN, -PD_E_URI_TOO_LONG, -PD_E_SYNTAX, -PD_E_VALUE,
 * -PD_E_UNKNOWN_KEY. The request keeps a pointer to `http`. */
int pd_agent_request_parse(const struct pd_http_request *http, struct pd_request *ret_request,
                           struct pd_problem *ret_problem);
void pd_agent_request_done(struct pd_request *request);

/* All routes: the table above, then questions. The first call makes them. */
const struct pd_route *pd_agent_request_routes(size_t *ret_len);
/* So many of them, the first ones, are described in docs/api; the others come from extensions. */
size_t pd_agent_request_routes_own(void);

/* Most that the body of such a request may have; 0: none is wanted. */
size_t pd_agent_request_body_bytes(const char *method, const char *target);

#endif
