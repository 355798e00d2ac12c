/* SPDX-License-Identifier: Apache-2.0 */
/* Whose connections raise POOR_PERF: those of this network, not those that watch it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/poor.h"

static struct pd_topology *topology;

static int set_up(void **state)
{
    (void)state;
    return pd_topology_fat_tree(4, &topology, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    pd_topology_free(topology);
    return 0;
}

static bool counts(const struct pd_agent_poor_filter *filter, const char *src, uint16_t src_port,
                   const char *dst, uint16_t dst_port)
{
    struct pd_flow_id flow = {.src_port = src_port, .dst_port = dst_port, .protocol = 6};

    assert_int_equal(pd_addr_parse(src, &flow.src, &flow.ip_version), 0);
    assert_int_equal(pd_addr_parse(dst, &flow.dst, &flow.ip_version), 0);
    return pd_agent_poor_counts(filter, &flow);
}

static void between_addresses_of_the_topology(void **state)
{
    const struct pd_agent_poor_filter ours = {.topology = topology},
                                      all = {.topology = topology, .all = true};

    (void)state;
    assert_true(counts(&ours, "10.1.1.2", 40000, "10.2.1.2", 80));
    assert_false(counts(&ours, "10.1.1.2", 40000, "192.0.2.1", 80));
    assert_false(counts(&ours, "192.0.2.1", 40000, "10.1.1.2", 80));
    assert_false(counts(&ours, "127.0.0.1", 40000, "127.0.0.1", 80));
    assert_false(counts(&ours, "::1", 40000, "::1", 80));
    assert_true(counts(&all, "127.0.0.1", 40000, "127.0.0.1", 80));
}

static void never_what_watches_it(void **state)
{
    struct pd_agent_poor_filter filter = {.topology = topology, .own_ports = {7411, 7412}};

    (void)state;
    assert_true(counts(&filter, "10.1.1.2", 40000, "10.2.1.2", 80));
    assert_false(counts(&filter, "10.1.1.2", 7411, "10.2.1.2", 40000));
    assert_false(counts(&filter, "10.1.1.2", 40000, "10.2.1.2", 7411));
    assert_false(counts(&filter, "10.1.1.2", 40000, "10.2.1.2", 7412));
    filter.all = true;
    assert_false(counts(&filter, "127.0.0.1", 40000, "127.0.0.1", 7412));
    filter.own_ports[0] = filter.own_ports[1] = 0;
    assert_true(counts(&filter, "127.0.0.1", 0, "127.0.0.1", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(between_addresses_of_the_topology),
        cmocka_unit_test(never_what_watches_it),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
