/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of link metrics: values over steps, minutes made of samples, other topologies,
 * memory. Against a naive list of all samples. */
#include <math.h>

#include "controller/links/history.h"
#include "fleet.h"

#define LINKS    64u
#define PERIOD   UINT64_C(2000000)
#define START_US (UINT64_C(1700000040) * 1000000) /* a whole minute */

static float drawn(uint64_t n, uint32_t link)
{
    return link % 3 ? 0 : (float)((n * 7 + link * 13) % 101);
}

static void push(struct pd_link_history *history, uint64_t n, uint64_t generation)
{
    float values[PD_LINK_METRICS_MAX][LINKS];
    struct pd_link_sample sample = {.generation = generation,
                                    .from_us = START_US + n * PERIOD,
                                    .to_us = START_US + (n + 1) * PERIOD,
                                    .len = LINKS};

    for (unsigned m = 0; pd_link_metrics[m]; m++) {
        for (uint32_t i = 0; i < LINKS; i++) {
            values[m][i] = drawn(n + m, i);
        }
        sample.values[m] = values[m];
    }
    pd_link_history_push(history, &sample);
}

static float expected(unsigned m, uint32_t link, uint64_t first, uint64_t len)
{
    double sum = 0, most = 0;

    for (uint64_t n = first; n < first + len; n++) {
        sum += (double)drawn(n + m, link) / (double)len;
        most = fmax(most, (double)drawn(n + m, link));
    }
    return (float)(pd_link_metrics[m]->fold == PD_LINK_MEAN ? sum : most);
}

static void check(const struct pd_link_history *history, uint64_t first, uint64_t len)
{
    for (unsigned m = 0; pd_link_metrics[m]; m++) {
        for (uint32_t i = 0; i < LINKS && !pd_link_metrics[m]->of; i++) {
            float value;

            assert_true(pd_link_history_value(history, 1, m, i, START_US + first * PERIOD,
                                              START_US + (first + len) * PERIOD, &value));
            assert_true(fabsf(value - expected(m, i, first, len)) < 1e-3F);
        }
    }
}

static bool knows(const struct pd_link_history *history, uint64_t first, uint64_t len)
{
    float value;

    return pd_link_history_value(history, 1, 0, 0, START_US + first * PERIOD,
                                 START_US + (first + len) * PERIOD, &value);
}

static void test_steps(void **state)
{
    struct pd_link_history history = {0};

    (void)state;
    assert_false(knows(&history, 0, 1));
    for (uint64_t n = 0; n < 1800; n++) {
        push(&history, n, 1);
    }
    check(&history, 1799, 1);
    check(&history, 1700, 10);
    check(&history, 60, 30);  /* a minute of long ago */
    check(&history, 30, 300); /* several of them */
    assert_false(knows(&history, 60, 1));
    assert_false(knows(&history, 1799, 2));
    assert_false(knows(&history, 61, 30));
    pd_link_history_done(&history);
}

/* A minute of which a moment is missing is not told. */
static void test_gap(void **state)
{
    struct pd_link_history history = {0};

    (void)state;
    for (uint64_t n = 0; n < 600; n++) {
        if (n != 75) {
            push(&history, n, 1);
        }
    }
    check(&history, 30, 30);
    check(&history, 90, 30);
    assert_false(knows(&history, 60, 30));
    assert_false(knows(&history, 30, 90));
    pd_link_history_done(&history);
}

static void test_forgets(void **state)
{
    struct pd_link_history history = {0};

    (void)state;
    for (uint64_t n = 0; n < 10; n++) {
        push(&history, n, 1);
    }
    push(&history, 10, 2); /* another topology */
    assert_false(knows(&history, 9, 1));
    push(&history, 11, 1);
    check(&history, 11, 1);
    push(&history, 3, 1); /* a clock that was set back */
    assert_false(knows(&history, 11, 1));
    check(&history, 3, 1);
    pd_link_history_done(&history);
    pd_link_history_done(&history);
}

static void test_bounded(void **state)
{
    enum { MANY = 1 << 20 };
    struct pd_link_history history = {0};
    float *values = malloc(MANY * sizeof *values);

    (void)state;
    assert_non_null(values);
    for (uint32_t i = 0; i < MANY; i++) {
        values[i] = 1;
    }
    for (uint64_t n = 0; n < 60; n++) {
        struct pd_link_sample sample = {.generation = 1,
                                        .from_us = START_US + n * PERIOD,
                                        .to_us = START_US + (n + 1) * PERIOD,
                                        .len = MANY,
                                        .values = {values}};

        pd_link_history_push(&history, &sample);
        assert_true(history.bytes <= PD_LINK_HISTORY_BYTES);
    }
    assert_true(history.dropped > 20);
    assert_true(knows(&history, 59, 1));
    assert_false(knows(&history, 0, 1));
    pd_link_history_done(&history);
    free(values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_gap),
        cmocka_unit_test(test_forgets),
        cmocka_unit_test(test_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
