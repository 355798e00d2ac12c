/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of programs, answered from the records of this host. */
#include "agent/program_host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/local.h"
#include "agent/poor.h"
#include "base/clock.h"
#include "program/program.h"
#include "query/document.h"

struct run {
    struct pd_agent *agent;
    const struct pd_program_host_caller *caller;
    uint64_t deadline_ns;
    uint64_t alarms;
};

/* ---- arguments ---- */

/* "flow_id" in place of its fields; a path without switches goes. -PD_E_VALUE. */
static int unfold(json_t *args, struct pd_error *error)
{
    json_t *flow_id = json_incref(json_object_get(args, "flow_id")), *path, *value;
    const char *key;
    int err = 0;

    json_object_del(args, "flow_id");
    if (flow_id && !json_is_object(flow_id)) {
        err = pd_fail(error, -PD_E_VALUE, "flow_id: expected a table as rows have it");
    }
    json_object_foreach(flow_id, key, value)
    {
        if (!err && json_object_get(args, key)) {
            err = pd_fail(error, -PD_E_VALUE, "%.64s: given twice, in flow_id as well", key);
        } else if (!err && json_object_set(args, key, value)) {
            err = pd_fail(error, -ENOMEM, "no memory");
        }
    }
    json_decref(flow_id);
    path = json_object_get(args, "path");
    if (json_is_array(path) && !json_array_size(path)) {
        json_object_del(args, "path");
    }
    return err;
}

static int read_call(const struct pd_question *question, const json_t *args,
                     struct pd_document *document, struct pd_error *error)
{
    json_t *copy = json_copy((json_t *)(uintptr_t)args), *whole;
    int err = copy ? unfold(copy, error) : pd_fail(error, -ENOMEM, "no memory");

    if (err) {
        json_decref(copy);
        return err;
    }
    whole = json_pack("{s:s, s:o}", "query", question->name, "args", copy);
    err = whole ? pd_query_document_parse(whole, NULL, document, error)
                : pd_fail(error, -ENOMEM, "no memory");
    json_decref(whole);
    return err;
}

/* ---- answers ---- */

/* Takes an answer apart as it comes: {"flows":[ROW,ROW],…} → lines; all of it is kept where it is
 * one object of numbers. What comes is written by ourselves: no text in it has brackets, braces or
 * commas. The file is one thread's: no lock for each byte. */
struct answer {
    const struct run *run;
    FILE *lines;
    bool listed; /* the rows of its first list are wanted */
    unsigned depth;
    enum { BEFORE, WITHIN, BEHIND } place;
    bool any;
};

#define LIST_DEPTH 2u

static int write_rows(struct answer *answer, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char c = bytes[i];
        bool closes = c == ']' || c == '}';

        if (closes && --answer->depth < LIST_DEPTH && answer->place == WITHIN) {
            answer->place = BEHIND;
            if (answer->any) {
                putc_unlocked('\n', answer->lines);
            }
        }
        if (answer->place == WITHIN) {
            putc_unlocked(c == ',' && answer->depth == LIST_DEPTH ? '\n' : c, answer->lines);
            answer->any = true;
        }
        if ((c == '[' || c == '{') && ++answer->depth == LIST_DEPTH && answer->place == BEFORE) {
            answer->place = WITHIN;
        }
    }
    return ferror(answer->lines) ? -PD_E_FULL : 0;
}

static int write_answer(void *context, const char *bytes, size_t len)
{
    struct answer *answer = context;
    const struct run *run = answer->run;

    if (atomic_load_explicit(&run->agent->stopping, memory_order_relaxed)) {
        return -PD_E_BUSY;
    }
    if (pd_clock_monotonic_ns() >= run->deadline_ns) {
        return -PD_E_DEADLINE;
    }
    if (answer->listed) {
        return write_rows(answer, bytes, len);
    }
    return fwrite(bytes, 1, len, answer->lines) == len ? 0 : -PD_E_FULL;
}

static int run_query(const struct run *run, const struct pd_query *query, bool listed, FILE *lines,
                     struct pd_error *error)
{
    struct answer answer = {.run = run, .lines = lines, .listed = listed};
    const struct pd_query_sink sink = {&answer, write_answer};
    struct pd_agent_snapshot *snapshot;
    struct pd_error words = {0};
    bool complete = true;
    int err = pd_agent_local_open(run->agent, query, &snapshot, error);

    if (err) {
        return err;
    }
    err = pd_query_run(query, snapshot->tib, snapshot->rows, snapshot->rows_len, &sink, &complete,
                       &words);
    pd_agent_snapshot_free(snapshot);
    if (err) {
        return pd_fail(error, err, "%s", *words.text ? words.text : pd_error_text(err));
    }
    if (!complete) {
        return pd_fail(error, -PD_E_CORRUPT, "a part of the store cannot be read");
    }
    return 0;
}

/* [bytes, pkts], [duration_us, stime_us, etime_us]: the values that a call returns. */
static int write_values(char *text, const char *const *names, FILE *lines, struct pd_error *error)
{
    json_t *answer = text ? json_loads(text, 0, NULL) : NULL, *values = json_array();

    for (; *names; names++) {
        json_array_append(values, json_object_get(answer, *names));
    }
    int err = !answer || json_dumpf(values, lines, JSON_COMPACT) || fputc('\n', lines) == EOF
                  ? pd_fail(error, -PD_E_FULL, "no room for the answer")
                  : 0;
    json_decref(values);
    json_decref(answer);
    return err;
}

static int ask_records(struct run *run, const struct pd_query *query, const char *const *values,
                       FILE *lines, struct pd_error *error)
{
    char *text = NULL;
    size_t bytes;
    FILE *memory = values ? open_memstream(&text, &bytes) : NULL;

    if (values && !memory) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    int err = run_query(run, query, !values, values ? memory : lines, error);

    if (memory) {
        fclose(memory);
    }
    if (!err && values) {
        err = write_values(text, values, lines, error);
    }
    free(text);
    return err;
}

static int ask_tcp(void *context, const struct pd_poor_question *question, json_t **ret_answer,
                   struct pd_error *error)
{
    const struct run *run = context;

    return pd_agent_poor(run->agent, question, ret_answer, error);
}

static int scan_records(void *context, const struct pd_question_scan *scan,
                        int (*visit)(void *visitor, const struct pd_tib_record *records, size_t n),
                        void *visitor, bool *ret_complete, struct pd_error *error)
{
    const struct run *run = context;

    return pd_agent_local_scan(run->agent, scan, visit, visitor, ret_complete, error);
}

/* Each row, or a member of it, a line each. */
static int ask_object(struct run *run, const struct pd_document *document, FILE *lines,
                      struct pd_error *error)
{
    const struct pd_question_call *call = document->question->call;
    const struct pd_question_host host = {.context = run, .tcp = ask_tcp, .scan = scan_records};
    struct pd_question_run asked = {.document = document, .host = &host};
    json_t *answer = NULL, *row;
    size_t i;
    int err = document->question->local(&asked, &answer, error);

    if (err) {
        return err;
    }
    json_array_foreach(json_object_get(answer, call->list), i, row)
    {
        const json_t *part = call->member ? json_object_get(row, call->member) : row;
        if (!err && (json_dumpf(part, lines, JSON_COMPACT) || fputc('\n', lines) == EOF)) {
            err = pd_fail(error, -PD_E_FULL, "no room for the answer");
        }
    }
    json_decref(answer);
    return err;
}

static int ask(struct run *run, const struct pd_question *question, const json_t *args, FILE *lines,
               struct pd_error *error)
{
    struct pd_document document = {0};
    int err = read_call(question, args, &document, error);
    const struct pd_query *query = err ? NULL : pd_query_document_query(&document);

    if (!err) {
        err = query ? ask_records(run, query, question->call->values, lines, error)
                    : ask_object(run, &document, lines, error);
    }
    pd_query_document_done(&document);
    return err;
}

/* ---- alarms ---- */

/* What may be left out, and as many paths as an alarm can have. Returns how many were too many. */
static size_t complete_alarm(json_t *alarm)
{
    static const char *const optional[] = {"flow_id", "paths", "detail"};
    static const char *const ours[] = {"origin", "by", "count", "unverified"};
    json_t *const fallbacks[] = {json_null(), json_array(), json_string("")};
    size_t left = 0;

    for (size_t i = 0; i < 3; i++) {
        if (!json_object_get(alarm, optional[i])) {
            json_object_set(alarm, optional[i], fallbacks[i]);
        }
        json_decref(fallbacks[i]);
    }
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        json_object_del(alarm, ours[i]);
    }
    json_t *paths = json_object_get(alarm, "paths");
    while (json_array_size(paths) > PD_ALARM_PATHS_MAX) {
        json_array_remove(paths, json_array_size(paths) - 1);
        left++;
    }
    json_object_set_new(alarm, "time_us", json_integer((json_int_t)pd_clock_wall_us()));
    return left;
}

static void tell_left(struct pd_alarm_message *message, size_t left)
{
    size_t used = strlen(message->detail);

    if (left) {
        snprintf(message->detail + used, sizeof message->detail - used, "%s%zu more paths",
                 used ? ", " : "", left);
    }
}

/* What the agent and the controller say by themselves nobody's program can say. */
static int raise_message(struct run *run, const struct pd_alarm_message *message,
                         struct pd_error *error)
{
    const struct pd_alarm_raise raise = {.reason = message->reason,
                                         .flow = message->flow.ip_version ? &message->flow : NULL,
                                         .paths = message->paths,
                                         .paths_len = message->paths_len,
                                         .detail = message->detail,
                                         .origin = run->caller->origin,
                                         .by = run->caller->by};

    if (!pd_fleet_alarm_origin_fits(PD_ALARM_ORIGIN_PROGRAM, message->reason)) {
        return pd_fail(error, -PD_E_VALUE,
                       "reason: programs raise alarms whose reasons begin with USER_, not %s",
                       message->reason);
    }
    if (pd_alarms_raise(run->agent->alarms, &raise)) {
        return pd_fail(error, -PD_E_VALUE, "reason: expected a text as in USER_SLOW");
    }
    run->alarms++;
    return 0;
}

static int raise_alarm(struct run *run, const json_t *args, struct pd_error *error)
{
    struct pd_alarm_message *message;
    json_t *alarm;
    size_t left;
    int err;

    if (!run->caller->may_alarm) {
        return pd_fail(error, -PD_E_FORBIDDEN,
                       "programs raise alarms for the roles install and admin alone");
    }
    message = malloc(sizeof *message);
    alarm = json_deep_copy(args);

    if (!message || !alarm) {
        json_decref(alarm);
        free(message);
        return pd_fail(error, -ENOMEM, "no memory");
    }
    left = complete_alarm(alarm);
    err = pd_fleet_alarm_message_read(alarm, NULL, message, NULL, error);
    if (!err) {
        tell_left(message, left);
        err = raise_message(run, message, error);
    }
    json_decref(alarm);
    free(message);
    return err;
}

/* ---- calls ---- */

static int call(void *context, const char *name, const json_t *args, FILE *lines,
                struct pd_error *error)
{
    struct run *run = context;
    const struct pd_question *question = pd_query_question_called(name);

    /* alarm: there is no other */
    return question ? ask(run, question, args, lines, error) : raise_alarm(run, args, error);
}

int pd_agent_program_host_run(struct pd_agent *agent, const struct pd_program_host_caller *caller,
                              const char *source, json_t *args, uint64_t deadline_ns,
                              json_t **ret_result, uint64_t *ret_alarms, struct pd_error *error)
{
    struct run run = {.agent = agent, .caller = caller, .deadline_ns = deadline_ns};
    const struct pd_program_host host = {&run, call};
    const struct pd_program_limits limits = {agent->program_limits.instructions,
                                             agent->program_limits.memory_bytes, deadline_ns};
    int err =
        agent->programs
            ? pd_programs_run(agent->programs, source, args, &limits, &host, ret_result, error)
            : pd_fail(error, -PD_E_UNSUPPORTED, "programs are not supported here");

    if (err == -PD_E_PROGRAM &&
        pd_clock_monotonic_ns() >= deadline_ns) { /* a call was refused for it */
        err = pd_fail(error, -PD_E_DEADLINE, "%s", pd_error_text(-PD_E_DEADLINE));
    }
    if (ret_alarms) {
        *ret_alarms = run.alarms;
    }
    return err;
}
