/* SPDX-License-Identifier: Apache-2.0 */
/* What somebody may have meant. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

#include "base/nearest.h"

static void distances(void **state)
{
    static const struct {
        const char *a, *b;
        unsigned distance;
    } cases[] = {{"", "", 0},
                 {"query", "query", 0},
                 {"querry", "query", 1},
                 {"qurey", "query", 1},
                 {"", "abc", 3},
                 {"abc", "", 3},
                 {"abc", "xyz", 3},
                 {"getFlow", "getFlows", 1},
                 {"agnet", "agent", 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(pd_nearest_distance(cases[i].a, cases[i].b), cases[i].distance);
        assert_int_equal(pd_nearest_distance(cases[i].b, cases[i].a), cases[i].distance);
    }
}

static void texts_of_any_length(void **state)
{
    char longest[4 * PD_NEAREST_MAX];
    struct pd_nearest nearest = {.text = longest};
    (void)state;
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(pd_nearest_distance(longest, ""), PD_NEAREST_MAX);
    assert_true(pd_nearest_offer(&nearest, longest));
    assert_int_equal(strlen(nearest.found), PD_NEAREST_MAX);
}

static const char *hint(const char *text, char out[PD_NEAREST_HINT_BYTES])
{
    static const char *const names[] = {"query", "install", "apps", "app", NULL};
    struct pd_nearest nearest = {.text = text};
    for (size_t i = 0; names[i]; i++) {
        pd_nearest_offer(&nearest, names[i]);
    }
    return pd_nearest_hint(&nearest, "--", out);
}

/* A slip has a hint, something else has none. */
static void slips(void **state)
{
    char text[PD_NEAREST_HINT_BYTES];
    struct pd_nearest nothing = {.text = "x"};
    (void)state;
    assert_string_equal(hint("querry", text), "; did you mean --query?");
    assert_string_equal(hint("instal", text), "; did you mean --install?");
    assert_string_equal(hint("aps", text), "; did you mean --apps?");
    assert_string_equal(hint("nonsense", text), "");
    assert_string_equal(hint("x", text), "");
    assert_string_equal(hint("", text), "");
    assert_string_equal(pd_nearest_hint(&nothing, "", text), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances),
        cmocka_unit_test(texts_of_any_length),
        cmocka_unit_test(slips),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
