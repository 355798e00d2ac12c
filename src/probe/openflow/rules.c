/* SPDX-License-Identifier: Apache-2.0 */
/* openflow: the ways of a plan as flows of OpenFlow 1.3, one a line. */
#include <inttypes.h>

#include "probe/carrier.h"
#include "probe/rules.h"

/* A cookie of their own, so that they go without the tagging rules. From a switch's port one flow
 * tells where to; probes of hosts are told apart by their UDP source port, below these. */

#define COOKIE "0x7064505200000000"

enum { PRIORITY_PASS = 60001, PRIORITY_BEGIN = 60000, PATHS_MAX = 16384 };

struct flow {
    uint16_t in_port; /* 0: from a host */
    uint16_t out_port;
    uint16_t udp_src;
};

static void print_action(const struct flow *flow, FILE *out)
{
    if (flow->in_port == flow->out_port) {
        fprintf(out, "actions=in_port\n");
    } else {
        fprintf(out, "actions=output:%u\n", flow->out_port);
    }
}

static void print_flow(const struct flow *flow, FILE *out)
{
    static const char *const protocols[] = {"udp", "udp6"};
    for (int i = 0; i < 2; i++) {
        fprintf(out, "cookie=" COOKIE ",table=0,priority=%d,%s,",
                flow->in_port ? PRIORITY_PASS : PRIORITY_BEGIN, protocols[i]);
        if (flow->in_port) {
            fprintf(out, "in_port=%u,", flow->in_port);
        } else {
            fprintf(out, "tp_src=%u,", flow->udp_src);
        }
        fprintf(out, "tp_dst=%d,", PD_TELEMETRY_PORT);
        print_action(flow, out);
    }
}

/* Port of the first host of the switch, 0: it has none. */
static uint16_t host_port(const struct pd_switch *sw)
{
    return sw->switch_neighbours < sw->neighbours_len ? sw->neighbours[sw->switch_neighbours].port
                                                      : 0;
}

/* What the switch does at place `i` of a path. */
static int print_place(const struct pd_topology *topology, const uint32_t *nodes, uint32_t i,
                       uint32_t hops, uint32_t number, FILE *out, struct pd_error *error)
{
    const struct pd_switch *sw = &topology->switches[nodes[i]];
    struct flow flow = {.udp_src = pd_probe_carrier_port(number)};
    if (i) {
        flow.in_port = pd_topology_link(topology, nodes[i], nodes[i - 1])->port;
    }
    flow.out_port =
        i < hops ? pd_topology_link(topology, nodes[i], nodes[i + 1])->port : host_port(sw);
    if (!flow.out_port) {
        return pd_fail(error, -PD_E_VALUE, "switch %u has no host in the topology", sw->id);
    }
    print_flow(&flow, out);
    return 0;
}

/* Paths name switches, so that two links between the same two are one to them. */
static bool has_parallel(const struct pd_switch *sw)
{
    for (uint32_t i = 0; i < sw->switch_neighbours; i++) {
        if (sw->neighbours[i].parallel > 1) {
            return true;
        }
    }
    return false;
}

int pd_probe_rules_openflow(const struct pd_topology *topology, const struct pd_plan *plan,
                            uint32_t sw, FILE *out, struct pd_error *error)
{
    if (plan->repeated_len || plan->paths.len > PATHS_MAX) {
        return pd_fail(error, -PD_E_VALUE,
                       "a static way needs a plan without repetitions, of at most %d paths",
                       PATHS_MAX);
    }
    if (has_parallel(&topology->switches[sw])) {
        return pd_fail(error, -PD_E_VALUE, "switch %u has parallel links, which paths do not tell",
                       topology->switches[sw].id);
    }
    int err = 0;
    for (uint32_t n = 0; !err && n < plan->paths.len; n++) {
        const uint32_t *nodes = pd_plan_path_nodes(&plan->paths, n);
        uint32_t hops = plan->paths.paths[n].hops;
        for (uint32_t i = 0; !err && i <= hops; i++) {
            if (nodes[i] == sw) {
                err = print_place(topology, nodes, i, hops, n, out, error);
            }
        }
    }
    return err;
}
