/* SPDX-License-Identifier: Apache-2.0 */
/* Links, paths and hosts that are not there: refused, with the nearest that is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "controller/nearest.h"

static struct pd_topology *topology;

static int set_up(void **state)
{
    (void)state;
    return pd_topology_fat_tree(4, &topology, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    pd_topology_free(topology);
    return 0;
}

static void test_args(void **state)
{
    static const struct {
        const char *args, *words; /* NULL: fine */
    } cases[] = {
        {"{}", NULL},
        {"{\"link\":\"9-17\"}", NULL},
        {"{\"link\":\"*-*\"}", NULL},
        {"{\"link\":\"9-*\"}", NULL},
        {"{\"link\":\"*-17\"}", NULL},
        {"{\"path\":\"1,9,17,11,3\"}", NULL},
        {"{\"path\":[1,9,17,11,3]}", NULL},
        {"{\"path\":\"1\"}", NULL},
        {"{\"link\":\"9-19\"}", "args.link: the topology has no link 9-19; the nearest is 9-1"},
        {"{\"link\":\"9-99\"}", "the nearest is 9-1"},
        {"{\"link\":\"99-17\"}", "the nearest is 9-17"},
        {"{\"link\":\"*-99\"}", "the nearest is "},
        {"{\"link\":\"1-17\"}", "the nearest is 1-10"},
        {"{\"path\":\"1,9,71,11,3\"}", "args.path: the topology has no link 9-71"},
        {"{\"path\":[1,17,3]}", "args.path: the topology has no link 1-17"},
        {"{\"path\":[\"1\",\"17\"]}", "no link 1-17"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *args = json_loads(cases[i].args, 0, NULL);
        struct pd_error error = {0};
        int err = pd_controller_check_args(topology, args, &error);

        if (err != (cases[i].words ? -PD_E_VALUE : 0) ||
            (err && !strstr(error.text, cases[i].words))) {
            fail_msg("%s: %d %s", cases[i].args, err, error.text);
        }
        json_decref(args);
    }
}

static void test_hosts(void **state)
{
    struct pd_inventory_host hosts[] = {
        {.id = 21, .name = "h21"}, {.id = 22, .name = "db"}, {.id = 305}};
    const struct pd_inventory inventory = {.hosts = hosts, .hosts_len = 3},
                              nobody = {.hosts_len = 0};

    (void)state;
    assert_int_equal(pd_controller_nearest_host(&inventory, "h210"), 0);
    assert_int_equal(pd_controller_nearest_host(&inventory, "dbs"), 1);
    assert_int_equal(pd_controller_nearest_host(&inventory, "3050"), 2);
    assert_int_equal(pd_controller_nearest_host(&nobody, "x"), SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_args),
        cmocka_unit_test(test_hosts),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
