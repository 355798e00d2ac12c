/* SPDX-License-Identifier: Apache-2.0 */
/* What every localiser promises: names only links of signatures, nothing without them, bounded
 * answers, the same twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/localise/flows.h"

enum { IDS = 40 };

static struct pd_topology *fat_tree(void)
{
    struct pd_topology *topology;
    assert_int_equal(pd_topology_fat_tree(4, &topology, NULL), 0);
    return topology;
}

static struct pd_localiser *make(const struct pd_localiser_ops *ops,
                                 const struct pd_topology *topology)
{
    struct pd_localiser_config config = {
        .topology = topology, .link_mbps = 1000, .period_us = 200000};
    struct pd_localiser *localiser;
    assert_int_equal(pd_localiser_new(ops, &config, &localiser), 0);
    return localiser;
}

static void check_form(const struct pd_verdict *verdict)
{
    assert_true(verdict->confidence >= 0 && verdict->confidence <= 1);
    assert_true(verdict->links_len || !verdict->certain);
    for (size_t i = 1; i < verdict->links_len; i++) {
        const struct pd_verdict_link *a = &verdict->links[i - 1], *b = &verdict->links[i];
        assert_true(a->from != b->from || a->to != b->to);
    }
    for (size_t i = 1; i < verdict->ranking_len; i++) {
        assert_true(verdict->ranking[i].score <= verdict->ranking[i - 1].score + 1e-9);
    }
}

/* Every link named lies on a path of a flow that had retransmissions. */
static void check_crossed(const struct pd_verdict *verdict, const bool crossed[IDS][IDS])
{
    for (size_t i = 0; i < verdict->links_len; i++) {
        assert_true(crossed[verdict->links[i].from][verdict->links[i].to]);
    }
}

/* Hosts have the IDs from 21 on. */
static uint32_t host_id(const struct pd_addr *addr)
{
    for (uint32_t host = 0; host < 16; host++) {
        struct pd_addr own = host_addr(host);
        if (!memcmp(&own, addr, sizeof own)) {
            return 21 + host;
        }
    }
    return 0;
}

static void mark(const struct flows *flows, bool crossed[IDS][IDS])
{
    for (size_t f = 0; f < flows->len; f++) {
        const struct pd_path *path = &flows->paths[f];
        if (!flows->rows[f].lost) {
            continue;
        }
        for (unsigned i = 1; i < path->len; i++) {
            crossed[path->switches[i - 1]][path->switches[i]] = true;
        }
        crossed[host_id(&flows->rows[f].flow.src)][path->switches[0]] = true;
        crossed[path->switches[path->len - 1]][host_id(&flows->rows[f].flow.dst)] = true;
    }
}

static void run_random(const struct pd_localiser_ops *ops, struct random *random)
{
    struct pd_topology *topology = fat_tree();
    struct pd_localiser *localiser = make(ops, topology);
    struct flows *flows = calloc(1, sizeof *flows);
    bool crossed[IDS][IDS] = {{false}};
    struct pd_verdict verdict, again;
    double loss = (double)random_below(random, 100) / 1000;
    for (int period = 0; period < 20; period++) {
        flows->len = 0;
        for (size_t n = random_below(random, 40); n; n--) {
            add_flow(flows, random, 9, 17, loss, 1 + random_below(random, 2000));
        }
        if (flows->len) { /* noise: one flow lost some anywhere */
            flows->rows[0].lost += random_below(random, 4);
        }
        mark(flows, crossed);
        assert_int_equal(observe_flows(localiser, flows), 0);
        assert_int_equal(pd_localiser_locate(localiser, &verdict), 0);
        check_form(&verdict);
        check_crossed(&verdict, crossed);
        assert_int_equal(pd_localiser_locate(localiser, &again), 0);
        assert_true(!again.certain || names(&again, 9, 17));
    }
    free(flows);
    pd_localiser_free(localiser);
    pd_topology_free(topology);
}

static void only_links_of_signatures_are_named(void **state)
{
    struct random random = {test_seed()};
    (void)state;
    for (size_t i = 0; pd_localisers[i]; i++) {
        for (int round = 0; round < 40; round++) {
            run_random(pd_localisers[i], &random);
        }
    }
}

static void nothing_is_named_without_losses(void **state)
{
    struct random random = {test_seed()};
    struct pd_topology *topology = fat_tree();
    struct flows *flows = calloc(1, sizeof *flows);
    struct pd_verdict verdict;
    (void)state;
    for (size_t i = 0; pd_localisers[i]; i++) {
        struct pd_localiser *localiser = make(pd_localisers[i], topology);
        assert_int_equal(pd_localiser_locate(localiser, &verdict), 0);
        assert_int_equal(verdict.links_len, 0);
        for (int period = 0; period < 10; period++) {
            for (flows->len = 0; flows->len < 100;) {
                add_flow(flows, &random, 9, 17, 0, 500);
            }
            assert_int_equal(observe_flows(localiser, flows), 0);
            assert_int_equal(pd_localiser_locate(localiser, &verdict), 0);
            assert_int_equal(verdict.links_len, 0);
            assert_false(verdict.certain);
        }
        assert_int_equal(localiser->counters.flows, 1000);
        assert_int_equal(localiser->counters.signatures, 0);
        pd_localiser_free(localiser);
    }
    free(flows);
    pd_topology_free(topology);
}

/* Alarms of unknown flows, paths that do not exist, no records, absurd counts: counted, never
 * named. */
static void hostile_observations_are_left_aside(void **state)
{
    struct pd_topology *topology = fat_tree();
    struct pd_path paths[3] = {{.len = 3, .switches = {1, 17, 2}}, /* no such links */
                               {.len = 0},
                               {.len = 2, .switches = {4000000000u, 9}}};
    struct pd_evidence_way ways[4] = {way_of(&paths[0], 10),
                                      way_of(&paths[1], UINT64_MAX),
                                      way_of(&paths[2], 0),
                                      {.nodes = NULL}};
    struct pd_evidence_row rows[5] = {
        {.kind = PD_EVIDENCE_FLOW, .lost = UINT64_MAX, .ways = &ways[0], .ways_len = 1},
        {.kind = PD_EVIDENCE_FLOW, .lost = 5, .ways = &ways[1], .ways_len = 1},
        {.kind = PD_EVIDENCE_FLOW, .lost = 7, .ways = &ways[2], .ways_len = 1},
        {.kind = PD_EVIDENCE_FLOW, .lost = 9, .ways = &ways[3], .ways_len = 1},
        {.kind = PD_EVIDENCE_FLOW, .lost = 11}};
    const struct pd_evidence_period period = {.rows = rows, .rows_len = 5};
    struct pd_verdict verdict;
    (void)state;
    for (size_t i = 0; pd_localisers[i]; i++) {
        struct pd_localiser *localiser = make(pd_localisers[i], topology);
        assert_int_equal(pd_localiser_observe(localiser, &period), 0);
        assert_int_equal(pd_localiser_locate(localiser, &verdict), 0);
        assert_int_equal(verdict.links_len, 0);
        assert_int_equal(localiser->counters.unknown, 5);
        pd_localiser_free(localiser);
    }
    pd_topology_free(topology);
}

/* One more counted path between random racks; returns whether it lost some at 9-17. */
static bool count_path(struct pd_localiser *localiser, struct random *random, double loss,
                       bool crossed[IDS][IDS])
{
    struct pd_path path;
    random_path(random, 0, 4 + (uint32_t)random_below(random, 12), &path);
    const struct pd_evidence_way way = way_of(&path, PD_EVIDENCE_UNKNOWN);
    struct pd_evidence_row row = {
        .kind = PD_EVIDENCE_PATH, .pkts = 1000, .ways = &way, .ways_len = 1};
    const struct pd_evidence_period period = {.rows = &row, .rows_len = 1};
    if (pd_path_crosses(&path, (struct pd_link_match){9, 17})) {
        row.lost = (uint64_t)(1000 * loss);
    }
    for (unsigned i = 1; row.lost && i < path.len; i++) {
        crossed[path.switches[i - 1]][path.switches[i]] = true;
    }
    assert_int_equal(pd_localiser_observe(localiser, &period), 0);
    return row.lost;
}

/* Who can use counted paths names links of lossy ones alone; who cannot counts them. */
static void counted_paths_are_used_or_counted(void **state)
{
    struct random random = {test_seed()};
    struct pd_topology *topology = fat_tree();
    (void)state;
    for (size_t i = 0; pd_localisers[i]; i++) {
        for (int round = 0; round < 20; round++) {
            const struct pd_localiser_config config = {.topology = topology};
            struct pd_localiser *localiser;
            struct pd_verdict verdict;
            bool crossed[IDS][IDS] = {{false}};
            double loss = (double)random_below(&random, 2) * 0.3;
            assert_int_equal(pd_localiser_new(pd_localisers[i], &config, &localiser), 0);
            unsigned lossy = 0;
            for (int n = 0; n < 60; n++) {
                lossy += count_path(localiser, &random, loss, crossed);
            }
            assert_int_equal(pd_localiser_locate(localiser, &verdict), 0);
            check_form(&verdict);
            check_crossed(&verdict, crossed);
            assert_int_equal(localiser->counters.paths, 60);
            assert_int_equal(localiser->counters.paths_lossy, lossy);
            bool usable = pd_localisers[i]->kinds & PD_EVIDENCE_PATH;
            assert_int_equal(localiser->counters.paths_unused, usable ? 0 : 60);
            assert_true(verdict.links_len == 0 || (usable && lossy));
            pd_localiser_free(localiser);
        }
    }
    pd_topology_free(topology);
}

static void each_is_found_by_its_name(void **state)
{
    (void)state;
    for (size_t i = 0; pd_localisers[i]; i++) {
        assert_ptr_equal(pd_localiser_find(pd_localisers[i]->name), pd_localisers[i]);
        assert_true(*pd_localisers[i]->help);
    }
    assert_null(pd_localiser_find("none-such"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_links_of_signatures_are_named),
        cmocka_unit_test(nothing_is_named_without_losses),
        cmocka_unit_test(hostile_observations_are_left_aside),
        cmocka_unit_test(counted_paths_are_used_or_counted),
        cmocka_unit_test(each_is_found_by_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
