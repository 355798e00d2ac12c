/* SPDX-License-Identifier: Apache-2.0 */
/* Which hosts are meant, and what is refused. */
#include "fleet.h"

#include "controller/select.h"

static struct pd_inventory *inventory;

/* The IDs as text, or "!" and the words of the error. */
static const char *chosen(const char *json)
{
    static char text[600];
    struct pd_selection selection = {0};
    struct pd_error error = {0};
    json_t *hosts = json ? json_loads(json, JSON_DECODE_ANY, NULL) : NULL;
    size_t at = 0;

    assert_true(!json || hosts);
    text[0] = '\0';
    if (pd_controller_select(inventory, hosts, &selection, &error)) {
        snprintf(text, sizeof text, "!%s", error.text);
    }
    for (size_t i = 0; i < selection.len; i++) {
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%u", i ? " " : "",
                               inventory->hosts[selection.hosts[i]].id);
    }
    pd_controller_selection_done(&selection);
    json_decref(hosts);
    return text;
}

static void test_chosen(void **state)
{
    (void)state;
    assert_string_equal(chosen("\"all\""), "21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36");
    assert_string_equal(chosen("\"rack:1\""), "21 22");
    assert_string_equal(chosen("\"rack:tor-4-2\""), "35 36");
    assert_string_equal(chosen("\"host-1-1-3\""), "22");
    assert_string_equal(chosen("[30,21,30]"), "21 30");
    assert_string_equal(chosen("[\"rack:2\",24,\"host-1-1-2\"]"), "21 23 24");
}

static void test_refused(void **state)
{
    static const struct {
        const char *json, *words;
    } cases[] = {
        {NULL, "hosts: missing"},
        {"[]", "no host at all"},
        {"7.5", "hosts: expects"},
        {"null", "hosts: expects"},
        {"{}", "hosts: expects"},
        {"\"\"", "is called \"\""},
        {"\"h1,h2\"", "hosts: no host"},
        {"\"rack:\"", "hosts: rack:: no switch"},
        {"\"rack:99\"", "hosts: rack:99: no switch"},
        {"\"rack:17\"", "hosts: rack:17: this switch has no rack"},
        {"\"rack:99999999999999999999\"", "no switch"},
        {"\"rack:1 \"", "no switch"},
        {"[21,1]", "hosts[1]: no host of the inventory has the ID 1"},
        {"[21,-1]", "hosts[1]: no host"},
        {"[21,4294967317]", "hosts[1]: no host"},
        {"[21,[22]]", "hosts[1]: expects"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *text = chosen(cases[i].json);

        if (text[0] != '!' || !strstr(text, cases[i].words)) {
            fail_msg("%s: %s", cases[i].json, text);
        }
    }
}

static void test_empty_rack(void **state)
{
    struct pd_inventory *all = inventory;

    (void)state;
    assert_int_equal(
        parse_hosts(fat_tree(4), "[{\"id\":21,\"url\":\"http://a:1\"}]", &inventory, NULL), 0);
    assert_string_equal(chosen("\"rack:1\""), "21");
    assert_non_null(strstr(chosen("\"rack:2\""), "no host of the inventory is in this rack"));
    pd_controller_inventory_free(inventory);
    inventory = all;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chosen),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_empty_rack),
    };
    int failed;

    inventory = everybody(fat_tree(4));
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    pd_controller_inventory_free(inventory);
    return failed;
}
