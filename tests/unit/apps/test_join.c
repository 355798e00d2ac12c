/* SPDX-License-Identifier: Apache-2.0 */
/* Senders' losses joined with receivers' paths: slices summed, clocks that differ, flows that only
 * acknowledge, hosts that do not answer or lie, more flows than one question names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "apps/join.h"
#include "query/path_sums.h"
#include "query/suffering.h"
#include "tests/unit/apps/fake_world.h"

#define S UINT64_C(1000000)

struct scene {
    struct fake_world *fake;
    struct pd_app_join join;
    struct pd_report report;
    bool each;
    size_t flows, pathless, records;
    uint64_t pkts, bytes, retransmissions; /* of flows */
    size_t paths, hosts;
    uint64_t path_pkts, host_pkts, path_bytes;
    uint64_t unlisted;
    size_t periods;
    uint64_t begin_us, end_us; /* of all periods; each begins where the one before ends */
};

static int set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);

    if (!scene) {
        return -1;
    }
    scene->fake = fake_world_new(4);
    pd_app_report_init(&scene->report);
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;

    pd_app_join_done(&scene->join);
    pd_app_report_done(&scene->report);
    fake_world_free(scene->fake);
    free(scene);
    return 0;
}

static void visit_path(struct scene *scene, const struct pd_evidence_row *row)
{
    bool is_host =
        row->ways[0].nodes_len == 2 && (row->ways[0].nodes[0] > 20 || row->ways[0].nodes[1] > 20);

    assert_int_equal(row->lost, 0);
    assert_int_equal(row->ways_len, 1);
    *(is_host ? &scene->hosts : &scene->paths) += 1;
    *(is_host ? &scene->host_pkts : &scene->path_pkts) += row->pkts;
    scene->path_bytes += is_host ? 0 : row->ways[0].bytes;
}

static int visit(void *context, const struct pd_evidence_period *period)
{
    const struct pd_evidence_row *rows = period->rows;
    struct scene *scene = context;

    scene->unlisted = period->flows_unlisted;
    assert_true(!scene->periods || period->from_us == scene->end_us);
    scene->begin_us = scene->periods++ ? scene->begin_us : period->from_us;
    scene->end_us = period->to_us;
    for (size_t i = 0; i < period->rows_len; i++) {
        if (rows[i].kind == PD_EVIDENCE_PATH) {
            visit_path(scene, &rows[i]);
            continue;
        }
        scene->flows++;
        scene->pathless += !rows[i].ways_len;
        scene->records += rows[i].ways_len;
        scene->retransmissions += rows[i].lost;
        for (size_t w = 0; w < rows[i].ways_len; w++) {
            scene->pkts += rows[i].ways[w].pkts;
            scene->bytes += rows[i].ways[w].bytes;
        }
    }
    return 0;
}

/* A row of getTraces. */
#define TRACE_OF(port, path, reached, time)                                                  \
    "{\"flow_id\": {\"src_ip\": \"10.1.1.2\", \"dst_ip\": \"10.2.1.2\", \"src_port\": " port \
    ", \"dst_port\": 80, \"protocol\": 6}, \"path\": [" path "], \"reached\": " reached      \
    ", \"time_us\": " time ", \"retransmissions\": 1}"

/* Rows of flows that were traced: the way of the last trace, and packets that nobody counted. */
static int visit_trace(void *context, const struct pd_evidence_period *period)
{
    struct scene *scene = context;

    for (size_t i = 0; i < period->rows_len; i++) {
        const struct pd_evidence_row *row = &period->rows[i];

        assert_int_equal(row->kind, PD_EVIDENCE_FLOW);
        assert_true(row->pkts == PD_EVIDENCE_UNKNOWN);
        scene->pathless += !row->ways_len;
        scene->records += row->ways_len;
        if (row->ways_len) {
            assert_int_equal(row->lost, 2);
            assert_int_equal(row->ways->origin, PD_EVIDENCE_FROM_TRACE);
            assert_true(row->ways->pkts == PD_EVIDENCE_UNKNOWN && !row->ways->reached);
            assert_int_equal(row->ways->nodes_len, 3);
            assert_int_equal(row->ways->nodes[1], 9);
        }
    }
    return 0;
}

static int try_observe(struct scene *scene, uint64_t from_us, uint64_t to_us)
{
    const struct pd_app_call call = {.world = &scene->fake->world};
    const struct pd_evidence_sink sink = {scene, visit};
    struct pd_error error;

    scene->flows = scene->pathless = scene->records = scene->paths = scene->hosts = 0;
    scene->pkts = scene->bytes = scene->retransmissions = scene->periods = 0;
    scene->path_pkts = scene->host_pkts = scene->path_bytes = 0;
    return pd_app_join(&scene->join, &call, from_us, to_us, scene->each, &sink, &scene->report,
                       &error);
}

static void observe(struct scene *scene, uint64_t from_us, uint64_t to_us)
{
    assert_int_equal(try_observe(scene, from_us, to_us), 0);
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
        pkts += scene->path_pkts;
        bytes += scene->path_bytes;
        assert_int_equal(scene->host_pkts, 2 * scene->path_pkts); /* up and down */
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

static void set_spared(struct scene *scene, size_t row, json_int_t duplicates, json_int_t empty)
{
    json_t *poor = json_array_get(scene->fake->poor, row);

    json_object_set_new(poor, "duplicates", json_integer(duplicates));
    json_object_set_new(poor, "empty", json_integer(empty));
}

/* What the receiver had, and what carried no data, is no loss; one that is told of late takes the
 * place of the next. */
static void what_was_not_lost_is_taken_back(void **state)
{
    struct scene *scene = *state;
    uint64_t now = FAKE_NOW_US;
    struct pd_flow_id flow = fake_world_record(scene->fake, "10.1.1.2", 1, "10.2.1.2", 80,
                                               "1,9,17,11,3", S, 0, 90000, 60)
                                 ->flow;

    fake_world_poor(scene->fake, 21, &flow, 7, 1000);
    set_spared(scene, 0, 2, 1);
    observe(scene, now - S, now);
    assert_int_equal(scene->retransmissions, 4);
    set_total(scene, 0, 8);
    observe(scene, now, now + S / 5);
    assert_int_equal(scene->retransmissions, 1);
    set_spared(scene, 0, 3, 1); /* the one of just now was spared */
    observe(scene, now + S / 5, now + 2 * S / 5);
    assert_int_equal(scene->retransmissions, 0);
    set_total(scene, 0, 10);
    observe(scene, now + 2 * S / 5, now + 3 * S / 5);
    assert_int_equal(scene->retransmissions, 1); /* two, less the one that was counted in vain */
    set_spared(scene, 0, 100, 1);
    observe(scene, now + 3 * S / 5, now + 4 * S / 5);
    assert_int_equal(scene->retransmissions, 0);
}

/* Whoever asks for the first time gets what was in time, and everything once. */
static void the_first_look_has_periods(void **state)
{
    struct scene *scene = *state;
    uint64_t now = FAKE_NOW_US;
    struct pd_flow_id flow = fake_world_record(scene->fake, "10.1.1.2", 1, "10.2.1.2", 80,
                                               "1,9,17,11,3", 60 * S, 0, 6000000, 6000)
                                 ->flow;

    fake_world_record(scene->fake, "10.1.1.2", 2, "10.2.1.2", 80, "1,9,17,11,3", 60 * S, 0, 6000000,
                      6000);
    fake_world_poor(scene->fake, 21, &flow, 7, 1000);
    observe(scene, now - 60 * S, now);
    assert_in_range(scene->periods, 8, 16);
    assert_int_equal(scene->begin_us, now - 60 * S);
    assert_int_equal(scene->end_us, now);
    assert_int_equal(scene->path_pkts + scene->pkts, 12000);
    assert_int_equal(scene->retransmissions, 7);
    observe(scene, now, now + S);
    assert_int_equal(scene->periods, 1);
    assert_int_equal(scene->retransmissions, 0);
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
    assert_int_equal(scene->flows, 0);
    assert_int_equal(scene->paths, 2);
    assert_int_equal(scene->path_pkts, 24);
    assert_int_equal(scene->unlisted, 1);
    scene->each = true;
    observe(scene, FAKE_NOW_US - 2 * S, FAKE_NOW_US);
    assert_int_equal(scene->flows, 1);
    assert_int_equal(scene->unlisted, 0);
    assert_int_equal(scene->records, 2);
    assert_int_equal(scene->pkts, 24);
    assert_int_equal(scene->paths + scene->hosts, 0);
}

/* A flow that suffered is a row, and its packets are in no sum. */
static void flows_that_suffer_are_apart(void **state)
{
    struct scene *scene = *state;
    struct pd_flow_id flow = {0};

    for (uint16_t port = 1; port <= 10; port++) {
        flow = fake_world_record(scene->fake, "10.1.1.2", port, "10.2.1.2", 80, "1,9,17,11,3", S,
                                 S / 2, 9000, 6)
                   ->flow;
    }
    fake_world_poor(scene->fake, 21, &flow, 2, 1000);
    observe(scene, FAKE_NOW_US - 2 * S, FAKE_NOW_US);
    assert_int_equal(scene->flows, 1);
    assert_int_equal(scene->retransmissions, 2);
    assert_int_equal(scene->pkts, 6);
    assert_int_equal(scene->paths, 1);
    assert_int_equal(scene->path_pkts, 9 * 6);
    assert_int_equal(scene->unlisted, 9);
    assert_int_equal(scene->hosts, 2);
}

/* A host speaks of flows that it sends: nobody can blame those of others. */
static void nobody_speaks_for_others(void **state)
{
    struct scene *scene = *state;
    struct pd_flow_id flow = fake_world_record(scene->fake, "10.1.1.2", 1, "10.2.1.2", 80,
                                               "1,9,17,11,3", S, S / 2, 9000, 6)
                                 ->flow;

    fake_world_poor(scene->fake, 22, &flow, 2, 1000);
    observe(scene, FAKE_NOW_US - 2 * S, FAKE_NOW_US);
    assert_int_equal(scene->flows, 0);
    assert_int_equal(scene->path_pkts, 6);
    assert_int_equal(json_array_size(scene->report.lacks), 1);
}

/* More than a question can name: a sample of all flows, those that suffer and others alike. */
static void a_sample_where_too_many_suffer(void **state)
{
    struct scene *scene = *state;
    json_t *rows = json_array();

    for (int i = 0; i < 150000; i++) {
        json_array_append_new(rows, json_pack("[s, s, i, i, i, i, i, i, i]", "10.1.1.2", "10.2.1.2",
                                              i % 65536, i / 65536, 6, 1, 1, 0, 21));
    }
    for (uint16_t port = 1; port <= 10000; port++) {
        fake_world_record(scene->fake, "10.1.2.2", port, "10.2.1.2", 80, "1,9,17,11,3", S, S / 2,
                          9000, 6);
    }
    json_t *answer = json_pack("{s:o, s:s, s:i, s:i, s:i, s:b}", "flows", rows, "source", "bpf",
                               "since_us", 0, "forgotten", 0, "left_out", 0, "complete", 1);
    char *text = json_dumps(answer, 0);
    fake_world_canned(scene->fake, PD_SUFFERING_NAME, text);
    observe(scene, FAKE_NOW_US - 2 * S, FAKE_NOW_US);
    assert_in_range(scene->pathless, PD_PATH_SUMS_APART_MAX - 10, PD_PATH_SUMS_APART_MAX);
    double share = (double)scene->pathless / 150000;
    assert_in_range(scene->path_pkts, (uint64_t)(share * 60000 * 0.9),
                    (uint64_t)(share * 60000 * 1.1));
    assert_in_range(scene->path_bytes, 80000000, 100000000); /* what the links carried */
    free(text);
    json_decref(answer);
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
    assert_int_equal(scene->flows + scene->paths + scene->hosts, 0);
    fake_world_record(scene->fake, "10.1.1.2", 1, "10.2.1.2", 80, "1,9,17,11,3", S, S / 2, 1448000,
                      25);
    observe(scene, FAKE_NOW_US - 2 * S, FAKE_NOW_US);
    assert_int_equal(scene->path_pkts, 1000);
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

/* Two flows lost packets, of which no record tells a path: one was traced twice, the later trace
 * ends early. What was sent again and had arrived is no loss. Where packets carry tags, nobody is
 * asked for traces. */
static void traces_tell_where_nothing_is_tagged(void **state)
{
    struct scene *scene = *state;
    struct pd_topology *topology = (struct pd_topology *)(uintptr_t)scene->fake->world.topology;
    uint32_t codecs_len = topology->codecs_len;
    const struct pd_evidence_sink sink = {scene, visit_trace};
    const struct pd_app_call call = {.world = &scene->fake->world};
    struct pd_error error;

    fake_world_canned(
        scene->fake, PD_SUFFERING_NAME,
        "{\"flows\": [[\"10.1.1.2\", \"10.2.1.2\", 1, 80, 6, 3, 3, 1, 21], "
        "[\"10.1.1.2\", \"10.2.1.2\", 2, 80, 6, 2, 2, 2, 21], [\"10.1.1.2\", "
        "\"10.2.1.2\", 3, 80, 6, 1, 1, 0, 21]], \"since_us\": 0, \"source\": \"bpf\"}");
    fake_world_canned(scene->fake, "getTraces",
                      "{\"traces\": [7, " TRACE_OF("1", "1,9,17,11,3", "true", "5") ", " TRACE_OF(
                          "1", "1,9,0", "false", "9") ", " TRACE_OF("2", "1,9,17,11,3", "true",
                                                                    "5") "], \"complete\": true}");
    observe(scene, FAKE_NOW_US - 2 * S, FAKE_NOW_US);
    assert_int_equal(scene->pathless, 3);
    topology->codecs_len = 0;
    scene->flows = scene->pathless = scene->records = 0;
    pd_app_join_done(&scene->join);
    assert_int_equal(pd_app_join(&scene->join, &call, FAKE_NOW_US - 2 * S, FAKE_NOW_US, true, &sink,
                                 &scene->report, &error),
                     0);
    topology->codecs_len = codecs_len;
    assert_int_equal(scene->records, 1);
    assert_int_equal(scene->pathless, 1); /* port 3, which nobody traced; port 2 lost nothing */
}

static void hostile_answers_are_survived(void **state)
{
    struct scene *scene = *state;

    fake_world_canned(scene->fake, PD_SUFFERING_NAME,
                      "{\"flows\": [7, [], [\"10.1.1.2\", \"10.2.1.2\", 1, 2, 6, -1, 0, 0, 21], "
                      "[\"10.1.1.2\", \"fd00::1\", 1, 2, 6, 1, 1, 0, 21], [\"10.1.1.2\", "
                      "\"10.2.1.2\", 65536, 2, 6, 1, 1, 0, 21]], \"since_us\": -1}");
    fake_world_canned(
        scene->fake, PD_PATH_SUMS_NAME,
        "{\"paths\": {\"1,,9\": [1, 1], \"1,9\": [1], \"9,1\": 7, \"\": [1, 1]}, \"sources\": "
        "{\"x\": [1, 1], \"10.9.9.9\": [1, 1], \"10.1.1.2\": [-1, 1]}, \"receivers\": 4, "
        "\"flows\": [7, [\"10.1.1.2\", \"10.2.1.2\", 1, 2, 6, \"1,9\", 1], [\"10.1.1.2\", "
        "\"10.2.1.2\", 1, 2, 6, 5, 1, 1]], \"left_out\": 3}");
    observe(scene, FAKE_NOW_US - 2 * S, FAKE_NOW_US);
    assert_int_equal(scene->flows + scene->paths + scene->hosts, 0);
    assert_true(json_array_size(scene->report.lacks) >= 3);
    fake_world_canned(scene->fake, PD_PATH_SUMS_NAME, "[]");
    observe(scene, FAKE_NOW_US - 2 * S, FAKE_NOW_US);
    assert_int_equal(scene->flows + scene->paths + scene->hosts, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(windows_sum_up),
        TEST(retransmissions_count_once),
        TEST(what_was_not_lost_is_taken_back),
        TEST(the_first_look_has_periods),
        TEST(slices_and_paths_of_a_flow_are_one_observation),
        TEST(only_what_would_be_seen_counts),
        TEST(what_is_missing_is_said),
        TEST(flows_that_suffer_are_apart),
        TEST(nobody_speaks_for_others),
        TEST(a_sample_where_too_many_suffer),
        TEST(traces_tell_where_nothing_is_tagged),
        TEST(hostile_answers_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
