/* SPDX-License-Identifier: Apache-2.0 */
/* votes: ballots add up to the flows that cast them, gaps and missing ends keep their share, and
 * votes are taken back as the paper has it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/localise/flows.h"

struct rig {
    struct pd_topology *topology;
    struct pd_localiser *localiser;
    struct pd_verdict verdict;
    void *options;
};

/* With up to two flags, "" for none. */
static void begin(struct rig *rig, const char *first, const char *second)
{
    const struct pd_localiser_ops *ops = pd_localiser_find("votes");
    char texts[3][40] = {"votes"}, *argv[] = {texts[0], texts[1], texts[2], NULL};
    int words, argc = 1 + (*first != 0) + (*second != 0);
    snprintf(texts[1], sizeof texts[1], "%s", first);
    snprintf(texts[2], sizeof texts[2], "%s", second);
    rig->options = calloc(1, ops->options_bytes);
    assert_int_equal(pd_topology_fat_tree(4, &rig->topology, NULL), 0);
    assert_int_equal(pd_options_defaults(ops->options, rig->options, NULL), 0);
    assert_int_equal(pd_options_flags(ops->options, rig->options, argc, argv, &words, NULL, NULL),
                     0);
    const struct pd_localiser_config config = {.topology = rig->topology, .options = rig->options};
    assert_int_equal(pd_localiser_new(ops, &config, &rig->localiser), 0);
}

static void end(struct rig *rig)
{
    pd_localiser_free(rig->localiser);
    pd_topology_free(rig->topology);
    free(rig->options);
}

/* One flow from host 0 (rack 1) to host 4 (rack 3) that lost a packet on this way. */
static void lose(struct rig *rig, const uint32_t *nodes, uint32_t len, bool reached)
{
    const struct pd_evidence_way way = {
        .nodes = nodes, .nodes_len = len, .reached = reached, .pkts = PD_EVIDENCE_UNKNOWN};
    struct pd_evidence_row row = {.kind = PD_EVIDENCE_FLOW, .lost = 1, .ways = &way, .ways_len = 1};
    const struct pd_evidence_period period = {.rows = &row, .rows_len = 1};
    row.flow.src = host_addr(0);
    row.flow.dst = host_addr(4);
    row.flow.ip_version = 4;
    assert_int_equal(pd_localiser_observe(rig->localiser, &period), 0);
}

static double score(const struct rig *rig, uint32_t from, uint32_t to)
{
    for (size_t i = 0; i < rig->verdict.ranking_len; i++) {
        if (rig->verdict.ranking[i].from == from && rig->verdict.ranking[i].to == to) {
            return rig->verdict.ranking[i].score;
        }
    }
    return 0;
}

static void locate(struct rig *rig)
{
    assert_int_equal(pd_localiser_locate(rig->localiser, &rig->verdict), 0);
}

static bool is(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

static void a_whole_path_shares_one_vote(void **state)
{
    const uint32_t path[] = {1, 9, 17, 11, 3};
    struct rig rig;
    (void)state;
    begin(&rig, "", "");
    lose(&rig, path, 5, true);
    lose(&rig, path, 5, true);
    locate(&rig);
    assert_true(is(rig.verdict.total, 2));
    assert_true(is(score(&rig, 21, 1), 2.0 / 6) && is(score(&rig, 9, 17), 2.0 / 6) &&
                is(score(&rig, 3, 25), 2.0 / 6));
    assert_int_equal(rig.verdict.ranking_len, 6);
    assert_int_equal(rig.verdict.links_len, 1); /* the first by its IDs explains both */
    assert_int_equal(rig.verdict.links[0].from, 1);
    end(&rig);
}

/* Two aggregation switches, two cores each. */
static void gaps_share_by_what_ecmp_offers(void **state)
{
    const uint32_t gap[] = {1, 9, 0, 11, 3}, early[] = {1}, silent[] = {0, 0};
    struct rig rig;
    (void)state;
    begin(&rig, "", "");
    lose(&rig, gap, 5, true);
    locate(&rig);
    assert_true(is(score(&rig, 9, 17), 1.0 / 12) && is(score(&rig, 9, 18), 1.0 / 12) &&
                is(score(&rig, 11, 3), 1.0 / 6));
    lose(&rig, early, 1, false);
    lose(&rig, silent, 2, false); /* says nothing */
    locate(&rig);
    assert_int_equal(rig.localiser->counters.unknown, 1);
    assert_true(is(score(&rig, 10, 19), 1.0 / 24) && is(score(&rig, 1, 10), 1.0 / 12));
    assert_true(is(rig.verdict.total, 2));
    end(&rig);
}

static void votes_are_of_switches_as_well(void **state)
{
    const uint32_t path[] = {1, 9, 17, 11, 3};
    struct rig rig;
    (void)state;
    begin(&rig, "--of=switches", "");
    lose(&rig, path, 5, true);
    locate(&rig);
    assert_true(is(score(&rig, 17, 0), 0.2) && is(score(&rig, 1, 0), 0.2));
    assert_int_equal(rig.verdict.ranking_len, 5);
    assert_int_equal(rig.verdict.links_len, 0); /* one flow is no ranking */
    end(&rig);
}

static void the_cause_is_the_named_link(void **state)
{
    const uint32_t path[] = {1, 9, 17, 11, 3}, other[] = {1, 10, 19, 12, 3};
    const struct pd_evidence_way way = {.nodes = other, .nodes_len = 5, .reached = true};
    struct pd_evidence_row row = {.kind = PD_EVIDENCE_FLOW, .lost = 1, .ways = &way, .ways_len = 1};
    struct pd_cause cause;
    struct rig rig;
    (void)state;
    begin(&rig, "--adjust=none", "--threshold=1");
    lose(&rig, path, 5, true);
    lose(&rig, path, 5, true);
    locate(&rig);
    assert_int_equal(rig.verdict.links_len, 0);
    row.flow.src = host_addr(0);
    row.flow.dst = host_addr(4);
    row.flow.ip_version = 4;
    assert_int_equal(pd_localiser_cause(rig.localiser, &row, &cause), 0);
    assert_int_equal(cause.class, PD_CAUSE_NOISE);
    row.ways_len = 0;
    assert_int_equal(pd_localiser_cause(rig.localiser, &row, &cause), 0);
    assert_int_equal(cause.class, PD_CAUSE_UNKNOWN);
    end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_path_shares_one_vote),
        cmocka_unit_test(gaps_share_by_what_ecmp_offers),
        cmocka_unit_test(votes_are_of_switches_as_well),
        cmocka_unit_test(the_cause_is_the_named_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
