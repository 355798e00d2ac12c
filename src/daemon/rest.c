/* SPDX-License-Identifier: Apache-2.0 */
/* From a request to its handler. */
#include "daemon/rest.h"

#include <assert.h>
#include <string.h>

#include "http/body.h"
#include "http/role.h"

void pd_daemon_rest_add(struct pd_rest *rest, const struct pd_part_route *row)
{
    assert(rest->len < PD_REST_ROUTES_MAX);
    rest->routes[rest->len] = row->route;
    rest->works[rest->len].handler = row->handler;
    rest->works[rest->len].bytes = row->bytes;
    rest->works[rest->len].body_bytes = row->body_bytes;
    rest->works[rest->len++].parameters = row->parameters;
}

static int find_route(const struct pd_rest *rest, const struct pd_http_request *http,
                      struct pd_call *call, size_t *ret_route, struct pd_problem *problem)
{
    char path[PD_ROUTE_PATH_BYTES];
    int err =
        pd_http_target_path(&call->parameters, http->target, http->target_bytes, path, sizeof path);

    if (err == -PD_E_URI_TOO_LONG) {
        return pd_fail(&problem->error, err, "the request target is longer than %d bytes",
                       PD_TARGET_MAX_BYTES);
    }
    return pd_daemon_route_find(rest->routes, rest->len, http->method, err ? "" : path, ret_route,
                                call->id, problem);
}

static int refuse_parameters(struct pd_call *call, struct pd_problem *problem)
{
    char value[PD_TARGET_MAX_BYTES];
    int more = pd_http_target_next(&call->parameters, problem->parameter, sizeof problem->parameter,
                                   value, sizeof value, &problem->error);

    return more > 0 ? pd_fail(&problem->error, -PD_E_UNKNOWN_KEY,
                              "%s: unknown parameter, this route takes none", problem->parameter)
                    : more;
}

static bool has_body(const char *method)
{
    return !strcmp(method, "POST") || !strcmp(method, "PUT");
}

static int call_handler(const struct pd_rest *rest, size_t route, void *daemon,
                        struct pd_call *call, struct pd_answer *answer, struct pd_problem *problem)
{
    int err = pd_http_role_check(call->http, rest->routes[route].role, problem);

    if (!err && !rest->works[route].parameters) {
        err = refuse_parameters(call, problem);
    }
    if (!err && has_body(rest->routes[route].method) && !rest->works[route].bytes) {
        err = pd_http_body_json(call->http->body, call->http->body_bytes, &call->body,
                                &problem->error);
    }
    if (!err && rest->witness) {
        err = rest->witness->before(daemon, &rest->routes[route], call, problem);
    }
    return err ? err : rest->works[route].handler(daemon, call, answer, problem);
}

int pd_daemon_rest_call(const struct pd_rest *rest, void *daemon,
                        const struct pd_http_request *http, struct pd_answer *answer,
                        struct pd_problem *problem)
{
    struct pd_call call = {.http = http};
    size_t route = 0;
    int err = find_route(rest, http, &call, &route, problem);
    bool found = !err;

    if (found) {
        err = call_handler(rest, route, daemon, &call, answer, problem);
    }
    if (err) {
        if (!problem->error.code) {
            problem->error.code = err;
        }
        pd_http_problem_name_parameter(problem);
    }
    if (found && rest->witness) {
        rest->witness->after(daemon, &rest->routes[route], &call, err, problem);
    }
    json_decref(call.body);
    return err;
}

static bool find_by_words(const struct pd_rest *rest, const char *method, const char *target,
                          size_t *ret_route)
{
    const struct pd_http_request http = {
        .method = method, .target = target, .target_bytes = strlen(target)};
    struct pd_problem problem = {0};
    struct pd_call call;

    return !find_route(rest, &http, &call, ret_route, &problem);
}

bool pd_daemon_rest_wants_body(const struct pd_rest *rest, const char *method, const char *target)
{
    size_t route;

    return has_body(method) && find_by_words(rest, method, target, &route);
}

size_t pd_daemon_rest_body_bytes(const struct pd_rest *rest, const char *method, const char *target,
                                 size_t usual)
{
    size_t route;

    if (!has_body(method) || !find_by_words(rest, method, target, &route)) {
        return 0;
    }
    return rest->works[route].body_bytes ? rest->works[route].body_bytes : usual;
}

bool pd_daemon_rest_is_open(const struct pd_rest *rest, const char *method, const char *target)
{
    size_t route;

    return find_by_words(rest, method, target, &route) && rest->routes[route].role == PD_ROLE_NONE;
}

/* ---- /openapi.json ---- */

static void lower(const char *text, char *ret_lowered, size_t bytes)
{
    size_t i = 0;

    for (; text[i] && i + 1 < bytes; i++) {
        ret_lowered[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] - 'A' + 'a' : text[i]);
    }
    ret_lowered[i] = '\0';
}

/* What the product's own parts bring is described already. */
static int describe(json_t *paths, const struct pd_route *route)
{
    json_t *path = json_object_get(paths, route->path);
    char method[16];

    lower(route->method, method, sizeof method);
    if (!path) {
        path = json_object();
        if (json_object_set_new(paths, route->path, path)) {
            return -1;
        }
    }
    if (json_object_get(path, method)) {
        return 0;
    }
    return json_object_set_new(path, method,
                               json_pack("{s:s, s:s, s:{s:{s:s}}}", "summary", route->help,
                                         "x-role", pd_http_role_id(route->role), "responses", "200",
                                         "description", route->help));
}

json_t *pd_daemon_rest_described(const struct pd_rest *rest, const char *openapi)
{
    json_t *document = rest->len > rest->own_len ? json_loads(openapi, 0, NULL) : NULL;
    json_t *paths = json_object_get(document, "paths");
    int failed = 0;

    for (size_t i = rest->own_len; document && i < rest->len && !failed; i++) {
        failed = describe(paths, &rest->routes[i]);
    }
    if (failed) {
        json_decref(document);
        document = NULL;
    }
    return document;
}
