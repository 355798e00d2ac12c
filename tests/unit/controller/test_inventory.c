/* SPDX-License-Identifier: Apache-2.0 */
/* The hosts file: what is read, each thing that is refused with its place, states of hosts over a
 * reload. */
#include "fleet.h"

#include <jansson.h>

#include "controller/hosts.h"

static void test_read(void **state)
{
    struct pd_inventory *inventory;

    (void)state;
    assert_int_equal(
        parse_hosts(fat_tree(4),
                    "[{\"id\":30,\"name\":\"zwei\",\"url\":\"https://h.example:8443/\"},"
                    "{\"id\":21,\"name\":\"eins\",\"url\":\"http://[::1]:80\"},"
                    "{\"id\":36,\"url\":\"unix:/run/a.sock\"}]",
                    &inventory, NULL),
        0);
    assert_int_equal(inventory->hosts_len, 3);
    assert_int_equal(inventory->hosts[0].id, 21);
    assert_string_equal(inventory->hosts[0].name, "eins");
    assert_string_equal(inventory->hosts[1].url, "https://h.example:8443/");
    assert_string_equal(inventory->hosts[2].name, "host-4-2-3"); /* the topology's */
    assert_int_equal(inventory->topology->hosts[inventory->hosts[2].index].id, 36);
    assert_int_equal(pd_controller_inventory_find(inventory, 30), 1);
    assert_int_equal(pd_controller_inventory_find(inventory, 22), SIZE_MAX);
    assert_int_equal(pd_controller_inventory_find_name(inventory, "zwei"), 1);
    assert_int_equal(pd_controller_inventory_find_name(inventory, "eins"), 0);
    assert_int_equal(pd_controller_inventory_find_name(inventory, "host-4-2-3"), 2);
    assert_int_equal(pd_controller_inventory_find_name(inventory, "drei"), SIZE_MAX);
    pd_controller_inventory_free(pd_controller_inventory_hold(inventory));
    pd_controller_inventory_free(inventory);

    assert_int_equal(parse_hosts(fat_tree(4), "[]", &inventory, NULL), 0);
    assert_int_equal(inventory->hosts_len, 0);
    assert_int_equal(pd_controller_inventory_find(inventory, 21), SIZE_MAX);
    assert_int_equal(pd_controller_inventory_find_name(inventory, ""), SIZE_MAX);
    pd_controller_inventory_free(inventory);
}

#define HOST(members) "[{\"id\":21,\"url\":\"http://a:1\"},{" members "}]"
#define URL(url)      HOST("\"id\":22,\"url\":\"" url "\"")
#define NAME(name)    HOST("\"id\":22,\"name\":\"" name "\",\"url\":\"http://a:2\"")

static void test_refused(void **state)
{
    static const struct {
        const char *json, *words;
    } cases[] = {
        {"", "hosts.json:1:"},
        {"{}", "hosts.json: expects an array"},
        {"[{\"id\":21,\"id\":22,\"url\":\"http://a:1\"}]", "duplicate"},
        {"[7]", "hosts.json: [0]: expects an object"},
        {HOST("\"id\":22,\"url\":\"http://a:2\",\"port\":1"), "[1].port: unknown member"},
        {HOST("\"url\":\"http://a:2\""), "[1].id: expects"},
        {HOST("\"id\":\"22\",\"url\":\"http://a:2\""), "[1].id: expects"},
        {HOST("\"id\":-1,\"url\":\"http://a:2\""), "[1].id: expects"},
        {HOST("\"id\":4294967296,\"url\":\"http://a:2\""), "[1].id: expects"},
        {HOST("\"id\":1,\"url\":\"http://a:2\""), "[1].id: 1 is no host of the topology"},
        {HOST("\"id\":99,\"url\":\"http://a:2\""), "[1].id: 99 is no host of the topology"},
        {HOST("\"id\":21,\"url\":\"http://a:2\""), "[1].id: 21 is also the id of [0]"},
        {HOST("\"id\":22"), "[1].url: expects a string"},
        {URL("http://a:1"), "[1].url: http://a:1 is also the url of [0]"},
        {URL(""), "[1].url: expects http"},
        {URL("ftp://a:1"), "[1].url: expects http"},
        {URL("http://"), "[1].url: expects http"},
        {URL("http://:80"), "[1].url: expects http"},
        {URL("http://a:"), "[1].url: expects http"},
        {URL("http://a:x"), "[1].url: expects http"},
        {URL("http://a:123456"), "[1].url: expects http"},
        {URL("http://a:0"), "[1].url: expects http"},
        {URL("http://[::1]:65536"), "[1].url: expects http"},
        {URL("http://a:1/v1"), "[1].url: expects http"},
        {URL("http://a:1?x=y"), "[1].url: expects http"},
        {URL("http://user@a:1"), "[1].url: expects http"},
        {URL("http://a b:1"), "[1].url: expects http"},
        {URL("http://a\\n:1"), "[1].url: expects http"},
        {URL("http://[::1:80"), "[1].url: expects http"},
        {URL("unix:relative"), "[1].url: expects http"},
        {URL("unix:/"), "[1].url: expects http"},
        {NAME(""), "[1].name: expects"},
        {NAME("a b"), "[1].name: expects"},
        {NAME("a,b"), "[1].name: expects"},
        {NAME("rack:1"), "[1].name: expects"},
        {NAME("a\\u0007"), "[1].name: expects"},
        {NAME("all"), "[1].name: expects"},
        {NAME("0123456789012345678901234567890123456789012345678901234567890123456789"),
         "[1].name: expects"},
        {NAME("host-1-1-2"), "[1].name: host-1-1-2 is also the name of [0]"},
        {HOST("\"id\":22,\"name\":7,\"url\":\"http://a:2\""), "[1].name: expects"},
    };
    struct pd_inventory *inventory;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_true(parse_hosts(fat_tree(4), cases[i].json, &inventory, cases[i].words) < 0);
    }
}

/* Every prefix of a good file is refused, nothing is lost (as the sanitizers see). */
static void test_cut(void **state)
{
    static const char json[] = "[{\"id\":21,\"name\":\"a\",\"url\":\"http://a:1\"}]";
    struct pd_inventory *inventory;
    struct pd_error error = {0};

    (void)state;
    for (size_t bytes = 0; bytes < strlen(json); bytes++) {
        assert_true(
            pd_controller_inventory_parse(fat_tree(4), json, bytes, "x", &inventory, &error) < 0);
    }
    assert_int_equal(pd_controller_inventory_read("/nonexistent/topology", "/nonexistent/hosts",
                                                  &inventory, &error),
                     -2);
}

static const char *member(const json_t *hosts, size_t i, const char *name)
{
    return json_string_value(
        json_object_get(json_array_get(json_object_get(hosts, "hosts"), i), name));
}

static void test_states(void **state)
{
    struct pd_inventory *inventory;
    struct pd_hosts *hosts;
    json_t *json;

    (void)state;
    assert_int_equal(pd_controller_hosts_new(everybody(fat_tree(4)), &hosts), 0);
    pd_controller_hosts_asked(hosts, 21, NULL);
    pd_controller_hosts_asked(hosts, 22, "connection refused");
    pd_controller_hosts_asked(hosts, 99, "nobody");
    json = pd_controller_hosts_json(hosts, "missing");
    assert_int_equal(json_array_size(json_object_get(json, "hosts")), 1);
    assert_string_equal(member(json, 0, "error"), "connection refused");
    assert_int_equal(json_integer_value(json_object_get(json, "all")), 16);
    json_decref(json);
    json = pd_controller_hosts_json(hosts, NULL);
    assert_int_equal(json_array_size(json_object_get(json, "hosts")), 16);
    assert_string_equal(member(json, 0, "state"), "up");
    assert_string_equal(member(json, 1, "state"), "missing");
    assert_string_equal(member(json, 1, "error"), "connection refused");
    assert_string_equal(member(json, 2, "state"), "unknown");
    json_decref(json);

    /* 21 stays where it was, 22 has another place, the others are gone. */
    inventory = pd_controller_hosts_inventory(hosts);
    struct pd_inventory *other;
    assert_int_equal(parse_hosts(fat_tree(4),
                                 "[{\"id\":21,\"url\":\"http://10.0.0.1:1\"},"
                                 "{\"id\":22,\"url\":\"http://10.0.0.1:9\"}]",
                                 &other, NULL),
                     0);
    assert_int_equal(pd_controller_hosts_replace(hosts, other), 0);
    assert_int_equal(inventory->hosts_len, 16); /* the old one lives while it is held */
    pd_controller_inventory_free(inventory);
    struct pd_hosts_numbers numbers = pd_controller_hosts_count(hosts);
    assert_int_equal(numbers.all, 2);
    assert_int_equal(numbers.up, 1);
    assert_int_equal(numbers.missing, 0);
    pd_controller_hosts_free(hosts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_states),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
