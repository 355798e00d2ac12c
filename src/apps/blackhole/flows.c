/* SPDX-License-Identifier: Apache-2.0 */
/* blackhole: the flows that suffer, the paths that they should take, and those on which their
 * packets arrived. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apps/args.h"
#include "apps/blackhole/blackhole.h"
#include "apps/flow_args.h"
#include "apps/rows.h"
#include "topology/paths.h"

enum { ALARMS_MAX = 4096 };

/* ---- which flows ---- */

static struct bh_flow *find_flow(struct bh_flow *flows, size_t len, const struct pd_flow_id *id)
{
    for (size_t i = 0; i < len; i++) {
        if (pd_flow_id_equal(&flows[i].id, id)) {
            return &flows[i];
        }
    }
    return NULL;
}

static int compare_flows(const void *a, const void *b)
{
    const struct bh_flow *x = a, *y = b;

    if (x->alarms != y->alarms) {
        return x->alarms > y->alarms ? -1 : 1;
    }
    return (x->alarmed_us < y->alarmed_us) - (x->alarmed_us > y->alarmed_us);
}

struct gathering {
    struct bh_flow *flows;
    size_t len;
    size_t without, unreadable;
};

static void take_alarm(struct gathering *g, const json_t *object, unsigned weight)
{
    struct pd_app_alarm alarm;

    if (!pd_app_alarm_read(object, &alarm)) {
        g->unreadable++;
        return;
    }
    if (!alarm.flow.ip_version) {
        g->without++;
        return;
    }
    struct bh_flow *flow = find_flow(g->flows, g->len, &alarm.flow);
    if (!flow && g->len < ALARMS_MAX) {
        flow = &g->flows[g->len++];
        *flow = (struct bh_flow){.id = alarm.flow, .alarmed_us = alarm.time_us};
    }
    if (!flow) {
        return;
    }
    flow->alarms += weight;
    if (alarm.time_us < flow->alarmed_us) {
        flow->alarmed_us = alarm.time_us;
    }
}

/* Those with most alarms, since a blackhole goes on; the one that started this run in any case. */
static int from_alarms(struct bh_case *c, struct pd_error *error)
{
    struct gathering g = {.flows = calloc(ALARMS_MAX, sizeof *g.flows)};
    json_t *alarms = NULL, *alarm;
    size_t i;

    if (!g.flows) {
        return pd_fail(error, -ENOMEM, "blackhole: %s", pd_error_text(-ENOMEM));
    }
    int err = pd_app_alarms(c->call, "POOR_PERF", c->since_us, c->now_us + c->slack_us, ALARMS_MAX,
                            &alarms, error);
    if (!err && c->call->alarm) {
        take_alarm(&g, c->call->alarm, ALARMS_MAX);
    }
    json_array_foreach(alarms, i, alarm) take_alarm(&g, alarm, 1);
    json_decref(alarms);
    qsort(g.flows, g.len, sizeof *g.flows, compare_flows);
    c->flows_len = g.len < BH_FLOWS_MAX ? g.len : BH_FLOWS_MAX;
    memcpy(c->flows, g.flows, c->flows_len * sizeof *g.flows);
    free(g.flows);
    if (g.len > c->flows_len) {
        pd_app_report_evidence(c->report,
                               "%zu flows suffer: the %zu with most alarms were looked at", g.len,
                               c->flows_len);
    }
    if (g.without + g.unreadable) {
        pd_app_report_lacks(c->report, "%zu alarms that name no flow", g.without + g.unreadable);
    }
    return err;
}

static int from_args(struct bh_case *c, struct pd_error *error)
{
    const json_t *args = c->call->args;
    const char *src = pd_app_arg_text(args, "src_ip"), *dst = pd_app_arg_text(args, "dst_ip");
    struct bh_flow *flow = &c->flows[0];
    uint8_t version;

    if (!src || !dst) {
        return pd_fail(error, -PD_E_VALUE, "src_ip and dst_ip: a flow has both");
    }
    *flow = (struct bh_flow){.alarms = 1, .alarmed_us = c->now_us};
    if (pd_addr_parse(src, &flow->id.src, &flow->id.ip_version) ||
        pd_addr_parse(dst, &flow->id.dst, &version) || version != flow->id.ip_version) {
        return pd_fail(error, -PD_E_VALUE, "src_ip and dst_ip: expects addresses of one family");
    }
    flow->id.src_port = (uint16_t)pd_app_arg_u64(args, "src_port", 0);
    flow->id.dst_port = (uint16_t)pd_app_arg_u64(args, "dst_port", 0);
    flow->id.protocol = (uint8_t)pd_app_arg_u64(args, "protocol", 6);
    if (c->now_us > c->back_us) {
        flow->alarmed_us = c->now_us - c->back_us;
    }
    c->flows_len = 1;
    return 0;
}

static int take_path(void *context, const struct pd_path *path)
{
    struct bh_flow *flow = context;

    if (flow->paths_len == BH_PATHS_MAX) {
        return 1;
    }
    flow->paths[flow->paths_len++].path = *path;
    return 0;
}

/* The paths that it should take. A flow that the topology does not know has none, and those of one
 * whose host hangs at several switches nobody knows: by which it goes is the host's choice. */
static int expect(struct bh_case *c, struct bh_flow *flow, size_t *homes)
{
    const struct pd_topology *topology = c->call->world->topology;
    uint32_t srcs[PD_HOMES_MAX], dsts[PD_HOMES_MAX];
    uint32_t srcs_len = pd_topology_tors_of(topology, &flow->id.src, flow->id.ip_version, srcs);
    uint32_t dsts_len = pd_topology_tors_of(topology, &flow->id.dst, flow->id.ip_version, dsts);

    flow->src_tor = srcs_len ? srcs[0] : PD_NONE;
    flow->dst_tor = dsts_len ? dsts[0] : PD_NONE;
    flow->src_host = pd_app_host_of(topology, &flow->id.src, flow->id.ip_version);
    flow->dst_host = pd_app_host_of(topology, &flow->id.dst, flow->id.ip_version);
    *homes += srcs_len > 1 || dsts_len > 1;
    if (srcs_len != 1 || dsts_len != 1 || flow->src_tor == flow->dst_tor) {
        return 0;
    }
    flow->paths = calloc(BH_PATHS_MAX, sizeof *flow->paths);
    if (!flow->paths) {
        return -ENOMEM;
    }
    int err = pd_topology_shortest(topology, flow->src_tor, flow->dst_tor, take_path, flow);
    return err < 0 ? err : 0;
}

int pd_blackhole_collect(struct bh_case *c, struct pd_error *error)
{
    bool given =
        pd_app_arg_text(c->call->args, "src_ip") || pd_app_arg_text(c->call->args, "dst_ip");
    int err = given ? from_args(c, error) : from_alarms(c, error);
    size_t unknown = 0, homes = 0;

    for (size_t i = 0; i < c->flows_len && !err; i++) {
        err = expect(c, &c->flows[i], &homes);
        if (err) {
            return pd_fail(error, err, "blackhole: %s", pd_error_text(err));
        }
        unknown += !c->flows[i].src_host || !c->flows[i].dst_host;
    }
    if (unknown) {
        pd_app_report_lacks(c->report, "%zu flows whose hosts the topology does not know", unknown);
    }
    if (homes) {
        pd_app_report_lacks(
            c->report,
            "%zu flows of hosts at several switches: which paths they should take is "
            "not known",
            homes);
    }
    return err;
}

/* ---- what arrived ---- */

struct looking {
    struct bh_case *c;
    struct bh_flow *flow;
    size_t strange;
};

static void add_row(struct bh_path *path, const struct pd_app_row *row)
{
    path->pkts += row->pkts;
    if (!path->first_us || row->stime_us < path->first_us) {
        path->first_us = row->stime_us;
    }
    if (row->etime_us > path->last_us) {
        path->last_us = row->etime_us;
    }
}

static int take_row(void *context, const struct pd_app_row *row, const json_t *object)
{
    struct looking *l = context;
    struct bh_flow *flow = l->flow;

    (void)object;
    if (!pd_flow_id_equal(&row->flow, &flow->id) || !row->pkts) {
        return 0;
    }
    for (size_t i = 0; i < flow->paths_len; i++) {
        if (pd_path_equal(&flow->paths[i].path, &row->path)) {
            flow->seen_len += !flow->paths[i].pkts;
            flow->pkts += row->pkts;
            flow->bytes += row->bytes;
            add_row(&flow->paths[i], row);
            return 0;
        }
    }
    const struct pd_topology *topology = l->c->call->world->topology;
    if (!topology->codecs_len || pd_app_path_exists(topology, &row->path)) {
        flow->other++;
        flow->pkts += row->pkts;
        flow->bytes += row->bytes;
    } else {
        l->strange++;
    }
    return 0;
}

static int look_at(struct bh_case *c, struct bh_flow *flow, struct pd_error *error)
{
    struct looking l = {.c = c, .flow = flow};
    size_t lacked = json_array_size(c->report->lacks);
    const struct pd_app_rows_query query = {
        .name = "getFlows",
        .list = "flows",
        .args = pd_app_flow_args(&flow->id, c->since_us, UINT64_MAX),
        .hosts = pd_app_host_list(flow->dst_host)};
    int err = pd_app_ask_rows(c->call, c->report, &query, take_row, &l, NULL, error);

    flow->asked = !err && json_array_size(c->report->lacks) == lacked;
    if (l.strange) {
        pd_app_report_lacks(c->report, "packets of suffering flows over paths that do not exist");
    }
    return err;
}

/* What came by its paths in all when a path last got packets, as seen in the looks so far. */
static void set_base(struct bh_flow *flow, size_t i, uint64_t pkts_before, uint64_t base_before)
{
    struct bh_path *path = &flow->paths[i];

    path->base_pkts = base_before;
    for (size_t j = 0; j < flow->paths_len && path->pkts != pkts_before; j++) {
        path->base_pkts = j ? path->base_pkts + flow->paths[j].pkts : flow->paths[j].pkts;
    }
}

int pd_blackhole_look(struct bh_case *c, struct pd_error *error)
{
    const json_t *spray = json_object_get(c->call->args, "spray");
    int err = 0;

    for (size_t i = 0; i < c->flows_len && !err; i++) {
        struct bh_flow *flow = &c->flows[i];

        if (flow->paths_len && flow->dst_host) {
            err = pd_blackhole_ask_sent(c, flow, error);
        }
        if (!err && flow->paths_len && flow->dst_host) {
            err = look_at(c, flow, error);
        }
        for (size_t path = 0; path < flow->paths_len; path++) {
            set_base(flow, path, UINT64_MAX, 0);
        }
        pd_blackhole_start(flow);
        c->spray |= flow->seen_len > 1;
    }
    if (spray) {
        c->spray = json_is_true(spray);
    }
    return err;
}

int pd_blackhole_look_again(struct bh_case *c, struct bh_flow *flow, struct pd_error *error)
{
    struct bh_path *before = calloc(flow->paths_len ? flow->paths_len : 1, sizeof *before);

    if (!before) {
        return pd_fail(error, -ENOMEM, "blackhole: %s", pd_error_text(-ENOMEM));
    }
    memcpy(before, flow->paths, flow->paths_len * sizeof *before);
    for (size_t i = 0; i < flow->paths_len; i++) {
        flow->paths[i] = (struct bh_path){.path = before[i].path};
    }
    flow->seen_len = flow->other = 0;
    flow->pkts = flow->bytes = 0;
    int err = pd_blackhole_ask_sent(c, flow, error);
    if (!err) {
        err = look_at(c, flow, error);
    }
    for (size_t i = 0; i < flow->paths_len; i++) {
        flow->paths[i].start_pkts =
            flow->paths[i].pkts == before[i].pkts ? before[i].start_pkts : 0;
        set_base(flow, i, before[i].pkts, before[i].base_pkts);
    }
    free(before);
    return err;
}
