/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of scenarios: what is read, on which links they are, whom they take, and how often. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/net.h"

#define PACKETS 200000

static struct pd_sim_scenario scenario_with(const char *faults)
{
    struct pd_sim_scenario scenario;
    struct pd_error error = {0};
    char json[600];

    snprintf(json, sizeof json, "{\"topology\":{\"fat_tree\":4},\"faults\":[%s]}", faults);
    if (pd_sim_scenario_parse(json, strlen(json), "x.json", false, &scenario, &error)) {
        fail_msg("%s: %s", faults, error.text);
    }
    return scenario;
}

/* 10.1.1.2 to 10.2.1.2 or so. */
static struct pd_flow_id flow_to(uint8_t pod, uint16_t port)
{
    return (struct pd_flow_id){.src = {{10, 1, 1, 2}},
                               .dst = {{10, pod, 1, 2}},
                               .src_port = port,
                               .dst_port = 80,
                               .protocol = 6,
                               .ip_version = 4};
}

static uint32_t link_of(const struct pd_topology *topology, const char *text)
{
    uint32_t link, len;

    assert_int_equal(pd_topology_links_parse(topology, text, &link, &len), 0);
    return link;
}

static uint32_t count_drops(struct pd_sim_net *net, const char *link, const struct pd_flow_id *flow)
{
    struct pd_sim_random random;
    uint32_t number = link_of(net->topology, link), drops = 0;

    random = (struct pd_sim_random){.state = 7};
    for (int i = 0; i < PACKETS; i++) {
        drops += pd_sim_net_drops(net, number, flow, &random);
    }
    return drops;
}

static bool is_near(uint32_t drops, double loss, double slack)
{
    return drops >= PACKETS * loss * (1 - slack) && drops <= PACKETS * loss * (1 + slack);
}

static struct pd_sim_net net_of(const struct pd_sim_scenario *scenario, double now_s)
{
    struct pd_sim_net net;
    struct pd_error error;

    assert_int_equal(pd_sim_net_init(scenario->topology, &net, &error), 0);
    assert_int_equal(pd_sim_net_faults(&net, scenario, now_s), 0);
    return net;
}

static void a_hosts_link_loses_in_its_direction(void **state)
{
    struct pd_sim_scenario scenario = scenario_with("{\"link\":\"21-1\",\"loss\":0.1}");
    struct pd_sim_net net = net_of(&scenario, 0);
    struct pd_flow_id flow = flow_to(2, 1000);

    (void)state;
    assert_true(is_near(count_drops(&net, "21-1", &flow), 0.1, 0.1));
    assert_int_equal(count_drops(&net, "1-21", &flow), 0);
    pd_sim_net_done(&net);
    pd_sim_scenario_done(&scenario);
}

/* Whatever way a packet takes through it, it is at risk once. */
static void a_switch_takes_each_packet_once(void **state)
{
    struct pd_sim_scenario scenario = scenario_with("{\"switch\":1,\"loss\":0.25}");
    struct pd_sim_net net = net_of(&scenario, 0);
    const uint32_t hosts[][2] = {{0, 1}, {0, 12}, {12, 0}};
    struct pd_flow_id flow = flow_to(2, 1000);

    (void)state;
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        struct pd_sim_net_route route;
        struct pd_sim_random random;

        random = (struct pd_sim_random){.state = i};
        pd_sim_net_route(&net, hosts[i][0], hosts[i][1], 1, &random, &route);
        assert_true(pd_sim_net_rate(&net, &route, &flow) > 0.2499);
        assert_true(pd_sim_net_rate(&net, &route, &flow) < 0.2501);
    }
    pd_sim_net_done(&net);
    pd_sim_scenario_done(&scenario);
}

static void prefixes_and_hashes_choose(void **state)
{
    struct pd_sim_scenario scenario =
        scenario_with("{\"link\":\"9-17\",\"blackhole\":true,\"prefix\":\"10.2.1.0/24\"},"
                      "{\"link\":\"17-11\",\"blackhole\":true,\"hash\":[0,16383]}");
    struct pd_sim_net net = net_of(&scenario, 0);
    struct pd_sim_random random;
    uint32_t hit = 0;

    (void)state;
    random = (struct pd_sim_random){.state = 1};
    for (uint16_t port = 1000; port < 5000; port++) {
        struct pd_flow_id to_2 = flow_to(2, port), to_3 = flow_to(3, port);

        assert_true(pd_sim_net_drops(&net, link_of(net.topology, "9-17"), &to_2, &random));
        assert_false(pd_sim_net_drops(&net, link_of(net.topology, "9-17"), &to_3, &random));
        hit += pd_sim_net_drops(&net, link_of(net.topology, "17-11"), &to_2, &random);
    }
    assert_in_range(hit, 900, 1100); /* a quarter of the flows, each of them always */
    pd_sim_net_done(&net);
    pd_sim_scenario_done(&scenario);
}

static void bursts_are_as_long_as_said(void **state)
{
    struct pd_sim_scenario scenario =
        scenario_with("{\"link\":\"9-17\",\"loss\":0.05,\"burst\":{\"mean_pkts\":20}}");
    struct pd_sim_net net = net_of(&scenario, 0);
    struct pd_flow_id flow = flow_to(2, 1000);
    struct pd_sim_random random;
    uint32_t link = link_of(net.topology, "9-17"), lost = 0, bursts = 0;
    bool before = false;

    (void)state;
    random = (struct pd_sim_random){.state = 3};
    for (int i = 0; i < 10 * PACKETS; i++) {
        bool now = pd_sim_net_drops(&net, link, &flow, &random);

        lost += now;
        bursts += now && !before;
        before = now;
    }
    assert_true(is_near(lost / 10, 0.05, 0.1));
    assert_in_range(10 * lost / bursts, 180, 220);
    pd_sim_net_done(&net);
    pd_sim_scenario_done(&scenario);
}

static void faults_begin_and_end(void **state)
{
    struct pd_sim_scenario scenario =
        scenario_with("{\"link\":\"9-17\",\"loss\":1,\"start_s\":1,\"end_s\":3},"
                      "{\"link\":\"9-17\",\"loss\":0.5,\"start_s\":2}");
    const struct {
        double at_s, loss;
    } times[] = {{0, 0}, {1, 1}, {2.5, 1}, {3, 0.5}, {100, 0.5}};
    struct pd_sim_net net = net_of(&scenario, 0);
    uint32_t link = link_of(net.topology, "9-17");

    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        assert_int_equal(pd_sim_net_faults(&net, &scenario, times[i].at_s), 0);
        assert_true(net.loss[link] == times[i].loss);
    }
    pd_sim_net_done(&net);
    pd_sim_scenario_done(&scenario);
}

static void a_card_is_both_directions_of_its_ports(void **state)
{
    static const char json[] =
        "{\"nodes\":[{\"id\":1,\"role\":\"switch\"},{\"id\":2,\"role\":\"switch\"},{\"id\":3,"
        "\"role\":\"switch\"}],\"links\":[{\"source\":1,\"target\":2,\"source_card\":4},"
        "{\"source\":3,\"target\":1,\"target_card\":5}]}";
    struct pd_topology *topology;
    struct pd_error error;
    struct pd_sim_fault fault = {0};
    json_t *object = json_loads("{\"switch\":1,\"card\":5,\"loss\":0.5}", 0, NULL);
    json_t *none = json_loads("{\"switch\":1,\"card\":6,\"loss\":0.5}", 0, NULL);

    (void)state;
    assert_int_equal(pd_topology_parse(json, strlen(json), "x", &topology, &error), 0);
    assert_int_equal(pd_sim_fault_read(topology, object, &fault, &error), 0);
    assert_int_equal(fault.links_len, 2);
    assert_int_equal(fault.links[0], link_of(topology, "1-3"));
    assert_int_equal(fault.links[1], link_of(topology, "3-1"));
    pd_sim_fault_done(&fault);
    assert_true(pd_sim_fault_read(topology, none, &fault, &error) < 0);
    assert_non_null(strstr(error.text, "no port"));
    pd_sim_fault_done(&fault);
    json_decref(object);
    json_decref(none);
    pd_topology_free(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hosts_link_loses_in_its_direction),
        cmocka_unit_test(a_switch_takes_each_packet_once),
        cmocka_unit_test(prefixes_and_hashes_choose),
        cmocka_unit_test(bursts_are_as_long_as_said),
        cmocka_unit_test(faults_begin_and_end),
        cmocka_unit_test(a_card_is_both_directions_of_its_ports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
