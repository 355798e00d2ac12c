/* SPDX-License-Identifier: Apache-2.0 */
/* Who may ask for what: each route names the least access that it needs. */
#ifndef PD_HTTP_ACCESS_H
#define PD_HTTP_ACCESS_H

/* Thread safety: constants only. */

enum pd_access {
    PD_ACCESS_NONE,    /* anybody who can connect */
    PD_ACCESS_READ,    /* queries, status */
    PD_ACCESS_INSTALL, /* and what goes on by itself afterwards */
    PD_ACCESS_ADMIN,   /* and what changes the daemon or the switches */
    PD_ACCESS_AGENT,   /* beside these: what only an agent may send */
};

#endif
