/* SPDX-License-Identifier: Apache-2.0 */
/* Execution: the groups of a snapshot and of the trajectory memory become one answer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query/fold.h"
#include "query/out.h"
#include "query/query.h"

struct run {
    const struct pd_query *query;
    uint64_t items;                   /* written into the list at hand */
    const struct pd_path **set_aside; /* getPaths: infeasible trajectories */
    size_t set_aside_len, set_aside_room;
    struct pd_tib_record sum; /* getCount, getDuration */
    uint64_t groups;          /* that came */
    bool complete;
    struct pd_tib_budget budget; /* of what is kept here; the grouping has one of its own */
    struct pd_query_fold fold;
    struct pd_query_out out;
};

/* ---- members of rows ---- */

static void separate(struct run *run)
{
    pd_query_out_text(&run->out, run->items++ ? ",{" : "{");
}

static void note_cap(struct run *run, uint64_t bytes, uint64_t pkts)
{
    if (bytes >= PD_TIB_SUM_MAX || pkts >= PD_TIB_SUM_MAX)
        run->complete = false;
}

static void write_counts(struct run *run, uint64_t bytes, uint64_t pkts)
{
    pd_query_out_member(&run->out, ",\"bytes\":", bytes);
    pd_query_out_member(&run->out, ",\"pkts\":", pkts);
    pd_query_out_text(&run->out, "}");
    note_cap(run, bytes, pkts);
}

/* ---- rows: one group is one row ---- */

static int record_row(struct run *run, const struct pd_tib_record *group)
{
    pd_query_out_text(&run->out, run->items++ ? "," : "");
    pd_query_out_record(&run->out, group);
    note_cap(run, group->bytes, group->pkts);
    return run->out.error;
}

static int flow_row(struct run *run, const struct pd_tib_record *group)
{
    separate(run);
    pd_query_out_text(&run->out, "\"flow_id\":");
    pd_query_out_flow_id(&run->out, &group->flow);
    write_counts(run, group->bytes, group->pkts);
    return run->out.error;
}

static int host_row(struct run *run, const struct pd_tib_record *group)
{
    separate(run);
    pd_query_out_text(&run->out, "\"src_ip\":");
    pd_query_out_addr(&run->out, &group->flow.src, group->flow.ip_version);
    write_counts(run, group->bytes, group->pkts);
    return run->out.error;
}

static int path_counts_row(struct run *run, const struct pd_tib_record *group)
{
    separate(run);
    pd_query_out_path(&run->out, group->path);
    write_counts(run, group->bytes, group->pkts);
    return run->out.error;
}

static int set_aside(struct run *run, const struct pd_path *path)
{
    if (run->set_aside_len == run->set_aside_room) {
        size_t room = run->set_aside_room ? 2 * run->set_aside_room : 64;
        int error = pd_tib_resize(&run->budget, &run->set_aside,
                                  run->set_aside_room * sizeof(void *), room * sizeof(void *));
        if (error)
            return error;
        run->set_aside_room = room;
    }
    run->set_aside[run->set_aside_len++] = path;
    return 0;
}

/* A trajectory that fits no path is not one: those are listed apart, and only when there are some. They come first. */
static int path_row(struct run *run, const struct pd_tib_record *group)
{
    if (!group->path->len)
        return set_aside(run, group->path);
    pd_query_out_text(&run->out, run->items++ ? "," : "");
    pd_query_out_switches(&run->out, group->path);
    return run->out.error;
}

static int end_paths(struct run *run)
{
    pd_query_out_text(&run->out, run->set_aside_len ? "],\"infeasible\":[" : "");
    for (size_t i = 0; i < run->set_aside_len && !run->out.error; i++) {
        pd_query_out_text(&run->out, i ? ",{" : "{");
        pd_query_out_tags(&run->out, run->set_aside[i]);
        pd_query_out_text(&run->out, "}");
    }
    pd_query_out_text(&run->out, "]");
    return 0;
}

static int end_list(struct run *run)
{
    pd_query_out_text(&run->out, "]");
    return 0;
}

/* ---- one sum of all groups ---- */

static int sum_group(struct run *run, const struct pd_tib_record *group)
{
    struct pd_tib_record *sum = &run->sum;
    if (!run->groups++ || group->stime_us < sum->stime_us)
        sum->stime_us = group->stime_us;
    if (group->etime_us > sum->etime_us)
        sum->etime_us = group->etime_us;
    pd_tib_sum(&sum->bytes, group->bytes);
    pd_tib_sum(&sum->pkts, group->pkts);
    return 0;
}

static int end_count(struct run *run)
{
    pd_query_out_member(&run->out, "\"bytes\":", run->sum.bytes);
    pd_query_out_member(&run->out, ",\"pkts\":", run->sum.pkts);
    note_cap(run, run->sum.bytes, run->sum.pkts);
    return 0;
}

static int end_duration(struct run *run)
{
    struct pd_query_out *out = &run->out;
    if (!run->groups) {
        pd_query_out_text(out, "\"stime_us\":null,\"etime_us\":null,\"duration_us\":0");
        return 0;
    }
    pd_query_out_member(out, "\"stime_us\":", run->sum.stime_us);
    pd_query_out_member(out, ",\"etime_us\":", run->sum.etime_us);
    pd_query_out_member(out, ",\"duration_us\":", run->sum.etime_us - run->sum.stime_us);
    return 0;
}

static int count_group(struct run *run, const struct pd_tib_record *group)
{
    (void)group;
    run->groups++;
    return 0;
}

static int end_distinct(struct run *run)
{
    pd_query_out_member(&run->out, "\"count\":", run->groups);
    return 0;
}

/* ---- folds: coarser than any group ---- */

/* A path that crosses a link twice loads it twice. */
static int fold_links(struct run *run, const struct pd_tib_record *group)
{
    const struct pd_path *path = group->path;
    int error = 0;
    for (unsigned i = 1; i < path->len && !error; i++)
        error = pd_query_fold_add(
            &run->fold, pd_query_fold_pair(path->switches[i - 1], path->switches[i]), group);
    return error;
}

static int fold_pair(struct run *run, const struct pd_tib_record *group)
{
    const struct pd_path *path = group->path;
    if (!path->len)
        return 0; /* nobody knows where it came from */
    return pd_query_fold_add(
        &run->fold, pd_query_fold_pair(path->switches[0], path->switches[path->len - 1]), group);
}

static int fold_size(struct run *run, const struct pd_tib_record *group)
{
    note_cap(run, group->bytes, group->pkts);
    return pd_query_fold_add(&run->fold, group->bytes - group->bytes % run->query->bin_bytes,
                             group);
}

static int end_links(struct run *run)
{
    struct pd_query_out *out = &run->out;
    pd_query_fold_sort(&run->fold, run->query->by);
    for (uint32_t i = 0; i < run->fold.len && i < run->query->k && !out->error; i++) {
        const struct pd_query_sums *sums = &run->fold.sums[i];
        separate(run);
        pd_query_out_member(out, "\"link\":\"", sums->key >> 32);
        pd_query_out_member(out, "-", sums->key & UINT32_MAX);
        pd_query_out_text(out, "\"");
        write_counts(run, sums->bytes, sums->pkts);
    }
    return end_list(run);
}

static int end_pairs(struct run *run)
{
    struct pd_query_out *out = &run->out;
    pd_query_fold_sort(&run->fold, PD_TIB_ORDER_KEY);
    for (uint32_t i = 0; i < run->fold.len && !out->error; i++) {
        const struct pd_query_sums *sums = &run->fold.sums[i];
        separate(run);
        pd_query_out_member(out, "\"src_switch\":", sums->key >> 32);
        pd_query_out_member(out, ",\"dst_switch\":", sums->key & UINT32_MAX);
        write_counts(run, sums->bytes, sums->pkts);
    }
    return end_list(run);
}

static int end_bins(struct run *run)
{
    struct pd_query_out *out = &run->out;
    pd_query_fold_sort(&run->fold, PD_TIB_ORDER_KEY);
    for (uint32_t i = 0; i < run->fold.len && !out->error; i++) {
        separate(run);
        pd_query_out_member(out, "\"from_bytes\":", run->fold.sums[i].key);
        pd_query_out_member(out, ",\"flows\":", run->fold.sums[i].groups);
        pd_query_out_text(out, "}");
    }
    return end_list(run);
}

/* ---- the run ---- */

static const struct plan {
    enum pd_tib_by by;       /* distinct: what is counted stands in the query */
    enum pd_tib_order order; /* of `top`: stands in the query */
    bool top;                /* only the first k */
    const char *begin;       /* of the answer */
    int (*add)(struct run *run, const struct pd_tib_record *group);
    int (*end)(struct run *run); /* the rest, before "complete" */
} plans[PD_QUERY_COUNT] = {
    [PD_QUERY_GET_FLOWS] = {PD_TIB_BY_FLOW_PATH, PD_TIB_ORDER_KEY, false, "{\"flows\":[",
                            record_row, end_list},
    [PD_QUERY_GET_PATHS] = {PD_TIB_BY_PATH, PD_TIB_ORDER_KEY, false, "{\"paths\":[", path_row,
                            end_paths},
    [PD_QUERY_GET_COUNT] = {PD_TIB_BY_PATH, PD_TIB_ORDER_NONE, false, "{", sum_group, end_count},
    [PD_QUERY_GET_DURATION] = {PD_TIB_BY_PATH, PD_TIB_ORDER_NONE, false, "{", sum_group,
                               end_duration},
    [PD_QUERY_TOP_RECORDS] = {PD_TIB_BY_RECORD, PD_TIB_ORDER_NONE, true, "{\"top\":[", record_row,
                              end_list},
    [PD_QUERY_TOP_FLOWS] = {PD_TIB_BY_FLOW, PD_TIB_ORDER_NONE, true, "{\"top\":[", flow_row,
                            end_list},
    [PD_QUERY_TOP_HOSTS] = {PD_TIB_BY_SOURCE, PD_TIB_ORDER_NONE, true, "{\"top\":[", host_row,
                            end_list},
    [PD_QUERY_TOP_LINKS] = {PD_TIB_BY_PATH, PD_TIB_ORDER_NONE, false, "{\"top\":[", fold_links,
                            end_links},
    [PD_QUERY_FLOW_SIZES] = {PD_TIB_BY_FLOW_PATH, PD_TIB_ORDER_NONE, false, "{\"bins\":[",
                             fold_size, end_bins},
    [PD_QUERY_TRAFFIC_MATRIX] = {PD_TIB_BY_PATH, PD_TIB_ORDER_NONE, false, "{\"pairs\":[",
                                 fold_pair, end_pairs},
    [PD_QUERY_PATH_BYTES] = {PD_TIB_BY_PATH, PD_TIB_ORDER_KEY, false, "{\"paths\":[",
                             path_counts_row, end_list},
    [PD_QUERY_DISTINCT] = {PD_TIB_BY_FLOW, PD_TIB_ORDER_NONE, false, "{", count_group,
                           end_distinct},
};

static int visit(void *context, const struct pd_tib_record *groups, size_t n)
{
    struct run *run = context;
    const struct plan *plan = &plans[run->query->name];
    int error = 0;
    for (size_t i = 0; i < n && !error; i++)
        error = plan->add(run, &groups[i]);
    return error;
}

static int collect(struct run *run, struct pd_tib_snapshot *snapshot,
                   const struct pd_tib_record *live, size_t live_len)
{
    const struct pd_query *query = run->query;
    const struct plan *plan = &plans[query->name];
    struct pd_tib_filter filter = query->filter;
    struct pd_tib_grouping grouping = {
        .by = query->name == PD_QUERY_DISTINCT ? query->of : plan->by,
        .order = plan->top ? query->by : plan->order,
        .top_len = plan->top ? query->k : 0,
        .memory_bytes = query->memory_bytes,
        .live = live,
        .live_len = live_len,
    };
    /* The query may have been copied since these were set. */
    filter.path = filter.path ? &query->path : NULL;
    filter.since = *query->since ? query->since : NULL;
    int error = pd_tib_group(snapshot, &filter, &grouping, visit, run);
    if (snapshot && pd_tib_snapshot_damaged(snapshot))
        run->complete = false; /* what can be read is answered */
    return error;
}

/* For `since` of the next run; a store that gives none has none in its answers. */
static int write_token(struct run *run, struct pd_tib_snapshot *snapshot)
{
    char *token;
    int error = snapshot ? pd_tib_token(snapshot, &token) : -PD_E_UNSUPPORTED;
    if (error)
        return error == -PD_E_UNSUPPORTED ? 0 : error;
    if (strlen(token) < PD_QUERY_TOKEN_BYTES) { /* else it could not be given back */
        pd_query_out_text(&run->out, ",\"token\":\"");
        pd_query_out_text(&run->out, token);
        pd_query_out_text(&run->out, "\"");
    }
    free(token);
    return 0;
}

static struct run *run_new(const struct pd_query *query, const struct pd_query_sink *sink)
{
    struct run *run = malloc(sizeof *run);
    if (!run)
        return NULL;
    run->query = query;
    run->items = run->groups = 0;
    run->set_aside = NULL;
    run->set_aside_len = run->set_aside_room = 0;
    run->sum = (struct pd_tib_record){0};
    run->complete = true;
    run->budget.left_bytes = query->memory_bytes;
    pd_query_fold_init(&run->fold, &run->budget);
    pd_query_out_begin(&run->out, sink);
    return run;
}

static void run_free(struct run *run)
{
    pd_query_fold_done(&run->fold);
    free(run->set_aside);
    free(run);
}

static int fail(const struct pd_query *query, int code, struct pd_error *error)
{
    const char *name = pd_query_name_text(query->name);
    if (code == -PD_E_TOO_LARGE)
        return pd_fail(error, code,
                       "%s: the answer needs more than %llu MiB of memory; narrow it by link, "
                       "flow or time range",
                       name, (unsigned long long)(query->memory_bytes >> 20));
    if (code == -PD_E_VALUE && *query->since)
        return pd_fail(error, code, "since: this store gave no such token: \"%.64s\"",
                       query->since);
    return pd_fail(error, code, "%s: %s", name, pd_error_text(code));
}

static int answer(struct run *run, struct pd_tib_snapshot *snapshot,
                  const struct pd_tib_record *live, size_t live_len)
{
    const struct plan *plan = &plans[run->query->name];
    pd_query_out_text(&run->out, plan->begin);
    int error = collect(run, snapshot, live, live_len);
    error = error ? error : plan->end(run);
    error = error ? error : write_token(run, snapshot);
    if (error)
        return error;
    pd_query_out_text(&run->out, ",\"complete\":");
    pd_query_out_bool(&run->out, run->complete);
    pd_query_out_text(&run->out, "}");
    return pd_query_out_end(&run->out);
}

int pd_query_run(const struct pd_query *query, struct pd_tib_snapshot *snapshot,
                 const struct pd_tib_record *live, size_t live_len,
                 const struct pd_query_sink *sink, bool *ret_complete, struct pd_error *error)
{
    struct run *run = run_new(query, sink);
    if (!run)
        return fail(query, -ENOMEM, error);
    int code = answer(run, snapshot, live, live_len);
    if (!code)
        *ret_complete = run->complete;
    else if (!run->out.error) /* else the sink knows why it stopped */
        fail(query, code, error);
    run_free(run);
    return code;
}
