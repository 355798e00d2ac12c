/* SPDX-License-Identifier: Apache-2.0 */
/* The router of a daemon's API: method and path against a table. */
#ifndef PD_DAEMON_ROUTES_H
#define PD_DAEMON_ROUTES_H

#include <stddef.h>

#include "http/answer.h"
#include "http/role.h"

/* A daemon's table is an X-macro of its own, from which it makes an array of these, its handlers,
 * and the check of its openapi.json. GET stands for HEAD, too. The same path may stand there with
 * several methods; a 405 names all of them.
 *
 * Thread safety: pure. */

struct pd_route {
    const char *method; /* "GET" */
    /* "/v1/status"; one segment "{id}" stands for any one: "/v1/links/{id}/history" */
    const char *path;
    enum pd_role role; /* that it needs */
    const char *help;
};

#define PD_ROUTE_PATH_BYTES 128 /* longer paths are no route's */
#define PD_ROUTE_ID_BYTES                                                   \
    64 /* of what stands for {id}, with the final NUL; longer is no route's \
        */

/* `path` without its parameters, escapes undone. Gives the index in the table and what stands for
 * {id} ("" where there is none). -PD_E_NOT_FOUND, or -PD_E_METHOD with problem->allow. */
int pd_daemon_route_find(const struct pd_route *routes, size_t routes_len, const char *method,
                         const char *path, size_t *ret_index, char ret_id[PD_ROUTE_ID_BYTES],
                         struct pd_problem *problem);

#endif
