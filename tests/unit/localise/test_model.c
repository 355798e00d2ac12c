/* SPDX-License-Identifier: Apache-2.0 */
/* The model of evidence: names what loses by counted paths, by flows and by suffering flows
 * alone, nothing where there is only noise, and says what it could have seen. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/localise/flows.h"

struct rig {
    struct pd_topology *topology;
    struct pd_localiser *localiser;
    struct pd_verdict verdict;
    struct random random;
};

static void begin(struct rig *rig)
{
    rig->random.state = test_seed();
    assert_int_equal(pd_topology_fat_tree(4, &rig->topology, NULL), 0);
    const struct pd_localiser_config config = {.topology = rig->topology};
    assert_int_equal(pd_localiser_new(pd_localiser_find("evidence"), &config, &rig->localiser), 0);
}

static void end(struct rig *rig)
{
    pd_localiser_free(rig->localiser);
    pd_topology_free(rig->topology);
}

/* 2,000 flows, over which 9-17 loses; `blind`: only those that suffered, and no packets. */
static void observe_random(struct rig *rig, double loss, bool blind)
{
    struct flows *flows = calloc(1, sizeof *flows);
    for (int batch = 0; batch < 10; batch++) {
        for (flows->len = 0; flows->len < 200;) {
            struct pd_evidence_row *row = add_flow(flows, &rig->random, 9, 17, loss, 100);
            row->pkts += row->lost;
            if (blind) {
                row->pkts = flows->ways[flows->len - 1].pkts = PD_EVIDENCE_UNKNOWN;
                flows->len -= !row->lost;
            }
        }
        assert_int_equal(observe_flows(rig->localiser, flows), 0);
        if (blind) {
            break;
        }
    }
    assert_int_equal(pd_localiser_locate(rig->localiser, &rig->verdict), 0);
    free(flows);
}

static void a_lossy_link_is_named_by_flows(void **state)
{
    struct rig rig;
    (void)state;
    begin(&rig);
    observe_random(&rig, 0.02, false);
    assert_int_equal(rig.verdict.links_len, 1);
    assert_true(names(&rig.verdict, 9, 17));
    assert_true(fabs(rig.verdict.links[0].loss - 0.02) < 0.01);
    assert_true(rig.verdict.certain);
    json_t *answer = pd_localiser_answer(rig.localiser, 0);
    const json_t *detects = json_object_get(answer, "detects");
    double least = json_number_value(json_object_get(detects, "agg-core"));
    assert_true(least > 0 && least < 0.02);
    assert_true(json_object_get(detects, "tor-agg") && json_object_get(detects, "host"));
    assert_int_equal(json_array_size(json_object_get(answer, "faults")), 1);
    json_decref(answer);
    end(&rig);
}

static void suffering_flows_alone_are_enough(void **state)
{
    struct rig rig;
    (void)state;
    begin(&rig);
    observe_random(&rig, 0.02, true);
    assert_int_equal(rig.verdict.links_len, 1);
    assert_true(names(&rig.verdict, 9, 17));
    assert_true(rig.verdict.links[0].loss < 0); /* nobody knows */
    end(&rig);
}

/* Host 10 hangs at 1 and 2. */
static const char two_homes[] =
    "{\"name\":\"two homes\",\"nodes\":["
    "{\"id\":1,\"role\":\"tor\",\"prefixes\":[\"10.0.0.0/24\"]},"
    "{\"id\":2,\"role\":\"tor\",\"prefixes\":[\"10.0.0.0/24\"]},"
    "{\"id\":3,\"role\":\"tor\",\"prefixes\":[\"10.0.1.0/24\"]},"
    "{\"id\":10,\"role\":\"host\",\"addrs\":[\"10.0.0.2\"]},"
    "{\"id\":11,\"role\":\"host\",\"addrs\":[\"10.0.1.2\"]}],"
    "\"links\":[{\"source\":1,\"target\":3},{\"source\":2,\"target\":3},"
    "{\"source\":10,\"target\":1},{\"source\":10,\"target\":2},{\"source\":11,\"target\":3}]}";

/* The way says over which of them a flow went. */
static void a_host_at_two_switches_loses_on_one_of_its_links(void **state)
{
    static const uint32_t ways[][2] = {{1, 3}, {2, 3}, {2, 3}};
    struct rig rig;
    (void)state;
    assert_int_equal(
        pd_topology_parse(two_homes, sizeof two_homes - 1, "two homes", &rig.topology, NULL), 0);
    const struct pd_localiser_config config = {.topology = rig.topology};
    assert_int_equal(pd_localiser_new(pd_localiser_find("evidence"), &config, &rig.localiser), 0);
    for (unsigned i = 0; i < 300; i++) { /* flows by 1, flows by 2, and what went from 2 to 3 */
        unsigned kind = i % 3;
        struct pd_evidence_way way = {
            .nodes = ways[kind], .nodes_len = 2, .reached = true, .pkts = 95, .bytes = 95};
        struct pd_evidence_row row = {.kind = kind < 2 ? PD_EVIDENCE_FLOW : PD_EVIDENCE_PATH,
                                      .flow = {.ip_version = 4},
                                      .pkts = 95,
                                      .lost = kind == 1 ? 5 : 0,
                                      .ways = &way,
                                      .ways_len = 1};
        row.flow.src = (struct pd_addr){{10, 0, 0, 2}};
        row.flow.dst = (struct pd_addr){{10, 0, 1, 2}};
        const struct pd_evidence_period period = {.rows = &row, .rows_len = 1};
        assert_int_equal(pd_localiser_observe(rig.localiser, &period), 0);
    }
    assert_int_equal(pd_localiser_locate(rig.localiser, &rig.verdict), 0);
    assert_int_equal(rig.verdict.links_len, 1);
    assert_true(names(&rig.verdict, 10, 2));
    end(&rig);
}

/* Where the way does not name it, neither of the two links is blamed. */
static void a_way_that_names_no_switch_blames_no_link_of_the_host(void **state)
{
    static const uint32_t nodes[] = {0, 3};
    struct rig rig;
    (void)state;
    assert_int_equal(
        pd_topology_parse(two_homes, sizeof two_homes - 1, "two homes", &rig.topology, NULL), 0);
    const struct pd_localiser_config config = {.topology = rig.topology};
    assert_int_equal(pd_localiser_new(pd_localiser_find("evidence"), &config, &rig.localiser), 0);
    for (unsigned i = 0; i < 300; i++) {
        const struct pd_evidence_way way = {
            .nodes = nodes, .nodes_len = 2, .reached = true, .pkts = 95, .bytes = 95};
        struct pd_evidence_row row = {.kind = PD_EVIDENCE_FLOW,
                                      .flow = {.ip_version = 4},
                                      .pkts = 95,
                                      .lost = 5,
                                      .ways = &way,
                                      .ways_len = 1};
        row.flow.src = (struct pd_addr){{10, 0, 0, 2}};
        row.flow.dst = (struct pd_addr){{10, 0, 1, 2}};
        const struct pd_evidence_period period = {.rows = &row, .rows_len = 1};
        assert_int_equal(pd_localiser_observe(rig.localiser, &period), 0);
    }
    assert_int_equal(pd_localiser_locate(rig.localiser, &rig.verdict), 0);
    assert_false(names(&rig.verdict, 10, 1) || names(&rig.verdict, 10, 2));
    assert_false(names(&rig.verdict, 1, 3) || names(&rig.verdict, 2, 3));
    end(&rig);
}

/* Healthy links that all lose a little are noise, however many losses that makes. */
static void noise_is_estimated_and_not_named(void **state)
{
    struct rig rig;
    (void)state;
    begin(&rig);
    for (uint32_t i = 0; i < rig.topology->switches_len; i++) {
        const struct pd_switch *sw = &rig.topology->switches[i];
        for (uint32_t n = 0; n < sw->switch_neighbours; n++) {
            const uint32_t nodes[] = {sw->id, rig.topology->switches[sw->neighbours[n].node].id};
            const struct pd_evidence_way way = {.nodes = nodes, .nodes_len = 2, .reached = true};
            const struct pd_evidence_row row = {.kind = PD_EVIDENCE_PATH,
                                                .pkts = 10000,
                                                .lost = 8 + random_below(&rig.random, 5),
                                                .ways = &way,
                                                .ways_len = 1};
            const struct pd_evidence_period period = {.rows = &row, .rows_len = 1};
            assert_int_equal(pd_localiser_observe(rig.localiser, &period), 0);
        }
    }
    assert_int_equal(pd_localiser_locate(rig.localiser, &rig.verdict), 0);
    assert_int_equal(rig.verdict.links_len, 0);
    assert_false(rig.verdict.certain);
    end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lossy_link_is_named_by_flows),
        cmocka_unit_test(suffering_flows_alone_are_enough),
        cmocka_unit_test(a_host_at_two_switches_loses_on_one_of_its_links),
        cmocka_unit_test(a_way_that_names_no_switch_blames_no_link_of_the_host),
        cmocka_unit_test(noise_is_estimated_and_not_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
