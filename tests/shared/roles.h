/* SPDX-License-Identifier: Apache-2.0 */
/* Each role at each route of a table, in each form of a request, by a list of its own. */
#ifndef PD_TESTS_ROLES_H
#define PD_TESTS_ROLES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "daemon/routes.h"

/* What answers a request; the caller's. */
typedef void roles_answer(const struct pd_http_request *request, struct pd_answer *answer);

/* Who may, written down a second time: rows of needed roles, columns of those that somebody has. */
static const int roles_allowed[PD_ROLE_ANY + 1][PD_ROLE_ANY] = {
    [PD_ROLE_READ] = {[PD_ROLE_READ] = 1, [PD_ROLE_INSTALL] = 1, [PD_ROLE_ADMIN] = 1},
    [PD_ROLE_INSTALL] = {[PD_ROLE_INSTALL] = 1, [PD_ROLE_ADMIN] = 1},
    [PD_ROLE_ADMIN] = {[PD_ROLE_ADMIN] = 1},
    [PD_ROLE_AGENT] = {[PD_ROLE_AGENT] = 1, [PD_ROLE_ADMIN] = 1},
    [PD_ROLE_ANY] =
        {[PD_ROLE_READ] = 1, [PD_ROLE_INSTALL] = 1, [PD_ROLE_ADMIN] = 1, [PD_ROLE_AGENT] = 1},
};

/* None of them gets as far as the work of a route: a parameter that no route has, or a body that is
 * none. What the role forbids is forbidden before anybody looks at these. */
static const struct roles_form {
    const char *query, *body, *accept;
} roles_forms[] = {
    {"?no_such_parameter=1", "", NULL},
    {"?no_such_parameter=1", "{", "application/json"},
    {"?no_such_parameter=%zz", "[1,2]", "text/html"},
    {"?no_such_parameter", "{\"no\":", "application/x-ndjson"},
};

static void roles_check(const struct pd_route *route, enum pd_role role,
                        const struct roles_form *form, roles_answer *answer_request)
{
    char target[PD_ROUTE_PATH_BYTES + 64];
    const char *id = strstr(route->path, "{id}");
    struct pd_http_request request = {.method = route->method,
                                      .target = target,
                                      .accept = form->accept,
                                      .body = form->body,
                                      .body_bytes = strlen(form->body),
                                      .role = role,
                                      .peer = "999999"};
    int wanted = route->role == PD_ROLE_NONE        ? 0
                 : role == PD_ROLE_NONE             ? 401
                 : roles_allowed[route->role][role] ? 0
                                                    : 403;
    struct pd_answer answer;

    snprintf(target, sizeof target, "%.*s%s%s%s", id ? (int)(id - route->path) : 200, route->path,
             id ? "999999" : "", id ? id + strlen("{id}") : "", form->query);
    request.target_bytes = strlen(target);
    pd_http_answer_init(&answer);
    answer_request(&request, &answer);
    if (wanted
            ? answer.http_status != wanted
            : answer.http_status == 401 || answer.http_status == 403 || answer.http_status == 200) {
        fail_msg("%s %s as %s: %d", route->method, target, pd_http_role_id(role),
                 answer.http_status);
    }
    pd_http_answer_done(&answer);
}

static void roles_check_all(const struct pd_route *routes, size_t len, roles_answer *answer_request)
{
    for (size_t i = 0; i < len; i++) {
        for (enum pd_role role = PD_ROLE_NONE; role < PD_ROLE_ANY; role++) {
            for (size_t k = 0; k < sizeof roles_forms / sizeof *roles_forms; k++) {
                roles_check(&routes[i], role, &roles_forms[k], answer_request);
            }
        }
    }
}

#endif
