/* SPDX-License-Identifier: Apache-2.0 */
/* link-latency and hot-links: a slow direction against its own past, the hop that slows a flow,
 * queues and the flows on them; what is not known, and what is asked wrongly. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/args.h"
#include "apps/link_latency/past.h"
#include "fake_world.h"
#include "tests/shared/random.h"
#include "topology/links.h"

enum { PAST = 40, NEWEST = 8 };

static float values[1024];

static int links(void *context, const char *metric, float *ret_values, uint32_t len,
                 struct pd_error *error)
{
    (void)context;
    (void)error;
    assert_true(!strcmp(metric, "hop_latency_ns") || !strcmp(metric, "queue_bytes"));
    memcpy(ret_values, values, len * sizeof *values);
    return 0;
}

static struct pd_app_world_ops ops_with_links;

static struct fake_world *begin(void)
{
    struct fake_world *world = fake_world_new(4);

    memset(values, 0, sizeof values);
    ops_with_links = *world->world.ops;
    ops_with_links.links = links;
    world->world.ops = &ops_with_links;
    return world;
}

/* ---- ranks ---- */

static void chance_calls_nothing_slow(void **state)
{
    struct random random;
    unsigned slow = 0, looks = 0;

    (void)state;
    random.state = test_seed();
    for (unsigned link = 0; link < 64; link++) {
        struct past past = {.past_len = 0};

        for (unsigned i = 0; i < 1000; i++, looks++) {
            pd_link_latency_past_take(&past, (float)random_below(&random, 1 << 20), 64);
            slow += past.slow;
        }
    }
    /* less than once in a hundred looks at all 64: 10 of 1000; three times that is beyond chance */
    assert_in_range(slow, 0, looks / 64 * 3 / 100);
}

static void a_step_is_slow_until_it_ends(void **state)
{
    struct past past = {.past_len = 0};
    struct random random;
    unsigned needed = 0;

    (void)state;
    random.state = test_seed();
    for (unsigned i = 0; i < PAST_MOST + NEWEST; i++) {
        pd_link_latency_past_take(&past, (float)random_below(&random, 1000), 64);
    }
    for (; needed < NEWEST && !past.slow; needed++) {
        pd_link_latency_past_take(&past, 5000, 64);
    }
    assert_int_equal(needed, pd_link_latency_past_needed(PAST_MOST, 64));
    for (unsigned i = 0; i < 10 * PAST_MOST; i++) {
        pd_link_latency_past_take(&past, 5000, 64);
    }
    assert_true(past.slow); /* it does not become the past */
    assert_true(pd_link_latency_past_middle(&past) < 1000);
    pd_link_latency_past_take(&past, 500, 64);
    assert_false(past.slow);
}

/* ---- link-latency ---- */

/* Runs of one state. */
static json_t *run_often(struct fake_world *world, const char *args, uint32_t slow, double by)
{
    const struct pd_app_ops *ops = pd_app_find("link-latency");
    struct pd_error error = {0};
    struct pd_app_call call = {.world = &world->world};
    json_t *given = args ? json_loads(args, 0, NULL) : NULL, *read = NULL, *json = NULL;
    struct random random;
    void *state = NULL;

    random.state = test_seed();
    assert_int_equal(pd_app_args_read(ops, world->topology, given, &read, &error), 0);
    call.args = read;
    assert_int_equal(ops->open(&call, &state, &error), 0);
    for (unsigned i = 0; i < PAST + NEWEST; i++) {
        struct pd_report report;

        for (uint32_t link = 0; link < 2 * world->topology->fabric_links_len; link++) {
            values[link] = -3e6F + (float)random_below(&random, 1000);
            values[link] += link == slow && i >= PAST ? (float)by : 0;
        }
        pd_app_report_init(&report);
        assert_int_equal(ops->run(state, &call, &report, &error), 0);
        json_decref(json);
        json = pd_app_report_json(&report, ops->name);
        pd_app_report_done(&report);
    }
    ops->close(state);
    json_decref(given);
    json_decref(read);
    return json;
}

static void a_slow_direction_is_named(void **state)
{
    struct fake_world *world = begin();
    uint32_t link = pd_topology_links_by_ids(world->topology, 9, 17, NULL);
    json_t *report = run_often(world, NULL, link, 20000);

    (void)state;
    assert_string_equal(json_string_value(json_array_get(json_object_get(report, "links"), 0)),
                        "9-17");
    assert_int_equal(json_array_size(json_object_get(report, "links")), 1);
    assert_true(report_certain(report));
    assert_non_null(strstr(report_verdict(report), "1 direction is slower than before: 9-17"));
    json_decref(report);
    report = run_often(world, NULL, PD_NONE, 0);
    assert_int_equal(json_array_size(json_object_get(report, "links")), 0);
    json_decref(report);
    fake_world_free(world);
}

static void the_hop_that_slows_a_flow_is_named(void **state)
{
    struct fake_world *world = begin();
    uint32_t link = pd_topology_links_by_ids(world->topology, 17, 11, NULL);

    (void)state;
    fake_world_record(world, "10.1.1.2", 1000, "10.2.1.2", 80, "1,9,17,11,3", 2000000, 1000000,
                      10000, 10);
    json_t *report = run_often(world, "{\"flow\":\"10.1.1.2:1000>10.2.1.2:80\"}", link, 20000);
    assert_non_null(strstr(report_verdict(report), "is slowed by 17-11"));
    assert_int_equal(json_array_size(report_rows(report, "hops")), 4);
    json_decref(report);
    report = run_often(world, "{\"flow\":\"10.1.1.2:1001>10.2.1.2:80\"}", link, 20000);
    assert_non_null(strstr(report_verdict(report), "no path of it"));
    json_decref(report);
    static const char *const wrong[] = {"10.1.1.2:1000",
                                        "10.1.1.2>10.2.1.2:80",
                                        ">",
                                        "a:1>b:2",
                                        "10.1.1.2:70000>10.2.1.2:80",
                                        "10.1.1.2:1>[fd00::1]:2",
                                        "10.1.1.2:1>10.2.1.2:80/icmp",
                                        "/udp>10.2.1.2:80"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char args[128];
        snprintf(args, sizeof args, "{\"flow\":\"%s\"}", wrong[i]);
        assert_int_equal(fake_world_fails(world, "link-latency", args), -PD_E_VALUE);
    }
    fake_world_free(world);
}

/* ---- hot-links ---- */

static void queues_and_their_flows_are_named(void **state)
{
    struct fake_world *world = begin();
    uint32_t link = pd_topology_links_by_ids(world->topology, 9, 17, NULL);

    (void)state;
    fake_world_record(world, "10.1.1.2", 1000, "10.2.1.2", 80, "1,9,17,11,3", 2000000, 1000000,
                      10000, 10);
    fake_world_record(world, "10.1.1.2", 1001, "10.2.1.2", 80, "1,10,19,12,3", 2000000, 1000000,
                      90000, 10);
    json_t *report = fake_world_run(world, "hot-links", NULL);
    assert_non_null(strstr(report_verdict(report), "no direction is congested"));
    json_decref(report);
    values[link] = 20000;
    report = fake_world_run(world, "hot-links", NULL);
    assert_non_null(strstr(report_verdict(report), "20000 bytes on 9-17"));
    const json_t *flows = report_rows(report, "flows");
    assert_int_equal(json_array_size(flows), 1);
    assert_string_equal(json_string_value(json_object_get(json_array_get(flows, 0), "flow")),
                        "10.1.1.2:1000 > 10.2.1.2:80");
    assert_true(report_certain(report));
    json_decref(report);
    report = fake_world_run(world, "hot-links", "{\"queue\":30000}");
    assert_int_equal(json_array_size(json_object_get(report, "links")), 0);
    json_decref(report);
    values[0] = NAN;
    report = fake_world_run(world, "hot-links", NULL);
    assert_true(report_has(report, "lacks", "1 of 64 directed links"));
    assert_false(report_certain(report));
    json_decref(report);
    fake_world_free(world);
}

static void a_world_that_measures_nothing_says_so(void **state)
{
    struct fake_world *world = begin();
    static const char *const apps[] = {"link-latency", "hot-links"};

    (void)state;
    ops_with_links.links = NULL;
    for (size_t i = 0; i < 2; i++) {
        json_t *report = fake_world_run(world, apps[i], NULL);
        assert_true(report_has(report, "lacks", "nobody measures it here"));
        assert_false(report_certain(report));
        json_decref(report);
    }
    fake_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chance_calls_nothing_slow),
        cmocka_unit_test(a_step_is_slow_until_it_ends),
        cmocka_unit_test(a_slow_direction_is_named),
        cmocka_unit_test(the_hop_that_slows_a_flow_is_named),
        cmocka_unit_test(queues_and_their_flows_are_named),
        cmocka_unit_test(a_world_that_measures_nothing_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
