/* SPDX-License-Identifier: Apache-2.0 */
/* MAX-COVERAGE against a greedy cover written down as the paper describes it, on random signatures.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/localise/flows.h"

enum { SIDE = 32 };

/* All links that cover most of what is left, again and again. */
static size_t naive_cover(const struct flows *flows, bool named[SIDE][SIDE])
{
    bool explained[FLOWS_MAX] = {false};
    size_t named_len = 0;
    for (;;) {
        unsigned counts[SIDE][SIDE] = {{0}}, most = 0;
        for (size_t f = 0; f < flows->len; f++) {
            for (unsigned i = 1; !explained[f] && i < flows->paths[f].len; i++) {
                unsigned *count =
                    &counts[flows->paths[f].switches[i - 1]][flows->paths[f].switches[i]];
                most = ++*count > most ? *count : most;
            }
        }
        if (!most) {
            return named_len;
        }
        for (uint32_t a = 0; a < SIDE; a++) {
            for (uint32_t b = 0; b < SIDE; b++) {
                if (counts[a][b] != most) {
                    continue;
                }
                named[a][b] = true;
                named_len++;
                for (size_t f = 0; f < flows->len; f++) {
                    explained[f] |= pd_path_crosses(&flows->paths[f], (struct pd_link_match){a, b});
                }
            }
        }
    }
}

static void the_cover_is_that_of_the_paper(void **state)
{
    struct random random = {test_seed()};
    struct flows *flows = calloc(1, sizeof *flows);
    struct pd_topology *topology;
    assert_int_equal(pd_topology_fat_tree(4, &topology, NULL), 0);
    struct pd_localiser_config config = {.topology = topology, .period_us = 200000};
    (void)state;
    for (int round = 0; round < 300; round++) {
        struct pd_localiser *localiser;
        struct pd_verdict verdict;
        bool named[SIDE][SIDE] = {{false}};
        size_t wanted = 1 + random_below(&random, 60);
        for (flows->len = 0; flows->len < wanted;) {
            add_flow(flows, &random, 0, 0, 0, 10)->lost = 2;
        }
        assert_int_equal(pd_localiser_new(pd_localiser_find("max-coverage"), &config, &localiser),
                         0);
        assert_int_equal(observe_flows(localiser, flows), 0);
        assert_int_equal(pd_localiser_locate(localiser, &verdict), 0);
        assert_int_equal(verdict.links_len, naive_cover(flows, named));
        for (size_t i = 0; i < verdict.links_len; i++) {
            assert_true(named[verdict.links[i].from][verdict.links[i].to]);
        }
        assert_false(verdict.certain);
        pd_localiser_free(localiser);
    }
    free(flows);
    pd_topology_free(topology);
}

/* One retransmission is no "serious" one, and is no signature. */
static void one_retransmission_is_no_signature(void **state)
{
    struct random random = {1};
    struct flows *flows = calloc(1, sizeof *flows);
    struct pd_topology *topology;
    assert_int_equal(pd_topology_fat_tree(4, &topology, NULL), 0);
    struct pd_localiser_config config = {.topology = topology, .period_us = 200000};
    struct pd_localiser *localiser;
    struct pd_verdict verdict;
    (void)state;
    add_flow(flows, &random, 0, 0, 0, 10)->lost = 1;
    assert_int_equal(pd_localiser_new(pd_localiser_find("max-coverage"), &config, &localiser), 0);
    assert_int_equal(observe_flows(localiser, flows), 0);
    assert_int_equal(pd_localiser_locate(localiser, &verdict), 0);
    assert_int_equal(verdict.links_len, 0);
    pd_localiser_free(localiser);
    free(flows);
    pd_topology_free(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cover_is_that_of_the_paper),
        cmocka_unit_test(one_retransmission_is_no_signature),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
