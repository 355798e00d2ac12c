/* SPDX-License-Identifier: Apache-2.0 */
/* Counts, bins and columns of hops' measurements, against arrays of all codes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "telemetry/column.h"
#include "tests/shared/random.h"

#define SERIES 3
#define HOPS   7
#define CODES  256

static uint64_t values[CODES];
static struct random rng;

static unsigned below(unsigned most)
{
    return (unsigned)random_below(&rng, most);
}

/* Random samples in a table, and beside it how often each came. */
static void fill(struct pd_telemetry_counts *counts, size_t *budget, unsigned samples,
                 uint32_t plain[SERIES][HOPS + 1][CODES])
{
    for (unsigned i = 0; i < samples; i++) {
        const unsigned series = below(SERIES), hop = below(HOPS + 1), code = below(CODES);
        assert_true(pd_telemetry_counts_add(counts, budget, series, hop, code));
        plain[series][hop][code]++;
    }
}

static void counts_are_those_of_an_array(void **state)
{
    static uint32_t plain[SERIES][HOPS + 1][CODES];
    struct pd_telemetry_counts counts = {0};
    size_t budget = 1 << 20;
    (void)state;
    fill(&counts, &budget, 20000, plain);
    struct pd_telemetry_cell *cells = calloc(counts.len, sizeof *cells);
    pd_telemetry_counts_sorted(&counts, cells);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < counts.len; i++) {
        assert_int_equal(cells[i].count, plain[cells[i].series][cells[i].hop][cells[i].code]);
        sum += cells[i].count;
        if (i) {
            const struct pd_telemetry_cell *a = &cells[i - 1], *b = &cells[i];
            assert_true(a->series < b->series || (a->series == b->series && a->hop < b->hop) ||
                        (a->series == b->series && a->hop == b->hop && a->code < b->code));
        }
    }
    assert_int_equal(sum, 20000);
    free(cells);
    pd_telemetry_counts_clear(&counts, &budget);
    assert_int_equal(budget, 1 << 20);
}

static void a_budget_bounds_all_tables(void **state)
{
    struct pd_telemetry_counts one = {0}, two = {0};
    size_t budget = 16 * sizeof(struct pd_telemetry_cell);
    (void)state;
    for (unsigned code = 0; code < 12; code++) {
        assert_true(pd_telemetry_counts_add(&one, &budget, 0, 1, code));
    }
    assert_false(pd_telemetry_counts_add(&one, &budget, 0, 1, 12));
    assert_true(pd_telemetry_counts_add(&one, &budget, 0, 1, 3)); /* a known one has room */
    assert_false(pd_telemetry_counts_add(&two, &budget, 0, 1, 0));
    pd_telemetry_counts_clear(&one, &budget);
    assert_true(pd_telemetry_counts_add(&two, &budget, 0, 1, 0));
    pd_telemetry_counts_clear(&two, &budget);
}

static size_t written(const struct pd_telemetry_counts *counts, uint64_t space, uint8_t *bytes)
{
    const struct pd_telemetry_scale scales[SERIES] = {{"latency", values, CODES, space},
                                                      {"queue", values, CODES, space},
                                                      {"worst", values, CODES, space}};
    struct pd_telemetry_cell *cells = calloc(counts->len + 1, sizeof *cells);
    pd_telemetry_counts_sorted(counts, cells);
    const size_t len =
        pd_telemetry_column_write(cells, counts->len, scales, 2, HOPS - 1, 23, bytes);
    free(cells);
    return len;
}

/* Hop 1 is no switch: the first one is hop 2. */
static void columns_tell_what_was_written(void **state)
{
    static uint32_t plain[SERIES][HOPS + 1][CODES];
    uint8_t bytes[PD_TELEMETRY_COLUMN_BYTES_MAX];
    struct pd_telemetry_counts counts = {0};
    struct pd_telemetry_column column;
    struct pd_telemetry_series series;
    size_t budget = 1 << 20;
    uint64_t sum = 0, all = 0;
    (void)state;
    fill(&counts, &budget, 500, plain);
    const size_t len = written(&counts, 0, bytes);
    assert_int_equal(pd_telemetry_column_open(bytes, len, &column), 0);
    assert_int_equal(column.host, 23);
    series.name[0] = '\0';
    while (pd_telemetry_column_next(&column, &series)) {
        const unsigned s = *series.name == 'l' ? 0 : *series.name == 'q' ? 1 : 2;
        const unsigned hop = series.place ? series.place + 1 : 0;
        for (uint32_t i = 0; i < series.len; i++) {
            assert_int_equal(series.bins[i].count, plain[s][hop][series.bins[i].value / 1000]);
            sum += series.bins[i].count;
        }
    }
    for (unsigned s = 0; s < SERIES; s++) {
        for (unsigned hop = 0; hop <= HOPS; hop++) {
            for (unsigned code = 0; hop != 1 && code < CODES; code++) {
                all += plain[s][hop][code];
            }
        }
    }
    assert_int_equal(sum, all);
    pd_telemetry_counts_clear(&counts, &budget);
}

/* Too much for a column, or for the plan's space: codes become one, samples stay. */
static void columns_are_halved_until_they_fit(void **state)
{
    static uint32_t plain[SERIES][HOPS + 1][CODES];
    uint8_t bytes[PD_TELEMETRY_COLUMN_BYTES_MAX];
    struct pd_telemetry_counts counts = {0};
    struct pd_telemetry_column column;
    struct pd_telemetry_series series;
    size_t budget = 1 << 20;
    (void)state;
    fill(&counts, &budget, 50000, plain);
    const size_t len = written(&counts, 0, bytes), less = written(&counts, 6 * 64, bytes);
    assert_in_range(len, 1, PD_TELEMETRY_COLUMN_BYTES_MAX);
    assert_in_range(less, 1, len - 1);
    assert_int_equal(pd_telemetry_column_open(bytes, less, &column), 0);
    series.name[0] = '\0';
    uint64_t sum = 0;
    while (pd_telemetry_column_next(&column, &series)) {
        assert_true(series.len <= 16); /* 64 bytes a hop are 16 codes */
        for (uint32_t i = 0; i < series.len; i++) {
            sum += series.bins[i].count;
        }
    }
    for (unsigned s = 0; s < SERIES; s++) {
        for (unsigned code = 0; code < CODES; code++) {
            sum += plain[s][1][code];
        }
    }
    assert_int_equal(sum, 50000);
    pd_telemetry_counts_clear(&counts, &budget);
}

/* Each byte of a column changed to anything: it is read, or refused, and never beyond its end. */
static void damaged_columns_are_refused(void **state)
{
    uint8_t bytes[PD_TELEMETRY_COLUMN_BYTES_MAX], *copy;
    struct pd_telemetry_counts counts = {0};
    struct pd_telemetry_column column;
    size_t budget = 1 << 20;
    unsigned refused = 0;
    (void)state;
    for (unsigned i = 0; i < 40; i++) {
        assert_true(pd_telemetry_counts_add(&counts, &budget, 0, 2, below(CODES)));
    }
    const size_t len = written(&counts, 0, bytes);
    for (size_t i = 0; i < 20 * len; i++) {
        const size_t cut = len - below((unsigned)len);
        copy = malloc(cut); /* of its own: a sanitizer sees each byte beyond */
        memcpy(copy, bytes, cut);
        copy[below((unsigned)cut)] = (uint8_t)below(256);
        refused += pd_telemetry_column_open(copy, cut, &column) != 0;
        free(copy);
    }
    assert_in_range(refused, len, 20 * len);
    pd_telemetry_counts_clear(&counts, &budget);
}

static void bins_merge_in_any_order(void **state)
{
    static uint32_t plain[300];
    struct pd_telemetry_bins bins = {0};
    uint64_t samples = 0;
    (void)state;
    for (unsigned turn = 0; turn < 50; turn++) {
        struct pd_telemetry_bin more[300];
        size_t len = 0;
        for (unsigned value = below(5); value < 300; value += 1 + below(9)) {
            more[len] = (struct pd_telemetry_bin){value, 1 + below(4)};
            plain[value] += (uint32_t)more[len].count;
            samples += more[len++].count;
        }
        assert_int_equal(pd_telemetry_bins_add(&bins, more, len), 0);
    }
    assert_int_equal(bins.samples, samples);
    for (uint32_t i = 0; i < bins.len; i++) {
        assert_int_equal(bins.bins[i].count, plain[bins.bins[i].value]);
    }
    for (unsigned percent = 1; percent < 100; percent += 7) {
        const double share = percent / 100.;
        uint64_t low, high, rank = 0, value = 0;
        while (rank < (uint64_t)(share * (double)samples) + 1) {
            rank += plain[value++];
        }
        const uint64_t told = pd_telemetry_bins_quantile(&bins, share);
        assert_in_range(told, value - 2, value - 1);
        pd_telemetry_bins_interval(&bins, share, &low, &high);
        assert_true(low <= told && told <= high);
        /* At the ends 95 % may lie within one value, in the middle never. */
        assert_true(percent != 50 || low < high);
    }
    pd_telemetry_bins_done(&bins);
}

static void bins_are_bounded(void **state)
{
    struct pd_telemetry_bins bins = {0};
    (void)state;
    for (uint64_t value = 0; value < 5000; value++) {
        const struct pd_telemetry_bin one = {value * 977 % 5000, 1};
        assert_int_equal(pd_telemetry_bins_add(&bins, &one, 1), 0);
        assert_true(bins.len <= PD_TELEMETRY_BINS_MOST);
    }
    uint64_t sum = 0;
    for (uint32_t i = 0; i < bins.len; i++) {
        sum += bins.bins[i].count;
        assert_true(!i || bins.bins[i].value > bins.bins[i - 1].value);
    }
    assert_int_equal(sum, 5000);
    pd_telemetry_bins_done(&bins);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_those_of_an_array),
        cmocka_unit_test(a_budget_bounds_all_tables),
        cmocka_unit_test(columns_tell_what_was_written),
        cmocka_unit_test(columns_are_halved_until_they_fit),
        cmocka_unit_test(damaged_columns_are_refused),
        cmocka_unit_test(bins_merge_in_any_order),
        cmocka_unit_test(bins_are_bounded),
    };
    rng.state = test_seed();
    for (unsigned code = 0; code < CODES; code++) {
        values[code] = 1000 * (uint64_t)code;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
