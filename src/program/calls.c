/* SPDX-License-Identifier: Apache-2.0 */
/* A program's calls: arguments to JSON, over the socket, lines of JSON back to values. */
#include "program/calls.h"

#include <endian.h>
#include <jansson.h>
#include <lauxlib.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "program/values.h"
#include "program/wire.h"

#define ROWS "pathdump.rows" /* name of the metatable */

/* An answer in the interpreter's hands. Whatever may be left over when an error is raised is kept
 * here, so that the collector finds it. */
struct rows {
    int fd;
    bool open; /* the agent may have more */
    uint32_t number;
    char *bytes; /* of the message at hand */
    size_t len, at;
    json_t *row;
};

enum answer { ROWS_OF_IT, VALUES_OF_IT };

static const struct call {
    const char *name;
    enum answer answer;
} calls[] = {
    {"get_flows", ROWS_OF_IT},     {"get_paths", ROWS_OF_IT},   {"get_poor_tcp_flows", ROWS_OF_IT},
    {"get_telemetry", ROWS_OF_IT}, {"get_count", VALUES_OF_IT}, {"get_duration", VALUES_OF_IT},
    {"alarm", VALUES_OF_IT},
};

/* ---- over the socket ---- */

static void rows_done(struct rows *rows)
{
    uint32_t number = htole32(rows->number);
    if (rows->open) {
        (void)pd_program_wire_send(rows->fd, PD_WIRE_FOREVER, PD_WIRE_CLOSE, &number, sizeof number,
                                   NULL, 0);
    }
    rows->open = false;
    free(rows->bytes);
    rows->bytes = NULL;
    json_decref(rows->row);
    rows->row = NULL;
}

/* An agent that says nonsense, or nothing any more, ends this process: there is no one else to talk
 * to. */
static struct pd_program_wire_message hear(int fd)
{
    struct pd_program_wire_message message;
    if (pd_program_wire_receive(fd, PD_WIRE_FOREVER, &message) ||
        (message.kind != PD_WIRE_LINES && message.kind != PD_WIRE_REFUSED) ||
        (message.kind == PD_WIRE_LINES && message.len < sizeof(uint32_t))) {
        _exit(EXIT_FAILURE);
    }
    return message;
}

static void take_lines(struct rows *rows, const struct pd_program_wire_message *message)
{
    free(rows->bytes);
    memcpy(&rows->number, message->bytes, sizeof rows->number);
    rows->number = le32toh(rows->number);
    rows->bytes = message->bytes;
    rows->len = message->len;
    rows->at = sizeof rows->number;
    rows->open = rows->at < rows->len;
}

static void ask_for_more(struct rows *rows)
{
    uint32_t number = htole32(rows->number);
    if (pd_program_wire_send(rows->fd, PD_WIRE_FOREVER, PD_WIRE_MORE, &number, sizeof number, NULL,
                             0)) {
        _exit(EXIT_FAILURE);
    }
    struct pd_program_wire_message message = hear(rows->fd);
    if (message.kind != PD_WIRE_LINES) {
        _exit(EXIT_FAILURE);
    }
    take_lines(rows, &message);
}

/* Decodes the next line into rows->row; false at the end. */
static bool next_row(lua_State *lua, struct rows *rows)
{
    json_decref(rows->row);
    rows->row = NULL;
    if (rows->bytes && rows->at == rows->len && rows->open) {
        ask_for_more(rows);
    }
    if (!rows->bytes || rows->at == rows->len) {
        return false;
    }
    const char *line = rows->bytes + rows->at;
    const char *end = memchr(line, '\n', rows->len - rows->at);
    size_t len = end ? (size_t)(end - line) : rows->len - rows->at;
    rows->at += len + (end != NULL);
    rows->row = json_loadb(line, len, JSON_DECODE_ANY, NULL);
    if (!rows->row) {
        luaL_error(lua, "there is no memory for an answer");
    }
    return true;
}

/* ---- functions of a program's world ---- */

static int collect_rows(lua_State *lua)
{
    rows_done(lua_touserdata(lua, 1));
    return 0;
}

/* Called by `for` with the rows as its state. */
static int step(lua_State *lua)
{
    struct rows *rows = luaL_checkudata(lua, 1, ROWS);
    if (!next_row(lua, rows)) {
        return 0;
    }
    pd_program_values_push(lua, rows->row);
    return 1;
}

static int give_values(lua_State *lua, struct rows *rows)
{
    if (!next_row(lua, rows)) {
        return 0;
    }
    int len = (int)json_array_size(rows->row);
    luaL_checkstack(lua, len + 4, NULL);
    for (int i = 0; i < len; i++) {
        pd_program_values_push(lua, json_array_get(rows->row, (size_t)i));
    }
    return len;
}

/* The call as text, which the caller frees. No arguments and an empty table are both {}. */
static char *request(lua_State *lua, const char *name)
{
    const char *wrong = "no memory";
    if (!lua_isnoneornil(lua, 1)) {
        luaL_checktype(lua, 1, LUA_TTABLE);
    }
    json_t *args = lua_isnoneornil(lua, 1) ? json_object() : pd_program_values_json(lua, 1, &wrong);
    if (json_is_array(args) && !json_array_size(args)) {
        json_decref(args);
        args = json_object();
    }
    if (json_is_array(args)) {
        wrong = "they are a list; expected names and values";
    }
    json_t *call =
        json_is_object(args) ? json_pack("{s:s, s:O}", "name", name, "args", args) : NULL;
    char *text = call ? json_dumps(call, JSON_COMPACT) : NULL;
    json_decref(call);
    json_decref(args);
    if (text && strlen(text) > PD_WIRE_MAX_BYTES) {
        free(text);
        text = NULL;
        wrong = "they are larger than 16 MiB";
    }
    if (!text) {
        luaL_error(lua, "arguments of %s: %s", name, wrong);
    }
    return text;
}

static int call_host(lua_State *lua)
{
    const struct call *call = lua_touserdata(lua, lua_upvalueindex(1));
    int fd = (int)lua_tointeger(lua, lua_upvalueindex(2));
    lua_settop(lua, 1);
    struct rows *rows = lua_newuserdatauv(lua, sizeof *rows, 0);
    *rows = (struct rows){.fd = fd};
    luaL_setmetatable(lua, ROWS);
    char *text = request(lua, call->name);
    if (pd_program_wire_send(fd, PD_WIRE_FOREVER, PD_WIRE_CALL, NULL, 0, text, strlen(text))) {
        _exit(EXIT_FAILURE);
    }
    free(text);
    struct pd_program_wire_message message = hear(fd);
    if (message.kind == PD_WIRE_REFUSED) {
        rows->bytes = message.bytes; /* freed by the collector */
        return luaL_error(lua, "%s: %s", call->name, message.bytes);
    }
    take_lines(rows, &message);
    if (call->answer == VALUES_OF_IT) {
        return give_values(lua, rows);
    }
    lua_pushcfunction(lua, step);
    lua_pushvalue(lua, 2);
    lua_pushnil(lua);
    lua_pushvalue(lua, 2); /* closed when the loop is left */
    return 4;
}

void pd_program_calls_open(lua_State *lua, int fd)
{
    luaL_newmetatable(lua, ROWS);
    for (const char *const *name = (const char *const[]){"__gc", "__close", NULL}; *name; name++) {
        lua_pushcfunction(lua, collect_rows);
        lua_setfield(lua, -2, *name);
    }
    lua_pushboolean(lua, 0);
    lua_setfield(lua, -2, "__metatable");
    lua_pop(lua, 1);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        lua_pushlightuserdata(lua, (void *)&calls[i]);
        lua_pushinteger(lua, fd);
        lua_pushcclosure(lua, call_host, 2);
        lua_setglobal(lua, calls[i].name);
    }
}
