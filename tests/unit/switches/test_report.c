/* SPDX-License-Identifier: Apache-2.0 */
/* What the endpoint tells: JSON, metrics, the dry run's list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/switches/dry_run.h"
#include "controller/switches/service.h"
#include "topology/topology.h"

#define SWITCHES 20 /* of a fat-tree of 4 */
#define RACKS    8  /* the first of them: the others face no host */

struct world {
    struct pd_topology *topology;
    struct pd_codec *codec;
};

static int set_up(void **state)
{
    static struct world world;
    struct pd_error error;
    assert_int_equal(pd_topology_fat_tree(4, &world.topology, &error), 0);
    assert_int_equal(pd_codec_new(world.topology, &world.codec, &error), 0);
    *state = &world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    pd_codec_free(world->codec);
    pd_topology_free(world->topology);
    return 0;
}

static void check_all_away(const json_t *document)
{
    const json_t *list = json_object_get(document, "switches"), *counters;
    assert_int_equal(json_array_size(list), SWITCHES);
    for (size_t i = 0; i < SWITCHES; i++) {
        const json_t *sw = json_array_get(list, i);
        assert_int_equal(json_integer_value(json_object_get(sw, "id")), i + 1);
        assert_string_equal(json_string_value(json_object_get(sw, "state")), "away");
        assert_string_equal(json_string_value(json_object_get(sw, "edge")),
                            i < RACKS ? "unknown" : "held");
        assert_true(json_string_value(json_object_get(sw, "name"))[0] != '\0');
        assert_true(json_is_null(json_object_get(sw, "last_change_us")));
        assert_string_equal(json_string_value(json_object_get(sw, "last_error")), "");
    }
    counters = json_object_get(document, "counters");
    assert_int_equal(json_object_size(counters), PD_SWITCHES_COUNTER_COUNT);
    assert_int_equal(json_integer_value(json_object_get(counters, "accepted")), 0);
}

static void test_without_endpoint(void **state)
{
    const struct world *world = *state;
    json_t *document = pd_switches_json(NULL, world->topology);
    assert_true(json_is_null(json_object_get(document, "openflow")));
    check_all_away(document);
    json_decref(document);
}

static void test_endpoint_without_switches(void **state)
{
    const struct world *world = *state;
    struct pd_switches_settings settings = {.listen = "tcp:127.0.0.1:0"};
    struct pd_switches *switches;
    struct pd_error error;
    assert_int_equal(pd_switches_open(world->codec, &settings, &switches, &error), 0);
    json_t *document = pd_switches_json(switches, world->topology);
    assert_string_equal(json_string_value(json_object_get(document, "openflow")),
                        pd_switches_address(switches));
    check_all_away(document);
    json_decref(document);
    pd_switches_close(switches);
}

static void test_metrics(void **state)
{
    const struct world *world = *state;
    struct pd_answer answer;
    struct pd_metrics metrics = {.answer = &answer};
    pd_http_answer_init(&answer);
    pd_switches_metrics(NULL, world->topology, &metrics);
    assert_int_equal(metrics.error, 0);
    assert_int_equal(pd_http_answer_write(&answer, "", 1), 0);
    assert_non_null(strstr(answer.bytes, "pathdump_switches{state=\"away\"} 20\n"));
    assert_non_null(strstr(answer.bytes, "pathdump_switches{state=\"installed\"} 0\n"));
    assert_non_null(strstr(answer.bytes, "\npathdump_openflow_flows_changed_total 0\n"));
    pd_http_answer_done(&answer);
}

static char *dry_run(const struct world *world, const char *listen, int *ret_failed)
{
    struct pd_switches_settings settings = {.listen = listen};
    struct pd_error error;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    *ret_failed = pd_switches_dry_run(world->codec, &settings, 30, out, &error);
    fclose(out);
    return text;
}

/* It ends in time and names everybody who did not come. */
static void test_dry_run_alone(void **state)
{
    int failed;
    char *text = dry_run(*state, "tcp:127.0.0.1:0", &failed);
    unsigned lines = 0;
    assert_int_equal(failed, 0);
    for (const char *at = text; (at = strstr(at, "): did not connect\n")); at++) {
        lines++;
    }
    assert_int_equal(lines, SWITCHES);
    assert_non_null(strstr(text, "0 flows would change on 0 of 20 switches; 20 did not connect"));
    free(text);
    text = dry_run(*state, "nonsense", &failed);
    assert_int_equal(failed, -PD_E_VALUE);
    assert_string_equal(text, "");
    free(text);
}

static size_t switches_of(struct pd_switch_service *service, bool listens)
{
    json_t *document = pd_switch_service_json(service);
    size_t len = json_array_size(json_object_get(document, "switches"));
    assert_int_equal(json_is_string(json_object_get(document, "openflow")), listens);
    json_decref(document);
    return len;
}

/* The same topology read anew changes nothing; another one takes its place, with the endpoint or
 * without one. */
static void check_reload(const char *listen)
{
    struct pd_switch_service_settings settings = {.listen = listen};
    struct pd_topology *four, *same, *six;
    struct pd_switch_service *service;
    struct pd_error error;
    bool taken = true;
    assert_int_equal(pd_topology_fat_tree(4, &four, &error), 0);
    assert_int_equal(pd_topology_fat_tree(4, &same, &error), 0);
    assert_int_equal(pd_topology_fat_tree(6, &six, &error), 0);
    assert_int_equal(pd_switch_service_open(four, &settings, &service, &error), 0);
    assert_int_equal(switches_of(service, listen), SWITCHES);
    assert_int_equal(pd_switch_service_reload(service, same, &taken, &error), 0);
    assert_false(taken);
    assert_int_equal(pd_switch_service_reload(service, six, &taken, &error), 0);
    assert_true(taken);
    pd_topology_free(four);
    assert_int_equal(switches_of(service, listen), 45);
    pd_switch_service_close(service);
    pd_topology_free(same);
    pd_topology_free(six);
}

static void test_service_reload(void **state)
{
    (void)state;
    check_reload(NULL);
    check_reload("tcp:127.0.0.1:0");
}

static void test_service_refused(void **state)
{
    const struct world *world = *state;
    struct pd_switch_service_settings settings = {.listen = "tcp:192.0.2.1:6653"};
    struct pd_switch_service *service = NULL;
    struct pd_error error;
    assert_true(pd_switch_service_open(world->topology, &settings, &service, &error) < 0);
    assert_true(error.text[0] != '\0');
    assert_null(service);
    settings.listen = NULL;
    assert_int_equal(pd_switch_service_dry_run("/nonexistent", &settings, 1, stdout, &error),
                     -PD_E_VALUE);
    assert_non_null(strstr(error.text, "--openflow"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_endpoint), cmocka_unit_test(test_endpoint_without_switches),
        cmocka_unit_test(test_metrics),          cmocka_unit_test(test_dry_run_alone),
        cmocka_unit_test(test_service_reload),   cmocka_unit_test(test_service_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
