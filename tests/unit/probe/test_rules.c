/* SPDX-License-Identifier: Apache-2.0 */
/* Flows of a plan: a probe that follows them takes its path, and ends at a host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "probe/carrier.h"
#include "probe/rules.h"

enum { SWITCHES = 64 };

static char *flows[SWITCHES];

static void print_flows(const struct pd_topology *topology, const struct pd_plan *plan)
{
    for (uint32_t s = 0; s < topology->switches_len; s++) {
        size_t bytes;
        FILE *out = open_memstream(&flows[s], &bytes);
        assert_non_null(out);
        assert_int_equal(pd_probe_rules_openflow(topology, plan, s, out, NULL), 0);
        fclose(out);
    }
}

/* The port that the flow of IPv4 which has this match sends to; there is exactly one. */
static unsigned find_output(uint32_t sw, const char *field, unsigned value, unsigned in_port)
{
    char match[64];
    unsigned port = 0;
    snprintf(match, sizeof match, ",udp,%s=%u,tp_dst=2222,actions=", field, value);
    const char *at = strstr(flows[sw], match);
    assert_non_null(at);
    assert_null(strstr(at + 1, match));
    at += strlen(match);
    return sscanf(at, "output:%u", &port) == 1 ? port : in_port;
}

static void a_probe_that_follows_the_flows_takes_its_path(void **state)
{
    struct pd_topology *topology;
    struct pd_plan plan;
    (void)state;
    assert_int_equal(pd_topology_fat_tree(4, &topology, NULL), 0);
    struct pd_plan_request request = {
        .topology = topology, .mode = PD_PLAN_DIRECTIONS, .max_hops = 12};
    assert_int_equal(pd_plan_make(&request, &plan), 0);
    print_flows(topology, &plan);
    for (uint32_t n = 0; n < plan.paths.len; n++) {
        const uint32_t *nodes = pd_plan_path_nodes(&plan.paths, n);
        uint32_t hops = plan.paths.paths[n].hops;
        unsigned out = find_output(nodes[0], "tp_src", pd_probe_carrier_port(n), 0);
        for (uint32_t i = 0; i < hops; i++) {
            assert_int_equal(pd_topology_link(topology, nodes[i], nodes[i + 1])->port, out);
            unsigned in = pd_topology_link(topology, nodes[i + 1], nodes[i])->port;
            out = find_output(nodes[i + 1], "in_port", in, in);
        }
        const struct pd_switch *last = &topology->switches[nodes[hops]];
        assert_int_equal(last->neighbours[last->switch_neighbours].port, out);
    }
    for (uint32_t s = 0; s < topology->switches_len; s++) {
        free(flows[s]);
    }
    pd_plan_done(&plan);
    pd_topology_free(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_probe_that_follows_the_flows_takes_its_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
