/* SPDX-License-Identifier: Apache-2.0 */
/* Execution: the records of a snapshot and of the trajectory memory become one answer. */
#include <errno.h>
#include <stdlib.h>

#include "query/group.h"
#include "query/out.h"
#include "query/query.h"

struct run {
    struct pd_query_budget budget;
    struct pd_query_paths paths; /* getFlows, getPaths */
    struct pd_query_rows rows;   /* getFlows */
    uint64_t bytes;              /* getCount */
    uint64_t pkts;
    uint64_t stime_us; /* getDuration; UINT64_MAX: no record */
    uint64_t etime_us;
    bool complete;
    struct pd_query_out out;
};

/* ---- what each query keeps of a record ---- */

static int add_flow(struct run *run, const struct pd_tib_record *record)
{
    uint32_t path;
    int error = pd_query_paths_add(&run->paths, record->path, &path);
    return error ? error : pd_query_rows_add(&run->rows, record, path);
}

static int add_path(struct run *run, const struct pd_tib_record *record)
{
    uint32_t path;
    return pd_query_paths_add(&run->paths, record->path, &path);
}

static int add_count(struct run *run, const struct pd_tib_record *record)
{
    bool capped = false;
    pd_query_sum(&run->bytes, record->bytes, &capped);
    pd_query_sum(&run->pkts, record->pkts, &capped);
    run->complete &= !capped;
    return 0;
}

static int add_duration(struct run *run, const struct pd_tib_record *record)
{
    if (record->stime_us < run->stime_us)
        run->stime_us = record->stime_us;
    if (record->etime_us > run->etime_us)
        run->etime_us = record->etime_us;
    return 0;
}

/* ---- what each query answers ---- */

static void write_row(struct run *run, const struct pd_query_row *row)
{
    const struct pd_path *path = run->paths.paths[row->path];
    struct pd_query_out *out = &run->out;
    pd_query_out_text(out, "{\"flow_id\":");
    pd_query_out_flow_id(out, &row->flow);
    pd_query_out_text(out, ",\"path\":");
    pd_query_out_switches(out, path);
    if (!path->len) {
        pd_query_out_text(out, ",");
        pd_query_out_tags(out, path);
    }
    pd_query_out_member(out, ",\"stime_us\":", row->stime_us);
    pd_query_out_member(out, ",\"etime_us\":", row->etime_us);
    pd_query_out_member(out, ",\"bytes\":", row->bytes);
    pd_query_out_member(out, ",\"pkts\":", row->pkts);
    pd_query_out_text(out, "}");
}

static int write_flows(struct run *run)
{
    int error = pd_query_paths_sort(&run->paths);
    if (!error)
        error = pd_query_rows_sort(&run->rows, &run->paths);
    if (error)
        return error;
    run->complete &= !run->rows.capped;
    pd_query_out_text(&run->out, "\"flows\":[");
    for (uint32_t i = 0; i < run->rows.len && !run->out.error; i++) {
        pd_query_out_text(&run->out, i ? "," : "");
        write_row(run, &run->rows.rows[run->rows.order[i]]);
    }
    pd_query_out_text(&run->out, "]");
    return 0;
}

/* A trajectory that fits no path is not one: those are listed apart, and only when there are some. They sort first. */
static int write_paths(struct run *run)
{
    struct pd_query_out *out = &run->out;
    const struct pd_path **paths = run->paths.paths;
    uint32_t infeasible = 0;
    int error = pd_query_paths_sort(&run->paths);
    if (error)
        return error;
    while (infeasible < run->paths.len && !paths[run->paths.order[infeasible]]->len)
        infeasible++;
    pd_query_out_text(out, "\"paths\":[");
    for (uint32_t i = infeasible; i < run->paths.len && !out->error; i++) {
        pd_query_out_text(out, i > infeasible ? "," : "");
        pd_query_out_switches(out, paths[run->paths.order[i]]);
    }
    pd_query_out_text(out, infeasible ? "],\"infeasible\":[" : "");
    for (uint32_t i = 0; i < infeasible && !out->error; i++) {
        pd_query_out_text(out, i ? ",{" : "{");
        pd_query_out_tags(out, paths[run->paths.order[i]]);
        pd_query_out_text(out, "}");
    }
    pd_query_out_text(out, "]");
    return 0;
}

static int write_count(struct run *run)
{
    pd_query_out_member(&run->out, "\"bytes\":", run->bytes);
    pd_query_out_member(&run->out, ",\"pkts\":", run->pkts);
    return 0;
}

static int write_duration(struct run *run)
{
    struct pd_query_out *out = &run->out;
    if (run->stime_us == UINT64_MAX) {
        pd_query_out_text(out, "\"stime_us\":null,\"etime_us\":null,\"duration_us\":0");
        return 0;
    }
    pd_query_out_member(out, "\"stime_us\":", run->stime_us);
    pd_query_out_member(out, ",\"etime_us\":", run->etime_us);
    pd_query_out_member(out, ",\"duration_us\":", run->etime_us - run->stime_us);
    return 0;
}

/* ---- the run ---- */

static const struct plan {
    int (*add)(struct run *run, const struct pd_tib_record *record);
    int (*write)(struct run *run); /* the members before "complete" */
} plans[PD_QUERY_COUNT] = {
    [PD_QUERY_GET_FLOWS] = {add_flow, write_flows},
    [PD_QUERY_GET_PATHS] = {add_path, write_paths},
    [PD_QUERY_GET_COUNT] = {add_count, write_count},
    [PD_QUERY_GET_DURATION] = {add_duration, write_duration},
};

struct visit_context {
    struct run *run;
    const struct plan *plan;
};

static int visit(void *context, const struct pd_tib_record *records, size_t n)
{
    const struct visit_context *visited = context;
    int error = 0;
    for (size_t i = 0; i < n && !error; i++)
        error = visited->plan->add(visited->run, &records[i]);
    return error;
}

static int collect(const struct pd_query *query, struct pd_tib_snapshot *snapshot,
                   const struct pd_tib_record *live, size_t live_len, struct visit_context *context)
{
    struct pd_tib_filter filter = query->filter;
    if (filter.path)
        filter.path = &query->path; /* the query may have been copied since it was set */
    int error = snapshot ? pd_tib_scan(snapshot, &filter, visit, context) : 0;
    if (snapshot && pd_tib_snapshot_damaged(snapshot))
        context->run->complete = false; /* what can be read is answered */
    for (size_t i = 0; i < live_len && !error; i++) {
        if (pd_tib_filter_matches(&filter, &live[i]))
            error = visit(context, &live[i], 1);
    }
    return error;
}

static struct run *run_new(const struct pd_query *query, const struct pd_query_sink *sink)
{
    struct run *run = malloc(sizeof *run);
    if (!run)
        return NULL;
    run->budget.left_bytes = query->memory_bytes;
    pd_query_paths_init(&run->paths, &run->budget);
    pd_query_rows_init(&run->rows, &run->budget);
    run->bytes = run->pkts = run->etime_us = 0;
    run->stime_us = UINT64_MAX;
    run->complete = true;
    pd_query_out_begin(&run->out, sink);
    return run;
}

static void run_free(struct run *run)
{
    pd_query_rows_done(&run->rows);
    pd_query_paths_done(&run->paths);
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
    return pd_fail(error, code, "%s: %s", name, pd_error_text(code));
}

int pd_query_run(const struct pd_query *query, struct pd_tib_snapshot *snapshot,
                 const struct pd_tib_record *live, size_t live_len,
                 const struct pd_query_sink *sink, bool *ret_complete, struct pd_error *error)
{
    const struct plan *plan = &plans[query->name];
    struct run *run = run_new(query, sink);
    if (!run)
        return fail(query, -ENOMEM, error);

    struct visit_context context = {run, plan};
    int code = collect(query, snapshot, live, live_len, &context);
    if (!code) {
        pd_query_out_text(&run->out, "{");
        code = plan->write(run);
    }
    if (code) {
        fail(query, code, error);
        goto out;
    }
    pd_query_out_text(&run->out, ",\"complete\":");
    pd_query_out_bool(&run->out, run->complete);
    pd_query_out_text(&run->out, "}");
    code = pd_query_out_end(&run->out);
    if (!code)
        *ret_complete = run->complete;
out:
    run_free(run);
    return code;
}
