/* SPDX-License-Identifier: Apache-2.0 */
/* Values of Lua and of JSON. */
#include "program/values.h"

#include <lauxlib.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "program/wire.h"

#define VALUES_MAX 1000000u

/* ---- JSON to Lua ---- */

static void push_object(lua_State *lua, const json_t *value)
{
    const char *key;
    json_t *member;
    lua_createtable(lua, 0, (int)json_object_size(value));
    json_object_foreach((json_t *)value, key, member)
    {
        pd_program_values_push(lua, member);
        lua_setfield(lua, -2, key);
    }
}

static void push_array(lua_State *lua, const json_t *value)
{
    size_t i;
    json_t *element;
    lua_createtable(lua, (int)json_array_size(value), 0);
    json_array_foreach(value, i, element)
    {
        pd_program_values_push(lua, element);
        lua_rawseti(lua, -2, (lua_Integer)i + 1);
    }
}

void pd_program_values_push(lua_State *lua, const json_t *value)
{
    luaL_checkstack(lua, 4, "JSON is nested too deep");
    switch (value ? json_typeof(value) : JSON_NULL) {
    case JSON_OBJECT: push_object(lua, value); break;
    case JSON_ARRAY: push_array(lua, value); break;
    case JSON_STRING:
        lua_pushlstring(lua, json_string_value(value), json_string_length(value));
        break;
    case JSON_INTEGER: lua_pushinteger(lua, json_integer_value(value)); break;
    case JSON_REAL: lua_pushnumber(lua, json_real_value(value)); break;
    case JSON_TRUE: lua_pushboolean(lua, 1); break;
    case JSON_FALSE: lua_pushboolean(lua, 0); break;
    case JSON_NULL: lua_pushnil(lua); break;
    }
}

/* ---- Lua to JSON ---- */

struct maker {
    lua_State *lua;
    unsigned left, depth;
    size_t bytes_left; /* of texts: Lua has one in memory however often it is used, JSON does not */
    const char *wrong;
};

static json_t *make(struct maker *maker, int index);

static json_t *refuse(struct maker *maker, const char *words)
{
    maker->wrong = words;
    return NULL;
}

static bool is_list(lua_State *lua, int table)
{
    lua_Unsigned len = lua_rawlen(lua, table), keys = 0;
    lua_pushnil(lua);
    while (lua_next(lua, table)) {
        lua_pop(lua, 1);
        lua_Integer key = lua_isinteger(lua, -1) ? lua_tointeger(lua, -1) : 0;
        if (key < 1 || (lua_Unsigned)key > len) {
            lua_pop(lua, 1);
            return false;
        }
        keys++;
    }
    return keys == len;
}

static json_t *make_list(struct maker *maker, int table)
{
    json_t *list = json_array();
    lua_Integer len = (lua_Integer)lua_rawlen(maker->lua, table);
    for (lua_Integer i = 1; list && i <= len; i++) {
        lua_rawgeti(maker->lua, table, i);
        json_t *element = make(maker, lua_gettop(maker->lua));
        lua_pop(maker->lua, 1);
        if (json_array_append_new(list, element)) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

/* Whether these bytes can stand in JSON. A zero byte can in principle, but C ends a key there, and
 * two keys become one. */
static bool take_bytes(struct maker *maker, const char *text, size_t len)
{
    if (len > maker->bytes_left) {
        maker->wrong = "its texts are larger than 16 MiB";
    } else if (memchr(text, 0, len)) {
        maker->wrong = "a text has a zero byte";
    } else {
        maker->bytes_left -= len;
    }
    return !maker->wrong;
}

/* The key's text; numbers in `buffer`, since lua_tolstring would change the key under lua_next. */
static const char *key_text(struct maker *maker, int index, char buffer[32])
{
    lua_State *lua = maker->lua;
    if (lua_type(lua, index) == LUA_TSTRING) {
        size_t len;
        const char *text = lua_tolstring(lua, index, &len);
        return take_bytes(maker, text, len) ? text : NULL;
    }
    if (lua_isinteger(lua, index)) {
        snprintf(buffer, 32, "%lld", (long long)lua_tointeger(lua, index));
    } else if (lua_type(lua, index) == LUA_TNUMBER) {
        snprintf(buffer, 32, "%.14g", lua_tonumber(lua, index));
    } else {
        return (const char *)refuse(maker, "a key is neither a text nor a number");
    }
    return buffer;
}

static json_t *make_object(struct maker *maker, int table)
{
    lua_State *lua = maker->lua;
    json_t *object = json_object();
    lua_pushnil(lua);
    while (lua_next(lua, table)) {
        char buffer[32];
        const char *key = key_text(maker, lua_gettop(lua) - 1, buffer);
        if (key && json_object_get(object, key)) {
            key = (const char *)refuse(maker, "two keys are the same text");
        }
        json_t *member = key ? make(maker, lua_gettop(lua)) : NULL;
        lua_pop(lua, 1);
        if (!member || json_object_set_new(object, key, member)) {
            maker->wrong = maker->wrong ? maker->wrong : "a key is not UTF-8";
            lua_pop(lua, 1);
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

static json_t *make_table(struct maker *maker, int table)
{
    if (maker->depth == PD_VALUES_DEPTH_MAX || !lua_checkstack(maker->lua, 8)) {
        return refuse(maker, "tables are nested too deep, or in themselves");
    }
    maker->depth++;
    json_t *value =
        is_list(maker->lua, table) ? make_list(maker, table) : make_object(maker, table);
    maker->depth--;
    return value;
}

static json_t *make_text(struct maker *maker, int index)
{
    size_t len;
    const char *text = lua_tolstring(maker->lua, index, &len);
    json_t *value = take_bytes(maker, text, len) ? json_stringn(text, len) : NULL;
    return value || maker->wrong ? value : refuse(maker, "a text is not UTF-8");
}

static json_t *make_number(struct maker *maker, int index)
{
    if (lua_isinteger(maker->lua, index)) {
        return json_integer(lua_tointeger(maker->lua, index));
    }
    double number = lua_tonumber(maker->lua, index);
    return isfinite(number) ? json_real(number) : refuse(maker, "a number is not finite");
}

static json_t *make(struct maker *maker, int index)
{
    if (!maker->left) {
        return refuse(maker, "it has more than a million values");
    }
    maker->left--;
    switch (lua_type(maker->lua, index)) {
    case LUA_TNIL: return json_null();
    case LUA_TBOOLEAN: return json_boolean(lua_toboolean(maker->lua, index));
    case LUA_TNUMBER: return make_number(maker, index);
    case LUA_TSTRING: return make_text(maker, index);
    case LUA_TTABLE: return make_table(maker, index);
    default: return refuse(maker, "a function, a thread or a userdata has no form in JSON");
    }
}

json_t *pd_program_values_json(lua_State *lua, int index, const char **ret_wrong)
{
    struct maker maker = {.lua = lua, .left = VALUES_MAX, .bytes_left = PD_WIRE_MAX_BYTES};
    json_t *value = lua_checkstack(lua, 8) ? make(&maker, lua_absindex(lua, index)) : NULL;
    if (maker.wrong) {
        *ret_wrong = maker.wrong;
    }
    return value;
}
