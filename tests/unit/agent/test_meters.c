/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of meters as JSON, and drivers that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/meters/answer.h"

static struct pd_flow_id flow_of(uint16_t port)
{
    return (struct pd_flow_id){.src = {{10, 1, 1, 2}},
                               .dst = {{10, 2, 1, 2}},
                               .src_port = port,
                               .dst_port = 80,
                               .protocol = 17,
                               .ip_version = 4};
}

static void add(struct pd_agent_meter_reading *reading, bool down, uint8_t row, uint16_t port,
                uint64_t pkts, bool dirty)
{
    const struct pd_agent_meter_bucket bucket = {.flow = flow_of(port),
                                                 .filter = 7,
                                                 .pkts = pkts,
                                                 .place = port,
                                                 .row = row,
                                                 .dirty = dirty};

    assert_int_equal(pd_agent_meter_reading_bucket(reading, down, &bucket), 0);
}

static void test_json(void **state)
{
    struct pd_agent_meter_reading reading = {.rows = 3, .width = 1024};
    const struct pd_agent_meter_flow stray = {.flow = flow_of(9), .pkts = 4};

    (void)state;
    add(&reading, false, 0, 1, 5, false);
    add(&reading, true, 2, 1, 4, false);
    add(&reading, true, 1, 2, 3, true);
    assert_int_equal(pd_agent_meter_reading_stray(&reading, &stray), 0);
    json_t *roles = pd_agent_meters_roles_json(&reading, 3, 41, 500);
    const json_t *up = json_array_get(roles, 0), *down = json_array_get(roles, 1);
    const json_t *rows = json_object_get(down, "rows");
    const json_t *dirty = json_array_get(json_array_get(rows, 1), 0);
    const json_t *clean = json_array_get(json_array_get(rows, 2), 0);

    assert_string_equal(json_string_value(json_object_get(up, "role")), "usm");
    assert_int_equal(json_array_size(json_object_get(up, "strays")), 0);
    assert_int_equal(json_array_size(rows), 3);
    assert_int_equal(json_array_size(json_array_get(rows, 0)), 0);
    assert_true(json_is_null(json_object_get(dirty, "flow_id")));
    assert_true(json_is_null(json_object_get(dirty, "count")));
    assert_int_equal(json_integer_value(json_object_get(clean, "count")), 4);
    assert_int_equal(json_integer_value(json_object_get(clean, "filter")), 7);
    assert_int_equal(json_integer_value(json_object_get(clean, "epoch")), 41);
    assert_int_equal(json_array_size(json_object_get(down, "strays")), 1);
    json_decref(roles);
    pd_agent_meter_reading_done(&reading);
}

/* A flow once, however many of its buckets differ; dirty ones say nothing. */
static void test_disagree(void **state)
{
    struct pd_agent_meter_reading reading = {.rows = 3, .width = 1024};

    (void)state;
    for (uint8_t row = 0; row < 3; row++) {
        add(&reading, true, row, 1, 5, false);       /* agree */
        add(&reading, true, row, 2, 5 + row, false); /* differ */
        add(&reading, true, row, 3, 5 + row, row > 0);
        add(&reading, false, row, 4, row == 2 ? 6 : 5, false);
    }
    assert_int_equal(pd_agent_meters_disagree(&reading), 2);
    assert_int_equal(pd_agent_meters_disagree(&reading), 2);
    pd_agent_meter_reading_done(&reading);
}

/* A flow in several stages of HashPipe is one; by another path it is another. */
static void test_largest(void **state)
{
    struct pd_agent_meter_reading reading = {.rows = 3};
    struct pd_agent_meter_flow large = {.flow = flow_of(1), .filter = 1, .pkts = 30};

    (void)state;
    assert_int_equal(pd_agent_meter_reading_large(&reading, &large), 0);
    assert_int_equal(pd_agent_meter_reading_large(&reading, &large), 0);
    large.filter = 2;
    assert_int_equal(pd_agent_meter_reading_large(&reading, &large), 0);
    assert_int_equal(reading.largest.len, 2);
    assert_int_equal(reading.largest.flows[0].pkts, 60);
    json_t *list = pd_agent_meters_largest_json(&reading);
    assert_int_equal(json_array_size(list), 2);
    json_decref(list);
    pd_agent_meter_reading_done(&reading);
}

/* What is no driver, is nowhere or is not there: refused in words. */
static void test_no_drivers(void **state)
{
    static const char *const wrong[] = {"",
                                        "tc",
                                        "tc:",
                                        "bogus:1",
                                        "tc:/nowhere",
                                        "swx:",
                                        "swx:unix:/x",
                                        "swx:unix:/nowhere:",
                                        "swx:unix:/nowhere:x1",
                                        "swx:unix:/nowhere:1x",
                                        "swx:unix:/nowhere:99999999999",
                                        "swx:/nowhere:1",
                                        "swx:unix:/nowhere:1"};

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct pd_agent_meter_driver *driver = NULL;
        struct pd_error error = {0};

        assert_true(pd_agent_meter_driver_open(wrong[i], 1, &driver, &error) < 0);
        assert_null(driver);
        assert_true(strlen(error.text) > 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_disagree),
        cmocka_unit_test(test_largest),
        cmocka_unit_test(test_no_drivers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
