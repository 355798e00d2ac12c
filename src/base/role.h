/* SPDX-License-Identifier: Apache-2.0 */
/* Roles of clients: what routes and questions need. */
#ifndef PD_BASE_ROLE_H
#define PD_BASE_ROLE_H

/* What whoever sent a request may do (http/role.h). ANY is what a route needs, never what somebody
 * has. */
enum pd_role {
    PD_ROLE_NONE, /* nobody knows who it is; what a route needs that is open to anybody */
    PD_ROLE_READ,
    PD_ROLE_INSTALL,
    PD_ROLE_ADMIN,
    PD_ROLE_AGENT,
    PD_ROLE_ANY,
};

#endif
