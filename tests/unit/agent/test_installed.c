/* SPDX-License-Identifier: Apache-2.0 */
/* The list of installed queries: what is taken, and what survives a restart, damage and a full
 * disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "installed_fixture.h"

static void test_list(void **state)
{
    struct pd_error error = {0};
    uint64_t own = add("{" COUNT ",\"period_ms\":3600000}");
    json_t *got;

    (void)state;
    assert_true(own >= PD_INSTALLATION_OWN_IDS);
    assert_int_equal(add("{\"id\":7," COUNT ",\"period_ms\":3600000}"), 7);
    assert_int_equal(add("{\"id\":7," COUNT ",\"period_ms\":3600000}"), 7);
    assert_int_equal(list_len(), 2);
    assert_int_equal(add("{\"id\":7," PROGRAM ",\"on\":\"alarm\"}"), 7); /* replaced */
    assert_int_equal(list_len(), 2);
    got = get(7);
    assert_string_equal(json_string_value(json_object_get(got, "on")), "alarm");
    assert_string_equal(json_string_value(json_object_get(got, "state")), "active");
    assert_true(json_is_null(json_object_get(got, "answer")));
    json_decref(got);
    assert_int_equal(pd_installed_remove(installed, 8, &error), -PD_E_NOT_FOUND);
    assert_int_equal(pd_installed_remove(installed, 7, &error), 0);
    assert_int_equal(pd_installed_remove(installed, 7, &error), -PD_E_NOT_FOUND);
    assert_int_equal(list_len(), 1);
    assert_int_equal(pd_installed_remove(installed, own, &error), 0);
    assert_true(add("{" COUNT ",\"period_ms\":3600000}") > own); /* none is used again */
}

static void test_bodies(void **state)
{
    static const struct {
        const char *body, *words;
    } bad[] = {
        {"{}", ""},
        {"{" COUNT "}", "period_ms"},
        {"{" COUNT ",\"period_ms\":9}", "period_ms"},
        {"{" COUNT ",\"period_ms\":10.5}", "period_ms"},
        {"{" COUNT ",\"period_ms\":\"10\"}", "period_ms"},
        {"{" COUNT ",\"period_ms\":99999999999999}", "period_ms"},
        {"{" COUNT ",\"period_ms\":10,\"on\":\"alarm\"}", "period_ms"},
        {"{" COUNT ",\"on\":\"rain\"}", "on"},
        {"{" COUNT ",\"on\":3}", "on"},
        {"{" COUNT ",\"on\":\"alarm\",\"id\":0}", "id"},
        {"{" COUNT ",\"on\":\"alarm\",\"id\":9007199254740992}", "id"},
        {"{" COUNT ",\"on\":\"alarm\",\"deadline_ms\":0}", "deadline_ms"},
        {"{" COUNT ",\"on\":\"alarm\",\"hosts\":\"all\"}", "hosts"},
        {"{\"query\":\"getCount\",\"args\":{\"since\":\"abc\"},\"period_ms\":10}", "since"},
        {"{\"query\":\"getNothing\",\"period_ms\":10}", "getNothing"},
        {"{" COUNT "," PROGRAM ",\"period_ms\":10}", "program"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct pd_error error = {0};
        uint64_t id = 0;

        if (!try_add(bad[i].body, &id, &error) || !strstr(error.text, bad[i].words)) {
            fail_msg("%s: %d \"%s\"", bad[i].body, error.code, error.text);
        }
    }
    assert_int_equal(list_len(), 0);
}

static void test_limit(void **state)
{
    struct pd_error error = {0};
    uint64_t id, first = add("{" COUNT ",\"period_ms\":3600000}");

    (void)state;
    for (unsigned i = 1; i < PD_INSTALLATIONS_MAX; i++) {
        add("{" COUNT ",\"period_ms\":3600000}");
    }
    assert_int_equal(try_add("{" COUNT ",\"period_ms\":3600000}", &id, &error), -PD_E_FULL);
    assert_int_equal(list_len(), PD_INSTALLATIONS_MAX);
    assert_int_equal(pd_installed_remove(installed, first, &error), 0);
    add("{" COUNT ",\"period_ms\":3600000}");
}

static void test_restart(void **state)
{
    json_t *before, *after;

    (void)state;
    add("{\"id\":3," COUNT ",\"period_ms\":3600000,\"deadline_ms\":100}");
    add("{\"id\":1,\"query\":\"conformance\",\"args\":{\"avoid\":[17,18]},\"on\":\"new_flow\"}");
    add("{\"args\":{\"a\":[1,{\"b\":\"ü\"}]}," PROGRAM ",\"on\":\"evicted\"}");
    before = pd_installed_list(installed);
    close_list();
    open_list();
    after = pd_installed_list(installed);
    assert_true(json_equal(before, after));
    assert_int_equal(list_len(), 3);
    json_decref(before);
    json_decref(after);
}

static void put(const char *text)
{
    FILE *out = fopen(file, "we");

    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

/* Damage costs what is damaged, not the daemon. */
static void test_damage(void **state)
{
    (void)state;
    close_list();
    put("{\"version\":1,\"installed\":[{\"id\":1");
    open_list();
    assert_int_equal(list_len(), 0);
    assert_int_equal(access(damaged, F_OK), 0);
    close_list();
    put("{\"version\":1,\"next_id\":-5,\"installed\":[{\"id\":4," COUNT ",\"period_ms\":50},7,{},"
        "{\"id\":4," COUNT ",\"period_ms\":60},{" COUNT ",\"period_ms\":60},"
        "{\"id\":5,\"query\":\"nothing\",\"period_ms\":50},"
        "{\"id\":6," COUNT ",\"period_ms\":50,\"stopped\":\"why\"}]}");
    open_list();
    assert_int_equal(list_len(), 2);
    assert_int_equal(number_of(4, "period_ms"), 50);
    assert_true(add("{" COUNT ",\"period_ms\":3600000}") >= PD_INSTALLATION_OWN_IDS);
    json_t *stopped = get(6);

    assert_string_equal(json_string_value(json_object_get(stopped, "state")), "stopped");
    assert_string_equal(json_string_value(json_object_get(stopped, "error")), "why");
    json_decref(stopped);
}

/* What cannot be made to last is not installed, and not uninstalled either. */
static void test_no_disk(void **state)
{
    struct pd_error error = {0};
    char fresh[80];
    uint64_t id;

    (void)state;
    add("{\"id\":5," COUNT ",\"period_ms\":3600000}");
    snprintf(fresh, sizeof fresh, "%s.new", file);
    assert_int_equal(mkdir(fresh, 0700), 0); /* in the way */
    assert_true(try_add("{\"id\":6," COUNT ",\"period_ms\":3600000}", &id, &error) < 0);
    assert_true(try_add("{\"id\":5," COUNT ",\"period_ms\":50}", &id, &error) < 0);
    assert_true(pd_installed_remove(installed, 5, &error) < 0);
    assert_int_equal(list_len(), 1);
    assert_int_equal(number_of(5, "period_ms"), 3600000);
    assert_int_equal(rmdir(fresh), 0);
    assert_int_equal(pd_installed_remove(installed, 5, &error), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_list),    TEST(test_bodies), TEST(test_limit),
        TEST(test_restart), TEST(test_damage), TEST(test_no_disk),
    };
    return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}
