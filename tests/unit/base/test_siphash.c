/* SPDX-License-Identifier: Apache-2.0 */
/* SipHash-2-4 and hexadecimal digits: the vectors of the hash's authors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/hex.h"
#include "base/siphash.h"

/* Key and message count up from 0, as in the reference's vectors. */
static void the_hash_is_that_of_its_authors(void **state)
{
    uint8_t bytes[16];
    (void)state;
    for (size_t n = 0; n < sizeof bytes; n++) {
        bytes[n] = (uint8_t)n;
    }
    assert_true(pd_siphash(bytes, bytes, 0) == UINT64_C(0x726fdb47dd0e0e31));
    assert_true(pd_siphash(bytes, bytes, 8) == UINT64_C(0x93f5f5799a932462));
    assert_true(pd_siphash(bytes, bytes, 15) == UINT64_C(0xa129ca6149be45e5));
}

static void digits_are_read_two_a_byte(void **state)
{
    uint8_t bytes[3];
    size_t len = 9;
    (void)state;
    assert_int_equal(pd_hex_parse("00fFa5", bytes, 3, &len), 0);
    assert_int_equal(len, 3);
    assert_int_equal(bytes[1] << 8 | bytes[2], 0xffa5);
    assert_int_equal(pd_hex_parse("", bytes, 3, &len), 0);
    assert_int_equal(len, 0);
    assert_int_equal(pd_hex_parse("0", bytes, 3, &len), -PD_E_VALUE);
    assert_int_equal(pd_hex_parse("0g", bytes, 3, &len), -PD_E_VALUE);
    assert_int_equal(pd_hex_parse("00000000", bytes, 3, &len), -PD_E_VALUE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hash_is_that_of_its_authors),
        cmocka_unit_test(digits_are_read_two_a_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
