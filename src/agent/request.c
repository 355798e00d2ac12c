/* SPDX-License-Identifier: Apache-2.0 */
/* The router and the reader of parameters. */
#include "agent/request.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *path;
    enum pd_route route;
} routes[] = {
#define X(name, path, help) {path, PD_ROUTE_##name},
    PD_ROUTES(X)
#undef X
};

/* What is left to read. */
struct cursor {
    const char *at;
    const char *end;
};

/* The part up to `separator` or the end; the cursor moves behind the separator. */
static struct cursor take_until(struct cursor *cursor, char separator)
{
    const char *stop = memchr(cursor->at, separator, (size_t)(cursor->end - cursor->at));
    struct cursor part = {cursor->at, stop ? stop : cursor->end};

    cursor->at = stop ? stop + 1 : cursor->end;
    return part;
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Undoes %XX into a C string; a NUL, an escape that is none and a text of `bytes` or more are errors. */
static int decode(struct cursor part, char *ret_text, size_t bytes)
{
    size_t len = 0;

    for (; part.at < part.end; part.at++) {
        char c = *part.at;

        if (c == '%') {
            int high = part.end - part.at > 2 ? hex(part.at[1]) : -1;
            int low = high >= 0 ? hex(part.at[2]) : -1;

            if (low < 0)
                return -PD_E_SYNTAX;
            c = (char)(high << 4 | low);
            part.at += 2;
        }
        if (!c)
            return -PD_E_SYNTAX;
        if (len + 1 >= bytes)
            return -PD_E_TOO_LARGE;
        ret_text[len++] = c;
    }
    ret_text[len] = '\0';
    return 0;
}

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

static int parse_path(struct cursor part, struct pd_request *request, struct pd_problem *problem)
{
    char path[64];

    if (decode(part, path, sizeof path) || find_route(path, request))
        return pd_fail(&problem->error, -PD_E_NOT_FOUND,
                       "there is nothing here; /openapi.json lists what there is");
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

/* One "name=value". */
static int parse_parameter(struct cursor part, struct pd_request *request,
                           struct pd_problem *problem)
{
    struct cursor name_part = take_until(&part, '=');
    char name[sizeof problem->parameter], value[1024];
    int e = decode(name_part, name, sizeof name);

    if (e)
        return pd_fail(&problem->error, -PD_E_SYNTAX,
                       "a parameter's name is too long or not percent-encoded");
    e = decode(part, value, sizeof value);
    if (e == -PD_E_TOO_LARGE)
        e = pd_fail(&problem->error, -PD_E_VALUE, "%s: the value is longer than any that fits",
                    name);
    else if (e)
        e = pd_fail(&problem->error, e, "%s: the value is not percent-encoded or holds a NUL",
                    name);
    else
        e = set_parameter(request, name, value, problem);
    if (e)
        memcpy(problem->parameter, name, sizeof name);
    return e;
}

static int parse_parameters(struct cursor rest, struct pd_request *request,
                            struct pd_problem *problem)
{
    while (rest.at < rest.end) {
        struct cursor part = take_until(&rest, '&');
        int e = part.at < part.end ? parse_parameter(part, request, problem) : 0;

        if (e)
            return e;
    }
    if (request->route != PD_ROUTE_QUERY)
        return 0;

    int e = pd_query_finish(&request->query, &problem->error);

    /* What concerns several parameters is told under the name that the words begin with. */
    if (e)
        snprintf(problem->parameter, sizeof problem->parameter, "%.*s",
                 (int)strcspn(problem->error.text, ":"), problem->error.text);
    return e;
}

int pd_request_parse(const char *method, const char *target, size_t target_bytes,
                     struct pd_request *ret_request, struct pd_problem *ret_problem)
{
    struct cursor rest = {target, target + target_bytes};
    struct pd_problem problem = {0};
    struct pd_request request = {0};
    struct cursor path;
    int e;

    if (target_bytes > PD_REQUEST_TARGET_BYTES) {
        e = pd_fail(&problem.error, -PD_E_URI_TOO_LONG,
                    "the request target is longer than %d bytes", PD_REQUEST_TARGET_BYTES);
    } else {
        path = take_until(&rest, '?');
        e = parse_path(path, &request, &problem);
        if (!e && strcmp(method, "GET") && strcmp(method, "HEAD"))
            e = pd_fail(&problem.error, -PD_E_METHOD, "this route is only read: GET or HEAD");
        if (!e)
            e = parse_parameters(rest, &request, &problem);
    }
    if (e)
        *ret_problem = problem;
    else
        *ret_request = request;
    return e;
}
