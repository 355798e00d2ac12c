/* SPDX-License-Identifier: Apache-2.0 */
/* Observations of the controller: slices summed, clocks that differ, flows that only acknowledge,
 * hosts that do not answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "controller/apps/private.h"
#include "tests/unit/apps/fake_world.h"

#define S UINT64_C(1000000)

struct scene {
    struct fake_world *fake;
    struct pd_apps_world world;
    struct pd_report report;
    size_t flows, pathless;
    uint64_t pkts, bytes, retransmissions;
    size_t records;
};

static int set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);

    if (!scene) {
        return -1;
    }
    scene->fake = fake_world_new(4);
    scene->world.world = scene->fake->world;
    pd_report_init(&scene->report);
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;

    pd_senders_done(&scene->world.senders);
    pd_report_done(&scene->report);
    fake_world_free(scene->fake);
    free(scene);
    return 0;
}

static int visit(void *context, const struct pd_evidence_period *period)
{
    const struct pd_evidence_row *flows = period->rows;
    struct scene *scene = context;

    for (size_t i = 0; i < period->rows_len; i++) {
        scene->pathless += !flows[i].ways_len;
        scene->records += flows[i].ways_len;
        scene->retransmissions += flows[i].lost;
        for (size_t w = 0; w < flows[i].ways_len; w++) {
            scene->pkts += flows[i].ways[w].pkts;
            scene->bytes += flows[i].ways[w].bytes;
        }
    }
    scene->flows += period->rows_len;
    return 0;
}

static void observe(struct scene *scene, uint64_t from_us, uint64_t to_us)
{
    const struct pd_evidence_sink sink = {scene, visit};
    struct pd_error error;

    scene->flows = scene->pathless = scene->records = 0;
    scene->pkts = scene->bytes = scene->retransmissions = 0;
    assert_int_equal(pd_apps_observe(&scene->world, from_us, to_us, &sink, &scene->report, &error),
                     0);
}

/* Windows that follow each other see all packets, each once, also of a receiver whose clock is
 * ahead. */
static void windows_sum_up(void **state)
{
    struct scene *scene = *state;
    uint64_t now = FAKE_NOW_US, pkts = 0, bytes = 0;

    for (int skewed = 0; skewed < 2; skewed++) {
        struct pd_tib_record *record =
            fake_world_record(scene->fake, "10.1.1.2", (uint16_t)(1 + skewed), "10.2.1.2", 80,
                              "1,9,17,11,3", 3 * S + 17, S + 5, 1000003, 997);
        record->stime_us += (uint64_t)skewed * 3 * S;
        record->etime_us += (uint64_t)skewed * 3 * S;
    }
    for (uint64_t at = now - 10 * S; at < now + 10 * S; at += S / 5) {
        observe(scene, at, at + S / 5);
        pkts += scene->pkts;
        bytes += scene->bytes;
    }
    assert_int_equal(pkts, 2 * 997);
    assert_true(bytes <= 2 * 1000003 &&
                bytes >
                    2 * 1000003 - 2 * 1500); /* less what came in a window with no whole packet */
}

static void set_total(struct scene *scene, size_t row, json_int_t total)
{
    json_object_set_new(json_array_get(scene->fake->poor, row), "retransmissions",
                        json_integer(total));
}

/* A retransmission counts once, whatever the sender's clock says: by the counter. */
static void retransmissions_count_once(void **state)
{
    struct scene *scene = *state;
    uint64_t now = FAKE_NOW_US;
    struct pd_flow_id flow = fake_world_record(scene->fake, "10.1.1.2", 1, "10.2.1.2", 80,
                                               "1,9,17,11,3", S, 0, 90000, 60)
                                 ->flow;

    fake_world_poor(scene->fake, 21, &flow, 7, 1000);
    observe(scene, now - S, now);
    assert_int_equal(scene->retransmissions, 7);
    observe(scene, now, now + S / 5);
    assert_int_equal(scene->retransmissions, 0);
    set_total(scene, 0, 9);
    observe(scene, now + S / 5, now + 2 * S / 5);
    assert_int_equal(scene->retransmissions, 2);
    assert_int_equal(scene->records, 1); /* its path is still known, beside the window */
    set_total(scene, 0, 1);              /* another connection with the same ports */
    observe(scene, now + 2 * S / 5, now + 3 * S / 5);
    assert_int_equal(scene->retransmissions, 1);
}

static void slices_and_paths_of_a_flow_are_one_observation(void **state)
{
    struct scene *scene = *state;

    for (int slice = 0; slice < 3; slice++) {
        fake_world_record(scene->fake, "10.1.1.2", 1, "10.2.1.2", 80, "1,9,17,11,3", S, S / 2, 9000,
                          6);
    }
    fake_world_record(scene->fake, "10.1.1.2", 1, "10.2.1.2", 80, "1,10,19,12,3", S, S / 2, 9000,
                      6);
    observe(scene, FAKE_NOW_US - 2 * S, FAKE_NOW_US);
    assert_int_equal(scene->flows, 1);
    assert_int_equal(scene->records, 2);
    assert_int_equal(scene->pkts, 24);
}

/* Losses of acknowledgements and of other protocols are seen by nobody: their packets clear no
 * link. Large packets stand for many segments. */
static void only_what_would_be_seen_counts(void **state)
{
    struct scene *scene = *state;

    fake_world_record(scene->fake, "10.2.1.2", 80, "10.1.1.2", 1, "3,11,17,9,1", S, S / 2, 6600,
                      100);
    fake_world_record(scene->fake, "10.1.1.2", 5, "10.2.1.2", 53, "1,9,17,11,3", S, S / 2, 90000,
                      60)
        ->flow.protocol = 17;
    observe(scene, FAKE_NOW_US - 2 * S, FAKE_NOW_US);
    assert_int_equal(scene->flows, 0);
    fake_world_record(scene->fake, "10.1.1.2", 1, "10.2.1.2", 80, "1,9,17,11,3", S, S / 2, 1448000,
                      25);
    observe(scene, FAKE_NOW_US - 2 * S, FAKE_NOW_US);
    assert_int_equal(scene->pkts, 1000);
}

static void what_is_missing_is_said(void **state)
{
    struct scene *scene = *state;
    struct pd_flow_id flow = fake_world_record(scene->fake, "10.1.1.2", 1, "10.2.1.2", 80,
                                               "1,9,17,11,3", S, 0, 90000, 60)
                                 ->flow;

    fake_world_poor(scene->fake, 21, &flow, 3, 1000);
    fake_world_missing(scene->fake, 25, "timeout"); /* the receiver */
    observe(scene, FAKE_NOW_US - 2 * S, FAKE_NOW_US);
    assert_int_equal(scene->pathless, 1);
    assert_true(json_array_size(scene->report.lacks) > 0);
}

static void hostile_answers_are_survived(void **state)
{
    struct scene *scene = *state;
    struct pd_error error;

    fake_world_canned(
        scene->fake, "getPoorTCPFlows",
        "{\"flows\": [7, {\"flow_id\": null}, {\"flow_id\": {\"src_ip\": \"10.1.1.2\", "
        "\"dst_ip\": \"10.2.1.2\", \"src_port\": 1, \"dst_port\": 2, \"protocol\": 6}, "
        "\"retransmissions\": -1}], \"since_us\": 9007199254740991}");
    fake_world_canned(
        scene->fake, "getFlows",
        "{\"flows\": [{\"flow_id\": {\"src_ip\": \"10.1.1.2\", \"dst_ip\": \"10.2.1.2\", "
        "\"src_port\": 1, \"dst_port\": 2, \"protocol\": 6}, \"path\": [1, 9], "
        "\"stime_us\": 9007199254740991, \"etime_us\": 1, \"bytes\": 1, \"pkts\": "
        "9007199254740991}, {}]}");
    observe(scene, FAKE_NOW_US - 2 * S, FAKE_NOW_US);
    assert_int_equal(scene->pkts, 0);
    json_object_clear(scene->fake->canned[1].answer);
    assert_true(pd_apps_observe(&scene->world, 1, 2, &(struct pd_evidence_sink){scene, visit},
                                &scene->report, &error) < 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(windows_sum_up),
        TEST(retransmissions_count_once),
        TEST(slices_and_paths_of_a_flow_are_one_observation),
        TEST(only_what_would_be_seen_counts),
        TEST(what_is_missing_is_said),
        TEST(hostile_answers_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
