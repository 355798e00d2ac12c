/* SPDX-License-Identifier: Apache-2.0 */
/* The localiser `evidence`: finds what loses, says certain only when it may, forgets what was
 * repaired, is not taken in by queues. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/localise/flows.h"

struct rig {
    struct pd_topology *topology;
    struct pd_localiser *localiser;
    struct flows flows;
    struct random random;
    struct pd_verdict verdict;
};

static struct rig *rig_new(uint64_t seed)
{
    struct rig *rig = calloc(1, sizeof *rig);
    rig->random.state = seed;
    assert_int_equal(pd_topology_fat_tree(4, &rig->topology, NULL), 0);
    struct pd_localiser_config config = {
        .topology = rig->topology, .link_mbps = 1000, .period_us = 200000};
    assert_int_equal(pd_localiser_new(pd_localiser_find("evidence"), &config, &rig->localiser), 0);
    return rig;
}

static void rig_free(struct rig *rig)
{
    pd_localiser_free(rig->localiser);
    pd_topology_free(rig->topology);
    free(rig);
}

/* A period of 150 flows with 300 packets each: 0.15 Gb/s on a link. */
static void run_period(struct rig *rig, uint32_t from, uint32_t to, double loss)
{
    for (rig->flows.len = 0; rig->flows.len < 150;) {
        add_flow(&rig->flows, &rig->random, from, to, loss, 300);
    }
    assert_int_equal(observe_flows(rig->localiser, &rig->flows), 0);
    assert_int_equal(pd_localiser_locate(rig->localiser, &rig->verdict), 0);
}

/* Any single link of the network, both directions: found, for certain, and never another one for
 * certain. */
static void each_link_is_found(void **state)
{
    struct rig *probe = rig_new(test_seed());
    (void)state;
    for (uint32_t i = 0; i < probe->topology->switches_len; i++) {
        for (uint32_t n = 0; n < probe->topology->switches[i].switch_neighbours; n++) {
            struct rig *rig = rig_new(random_next(&probe->random));
            uint32_t from = probe->topology->switches[i].id;
            uint32_t to =
                probe->topology->switches[probe->topology->switches[i].neighbours[n].node].id;
            for (int period = 0; period < 30; period++) {
                run_period(rig, from, to, 0.02);
                assert_true(!rig->verdict.certain ||
                            (rig->verdict.links_len == 1 && names(&rig->verdict, from, to)));
            }
            assert_true(rig->verdict.certain);
            assert_true(rig->verdict.confidence > 0.99);
            assert_true(rig->verdict.links[0].loss > 0.01 && rig->verdict.links[0].loss < 0.03);
            rig_free(rig);
        }
    }
    rig_free(probe);
}

/* One look cannot tell a burst from a fault, however many flows suffer in it. */
static void a_single_look_is_never_certain(void **state)
{
    struct rig *rig = rig_new(test_seed());
    (void)state;
    run_period(rig, 9, 17, 0.2);
    assert_true(names(&rig->verdict, 9, 17));
    assert_false(rig->verdict.certain);
    rig_free(rig);
}

/* A repaired link is no longer named, and one that becomes faulty later is. */
static void what_changes_is_followed(void **state)
{
    struct rig *rig = rig_new(test_seed());
    (void)state;
    for (int period = 0; period < 40; period++) {
        run_period(rig, 9, 17, 0.03);
    }
    assert_true(rig->verdict.certain && names(&rig->verdict, 9, 17));
    for (int period = 0; period < 1000; period++) {
        run_period(rig, 18, 13, 0.03);
    }
    assert_true(names(&rig->verdict, 18, 13));
    assert_false(names(&rig->verdict, 9, 17));
    rig_free(rig);
}

/* A link that stops to drop packets is given up within seconds, however long it did. */
static void a_repaired_link_is_given_up(void **state)
{
    struct rig *rig = rig_new(test_seed());
    (void)state;
    for (int period = 0; period < 300; period++) {
        run_period(rig, 9, 17, 0.03);
    }
    assert_true(rig->verdict.certain && names(&rig->verdict, 9, 17));
    for (int period = 0; period < 30; period++) {
        run_period(rig, 9, 17, 0);
    }
    assert_false(rig->verdict.certain);
    assert_false(names(&rig->verdict, 9, 17));
    rig_free(rig);
}

/* All that a switch sends is lost at one rate: it is named, in the place of its links. */
static void a_switch_is_one_fault(void **state)
{
    struct rig *rig = rig_new(test_seed());
    (void)state;
    for (int period = 0; period < 40; period++) {
        run_period(rig, 17, 0, 0.02);
        assert_true(!rig->verdict.certain || rig->verdict.links_len == 4);
    }
    json_t *answer = pd_localiser_answer(rig->localiser, 0);
    const json_t *faults = json_object_get(answer, "faults"), *fault = json_array_get(faults, 0);
    assert_true(rig->verdict.certain);
    assert_int_equal(json_array_size(faults), 1);
    assert_string_equal(json_string_value(json_object_get(answer, "kind")), "switch");
    assert_string_equal(json_string_value(json_array_get(json_object_get(fault, "what"), 0)), "17");
    assert_true(json_real_value(json_object_get(fault, "loss")) > 0.015);
    json_decref(answer);
    rig_free(rig);
}

/* Estimates waver, and old evidence fades: neither takes certainty back. */
static void what_is_certain_stays(void **state)
{
    struct rig *rig = rig_new(test_seed());
    bool certain = false;
    (void)state;
    for (int period = 0; period < 500; period++) {
        run_period(rig, 12, 20, 0.002);
        assert_true(rig->verdict.certain || !certain);
        certain |= rig->verdict.certain;
    }
    assert_true(certain && names(&rig->verdict, 12, 20));
    rig_free(rig);
}

/* Losses of one host's flows, wherever they come from, are its own link's: no link between switches
 * is named, and nothing else for certain. */
static void a_slow_host_is_no_faulty_link(void **state)
{
    struct rig *rig = rig_new(test_seed());
    struct pd_addr host = host_addr(5);
    (void)state;
    for (int period = 0; period < 40; period++) {
        for (rig->flows.len = 0; rig->flows.len < 150;) {
            struct pd_evidence_row *row = add_flow(&rig->flows, &rig->random, 0, 0, 0, 300);
            if (!memcmp(&row->flow.dst, &host, sizeof host)) {
                row->lost = random_below(&rig->random, 20);
            }
        }
        assert_int_equal(observe_flows(rig->localiser, &rig->flows), 0);
        assert_int_equal(pd_localiser_locate(rig->localiser, &rig->verdict), 0);
        for (size_t i = 0; i < rig->verdict.links_len; i++) {
            assert_int_equal(rig->verdict.links[i].to, 26);
        }
    }
    assert_true(names(&rig->verdict, 3, 26));
    json_t *answer = pd_localiser_answer(rig->localiser, 0);
    assert_string_equal(json_string_value(json_object_get(answer, "kind")), "host");
    json_decref(answer);
    rig_free(rig);
}

/* Losses where a link is full are not held against it. */
static void a_full_queue_is_no_faulty_link(void **state)
{
    struct rig *rig = rig_new(test_seed());
    (void)state;
    for (int period = 0; period < 30; period++) {
        for (rig->flows.len = 0; rig->flows.len < 150;) {
            add_flow(&rig->flows, &rig->random, 9, 17, 0.05, 2500);
        }
        assert_int_equal(observe_flows(rig->localiser, &rig->flows), 0);
        assert_int_equal(pd_localiser_locate(rig->localiser, &rig->verdict), 0);
        assert_false(rig->verdict.certain);
    }
    assert_true(rig->localiser->counters.congested > 0);
    rig_free(rig);
}

/* A flow from rack 5 to rack 1, its packets over four paths; 14-19 loses some, and what arrives
 * over it is less. `weights`: shares of the paths, of 8. */
static void add_sprayed(struct rig *rig, const uint64_t weights[4], double loss)
{
    static const uint32_t paths[4][5] = {
        {5, 13, 17, 9, 1}, {5, 13, 18, 9, 1}, {5, 14, 19, 10, 1}, {5, 14, 20, 10, 1}};
    struct flows *flows = &rig->flows;
    size_t first = flows->len;
    uint64_t lost = 0, pkts = 0;

    for (int w = 0; w < 4; w++, flows->len++) {
        struct pd_path *path = &flows->paths[flows->len];
        uint64_t here = 0;

        path->len = 5;
        memcpy(path->switches, paths[w], sizeof paths[w]);
        for (uint64_t p = 0; p < 100 * weights[w]; p++) {
            bool gone = w == 2 && (double)random_below(&rig->random, 1000000) < loss * 1e6;
            here += !gone;
            lost += gone;
        }
        flows->ways[flows->len] = way_of(path, here);
        pkts += here;
    }
    flows->rows[first / 4] = (struct pd_evidence_row){.kind = PD_EVIDENCE_FLOW,
                                                      .pkts = pkts,
                                                      .lost = lost,
                                                      .ways = &flows->ways[first],
                                                      .ways_len = 4};
    flows->rows[first / 4].flow.src = host_addr(8);
    flows->rows[first / 4].flow.dst = host_addr(0);
    flows->rows[first / 4].flow.ip_version = 4;
}

/* Beside flows that take one path each. */
static void observe_sprayed(struct rig *rig, const uint64_t weights[4], double loss)
{
    for (rig->flows.len = 0; rig->flows.len < 32;) {
        add_sprayed(rig, weights, loss);
    }
    rig->flows.len /= 4;
    assert_int_equal(observe_flows(rig->localiser, &rig->flows), 0);
    for (rig->flows.len = 0; rig->flows.len < 150;) {
        add_flow(&rig->flows, &rig->random, 14, 19, loss, 300);
    }
    struct pd_evidence_period others = period_of(&rig->flows);
    others.continues = true;
    assert_int_equal(pd_localiser_observe(rig->localiser, &others), 0);
    assert_int_equal(pd_localiser_locate(rig->localiser, &rig->verdict), 0);
}

/* Where packets are spread evenly, what did not arrive tells which path lost them. */
static void sprayed_flows_name_the_link(void **state)
{
    static const uint64_t even[4] = {2, 2, 2, 2};
    struct rig *rig = rig_new(test_seed());
    (void)state;
    for (int period = 0; period < 60; period++) {
        observe_sprayed(rig, even, 0.08);
    }
    assert_int_equal(rig->verdict.links_len, 1);
    assert_true(names(&rig->verdict, 14, 19));
    assert_true(rig->localiser->counters.spread > 0);
    rig_free(rig);
}

/* In other shares nobody knows which path lost packets: whatever is named, it is not certain. */
static void uneven_shares_keep_doubt(void **state)
{
    static const uint64_t uneven[4] = {1, 1, 4, 2};
    struct rig *rig = rig_new(test_seed());
    (void)state;
    for (int period = 0; period < 60; period++) {
        observe_sprayed(rig, uneven, 0.08);
        assert_false(rig->verdict.certain);
    }
    rig_free(rig);
}

/* A link that no flow crosses cannot be cleared, so nothing is certain. */
static void an_unseen_link_keeps_doubt(void **state)
{
    struct rig *rig = rig_new(test_seed());
    (void)state;
    for (int period = 0; period < 60; period++) {
        for (rig->flows.len = 0; rig->flows.len < 150;) {
            add_flow(&rig->flows, &rig->random, 9, 17, 0.03, 300);
            rig->flows.len -= pd_path_crosses(&rig->flows.paths[rig->flows.len - 1],
                                              (struct pd_link_match){3, 11});
        }
        assert_int_equal(observe_flows(rig->localiser, &rig->flows), 0);
        assert_int_equal(pd_localiser_locate(rig->localiser, &rig->verdict), 0);
        assert_false(rig->verdict.certain);
    }
    assert_true(names(&rig->verdict, 9, 17));
    rig_free(rig);
}

/* A flow from host and rack i+1 over spine 203 to `rack` and a host that is below all of them; it
 * loses some of its 2000 packets. */
static void add_star_flow(struct flows *flows, uint32_t rack, uint64_t lost)
{
    size_t i = flows->len++;
    flows->paths[i] = (struct pd_path){.len = 3, .switches = {(uint32_t)i + 1, 203, rack}};
    flows->ways[i] = way_of(&flows->paths[i], 2000 - lost);
    flows->rows[i] = (struct pd_evidence_row){.kind = PD_EVIDENCE_FLOW,
                                              .pkts = 2000 - lost,
                                              .lost = lost,
                                              .ways = &flows->ways[i],
                                              .ways_len = 1};
    flows->rows[i].flow.src = (struct pd_addr){{10, 1, 0, (uint8_t)i}};
    flows->rows[i].flow.dst = (struct pd_addr){{10, 2, 0, (uint8_t)i}};
}

/* Many links that only the model can clear, all numbered before the faulty one: their tests do not
 * keep it from being named. */
static void many_open_links_do_not_hide_a_fault(void **state)
{
    struct pd_topology *topology;
    assert_int_equal(pd_topology_leaf_spine(202, 1, 0, &topology, NULL), 0);
    struct pd_localiser_config config = {.topology = topology, .period_us = 200000};
    struct flows *flows = calloc(1, sizeof *flows);
    struct pd_localiser *localiser;
    struct pd_verdict verdict;
    (void)state;
    assert_int_equal(pd_localiser_new(pd_localiser_find("evidence"), &config, &localiser), 0);
    for (uint32_t rack = 202; rack > 200; rack--) {
        for (flows->len = 0; flows->len < 200;) {
            add_star_flow(flows, rack, rack == 201 ? 40 : 0);
        }
        assert_int_equal(observe_flows(localiser, flows), 0);
    }
    assert_int_equal(pd_localiser_locate(localiser, &verdict), 0);
    assert_int_equal(verdict.links_len, 1);
    assert_true(names(&verdict, 203, 201));
    pd_localiser_free(localiser);
    pd_topology_free(topology);
    free(flows);
}

/* A minute without losses does not clear a link that loses packets now: but for moments, nothing is
 * certain until it is named. */
static void a_link_that_breaks_late_is_not_cleared(void **state)
{
    struct rig *rig = rig_new(test_seed());
    unsigned wrong = 0;
    (void)state;
    for (int period = 0; period < 300; period++) {
        run_period(rig, 9, 17, 0.03);
    }
    assert_true(rig->verdict.certain);
    for (int period = 0; period < 20; period++) {
        for (rig->flows.len = 0; rig->flows.len < 150;) {
            bool second = rig->flows.len % 2;
            struct pd_link_match broken =
                second ? (struct pd_link_match){18, 13} : (struct pd_link_match){9, 17};
            add_flow(&rig->flows, &rig->random, broken.from, broken.to, 0.03, 300);
        }
        assert_int_equal(observe_flows(rig->localiser, &rig->flows), 0);
        assert_int_equal(pd_localiser_locate(rig->localiser, &rig->verdict), 0);
        wrong += rig->verdict.certain && !names(&rig->verdict, 18, 13);
    }
    assert_true(wrong < 10); /* all 20 where the past alone clears */
    rig_free(rig);
}

/* Flows of which nothing arrives have no path: another link may swallow them. */
static void flows_without_a_path_keep_doubt(void **state)
{
    struct rig *rig = rig_new(test_seed());
    (void)state;
    for (int period = 0; period < 30; period++) {
        run_period(rig, 9, 17, 0.03);
    }
    assert_true(rig->verdict.certain);
    for (rig->flows.len = 0; rig->flows.len < 150;) {
        add_flow(&rig->flows, &rig->random, 9, 17, 0.03, 300);
    }
    for (int i = 0; i < 5; i++) {
        rig->flows.rows[rig->flows.len++] =
            (struct pd_evidence_row){.kind = PD_EVIDENCE_FLOW, .lost = 1};
    }
    assert_int_equal(observe_flows(rig->localiser, &rig->flows), 0);
    assert_int_equal(pd_localiser_locate(rig->localiser, &rig->verdict), 0);
    assert_true(names(&rig->verdict, 9, 17));
    assert_false(rig->verdict.certain);
    for (int period = 0; period < 150; period++) {
        run_period(rig, 9, 17, 0.03);
    }
    assert_true(rig->verdict.certain);
    rig_free(rig);
}

/* Queues take dozens of packets of a flow at once, of large flows more often, wherever it goes:
 * more than the faulty link does. That all large flows suffer on that link tells it. */
static void run_bursts(struct rig *rig, double loss)
{
    for (rig->flows.len = 0; rig->flows.len < 100;) {
        uint64_t pkts = (uint64_t[]){20, 200, 1000}[random_below(&rig->random, 3)];
        struct pd_evidence_row *row = add_flow(&rig->flows, &rig->random, 9, 17, loss, pkts);
        if (random_below(&rig->random, 4000) < pkts) {
            uint64_t burst = 1 + random_below(&rig->random, pkts / 10);
            row->lost += burst;
            row->pkts = pkts;
        }
    }
    assert_int_equal(observe_flows(rig->localiser, &rig->flows), 0);
    assert_int_equal(pd_localiser_locate(rig->localiser, &rig->verdict), 0);
}

static void bursts_of_queues_hide_no_link(void **state)
{
    struct rig *rig = rig_new(test_seed());
    (void)state;
    for (int period = 0; period < 60; period++) {
        run_bursts(rig, 0.01);
        assert_true(!rig->verdict.certain ||
                    (rig->verdict.links_len == 1 && names(&rig->verdict, 9, 17)));
    }
    assert_true(rig->verdict.links_len == 1 && names(&rig->verdict, 9, 17));
    assert_true(rig->verdict.certain);
    assert_true(rig->verdict.links[0].loss > 0.005 && rig->verdict.links[0].loss < 0.02);
    rig_free(rig);
}

static void bursts_of_queues_are_no_fault(void **state)
{
    struct rig *rig = rig_new(test_seed());
    int named = 0;
    (void)state;
    for (int period = 0; period < 60; period++) {
        run_bursts(rig, 0);
        assert_false(rig->verdict.certain);
        named += period >= 10 && rig->verdict.links_len;
    }
    assert_true(named <= 2);
    rig_free(rig);
}

/* One host says that it lost packets on a link where it lost none: named or not, it is never
 * certain, and its name is told. */
static void the_word_of_one_host_is_not_enough(void **state)
{
    struct rig *rig = rig_new(test_seed());
    bool is_told = false;
    (void)state;
    for (int period = 0; period < 50; period++) {
        for (rig->flows.len = 0; rig->flows.len < 150;) {
            struct pd_evidence_row *row = add_flow(&rig->flows, &rig->random, 0, 0, 0, 300);
            struct pd_addr liar = host_addr(5);
            bool crosses = pd_path_crosses(&rig->flows.paths[rig->flows.len - 1],
                                           (struct pd_link_match){11, 17});
            row->lost = crosses && !memcmp(&row->flow.src, &liar, sizeof liar) ? 15 : 0;
        }
        assert_int_equal(observe_flows(rig->localiser, &rig->flows), 0);
        assert_int_equal(pd_localiser_locate(rig->localiser, &rig->verdict), 0);
        assert_false(rig->verdict.certain);
    }
    json_t *answer = pd_localiser_answer(rig->localiser, 0), *text;
    char name[32];
    size_t i;
    snprintf(name, sizeof name, "host %u ", (unsigned)rig->topology->hosts[5].id);
    json_array_foreach(json_object_get(answer, "lacks"), i, text) is_told |=
        strstr(json_string_value(text), name) != NULL;
    assert_true(is_told || !rig->verdict.links_len);
    json_decref(answer);
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_link_is_found),
        cmocka_unit_test(a_single_look_is_never_certain),
        cmocka_unit_test(what_changes_is_followed),
        cmocka_unit_test(a_repaired_link_is_given_up),
        cmocka_unit_test(a_switch_is_one_fault),
        cmocka_unit_test(what_is_certain_stays),
        cmocka_unit_test(a_slow_host_is_no_faulty_link),
        cmocka_unit_test(a_full_queue_is_no_faulty_link),
        cmocka_unit_test(bursts_of_queues_hide_no_link),
        cmocka_unit_test(bursts_of_queues_are_no_fault),
        cmocka_unit_test(the_word_of_one_host_is_not_enough),
        cmocka_unit_test(sprayed_flows_name_the_link),
        cmocka_unit_test(uneven_shares_keep_doubt),
        cmocka_unit_test(an_unseen_link_keeps_doubt),
        cmocka_unit_test(a_link_that_breaks_late_is_not_cleared),
        cmocka_unit_test(flows_without_a_path_keep_doubt),
        cmocka_unit_test(many_open_links_do_not_hide_a_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
