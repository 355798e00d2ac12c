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

/* The table, then each question that is asked by its name: GET and perhaps POST. */
static const struct pd_route fixed[] = {
#define X(name, method, path, role, handler, help) {#method, path, PD_ROLE_##role, help},
    PD_ROUTES(X)
#undef X
};
#define FIXED_LEN     (sizeof fixed / sizeof *fixed)
#define QUESTIONS_MAX 64u

static struct {
    struct pd_route routes[FIXED_LEN + 2 * QUESTIONS_MAX];
    const struct pd_question *asked[FIXED_LEN + 2 * QUESTIONS_MAX]; /* by such a route */
    size_t len, own;
    char paths[QUESTIONS_MAX][PD_ROUTE_PATH_BYTES];
} all;

static void add_route(const struct pd_question *question, const char *method, const char *path,
                      const char *help)
{
    all.asked[all.len] = question;
    all.routes[all.len++] = (struct pd_route){method, path, question->role, help};
}

static void make_routes(void)
{
    memcpy(all.routes, fixed, sizeof fixed);
    all.len = FIXED_LEN;
    for (size_t i = 0; i < QUESTIONS_MAX && pd_query_questions[i]; i++) {
        const struct pd_question *question = pd_query_questions[i];

        if (!question->member) {
            snprintf(all.paths[i], sizeof all.paths[i], "/v1/%s", question->name);
            add_route(question, "GET", all.paths[i], question->help);
        }
        if (question->posts) {
            add_route(question, "POST", all.paths[i], "the same, with the parameters in the body");
        }
        all.own = i < pd_questions_own ? all.len : all.own;
    }
}

const struct pd_route *pd_agent_request_routes(size_t *ret_len)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make_routes);
    *ret_len = all.len;
    return all.routes;
}

size_t pd_agent_request_routes_own(void)
{
    size_t len;

    (void)pd_agent_request_routes(&len);
    return all.own;
}

static int find_route(const char *method, const char *path, struct pd_request *request,
                      enum pd_role *ret_role, struct pd_problem *problem)
{
    size_t len, i;
    const struct pd_route *routes = pd_agent_request_routes(&len);
    int err = pd_daemon_route_find(routes, len, method, path, &i, request->id, problem);

    if (err) {
        return err;
    }
    *ret_role = routes[i].role;
    request->document.question = all.asked[i];
    request->route =
        all.asked[i] ? PD_ROUTE_QUESTION : (enum pd_request_route)(PD_ROUTE_QUESTION + 1 + (int)i);
    return 0;
}

/* As the body of the POST would have them. */
static int keep_parameter(struct pd_request *request, const char *name, const char *value,
                          struct pd_problem *problem)
{
    if (json_object_get(request->body, name)) {
        return pd_fail(&problem->error, -PD_E_VALUE, "%s: given twice", name);
    }
    return json_object_set_new_nocheck(request->body, name, json_string_nocheck(value))
               ? pd_fail(&problem->error, -ENOMEM, "no memory")
               : 0;
}

static int set_parameter(struct pd_request *request, const char *name, const char *value,
                         struct pd_problem *problem)
{
    if (request->body) {
        return keep_parameter(request, name, value, problem);
    }
    return pd_fail(&problem->error, -PD_E_UNKNOWN_KEY,
                   "%s: unknown parameter, this route takes none", name);
}

static int parse_parameters(struct pd_target *target, struct pd_request *request,
                            struct pd_problem *problem)
{
    char name[sizeof problem->parameter], value[PD_TARGET_MAX_BYTES];
    int more;

    while ((more = pd_http_target_next(target, name, sizeof name, value, sizeof value,
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

/* What concerns several parameters is told under the name that the words begin with. */
static void name_parameter(struct pd_problem *problem)
{
    snprintf(problem->parameter, sizeof problem->parameter, "%.*s",
             (int)strcspn(problem->error.text, ":"), problem->error.text);
}

/* The question with its parameters, wherever they stood. */
static int make_document(struct pd_request *request, struct pd_problem *problem)
{
    struct pd_document document;
    int err = pd_query_document_make(request->document.question, request->body, &document,
                                     &problem->error);

    if (err) {
        name_parameter(problem);
    } else {
        request->document = document;
    }
    return err;
}

/* The path decides first, then the method: what is not there has no methods. */
static int parse_path(const struct pd_http_request *http, struct pd_target *target,
                      struct pd_request *request, enum pd_role *ret_role,
                      struct pd_problem *problem)
{
    char path[PD_ROUTE_PATH_BYTES];
    int err = pd_http_target_path(target, http->target, http->target_bytes, path, sizeof path);

    if (err == -PD_E_URI_TOO_LONG) {
        return pd_fail(&problem->error, err, "the request target is longer than %d bytes",
                       PD_TARGET_MAX_BYTES);
    }
    return find_route(http->method, err ? "" : path, request, ret_role, problem);
}

static int parse(const struct pd_http_request *http, struct pd_request *request,
                 struct pd_problem *problem)
{
    struct pd_target target;
    enum pd_role role;
    int err = parse_path(http, &target, request, &role, problem);

    if (!err) {
        err = pd_http_role_check(http, role, problem);
    }
    if (!err && request->route == PD_ROUTE_QUESTION && strcmp(http->method, "POST") != 0 &&
        !(request->body = json_object())) {
        err = pd_fail(&problem->error, -ENOMEM, "no memory");
    }
    if (!err) {
        err = parse_parameters(&target, request, problem);
    }
    request->http = http;
    if (!err && !strcmp(http->method, "POST")) {
        err = pd_http_body_json(http->body, http->body_bytes, &request->body, &problem->error);
    }
    return err || request->route != PD_ROUTE_QUESTION ? err : make_document(request, problem);
}

size_t pd_agent_request_body_bytes(const char *method, const char *target)
{
    struct pd_request request = {0};
    struct pd_problem problem = {0};
    struct pd_target rest;
    enum pd_role role;
    struct pd_http_request http = {
        .method = method, .target = target, .target_bytes = strlen(target)};

    return strcmp(method, "POST") || parse_path(&http, &rest, &request, &role, &problem)
               ? 0
               : BODY_MAX_BYTES;
}

void pd_agent_request_done(struct pd_request *request)
{
    pd_query_document_done(&request->document);
    json_decref(request->body);
    request->body = NULL;
}

int pd_agent_request_parse(const struct pd_http_request *http, struct pd_request *ret_request,
                           struct pd_problem *ret_problem)
{
    struct pd_problem problem = {0};
    struct pd_request request = {.begun_ns = pd_clock_thread_ns()};
    int err = parse(http, &request, &problem);

    if (err) {
        pd_agent_request_done(&request);
        *ret_problem = problem;
    } else {
        *ret_request = request;
    }
    return err;
}
