/* SPDX-License-Identifier: Apache-2.0 */
/* The control socket: what switches hold and have counted, asked and changed while they forward. */
#ifndef PD_SWX_CONTROL_H
#define PD_SWX_CONTROL_H

#include "base/error.h"
#include "swx/process.h"

/* REST below /v1 (docs/man/pathdump-switch.8). Requests are served in threads of the HTTP server,
 * under the lock of the process: the forwarding thread lets go of it between two bursts, when no
 * frame is inside a program. So each frame sees an update whole or not at all.
 *
 *     GET status, GET switches
 *     GET, PUT switches/ID/tables/NAME     {"rows":["match … action …", …]}: all rows of the table
 *     GET, PUT switches/ID/arrays/NAME     {"values":[…]}, from ?from=, so many as ?count=
 *     GET switches/ID/punts                the punts' file, NDJSON
 */

struct pd_swx_control;

/* 0 or a negative error in words. */
int pd_swx_control_open(struct pd_swx_process *process, const char *address,
                        struct pd_swx_control **ret_control, struct pd_error *error);
void pd_swx_control_close(struct pd_swx_control *control); /* NULL is fine */

#endif
