/* SPDX-License-Identifier: Apache-2.0 */
/* tail-latency: each port in turn is slow and named alone; none without; what is new; wrong rows.
 */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_world.h"
#include "telemetry/column.h"
#include "tests/shared/random.h"
#include "topology/paths.h"

enum { SAMPLES = 60 };

static struct random rng;
static uint8_t extras[FAKE_RECORDS_MAX][1024];

struct filling {
    struct fake_world *world;
    struct pd_link_match slow; /* {0}: none */
    uint64_t slow_ns;
    uint64_t began_us_ago;
    uint16_t flows;
};

/* Samples of a hop: around 1,000 ns, or around what a slow one takes. */
static void measure(const struct filling *filling, const struct pd_path *path, uint32_t place,
                    struct pd_telemetry_series *series)
{
    const bool slow = place < path->len && path->switches[place - 1] == filling->slow.from &&
                      path->switches[place] == filling->slow.to;
    const uint64_t base = slow ? filling->slow_ns : 1000;

    series->place = place;
    series->len = 8;
    for (uint32_t i = 0; i < series->len; i++) {
        series->bins[i].value = base / 2 + i * base / 8 + random_below(&rng, base / 10);
        series->bins[i].count = SAMPLES / 8;
    }
}

static int add_path(void *context, const struct pd_path *path)
{
    struct filling *filling = context;
    struct fake_world *world = filling->world;
    char text[128] = "", src[32], dst[32];
    const uint32_t first = path->switches[0], last = path->switches[path->len - 1];
    uint8_t *extra = extras[world->records_len];
    struct pd_telemetry_series series = {.name = "latency"};
    struct pd_telemetry_writer writer;
    const uint16_t kind = htole16(PD_TELEMETRY_COLUMN_KIND);

    for (uint32_t p = 0; p < path->len; p++) {
        sprintf(text + strlen(text), "%s%u", p ? "," : "", path->switches[p]);
    }
    sprintf(src, "10.%u.%u.2", (first - 1) / 2 + 1, (first - 1) % 2 + 1);
    sprintf(dst, "10.%u.%u.2", (last - 1) / 2 + 1, (last - 1) % 2 + 1);
    struct pd_tib_record *record =
        fake_world_record(world, src, filling->flows++, dst, 80, text, filling->began_us_ago,
                          filling->began_us_ago - 1000000, 1000, 10);
    pd_telemetry_writer_begin(&writer, extra + 6, sizeof extras[0] - 6, 0);
    for (uint32_t place = 1; place <= path->len; place++) {
        measure(filling, path, place, &series);
        pd_telemetry_writer_add(&writer, &series);
    }
    assert_false(writer.full);
    const uint32_t bytes = htole32((uint32_t)writer.used);
    memcpy(extra, &kind, 2);
    memcpy(extra + 2, &bytes, 4);
    record->extra = extra;
    record->extra_bytes = 6 + (uint32_t)writer.used;
    return 0;
}

/* All shortest paths between racks of other pods. */
static void fill(struct filling *filling)
{
    const struct pd_topology *topology = filling->world->topology;

    for (uint32_t a = 1; a <= 8; a++) {
        for (uint32_t b = 1; b <= 8; b++) {
            if ((a - 1) / 2 != (b - 1) / 2) {
                assert_int_equal(pd_topology_shortest(topology, pd_topology_switch(topology, a),
                                                      pd_topology_switch(topology, b), add_path,
                                                      filling),
                                 0);
            }
        }
    }
}

static json_t *links_of(const json_t *report)
{
    return json_object_get(report, "links");
}

static void each_slow_port_is_named_alone(void **state)
{
    struct fake_world *world = fake_world_new(4);
    const struct pd_topology *topology = world->topology;
    unsigned ports = 0, named = 0;
    (void)state;
    for (uint32_t s = 0; s < topology->switches_len; s++) {
        const struct pd_switch *sw = &topology->switches[s];
        for (uint32_t n = 0; n < sw->switch_neighbours; n++) {
            const uint32_t to = topology->switches[sw->neighbours[n].node].id;
            struct filling filling = {world, {sw->id, to}, 30000, 5000000, 1};
            char link[16];
            world->records_len = 0;
            fill(&filling);
            json_t *report = fake_world_run(world, "tail-latency", NULL);
            sprintf(link, "%u-%u", sw->id, to);
            ports++;
            named += json_array_size(links_of(report)) == 1 &&
                     !strcmp(json_string_value(json_array_get(links_of(report), 0)), link);
            assert_false(report_certain(report)); /* it may always have been slow */
            json_decref(report);
        }
    }
    assert_int_equal(ports, 64); /* both directions of 32 cables */
    assert_int_equal(named, ports);
    fake_world_free(world);
}

static void without_a_fault_none_is_named(void **state)
{
    struct fake_world *world = fake_world_new(4);
    (void)state;
    for (unsigned turn = 0; turn < 20; turn++) {
        struct filling filling = {world, {0, 0}, 0, 5000000, 1};
        world->records_len = 0;
        fill(&filling);
        json_t *report = fake_world_run(world, "tail-latency", NULL);
        assert_int_equal(json_array_size(links_of(report)), 0);
        assert_string_equal(report_verdict(report), "no port makes the tail of a path alone");
        assert_int_equal(json_array_size(report_rows(report, "ports")), 10);
        json_decref(report);
    }
    fake_world_free(world);
}

static void what_is_new_is_told(void **state)
{
    struct fake_world *world = fake_world_new(4);
    struct filling now = {world, {9, 17}, 30000, 5000000, 1};
    struct filling before = {world, {0, 0}, 0, 30000000, 10000};
    (void)state;
    fill(&now);
    json_t *report = fake_world_run(world, "tail-latency", NULL);
    assert_true(report_has(report, "evidence", "nothing was measured there"));
    assert_true(report_has(report, "lacks", "1 of 1 slow ports were like before"));
    assert_null(strstr(report_verdict(report), "new"));
    json_decref(report);
    fill(&before);
    report = fake_world_run(world, "tail-latency", NULL);
    assert_non_null(strstr(report_verdict(report), "switch 9 towards 17 slows these flows"));
    assert_non_null(strstr(report_verdict(report), "which is new"));
    assert_true(report_certain(report));
    json_decref(report);
    world->records_len = 0;
    before.slow = now.slow;
    before.slow_ns = 40000;
    fill(&now);
    fill(&before);
    report = fake_world_run(world, "tail-latency", NULL);
    assert_non_null(strstr(report_verdict(report), "as before"));
    json_decref(report);
    report = fake_world_run(world, "tail-latency", "{\"src_ip\":\"10.3.1.2\"}");
    assert_int_equal(json_array_size(links_of(report)), 0); /* these do not cross it */
    json_decref(report);
    fake_world_free(world);
}

static void what_is_wrong_or_missing_is_said(void **state)
{
    struct fake_world *world = fake_world_new(4);
    json_t *report = fake_world_run(world, "tail-latency", NULL);
    (void)state;
    assert_string_equal(report_verdict(report), "nothing was measured");
    assert_false(report_certain(report));
    json_decref(report);
    assert_int_equal(fake_world_fails(world, "tail-latency", "{\"quantile\":1}"), -PD_E_VALUE);
    assert_int_equal(fake_world_fails(world, "tail-latency", "{\"quantile\":0}"), -PD_E_VALUE);
    fake_world_canned(world, "getTelemetry",
                      "{\"rows\":[7,{\"switch\":1},{\"switch\":1,\"to\":9,\"path\":[1,9,2],"
                      "\"values\":[[5,1],[4,1]]}],\"complete\":true}");
    report = fake_world_run(world, "tail-latency", NULL);
    assert_true(report_has(report, "lacks", "3 rows of an answer are none"));
    json_decref(report);
    fake_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_slow_port_is_named_alone),
        cmocka_unit_test(without_a_fault_none_is_named),
        cmocka_unit_test(what_is_new_is_told),
        cmocka_unit_test(what_is_wrong_or_missing_is_said),
    };
    rng.state = test_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
