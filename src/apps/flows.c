/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of getFlows, kept when their path exists. */
#include "apps/flows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apps/traces.h"
#include "base/grow.h"

struct taking {
    const struct pd_topology *topology;
    struct pd_app_flows *flows;
    const struct pd_app_traces *traces; /* NULL: ways are those of records */
};

/* Gaps are not guessed. */
static bool take_traced(const struct taking *taking, struct pd_app_row *row)
{
    const struct pd_app_trace *trace =
        taking->traces ? pd_app_traces_find(taking->traces, &row->flow) : NULL;

    row->path.len = 0;
    if (trace && trace->reached && pd_app_path_exists(taking->topology, &trace->path)) {
        row->path = trace->path;
    }
    return taking->traces;
}

static int take(void *context, const struct pd_app_row *row, const json_t *object)
{
    struct taking *taking = context;
    struct pd_app_flows *flows = taking->flows;
    struct pd_app_row kept = *row;

    (void)object;
    if (!row->flow.ip_version ||
        (!pd_app_path_exists(taking->topology, &row->path) && !take_traced(taking, &kept))) {
        flows->unknown++;
        return 0;
    }
    if (PD_GROW(flows->rows, flows->room, flows->len + 1)) {
        return -ENOMEM;
    }
    flows->rows[flows->len++] = kept;
    return 0;
}

static int ask(const struct pd_app_call *call, struct pd_report *report, json_t *args,
               json_t *hosts, const struct pd_app_traces *traces, struct pd_app_flows *ret_flows,
               struct pd_error *error)
{
    struct pd_app_flows flows = {0};
    struct taking taking = {call->world->topology, &flows, traces};
    const struct pd_app_rows_query query = {
        .name = "getFlows", .list = "flows", .args = args, .hosts = hosts};
    int err = pd_app_ask_rows(call, report, &query, take, &taking, NULL, error);

    if (err == -ENOMEM) {
        pd_fail(error, err, "flows: %s", pd_error_text(err));
    }
    if (err) {
        pd_app_flows_done(&flows);
        return err;
    }
    if (flows.unknown) {
        pd_app_report_lacks(report, "%zu flows have a path that does not exist: left out",
                            flows.unknown);
    }
    *ret_flows = flows;
    return 0;
}

int pd_app_flows_ask(const struct pd_app_call *call, struct pd_report *report, json_t *args,
                     json_t *hosts, struct pd_app_flows *ret_flows, struct pd_error *error)
{
    return ask(call, report, args, hosts, NULL, ret_flows, error);
}

int pd_app_flows_ask_traced(const struct pd_app_call *call, struct pd_report *report, json_t *args,
                            json_t *hosts, uint64_t from_us, struct pd_app_flows *ret_flows,
                            struct pd_error *error)
{
    struct pd_app_traces traces = {0};
    bool tagged = call->world->topology->codecs_len > 0;
    int err = tagged ? 0 : pd_app_traces_ask(&traces, call, from_us, UINT64_MAX, report, error);

    if (err) {
        json_decref(args);
        json_decref(hosts);
    } else {
        err = ask(call, report, args, hosts, tagged ? NULL : &traces, ret_flows, error);
    }
    pd_app_traces_done(&traces);
    return err;
}

void pd_app_flows_done(struct pd_app_flows *flows)
{
    free(flows->rows);
    *flows = (struct pd_app_flows){0};
}

static int by_id(const void *a, const void *b)
{
    const struct pd_app_row *x = a, *y = b;
    int order = memcmp(&x->flow, &y->flow, sizeof x->flow);

    return order ? order : memcmp(&x->path, &y->path, sizeof x->path);
}

static int by_bytes(const void *a, const void *b)
{
    const struct pd_app_row *x = a, *y = b;

    if (x->bytes != y->bytes) {
        return x->bytes < y->bytes ? 1 : -1;
    }
    return by_id(a, b);
}

void pd_app_flows_by_id(struct pd_app_flows *flows)
{
    if (flows->len) {
        qsort(flows->rows, flows->len, sizeof *flows->rows, by_id);
    }
}

void pd_app_flows_by_bytes(struct pd_app_flows *flows)
{
    if (flows->len) {
        qsort(flows->rows, flows->len, sizeof *flows->rows, by_bytes);
    }
}

json_t *pd_app_flows_json(const struct pd_app_row *row)
{
    return json_pack("{s:o, s:o, s:I, s:I}", "flow_id", pd_app_flow_json(&row->flow), "path",
                     pd_app_path_json(&row->path), "bytes", (json_int_t)row->bytes, "pkts",
                     (json_int_t)row->pkts);
}
