/* SPDX-License-Identifier: Apache-2.0 */
/* Roles: what whoever sent a request may do. */
#ifndef PD_HTTP_ROLE_H
#define PD_HTTP_ROLE_H

#include <stdbool.h>
#include <stdint.h>

#include "http/answer.h"
#include "http/server.h"

/* People and controllers have read < install < admin. An agent is beside that order: it tells the
 * controller about its own host, and asks the agents below it in a tree. Each route names the role
 * that it needs; the daemons check it in the one place where they call handlers, before anything of
 * the request is looked at:
 *
 *     e = pd_http_role_check(request, route->role, &problem);     401 or 403
 *
 *   a route needs    who may
 *   PD_ROLE_READ     read, install, admin
 *   PD_ROLE_INSTALL  install, admin
 *   PD_ROLE_ADMIN    admin
 *   PD_ROLE_AGENT    agent, admin: what agents tell; the handler asks pd_http_role_speaks_for() for
 *                    which host
 *   PD_ROLE_ANY      all of these: queries to agents
 *
 * Thread safety: pure. */

#define PD_ROLES(X)       \
    X(READ, "read")       \
    X(INSTALL, "install") \
    X(ADMIN, "admin")     \
    X(AGENT, "agent")

/* "read" … "agent"; "none", "any". */
const char *pd_http_role_id(enum pd_role role);

/* 0, or -PD_E_VALUE for what nobody can have. */
int pd_http_role_parse(const char *id, enum pd_role *ret_role);

bool pd_http_role_may(enum pd_role have, enum pd_role needed);

/* 0; -PD_E_UNAUTHORIZED without a role, -PD_E_FORBIDDEN with the wrong one. */
int pd_http_role_check(const struct pd_http_request *request, enum pd_role needed,
                       struct pd_problem *problem);

/* May this request say something in the name of that host? An agent only of its own: its
 * certificate's CN, or its token's name, is the host's ID. */
bool pd_http_role_speaks_for(const struct pd_http_request *request, uint32_t host);

#endif
