/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter: which libraries it has, its budgets of instructions and memory, and how a
 * program's functions are called. */
#include "program/sandbox.h"

#include <jansson.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "program/calls.h"
#include "program/values.h"

#define HOOK_INSTRUCTIONS 1000

/* Of the interpreter at hand; reached from the hook through the extra space of each Lua thread. */
struct sandbox {
    size_t used_bytes, max_bytes;
    int64_t instructions_left;
    int fd; /* of the agent */
};

/* ---- budgets ---- */

static void *allocate(void *context, void *old, size_t old_bytes, size_t new_bytes)
{
    struct sandbox *sandbox = context;
    size_t had = old ? old_bytes : 0;
    if (new_bytes > had && new_bytes - had > sandbox->max_bytes - sandbox->used_bytes) {
        return NULL;
    }
    void *new = new_bytes ? realloc(old, new_bytes) : NULL;
    if (!new_bytes) {
        free(old);
    }
    if (new || !new_bytes) {
        sandbox->used_bytes += new_bytes - had;
    }
    return new;
}

/* When nothing is left the process says so and ends. An error could be caught, and Lua counts
 * nothing in a message handler or in what a coroutine closes while an error of the hook is on its
 * way. */
static void spend(struct sandbox *sandbox)
{
    static const unsigned char failure = PD_PROGRAM_INSTRUCTIONS;
    static const char words[] = "the program's budget of instructions is used up";
    sandbox->instructions_left -= HOOK_INSTRUCTIONS;
    if (sandbox->instructions_left > 0) {
        return;
    }
    (void)pd_program_wire_send(sandbox->fd, PD_WIRE_FOREVER, PD_WIRE_FAILED, &failure,
                               sizeof failure, words, sizeof words - 1);
    _exit(EXIT_FAILURE);
}

static struct sandbox *sandbox_of(lua_State *lua)
{
    return *(struct sandbox **)lua_getextraspace(lua);
}

static void on_instructions(lua_State *lua, lua_Debug *debug)
{
    (void)debug;
    spend(sandbox_of(lua));
}

/* ---- libraries ---- */

static void forget(lua_State *lua, const char *table, const char *const *names)
{
    lua_getglobal(lua, table);
    for (; *names; names++) {
        lua_pushnil(lua);
        lua_setfield(lua, -2, *names);
    }
    lua_pop(lua, 1);
}

/* Finalizers would run where no count of instructions reaches. A field that comes later makes none.
 */
static int set_metatable(lua_State *lua)
{
    if (lua_istable(lua, 2)) {
        lua_pushliteral(lua, "__gc");
        if (lua_rawget(lua, 2) != LUA_TNIL) {
            return luaL_error(lua, "__gc is not to be had here");
        }
        lua_pop(lua, 1);
    }
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_insert(lua, 1);
    lua_call(lua, lua_gettop(lua) - 1, 1);
    return 1;
}

/* Each coroutine counts its instructions from 0, so that what a short one executes is paid for when
 * it is made. */
static int make_coroutine(lua_State *lua)
{
    spend(sandbox_of(lua));
    lua_pushvalue(lua, lua_upvalueindex(1));
    lua_insert(lua, 1);
    lua_call(lua, lua_gettop(lua) - 1, 1);
    return 1;
}

static void charge(lua_State *lua, const char *name)
{
    lua_getglobal(lua, LUA_COLIBNAME);
    lua_getfield(lua, -1, name);
    lua_pushcclosure(lua, make_coroutine, 1);
    lua_setfield(lua, -2, name);
    lua_pop(lua, 1);
}

/* No files, processes, modules, debugging, bytecode; nothing that loads text as code. */
static void open_libraries(lua_State *lua)
{
    static const luaL_Reg libraries[] = {
        {LUA_GNAME, luaopen_base},        {LUA_TABLIBNAME, luaopen_table},
        {LUA_STRLIBNAME, luaopen_string}, {LUA_MATHLIBNAME, luaopen_math},
        {LUA_UTF8LIBNAME, luaopen_utf8},  {LUA_COLIBNAME, luaopen_coroutine},
    };
    static const char *const base[] = {"dofile", "loadfile", "load", "collectgarbage",
                                       "print",  "warn",     NULL};
    static const char *const string[] = {"dump", NULL};
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        luaL_requiref(lua, libraries[i].name, libraries[i].func, 1);
        lua_pop(lua, 1);
    }
    lua_getglobal(lua, "setmetatable");
    lua_pushcclosure(lua, set_metatable, 1);
    lua_setglobal(lua, "setmetatable");
    charge(lua, "create");
    charge(lua, "wrap");
    forget(lua, LUA_GNAME, base);
    forget(lua, LUA_STRLIBNAME, string);
    lua_pushnil(lua);
    lua_setfield(lua, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
}

/* ---- a run ---- */

/* On the stack when protected() begins: the request (light userdata), where the result goes (light
 * userdata). */
struct job {
    int fd;
    json_t *request;
    enum pd_program_failure stage; /* what an error at this point is */
    char *result;
};

static void load_program(lua_State *lua, struct job *job)
{
    json_t *source = json_object_get(job->request, "program");
    const char *text = json_string_value(source);
    job->stage = PD_PROGRAM_SYNTAX;
    if (!text) {
        luaL_error(lua, "there is no program");
    }
    if (luaL_loadbufferx(lua, text, json_string_length(source), "=program", "t")) {
        lua_error(lua);
    }
}

static void define_program(lua_State *lua, struct job *job)
{
    job->stage = PD_PROGRAM_ERROR;
    lua_call(lua, 0, 0);
}

static void want_function(lua_State *lua, struct job *job, const char *name)
{
    job->stage = PD_PROGRAM_SYNTAX;
    if (lua_getglobal(lua, name) != LUA_TFUNCTION) {
        luaL_error(lua, "the program has no function %s", name);
    }
    job->stage = PD_PROGRAM_ERROR;
}

static void call_program(lua_State *lua, struct job *job)
{
    json_t *both = json_object_get(job->request, "merge");
    const char *name = json_string_value(json_object_get(job->request, "has"));
    if (name) {
        lua_pushboolean(lua, lua_getglobal(lua, name) == LUA_TFUNCTION);
    } else if (both) {
        want_function(lua, job, "merge");
        pd_program_values_push(lua, json_array_get(both, 0));
        pd_program_values_push(lua, json_array_get(both, 1));
        lua_call(lua, 2, 1);
    } else {
        want_function(lua, job, "run");
        pd_program_values_push(lua, json_object_get(job->request, "args"));
        lua_call(lua, 1, 1);
    }
}

static void take_result(lua_State *lua, struct job *job)
{
    const char *wrong = NULL;
    job->stage = PD_PROGRAM_RESULT;
    json_t *value = pd_program_values_json(lua, -1, &wrong);
    job->result = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    json_decref(value);
    if (!job->result) {
        luaL_error(lua, "the result is not a JSON value: %s", wrong ? wrong : "no memory");
    }
    if (strlen(job->result) > PD_WIRE_MAX_BYTES) {
        luaL_error(lua, "the result is larger than %d MiB", (int)(PD_WIRE_MAX_BYTES >> 20));
    }
}

static int protected(lua_State *lua)
{
    struct job *job = lua_touserdata(lua, 1);
    open_libraries(lua);
    pd_program_calls_open(lua, job->fd);
    load_program(lua, job);
    if (json_object_get(job->request, "check")) {
        lua_pushboolean(lua, true);
    } else {
        define_program(lua, job);
        call_program(lua, job);
    }
    take_result(lua, job);
    return 0;
}

/* A program that fails in its own way may say so by any value. */
static char *words_of(lua_State *lua, enum pd_program_failure failure)
{
    char *words = NULL;
    size_t len;
    const char *text = lua_type(lua, -1) == LUA_TSTRING ? lua_tolstring(lua, -1, &len) : NULL;
    if (failure == PD_PROGRAM_MEMORY) {
        text = "the program's limit of memory was reached";
    }
    if (asprintf(&words, "%.400s", text ? text : "the program raised an error that is not a text") <
        0) {
        return NULL;
    }
    return words;
}

static void judge(lua_State *lua, struct job *job, int status, struct pd_sandbox_end *ret_end)
{
    enum pd_program_failure failure = 0;
    if (status == LUA_ERRMEM) {
        failure = PD_PROGRAM_MEMORY;
    } else if (status) {
        failure = job->stage;
    }
    ret_end->failure = failure;
    ret_end->text = failure ? words_of(lua, failure) : job->result;
    if (failure) {
        free(job->result);
    }
}

static void set_alarm(json_int_t left_ms)
{
    struct itimerval timer = {.it_value = {left_ms > 0 ? left_ms / 1000 + 1 : 1, 0}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void run_in(struct sandbox *sandbox, struct job *job, struct pd_sandbox_end *ret_end)
{
    lua_State *lua = lua_newstate(allocate, sandbox);
    if (!lua) {
        *ret_end =
            (struct pd_sandbox_end){PD_PROGRAM_MEMORY, strdup("the limit of memory is too small")};
        return;
    }
    *(struct sandbox **)lua_getextraspace(lua) = sandbox;
    lua_sethook(lua, on_instructions, LUA_MASKCOUNT, HOOK_INSTRUCTIONS);
    lua_pushcfunction(lua, protected); /* needs no memory of its own */
    lua_pushlightuserdata(lua, job);
    judge(lua, job, lua_pcall(lua, 1, 0, 0), ret_end);
    lua_close(lua);
}

void pd_program_sandbox_run(int fd, const char *request, size_t len, struct pd_sandbox_end *ret_end)
{
    json_t *asked = json_loadb(request, len, 0, NULL);
    json_t *limits = json_object_get(asked, "limits");
    struct sandbox sandbox = {
        .max_bytes = (size_t)json_integer_value(json_object_get(limits, "memory_bytes")),
        .instructions_left = json_integer_value(json_object_get(limits, "instructions")),
        .fd = fd,
    };
    struct job job = {.fd = fd, .request = asked};
    set_alarm(json_integer_value(json_object_get(limits, "left_ms")));
    run_in(&sandbox, &job, ret_end);
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    json_decref(asked);
}
