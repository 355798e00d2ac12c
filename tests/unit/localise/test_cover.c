/* SPDX-License-Identifier: Apache-2.0 */
/* binary and integer: both cover all that suffered, and integer with as few links as trying all
 * sets finds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/localise/flows.h"

enum { FLOWS = 7 };

static const struct pd_topology *topology;

static size_t judge(const char *name, const struct flows *flows, bool *ret_covers)
{
    const struct pd_localiser_config config = {.topology = topology};
    struct pd_localiser *localiser;
    struct pd_verdict verdict;
    struct pd_cause cause;
    assert_int_equal(pd_localiser_new(pd_localiser_find(name), &config, &localiser), 0);
    assert_int_equal(observe_flows(localiser, flows), 0);
    assert_int_equal(pd_localiser_locate(localiser, &verdict), 0);
    *ret_covers = true;
    for (size_t i = 0; i < flows->len; i++) {
        assert_int_equal(pd_localiser_cause(localiser, &flows->rows[i], &cause), 0);
        *ret_covers &= cause.class == PD_CAUSE_FAILURE;
    }
    double drops = 0;
    for (size_t i = 0; i < verdict.ranking_len; i++) {
        drops += verdict.ranking[i].score;
    }
    assert_int_equal((int)drops, (int)flows->len);
    size_t len = verdict.links_len;
    pd_localiser_free(localiser);
    return len;
}

/* Ends of link `at` of a flow's way, access links among them. */
static void link_at(const struct flows *flows, size_t flow, unsigned at, uint64_t *ret_key)
{
    const struct pd_path *path = &flows->paths[flow];
    uint64_t src = flows->rows[flow].flow.src.bytes[2] * 256u + flows->rows[flow].flow.src.bytes[3];
    uint64_t dst = flows->rows[flow].flow.dst.bytes[2] * 256u + flows->rows[flow].flow.dst.bytes[3];
    if (at == 0) {
        *ret_key = UINT64_C(1) << 62 | (uint64_t)flows->rows[flow].flow.src.bytes[1] << 32 | src;
    } else if (at == path->len) {
        *ret_key = UINT64_C(1) << 63 | (uint64_t)flows->rows[flow].flow.dst.bytes[1] << 32 | dst;
    } else {
        *ret_key = (uint64_t)path->switches[at - 1] << 32 | path->switches[at];
    }
}

static bool crosses(const struct flows *flows, size_t flow, uint64_t key)
{
    for (unsigned at = 0; at <= flows->paths[flow].len; at++) {
        uint64_t own;
        link_at(flows, flow, at, &own);
        if (own == key) {
            return true;
        }
    }
    return false;
}

/* The fewest links, by trying each link of the first flow not covered. */
static size_t fewest(const struct flows *flows, unsigned covered)
{
    size_t best = FLOWS, flow = 0;
    while (flow < flows->len && (covered >> flow & 1)) {
        flow++;
    }
    if (flow == flows->len) {
        return 0;
    }
    for (unsigned at = 0; at <= flows->paths[flow].len; at++) {
        unsigned with = covered;
        uint64_t key;
        link_at(flows, flow, at, &key);
        for (size_t f = 0; f < flows->len; f++) {
            with |= (unsigned)crosses(flows, f, key) << f;
        }
        size_t rest = 1 + fewest(flows, with);
        best = rest < best ? rest : best;
    }
    return best;
}

static void integer_needs_the_fewest_links(void **state)
{
    struct random random = {test_seed()};
    struct flows *flows = calloc(1, sizeof *flows);
    struct pd_topology *made;
    (void)state;
    assert_int_equal(pd_topology_fat_tree(4, &made, NULL), 0);
    topology = made;
    for (int round = 0; round < 200; round++) {
        bool covers;
        for (flows->len = 0; flows->len < FLOWS;) {
            add_flow(flows, &random, 0, 0, 0, 10)->lost = 1;
        }
        size_t wanted = fewest(flows, 0);
        assert_int_equal(judge("integer", flows, &covers), wanted);
        assert_true(covers);
        assert_true(judge("binary", flows, &covers) >= wanted);
        assert_true(covers);
    }
    free(flows);
    pd_topology_free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integer_needs_the_fewest_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
