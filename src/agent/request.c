/* SPDX-License-Identifier: Apache-2.0 */
/* The router and the reader of parameters. */
#include "agent/request.h"

#include <stdio.h>
#include <string.h>

#include "http/target.h"

static const struct {
    const char *path;
    enum pd_route route;
} routes[] = {
#define X(name, path, help) {path, PD_ROUTE_##name},
    PD_ROUTES(X)
#undef X
};

static int find_route(const char *path, struct pd_request *request)
{
    enum pd_query_name name;

    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        if (!strcmp(path, routes[i].path)) {
            request->route = routes[i].route;
            return 0;
        }
    }
    if (strncmp(path, "/v1/", 4) || pd_query_name_parse(path + 4, &name))
        return -PD_E_NOT_FOUND;
    request->route = PD_ROUTE_QUERY;
    pd_query_init(&request->query, name);
    return 0;
}

static int set_parameter(struct pd_request *request, const char *name, const char *value,
                         struct pd_problem *problem)
{
    if (request->route != PD_ROUTE_QUERY)
        return pd_fail(&problem->error, -PD_E_UNKNOWN_KEY,
                       "%s: unknown parameter, this route takes none", name);
    return pd_query_set(&request->query, name, value, &problem->error);
}

static int parse_parameters(struct pd_target *target, struct pd_request *request,
                            struct pd_problem *problem)
{
    char name[sizeof problem->parameter], value[PD_TARGET_MAX_BYTES];
    int more;

    while ((more = pd_target_next(target, name, sizeof name, value, sizeof value,
                                  &problem->error)) > 0) {
        more = set_parameter(request, name, value, problem);
        if (more)
            break;
    }
    if (more)
        memcpy(problem->parameter, name, sizeof name);
    return more;
}

void pd_request_name_parameter(struct pd_problem *problem)
{
    snprintf(problem->parameter, sizeof problem->parameter, "%.*s",
             (int)strcspn(problem->error.text, ":"), problem->error.text);
}

static int finish_query(struct pd_request *request, struct pd_problem *problem)
{
    int e = pd_query_finish(&request->query, &problem->error);

    if (e)
        pd_request_name_parameter(problem);
    return e;
}

static int parse(const char *method, const char *bytes, size_t len, struct pd_request *request,
                 struct pd_problem *problem)
{
    struct pd_target target;
    char path[64];
    int e = pd_target_path(&target, bytes, len, path, sizeof path);

    if (e == -PD_E_URI_TOO_LONG)
        return pd_fail(&problem->error, e, "the request target is longer than %d bytes",
                       PD_TARGET_MAX_BYTES);
    if (e || find_route(path, request))
        return pd_fail(&problem->error, -PD_E_NOT_FOUND,
                       "there is nothing here; /openapi.json lists what there is");
    if (strcmp(method, "GET") && strcmp(method, "HEAD"))
        return pd_fail(&problem->error, -PD_E_METHOD, "this route is only read: GET or HEAD");
    e = parse_parameters(&target, request, problem);
    return e || request->route != PD_ROUTE_QUERY ? e : finish_query(request, problem);
}

int pd_request_parse(const char *method, const char *target, size_t target_bytes,
                     struct pd_request *ret_request, struct pd_problem *ret_problem)
{
    struct pd_problem problem = {0};
    struct pd_request request = {0};
    int e = parse(method, target, target_bytes, &request, &problem);

    if (e)
        *ret_problem = problem;
    else
        *ret_request = request;
    return e;
}
