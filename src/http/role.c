/* SPDX-License-Identifier: Apache-2.0 */
/* Who may do what. */
#include "http/role.h"

#include <stdio.h>
#include <string.h>

static const char *const ids[] = {[PD_ROLE_NONE] = "none",
                                  [PD_ROLE_ANY] = "any",
#define X(name, id) [PD_ROLE_##name] = id,
                                  PD_ROLES(X)
#undef X
};

const char *pd_http_role_id(enum pd_role role)
{
    return ids[role];
}

int pd_http_role_parse(const char *id, enum pd_role *ret_role)
{
#define X(name, text)               \
    if (!strcmp(id, text)) {        \
        *ret_role = PD_ROLE_##name; \
        return 0;                   \
    }
    PD_ROLES(X)
#undef X
    return -PD_E_VALUE;
}

bool pd_http_role_may(enum pd_role have, enum pd_role needed)
{
    switch (have) {
    case PD_ROLE_ADMIN: return true;
    case PD_ROLE_INSTALL:
        return needed == PD_ROLE_INSTALL || needed == PD_ROLE_READ || needed == PD_ROLE_ANY;
    case PD_ROLE_READ: return needed == PD_ROLE_READ || needed == PD_ROLE_ANY;
    case PD_ROLE_AGENT: return needed == PD_ROLE_AGENT || needed == PD_ROLE_ANY;
    case PD_ROLE_NONE:
    case PD_ROLE_ANY: break;
    }
    return false;
}

int pd_http_role_check(const struct pd_http_request *request, enum pd_role needed,
                       struct pd_problem *problem)
{
    if (needed == PD_ROLE_NONE) {
        return 0;
    }
    if (request->role == PD_ROLE_NONE) {
        return pd_fail(&problem->error, -PD_E_UNAUTHORIZED,
                       "a client certificate or a bearer token is needed here");
    }
    if (!pd_http_role_may(request->role, needed)) {
        return pd_fail(&problem->error, -PD_E_FORBIDDEN, "this needs the role %s, not %s",
                       needed == PD_ROLE_ANY ? "read" : pd_http_role_id(needed),
                       pd_http_role_id(request->role));
    }
    return 0;
}

bool pd_http_role_speaks_for(const struct pd_http_request *request, uint32_t host)
{
    char id[16];

    snprintf(id, sizeof id, "%u", host);
    return request->role == PD_ROLE_ADMIN ||
           (request->role == PD_ROLE_AGENT && request->peer && !strcmp(request->peer, id));
}
