/* SPDX-License-Identifier: Apache-2.0 */
/* Trials of schemes with samples, on the toy of tests/extension: what is right, wrong and undecided
 * is counted as that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codec/samples.h"

extern const struct pd_codec_ops toy_samples;

static struct pd_codec_trials_outcome try(const struct pd_codec_ops *ops, uint32_t packets_max)
{
    const struct pd_codec_trials wanted = {.trials = 500, .seed = 7, .packets_max = packets_max};
    struct pd_codec_trials_outcome outcome;
    struct pd_topology *topology;
    struct pd_codec *codec;
    assert_int_equal(pd_topology_fat_tree(4, &topology, NULL), 0);
    assert_int_equal(ops->new (ops, topology, NULL, &codec, NULL), 0);
    assert_int_equal(pd_codec_samples_try(codec, &wanted, &outcome), 0);
    assert_int_equal(outcome.trials, 500);
    pd_codec_free(codec);
    pd_topology_free(topology);
    return outcome;
}

static void paths_are_told(void **state)
{
    (void)state;
    struct pd_codec_trials_outcome outcome = try(&toy_samples, 10000);
    assert_int_equal(outcome.undecided, 0);
    assert_int_equal(outcome.wrong, 0);
    assert_true(outcome.mean > 22 &&
                outcome.mean < 27); /* 12 (1 + 1/2 + 1/3 + 1/4), less in pods */
    assert_true(outcome.p50 <= outcome.p99 && outcome.p99 > outcome.mean);
}

static void two_packets_tell_no_path_of_four_hops(void **state)
{
    (void)state;
    struct pd_codec_trials_outcome outcome = try(&toy_samples, 2);
    assert_true(outcome.undecided > 400);
    assert_int_equal(outcome.wrong, 0);
}

static int decide_for_another(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor,
                              const void *state, struct pd_decoding *ret_decoding,
                              struct pd_error *error)
{
    (void)codec;
    (void)state;
    (void)error;
    *ret_decoding = (struct pd_decoding){.state = PD_DECODING_EXACT};
    ret_decoding->walk = (struct pd_walk){.len = 2, .switches = {src_tor, dst_tor}};
    return 0;
}

static int refuse(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor,
                  const void *state, struct pd_decoding *ret_decoding, struct pd_error *error)
{
    decide_for_another(codec, src_tor, dst_tor, state, ret_decoding, error);
    return -PD_E_INFEASIBLE;
}

static void another_path_and_none_are_wrong(void **state)
{
    (void)state;
    struct pd_codec_ops liar = toy_samples;
    liar.decide = decide_for_another;
    assert_int_equal(try(&liar, 10).wrong, 500);
    liar.decide = refuse;
    assert_int_equal(try(&liar, 10).wrong, 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_told),
        cmocka_unit_test(two_packets_tell_no_path_of_four_hops),
        cmocka_unit_test(another_path_and_none_are_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
