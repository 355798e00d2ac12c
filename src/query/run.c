/* SPDX-License-Identifier: Apache-2.0 */
/* Execution on one store: its groups become items, and these an answer or a partial result. */
#include "query/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "query/answer.h"
#include "query/collect.h"
#include "query/merge.h"
#include "query/partial.h"
#include "tib/tib.h"

int pd_query_run_fail(const struct pd_query *query, int err, struct pd_error *error)
{
    const char *name = pd_query_name_text(query->name);
    if (err == -PD_E_TOO_LARGE) {
        return pd_fail(error, err,
                       "%s: the answer needs more than %llu MiB of memory; narrow it by link, "
                       "flow or time range",
                       name, (unsigned long long)(query->memory_bytes >> 20));
    }
    if (err == -PD_E_VALUE && *query->since) {
        return pd_fail(error, -PD_E_CONFLICT, "since: this store gave no such token: \"%.64s\"",
                       query->since);
    }
    return pd_fail(error, err, "%s: %s", name, pd_error_text(err));
}

/* ---- what the store is asked ---- */

int pd_query_run_visit(const struct pd_query *query, const struct pd_query_plan *plan,
                       const struct pd_run_store *store, bool ordered,
                       int (*visit)(void *context, const struct pd_tib_record *groups, size_t n),
                       void *context, bool *complete)
{
    const struct pd_tib_filter filter = pd_query_filter(query);
    bool cut = plan->kind != PD_PLAN_SUMS && plan->top && (ordered || plan->prunable);
    struct pd_tib_grouping grouping = {
        .by = plan->local_by,
        .order = ordered || cut ? plan->order : PD_TIB_ORDER_NONE,
        .top_len = cut ? query->k : 0,
        .memory_bytes = query->memory_bytes,
        .without_times = !plan->times,
        .prorated = query->name == PD_QUERY_LINK_LOAD,
        .live = store->live,
        .live_len = store->live_len,
    };
    int error = pd_tib_group(store->snapshot, &filter, &grouping, visit, context);
    if (store->snapshot && pd_tib_snapshot_damaged(store->snapshot)) {
        *complete = false; /* what can be read is answered */
    }
    return error;
}

static int collect_all(void *context, const struct pd_tib_record *groups, size_t n)
{
    int error = 0;
    for (size_t i = 0; i < n && !error; i++) {
        error = pd_query_collect_local(context, &groups[i]);
    }
    return error;
}

/* ---- items ---- */

struct run {
    const struct pd_query *query;
    struct pd_run_store store;
    struct pd_items items;
    bool complete;
    /* of what is kept beside the collection; the grouping has one of its own */
    struct pd_tib_budget budget;
    struct pd_collect collect;
    struct pd_query_answer answer;
};

static struct run *run_new(const struct pd_query *query, const struct pd_run_store *store)
{
    struct run *run = malloc(sizeof *run);
    if (!run) {
        return NULL;
    }
    run->query = query;
    run->store = *store;
    run->complete = true;
    run->budget.left_bytes = query->memory_bytes;
    pd_query_collect_init(&run->collect, query);
    return run;
}

static void run_free(struct run *run)
{
    pd_query_collect_done(&run->collect);
    free(run);
}

static int give_all(void *context, const struct pd_tib_record *groups, size_t n)
{
    struct run *run = context;
    int error = 0;
    for (size_t i = 0; i < n && !error; i++) {
        struct pd_tib_record item = pd_query_plan_item(&run->collect.plan, &groups[i]);
        error = run->items.group(run->items.context, &item);
    }
    return error;
}

/* Groups that are items already stream; the others are collected first. */
static int give_items(struct run *run, bool ordered)
{
    const struct pd_query_plan *plan = &run->collect.plan;
    if (plan->kind <= PD_PLAN_RECORDS && plan->local_by == plan->by) {
        return pd_query_run_visit(run->query, plan, &run->store, ordered, give_all, run,
                                  &run->complete);
    }
    int error = pd_query_run_visit(run->query, plan, &run->store, false, collect_all, &run->collect,
                                   &run->complete);
    return error ? error : pd_query_collect_give(&run->collect, ordered, &run->items);
}

/* ---- the answer ---- */

/* For `since` of the next run; NULL from a store that gives none, or one too long to be given back.
 */
static int make_token(struct pd_tib_snapshot *snapshot, char **ret_token)
{
    char *token = NULL;
    int error = snapshot ? pd_tib_token(snapshot, &token) : 0;
    if (error && error != -PD_E_UNSUPPORTED) {
        return error;
    }
    if (token && strlen(token) >= PD_QUERY_TOKEN_BYTES) {
        free(token);
        token = NULL;
    }
    *ret_token = token;
    return 0;
}

static int answer(struct run *run, bool *ret_complete)
{
    char *token = NULL;
    int error = give_items(run, true);
    error = error ? error : make_token(run->store.snapshot, &token);
    if (!error) {
        error = pd_query_answer_end(&run->answer, token, NULL,
                                    run->complete && run->collect.complete, ret_complete);
    }
    free(token);
    return error;
}

int pd_query_run(const struct pd_query *query, struct pd_tib_snapshot *snapshot,
                 const struct pd_tib_record *live, size_t live_len,
                 const struct pd_query_sink *sink, bool *ret_complete, struct pd_error *error)
{
    return pd_query_run_as(query, PD_FORM_JSON, snapshot, live, live_len, sink, ret_complete,
                           error);
}

int pd_query_run_as(const struct pd_query *query, enum pd_query_form form,
                    struct pd_tib_snapshot *snapshot, const struct pd_tib_record *live,
                    size_t live_len, const struct pd_query_sink *sink, bool *ret_complete,
                    struct pd_error *error)
{
    struct run *run = run_new(query, &(struct pd_run_store){snapshot, live, live_len});
    if (!run) {
        return pd_query_run_fail(query, -ENOMEM, error);
    }
    run->items = (struct pd_items){&run->answer, pd_query_answer_group, pd_query_answer_sums};
    pd_query_answer_begin(&run->answer, query, form, &run->budget, sink);
    int err = answer(run, ret_complete);
    if (err && !run->answer.out.error) { /* else the sink knows why it stopped */
        err = pd_query_run_fail(query, err, error);
    }
    pd_query_answer_done(&run->answer);
    run_free(run);
    return err;
}

/* ---- items as they are ---- */

static int pass_on(struct pd_run_giving *giving, int err, uint64_t bytes, uint64_t pkts)
{
    giving->capped |= bytes >= PD_TIB_SUM_MAX || pkts >= PD_TIB_SUM_MAX;
    giving->stopped |= err != 0;
    return err;
}

static int give_group(void *context, const struct pd_tib_record *group)
{
    struct pd_run_giving *giving = context;
    int err = giving->items->group(giving->items->context, group);

    return pass_on(giving, err, group->bytes, group->pkts);
}

static int give_sums(void *context, const struct pd_query_sums *sums)
{
    struct pd_run_giving *giving = context;
    int err = giving->items->sums(giving->items->context, sums);

    return pass_on(giving, err, sums->bytes, sums->pkts);
}

struct pd_items pd_query_run_noted(struct pd_run_giving *giving)
{
    return (struct pd_items){giving, give_group, give_sums};
}

int pd_query_run_items(const struct pd_query *query, struct pd_tib_snapshot *snapshot,
                       const struct pd_tib_record *live, size_t live_len,
                       const struct pd_items *items, bool *ret_complete, struct pd_error *error)
{
    struct pd_run_giving giving = {.items = items};
    struct run *run = run_new(query, &(struct pd_run_store){snapshot, live, live_len});

    if (!run) {
        return pd_query_run_fail(query, -ENOMEM, error);
    }
    run->items = pd_query_run_noted(&giving);
    int err = give_items(run, true);
    if (!err) {
        *ret_complete = run->complete && run->collect.complete && !giving.capped;
    } else if (!giving.stopped) {
        pd_query_run_fail(query, err, error);
    }
    run_free(run);
    return err;
}

/* ---- the partial result ---- */

static int write_partial(struct run *run, struct pd_partial_writer *writer, uint64_t begun_ns)
{
    struct pd_partial_end end = {.asked = 1, .answered = 1};
    int error = give_items(run, false);
    if (error) {
        return error;
    }
    end.complete = run->complete && run->collect.complete;
    end.critical_us = (pd_clock_thread_ns() - begun_ns) / PD_NS_PER_US;
    return pd_query_partial_finish(writer, &end);
}

int pd_query_run_partial(const struct pd_query *query, struct pd_tib_snapshot *snapshot,
                         const struct pd_tib_record *live, size_t live_len, uint64_t begun_ns,
                         const struct pd_query_sink *sink, bool *ret_complete,
                         struct pd_error *error)
{
    struct pd_partial_writer *writer = NULL;
    int err = pd_query_mergeable(query, error);
    if (err) {
        return err;
    }
    struct run *run = run_new(query, &(struct pd_run_store){snapshot, live, live_len});
    err = run ? pd_query_partial_begin(sink, &run->budget, &writer) : -ENOMEM;
    if (!err) {
        run->items = pd_query_partial_items(writer);
        err = write_partial(run, writer, begun_ns);
    }
    if (err && (!writer || !pd_query_partial_stopped(writer))) {
        pd_query_run_fail(query, err, error);
    }
    if (!err) {
        *ret_complete = run->complete && run->collect.complete;
    }
    pd_query_partial_writer_free(writer);
    if (run) {
        run_free(run);
    }
    return err;
}
