/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms against sorted samples: quantiles, merging, halving, coverage of the intervals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "telemetry/histogram.h"
#include "tests/shared/random.h"

static int compare(const void *a, const void *b)
{
    return *(const unsigned *)a < *(const unsigned *)b ? -1 : 1;
}

static void quantiles_are_those_of_the_samples(void **state)
{
    struct random random = {test_seed()};
    static const double shares[] = {0, .01, .25, .5, .75, .9, .99, 1};
    (void)state;
    for (unsigned round = 0; round < 200; round++) {
        struct pd_telemetry_histogram histogram;
        const unsigned codes = 1 + (unsigned)random_below(&random, 256);
        const unsigned len = 1 + (unsigned)random_below(&random, 300);
        unsigned *samples = malloc(len * sizeof *samples);
        assert_int_equal(pd_telemetry_histogram_init(&histogram, codes), 0);
        for (unsigned i = 0; i < len; i++) {
            samples[i] = (unsigned)random_below(&random, codes);
            assert_true(pd_telemetry_histogram_add(&histogram, samples[i], 1));
        }
        qsort(samples, len, sizeof *samples, compare);
        for (size_t s = 0; s < sizeof shares / sizeof *shares; s++) {
            struct pd_telemetry_codes found;
            unsigned rank = (unsigned)ceil(shares[s] * len - 1e-9);
            rank += rank == 0;
            assert_true(pd_telemetry_histogram_quantile(&histogram, shares[s], &found));
            assert_int_equal(found.first, samples[rank - 1]);
            assert_int_equal(found.last, samples[rank - 1]);
        }
        assert_false(pd_telemetry_histogram_add(&histogram, codes, 1));
        pd_telemetry_histogram_done(&histogram);
        free(samples);
    }
}

/* In any order, halved at any time: the same as all at once. */
static void merging_is_addition(void **state)
{
    struct random random = {test_seed()};
    (void)state;
    for (unsigned round = 0; round < 100; round++) {
        struct pd_telemetry_histogram all, parts[3];
        const unsigned codes = 2 + (unsigned)random_below(&random, 255);
        const size_t budget = 4 + random_below(&random, 4 * codes);
        pd_telemetry_histogram_init(&all, codes);
        for (unsigned p = 0; p < 3; p++) {
            pd_telemetry_histogram_init(&parts[p], codes);
        }
        for (unsigned i = 0; i < 500; i++) {
            const unsigned code = (unsigned)random_below(&random, codes);
            pd_telemetry_histogram_add(&all, code, 1);
            pd_telemetry_histogram_add(&parts[i % 3], code, 1);
            if (i == 200) {
                pd_telemetry_histogram_fit(&parts[1], budget);
            }
        }
        assert_true(pd_telemetry_histogram_merge(&parts[0], &parts[1]));
        assert_true(pd_telemetry_histogram_merge(&parts[0], &parts[2]));
        pd_telemetry_histogram_fit(&all, budget);
        assert_int_equal(parts[0].halved, all.halved);
        assert_int_equal(parts[0].samples, 500);
        assert_memory_equal(parts[0].counts, all.counts, pd_telemetry_histogram_bytes(&all));
        assert_true(pd_telemetry_histogram_bytes(&all) <= budget);
        for (unsigned p = 0; p < 3; p++) {
            pd_telemetry_histogram_done(&parts[p]);
        }
        pd_telemetry_histogram_done(&all);
    }
}

static void other_codes_do_not_merge(void **state)
{
    struct pd_telemetry_histogram a, b;
    (void)state;
    pd_telemetry_histogram_init(&a, 4);
    pd_telemetry_histogram_init(&b, 5);
    assert_false(pd_telemetry_histogram_merge(&a, &b));
    pd_telemetry_histogram_done(&a);
    pd_telemetry_histogram_done(&b);
}

static void counts_stop_at_their_end(void **state)
{
    struct pd_telemetry_histogram histogram;
    (void)state;
    pd_telemetry_histogram_init(&histogram, 2);
    pd_telemetry_histogram_add(&histogram, 0, UINT32_MAX);
    pd_telemetry_histogram_add(&histogram, 0, 7);
    pd_telemetry_histogram_add(&histogram, 1, 7);
    assert_int_equal(histogram.samples, (uint64_t)UINT32_MAX + 7);
    pd_telemetry_histogram_fit(&histogram, 1);
    assert_int_equal(histogram.samples, UINT32_MAX);
    pd_telemetry_histogram_done(&histogram);
}

/* The interval holds the true median in about 95 of 100 draws. */
static void intervals_cover(void **state)
{
    struct random random = {test_seed()};
    unsigned covered = 0;
    (void)state;
    for (unsigned round = 0; round < 1000; round++) {
        struct pd_telemetry_histogram histogram;
        struct pd_telemetry_codes low, high;
        pd_telemetry_histogram_init(&histogram, 256);
        for (unsigned i = 0; i < 200; i++) {
            pd_telemetry_histogram_add(&histogram, (unsigned)random_below(&random, 256), 1);
        }
        assert_true(pd_telemetry_histogram_interval(&histogram, .5, &low, &high));
        covered += low.first <= 127 && high.last >= 128;
        pd_telemetry_histogram_done(&histogram);
    }
    assert_true(covered >= 915); /* five standard deviations below 950 */
}

static void frequent_codes(void **state)
{
    struct pd_telemetry_histogram histogram;
    struct pd_telemetry_codes found[2];
    (void)state;
    pd_telemetry_histogram_init(&histogram, 8);
    pd_telemetry_histogram_add(&histogram, 1, 60);
    pd_telemetry_histogram_add(&histogram, 4, 10);
    pd_telemetry_histogram_add(&histogram, 6, 30);
    assert_int_equal(pd_telemetry_histogram_frequent(&histogram, .3, found, 2), 2);
    assert_int_equal(found[0].first, 1);
    assert_int_equal(found[1].last, 6);
    assert_int_equal(pd_telemetry_histogram_frequent(&histogram, 0, found, 1), 3);
    pd_telemetry_histogram_done(&histogram);
    assert_false(
        pd_telemetry_histogram_quantile(&(struct pd_telemetry_histogram){.codes = 1}, .5, found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_those_of_the_samples),
        cmocka_unit_test(merging_is_addition),
        cmocka_unit_test(other_codes_do_not_merge),
        cmocka_unit_test(counts_stop_at_their_end),
        cmocka_unit_test(intervals_cover),
        cmocka_unit_test(frequent_codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
