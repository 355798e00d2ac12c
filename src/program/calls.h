/* SPDX-License-Identifier: Apache-2.0 */
/* What a program may ask of its host: the functions of its world, each a call over the socket to
 * the agent. */
#ifndef PD_PROGRAM_CALLS_H
#define PD_PROGRAM_CALLS_H

#include <lua.h>

/* Defines get_flows, get_paths, get_poor_tcp_flows (iterators), get_count, get_duration (values)
 * and alarm. Raises errors of memory. */
void pd_program_calls_open(lua_State *lua, int fd);

#endif
