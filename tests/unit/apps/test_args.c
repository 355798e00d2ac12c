/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments: each kind from JSON and from text, defaults, what is refused and in which words; their
 * table as JSON. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "apps/args.h"
#include "base/path.h"

static const struct pd_app_param params[] = {
    {.name = "text", .kind = PD_APP_TEXT, .value = "T", .help = "t"},
    {.name = "count", .kind = PD_APP_INTEGER, .value = "N", .fallback = "7", .help = "n"},
    {.name = "share", .kind = PD_APP_NUMBER, .value = "X", .help = "x"},
    {.name = "really", .kind = PD_APP_BOOL, .value = "BOOL", .fallback = "false", .help = "b"},
    {.name = "from", .kind = PD_APP_TIME, .value = "TIME", .help = "f"},
    {.name = "period_s", .kind = PD_APP_SECONDS, .value = "S", .help = "s"},
    {.name = "link", .kind = PD_APP_LINK, .value = "A-B", .help = "l"},
    {.name = "avoid", .kind = PD_APP_LIST, .value = "LIST", .help = "a"},
    {.name = "allow", .kind = PD_APP_PAIRS, .value = "PAIRS", .help = "p"},
    {.name = "host_ip", .kind = PD_APP_ADDRESS, .value = "IP", .help = "i"},
    {0},
};

static const struct pd_app_param needed[] = {
    {.name = "link", .kind = PD_APP_LINK, .value = "A-B", .required = true, .help = "which one"},
    {0},
};

static const struct pd_app_ops app = {.name = "any", .params = params};
static struct pd_topology *topology;

static json_t *read(const char *given)
{
    json_t *json = json_loads(given, 0, NULL), *args = NULL;
    struct pd_error error = {0};

    assert_non_null(json);
    if (pd_app_args_read(&app, topology, json, &args, &error)) {
        fail_msg("%s: %s", given, error.text);
    }
    json_decref(json);
    return args;
}

/* `given` becomes `wanted`, besides the defaults. */
static void becomes(const char *given, const char *wanted)
{
    json_t *args = read(given), *expected = json_loads(wanted, 0, NULL);

    assert_non_null(expected);
    json_object_update_missing_new(expected, json_pack("{s:i, s:b}", "count", 7, "really", 0));
    if (!json_equal(args, expected)) {
        print_error("%s became %s\n", given, json_dumps(args, 0));
        fail();
    }
    json_decref(args);
    json_decref(expected);
}

static void refused(const char *given, int err, const char *word)
{
    json_t *json = json_loads(given, JSON_ALLOW_NUL, NULL), *args = NULL;
    struct pd_error error = {0};

    assert_non_null(json);
    assert_int_equal(pd_app_args_read(&app, topology, json, &args, &error), err);
    assert_null(args);
    if (strncmp(error.text, word, strlen(word)) != 0) {
        fail_msg("%s: \"%s\" does not begin with %s", given, error.text, word);
    }
    for (const char *at = error.text; *at; at++) {
        assert_true((unsigned char)*at >= ' ');
    }
    json_decref(json);
}

static void kinds(void **state)
{
    (void)state;
    becomes("{}", "{}");
    becomes("{\"text\":\"a b\"}", "{\"text\":\"a b\"}");
    becomes("{\"count\":\"12\"}", "{\"count\":12}");
    becomes("{\"count\":12}", "{\"count\":12}");
    becomes("{\"count\":0}", "{\"count\":0}");
    becomes("{\"share\":\"0.25\"}", "{\"share\":0.25}");
    becomes("{\"share\":2}", "{\"share\":2.0}");
    becomes("{\"really\":true}", "{\"really\":true}");
    becomes("{\"really\":\"true\"}", "{\"really\":true}");
    becomes("{\"from\":1700000000}", "{\"from\":1700000000000000}");
    becomes("{\"from\":1700000000.25}", "{\"from\":1700000000250000}");
    becomes("{\"from\":\"2023-11-14T22:13:20Z\"}", "{\"from\":1700000000000000}");
    becomes("{\"period_s\":\"0.5\"}", "{\"period_s\":0.5}");
    becomes("{\"link\":\"9-17\"}", "{\"link\":\"9-17\"}");
    becomes("{\"avoid\":\"17,18\"}", "{\"avoid\":[17,18]}");
    becomes("{\"avoid\":[17,21]}", "{\"avoid\":[17,21]}");
    becomes("{\"avoid\":17}", "{\"avoid\":[17]}");
    becomes("{\"allow\":\"10.0.0.0/24>10.1.0.0/16,fd00::/8>fd00::/8\"}",
            "{\"allow\":[[\"10.0.0.0/24\",\"10.1.0.0/16\"],[\"fd00::/8\",\"fd00::/8\"]]}");
    becomes("{\"allow\":[[\"10.0.0.0/24\",\"10.1.0.0/16\"]]}",
            "{\"allow\":[[\"10.0.0.0/24\",\"10.1.0.0/16\"]]}");
    becomes("{\"host_ip\":\"FD00::0:2\"}", "{\"host_ip\":\"fd00::2\"}");
}

static void refusals(void **state)
{
    (void)state;
    refused("{\"more\":1}", -PD_E_UNKNOWN_KEY, "more: ");
    refused("{\"mo\\nre\":1}", -PD_E_UNKNOWN_KEY, "mo?re: ");
    refused("[]", -PD_E_VALUE, "the arguments");
    refused("{\"text\":\"\"}", -PD_E_VALUE, "text: ");
    refused("{\"text\":\"a\\u0000b\"}", -PD_E_VALUE, "text: ");
    refused("{\"text\":7}", -PD_E_VALUE, "text: ");
    refused("{\"count\":-1}", -PD_E_VALUE, "count: ");
    refused("{\"count\":\"1e3\"}", -PD_E_VALUE, "count: ");
    refused("{\"count\":1.5}", -PD_E_VALUE, "count: ");
    refused("{\"count\":null}", -PD_E_VALUE, "count: ");
    refused("{\"share\":\"nan\"}", -PD_E_VALUE, "share: ");
    refused("{\"share\":\"0x10\"}", -PD_E_VALUE, "share: ");
    refused("{\"share\":-0.5}", -PD_E_VALUE, "share: ");
    refused("{\"really\":\"yes\"}", -PD_E_VALUE, "really: ");
    refused("{\"from\":\"yesterday\"}", -PD_E_VALUE, "from: ");
    refused("{\"from\":1e300}", -PD_E_VALUE, "from: ");
    refused("{\"period_s\":0}", -PD_E_VALUE, "period_s: ");
    refused("{\"link\":\"9-*\"}", -PD_E_VALUE, "link: ");
    refused("{\"link\":\"1-2\"}", -PD_E_VALUE, "link: ");
    refused("{\"link\":\"9-999\"}", -PD_E_VALUE, "link: ");
    refused("{\"avoid\":[]}", -PD_E_VALUE, "avoid: ");
    refused("{\"avoid\":[0]}", -PD_E_VALUE, "avoid: ");
    refused("{\"avoid\":[4294967296]}", -PD_E_VALUE, "avoid: ");
    refused("{\"avoid\":\"999\"}", -PD_E_VALUE, "avoid: ");
    refused("{\"allow\":\"10.0.0.0/24\"}", -PD_E_VALUE, "allow: ");
    refused("{\"allow\":[]}", -PD_E_VALUE, "allow: ");
    refused("{\"allow\":[[\"10.0.0.0/24\",\"fd00::/8\"]]}", -PD_E_VALUE, "allow: ");
    refused("{\"allow\":[[\"10.0.0.0/24\"]]}", -PD_E_VALUE, "allow: ");
    refused("{\"host_ip\":\"10.1.1\"}", -PD_E_VALUE, "host_ip: ");
}

/* Without a topology nothing is held against it. */
static void without_topology(void **state)
{
    json_t *given = json_loads("{\"link\":\"1-2\",\"avoid\":[999]}", 0, NULL), *args;
    struct pd_link_match link;

    (void)state;
    assert_int_equal(pd_app_args_read(&app, NULL, given, &args, NULL), 0);
    link = pd_app_arg_link(args, "link");
    assert_true(link.from == 1 && link.to == 2);
    assert_int_equal(pd_app_arg_u64(args, "count", 1), 7);
    assert_int_equal(pd_app_arg_u64(args, "none", 1), 1);
    assert_true(fabs(pd_app_arg_number(args, "share", 0.5) - 0.5) < 1e-9);
    assert_null(pd_app_arg_text(args, "text"));
    json_decref(args);
    json_decref(given);
}

static void what_is_needed(void **state)
{
    const struct pd_app_ops other = {.name = "other", .params = needed}, none = {.name = "none"};
    struct pd_error error = {0};
    json_t *args = NULL;

    (void)state;
    assert_int_equal(pd_app_args_read(&other, NULL, NULL, &args, &error), -PD_E_VALUE);
    assert_string_equal(error.text, "link: is missing: which one");
    assert_int_equal(pd_app_args_read(&none, NULL, NULL, &args, &error), 0);
    assert_int_equal(json_object_size(args), 0);
    json_decref(args);
}

/* The table, and that the defaults of each application are good ones. */
static void tables(void **state)
{
    json_t *list = pd_app_params_json(&app);

    (void)state;
    assert_int_equal(json_array_size(list), 10);
    assert_string_equal(json_string_value(json_object_get(json_array_get(list, 1), "fallback")),
                        "7");
    assert_true(json_is_null(json_object_get(json_array_get(list, 0), "fallback")));
    json_decref(list);
    for (size_t i = 0; pd_apps[i]; i++) {
        assert_ptr_equal(pd_app_find(pd_apps[i]->name), pd_apps[i]);
        assert_true(pd_apps[i]->run && *pd_apps[i]->help && *pd_apps[i]->section);
        for (const struct pd_app_param *p = pd_apps[i]->params; p && p->name; p++) {
            const struct pd_app_param alone[] = {*p, {0}};
            const struct pd_app_ops one = {.name = p->name, .params = alone};
            struct pd_error error = {0};
            json_t *args = NULL;

            assert_true(p->kind < PD_APP_KIND_COUNT && p->value && p->help);
            if (p->required) {
                continue;
            }
            if (pd_app_args_read(&one, NULL, NULL, &args, &error)) {
                fail_msg("%s: %s", pd_apps[i]->name, error.text);
            }
            json_decref(args);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds),
        cmocka_unit_test(refusals),
        cmocka_unit_test(without_topology),
        cmocka_unit_test(what_is_needed),
        cmocka_unit_test(tables),
    };
    struct pd_error error;

    if (pd_topology_fat_tree(4, &topology, &error)) {
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    pd_topology_free(topology);
    return failed;
}
