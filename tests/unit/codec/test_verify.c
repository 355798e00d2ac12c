/* SPDX-License-Identifier: Apache-2.0 */
/* Verification on larger networks against closed formulas, its progress, its arguments; also run
 * under TSan. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "codec/tagging/steps.h"
#include "naive.h"

/* Simple paths of a fat-tree between two ToRs of different pods and of one pod. Shortest ones, then
 * detours in the source's and destination's pod (both times: over another ToR) and at the core
 * (over another pod's agg). */
static void fat_tree_counts(uint64_t k, struct pd_verification *ret_counts)
{
    struct pd_verification v = {0};
    uint64_t h = k / 2, between = k * h * (k - 1) * h, within = k * h * (h - 1);
    v.by_hops[2] = within * h;
    v.by_hops[4] = between * h * h + within * h * (h - 1) * (h - 2);
    v.punted = within * h * (h - 1) * (h - 2) * (h - 2) * (h - 3);
    v.by_hops[6] = between * (2 * h * (h - 1) * (h - 1) * h + h * h * (h - 1) * (k - 2)) + v.punted;
    v.paths = v.by_hops[2] + v.by_hops[4] + v.by_hops[6];
    *ret_counts = v;
}

static void check_equal(const struct pd_verification *got, const struct pd_verification *wanted)
{
    assert_memory_equal(got->by_hops, wanted->by_hops, sizeof got->by_hops);
    assert_int_equal(got->paths, wanted->paths);
    assert_int_equal(got->ambiguous, wanted->ambiguous);
    assert_int_equal(got->undecodable, wanted->undecodable);
    assert_int_equal(got->punted, wanted->punted);
}

static void fat_trees_have_no_ambiguous_path(void **state)
{
    (void)state;
    for (uint32_t k = 4; k <= 8; k += 2) {
        struct pd_topology *t;
        struct pd_verification got, wanted;
        struct naive naive = {.kind = NAIVE_FAT_TREE, .k = k};
        struct pd_codec *codec = naive_codec(&naive, &t);
        fat_tree_counts(k, &wanted);
        assert_int_equal(pd_codec_verify(codec, PD_VERIFY_ALL, 6, NULL, NULL, &got), 0);
        check_equal(&got, &wanted);
        pd_codec_free(codec);
        pd_topology_free(t);
    }
}

static void vl2_has_no_ambiguous_path(void **state)
{
    struct pd_topology *t;
    struct pd_verification got, wanted;
    struct naive naive = {.kind = NAIVE_VL2, .k = 8};
    struct pd_codec *codec = naive_codec(&naive, &t);
    (void)state;
    naive_verification(t, &naive, 2, 6, &wanted);
    assert_true(wanted.by_hops[6] > 0);
    assert_int_equal(wanted.ambiguous, 0);
    assert_int_equal(pd_codec_verify(codec, PD_VERIFY_ALL, 6, NULL, NULL, &got), 0);
    check_equal(&got, &wanted);
    pd_codec_free(codec);
    pd_topology_free(t);
}

struct progress {
    pthread_t thread;
    unsigned calls;
    double last;
};

static void note_progress(void *context, double share)
{
    struct progress *progress = context;
    assert_true(pthread_equal(progress->thread, pthread_self()));
    assert_true(share > 0 && share <= 1 && share >= progress->last);
    progress->last = share;
    progress->calls++;
}

static void progress_comes_from_the_caller(void **state)
{
    struct pd_topology *t;
    struct pd_verification v;
    struct progress progress = {.thread = pthread_self()};
    struct naive naive = {.kind = NAIVE_FAT_TREE, .k = 8};
    struct pd_codec *codec = naive_codec(&naive, &t);
    (void)state;
    assert_int_equal(pd_codec_verify(codec, PD_VERIFY_ALL, 6, note_progress, &progress, &v), 0);
    assert_true(progress.calls >= 1);
    pd_codec_free(codec);
    pd_topology_free(t);
}

static void hops_have_bounds(void **state)
{
    struct pd_topology *t;
    struct pd_verification v;
    struct naive naive = {.kind = NAIVE_LEAF_SPINE, .k = 2, .leaves = 3};
    struct pd_codec *codec = naive_codec(&naive, &t);
    (void)state;
    assert_int_equal(pd_codec_verify(codec, PD_VERIFY_ALL, 0, NULL, NULL, &v), -PD_E_VALUE);
    assert_int_equal(pd_codec_verify(codec, PD_VERIFY_ALL, PD_PATH_MAX, NULL, NULL, &v),
                     -PD_E_VALUE);
    assert_int_equal(pd_codec_verify(codec, PD_VERIFY_ALL, PD_PATH_MAX - 1, NULL, NULL, &v), 0);
    /* 3 leaves, 2 spines: 2 hops over either spine, 4 over the third leaf and both */
    assert_int_equal(v.by_hops[2], 6 * 2);
    assert_int_equal(v.by_hops[4], 6 * 2);
    assert_int_equal(v.paths, 24);
    pd_codec_free(codec);
    pd_topology_free(t);
}

/* ---- what verification is for: schemes that do not tell paths apart */

static size_t no_rules(const struct pd_tagging *tagging, uint32_t sw, struct pd_rule *ret_rules)
{
    (void)tagging, (void)sw, (void)ret_rules;
    return 0;
}

static void verify_spoiled(unsigned max_vlans,
                           size_t (*rules)(const struct pd_tagging *, uint32_t, struct pd_rule *),
                           unsigned max_hops, struct pd_verification *ret_verification)
{
    struct pd_topology *t;
    struct naive naive = {.kind = NAIVE_FAT_TREE, .k = 4};
    struct pd_codec *codec = naive_codec(&naive, &t);
    struct pd_tagging *tagging = (struct pd_tagging *)codec;
    struct pd_tagging_ops ops = *tagging->ops;
    ops.max_vlans = max_vlans;
    if (rules) {
        ops.rules = rules;
    }
    tagging->ops = &ops;
    pd_tagging_steps_free(tagging->steps);
    assert_int_equal(pd_tagging_steps_new(tagging, &tagging->steps, NULL), 0);
    assert_int_equal(pd_codec_verify(codec, PD_VERIFY_ALL, max_hops, NULL, NULL, ret_verification),
                     0);
    pd_codec_free(codec);
    pd_topology_free(t);
}

static void schemes_that_fail_are_found_out(void **state)
{
    struct pd_verification v;
    (void)state;
    verify_spoiled(2, no_rules, 6, &v); /* 56 pairs of ToRs: all paths of a pair look alike */
    assert_int_equal(v.paths, 976);
    assert_int_equal(v.ambiguous, 976 - 56);
    assert_int_equal(v.undecodable, 976);
    assert_int_equal(v.punted, 0);
    verify_spoiled(1, NULL, 6, &v); /* switches that carry one tag: detours are punted */
    assert_int_equal(v.punted, 768);
    assert_int_equal(v.undecodable + v.ambiguous, 0);
    verify_spoiled(2, NULL, 8, &v); /* over a third pod's ToR two tags are too few */
    assert_int_equal(v.by_hops[8], 2880);
    assert_true(v.ambiguous > 0);
    assert_true(v.undecodable >= v.ambiguous);
}

/* Shortest paths have a count of their own, and are all that is walked in their scope. */
static void shortest_paths_are_a_scope(void **state)
{
    struct pd_topology *t;
    struct pd_verification all, shortest;
    struct naive naive = {.kind = NAIVE_FAT_TREE, .k = 4};
    struct pd_codec *codec = naive_codec(&naive, &t);
    (void)state;
    assert_int_equal(pd_codec_verify(codec, PD_VERIFY_ALL, 6, NULL, NULL, &all), 0);
    assert_int_equal(pd_codec_verify(codec, PD_VERIFY_SHORTEST, 6, NULL, NULL, &shortest), 0);
    assert_int_equal(shortest.paths, 8 * 2 + 8 * 6 * 4); /* two aggs in the pod, else four cores */
    assert_int_equal(shortest.shortest.paths, shortest.paths);
    assert_int_equal(all.shortest.paths, shortest.paths);
    assert_true(all.paths > shortest.paths);
    assert_int_equal(all.shortest.ambiguous + all.misread + shortest.ambiguous, 0);
    pd_codec_free(codec);
    pd_topology_free(t);
    verify_spoiled(2, no_rules, 6,
                   &all); /* no tag at all: every detour looks like a shortest path */
    assert_int_equal(all.shortest.ambiguous, shortest.paths);
    assert_int_equal(all.misread, 976 - shortest.paths);
}

/* ---- the length from which a path is suspicious */

/* No path of at most so many hops is punted; longer ones are, all where tags tell the length. */
static void paths_are_suspicious_from_a_length_on(void **state)
{
    static const struct {
        struct naive naive;
        unsigned max_hops;
        bool all;  /* that are longer */
        bool more; /* than without this option */
    } cases[] = {
        {{.kind = NAIVE_LEAF_SPINE, .k = 3, .leaves = 4}, 2, true, true},
        {{.kind = NAIVE_LEAF_SPINE, .k = 3, .leaves = 4}, 4, true, false},
        {{.kind = NAIVE_VL2, .k = 4}, 6, false, false},
        {{.kind = NAIVE_VL2, .k = 4}, 4, false, true},
        {{.kind = NAIVE_FAT_TREE, .k = 4}, 4, false, true},
        {{.kind = NAIVE_FAT_TREE, .k = 4}, 6, false, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pd_topology *t;
        struct pd_verification within, all, usual;
        struct pd_codec *codec = naive_codec_within(&cases[i].naive, cases[i].max_hops, &t);
        assert_non_null(codec);
        assert_int_equal(
            pd_codec_verify(codec, PD_VERIFY_ALL, cases[i].max_hops, NULL, NULL, &within), 0);
        assert_int_equal(pd_codec_verify(codec, PD_VERIFY_ALL, 8, NULL, NULL, &all), 0);
        assert_int_equal(within.punted + within.ambiguous + within.undecodable, 0);
        pd_codec_free(codec);
        pd_topology_free(t);
        codec = naive_codec(&cases[i].naive, &t);
        assert_int_equal(pd_codec_verify(codec, PD_VERIFY_ALL, 8, NULL, NULL, &usual), 0);
        assert_int_equal(all.paths, usual.paths);
        assert_true(cases[i].more ? all.punted > usual.punted : all.punted >= usual.punted);
        if (cases[i].all) {
            assert_int_equal(all.punted, all.paths - within.paths);
        }
        pd_codec_free(codec);
        pd_topology_free(t);
    }
}

/* Less than shortest paths have would punt them. */
static void shortest_paths_are_never_suspicious(void **state)
{
    struct pd_topology *t;
    const struct naive naive = {.kind = NAIVE_FAT_TREE, .k = 4};
    (void)state;
    assert_null(naive_codec_within(&naive, 3, &t));
    pd_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fat_trees_have_no_ambiguous_path),
        cmocka_unit_test(vl2_has_no_ambiguous_path),
        cmocka_unit_test(progress_comes_from_the_caller),
        cmocka_unit_test(hops_have_bounds),
        cmocka_unit_test(schemes_that_fail_are_found_out),
        cmocka_unit_test(shortest_paths_are_a_scope),
        cmocka_unit_test(paths_are_suspicious_from_a_length_on),
        cmocka_unit_test(shortest_paths_are_never_suspicious),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
