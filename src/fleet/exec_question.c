/* SPDX-License-Identifier: Apache-2.0 */
/* Executions of the questions of the table (query/question.h): answers are JSON objects, merged as
 * the question says. */
#include <errno.h>
#include <stdlib.h>

#include "fleet/exec.h"

#define ANSWER_MAX_BYTES ((uint64_t)64 << 20)

static int begin(struct pd_exec *exec, struct pd_error *error)
{
    exec->result = json_object();
    return exec->result ? 0 : pd_fail(error, -ENOMEM, "no memory for the answer");
}

static uint64_t max_bytes(const struct pd_exec *exec)
{
    (void)exec;
    return ANSWER_MAX_BYTES;
}

static int run_local(struct pd_exec *exec, struct pd_error *error)
{
    const struct pd_execution *given = exec->given;

    return given->local->question(given->local->context, given->document, &exec->own, error);
}

/* ---- a host's answer ---- */

static int by_id(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static bool knows(void *context, uint32_t host)
{
    const struct pd_roster *roster = context;

    return bsearch(&host, roster->ids, roster->len, sizeof *roster->ids, by_id);
}

static int check(struct pd_exec *exec, struct pd_exec_ready *ready, struct pd_roster *roster,
                 struct pd_census *host, struct pd_error *error)
{
    const struct pd_question_hosts hosts = {ready->tree->host, !ready->tree->children_len, knows,
                                            roster};
    json_t *json;
    int code = pd_exec_json_load(ready, &json, error);

    if (code) {
        return code;
    }
    code = exec->given->document->question->check(json, &hosts, error);
    if (!code && ready->tree->children_len) {
        code = pd_exec_json_census(json, roster, host, error);
    } else {
        host->asked = host->answered = 1;
    }
    if (code) {
        json_decref(json);
    } else {
        ready->value = json;
    }
    return code;
}

/* ---- answers become one ---- */

static int add_own(struct pd_exec *exec, struct pd_error *error)
{
    json_t *own = exec->own;

    if (!own) {
        return 0;
    }
    exec->own = NULL;
    int code =
        exec->given->document->question->merge(exec->result, exec->given->local->host, own, error);
    json_decref(own);
    return code;
}

static int merge(struct pd_exec *exec, struct pd_exec_ready *ready, struct pd_error *error)
{
    int code = add_own(exec, error);

    return code ? code
                : exec->given->document->question->merge(exec->result, ready->tree->host,
                                                         ready->value, error);
}

static int write_answer(struct pd_exec *exec, const struct pd_query_sink *sink, bool *ret_complete,
                        struct pd_error *error)
{
    int code = add_own(exec, error);

    if (!code) {
        code = exec->given->document->question->finish(exec->result, error);
    }
    if (code) {
        return code;
    }
    *ret_complete =
        !exec->census.missing_len && !json_is_false(json_object_get(exec->result, "complete"));
    return pd_exec_json_write(exec, json_incref(exec->result), *ret_complete, sink, error);
}

const struct pd_exec_kind pd_exec_question = {
    .accept = "application/json",
    .max_bytes = max_bytes,
    .begin = begin,
    .local = run_local,
    .check = check,
    .merge = merge,
    .write = write_answer,
    .done = pd_exec_json_done,
};
