/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of runs: whose turn it is, the run itself, and what comes of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/counters.h"
#include "agent/installed/list.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/wait.h"
#include "http/text.h"

#define SLEEP_NS (3600 * PD_NS_PER_S) /* when nothing is due */

/* A run as long as this may hold up another query for several of its periods:
 * PD_INSTALLATION_PERIOD_MIN_MS is the shortest. Such queries share one worker. */
#define LONG_NS (10 * PD_INSTALLATION_PERIOD_MIN_MS * PD_NS_PER_MS)

/* One run. */
struct turn {
    struct pd_installed *installed;
    struct pd_installed_query *query; /* held */
    struct pd_installed_event event;  /* unless it runs on a period */
    uint64_t deadline_ns;
    struct pd_installed_outcome outcome;
    struct pd_error error;
};

/* ---- answers ---- */

/* An answer as it comes: what is too large is only counted. */
struct capture {
    struct turn *turn;
    char *bytes;
    size_t len, size;
};

static int capture(void *context, const char *bytes, size_t len)
{
    struct capture *into = context;
    const struct turn *turn = into->turn;

    if (atomic_load_explicit(&turn->installed->stopping, memory_order_relaxed)) {
        return -PD_E_BUSY;
    }
    if (pd_clock_monotonic_ns() > turn->deadline_ns) {
        return -PD_E_DEADLINE;
    }
    into->turn->outcome.answer_bytes += len;
    if (into->turn->outcome.answer_bytes > PD_INSTALLED_ANSWER_BYTES) {
        return 0;
    }
    if (PD_GROW(into->bytes, into->size, into->len + len + 1)) {
        return -ENOMEM;
    }
    memcpy(into->bytes + into->len, bytes, len);
    into->len += len;
    into->bytes[into->len] = '\0';
    return 0;
}

void pd_installed_answer(struct pd_installed_outcome *outcome, json_t *document)
{
    char *text = document ? json_dumps(document, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

    json_decref(document);
    outcome->answer_bytes = text ? strlen(text) : 0;
    if (outcome->answer_bytes > PD_INSTALLED_ANSWER_BYTES) {
        free(text);
        text = NULL;
    }
    outcome->answer = text;
}

/* ---- runs ---- */

/* A copy of the query, restricted to the event's flow. False: the event is none of its business. */
static bool prepare(const struct turn *turn, struct pd_query *ret_query)
{
    const struct pd_query *query = pd_query_document_query(&turn->query->what.document);

    *ret_query = *query;
    if (query->filter.path) {
        ret_query->filter.path = &ret_query->path;
    }
    if (!turn->event.has_flow) {
        return true;
    }
    ret_query->filter.flow =
        (struct pd_flow_match){.id = turn->event.record.flow, .fields = PD_FLOW_ALL};
    return pd_flow_matches(&query->filter.flow, &turn->event.record.flow);
}

static int run_query(struct turn *turn, const struct pd_query *query)
{
    const struct pd_installed_host *host = &turn->installed->host;
    struct capture into = {.turn = turn};
    struct pd_query_sink sink = {&into, capture};
    int err = host->query(host->context, query, &sink, &turn->error);

    if (err || turn->outcome.answer_bytes > PD_INSTALLED_ANSWER_BYTES) {
        free(into.bytes);
        into.bytes = NULL;
    }
    turn->outcome.answer = into.bytes;
    return err;
}

struct search {
    struct turn *turn;
    json_t *list;
    uint64_t found;
};

static int found(void *context, const struct pd_tib_record *record, const char *rule)
{
    struct search *search = context;
    struct turn *turn = search->turn;

    search->found++;
    turn->outcome.alarms +=
        pd_installed_raise(turn->installed, turn->query, record, rule, search->list);
    return atomic_load_explicit(&turn->installed->stopping, memory_order_relaxed) ? -PD_E_BUSY : 0;
}

/* On a period only what came since the last time is looked at. A token that the store does not know
 * any more is forgotten. */
static int run_conformance(struct turn *turn, struct pd_query *query)
{
    const struct pd_installed_host *host = &turn->installed->host;
    struct search search = {.turn = turn, .list = json_array()};
    char *token = turn->query->what.period_ms ? calloc(1, PD_QUERY_TOKEN_BYTES) : NULL;
    char unused[PD_QUERY_TOKEN_BYTES] = "";
    int err;

    if (turn->query->token) {
        snprintf(query->since, sizeof query->since, "%s", turn->query->token);
    }
    err = host->violations(host->context, query, found, &search, token ? token : unused,
                           &turn->error);
    if (!err || err == -PD_E_VALUE) {
        free(turn->query->token);
        turn->query->token = NULL;
    }
    if (!err && token && *token) {
        turn->query->token = strdup(token);
    }
    free(token);
    if (err) {
        json_decref(search.list);
    } else {
        pd_installed_answer(&turn->outcome, json_pack("{s:o, s:I}", "violations", search.list,
                                                      "found", (json_int_t)search.found));
    }
    return err;
}

/* args.event: what happened. */
static json_t *args_of(const struct turn *turn)
{
    const struct pd_installed_query *query = turn->query;
    json_t *args = json_copy(query->what.document.args), *event;

    if (query->what.period_ms || !args) {
        return args;
    }
    event = turn->event.alarm ? json_incref(turn->event.alarm)
                              : pd_installed_record_json(&turn->event.record);
    if (!event ||
        json_object_set_new(event, "on", json_string(pd_fleet_trigger_id(query->what.on))) ||
        json_object_set_new(args, "event", event)) {
        json_decref(args);
        return NULL;
    }
    return args;
}

static int run_program(void *context, const char *source, json_t *args, json_t **ret_result,
                       struct pd_error *error)
{
    struct turn *turn = context;
    const struct pd_installed_host *host = &turn->installed->host;

    return host->program(host->context, turn->query->what.by, source, args, turn->deadline_ns,
                         ret_result, &turn->outcome.alarms, error);
}

static int scan_records(void *context, const struct pd_question_scan *scan,
                        int (*visit)(void *visitor, const struct pd_tib_record *records, size_t n),
                        void *visitor, bool *ret_complete, struct pd_error *error)
{
    const struct turn *turn = context;
    const struct pd_installed_host *host = &turn->installed->host;

    return host->scan ? host->scan(host->context, scan, visit, visitor, ret_complete, error)
                      : pd_fail(error, -PD_E_UNSUPPORTED, "there are no records here");
}

/* What is no query over records. */
static int run_object(struct turn *turn)
{
    const struct pd_question_host host = {
        .context = turn, .program = run_program, .scan = scan_records};
    struct pd_document document = turn->query->what.document;
    struct pd_question_run run = {.document = &document, .host = &host};
    json_t *answer;
    int err;

    document.args = args_of(turn);
    if (!document.args) {
        return pd_fail(&turn->error, -ENOMEM, "no memory for the arguments");
    }
    err = document.question->local(&run, &answer, &turn->error);
    json_decref(document.args);
    if (!err) {
        pd_installed_answer(&turn->outcome, answer);
    }
    return err;
}

/* True unless the event was none of the query's business. */
static bool run(struct turn *turn)
{
    const uint64_t begun_ns = pd_clock_monotonic_ns();
    struct pd_query query;

    turn->deadline_ns = begun_ns + turn->query->what.deadline_ms * PD_NS_PER_MS;
    if (!pd_query_document_query(&turn->query->what.document)) {
        turn->outcome.err = run_object(turn);
    } else if (!prepare(turn, &query)) {
        return false;
    } else if (query.name == PD_QUERY_CONFORMANCE) {
        turn->outcome.err = run_conformance(turn, &query);
    } else {
        turn->outcome.err = run_query(turn, &query);
    }
    turn->outcome.runs = 1;
    turn->outcome.busy_ns = pd_clock_monotonic_ns() - begun_ns;
    turn->outcome.words = turn->error.text[0] ? turn->error.text : pd_error_text(turn->outcome.err);
    return true;
}

/* ---- what comes of it ---- */

static void note_failure(struct pd_installed_query *query,
                         const struct pd_installed_outcome *outcome)
{
    pd_count(&query->counters.failures, 1);
    query->failures_in_row++;
    snprintf(query->error, sizeof query->error, "%s", outcome->words);
}

/* That the store or the worker is busy is not the query's fault. */
bool pd_installed_note(struct pd_installed_query *query, const struct pd_installed_outcome *outcome)
{
    query->took_ns = outcome->busy_ns;
    query->used_ns += outcome->busy_ns;
    query->last_us = pd_clock_wall_us();
    pd_count(&query->counters.alarms, outcome->alarms);
    pd_count(&query->counters.busy_us, outcome->busy_ns / PD_NS_PER_US);
    if (outcome->err == -PD_E_BUSY) {
        pd_count(&query->counters.skipped, 1);
        return false;
    }
    pd_count(&query->counters.runs, outcome->runs);
    if (outcome->err) {
        note_failure(query, outcome);
        return query->failures_in_row >= PD_INSTALLED_FAILURES_MAX;
    }
    query->failures_in_row = 0;
    query->error[0] = '\0';
    if (outcome->answer_bytes) {
        free(query->answer);
        query->answer = outcome->answer;
        query->answer_bytes = outcome->answer_bytes;
    }
    return false;
}

/* ---- turns; with the list's lock held ---- */

static bool is_ready(const struct pd_installed_query *query, uint64_t now_ns)
{
    if (query->stopped || query->running) {
        return false;
    }
    return query->what.period_ms
               ? pd_schedule_due(&query->schedule, now_ns)
               : atomic_load_explicit(&query->pending_len, memory_order_relaxed) > 0;
}

/* When to look again, if nothing happens before; queries that run wake the workers at their end. */
static uint64_t next_due_ns(const struct pd_installed *installed, uint64_t now_ns)
{
    uint64_t next_ns = now_ns + SLEEP_NS;

    for (size_t i = 0; i < installed->queries_len; i++) {
        const struct pd_installed_query *query = installed->queries[i];

        if (!query->stopped && !query->running && query->what.period_ms &&
            query->schedule.due_ns > now_ns && query->schedule.due_ns < next_ns) {
            next_ns = query->schedule.due_ns;
        }
    }
    return next_ns;
}

/* Of those that are ready the one that has used the least time. Who did nothing for a while does
 * not come back with all the time that it left to others: its clock is set to the others' first. */
static struct pd_installed_query *pick(struct pd_installed *installed,
                                       const struct pd_installed_worker *worker, uint64_t now_ns)
{
    struct pd_installed_query *picked = NULL;

    for (size_t i = 0; i < installed->queries_len; i++) {
        struct pd_installed_query *query = installed->queries[i];

        if (!is_ready(query, now_ns) || (query->took_ns >= LONG_NS && !worker->takes_long)) {
            continue;
        }
        if (query->used_ns < installed->turns_ns) {
            query->used_ns = installed->turns_ns;
        }
        if (!picked || query->used_ns < picked->used_ns) {
            picked = query;
        }
    }
    if (picked) {
        installed->turns_ns = picked->used_ns;
    }
    return picked;
}

static void take_event(struct pd_installed_query *query, struct pd_installed_event *ret_event)
{
    unsigned len = atomic_load_explicit(&query->pending_len, memory_order_relaxed);

    *ret_event = query->pending[query->pending_first];
    ret_event->way.claim.path = ret_event->record.path = &ret_event->way.path;
    ret_event->record.claim =
        ret_event->record.claim ? &ret_event->way.claim : NULL; /* its own copy */
    query->pending_first = (query->pending_first + 1) % PD_INSTALLED_PENDING_MAX;
    atomic_store_explicit(&query->pending_len, len - 1, memory_order_relaxed);
}

static void begin(struct pd_installed_worker *worker, struct turn *turn)
{
    if (!turn->query->what.period_ms) {
        take_event(turn->query, &turn->event);
    }
    turn->query->running = true;
    worker->query = turn->query;
}

/* Whether it has now failed too often. */
static bool end(struct pd_installed_worker *worker, const struct turn *turn, bool ran)
{
    struct pd_installed_query *query = turn->query;
    bool failed = ran && pd_installed_note(query, &turn->outcome);

    worker->query = NULL;
    query->running = false;
    if (query->what.period_ms) {
        pd_count(&query->counters.skipped,
                 pd_schedule_end(&query->schedule, pd_clock_monotonic_ns()));
    }
    pthread_cond_broadcast(&worker->installed->ready); /* it may be ready again, for the other */
    return failed && !atomic_load_explicit(&query->gone, memory_order_relaxed);
}

/* Lets go of the lock while the query runs. */
static void serve(struct pd_installed_worker *worker, struct pd_installed_query *query)
{
    struct pd_installed *installed = worker->installed;
    struct turn turn = {.installed = installed, .query = pd_installed_hold(query)};
    bool ran, failed;

    begin(worker, &turn);
    pthread_mutex_unlock(&installed->lock);
    ran = run(&turn);
    json_decref(turn.event.alarm);
    pthread_mutex_lock(&installed->lock);
    failed = end(worker, &turn, ran);
    pthread_mutex_unlock(&installed->lock);
    if (failed) {
        pd_installed_give_up(installed, query);
    }
    pd_installed_let_go(query);
    pthread_mutex_lock(&installed->lock);
}

void *pd_installed_run(void *context)
{
    struct pd_installed_worker *worker = context;
    struct pd_installed *installed = worker->installed;

    pthread_mutex_lock(&installed->lock);
    while (!atomic_load_explicit(&installed->stopping, memory_order_relaxed)) {
        uint64_t now_ns = pd_clock_monotonic_ns();
        struct pd_installed_query *query = pick(installed, worker, now_ns);

        if (query) {
            serve(worker, query);
        } else {
            uint64_t next_ns = next_due_ns(installed, now_ns);

            pd_wait_until(&installed->ready, &installed->lock, next_ns);
        }
    }
    pthread_mutex_unlock(&installed->lock);
    return NULL;
}
