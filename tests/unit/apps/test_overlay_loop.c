/* SPDX-License-Identifier: Apache-2.0 */
/* overlay-loop: tunnels that carry the same both ways, and tunnels that do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/apps/fake_world.h"

#define S         1000000
#define BALANCERS "{\"balancers\": \"10.1.1.2\"}"

/* Packets through a tunnel between 10.1.1.2, the balancer, and an address of pod 2. */
static void tunnel(struct fake_world *w, bool outwards, const char *other, uint8_t protocol,
                   uint64_t bytes, uint64_t pkts)
{
    struct pd_tib_record *record =
        outwards ? fake_world_record(w, "10.1.1.2", 30000, other, 4789, "1,9,17,11,3", 9 * S, 1 * S,
                                     bytes, pkts)
                 : fake_world_record(w, other, 30001, "10.1.1.2", 4789, "3,11,17,9,1", 9 * S, 1 * S,
                                     bytes, pkts);

    record->flow.protocol = protocol;
}

static size_t len_of(const json_t *json, const char *list)
{
    return json_array_size(json_object_get(json, list));
}

static void what_comes_back_is_suspected(void **unused)
{
    static const uint8_t protocols[] = {17, 4, 47};

    (void)unused;
    for (size_t i = 0; i < 3; i++) {
        struct fake_world *w = fake_world_new(4);
        json_t *json;

        tunnel(w, true, "10.2.1.2", protocols[i], 640000, 640);
        tunnel(w, false, "10.2.1.2", protocols[i], 639000, 639);
        tunnel(w, true, "10.2.1.3", protocols[i], 90000, 90);
        json = fake_world_run(w, "overlay-loop", BALANCERS);
        assert_int_equal(len_of(json, "flows"), 2);
        assert_int_equal(len_of(json, "evidence"), 3);
        assert_true(report_has(json, "evidence", "what came back: this is the word of host"));
        assert_false(report_certain(json));
        assert_true(report_has(json, "lacks", "outer headers"));
        json_decref(json);
        fake_world_free(w);
    }
}

/* Answers are larger than what they answer; a few packets; plain traffic on other ports; traffic at
 * another time. */
static void other_traffic_is_no_loop(void **unused)
{
    struct fake_world *w = fake_world_new(4);
    struct pd_tib_record *record;
    json_t *json;

    (void)unused;
    tunnel(w, true, "10.2.1.2", 17, 64000, 640);
    tunnel(w, false, "10.2.1.2", 17, 900000, 640);
    tunnel(w, true, "10.2.1.3", 17, 5000, 5);
    tunnel(w, false, "10.2.1.3", 17, 5000, 5);
    tunnel(w, true, "10.2.2.2", 6, 64000, 640);
    tunnel(w, false, "10.2.2.2", 6, 64000, 640);
    tunnel(w, true, "10.2.2.3", 17, 64000, 640);
    record = fake_world_record(w, "10.2.2.3", 1, "10.1.1.2", 4789, "4,11,17,9,1", 28 * S, 20 * S,
                               64000, 640);
    record->flow.protocol = 17;
    json = fake_world_run(w, "overlay-loop", BALANCERS);
    assert_int_equal(len_of(json, "flows") + len_of(json, "evidence") + len_of(json, "lacks"), 0);
    assert_string_equal(report_verdict(json), "no balancer gets back what it sends");
    json_decref(json);
    fake_world_free(w);
}

static void hosts_and_answers(void **unused)
{
    struct fake_world *w = fake_world_new(4);
    json_t *json;

    (void)unused;
    json = fake_world_run(w, "overlay-loop", BALANCERS);
    assert_true(report_has(json, "lacks", "no host recorded"));
    json_decref(json);
    fake_world_missing(w, 25, "timed out");
    json = fake_world_run(w, "overlay-loop", BALANCERS);
    assert_true(report_has(json, "lacks", "timed out"));
    json_decref(json);
    fake_world_canned(w, "getFlows",
                      "{\"flows\":[{\"flow_id\":1},{\"path\":[]},{}],\"complete\":true}");
    json = fake_world_run(w, "overlay-loop", BALANCERS);
    assert_int_equal(len_of(json, "flows"), 0);
    assert_true(report_has(json, "lacks", "not in order"));
    json_decref(json);
    fake_world_free(w);
}

static void arguments(void **unused)
{
    static const char *const bad[] = {
        "{\"balancers\": \"x\"}",
        "{\"balancers\": \"10.1.1.2,\"}",
        "{\"balancers\": \"10.1.1.2\", \"ports\": \"0\"}",
        "{\"balancers\": \"10.1.1.2\", \"ports\": \"4789,-1\"}",
        "{\"balancers\": \"10.1.1.2\", \"ports\": \"65536\"}",
    };
    static const char many[] = "{\"balancers\": \"1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,"
                               "1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,"
                               "1.1.1.1,1.1.1.1,1.1.1.1\"}";
    struct fake_world *w = fake_world_new(4);

    (void)unused;
    assert_true(fake_world_fails(w, "overlay-loop", many) < 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_true(fake_world_fails(w, "overlay-loop", bad[i]) < 0);
    }
    json_t *json = fake_world_run(w, "overlay-loop", NULL);
    assert_true(report_has(json, "lacks", "balancers"));
    assert_false(report_certain(json));
    json_decref(json);
    json_decref(fake_world_run(w, "overlay-loop", "{\"balancers\": \"10.1.1.2,fd00:0:1:1::2\"}"));
    fake_world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_back_is_suspected),
        cmocka_unit_test(other_traffic_is_no_loop),
        cmocka_unit_test(hosts_and_answers),
        cmocka_unit_test(arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
