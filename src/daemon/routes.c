/* SPDX-License-Identifier: Apache-2.0 */
/* Look-up of routes; tables are short, so one after the other. */
#include "daemon/routes.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ID "{id}"

/* Whether the path is the route's; then what stands for {id}. */
static bool fits(const struct pd_route *route, const char *path, char ret_id[PD_ROUTE_ID_BYTES])
{
    const char *mark = strstr(route->path, ID);
    size_t fixed = mark ? (size_t)(mark - route->path) : 0, len;

    ret_id[0] = '\0';
    if (!mark) {
        return !strcmp(route->path, path);
    }
    if (strncmp(route->path, path, fixed) != 0) {
        return false;
    }
    len = strcspn(path + fixed, "/");
    if (!len || len >= PD_ROUTE_ID_BYTES || strcmp(path + fixed + len, mark + strlen(ID)) != 0) {
        return false;
    }
    memcpy(ret_id, path + fixed, len);
    ret_id[len] = '\0';
    return true;
}

static bool same_method(const char *route, const char *method)
{
    return !strcmp(route, method) || (!strcmp(route, "GET") && !strcmp(method, "HEAD"));
}

static void add_allowed(struct pd_problem *problem, const char *method)
{
    size_t at = strlen(problem->allow);

    snprintf(problem->allow + at, sizeof problem->allow - at, "%s%s%s", at ? ", " : "", method,
             strcmp(method, "GET") ? "" : ", HEAD");
}

int pd_daemon_route_find(const struct pd_route *routes, size_t routes_len, const char *method,
                         const char *path, size_t *ret_index, char ret_id[PD_ROUTE_ID_BYTES],
                         struct pd_problem *problem)
{
    problem->allow[0] = '\0';
    for (size_t i = 0; i < routes_len; i++) {
        char id[PD_ROUTE_ID_BYTES];

        if (!fits(&routes[i], path, id)) {
            continue;
        }
        if (same_method(routes[i].method, method)) {
            memcpy(ret_id, id, strlen(id) + 1);
            *ret_index = i;
            problem->allow[0] = '\0';
            return 0;
        }
        add_allowed(problem, routes[i].method);
    }
    if (!problem->allow[0]) {
        return pd_fail(&problem->error, -PD_E_NOT_FOUND,
                       "there is nothing here; /openapi.json lists what there is");
    }
    return pd_fail(&problem->error, -PD_E_METHOD, "this route knows %s only", problem->allow);
}
