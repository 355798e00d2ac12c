/* SPDX-License-Identifier: Apache-2.0 */
/* Values of Lua and of JSON, one made from the other. */
#ifndef PD_PROGRAM_VALUES_H
#define PD_PROGRAM_VALUES_H

#include <jansson.h>
#include <lua.h>

/* A table with the keys 1 … n and no others becomes an array, an empty one too; any other table an
 * object, its keys texts (numbers are written as such). JSON's null becomes nil. */

#define PD_VALUES_DEPTH_MAX 32

/* Pushes the value; raises errors of memory. `value` may be NULL: nil. */
void pd_program_values_push(lua_State *lua, const json_t *value);

/* Raises nothing. NULL: *ret_wrong says why not (static words), or it is unchanged and memory ran
 * out. At most a million values. */
json_t *pd_program_values_json(lua_State *lua, int index, const char **ret_wrong);

#endif
