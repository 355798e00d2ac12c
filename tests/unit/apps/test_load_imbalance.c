/* SPDX-License-Identifier: Apache-2.0 */
/* load-imbalance: flows hashed at random and by size, packets sprayed evenly and not, few flows,
 * bad answers. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <stdio.h>
#include <string.h>

#include "fake_world.h"
#include "tests/shared/random.h"

static void add_flow(struct fake_world *world, struct random *random, unsigned port,
                     const char *path, uint64_t bytes)
{
    fake_world_record(world, "10.1.1.2", (uint16_t)port, "10.2.1.2", 80, path,
                      1000000 + random_below(random, 50000000), 500000, bytes, bytes / 1400 + 1);
}

/* Flows from pod 1 up through switch 9, which chooses core 17 or 18; a few large ones among many
 * small ones. As many of the same sizes go through switch 10, so that their rack is even. */
static void add_flows(struct fake_world *world, struct random *random, unsigned flows_len,
                      uint64_t split_bytes)
{
    for (unsigned i = 0; i < flows_len; i++) {
        uint64_t bytes = random_below(random, 10) ? 2000 + random_below(random, 100000)
                                                  : 1500000 + random_below(random, 3000000);
        bool first = split_bytes ? bytes > split_bytes : random_below(random, 2);

        add_flow(world, random, 1000 + i, first ? "1,9,17,11,3" : "1,9,18,11,3", bytes);
        add_flow(world, random, 10000 + i, i % 2 ? "1,10,19,12,3" : "1,10,20,12,3", bytes);
    }
}

static void a_hash_by_size_is_found(void **state)
{
    struct fake_world *world = fake_world_new(4);
    struct random random = {test_seed()};
    (void)state;

    add_flows(world, &random, 600, 1000000);
    static const char *const questions[] = {"{\"links\":\"9-17,9-18\"}", "{\"switch\":9}", "{}"};
    for (unsigned i = 0; i < 3; i++) {
        json_t *report = fake_world_run(world, "load-imbalance", questions[i]);

        assert_non_null(strstr(report_verdict(report), "split by size"));
        assert_true(report_certain(report));
        assert_string_equal(json_string_value(json_array_get(json_object_get(report, "links"), 0)),
                            "9-17");
        assert_int_equal(json_array_size(json_object_get(report, "links")), 1);
        assert_int_equal(json_array_size(report_rows(report, "links")), 2);
        assert_true(json_array_size(report_rows(report, "sizes")) >= 4);
        assert_true(json_array_size(report_rows(report, "rate")) >= 10);
        json_decref(report);
    }
    fake_world_free(world);
}

/* Flows of one size, most of them on one link: no split by size, but a load that chance does not
 * make. */
static void an_uneven_load_is_found(void **state)
{
    struct fake_world *world = fake_world_new(4);
    (void)state;

    for (unsigned i = 0; i < 400; i++) {
        fake_world_record(world, "10.1.1.2", (uint16_t)(1000 + i), "10.2.1.2", 80,
                          i % 5 ? "1,9,17,11,3" : "1,9,18,11,3", 30000000, 500000, 100000 + i % 7,
                          100);
    }
    json_t *report = fake_world_run(world, "load-imbalance", "{\"switch\":9}");
    assert_non_null(strstr(report_verdict(report), "uneven: 9-17"));
    assert_non_null(strstr(report_verdict(report), "60 %"));
    assert_true(report_certain(report));
    json_decref(report);
    report = fake_world_run(world, "load-imbalance", "{\"switch\":9,\"threshold\":70}");
    assert_int_equal(json_array_size(json_object_get(report, "links")), 0);
    json_decref(report);
    fake_world_free(world);
}

static void a_random_hash_is_not(void **state)
{
    struct random random = {20161102}; /* a fixed one: chance may go beyond any bound, if seldom */
    (void)state;

    for (unsigned round = 0; round < 20; round++) {
        struct fake_world *world = fake_world_new(4);
        json_t *report;

        add_flows(world, &random, 1 + (unsigned)random_below(&random, 300), 0);
        report = fake_world_run(world, "load-imbalance", "{\"switch\":9}");
        assert_int_equal(json_array_size(json_object_get(report, "links")), 0);
        assert_false(report_certain(report));
        json_decref(report);
        fake_world_free(world);
    }
}

/* Two large flows that met: the rate is high, and chance explains it. */
static void few_flows_prove_nothing(void **state)
{
    struct fake_world *world = fake_world_new(4);
    json_t *report;
    (void)state;

    fake_world_record(world, "10.1.1.2", 1, "10.2.1.2", 80, "1,9,17,11,3", 9000000, 0, 9000000, 99);
    fake_world_record(world, "10.1.1.2", 2, "10.2.1.2", 80, "1,9,17,11,3", 9000000, 0, 9000000, 99);
    report = fake_world_run(world, "load-imbalance", "{\"switch\":9}");
    assert_non_null(strstr(report_verdict(report), "chance"));
    assert_int_equal(json_array_size(json_object_get(report, "links")), 0);
    assert_false(report_certain(report));
    json_decref(report);
    fake_world_free(world);
}

static void spray(struct fake_world *world, uint64_t third_pkts, uint64_t other_pkts)
{
    static const char *const paths[] = {"1,9,17,11,3", "1,9,18,11,3", "1,10,19,12,3",
                                        "1,10,20,12,3"};

    for (unsigned i = 0; i < 4; i++) {
        uint64_t pkts = i == 2 ? third_pkts : other_pkts;
        if (pkts) {
            fake_world_record(world, "10.1.1.2", 1000, "10.2.1.2", 80, paths[i], 9000000, 100,
                              pkts * 1500, pkts);
        }
    }
}

#define SPRAY_ARGS "{\"src_ip\":\"10.1.1.2\",\"dst_ip\":\"10.2.1.2\",\"dst_port\":80}"

static void spraying_is_judged_by_its_packets(void **state)
{
    static const struct {
        uint64_t third_pkts, other_pkts;
        const char *words;
        bool certain;
    } cases[] = {
        {17000, 17000, "evenly sprayed over 4 of 4 paths", false},
        {48000, 8000, "switch 10 sends too much to 19 and least to 20", true},
        {0, 20000, "switch 10 sends too much to 20 and least to 19", true},
        {6, 2, "chance", false}, /* 12 packets */
        {5000, 0, "not sprayed", false},
        {0, 0, "no packet of this flow", false},
    };
    (void)state;

    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fake_world *world = fake_world_new(4);
        json_t *report;

        spray(world, cases[i].third_pkts, cases[i].other_pkts);
        report = fake_world_run(world, "load-imbalance", SPRAY_ARGS);
        if (!strstr(report_verdict(report), cases[i].words)) {
            fail_msg("%s: %s", cases[i].words, report_verdict(report));
        }
        assert_int_equal(report_certain(report), cases[i].certain);
        assert_int_equal(json_array_size(json_object_get(report, "links")), cases[i].certain);
        assert_int_equal(json_array_size(report_rows(report, "paths")),
                         cases[i].third_pkts + cases[i].other_pkts ? 4 : 0);
        json_decref(report);
        fake_world_free(world);
    }
}

static void what_is_not_known_is_said(void **state)
{
    struct fake_world *world = fake_world_new(4);
    struct random random = {test_seed()};
    json_t *report;
    (void)state;

    add_flows(world, &random, 600, 1000000);
    fake_world_record(world, "10.1.1.2", 5, "10.2.1.2", 80, "1,17,3", 9000000, 0, 9000000, 99);
    report = fake_world_run(world, "load-imbalance", "{}");
    assert_false(report_certain(report));
    assert_true(report_has(report, "lacks", "1 flows have a path that does not exist"));
    json_decref(report);
    world->records_len--;
    fake_world_missing(world, world->topology->hosts[15].id, "it is off");
    report = fake_world_run(world, "load-imbalance", "{}");
    assert_false(report_certain(report));
    assert_true(report_has(report, "lacks", "it is off"));
    json_decref(report);
    fake_world_canned(world, "getFlows",
                      "{\"flows\":[1,{},{\"flow_id\":7,\"path\":[1,9]},{\"path\":[9,17]}]}");
    report = fake_world_run(world, "load-imbalance", "{}");
    assert_false(report_certain(report));
    assert_string_equal(report_verdict(report), "no traffic over these links");
    json_decref(report);
    fake_world_free(world);
}

static void wrong_arguments_are_refused(void **state)
{
    static const char *const wrong[] = {
        "{\"links\":\"9-17\"}",      "{\"links\":\"9-17,9-17\"}",
        "{\"links\":\"9-17,9-99\"}", "{\"links\":\"9-17,*-18\"}",
        "{\"links\":\",\"}",         "{\"switch\":99}",
        "{\"switch\":17}",           "{\"interval\":0.0001}",
        "{\"dst_ip\":\"x\"}",        "{\"switch\":9,\"window\":1e8}"};
    struct fake_world *world = fake_world_new(4);
    (void)state;

    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(fake_world_fails(world, "load-imbalance", wrong[i]), -PD_E_VALUE);
    }
    fake_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hash_by_size_is_found),
        cmocka_unit_test(an_uneven_load_is_found),
        cmocka_unit_test(a_random_hash_is_not),
        cmocka_unit_test(few_flows_prove_nothing),
        cmocka_unit_test(spraying_is_judged_by_its_packets),
        cmocka_unit_test(what_is_not_known_is_said),
        cmocka_unit_test(wrong_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
