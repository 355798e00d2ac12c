/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels on columns of random values: what they find is what a loop in plain words finds. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "tests/shared/random.h"
#include "tib/lmdb/kernels.h"

#define ROWS 1000u
#define ROOM 192u

static struct random rnd;

/* Small, large and extreme values, so that sums run over 32 bits, too. */
static uint32_t some_time(void)
{
    static const uint32_t edges[] = {0, 1, UINT32_MAX - 1, UINT32_MAX, UINT32_C(1) << 31};
    const uint32_t kind = (uint32_t)random_below(&rnd, 8);

    return kind < sizeof edges / sizeof *edges ? edges[kind] : (uint32_t)random_next(&rnd);
}

/* Times mostly far from the edges, so that groups without any row come, too. */
static void fill(uint32_t *stime, uint32_t *duration)
{
    const bool wild = random_below(&rnd, 2);

    for (unsigned i = 0; i < ROWS; i++) {
        stime[i] = wild ? some_time() : 1000 + (uint32_t)random_below(&rnd, 1000);
        duration[i] = wild ? some_time() : (uint32_t)random_below(&rnd, i % 200 ? 10 : 5000);
    }
}

static void lasting_rows(void **state)
{
    uint32_t stime[ROWS], duration[ROWS], found[ROOM];
    const struct pd_column columns[] = {
        {.at = (const uint8_t *)stime, .len = ROWS, .width_bytes = 4},
        {.at = (const uint8_t *)duration, .len = ROWS, .width_bytes = 4}};

    (void)state;
    for (unsigned round = 0; round < 400; round++) {
        const uint32_t most = round % 2 ? some_time() : 1500,
                       until = round % 3 ? some_time() : 2500;
        size_t next = random_below(&rnd, 100), at = next, last = ROWS - random_below(&rnd, 100);

        fill(stime, duration);
        while (next < last) {
            const size_t len = pd_lmdb_kernels()->find_lasting(&columns[0], &columns[1], most,
                                                               until, &next, last, found, ROOM);
            size_t i = 0;

            assert_true(next > at && len <= ROOM);
            for (; at < next; at++) {
                if (stime[at] <= most && (uint64_t)stime[at] + duration[at] >= until) {
                    assert_true(i < len);
                    assert_int_equal(found[i++], at);
                }
            }
            assert_int_equal(i, len);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lasting_rows)};

    rnd.state = test_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
