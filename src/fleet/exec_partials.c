/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that travel as partial results: queries over records, verified and merged. */
#include <errno.h>

#include "base/clock.h"
#include "fleet/exec.h"

#define TOPS_SPARE_BYTES ((uint64_t)1 << 20)
#define ANSWER_MAX_BYTES ((uint64_t)512 << 20)

static const struct pd_query *query_of(const struct pd_exec *exec)
{
    return pd_query_document_query(exec->given->document);
}

static int begin(struct pd_exec *exec, struct pd_error *error)
{
    return pd_query_merge_new(query_of(exec), &exec->merge, error);
}

/* Of the largest k, there are at most so many, besides the hosts that are missing. */
static uint64_t max_bytes(const struct pd_exec *exec)
{
    const struct pd_query *query = query_of(exec);
    uint64_t hosts_bytes = 2 * PD_PARTIAL_ITEM_MAX_BYTES * exec->coverage.asked, bytes;

    if (!(PD_QUERY_TOPS >> query->name & 1) || query->k > ANSWER_MAX_BYTES) {
        return ANSWER_MAX_BYTES;
    }
    bytes = TOPS_SPARE_BYTES + hosts_bytes + query->k * 8 * PD_PARTIAL_ITEM_MAX_BYTES;
    return bytes < ANSWER_MAX_BYTES ? bytes : ANSWER_MAX_BYTES;
}

static int local(struct pd_exec *exec, struct pd_error *error)
{
    const struct pd_question_host *host = exec->given->host;

    return host->groups(host->context, query_of(exec), exec->merge, error);
}

/* ---- a host's answer ---- */

struct hearing {
    struct pd_gathered_reader reader;
    struct pd_roster *roster;
    struct pd_fleet_coverage *host;
};

static ssize_t read_answer(void *context, void *buffer, size_t size)
{
    struct hearing *hearing = context;

    return pd_fleet_gathered_read(&hearing->reader, buffer, size);
}

static int hear_missing(void *context, uint32_t host, const char *reason)
{
    struct hearing *hearing = context;
    int err = pd_fleet_roster_speak(hearing->roster, host);

    return err ? err : pd_fleet_coverage_missing(hearing->host, host, reason);
}

static int check(struct pd_exec *exec, struct pd_exec_ready *ready, struct pd_roster *roster,
                 struct pd_fleet_coverage *host, struct pd_error *error)
{
    struct hearing hearing = {{&ready->answer, 0}, roster, host};
    struct pd_partial_source source = {&hearing, read_answer, hear_missing};
    struct pd_partial_end end;
    int err = pd_query_partial_verify(query_of(exec), &source, &end, error);

    if (err) {
        return err;
    }
    if (pd_fleet_roster_close(roster, end.asked, end.answered, host->missing_len)) {
        return pd_fail(error, -PD_E_VALUE, "its answer is of other hosts than were asked");
    }
    host->asked = end.asked;
    host->answered = end.answered;
    host->below_us = end.critical_us;
    host->bytes =
        end.bytes > PD_TIB_SUM_MAX - host->bytes ? PD_TIB_SUM_MAX : host->bytes + end.bytes;
    return 0;
}

static enum pd_query_form form_of(const struct pd_exec *exec)
{
    return exec->given->form == PD_EXECUTE_NDJSON   ? PD_FORM_NDJSON
           : exec->given->form == PD_EXECUTE_EVENTS ? PD_FORM_EVENTS
                                                    : PD_FORM_JSON;
}

/* Rows that are certain go ahead of other hosts' answers. */
static bool goes_ahead(const struct pd_exec *exec)
{
    return exec->given->pass_on && !exec->given->within && form_of(exec) != PD_FORM_JSON &&
           pd_query_merge_rows_early(query_of(exec));
}

static int merge(struct pd_exec *exec, struct pd_exec_ready *ready, struct pd_error *error)
{
    struct pd_gathered_reader reader = {&ready->answer, 0};
    struct pd_partial_source source = {.context = &reader, .read = pd_fleet_gathered_read};
    struct pd_partial_end end;
    int err = pd_query_merge_partial(exec->merge, &source, &end, error);

    if (!err && goes_ahead(exec)) {
        err = pd_query_merge_rows(exec->merge, form_of(exec), exec->sink, error);
        exec->rows_since_ns = exec->rows_since_ns ? exec->rows_since_ns : pd_clock_monotonic_ns();
    }
    return err;
}

/* ---- the answer ---- */

static int write_partial(struct pd_exec *exec, const struct pd_query_sink *sink, bool *ret_complete,
                         struct pd_error *error)
{
    const struct pd_fleet_coverage *coverage = &exec->coverage;
    struct pd_partial_end end = {
        .complete = !coverage->missing_len,
        .asked = coverage->asked,
        .answered = coverage->answered,
        .critical_us = pd_fleet_exec_beside_us(exec),
        .bytes = coverage->bytes,
    };

    *ret_complete = end.complete;
    return pd_query_merge_write(exec->merge, &end, coverage->missing, coverage->missing_len,
                                exec->given->begun_ns, sink, error);
}

static int write_json(struct pd_exec *exec, const struct pd_query_sink *sink, bool *ret_complete,
                      struct pd_error *error)
{
    json_t *extra = json_object();
    int err = extra ? 0 : -ENOMEM;

    if (!err && exec->given->extra) {
        err = json_object_update(extra, (json_t *)(uintptr_t)exec->given->extra) ? -ENOMEM : 0;
    }
    if (!err) {
        err = pd_fleet_coverage_json(&exec->coverage, pd_fleet_exec_critical_us(exec), extra);
    }
    if (err) {
        pd_fail(error, err, "%s", pd_error_text(err));
    } else {
        err = pd_query_merge_json(exec->merge, form_of(exec), extra, sink, ret_complete, error);
    }
    json_decref(extra);
    return err;
}

static int write_within(struct pd_exec *exec, bool *ret_complete, struct pd_error *error)
{
    struct pd_execution_within *within = exec->given->within;
    json_t *answer = json_object();
    int err = within->items.group
                  ? pd_query_merge_give(exec->merge, &within->items, ret_complete, error)
                  : pd_fail(error, -PD_E_UNSUPPORTED, "%s: its rows have nowhere to go",
                            exec->question->name);

    if (!err && (!answer || pd_fleet_exec_members(exec, answer, *ret_complete))) {
        err = pd_fail(error, -ENOMEM, "no memory for the answer");
    }
    if (err) {
        json_decref(answer);
    } else {
        within->answer = answer;
    }
    return err;
}

static int write_answer(struct pd_exec *exec, const struct pd_query_sink *sink, bool *ret_complete,
                        struct pd_error *error)
{
    if (exec->coverage.missing_len) {
        pd_query_merge_incomplete(exec->merge);
    }
    return exec->given->within ? write_within(exec, ret_complete, error)
           : exec->given->form == PD_EXECUTE_PARTIAL
               ? write_partial(exec, sink, ret_complete, error)
               : write_json(exec, sink, ret_complete, error);
}

static void done(struct pd_exec *exec)
{
    pd_query_merge_free(exec->merge);
}

const struct pd_exec_carrier pd_fleet_exec_partials = {
    .accept = PD_EXECUTE_PARTIAL_TYPE,
    .max_bytes = max_bytes,
    .begin = begin,
    .local = local,
    .check = check,
    .merge = merge,
    .write = write_answer,
    .done = done,
};
