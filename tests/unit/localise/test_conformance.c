/* SPDX-License-Identifier: Apache-2.0 */
/* What every localiser promises: names only links of signatures, nothing without them, bounded
 * answers, the same twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/localise/flows.h"

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
    assert_true(verdict->links_len <= PD_LOCALISE_NAMED_MAX);
    assert_true(verdict->confidence >= 0 && verdict->confidence <= 1);
    assert_true(verdict->links_len || !verdict->certain);
    for (size_t i = 1; i < verdict->links_len; i++) {
        const struct pd_verdict_link *a = &verdict->links[i - 1], *b = &verdict->links[i];
        assert_true(a->from < b->from || (a->from == b->from && a->to < b->to));
    }
}

/* Every link named lies on a path of a flow that had retransmissions. */
static void check_crossed(const struct pd_verdict *verdict, const bool crossed[32][32])
{
    for (size_t i = 0; i < verdict->links_len; i++) {
        assert_true(crossed[verdict->links[i].from][verdict->links[i].to]);
    }
}

static void mark(const struct flows *flows, bool crossed[32][32])
{
    for (size_t f = 0; f < flows->len; f++) {
        for (unsigned i = 1; flows->observations[f].retransmissions && i < flows->paths[f].len;
             i++) {
            crossed[flows->paths[f].switches[i - 1]][flows->paths[f].switches[i]] = true;
        }
    }
}

static void run_random(const struct pd_localiser_ops *ops, struct random *random)
{
    struct pd_topology *topology = fat_tree();
    struct pd_localiser *localiser = make(ops, random_below(random, 2) ? topology : NULL);
    struct flows *flows = calloc(1, sizeof *flows);
    bool crossed[32][32] = {{false}};
    struct pd_verdict verdict, again;
    double loss = (double)random_below(random, 100) / 1000;
    for (int period = 0; period < 20; period++) {
        flows->len = 0;
        for (size_t n = random_below(random, 40); n; n--) {
            add_flow(flows, random, 9, 17, loss, 1 + random_below(random, 2000));
        }
        if (flows->len) { /* noise: one flow lost some anywhere */
            flows->observations[0].retransmissions += random_below(random, 4);
        }
        mark(flows, crossed);
        assert_int_equal(pd_localiser_observe(localiser, flows->observations, flows->len), 0);
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
            assert_int_equal(pd_localiser_observe(localiser, flows->observations, flows->len), 0);
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
                               {.len = 0, .tags_len = 1},
                               {.len = 2, .switches = {4000000000u, 9}}};
    struct pd_tib_record records[4] = {{.path = &paths[0], .pkts = 10},
                                       {.path = &paths[1], .pkts = UINT64_MAX, .bytes = UINT64_MAX},
                                       {.path = &paths[2]},
                                       {.path = NULL}};
    struct pd_observation observations[5] = {{&records[0], 1, UINT64_MAX},
                                             {&records[1], 1, 5},
                                             {&records[2], 1, 7},
                                             {&records[3], 1, 9},
                                             {NULL, 0, 11}};
    struct pd_verdict verdict;
    (void)state;
    for (size_t i = 0; pd_localisers[i]; i++) {
        struct pd_localiser *localiser = make(pd_localisers[i], topology);
        assert_int_equal(pd_localiser_observe(localiser, observations, 5), 0);
        assert_int_equal(pd_localiser_locate(localiser, &verdict), 0);
        assert_int_equal(verdict.links_len, 0);
        assert_int_equal(localiser->counters.unknown, 5);
        pd_localiser_free(localiser);
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
        cmocka_unit_test(each_is_found_by_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
