/* SPDX-License-Identifier: Apache-2.0 */
/* The router, the reader of parameters and of bodies. */
#include "agent/request.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "http/body.h"
#include "http/role.h"
#include "http/target.h"

#define BODY_MAX_BYTES ((size_t)16 << 20) /* a tree of PD_TREE_HOSTS_MAX hosts fits */

/* The queries come first, by their numbers; then the table; then each question, GET and POST. */
static const struct pd_route fixed[] = {
#define X(id, name, help) {"GET", "/v1/" name, PD_ROLE_READ, help},
    PD_QUERIES(X)
#undef X
#define X(name, method, path, role, handler, help) {#method, path, PD_ROLE_##role, help},
        PD_ROUTES(X)
#undef X
};
#define FIXED_LEN     (sizeof fixed / sizeof *fixed)
#define QUESTIONS_MAX 32u

static struct {
    struct pd_route routes[FIXED_LEN + 2 * QUESTIONS_MAX];
    size_t len;
    char paths[QUESTIONS_MAX][PD_ROUTE_PATH_BYTES];
} all;

static void make_routes(void)
{
    memcpy(all.routes, fixed, sizeof fixed);
    all.len = FIXED_LEN;
    for (size_t i = 0; i < QUESTIONS_MAX && pd_questions[i]; i++) {
        snprintf(all.paths[i], sizeof all.paths[i], "/v1/%s", pd_questions[i]->name);
        all.routes[all.len++] =
            (struct pd_route){"GET", all.paths[i], PD_ROLE_READ, pd_questions[i]->help};
        all.routes[all.len++] = (struct pd_route){"POST", all.paths[i], PD_ROLE_READ,
                                                  "the same, with the parameters in the body"};
    }
}

const struct pd_route *pd_request_routes(size_t *ret_len)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make_routes);
    *ret_len = all.len;
    return all.routes;
}

static int find_route(const char *method, const char *path, struct pd_request *request,
                      enum pd_role *ret_role, struct pd_problem *problem)
{
    size_t len, i;
    const struct pd_route *routes = pd_request_routes(&len);
    int e = pd_route_find(routes, len, method, path, &i, request->id, problem);

    if (e) {
        return e;
    }
    *ret_role = routes[i].role;
    if (i < PD_QUERY_COUNT) {
        pd_query_init(&request->query, (enum pd_query_name)i);
    } else if (i < FIXED_LEN) {
        request->route = (enum pd_request_route)(PD_ROUTE_QUESTION + 1 + (int)(i - PD_QUERY_COUNT));
    } else {
        request->route = PD_ROUTE_QUESTION;
        request->question = pd_questions[(i - FIXED_LEN) / 2];
    }
    return 0;
}

/* As the body of the POST would have them. */
static int keep_parameter(struct pd_request *request, const char *name, const char *value,
                          struct pd_problem *problem)
{
    if (json_object_get(request->body, name)) {
        return pd_fail(&problem->error, -PD_E_VALUE, "%s: given twice", name);
    }
    return json_object_set_new(request->body, name, json_string(value))
               ? pd_fail(&problem->error, -PD_E_VALUE, "%s: expected UTF-8", name)
               : 0;
}

static int set_parameter(struct pd_request *request, const char *name, const char *value,
                         struct pd_problem *problem)
{
    if (request->route == PD_ROUTE_QUESTION && request->body) {
        return keep_parameter(request, name, value, problem);
    }
    if (request->route != PD_ROUTE_NAMED_QUERY) {
        return pd_fail(&problem->error, -PD_E_UNKNOWN_KEY,
                       "%s: unknown parameter, this route takes none", name);
    }
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
        if (more) {
            break;
        }
    }
    if (more) {
        memcpy(problem->parameter, name, sizeof name);
    }
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

    if (e) {
        pd_request_name_parameter(problem);
    }
    return e;
}

/* The path decides first, then the method: what is not there has no methods. */
static int parse_path(const struct pd_http_request *http, struct pd_target *target,
                      struct pd_request *request, enum pd_role *ret_role,
                      struct pd_problem *problem)
{
    char path[PD_ROUTE_PATH_BYTES];
    int e = pd_target_path(target, http->target, http->target_bytes, path, sizeof path);

    if (e == -PD_E_URI_TOO_LONG) {
        return pd_fail(&problem->error, e, "the request target is longer than %d bytes",
                       PD_TARGET_MAX_BYTES);
    }
    return find_route(http->method, e ? "" : path, request, ret_role, problem);
}

static int parse(const struct pd_http_request *http, struct pd_request *request,
                 struct pd_problem *problem)
{
    struct pd_target target;
    enum pd_role role;
    int e = parse_path(http, &target, request, &role, problem);

    if (!e) {
        e = pd_role_check(http, role, problem);
    }
    if (!e && request->route == PD_ROUTE_QUESTION && strcmp(http->method, "POST") != 0 &&
        !(request->body = json_object())) {
        e = pd_fail(&problem->error, -ENOMEM, "no memory");
    }
    if (!e) {
        e = parse_parameters(&target, request, problem);
    }
    if (e) {
        return e;
    }
    request->http = http;
    if (request->route == PD_ROUTE_NAMED_QUERY) {
        return finish_query(request, problem);
    }
    return strcmp(http->method, "POST")
               ? 0
               : pd_body_json(http->body, http->body_bytes, &request->body, &problem->error);
}

size_t pd_request_body_bytes(const char *method, const char *target)
{
    struct pd_request request = {.route = PD_ROUTE_NAMED_QUERY};
    struct pd_problem problem = {0};
    struct pd_target rest;
    enum pd_role role;
    struct pd_http_request http = {
        .method = method, .target = target, .target_bytes = strlen(target)};

    return strcmp(method, "POST") || parse_path(&http, &rest, &request, &role, &problem)
               ? 0
               : BODY_MAX_BYTES;
}

void pd_request_done(struct pd_request *request)
{
    json_decref(request->body);
    request->body = NULL;
}

int pd_request_parse(const struct pd_http_request *http, struct pd_request *ret_request,
                     struct pd_problem *ret_problem)
{
    struct pd_problem problem = {0};
    struct pd_request request = {.route = PD_ROUTE_NAMED_QUERY, .begun_ns = pd_clock_thread_ns()};
    int e = parse(http, &request, &problem);

    if (e) {
        pd_request_done(&request);
        *ret_problem = problem;
    } else {
        *ret_request = request;
    }
    return e;
}
