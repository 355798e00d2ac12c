/* SPDX-License-Identifier: Apache-2.0 */
/* Executions of built-in queries: partial results, verified and merged. */
#include <errno.h>

#include "base/clock.h"
#include "fleet/exec.h"

#define TOPS_SPARE_BYTES ((uint64_t)1 << 20)
#define ANSWER_MAX_BYTES ((uint64_t)512 << 20)

static int begin(struct pd_exec *exec, struct pd_error *error)
{
    return pd_query_merge_new(&exec->given->document->query, &exec->merge, error);
}

/* Of the largest k, there are at most so many, besides the hosts that are missing. */
static uint64_t max_bytes(const struct pd_exec *exec)
{
    const struct pd_query *query = &exec->given->document->query;
    uint64_t hosts_bytes = 2 * PD_PARTIAL_ITEM_MAX_BYTES * exec->census.asked, bytes;

    if (!(PD_QUERY_TOPS >> query->name & 1) || query->k > ANSWER_MAX_BYTES) {
        return ANSWER_MAX_BYTES;
    }
    bytes = TOPS_SPARE_BYTES + hosts_bytes + query->k * 8 * PD_PARTIAL_ITEM_MAX_BYTES;
    return bytes < ANSWER_MAX_BYTES ? bytes : ANSWER_MAX_BYTES;
}

static int local(struct pd_exec *exec, struct pd_error *error)
{
    const struct pd_execution *given = exec->given;

    return given->local->query(given->local->context, given->document, exec->merge,
                               given->deadline_ns, error);
}

/* ---- a host's answer ---- */

struct hearing {
    struct pd_gathered_reader reader;
    struct pd_roster *roster;
    struct pd_census *host;
};

static ssize_t read_answer(void *context, void *buffer, size_t size)
{
    struct hearing *hearing = context;

    return pd_gathered_read(&hearing->reader, buffer, size);
}

static int hear_missing(void *context, uint32_t host, const char *reason)
{
    struct hearing *hearing = context;
    int code = pd_roster_speak(hearing->roster, host);

    return code ? code : pd_census_missing(hearing->host, host, reason);
}

static int check(struct pd_exec *exec, struct pd_exec_ready *ready, struct pd_roster *roster,
                 struct pd_census *host, struct pd_error *error)
{
    struct hearing hearing = {{&ready->answer, 0}, roster, host};
    struct pd_partial_source source = {&hearing, read_answer, hear_missing};
    struct pd_partial_end end;
    int code = pd_partial_verify(&exec->given->document->query, &source, &end, error);

    if (code) {
        return code;
    }
    if (end.asked != roster->len || end.answered + host->missing_len != roster->len) {
        return pd_fail(error, -PD_E_VALUE, "its answer is of other hosts than were asked");
    }
    host->asked = end.asked;
    host->answered = end.answered;
    host->below_us = end.critical_us;
    host->bytes =
        end.bytes > PD_TIB_SUM_MAX - host->bytes ? PD_TIB_SUM_MAX : host->bytes + end.bytes;
    return 0;
}

static int merge(struct pd_exec *exec, struct pd_exec_ready *ready, struct pd_error *error)
{
    struct pd_gathered_reader reader = {&ready->answer, 0};
    struct pd_partial_source source = {.context = &reader, .read = pd_gathered_read};
    struct pd_partial_end end;

    return pd_query_merge_partial(exec->merge, &source, &end, error);
}

/* ---- the answer ---- */

static int write_partial(struct pd_exec *exec, const struct pd_query_sink *sink, bool *ret_complete,
                         struct pd_error *error)
{
    const struct pd_census *census = &exec->census;
    struct pd_partial_end end = {
        .complete = !census->missing_len,
        .asked = census->asked,
        .answered = census->answered,
        .critical_us = pd_exec_beside_us(exec),
        .bytes = census->bytes,
    };

    *ret_complete = end.complete;
    return pd_query_merge_write(exec->merge, &end, census->missing, census->missing_len,
                                exec->given->begun_ns, sink, error);
}

static int write_json(struct pd_exec *exec, const struct pd_query_sink *sink, bool *ret_complete,
                      struct pd_error *error)
{
    enum pd_query_form form =
        exec->given->form == PD_EXECUTE_NDJSON ? PD_FORM_NDJSON : PD_FORM_JSON;
    json_t *extra = json_object();
    int code = extra ? 0 : -ENOMEM;

    if (!code && exec->given->extra) {
        code = json_object_update(extra, (json_t *)(uintptr_t)exec->given->extra) ? -ENOMEM : 0;
    }
    if (!code) {
        code = pd_census_json(&exec->census, pd_exec_critical_us(exec), extra);
    }
    if (code) {
        pd_fail(error, code, "%s", pd_error_text(code));
    } else {
        code = pd_query_merge_json(exec->merge, form, extra, sink, ret_complete, error);
    }
    json_decref(extra);
    return code;
}

static int write_answer(struct pd_exec *exec, const struct pd_query_sink *sink, bool *ret_complete,
                        struct pd_error *error)
{
    if (exec->census.missing_len) {
        pd_query_merge_incomplete(exec->merge);
    }
    return exec->given->form == PD_EXECUTE_PARTIAL ? write_partial(exec, sink, ret_complete, error)
                                                   : write_json(exec, sink, ret_complete, error);
}

static void done(struct pd_exec *exec)
{
    pd_query_merge_free(exec->merge);
}

const struct pd_exec_kind pd_exec_query = {
    .accept = PD_EXECUTE_PARTIAL_TYPE,
    .max_bytes = max_bytes,
    .begin = begin,
    .local = local,
    .check = check,
    .merge = merge,
    .write = write_answer,
    .done = done,
};
