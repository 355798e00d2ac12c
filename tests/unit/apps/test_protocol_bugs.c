/* SPDX-License-Identifier: Apache-2.0 */
/* protocol-bugs: flows of one host that suffer over clean links are told; a lossy link, a full one,
 * and a healthy network are not blamed on hosts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/apps/fake_world.h"
#include "tests/unit/localise/flows.h"

struct scene {
    struct fake_world *world;
    struct flows flows;
    struct random random;
    struct pd_addr bad_host; /* its flows lose 3 %, wherever they go; zero: none */
    uint32_t from, to;       /* this link loses 3 % */
    bool all_into_one;       /* all flows go to one host, more than its link carries */
    bool hostile;
};

static struct scene scene; /* found by the hook, which only gets the world */

static int observe(struct fake_world *world, uint64_t from_us, uint64_t to_us,
                   const struct pd_evidence_sink *sink, struct pd_report *report,
                   struct pd_error *error)
{
    struct flows *flows = &scene.flows;
    int err = 0;

    (void)world, (void)from_us, (void)to_us, (void)report, (void)error;
    for (int period = 0; period < 40 && !err; period++) {
        for (flows->len = 0; flows->len < 150;) {
            struct pd_evidence_row *row =
                add_flow(flows, &scene.random, scene.from, scene.to, 0.03, 300);

            row->flow.src_port = (uint16_t)flows->len;
            row->flow.dst_port = (uint16_t)(80 + flows->len % 7);
            row->flow.protocol = 6;
            if (!memcmp(&row->flow.src, &scene.bad_host, sizeof scene.bad_host)) {
                row->lost += 9;
            }
            if (scene.all_into_one) {
                row->flow.dst = host_addr(15);
                row->lost += 9;
            }
            if (scene.hostile) {
                row->lost = UINT64_MAX;
            }
        }
        const struct pd_evidence_period evidence = period_of(flows);
        err = sink->take(sink->context, &evidence);
    }
    return err;
}

static int set_up(void **state)
{
    (void)state;
    memset(&scene, 0, sizeof scene);
    scene.world = fake_world_new(4);
    scene.random.state = test_seed();
    scene.world->observe = observe;
    scene.from = scene.to = 999; /* no link; {0, 0} would be any */
    scene.world->world.link_mbps = 1000;
    scene.world->world.period_us = 200000;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fake_world_free(scene.world);
    return 0;
}

static size_t groups(const json_t *report)
{
    return json_array_size(report_rows(report, "groups"));
}

static void a_host_whose_flows_suffer_is_told(void **state)
{
    (void)state;
    scene.bad_host = host_addr(5);
    json_t *report = fake_world_run(scene.world, "protocol-bugs", NULL);
    const json_t *row = json_array_get(report_rows(report, "groups"), 0);

    assert_int_equal(groups(report), 1);
    assert_non_null(strstr(json_string_value(json_object_get(row, "what")), "as sender"));
    assert_true(json_array_size(json_object_get(report, "flows")) > 0);
    assert_int_equal(json_array_size(json_object_get(report, "links")), 0);
    assert_false(report_certain(report));
    json_decref(report);
}

static void a_link_that_drops_explains_its_flows(void **state)
{
    (void)state;
    scene.from = 9, scene.to = 17;
    json_t *report = fake_world_run(scene.world, "protocol-bugs", NULL);

    assert_int_equal(groups(report), 0);
    assert_true(report_has(report, "evidence", "9-17 drops packets"));
    json_decref(report);
}

static void without_a_fault_nothing_is_reported(void **state)
{
    (void)state;
    json_t *report = fake_world_run(scene.world, "protocol-bugs", NULL);

    assert_int_equal(groups(report), 0);
    assert_int_equal(json_array_size(json_object_get(report, "lacks")), 0);
    json_decref(report);
}

/* Everybody sends to one host: 150 flows of 450 KB in 200 ms are 2.7 Gb/s for a link of 1 Gb/s. */
static void incast_is_no_bug(void **state)
{
    (void)state;
    scene.all_into_one = true;
    json_t *report = fake_world_run(scene.world, "protocol-bugs", NULL);

    assert_int_equal(groups(report), 0);
    assert_true(report_has(report, "evidence", "over a full link"));
    json_decref(report);
}

static void hostile_counters_are_survived(void **state)
{
    (void)state;
    scene.hostile = true;
    scene.world->world.link_mbps = 0;
    json_t *report = fake_world_run(scene.world, "protocol-bugs", NULL);

    assert_non_null(report);
    assert_false(report_certain(report));
    assert_true(report_has(report, "lacks", "link_mbps"));
    json_decref(report);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_host_whose_flows_suffer_is_told),   TEST(a_link_that_drops_explains_its_flows),
        TEST(without_a_fault_nothing_is_reported), TEST(incast_is_no_bug),
        TEST(hostile_counters_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
