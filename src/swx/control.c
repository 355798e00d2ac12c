/* SPDX-License-Identifier: Apache-2.0 */
/* REST of the control socket. */
#include "swx/control.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/body.h"
#include "http/server.h"
#include "http/target.h"

#define BODY_BYTES_MAX (64u << 20)
#define NUMBERS_MAX    65536u
#define JSON           "application/json"

struct pd_swx_control {
    struct pd_swx_process *process;
    struct pd_listener listener;
    struct pd_http *http;
};

/* What a request is about. */
struct call {
    struct pd_swx_switch *sw;
    char what[16], name[PD_SWX_NAME_MAX];
    uint64_t from, count;
    const struct pd_http_request *http;
    struct pd_answer *answer;
    struct pd_problem *problem;
    bool put;
};

static int fail(const struct call *call, int err, const char *words)
{
    return pd_fail(&call->problem->error, err, "%s: %s", call->name, words);
}

static int give(const struct call *call, json_t *document)
{
    if (!document) {
        return fail(call, -ENOMEM, "no memory");
    }
    pd_http_answer_json(call->answer, 200, JSON, document);
    return 0;
}

/* ---- tables */

static json_t *rows_of(const struct pd_swx_rows *rows)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < rows->len; i++) {
        json_array_append_new(list, json_string(rows->lines[i]));
    }
    return list;
}

/* Rows as the lines of a file; what holds a newline itself would be two. */
static char *text_of(const json_t *rows)
{
    size_t bytes = 1, len = 0, i;
    const json_t *row;
    json_array_foreach(rows, i, row)
    {
        const char *line = json_string_value(row);
        if (!line || strchr(line, '\n') || bytes > PD_SWX_ROWS_BYTES_MAX) {
            return NULL;
        }
        bytes += strlen(line) + 1;
    }
    char *text = malloc(bytes);
    json_array_foreach(rows, i, row)
    {
        len += text ? (size_t)sprintf(text + len, "%s\n", json_string_value(row)) : 0;
    }
    if (text) {
        text[len] = '\0';
    }
    return text;
}

static int put_rows(const struct call *call, uint32_t table, const json_t *body)
{
    const json_t *rows = json_object_get(body, "rows");
    char *text = json_is_array(rows) ? text_of(rows) : NULL;
    if (!text) {
        return fail(call, -PD_E_VALUE, "expects {\"rows\":[\"match … action …\", …]}");
    }
    int err =
        pd_swx_entries_replace(&call->sw->entries, table, text, call->name, &call->problem->error);
    free(text);
    return err;
}

static int do_table(const struct call *call, const json_t *body)
{
    uint32_t table = pd_swx_pipeline_find_table(call->sw->pipeline, call->name);
    if (table == PD_SWX_NONE) {
        return fail(call, -PD_E_NOT_FOUND, "the program has no such table");
    }
    int err = call->put ? put_rows(call, table, body) : 0;
    return err ? err
               : give(call,
                      json_pack("{s:I,s:s,s:o}", "switch", (json_int_t)call->sw->id, "table",
                                call->name, "rows", rows_of(&call->sw->entries.tables[table])));
}

/* ---- arrays */

static int put_values(const struct call *call, const char *array, uint32_t len, const json_t *body)
{
    const json_t *values = json_object_get(body, "values"), *value;
    size_t i;
    if (!json_is_array(values) || call->from + json_array_size(values) > len) {
        return fail(call, -PD_E_VALUE, "expects {\"values\":[…]} that end within the array");
    }
    json_array_foreach(values, i, value)
    {
        if (!json_is_integer(value) || json_integer_value(value) < 0) {
            return fail(call, -PD_E_VALUE, "expects whole numbers from 0 on");
        }
    }
    json_array_foreach(values, i, value)
    {
        pd_swx_pipeline_write(call->sw->pipeline, array, (uint32_t)(call->from + i),
                              (uint64_t)json_integer_value(value));
    }
    return 0;
}

static int do_array(const struct call *call, const json_t *body)
{
    char array[PD_SWX_NAME_MAX];
    const uint32_t len = pd_swx_pipeline_array(call->sw->pipeline, call->name, array);
    if (!len) {
        return fail(call, -PD_E_NOT_FOUND, "the program has no such array");
    }
    int err = call->from < len ? 0 : fail(call, -PD_E_VALUE, "from: the array ends before that");
    err = err || !call->put ? err : put_values(call, array, len, body);
    if (err) {
        return err;
    }
    uint64_t count = call->count < NUMBERS_MAX ? call->count : NUMBERS_MAX;
    uint64_t end = count < len - call->from ? call->from + count : len;
    json_t *values = json_array();
    for (uint64_t i = call->from; values && i < end; i++) {
        uint64_t value = pd_swx_pipeline_read(call->sw->pipeline, array, (uint32_t)i);
        json_array_append_new(values, json_integer((json_int_t)value));
    }
    return give(call, json_pack("{s:I,s:s,s:I,s:o}", "switch", (json_int_t)call->sw->id, "array",
                                call->name, "from", (json_int_t)call->from, "values", values));
}

/* ---- punts */

/* From a byte on, and so many at most: who follows them reads what is new. */
static int do_punts(const struct call *call)
{
    char block[65536];
    uint64_t left = call->count;
    size_t got;
    FILE *in = call->sw->punts ? fopen(call->sw->punts, "re") : NULL;
    if (!in) {
        return fail(call, -PD_E_NOT_FOUND, "this switch writes no punts down");
    }
    int err = fseeko(in, (off_t)call->from, SEEK_SET) ? -errno : 0;
    call->answer->type = "application/x-ndjson";
    while (!err && (got = fread(block, 1, left < sizeof block ? left : sizeof block, in))) {
        err = pd_http_answer_write(call->answer, block, got);
        left -= got;
    }
    fclose(in);
    return err ? fail(call, err, "the punts") : 0;
}

/* ---- requests */

static int do_switches(const struct pd_swx_process *process, const struct call *call)
{
    json_t *list = json_array();
    for (uint32_t i = 0; list && i < process->len; i++) {
        json_t *one = pd_swx_switch_summary(&process->switches[i]);
        json_object_set_new(one, "program", json_string(process->switches[i].program));
        json_array_append_new(list, one);
    }
    return give(call, json_pack("{s:o}", "switches", list));
}

static int read_parameters(struct call *call, struct pd_target *target)
{
    char name[32], value[32];
    int got;
    while ((got = pd_http_target_next(target, name, sizeof name, value, sizeof value,
                                      &call->problem->error)) > 0) {
        uint64_t *into = !strcmp(name, "from")    ? &call->from
                         : !strcmp(name, "count") ? &call->count
                                                  : NULL;
        char *end = value;
        errno = 0;
        uint64_t number = *value >= '0' && *value <= '9' ? strtoull(value, &end, 10) : 0;
        if (!into || end == value || *end || errno || number > INT64_MAX) {
            snprintf(call->problem->parameter, sizeof call->problem->parameter, "%s", name);
            return pd_fail(&call->problem->error, into ? -PD_E_VALUE : -PD_E_UNKNOWN_KEY,
                           "%s: expects a whole number; there are from and count", name);
        }
        *into = number;
    }
    return got;
}

static int serve_switch(struct pd_swx_process *process, struct call *call, const char *path,
                        const json_t *body)
{
    unsigned id;
    int end = 0;
    if (sscanf(path, "/v1/switches/%u/%15[a-z]%n/%63[^/]%n", &id, call->what, &end, call->name,
               &end) < 2 ||
        path[end]) {
        return pd_fail(&call->problem->error, -PD_E_NOT_FOUND, "no such resource");
    }
    for (uint32_t i = 0; i < process->len; i++) {
        if (process->switches[i].id == id) {
            call->sw = &process->switches[i];
        }
    }
    const bool named = call->name[0];
    if (call->sw && named && !strcmp(call->what, "tables")) {
        return do_table(call, body);
    }
    if (call->sw && named && !strcmp(call->what, "arrays")) {
        return do_array(call, body);
    }
    if (call->sw && !named && !strcmp(call->what, "punts") && !call->put) {
        return do_punts(call);
    }
    return pd_fail(&call->problem->error, -PD_E_NOT_FOUND, "no such resource");
}

static int serve(struct pd_swx_process *process, struct call *call, const json_t *body)
{
    char path[400];
    struct pd_target target;
    int err = pd_http_target_path(&target, call->http->target, call->http->target_bytes, path,
                                  sizeof path);
    err = err ? pd_fail(&call->problem->error, err, "the target cannot be read")
              : read_parameters(call, &target);
    if (err) {
        return err;
    }
    if (!call->put && !strcmp(path, "/v1/status")) {
        return give(call, json_pack("{s:I,s:b}", "switches", (json_int_t)process->len, "captures",
                                    process->captures));
    }
    return !call->put && !strcmp(path, "/v1/switches") ? do_switches(process, call)
                                                       : serve_switch(process, call, path, body);
}

static int answer_call(struct pd_swx_control *control, struct call *call)
{
    json_t *body = NULL;
    const char *method = call->http->method;
    call->put = !strcmp(method, "PUT");
    if (!call->put && strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        snprintf(call->problem->allow, sizeof call->problem->allow, "GET, HEAD, PUT");
        return pd_fail(&call->problem->error, -PD_E_METHOD, "%s is not allowed here", method);
    }
    int err = call->put ? pd_http_body_json(call->http->body, call->http->body_bytes, &body,
                                            &call->problem->error)
                        : 0;
    if (!err) {
        pd_swx_process_lock(control->process);
        err = serve(control->process, call, body);
        pd_swx_process_unlock(control->process);
    }
    json_decref(body);
    return err;
}

static void answer(void *context, const struct pd_http_request *request, struct pd_answer *answer)
{
    struct pd_problem problem = {.error = {.code = 0}};
    struct call call = {
        .http = request, .answer = answer, .problem = &problem, .count = UINT64_MAX};
    if (answer_call(context, &call)) {
        pd_http_answer_problem(answer, &problem);
    }
}

static void count(void *context, enum pd_http_event event)
{
    (void)context;
    (void)event;
}

int pd_swx_control_open(struct pd_swx_process *process, const char *address,
                        struct pd_swx_control **ret_control, struct pd_error *error)
{
    struct pd_swx_control *control = calloc(1, sizeof *control);
    if (!control) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    const struct pd_http_service service = {
        .context = control, .answer = answer, .count = count, .body_max_bytes = BODY_BYTES_MAX};
    control->process = process;
    control->listener.fd = -1;
    int err = pd_http_listen_open(address, &control->listener, error);
    if (!err && (err = pd_http_start(&service, &control->listener, &control->http))) {
        pd_fail(error, err, "control: %s: %s", address, pd_error_text(err));
    }
    if (err) {
        pd_swx_control_close(control);
        return err;
    }
    *ret_control = control;
    return 0;
}

void pd_swx_control_close(struct pd_swx_control *control)
{
    if (control) {
        pd_http_stop(control->http);
        pd_http_listen_close(&control->listener);
    }
    free(control);
}
