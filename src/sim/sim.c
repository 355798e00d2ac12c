/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator's clockwork: period after period, and what agents would tell of each. */
#include "sim/sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "sim/epoch.h"
#include "sim/levels.h"
#include "sim/probes.h"

struct run {
    struct pd_sim_world world;
    const struct pd_sim_level_ops *ops;
    void *level;
    struct pd_sim_probes *probes; /* NULL: there are none */
    struct pd_evidence_way *ways;
    struct pd_evidence_row *rows;
    struct pd_sim_sender *senders;
    struct pd_sim_ended *ended;
    struct pd_sim_column *columns; /* as many as ways, where there are digests */
    size_t ways_room, rows_room, senders_room, ended_room, columns_room;
};

static void run_done(struct run *run)
{
    if (run->level) {
        run->ops->free(run->level);
    }
    pd_sim_probes_free(run->probes);
    pd_sim_meters_free(run->world.meters);
    pd_sim_flows_done(&run->world.flows);
    pd_sim_net_done(&run->world.net);
    free(run->ways);
    free(run->rows);
    free(run->senders);
    free(run->ended);
    free(run->columns);
    pd_sim_digests_free(run->world.digests);
}

static int run_init(struct run *run, const struct pd_sim_scenario *scenario, uint64_t seed,
                    struct pd_error *error)
{
    *run = (struct run){.ops = scenario->level == PD_SIM_PACKETS ? &pd_sim_packet_level
                                                                 : &pd_sim_flow_level};
    run->world.scenario = scenario;
    run->world.meters = NULL;
    run->world.digests = NULL;
    run->world.random.state = seed;
    int err = pd_sim_net_init(scenario->topology, &run->world.net, error);
    if (err) {
        return err;
    }
    err = pd_sim_flows_init(&run->world.flows, scenario, &run->world.net, &run->world.random,
                            run->ops->flow_bytes);
    if (!err) {
        err = run->ops->new (&run->world, &run->level);
    }
    err = err ? err : pd_sim_meters_new(scenario, seed, &run->world.meters);
    if (!err && scenario->plan) {
        err = pd_sim_digests_new(scenario, &run->world.flows, &run->world.digests);
    }
    return err ? pd_fail(error, err, "no memory")
               : pd_sim_probes_new(scenario, seed, &run->probes, error);
}

/* ---- a period's slices */

static int reserve(struct run *run, size_t more)
{
    size_t rows_len = run->world.flows.order_len + 1;
    size_t ways_len = rows_len * run->world.flows.routes_max;

    rows_len += more;
    if (PD_GROW(run->rows, run->rows_room, rows_len) ||
        PD_GROW(run->senders, run->senders_room, rows_len) ||
        PD_GROW(run->ways, run->ways_room, ways_len) ||
        (run->world.digests && PD_GROW(run->columns, run->columns_room, ways_len))) {
        return -ENOMEM;
    }
    return 0;
}

/* Whether the first of it arrives, on its only path; before its slice is emptied. */
static bool begins(const struct pd_sim_flow *flow)
{
    return flow->routes_len == 1 && flow->routes[0].pkts && !flow->routes[0].seen;
}

/* The paths of a flow with what arrived on each; its slice is empty afterwards. */
static size_t take_ways(struct run *run, uint32_t place, struct pd_evidence_way *ways)
{
    struct pd_sim_flow *flow = &run->world.flows.table[place];
    size_t len = 0;
    for (uint32_t r = 0; r < flow->routes_len; r++) {
        struct pd_sim_route *route = &flow->routes[r];
        route->seen |= route->pkts > 0;
        if (!route->pkts && !(flow->retransmissions && route->seen)) {
            continue;
        }
        if (run->world.digests) {
            struct pd_sim_column *column = &run->columns[ways + len - run->ways];
            column->len = pd_sim_digests_column(run->world.digests, place, r, flow, &column->bytes);
        }
        ways[len++] = (struct pd_evidence_way){
            .nodes = route->route.path.switches,
            .nodes_len = route->route.path.len,
            .reached = true,
            .origin = PD_EVIDENCE_FROM_TAGS,
            .pkts = route->pkts,
            .bytes = route->pkts * PD_SIM_MTU_BYTES,
        };
        route->pkts = 0;
    }
    return len;
}

static struct pd_evidence_row make_row(const struct pd_sim_flow *flow,
                                       const struct pd_evidence_way *ways, size_t len)
{
    struct pd_evidence_row row = {.kind = PD_EVIDENCE_FLOW,
                                  .flow = flow->id,
                                  .lost = flow->retransmissions,
                                  .ways = ways,
                                  .ways_len = len};
    for (size_t i = 0; i < len; i++) {
        row.pkts += ways[i].pkts;
    }
    return row;
}

/* As agents do: again at most once a second. */
static bool raises_alarm(const struct run *run, struct pd_sim_flow *flow, uint64_t now_us)
{
    if (flow->retransmissions < run->world.scenario->alarm_retransmissions ||
        (flow->alarm_us && now_us - flow->alarm_us < PD_SIM_ALARM_GAP_US)) {
        return false;
    }
    flow->alarm_us = now_us;
    return true;
}

static void look_at_sender(const struct run *run, const struct pd_sim_flow *flow,
                           struct pd_sim_sender *ret_sender)
{
    *ret_sender = (struct pd_sim_sender){
        .flow = flow->id,
        .host = flow->src,
        .live = flow->live,
        .opened_us = flow->start_us,
        .retransmissions = flow->retransmissions,
        .total_retransmissions = flow->total_retransmissions,
        .acked_pkts = flow->acked_pkts,
        .consecutive = flow->consecutive,
        .timeouts = flow->timeouts,
    };
    run->ops->look(run->level, flow, ret_sender);
}

/* One packet after the other over an empty route, and the last acknowledgement back. */
static double alone_ns(const struct run *run, const struct pd_sim_flow *flow)
{
    const struct pd_sim_scenario *scenario = run->world.scenario;
    const struct pd_sim_net_route *route = &flow->routes[0].route;
    double way_ns = 0, slowest_ns = 0;

    for (uint32_t i = 0; i < route->links_len; i++) {
        double byte_ns =
            8e3 / pd_sim_net_mbps(&run->world.net, route->links[i], scenario->link_mbps);
        double packet_ns = PD_SIM_MTU_BYTES * byte_ns;

        slowest_ns = packet_ns > slowest_ns ? packet_ns : slowest_ns;
        way_ns += packet_ns + 2.0 * scenario->transport.hop_ns +
                  (scenario->transport.roomy ? PD_SIM_ACK_BYTES * byte_ns : 0);
    }
    return way_ns + slowest_ns * (double)(flow->total_pkts - 1);
}

static int take_ended(struct run *run, struct pd_sim_period *period)
{
    const struct pd_sim_flows *flows = &run->world.flows;
    size_t len = 0;

    for (uint32_t i = 0; i < flows->order_len; i++) {
        const struct pd_sim_flow *flow = &flows->table[flows->order[i]];
        if (flow->live || !flow->ended_ns) {
            continue;
        }
        if (PD_GROW(run->ended, run->ended_room, len + 1)) {
            return -ENOMEM;
        }
        run->ended[len++] = (struct pd_sim_ended){.flow = flow->id,
                                                  .bytes = flow->total_pkts * PD_SIM_MSS_BYTES,
                                                  .begun_ns = flow->begun_ns,
                                                  .took_ns = flow->ended_ns - flow->begun_ns,
                                                  .alone_ns = (uint64_t)alone_ns(run, flow),
                                                  .has_digests = run->world.digests};
        if (run->world.digests) {
            run->ended[len - 1].told =
                pd_sim_digests_told(run->world.digests, flows->order[i], flow);
        }
    }
    period->ended = run->ended;
    period->ended_len = len;
    return 0;
}

static int end_period(struct run *run, double from_s, pd_sim_visit *visit, void *context)
{
    struct pd_sim_flows *flows = &run->world.flows;
    struct pd_sim_totals *totals = &run->world.totals;
    struct pd_sim_period period = {.from_us = (uint64_t)(from_s * 1e6),
                                   .to_us = (uint64_t)(totals->now_s * 1e6),
                                   .totals = totals};
    const struct pd_evidence_row *probed = NULL, *metered = NULL;
    size_t ways_len = 0, len = 0, probed_len = 0, metered_len = 0;
    int err = run->probes ? pd_sim_probes_rows(run->probes, &probed, &probed_len, &period.anew) : 0;
    err = err ? err : pd_sim_meters_rows(run->world.meters, &metered, &metered_len);
    err = err ? err : take_ended(run, &period);
    if (err || reserve(run, probed_len + metered_len)) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < flows->order_len; i++) {
        struct pd_sim_flow *flow = &flows->table[flows->order[i]];
        struct pd_evidence_way *ways = &run->ways[ways_len];
        bool began = begins(flow);
        size_t n = take_ways(run, flows->order[i], ways);
        if (!n && !flow->retransmissions) {
            continue;
        }
        flow->total_retransmissions += flow->retransmissions;
        look_at_sender(run, flow, &run->senders[len]);
        run->senders[len].alarm = raises_alarm(run, flow, period.to_us);
        totals->alarms += run->senders[len].alarm;
        run->rows[len] = make_row(flow, ways, n);
        run->rows[len++].began = began;
        ways_len += n;
        flow->retransmissions = 0;
    }
    totals->flows = flows->started;
    totals->refused = flows->refused;
    period.flows = run->rows;
    period.ways = run->ways;
    period.columns = run->world.digests ? run->columns : NULL;
    period.senders = run->senders;
    period.flows_len = len;
    period.rows_len = len + probed_len + metered_len;
    if (probed_len) {
        memcpy(run->rows + len, probed, probed_len * sizeof *probed);
    }
    if (metered_len) {
        memcpy(run->rows + len + probed_len, metered, metered_len * sizeof *metered);
    }
    totals->values_lost = run->world.digests ? pd_sim_digests_lost(run->world.digests) : 0;
    err = visit(context, &period);
    if (run->world.digests) {
        pd_sim_digests_clear(run->world.digests);
    }
    pd_sim_flows_sweep(flows);
    return err;
}

int pd_sim_run(const struct pd_sim_scenario *scenario, uint64_t seed, pd_sim_visit *visit,
               void *context, struct pd_sim_totals *ret_totals, struct pd_error *error)
{
    if (scenario->level == PD_SIM_EPOCHS) {
        return pd_sim_epochs_run(scenario, seed, visit, context, ret_totals, error);
    }
    struct run run;
    struct pd_sim_totals *totals = &run.world.totals;
    int err = run_init(&run, scenario, seed, error);
    double period_s = (double)scenario->period_ms / 1e3;
    for (uint64_t period = 1; !err && totals->now_s < scenario->duration_s; period++) {
        double from_s = totals->now_s, until_s = (double)period * period_s;
        if (until_s > scenario->duration_s) {
            until_s = scenario->duration_s;
        }
        err = pd_sim_net_faults(&run.world.net, scenario, from_s);
        if (!err) {
            err = run.ops->advance(run.level, until_s);
        }
        if (!err && run.probes) {
            err = pd_sim_probes_advance(run.probes, &run.world.net, until_s);
        }
        totals->now_s = until_s;
        if (!err) {
            err = end_period(&run, from_s, visit, context);
        }
        if (err == -ENOMEM) {
            pd_fail(error, err, "no memory");
        }
    }
    if (!err) {
        *ret_totals = *totals;
    }
    run_done(&run);
    return err;
}
