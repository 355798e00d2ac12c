/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of getTraces: rows, and ways by flow. */
#include "apps/traces.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "apps/flow_args.h"
#include "apps/rows.h"

static bool read_way(const json_t *row, struct pd_path *ret_path)
{
    const json_t *path = json_object_get(row, "path"), *id;
    size_t i;

    if (!json_is_array(path) || json_array_size(path) > PD_PATH_MAX) {
        return false;
    }
    ret_path->len = (uint32_t)json_array_size(path);
    json_array_foreach((json_t *)(uintptr_t)path, i, id)
    {
        if (!json_is_integer(id) || json_integer_value(id) < 0 ||
            json_integer_value(id) > UINT32_MAX) {
            return false;
        }
        ret_path->switches[i] = (uint32_t)json_integer_value(id);
    }
    return true;
}

/* The server's own address, where the trace went. */
static void read_wire(const json_t *row, struct pd_app_trace *trace)
{
    const char *dip = json_string_value(json_object_get(row, "dip"));
    struct pd_addr addr;
    uint8_t version;

    trace->wire = trace->flow;
    if (dip && !pd_addr_parse(dip, &addr, &version) && version == trace->flow.ip_version) {
        trace->wire.dst = addr;
    }
}

bool pd_app_trace_read(const struct pd_topology *topology, const json_t *row,
                       struct pd_app_trace *ret_trace)
{
    struct pd_app_trace trace = {0};
    uint64_t host;

    if (!pd_app_flow_read(json_object_get(row, "flow_id"), &trace.flow) ||
        !read_way(row, &trace.path) || !pd_app_number(row, "time_us", &trace.time_us) ||
        !pd_app_number(row, "retransmissions", &trace.retransmissions)) {
        return false;
    }
    trace.host = pd_app_number(row, "host", &host)
                     ? (uint32_t)host
                     : pd_app_host_of(topology, &trace.flow.src, trace.flow.ip_version);
    trace.reached = json_is_true(json_object_get(row, "reached"));
    read_wire(row, &trace);
    *ret_trace = trace;
    return true;
}

/* ---- by flow ---- */

static int by_flow(const void *a, const void *b)
{
    return memcmp(&((const struct pd_app_trace *)a)->flow, &((const struct pd_app_trace *)b)->flow,
                  sizeof(struct pd_flow_id));
}

static int by_flow_and_time(const void *a, const void *b)
{
    const struct pd_app_trace *x = a, *y = b;
    int order = by_flow(a, b);

    return order ? order : (x->time_us > y->time_us) - (x->time_us < y->time_us);
}

static void keep_latest(struct pd_app_traces *traces)
{
    size_t len = 0;

    if (traces->len) {
        qsort(traces->list, traces->len, sizeof *traces->list, by_flow_and_time);
    }
    for (size_t i = 0; i < traces->len; i++) {
        len -= len && !by_flow(&traces->list[len - 1], &traces->list[i]);
        traces->list[len++] = traces->list[i];
    }
    traces->len = len;
}

static int take(struct pd_app_traces *traces, const struct pd_topology *topology,
                const json_t *rows, struct pd_report *report)
{
    const json_t *row;
    uint64_t wrong = 0;
    size_t i;

    traces->list = calloc(json_array_size(rows) + 1, sizeof *traces->list);
    if (!traces->list) {
        return -ENOMEM;
    }
    json_array_foreach((json_t *)(uintptr_t)rows, i, row)
    {
        struct pd_app_trace *trace = &traces->list[traces->len];
        bool read = pd_app_trace_read(topology, row, trace);

        wrong += !read;
        traces->len += read && trace->path.len;
    }
    if (wrong) {
        pd_app_report_lacks(report, "%" PRIu64 " traces that made no sense", wrong);
    }
    keep_latest(traces);
    return 0;
}

int pd_app_traces_ask(struct pd_app_traces *traces, const struct pd_app_call *call,
                      uint64_t from_us, uint64_t to_us, struct pd_report *report,
                      struct pd_error *error)
{
    json_t *args, *answer = NULL;

    if (traces->asked) {
        return 0;
    }
    args = pd_app_flow_args(NULL, from_us, to_us);
    json_object_del(args, "live");
    int err = pd_app_ask(call, report, "getTraces", args, NULL, &answer, error);
    if (!err) {
        err = take(traces, call->world->topology, json_object_get(answer, "traces"), report);
        err = err ? pd_fail(error, err, "traces: %s", pd_error_text(err)) : 0;
    }
    json_decref(answer);
    traces->asked = !err;
    return err;
}

const struct pd_app_trace *pd_app_traces_find(const struct pd_app_traces *traces,
                                              const struct pd_flow_id *flow)
{
    const struct pd_app_trace key = {.flow = *flow};

    return traces->len ? bsearch(&key, traces->list, traces->len, sizeof *traces->list, by_flow)
                       : NULL;
}

void pd_app_traces_done(struct pd_app_traces *traces)
{
    free(traces->list);
    *traces = (struct pd_app_traces){0};
}
