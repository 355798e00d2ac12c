/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of codec/marks.h and of the mark of link tags. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "codec/marks.h"
#include "codec/tagging/mark.h"

static void link_tags_round_trip(void **state)
{
    const uint16_t vids[PD_TAGGING_TAGS_MAX] = {9, 4095, 0, 258};

    (void)state;
    for (unsigned len = 0; len <= PD_TAGGING_TAGS_MAX; len++) {
        struct pd_mark mark = pd_tagging_mark(vids, len, 63);
        struct pd_mark_field fields[PD_MARK_FIELDS_MAX];
        uint16_t read[PD_TAGGING_TAGS_MAX];
        uint8_t dscp;

        assert_int_equal(pd_codec_mark_check(&mark), 0);
        assert_int_equal(pd_tagging_mark_read(&mark, read, &dscp), len);
        assert_int_equal(dscp, 63);
        assert_int_equal(pd_codec_mark_fields(&mark, fields), 2);
        assert_string_equal(fields[0].name, "tags");
        assert_int_equal(fields[0].len, len);
        assert_int_equal(fields[1].values[0], 63);
        assert_false(fields[1].implied);
        for (unsigned i = 0; i < PD_TAGGING_TAGS_MAX; i++) {
            assert_int_equal(read[i], i < len ? vids[i] : 0);
            assert_true(i >= len || fields[0].values[i] == vids[i]);
        }
    }
}

/* As tags, then their number, then the DSCP. */
static void link_tags_are_ordered(void **state)
{
    const struct pd_mark marks[] = {
        {.scheme = PD_MARK_NONE},
        pd_tagging_mark((uint16_t[]){0}, 0, 3),
        pd_tagging_mark((uint16_t[]){0}, 1, 0),
        pd_tagging_mark((uint16_t[]){2, 0}, 1, 0),
        pd_tagging_mark((uint16_t[]){2, 0}, 2, 0),
        pd_tagging_mark((uint16_t[]){2, 1}, 2, 0),
        pd_tagging_mark((uint16_t[]){2, 256}, 2, 0),
        pd_tagging_mark((uint16_t[]){3, 0}, 1, 0),
    };

    (void)state;
    for (size_t i = 1; i < sizeof marks / sizeof *marks; i++) {
        assert_true(pd_mark_compare(&marks[i - 1], &marks[i]) < 0);
    }
}

static void what_no_scheme_leaves_is_refused(void **state)
{
    struct pd_mark none = {0}, good = pd_tagging_mark((uint16_t[]){7}, 1, 0), bad;

    (void)state;
    assert_int_equal(pd_codec_mark_check(&none), 0);
    bad = (struct pd_mark){.scheme = PD_MARK_NONE, .len = 1};
    assert_int_equal(pd_codec_mark_check(&bad), -PD_E_VALUE);
    bad = (struct pd_mark){.scheme = 255, .len = 1};
    assert_int_equal(pd_codec_mark_check(&bad), -PD_E_UNSUPPORTED);
    bad = good, bad.len = PD_MARK_BYTES + 1;
    assert_int_equal(pd_codec_mark_check(&bad), -PD_E_VALUE);
    bad = good, bad.bytes[PD_MARK_BYTES - 1] = 1; /* behind its bytes */
    assert_int_equal(pd_codec_mark_check(&bad), -PD_E_VALUE);
    bad = good, bad.bytes[8] = PD_TAGGING_TAGS_MAX + 1;
    assert_int_equal(pd_codec_mark_check(&bad), -PD_E_VALUE);
    bad = good, bad.bytes[2] = 1; /* a tag behind the last one */
    assert_int_equal(pd_codec_mark_check(&bad), -PD_E_VALUE);
    bad = (struct pd_mark){.scheme = PD_TAGGING_SCHEME, .len = good.len}; /* is no mark */
    assert_int_equal(pd_codec_mark_check(&bad), -PD_E_VALUE);
    good = pd_tagging_mark(NULL, 0, 0);
    assert_true(pd_mark_equal(&good, &none));
}

static void numbers_of_schemes_are_given_once(void **state)
{
    (void)state;
    for (size_t i = 0; pd_codec_schemes[i]; i++) {
        assert_int_not_equal(pd_codec_schemes[i]->number, PD_MARK_NONE);
        assert_ptr_equal(pd_codec_scheme(pd_codec_schemes[i]->number), pd_codec_schemes[i]);
    }
    assert_null(pd_codec_scheme(PD_MARK_NONE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(link_tags_round_trip),
        cmocka_unit_test(link_tags_are_ordered),
        cmocka_unit_test(what_no_scheme_leaves_is_refused),
        cmocka_unit_test(numbers_of_schemes_are_given_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
