/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of base/claim.h and base/mark.h: names, order, equality. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/claim.h"
#include "base/error.h"

static const struct pd_path path = {.len = 2, .switches = {1, 9}},
                            same = {.len = 2, .switches = {1, 9}}, other = {.len = 0};

static void names_are_found_again(void **state)
{
    uint8_t number = 77;

    (void)state;
    for (unsigned i = 0; i < PD_CLAIM_STATE_COUNT; i++) {
        assert_int_equal(pd_claim_state_parse(pd_claim_state_id(i), &number), 0);
        assert_int_equal(number, i);
    }
    for (unsigned i = 0; i < PD_ORIGIN_COUNT; i++) {
        assert_int_equal(pd_origin_parse(pd_origin_id(i), &number), 0);
        assert_int_equal(number, i);
    }
    number = 77;
    assert_int_equal(pd_origin_parse("any", &number), -PD_E_VALUE);
    assert_int_equal(pd_claim_state_parse("", &number), -PD_E_VALUE);
    assert_int_equal(number, 77);
    assert_string_equal(pd_origin_id(PD_ORIGIN_COUNT), "unknown");
    assert_string_equal(pd_claim_state_id(PD_CLAIM_STATE_COUNT), "unknown");
}

static void marks_are_ordered_by_scheme_and_bytes(void **state)
{
    const struct pd_mark marks[] = {{0}, {1, 1, {1}}, {1, 2, {1}}, {1, 1, {2}}, {2, 1, {1}}};

    (void)state;
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < 5; j++) {
            int order = pd_mark_compare(&marks[i], &marks[j]);

            assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
            assert_int_equal(pd_mark_equal(&marks[i], &marks[j]), i == j);
            assert_int_equal(pd_mark_hash(&marks[i]) == pd_mark_hash(&marks[j]), i == j);
        }
    }
}

static void claims_differ_in_each_of_their_parts(void **state)
{
    const struct pd_claim claims[] = {{.path = &path},
                                      {.path = &other},
                                      {.path = &path, .candidates = 2},
                                      {.path = &path, .state = PD_CLAIM_PARTIAL},
                                      {.path = &path, .origin = PD_ORIGIN_TRACE},
                                      {.path = &path, .mark = {1, 1, {7}}}};
    const struct pd_claim again = {.path = &same};

    (void)state;
    assert_true(pd_claim_equal(&claims[0], &again));
    assert_int_equal(pd_claim_hash(&claims[0]), pd_claim_hash(&again));
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < 6; j++) {
            assert_int_equal(pd_claim_equal(&claims[i], &claims[j]), i == j);
            assert_int_equal(pd_claim_hash(&claims[i]) == pd_claim_hash(&claims[j]), i == j);
        }
    }
}

/* Each path once, under a number; also one of as many switches as there can be, with repeats. */
static void paths_are_kept_once(void **state)
{
    struct pd_path longest = {.len = PD_PATH_MAX}, longer = {.len = PD_PATH_MAX + 1}, made;
    const struct pd_path *kept, *again;
    uint32_t first, number;
    struct pd_path_counters before = pd_path_counters();

    (void)state;
    for (unsigned i = 0; i < PD_PATH_MAX; i++) {
        longest.switches[i] = 1 + i % 3;
    }
    assert_int_equal(pd_path_intern(&longest, &kept, &first), 0);
    assert_true(pd_path_equal(kept, &longest));
    assert_ptr_equal(pd_path_at(first), kept);
    assert_int_equal(pd_path_intern(&longest, &again, &number), 0);
    assert_ptr_equal(again, kept);
    assert_int_equal(number, first);
    assert_int_equal(pd_path_intern(&longer, &again, &number), -PD_E_VALUE);
    for (uint32_t i = 0; i < 20000; i++) {
        made = (struct pd_path){.len = 1 + i % 7, .switches = {[0] = i + 1}};
        assert_int_equal(pd_path_intern(&made, &again, &number), 0);
        assert_int_equal(number, first + 1 + i);
        assert_true(pd_path_equal(again, &made));
    }
    assert_int_equal(pd_path_counters().kept - before.kept, 20001);
    assert_null(pd_path_at(number + 1));
    assert_true(pd_path_equal(pd_path_at(first), &longest));
}

static void paths_are_ordered(void **state)
{
    const struct pd_path paths[] = {{.len = 0},
                                    {.len = 1, .switches = {1}},
                                    {.len = 2, .switches = {1, 0}},
                                    {.len = 2, .switches = {1, 2}},
                                    {.len = 1, .switches = {2}}};

    (void)state;
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < 5; j++) {
            int order = pd_path_compare(&paths[i], &paths[j]);

            assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
        }
    }
    assert_false(pd_path_crosses(&paths[2], (struct pd_link_match){1, 0})); /* a gap is no switch */
    assert_true(pd_path_crosses(&paths[3], (struct pd_link_match){1, 0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found_again),
        cmocka_unit_test(marks_are_ordered_by_scheme_and_bytes),
        cmocka_unit_test(claims_differ_in_each_of_their_parts),
        cmocka_unit_test(paths_are_kept_once),
        cmocka_unit_test(paths_are_ordered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
