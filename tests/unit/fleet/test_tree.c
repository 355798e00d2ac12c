/* SPDX-License-Identifier: Apache-2.0 */
/* Trees as documents carry them: read, written, and each way to get one wrong named by its place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fleet/tree.h"

static const char good[] =
    "[{\"id\":21,\"url\":\"http://127.0.0.1:8001\",\"children\":[{\"id\":3,\"url\":\"unix:/run/"
    "a\\\\\\\"b\"},"
    "{\"id\":4294967295,\"url\":\"https://[::1]:7\",\"children\":[{\"id\":0,\"url\":\"http://"
    "h\"}]}]},"
    "{\"id\":5,\"url\":\"http://10.0.0.1:1\"}]";

static int parse(const char *text, struct pd_forest *forest, struct pd_error *error)
{
    json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
    assert_non_null(json);
    int err = pd_fleet_forest_parse(json, forest, error);
    json_decref(json);
    return err;
}

static char *write_out(const struct pd_forest *forest)
{
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    pd_fleet_trees_write(forest->trees, forest->trees_len, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void there_and_back(void **state)
{
    static const uint32_t wanted[] = {0, 3, 5, 21, UINT32_MAX};
    struct pd_forest forest = {0};
    size_t len;
    (void)state;
    assert_int_equal(parse(good, &forest, NULL), 0);
    assert_int_equal(forest.trees_len, 2);
    assert_int_equal(forest.hosts, 5);
    assert_string_equal(forest.trees[0].children[0].url, "unix:/run/a\\\"b");
    assert_int_equal(forest.trees[0].children[1].children[0].host, 0);
    char *text = write_out(&forest);
    assert_string_equal(text, good);
    free(text);
    uint32_t *ids = pd_fleet_trees_ids(forest.trees, forest.trees_len, &len);
    assert_int_equal(len, 5);
    assert_memory_equal(ids, wanted, sizeof wanted);
    free(ids);
    pd_fleet_forest_done(&forest);
    assert_int_equal(pd_fleet_forest_parse(NULL, &forest, NULL), 0);
    assert_int_equal(forest.trees_len + forest.hosts, 0);
    pd_fleet_forest_done(&forest);
}

static void each_mistake_by_its_place(void **state)
{
    static const struct {
        const char *text;
        int code;
        const char *words;
    } cases[] = {
        {"7", -PD_E_VALUE, "children: expects a list"},
        {"[7]", -PD_E_VALUE, "children[0]: expects"},
        {"[{}]", -PD_E_VALUE, "children[0].id: "},
        {"[{\"id\":-1,\"url\":\"http://a\"}]", -PD_E_VALUE, "children[0].id: "},
        {"[{\"id\":4294967296,\"url\":\"http://a\"}]", -PD_E_VALUE, "children[0].id: "},
        {"[{\"id\":1.0,\"url\":\"http://a\"}]", -PD_E_VALUE, "children[0].id: "},
        {"[{\"id\":1}]", -PD_E_VALUE, "children[0].url: "},
        {"[{\"id\":1,\"url\":7}]", -PD_E_VALUE, "children[0].url: "},
        {"[{\"id\":1,\"url\":\"ftp://a\"}]", -PD_E_VALUE, "children[0].url: "},
        {"[{\"id\":1,\"url\":\"http://u:p@a\"}]", -PD_E_VALUE, "children[0].url: "},
        {"[{\"id\":1,\"url\":\"http://a/../b?c\"}]", -PD_E_VALUE, "children[0].url: "},
        {"[{\"id\":1,\"url\":\"http://a\",\"children\":{}}]", -PD_E_VALUE,
         "children[0].children: expects a list"},
        {"[{\"id\":1,\"url\":\"http://a\",\"more\":1}]", -PD_E_UNKNOWN_KEY, "children[0].more: "},
        {"[{\"id\":1,\"url\":\"http://a\",\"children\":[{\"id\":2,\"url\":\"http://"
         "b\"},{\"id\":true}]}]",
         -PD_E_VALUE, "children[0].children[1].id: "},
        {"[{\"id\":1,\"url\":\"http://a\",\"children\":[{\"id\":1,\"url\":\"http://b\"}]}]",
         -PD_E_VALUE, "children: host 1 stands there twice"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pd_forest forest = {.hosts = 99};
        struct pd_error error = {0};
        int e = parse(cases[i].text, &forest, &error);
        if (e != cases[i].code || strncmp(error.text, cases[i].words, strlen(cases[i].words))) {
            fail_msg("%s: %d, %s", cases[i].text, e, error.text);
        }
        assert_int_equal(forest.hosts, 99);
    }
}

/* A chain of hosts, each the only child of the one before. */
static json_t *chain(unsigned depth)
{
    json_t *list = NULL;
    for (unsigned i = 0; i < depth; i++) {
        json_t *host = json_pack("{s:i, s:s}", "id", (int)i, "url", "http://a");
        if (list) {
            json_object_set_new(host, "children", list);
        }
        list = json_pack("[o]", host);
    }
    return list;
}

static void limits(void **state)
{
    struct pd_forest forest;
    json_t *list = chain(PD_TREE_DEPTH_MAX);
    (void)state;
    assert_int_equal(pd_fleet_forest_parse(list, &forest, NULL), 0);
    pd_fleet_forest_done(&forest);
    json_decref(list);
    list = chain(PD_TREE_DEPTH_MAX + 1);
    assert_int_equal(pd_fleet_forest_parse(list, &forest, NULL), -PD_E_TOO_LARGE);
    json_decref(list);
    list = json_array();
    for (unsigned i = 0; i < PD_TREE_HOSTS_MAX; i++) {
        json_array_append_new(list, json_pack("{s:i, s:s}", "id", (int)i, "url", "http://a"));
    }
    assert_int_equal(pd_fleet_forest_parse(list, &forest, NULL), 0);
    assert_int_equal(forest.hosts, PD_TREE_HOSTS_MAX);
    pd_fleet_forest_done(&forest);
    json_array_append_new(list, json_pack("{s:i, s:s}", "id", 7000000, "url", "http://a"));
    assert_int_equal(pd_fleet_forest_parse(list, &forest, NULL), -PD_E_TOO_LARGE);
    json_decref(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(each_mistake_by_its_place),
        cmocka_unit_test(limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
