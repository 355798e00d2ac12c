/* SPDX-License-Identifier: Apache-2.0 */
/* blackhole: a flow of one path that does not get through. Nobody knows its path while nothing of
 * it arrives, unless packets of it came before, or its sender traced it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apps/blackhole/blackhole.h"
#include "apps/flow_args.h"
#include "apps/rows.h"

struct asking {
    struct bh_case *c;
    struct bh_flow *flow;
    bool known, stuck;
    size_t to_host; /* rows of others to the same host */
};

/* TCP gives up on nothing that gets through: a timer that backs off, or a connection that never
 * opened. */
static int take_poor(void *context, const struct pd_app_row *row, const json_t *object)
{
    struct asking *a = context;
    const char *state = json_string_value(json_object_get(object, "state"));
    uint64_t backoff = 0, consecutive = 0;

    if (!pd_flow_id_equal(&row->flow, &a->flow->id)) {
        return 0;
    }
    a->known = true;
    (void)pd_app_number(object, "backoff", &backoff);
    (void)pd_app_number(object, "consecutive", &consecutive);
    a->stuck = (backoff && consecutive >= 2) || (state && !strcmp(state, "syn_sent"));
    return 0;
}

/* Without a monitor to ask, a flow is stuck when nothing at all arrived. */
static int ask_sender(struct asking *a, struct pd_error *error)
{
    json_t *answer = NULL;
    int err = a->flow->src_host ? pd_app_ask(a->c->call, a->c->report, "getPoorTCPFlows",
                                             json_pack("{s:i}", "threshold", 1),
                                             pd_app_host_list(a->flow->src_host), &answer, error)
                                : -PD_E_UNSUPPORTED;

    if (!err) {
        err = pd_app_rows(answer, "flows", a->c->report, take_poor, a, error);
    }
    json_decref(answer);
    if (err && err != -PD_E_UNSUPPORTED) {
        return err;
    }
    if (!a->known) {
        a->stuck = !a->flow->pkts;
    }
    return 0;
}

/* A path is well when it carried somebody's packets since the flow suffers, whatever the clocks
 * say. */
static int take_other(void *context, const struct pd_app_row *row, const json_t *object)
{
    struct asking *a = context;
    struct bh_flow *flow = a->flow;
    uint64_t since_us = flow->alarmed_us + a->c->slack_us;

    (void)object;
    if (!row->pkts || row->etime_us < since_us || pd_flow_id_equal(&row->flow, &flow->id)) {
        return 0;
    }
    a->to_host += row->flow.ip_version == flow->id.ip_version &&
                  !memcmp(&row->flow.dst, &flow->id.dst, sizeof flow->id.dst);
    for (size_t i = 0; i < flow->paths_len; i++) {
        if (pd_path_equal(&flow->paths[i].path, &row->path)) {
            flow->paths[i].healthy = true;
        }
    }
    return 0;
}

static json_t *hosts_of_rack(const struct pd_topology *topology, uint32_t tor)
{
    const struct pd_switch *rack = &topology->switches[tor];
    json_t *hosts = json_array();

    for (uint32_t i = rack->switch_neighbours; i < rack->neighbours_len; i++) {
        json_array_append_new(hosts, json_integer(topology->hosts[rack->neighbours[i].node].id));
    }
    return hosts;
}

static int ask_rack(struct asking *a, struct pd_error *error)
{
    const struct pd_topology *topology = a->c->call->world->topology;
    uint64_t since_us = a->flow->alarmed_us + a->c->slack_us;

    if (since_us > a->c->now_us + a->c->slack_us) {
        return 0; /* too early: what arrived may have been sent before */
    }
    const struct pd_app_rows_query query = {.name = "getFlows",
                                            .list = "flows",
                                            .args = pd_app_flow_args(NULL, since_us, UINT64_MAX),
                                            .hosts = hosts_of_rack(topology, a->flow->dst_tor)};

    return pd_app_ask_rows(a->c->call, a->c->report, &query, take_other, a, NULL, error);
}

/* The one path that it took, if all its packets took one. */
static const struct bh_path *own_path(const struct bh_flow *flow)
{
    for (size_t i = 0; i < flow->paths_len && flow->seen_len == 1 && !flow->other; i++) {
        if (flow->paths[i].pkts) {
            return &flow->paths[i];
        }
    }
    return NULL;
}

static void tell_stuck(const struct asking *a, size_t candidates)
{
    char name[PD_ENDS_TEXT_BYTES];
    struct pd_report *report = a->c->report;

    pd_ends_format(&a->flow->id, name);
    pd_app_report_evidence(report,
                           "%s does not get through: %zu of %zu paths between its racks are "
                           "candidates, the others carry packets of others",
                           name, candidates, a->flow->paths_len);
    if (!own_path(a->flow)) {
        pd_app_report_lacks(report, "the path of %s is not known: nothing of it arrives", name);
    }
}

static void tell_host(const struct asking *a)
{
    if (!a->to_host) {
        pd_app_report_lacks(a->c->report,
                            "nothing arrives at host %u from others either, as far as is known: it "
                            "may be the host itself",
                            a->flow->dst_host);
    }
}

static void tell_trail(const struct asking *a, enum bh_trail trail, uint32_t end)
{
    char name[PD_ENDS_TEXT_BYTES];

    pd_ends_format(&a->flow->id, name);
    pd_app_report_evidence(a->c->report, "%s does not get through: %s %u%s", name,
                           trail == BH_TRAIL_WAY ? "before it was stuck its probes came to switch"
                                                 : "its trace was answered by switch",
                           end,
                           trail == BH_TRAIL_ENDS ? ", and by none behind it"
                           : trail == BH_TRAIL_THROUGH
                               ? ", of its destination's rack: it is lost behind that, or on "
                                 "the way back"
                               : "");
}

/* Where a trace tells more than all paths between its racks: *ret_told. */
static int judge_trail(struct asking *a, bool *ret_told)
{
    uint32_t end;
    enum bh_trail trail = pd_blackhole_trail(a->c, a->flow, &end);

    *ret_told = trail == BH_TRAIL_THROUGH;
    if (trail == BH_TRAIL_ENDS || trail == BH_TRAIL_WAY) {
        struct bh_miss *miss =

            pd_blackhole_add_miss(a->c, a->flow, -1, 2 * a->flow->paths_len * PD_PATH_MAX);
        if (!miss) {
            return -ENOMEM;
        }
        miss->traced = *ret_told = pd_blackhole_add_trail(a->c, miss);
        if (!*ret_told) {
            free(miss->links);
            a->c->misses_len--;
        }
    }
    if (*ret_told) {
        tell_trail(a, trail, end);
        tell_host(a);
    }
    return 0;
}

/* All links of the paths that may be its own. */
static int judge_paths_between(struct asking *a)
{
    struct bh_case *c = a->c;
    const struct bh_path *own = own_path(a->flow);
    size_t candidates = 0;

    for (size_t i = 0; i < a->flow->paths_len; i++) {
        candidates += !a->flow->paths[i].healthy && (!own || own == &a->flow->paths[i]);
    }
    tell_stuck(a, candidates);
    tell_host(a);
    if (!candidates) {
        return 0;
    }
    struct bh_miss *miss = pd_blackhole_add_miss(c, a->flow, -1, a->flow->paths_len * PD_PATH_MAX);
    for (size_t i = 0; miss && i < a->flow->paths_len; i++) {
        if (!a->flow->paths[i].healthy && (!own || own == &a->flow->paths[i])) {
            pd_blackhole_add_links(miss, &a->flow->paths[i].path);
        }
    }
    return miss ? 0 : -ENOMEM;
}

int pd_blackhole_judge_single(struct bh_case *c, struct bh_flow *flow, struct pd_error *error)
{
    struct asking a = {.c = c, .flow = flow};
    bool told = false;
    int err = ask_sender(&a, error);

    if (err || !a.stuck) {
        return err;
    }
    err = ask_rack(&a, error);
    err = err ? err : pd_blackhole_ask_traces(c, error);
    if (err || c->misses_len >= BH_MISSES_MAX) {
        return err;
    }
    err = judge_trail(&a, &told);
    err = err || told ? err : judge_paths_between(&a);
    return err ? pd_fail(error, err, "blackhole: %s", pd_error_text(err)) : 0;
}
