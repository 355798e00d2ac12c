/* SPDX-License-Identifier: Apache-2.0 */
/* Queries over this host's own records. */
#include "agent/local.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "query/merge.h"

#define KEEP_NS PD_NS_PER_MS /* of processor time: what takes less is not worth being kept */

/* Traces leave the tracer for the store while it is not held: each is in the snapshot once. */
static int open_live(struct pd_agent *agent, const struct pd_query *query,
                     struct pd_agent_snapshot **ret_snapshot)
{
    const struct pd_tib_filter *filter = &query->filter;
    bool traces = agent->tracer && (!filter->origins || filter->origins >> PD_ORIGIN_TRACE & 1);
    int err;

    if (!traces) {
        return pd_agent_pipeline_snapshot(agent->pipeline, query, ret_snapshot);
    }
    pd_tracer_hold(agent->tracer);
    err = pd_agent_pipeline_snapshot(agent->pipeline, query, ret_snapshot);
    if (!err) {
        pd_tracer_visit(agent->tracer, &filter->flow, filter->from_us, filter->to_us,
                        pd_agent_snapshot_trace, *ret_snapshot);
        err = (*ret_snapshot)->error;
        if (err) {
            pd_agent_snapshot_free(*ret_snapshot);
        }
    }
    pd_tracer_let_go(agent->tracer);
    return err;
}

int pd_agent_local_open(struct pd_agent *agent, const struct pd_query *query,
                        struct pd_agent_snapshot **ret_snapshot, struct pd_error *error)
{
    struct pd_agent_snapshot *snapshot;
    int err;

    if (query->live) {
        err = open_live(agent, query, ret_snapshot);
    } else if ((snapshot = pd_agent_snapshot_new(query))) {
        err = pd_tib_snapshot(agent->tib, &snapshot->tib);
        if (err) {
            pd_agent_snapshot_free(snapshot);
        } else {
            *ret_snapshot = snapshot;
        }
    } else {
        err = -ENOMEM;
    }
    if (err == -PD_E_BUSY) {
        pd_fail(error, err, "the live snapshot was not ready in time; try again");
    } else if (err) {
        pd_fail(error, err, "the store cannot be read: %s", pd_error_text(err));
    }
    return err;
}

static int count_incomplete(struct pd_agent *agent, int err, bool complete)
{
    if (!err && !complete) {
        pd_count(&agent->counters.queries_incomplete, 1);
    }
    return err;
}

/* Runs over the snapshot, and keeps an answer that took long. */
static int answer_anew(struct pd_agent *agent, const struct pd_query *query,
                       enum pd_query_form form, const struct pd_agent_snapshot *snapshot,
                       uint64_t version, const struct pd_query_sink *sink, struct pd_answer *answer,
                       struct pd_error *error)
{
    uint64_t begun_ns = pd_clock_thread_ns();
    bool complete = false;
    int err = pd_query_run_as(query, form, snapshot->tib, snapshot->rows, snapshot->rows_len, sink,
                              &complete, error);
    bool keep = answer && complete && pd_clock_thread_ns() - begun_ns >= KEEP_NS;

    if (!err && keep && !pd_http_answer_finish(answer)) {
        pd_agent_response_cache_keep(agent->again, query, form, version, answer);
    }
    return count_incomplete(agent, err, complete);
}

int pd_agent_local_answer(struct pd_agent *agent, const struct pd_query *query,
                          enum pd_query_form form, const struct pd_query_sink *sink,
                          struct pd_answer *answer, struct pd_error *error)
{
    struct pd_agent_snapshot *snapshot;
    int err = pd_agent_local_open(agent, query, &snapshot, error);

    if (err) {
        return err;
    }
    /* With live records the answer changes with every packet. */
    uint64_t version = snapshot->rows_len ? 0 : pd_tib_version(snapshot->tib);
    if (answer && pd_agent_response_cache_find(agent->again, query, form, version, answer)) {
        pd_count(&agent->counters.queries_again, 1);
    } else {
        err = answer_anew(agent, query, form, snapshot, version, sink, answer, error);
    }
    pd_agent_snapshot_free(snapshot);
    return err;
}

int pd_agent_local_partial(struct pd_agent *agent, const struct pd_query *query, uint64_t begun_ns,
                           const struct pd_query_sink *sink, struct pd_error *error)
{
    struct pd_agent_snapshot *snapshot;
    bool complete = false;
    int err = pd_agent_local_open(agent, query, &snapshot, error);

    if (err) {
        return err;
    }
    err = pd_query_run_partial(query, snapshot->tib, snapshot->rows, snapshot->rows_len, begun_ns,
                               sink, &complete, error);
    pd_agent_snapshot_free(snapshot);
    return count_incomplete(agent, err, complete);
}

/* ---- records one by one ---- */

static int visit_snapshot(struct pd_agent_snapshot *snapshot, const struct pd_question_scan *scan,
                          int (*visit)(void *visitor, const struct pd_tib_record *records,
                                       size_t n),
                          void *visitor, bool *ret_complete)
{
    char *token = NULL;
    int err = pd_tib_scan(snapshot->tib, scan->filter, visit, visitor);

    if (!err && snapshot->rows_len) {
        err = visit(visitor, snapshot->rows, snapshot->rows_len);
    }
    if (!err && scan->ret_token) {
        err = pd_tib_token(snapshot->tib, &token);
        err = err == -PD_E_UNSUPPORTED ? 0 : err;
    }
    if (!err) {
        *ret_complete = !pd_tib_snapshot_damaged(snapshot->tib);
    }
    if (!err && token) {
        *scan->ret_token = token;
    }
    return err;
}

int pd_agent_local_scan(struct pd_agent *agent, const struct pd_question_scan *scan,
                        int (*visit)(void *visitor, const struct pd_tib_record *records, size_t n),
                        void *visitor, bool *ret_complete, struct pd_error *error)
{
    struct pd_query *query = malloc(sizeof *query);
    struct pd_agent_snapshot *snapshot;
    int err = 0;

    if (!query) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    pd_query_init(query, PD_QUERY_GET_FLOWS);
    query->filter = *scan->filter;
    query->filter.since = NULL; /* of the store alone */
    query->live = scan->live;
    query->columns = scan->columns;
    if (scan->filter->path) {
        pd_path_copy(&query->path, scan->filter->path);
        query->given |= 1U << PD_QUERY_PARAM_PATH;
    }
    err = pd_agent_local_open(agent, query, &snapshot, error);
    free(query);
    if (err) {
        return err;
    }
    err = visit_snapshot(snapshot, scan, visit, visitor, ret_complete);
    pd_agent_snapshot_free(snapshot);
    if (err == -PD_E_VALUE && scan->filter->since) {
        return pd_fail(error, -PD_E_CONFLICT, "since: this store gave no such token: \"%.64s\"",
                       scan->filter->since);
    }
    return err ? pd_fail(error, err, "the records cannot be read: %s", pd_error_text(err)) : 0;
}
