/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the controller's routes. */
#ifndef PD_CONTROLLER_ROUTES_H
#define PD_CONTROLLER_ROUTES_H

#include <jansson.h>

#include "controller/controller.h"
#include "daemon/rest.h"
#include "http/answer.h"
#include "http/server.h"

/* A new route is a line here, its handler in a file of its topic, and its description in
 * docs/api/controller.json; a test compares the last with the first. */

// clang-format off
/* name, method, path ("{id}": any last segment), role that it needs, takes parameters, handler,
 * help */
#define PD_CONTROLLER_ROUTES(X)                                                                                                          \
    X(EXECUTE, POST, "/v1/execute", READ, false, pd_controller_execute_answer, "asks hosts a query or runs a program on them, and merges the answers") \
    X(ALARMS_TAKE, POST, "/v1/alarms", AGENT, false, pd_alarms_take, "takes alarms of a host, each of them once")                        \
    X(ALARMS, GET, "/v1/alarms", READ, true, pd_alarms_list, "alarms of all hosts, by their IDs")                                        \
    X(ALARMS_STREAM, GET, "/v1/alarms/stream", READ, true, pd_alarms_stream, "alarms as they come, as server-sent events")               \
    X(EVENTS, GET, "/v1/events", READ, true, pd_events_answer, "what is new, as server-sent events")                                     \
    X(HOSTS, GET, "/v1/hosts", READ, true, pd_controller_hosts_answer, "hosts of the inventory and how they answered")                             \
    X(INSTALL, POST, "/v1/install", INSTALL, false, pd_installed_install_answer, "installs a query on hosts, where it runs by itself")              \
    X(INSTALLED, GET, "/v1/installed", READ, false, pd_controller_installed_answer, "installed queries, their counters and hosts")                  \
    X(INSTALLED_ONE, GET, "/v1/installed/{id}", READ, false, pd_installed_one_answer, "one of them")                                     \
    X(UNINSTALL, DELETE, "/v1/installed/{id}", INSTALL, false, pd_installed_uninstall_answer, "uninstalls a query from its hosts")                 \
    X(APPS, GET, "/v1/apps", READ, false, pd_apps_answer, "applications, with their arguments")                                          \
    X(APP_RUN, POST, "/v1/apps/{id}", READ, false, pd_app_run_answer, "runs an application once and answers with its report")            \
    X(WATCH, POST, "/v1/watches", INSTALL, false, pd_app_watch_answer, "watches: runs an application again and again")                       \
    X(WATCHES, GET, "/v1/watches", READ, false, pd_app_watches_answer, "watched applications and their last reports")                        \
    X(UNWATCH, DELETE, "/v1/watches/{id}", INSTALL, false, pd_app_unwatch_answer, "ends a watch")                                            \
    X(SWITCHES, GET, "/v1/switches", READ, false, pd_controller_switches_answer, "switches of the topology and the rules that they have")           \
    X(TOPOLOGY, GET, "/v1/topology", READ, true, pd_links_topology_answer, "the topology in force, as its file")                         \
    X(LINKS, GET, "/v1/links", READ, true, pd_links_answer, "metrics of directed links, of now or of a time")                            \
    X(LINK_METRICS, GET, "/v1/links/metrics", READ, false, pd_links_metrics_answer, "link metrics that there are")                       \
    X(LINK_IMAGE, GET, "/v1/links/image", READ, true, pd_links_image_answer, "all links as a picture or an array")                       \
    X(LINK_HISTORY, GET, "/v1/links/{id}/history", READ, true, pd_links_history_answer, "values of a link, step by step")                \
    X(AUDIT, GET, "/v1/audit", ADMIN, true, pd_audit_answer, "who has changed what, and what became of it")                              \
    X(ROOT, GET, "/", NONE, false, pd_map_root, "leads to the map")                                                                      \
    X(MAP, GET, "/map", NONE, false, pd_map_file, "the page of the map")                                                                 \
    X(MAP_FILE, GET, "/map/{id}", NONE, false, pd_map_file, "its files")                                                                 \
    X(MAP_VENDOR, GET, "/map/vendor/{id}", NONE, false, pd_map_vendor, "its libraries")                                                  \
    X(LOGIN, POST, "/v1/session", NONE, false, pd_map_login, "takes a token and gives a page a cookie for it")                           \
    X(LOGOUT, DELETE, "/v1/session", NONE, false, pd_map_logout, "ends the session of the cookie")                                       \
    X(STATUS, GET, "/v1/status", READ, false, pd_controller_status_answer, "state and counters of the controller")                                  \
    X(METRICS, GET, "/metrics", READ, false, pd_controller_metrics_answer, "the same counters in the text format of Prometheus")                    \
    X(OPENAPI, GET, "/openapi.json", READ, false, pd_controller_openapi_answer, "description of this API")
// clang-format on

enum pd_controller_route {
#define X(name, method, path, role, parameters, handler, help) PD_CONTROLLER_##name,
    PD_CONTROLLER_ROUTES(X)
#undef X
        PD_CONTROLLER_ROUTE_COUNT
};

/* A pd_call_handler of the controller. */
typedef int pd_controller_handler(struct pd_controller *controller, struct pd_call *call,
                                  struct pd_answer *answer, struct pd_problem *problem);

#define X(name, method, path, role, parameters, handler, help) pd_controller_handler handler;
PD_CONTROLLER_ROUTES(X)
#undef X

extern const struct pd_route pd_controller_routes[PD_CONTROLLER_ROUTE_COUNT];

#endif
