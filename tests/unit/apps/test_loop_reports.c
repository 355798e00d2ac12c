/* SPDX-License-Identifier: Apache-2.0 */
/* loop: switches that follow a telemetry plan report packets that go round. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <string.h>

#include "apps/report.h"
#include "codec/pint/formulas.h"
#include "packet/packet.h"
#include "packet/sample.h"
#include "tests/unit/apps/fake_world.h"

extern const struct pd_app_ops pd_app_loop;

#define FRAME_BYTES 64

static const char text[] =
    "{\"version\":1,\"seed\":7,\"carrier\":\"tag\",\"bits\":16,\"queries\":[{\"name\":\"loop\","
    "\"aggregation\":\"loop\",\"bits\":14,\"threshold\":3}],"
    "\"sets\":[{\"weight\":65536,\"queries\":[\"loop\"]}]}";

/* 9, 17, 11, 18 are a circle of a fat-tree of 4. */
static const uint32_t circle[] = {9, 17, 11, 18};

struct bench {
    struct fake_world *fake;
    struct pd_app_world_ops ops;
    struct pd_app_world world;
    struct pd_pint_plan *plan;
    bool planless;
    void *state;
};

static struct bench bench;
static unsigned reported; /* packets that switches have reported */

static void telemetry_plan(void *context, uint64_t *number, struct pd_pint_plan **plan)
{
    (void)context;
    if (!bench.planless && *number != 1) {
        *number = 1;
        assert_int_equal(pd_pint_plan_parse(text, strlen(text), "plan", plan, NULL), 0);
    }
}

static int packet_out(void *context, uint32_t switch_id, uint32_t in_port, const uint8_t *data,
                      size_t bytes)
{
    (void)context;
    (void)switch_id;
    (void)in_port;
    (void)data;
    (void)bytes;
    return 0;
}

static int set_up(void **state)
{
    const struct pd_app_call call = {.world = &bench.world};
    struct pd_error error;

    (void)state;
    reported = 0;
    bench = (struct bench){.fake = fake_world_new(4)};
    bench.ops = *bench.fake->world.ops;
    bench.ops.telemetry_plan = telemetry_plan;
    bench.ops.packet_out = packet_out;
    bench.world = bench.fake->world;
    bench.world.ops = &bench.ops;
    assert_int_equal(pd_pint_plan_parse(text, strlen(text), "plan", &bench.plan, NULL), 0);
    assert_int_equal(pd_app_loop.open(&call, &bench.state, &error), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    pd_app_loop.close(bench.state);
    pd_pint_plan_free(bench.plan);
    fake_world_free(bench.fake);
    return 0;
}

/* A UDP packet with a digest, as it comes to a hop. */
static void make_frame(uint16_t number, uint16_t digest, uint32_t hop, uint8_t frame[FRAME_BYTES])
{
    const uint8_t head[] = {0x88, 0xa8, (uint8_t)(digest >> 8), (uint8_t)digest, 8, 0};
    const uint8_t ip[] = {0x45,
                          0,
                          0,
                          46,
                          (uint8_t)(number >> 8),
                          (uint8_t)number,
                          0,
                          0,
                          (uint8_t)(65 - hop),
                          17,
                          0,
                          0,
                          10,
                          1,
                          1,
                          2,
                          10,
                          2,
                          1,
                          2};
    const uint8_t udp[] = {0x9c, 0x40, 0x13, 0x88, 0, 26, 0, 0};

    memset(frame, 0, FRAME_BYTES);
    memcpy(frame + 12, head, sizeof head);
    memcpy(frame + 18, ip, sizeof ip);
    memcpy(frame + 38, udp, sizeof udp);
}

static uint32_t port_towards(uint32_t sw, uint32_t peer)
{
    const struct pd_topology *topology = bench.fake->topology;
    const struct pd_switch *entry = &topology->switches[pd_topology_switch(topology, sw)];

    for (uint32_t i = 0; i < entry->switch_neighbours; i++) {
        if (topology->switches[entry->neighbours[i].node].id == peer) {
            return entry->neighbours[i].port;
        }
    }
    fail();
    return 0;
}

/* The packet goes round until a switch reports it; whether the application finds that new. */
static bool go_round(uint16_t number, bool forged)
{
    uint8_t frame[FRAME_BYTES];
    struct pd_packet parsed;
    uint16_t digest = 0;
    struct pd_pint_visit visit = {.first = true};

    make_frame(number, 0, 1, frame);
    assert_int_equal(pd_packet_parse(frame, sizeof frame, sizeof frame, &parsed), PD_PACKET_OK);
    visit.packet_id = pd_packet_id(frame, sizeof frame, &parsed, bench.plan->seed);
    for (visit.hop = 1; visit.hop < 64; visit.hop++, visit.first = false) {
        visit.sw = circle[visit.hop % 4];
        if (pd_pint_switch(bench.plan, &visit, &digest)) {
            break;
        }
    }
    if (visit.hop == 64) {
        return false; /* some die of their TTL first */
    }
    reported++;
    make_frame(number, (uint16_t)(digest ^ forged), visit.hop, frame);
    const struct pd_app_packet packet = {.switch_id = visit.sw,
                                         .in_port =
                                             port_towards(visit.sw, circle[(visit.hop + 3) % 4]),
                                         .data = frame,
                                         .bytes = sizeof frame,
                                         .received_ns = 1};
    return pd_app_loop.packet_in(bench.state, &bench.world, &packet);
}

static json_t *report(void)
{
    json_t *args = json_pack("{s:f}", "seconds", 600.0), *json;
    const struct pd_app_call call = {.world = &bench.world, .args = args};
    struct pd_report own;
    struct pd_error error;

    pd_app_report_init(&own);
    assert_int_equal(pd_app_loop.run(bench.state, &call, &own, &error), 0);
    json = pd_app_report_json(&own, "loop");
    pd_app_report_done(&own);
    json_decref(args);
    return json;
}

static void reports_close_the_circle(void **state)
{
    unsigned news = 0;
    json_t *json;

    (void)state;
    for (uint16_t number = 1; number <= 200; number++) {
        news += go_round(number, false);
    }
    assert_int_equal(news, 4); /* a link each */
    json = report();
    const json_t *row = json_array_get(report_rows(json, "reported"), 0);
    assert_int_equal(json_array_size(report_rows(json, "reported")), 1);
    assert_string_equal(json_string_value(json_object_get(row, "switches")), "9, 17, 11, 18");
    assert_true(json_is_true(json_object_get(row, "closed")));
    assert_int_equal(json_integer_value(json_object_get(row, "flows")), 1);
    assert_int_equal(json_array_size(json_object_get(json, "links")), 4);
    assert_true(report_certain(json));
    json_decref(json);
}

/* Bits that the switch does not write prove nothing. */
static void forged_reports_are_none(void **state)
{
    json_t *json;

    (void)state;
    for (uint16_t number = 1; number <= 50; number++) {
        assert_false(go_round(number, true));
    }
    assert_true(reported > 30);
    json = report();
    assert_null(report_rows(json, "reported"));
    assert_int_equal(json_array_size(json_object_get(json, "links")), 0);
    const json_t *row = json_array_get(report_rows(json, "packets"), 0);
    assert_int_equal(json_integer_value(json_object_get(row, "packets")), reported);
    json_decref(json);
}

static void without_a_plan_nothing_is_read(void **state)
{
    (void)state;
    bench.planless = true;
    for (uint16_t number = 1; number <= 20; number++) {
        assert_false(go_round(number, false));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reports_close_the_circle, set_up, tear_down),
        cmocka_unit_test_setup_teardown(forged_reports_are_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_plan_nothing_is_read, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
