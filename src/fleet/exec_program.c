/* SPDX-License-Identifier: Apache-2.0 */
/* Executions of programs: results are JSON, made one by the program's merge(), or listed by host.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fleet/exec.h"
#include "http/body.h"
#include "http/text.h"

#define ANSWER_MAX_BYTES ((uint64_t)64 << 20)
#define RESULT_MAX_BYTES ((uint64_t)64 << 20) /* of a list of all hosts */

static struct pd_program_limits limits_of(const struct pd_exec *exec)
{
    struct pd_program_limits limits = exec->given->local->limits;

    limits.deadline_ns = exec->given->deadline_ns;
    return limits;
}

/* A program that is none is found out before anybody is asked. */
static int begin(struct pd_exec *exec, struct pd_error *error)
{
    const struct pd_execute_local *local = exec->given->local;
    struct pd_program_limits limits;

    if (!local || !local->programs) {
        return pd_fail(error, -PD_E_UNSUPPORTED, "programs are not supported here");
    }
    limits = limits_of(exec);
    return pd_programs_can_merge(local->programs, exec->given->document->program, &limits,
                                 &exec->can_merge, error);
}

static uint64_t max_bytes(const struct pd_exec *exec)
{
    (void)exec;
    return ANSWER_MAX_BYTES;
}

/* A program works in a process of its own: what it takes is told by the clock on the wall. */
static int run_local(struct pd_exec *exec, struct pd_error *error)
{
    const struct pd_execution *given = exec->given;
    uint64_t begun_ns = pd_clock_monotonic_ns(), worked_ns = pd_clock_thread_ns();
    int code = given->local->program(given->local->context, given->document, given->deadline_ns,
                                     &exec->own, error);

    exec->local_ns += pd_clock_monotonic_ns() - begun_ns - (pd_clock_thread_ns() - worked_ns);
    return code;
}

/* ---- a host's answer ---- */

/* Without merge() the hosts' own results, each with its name. */
static int check_list(const json_t *list, struct pd_roster *roster, const struct pd_census *host,
                      struct pd_error *error)
{
    size_t i;
    json_t *item;

    json_array_foreach(list, i, item)
    {
        uint64_t id;

        if (pd_exec_json_number(item, "host", &id) || id > UINT32_MAX ||
            pd_roster_speak(roster, (uint32_t)id) || !json_object_get(item, "result") ||
            json_object_size(item) != 2) {
            return pd_exec_json_wrong(error,
                                      "a list of other results than of the hosts that were asked");
        }
    }
    return json_is_array(list) && i == host->answered
               ? 0
               : pd_exec_json_wrong(error, "another number of results than of hosts");
}

static int check_json(struct pd_exec *exec, struct pd_exec_ready *ready, const json_t *json,
                      struct pd_roster *roster, struct pd_census *host, struct pd_error *error)
{
    json_t *result = json_object_get(json, "result");
    int code = 0;

    if (!result) {
        return pd_exec_json_wrong(error, "no \"result\"");
    }
    if (!ready->tree->children_len) {
        host->asked = host->answered = 1;
    } else {
        code = pd_exec_json_census(json, roster, host, error);
        if (!code && !exec->can_merge) {
            code = check_list(result, roster, host, error);
        }
    }
    if (!code) {
        ready->value = json_incref(result);
    }
    return code;
}

static int check(struct pd_exec *exec, struct pd_exec_ready *ready, struct pd_roster *roster,
                 struct pd_census *host, struct pd_error *error)
{
    json_t *json;
    int code = pd_exec_json_load(ready, &json, error);

    if (code) {
        return code;
    }
    code = check_json(exec, ready, json, roster, host, error);
    json_decref(json);
    return code;
}

/* ---- results become one ---- */

static int reduce(struct pd_exec *exec, json_t *value, struct pd_error *error)
{
    const struct pd_execute_local *local = exec->given->local;
    struct pd_program_limits limits = limits_of(exec);
    json_t *merged;

    if (!exec->result) {
        exec->result = json_incref(value);
        return 0;
    }
    int code = pd_programs_merge(local->programs, exec->given->document->program, exec->result,
                                 value, &limits, &merged, error);
    if (!code) {
        json_decref(exec->result);
        exec->result = merged;
    }
    return code;
}

static int list_one(struct pd_exec *exec, json_t *item, struct pd_error *error)
{
    exec->result_bytes += item ? json_dumpb(item, NULL, 0, JSON_COMPACT) : 0;
    if (exec->result_bytes > RESULT_MAX_BYTES) {
        json_decref(item);
        return pd_fail(error, -PD_E_TOO_LARGE,
                       "the results of all hosts are larger than %llu MiB together: the program "
                       "needs a merge()",
                       (unsigned long long)(RESULT_MAX_BYTES >> 20));
    }
    if (!exec->result) {
        exec->result = json_array();
    }
    return json_array_append_new(exec->result, item) ? pd_fail(error, -ENOMEM, "no memory") : 0;
}

static int add_result(struct pd_exec *exec, uint32_t host, bool is_list, json_t *value,
                      struct pd_error *error)
{
    size_t i;
    json_t *item;
    int code = 0;

    if (exec->can_merge) {
        return reduce(exec, value, error);
    }
    if (!is_list) {
        return list_one(exec, json_pack("{s:I, s:O}", "host", (json_int_t)host, "result", value),
                        error);
    }
    json_array_foreach(value, i, item)
    {
        if (!code) {
            code = list_one(exec, json_incref(item), error);
        }
    }
    return code;
}

static int add_own(struct pd_exec *exec, struct pd_error *error)
{
    json_t *own = exec->own;

    if (!own) {
        return 0;
    }
    exec->own = NULL;
    int code = add_result(exec, exec->given->local->host, false, own, error);
    json_decref(own);
    return code;
}

static int merge(struct pd_exec *exec, struct pd_exec_ready *ready, struct pd_error *error)
{
    int code = add_own(exec, error);

    return code ? code
                : add_result(exec, ready->tree->host, ready->tree->children_len != 0, ready->value,
                             error);
}

/* ---- the answer ---- */

static int by_host(const void *a, const void *b)
{
    json_int_t x = json_integer_value(json_object_get(*(json_t *const *)a, "host")),
               y = json_integer_value(json_object_get(*(json_t *const *)b, "host"));

    return (x > y) - (x < y);
}

/* Another list, of nobody's results where there are none; NULL without memory. */
static json_t *sorted(json_t *list)
{
    size_t len = json_array_size(list), i;
    json_t **items = malloc((len + 1) * sizeof(void *)), *result = json_array(), *item;
    int failed = !items || !result;

    if (!failed && len) {
        json_array_foreach(list, i, item) items[i] = item;
        qsort(items, len, sizeof(void *), by_host);
    }
    for (i = 0; !failed && i < len; i++) {
        failed = json_array_append(result, items[i]);
    }
    free(items);
    if (!failed) {
        return result;
    }
    json_decref(result);
    return NULL;
}

static json_t *merged_result(const struct pd_exec *exec)
{
    return exec->result ? json_incref(exec->result) : json_null();
}

static int write_answer(struct pd_exec *exec, const struct pd_query_sink *sink, bool *ret_complete,
                        struct pd_error *error)
{
    int code = add_own(exec, error);
    json_t *answer;

    if (code) {
        return code;
    }
    answer =
        json_pack("{s:o}", "result", exec->can_merge ? merged_result(exec) : sorted(exec->result));
    *ret_complete = !exec->census.missing_len;
    return pd_exec_json_write(exec, answer, *ret_complete, sink, error);
}

const struct pd_exec_kind pd_exec_program = {
    .accept = "application/json",
    .max_bytes = max_bytes,
    .begin = begin,
    .local = run_local,
    .check = check,
    .merge = merge,
    .write = write_answer,
    .done = pd_exec_json_done,
};
