/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that grow: what they hold stays, room doubles, and what does not fit leaves all as it was.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/grow.h"

static void items_stay(void **state)
{
    uint64_t *items = NULL;
    uint32_t room = 0, len = 0, grown = 0;
    (void)state;
    for (; len < 100000; len++) {
        uint32_t before = room;
        assert_int_equal(PD_GROW(items, room, len + 1), 0);
        grown += room != before;
        assert_non_null(items);
        items[len] = len * UINT64_C(3);
    }
    for (uint32_t i = 0; i < len; i++) {
        assert_int_equal(items[i], i * UINT64_C(3));
    }
    assert_int_equal(room, 131072);
    assert_int_equal(grown, 14); /* 16 … 131072 */
    free(items);
}

static void many_at_once(void **state)
{
    char *bytes = NULL;
    size_t room = 0;
    (void)state;
    assert_int_equal(PD_GROW(bytes, room, 0), 0); /* there is room for nothing */
    assert_null(bytes);
    assert_int_equal(PD_GROW(bytes, room, 1000), 0);
    assert_int_equal(room, 1024);
    assert_int_equal(PD_GROW(bytes, room, 10), 0);
    assert_int_equal(room, 1024);
    free(bytes);
}

static void what_does_not_fit_leaves_all_as_it_was(void **state)
{
    uint64_t *items = NULL, *at;
    uint8_t room = 0;
    size_t large = 0;
    (void)state;
    assert_int_equal(PD_GROW(items, room, 200), 0);
    assert_int_equal(room, 255); /* not 256, which the type does not hold */
    at = items;
    assert_int_equal(PD_GROW(items, room, 256), -ENOMEM);
    assert_int_equal(room, 255);
    assert_ptr_equal(items, at);
    free(items);
    items = NULL;
    assert_int_equal(PD_GROW(items, large, SIZE_MAX), -ENOMEM);
    assert_null(items);
    assert_int_equal(large, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_stay),
        cmocka_unit_test(many_at_once),
        cmocka_unit_test(what_does_not_fit_leaves_all_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
