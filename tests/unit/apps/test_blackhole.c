/* SPDX-License-Identifier: Apache-2.0 */
/* blackhole: the paper's two cases and what more flows tell; nothing without a fault; no certainty
 * that is not carried. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/apps/fake_world.h"

#define S UINT64_C(1000000)

/* The four paths from rack 1 (pod 1) to racks 3, 5 and 7, and what leads there. */
static const char *const to_rack_3[] = {"1,9,17,11,3", "1,9,18,11,3", "1,10,19,12,3",
                                        "1,10,20,12,3"};
static const char *const to_rack_5[] = {"1,9,17,13,5", "1,9,18,13,5", "1,10,19,14,5",
                                        "1,10,20,14,5"};

static int set_up(void **state)
{
    *state = fake_world_new(4);
    return *state ? 0 : -1;
}

static int tear_down(void **state)
{
    fake_world_free(*state);
    return 0;
}

/* A flow of 100 KB over these paths but for those that cross `link`; it raised an alarm `ago`
 * microseconds ago. */
static struct pd_flow_id spray(struct fake_world *world, uint16_t port, const char *dst,
                               const char *const *paths, const char *link, uint64_t ago)
{
    struct pd_link_match lost = {0};
    struct pd_tib_record *record = NULL;

    if (link) {
        assert_int_equal(pd_link_parse(link, &lost), 0);
    }
    for (int i = 0; i < 4; i++) {
        struct pd_path path;

        assert_int_equal(pd_path_parse(paths[i], &path), 0);
        if (!link || !pd_path_crosses(&path, lost)) {
            record = fake_world_record(world, "10.1.1.2", port, dst, 80, paths[i], ago + S / 2, ago,
                                       26000, 18);
        }
    }
    assert_non_null(record);
    fake_world_alarm(world, 21, "POOR_PERF", &record->flow);
    return record->flow;
}

static size_t len_of(const json_t *report, const char *list)
{
    return json_array_size(json_object_get(report, list));
}

static bool has_switch(const json_t *report, json_int_t id)
{
    const json_t *list = json_object_get(report, "switches");

    for (size_t i = 0; i < json_array_size(list); i++) {
        if (json_integer_value(json_array_get(list, i)) == id) {
            return true;
        }
    }
    return false;
}

static double confidence(const json_t *report)
{
    return json_number_value(json_object_get(report, "confidence"));
}

static void aggregate_to_core_gives_three_switches(void **state)
{
    struct fake_world *world = *state;

    spray(world, 1000, "10.2.1.2", to_rack_3, "9-17", 0);
    json_t *report = fake_world_run(world, "blackhole", NULL);
    assert_int_equal(len_of(report, "switches"), 3);
    assert_true(has_switch(report, 9) && has_switch(report, 17) && has_switch(report, 11));
    assert_int_equal(len_of(report, "links"), 0);
    assert_false(report_certain(report));
    assert_float_equal(confidence(report), 1. / 3, 1e-9); /* two links, or what is none */
    json_decref(report);
}

static void rack_to_aggregate_gives_four_switches(void **state)
{
    struct fake_world *world = *state;

    spray(world, 1000, "10.2.1.2", to_rack_3, "1-9", 0);
    json_t *report = fake_world_run(world, "blackhole", "{\"spray\": true}");
    assert_int_equal(len_of(report, "switches"), 4);
    assert_true(has_switch(report, 1) && has_switch(report, 9) && has_switch(report, 11) &&
                has_switch(report, 3));
    assert_float_equal(confidence(report), 1. / 3, 1e-9); /* 1-9, 11-3, or neither */
    json_decref(report);
}

/* Host 21, of rack 1, hangs at switch 2, too. */
static void give_second_home(struct fake_world *world)
{
    struct pd_topology *topology;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    assert_int_equal(pd_topology_write(world->topology, out), 0);
    fclose(out);
    json_t *document = json_loads(text, 0, NULL);
    json_array_append_new(json_object_get(document, "links"),
                          json_pack("{s:i, s:i}", "source", 2, "target", 21));
    free(text);
    text = json_dumps(document, 0);
    assert_int_equal(pd_topology_parse(text, strlen(text), "two homes", &topology, NULL), 0);
    json_decref(document);
    free(text);
    pd_topology_free(world->topology);
    world->topology = topology;
    world->world.topology = topology;
}

static void paths_of_a_host_at_two_switches_are_not_known(void **state)
{
    struct fake_world *world = *state;

    give_second_home(world);
    spray(world, 1000, "10.2.1.2", to_rack_3, "9-17", 0);
    json_t *report = fake_world_run(world, "blackhole", NULL);
    assert_int_equal(len_of(report, "switches"), 0);
    assert_int_equal(len_of(report, "links"), 0);
    assert_false(report_certain(report));
    assert_int_equal(len_of(report, "lacks"), 1);
    json_decref(report);
}

/* Flows that suffer from queues miss no path: the suspects stay the same. */
static void noise_does_not_matter(void **state)
{
    struct fake_world *world = *state;

    struct pd_flow_id flow = spray(world, 1000, "10.2.1.2", to_rack_3, "9-17", 0);
    for (uint16_t port = 2000; port < 2100; port++) {
        spray(world, port, "10.3.1.2", to_rack_5, NULL, 0);
    }
    fake_world_alarm(world, 21, "POOR_PERF", &flow); /* it goes on: looked at before the others */
    json_t *report = fake_world_run(world, "blackhole", NULL);
    assert_int_equal(len_of(report, "switches"), 3);
    json_decref(report);
}

/* A second flow has only the faulty link in common; when the links beside it carry packets and it
 * does not, that is certain. */
static void more_flows_find_the_link(void **state)
{
    struct fake_world *world = *state;

    spray(world, 1000, "10.2.1.2", to_rack_3, "9-17", 0);
    spray(world, 1001, "10.3.1.2", to_rack_5, "9-17", 0);
    json_t *report = fake_world_run(world, "blackhole", NULL);
    assert_int_equal(len_of(report, "links"), 1);
    assert_string_equal(json_string_value(json_array_get(json_object_get(report, "links"), 0)),
                        "9-17");
    assert_false(report_certain(report));
    json_decref(report);

    world->now_us += 5 * S; /* the records that follow are of the time since */
    fake_world_record(world, "10.4.1.2", 7, "10.2.1.2", 80, "7,15,17,11,3", 0, 0, 1000, 10);
    fake_world_record(world, "10.4.1.2", 7, "10.3.1.2", 80, "7,15,17,13,5", 0, 0, 1000, 10);
    report = fake_world_run(world, "blackhole", NULL);
    assert_int_equal(len_of(report, "links"), 1);
    assert_true(report_certain(report));
    json_decref(report);
}

static void two_blackholes_are_told_apart(void **state)
{
    struct fake_world *world = *state;

    spray(world, 1000, "10.2.1.2", to_rack_3, "9-17", 0);
    spray(world, 1001, "10.3.1.2", to_rack_5, "14-5", 0);
    json_t *report = fake_world_run(world, "blackhole", NULL);
    assert_true(report_has(report, "evidence", "one blackhole does not explain it"));
    assert_true(has_switch(report, 9) && has_switch(report, 14));
    json_decref(report);
}

static void without_a_fault_nothing_is_reported(void **state)
{
    struct fake_world *world = *state;
    json_t *report = fake_world_run(world, "blackhole", NULL);

    assert_int_equal(len_of(report, "switches"), 0);
    json_decref(report);
    spray(world, 1000, "10.2.1.2", to_rack_3, NULL, 0);
    report = fake_world_run(world, "blackhole", NULL);
    assert_int_equal(len_of(report, "switches"), 0);
    assert_int_equal(len_of(report, "lacks"), 0);
    assert_false(report_certain(report));
    json_decref(report);
}

/* Twenty packets over three paths may miss the fourth by chance. */
static void few_packets_prove_nothing(void **state)
{
    struct fake_world *world = *state;
    struct pd_tib_record *record = NULL;

    for (int i = 1; i < 4; i++) {
        record =
            fake_world_record(world, "10.1.1.2", 1, "10.2.1.2", 80, to_rack_3[i], 10, 0, 9000, 6);
    }
    fake_world_alarm(world, 21, "POOR_PERF", &record->flow);
    json_t *report = fake_world_run(world, "blackhole", NULL);
    assert_int_equal(len_of(report, "switches"), 0);
    assert_true(report_has(report, "evidence", "too few packets"));
    json_decref(report);
}

/* Both paths by one link carry nothing: beside the two that do, each would have been taken by every
 * third packet. One of them had a packet before, and is no witness for the link that they share. */
static void two_paths_that_fell_silent_share_a_link(void **state)
{
    struct fake_world *world = *state;
    struct pd_tib_record *record =
        fake_world_record(world, "10.1.1.2", 1, "10.2.1.2", 80, to_rack_3[1], 2 * S, 2 * S, 60, 1);

    for (int i = 2; i < 4; i++) {
        record =
            fake_world_record(world, "10.1.1.2", 1, "10.2.1.2", 80, to_rack_3[i], S, 0, 9000, 12);
    }
    fake_world_alarm(world, 21, "POOR_PERF", &record->flow);
    json_t *report = fake_world_run(world, "blackhole", NULL);
    assert_int_equal(len_of(report, "switches"), 4);
    assert_true(has_switch(report, 1) && has_switch(report, 9) && has_switch(report, 11) &&
                has_switch(report, 3));
    assert_false(report_certain(report));
    json_decref(report);
}

/* A flow whose packets came by two of its four paths, and what its sender's TCP says of it: of what
 * was sent, so many are not acknowledged. */
static void by_two_paths(struct fake_world *world, unsigned pkts, uint64_t opened_us,
                         unsigned again)
{
    struct pd_tib_record *record = NULL;

    for (int i = 2; i < 4; i++) {
        record = fake_world_record(world, "10.1.1.2", 1, "10.2.1.2", 80, to_rack_3[i], S, 0,
                                   pkts / 2 * 1500, pkts / 2);
    }
    fake_world_alarm(world, 21, "POOR_PERF", &record->flow);
    fake_world_poor(world, 21, &record->flow, again, 1000000);
    json_t *row = json_array_get(world->poor, 0);
    json_object_set_new(row, "opened_us", json_integer((json_int_t)opened_us));
    json_object_set_new(row, "bytes_acked", json_integer((json_int_t)(pkts - 4) * 1448));
    json_object_set_new(row, "mss_bytes", json_integer(1448));
    json_object_set_new(row, "pkts_out", json_integer(4));
}

static size_t suspects(struct fake_world *world, const char *evidence)
{
    json_t *report = fake_world_run(world, "blackhole", NULL);
    size_t len = len_of(report, "switches");

    assert_true(!len || (len == 4 && has_switch(report, 1) && has_switch(report, 9) &&
                         has_switch(report, 11) && has_switch(report, 3)));
    assert_true(!evidence || report_has(report, "evidence", evidence));
    assert_false(report_certain(report));
    json_decref(report);
    return len;
}

/* Paths of one link that are silent together need fewer packets than each alone, but their packets
 * have to be lost, too. */
static void a_short_flow_is_enough_when_its_packets_got_lost(void **state)
{
    struct fake_world *world = *state;

    by_two_paths(world, 16, FAKE_NOW_US - S, 14);
    assert_int_equal(suspects(world, "no packet over"), 4);
}

static void silence_without_losses_is_no_blackhole(void **state)
{
    struct fake_world *world = *state;

    by_two_paths(world, 16, FAKE_NOW_US - S, 2); /* an uneven sprayer */
    assert_int_equal(suspects(world, "too few packets"), 0);
    by_two_paths(world, 200, FAKE_NOW_US - S, 2); /* so many that each path alone would be missed */
    assert_int_equal(suspects(world, "too few packets"), 0);
}

static void losses_beside_silence_are_a_blackhole(void **state)
{
    struct fake_world *world = *state;

    by_two_paths(world, 200, FAKE_NOW_US - S, 190);
    assert_int_equal(suspects(world, "no packet over"), 4);
}

static void losses_of_long_ago_do_not_count(void **state)
{
    struct fake_world *world = *state;

    by_two_paths(world, 16, FAKE_NOW_US - 3600 * S, 14);
    assert_int_equal(suspects(world, "too few packets"), 0);
}

/* Of ten packets none by two of four paths: one in 500 flows without a fault. */
static void a_shorter_flow_is_not_enough(void **state)
{
    struct fake_world *world = *state;

    by_two_paths(world, 10, FAKE_NOW_US - S, 10);
    assert_int_equal(suspects(world, "too few packets"), 0);
}

static void a_sender_may_say_anything(void **state)
{
    struct fake_world *world = *state;

    by_two_paths(world, 16, FAKE_NOW_US - S, 14);
    json_t *row = json_array_get(world->poor, 0);
    json_object_set_new(row, "mss_bytes", json_integer(0));
    assert_int_equal(suspects(world, "too few packets"), 0);
    json_object_set_new(row, "mss_bytes", json_integer(-1));
    assert_int_equal(suspects(world, "too few packets"), 0);
    json_object_set_new(row, "mss_bytes", json_integer(1448));
    json_object_set_new(row, "bytes_acked", json_string("many"));
    assert_int_equal(suspects(world, "too few packets"), 0);
    json_object_set_new(row, "bytes_acked", json_null());
    assert_int_equal(suspects(world, "too few packets"), 0);
}

/* A path that carried packets until a while ago, by the receiver's clock, which is three seconds
 * ahead. */
static void a_path_that_went_silent_is_missing(void **state)
{
    struct fake_world *world = *state;
    struct pd_tib_record *record = NULL;

    for (int i = 0; i < 4; i++) {
        record = fake_world_record(world, "10.1.1.2", 1, "10.2.1.2", 80, to_rack_3[i], 4 * S,
                                   i ? 0 : 2 * S, 300000, 200);
        record->stime_us += 3 * S, record->etime_us += 3 * S;
    }
    fake_world_alarm(world, 21, "POOR_PERF", &record->flow);
    json_t *report = fake_world_run(world, "blackhole", NULL);
    assert_int_equal(len_of(report, "switches"), 3);
    json_decref(report);
}

/* One path a flow: which one is not known while nothing arrives. Others clear paths; nothing is
 * ever certain. */
static void a_flow_on_one_path_leaves_candidates(void **state)
{
    struct fake_world *world = *state;
    struct pd_flow_id flow =
        fake_world_record(world, "10.1.1.2", 1, "10.2.1.2", 80, to_rack_3[0], 9 * S, 9 * S, 1, 1)
            ->flow;

    world->records_len = 0; /* only its ID was wanted: nothing arrived */
    fake_world_alarm(world, 21, "POOR_PERF", &flow);
    world->now_us += 5 * S;
    fake_world_record(world, "10.1.1.3", 2, "10.2.1.2", 80, to_rack_3[2], S, 0, 9000, 6);
    fake_world_record(world, "10.1.1.3", 3, "10.2.1.2", 80, to_rack_3[3], S, 0, 9000, 6);
    json_t *report = fake_world_run(world, "blackhole", NULL);
    assert_false(report_certain(report));
    assert_true(report_has(report, "lacks", "path of"));
    assert_true(has_switch(report, 9) && has_switch(report, 17) && has_switch(report, 18));
    assert_false(has_switch(report, 10) || has_switch(report, 19) || has_switch(report, 12));
    json_decref(report);
}

/* ---- networks that tag nothing: where traces end ---- */

#define TRACE(port, path, reached, time)                                                           \
    "{\"flow_id\":{\"src_ip\":\"10.1.1.2\",\"dst_ip\":\"10.2.1.2\",\"src_port\":" port             \
    ",\"dst_port\":80,\"protocol\":6},\"dip\":\"10.2.1.2\",\"path\":" path ",\"reached\":" reached \
    ",\"consistent\":true,\"time_us\":" time                                                       \
    ",\"epoch_us\":0,\"retransmissions\":3,\"host\":21,\"hops\":[]}"
#define EARLY "1600000000000000" /* long before the fault */
#define NOW   "1700000000000000"

/* Flows from rack 1 to rack 3 that do not get through, with these traces. */
static json_t *stuck_with(struct fake_world *world, unsigned flows, const char *traces)
{
    char text[4096];

    world->topology->codecs_len = 0;
    for (unsigned port = 1; port <= flows; port++) {
        struct pd_flow_id flow = fake_world_record(world, "10.1.1.2", (uint16_t)port, "10.2.1.2",
                                                   80, to_rack_3[0], 9 * S, 9 * S, 1, 1)
                                     ->flow;
        world->records_len = 0; /* only its ID was wanted: nothing arrived */
        fake_world_alarm(world, 21, "POOR_PERF", &flow);
    }
    snprintf(text, sizeof text, "{\"traces\":[%s],\"complete\":true}", traces);
    fake_world_canned(world, "getTraces", text);
    return fake_world_run(world, "blackhole", NULL);
}

/* 17 and 18 answer others, so that only the steps to them can be what swallows. */
static void a_trace_that_ends_leaves_the_links_behind_it(void **state)
{
    static const char traces[] = TRACE("1", "[1,9]", "false", NOW) "," TRACE(
        "2", "[1,9]", "false", NOW) "," TRACE("3", "[1,9,17,11,3]", "true", EARLY) "," //
        TRACE("4", "[1,9,18,11,3]", "true", EARLY);
    json_t *report = stuck_with(*state, 2, traces);

    assert_int_equal(len_of(report, "switches"), 3);
    assert_true(has_switch(report, 9) && has_switch(report, 17) && has_switch(report, 18));
    assert_int_equal(len_of(report, "links"), 0);
    assert_false(report_certain(report));
    assert_float_equal(confidence(report), 1. / 3, 1e-9);
    assert_true(report_has(report, "evidence", "answered by switch 9, and by none behind"));
    assert_non_null(strstr(report_verdict(report), "traces of their flows end"));
    json_decref(report);
}

/* Neither 17 nor 18 ever answered: one may be silent, and the fault behind it. */
static void behind_a_silent_router_all_is_suspected(void **state)
{
    json_t *report = stuck_with(*state, 1, TRACE("1", "[1,9,0,0]", "false", NOW));

    assert_true(has_switch(report, 9) && has_switch(report, 17) && has_switch(report, 18) &&
                has_switch(report, 11));
    assert_false(has_switch(report, 10) || has_switch(report, 1));
    assert_false(report_certain(report));
    json_decref(report);
}

/* Of the second only its last switch did not answer: that may have been lost on the way back, by
 * the link behind which the first one's trace ends. */
static void one_answer_may_be_lost_on_the_way_back(void **state)
{
    struct fake_world *world = *state;
    struct pd_flow_id back =
        fake_world_record(world, "10.2.1.2", 9, "10.1.1.2", 80, "3,11,17,9,1", 9 * S, 9 * S, 1, 1)
            ->flow;
    static const char traces[] =
        TRACE("1", "[1,9]", "false", NOW) "," TRACE("3", "[1,9,17,11,3]", "true", EARLY) "," TRACE(
            "4", "[1,9,18,11,3]", "true",
            EARLY) "," //
                   "{\"flow_id\":{\"src_ip\":\"10.2.1.2\",\"dst_ip\":\"10.1.1.2\",\"src_port\":9,"
                   "\"dst_port\":80,\"protocol\":6},\"path\":[3,12,20,10],\"reached\":false,\"time_"
                   "us\":" NOW ",\"retransmissions\":3,\"host\":25}";

    fake_world_alarm(world, 25, "POOR_PERF", &back);
    json_t *report = stuck_with(world, 1, traces);
    assert_int_equal(len_of(report, "switches"), 3);
    assert_true(has_switch(report, 9) && has_switch(report, 17) && has_switch(report, 18));
    assert_int_equal(json_array_size(report_rows(report, "suspects")), 2);
    json_decref(report);
}

/* One flow was traced before: its way and the end of the other's have one link in common. */
static void a_way_and_an_end_name_the_link(void **state)
{
    static const char traces[] = TRACE("1", "[1,9]", "false", NOW) "," TRACE(
        "2", "[1,9,17,11,3]", "true", EARLY) "," TRACE("3", "[1,9,18,11,3]", "true", EARLY);
    json_t *report = stuck_with(*state, 2, traces);

    assert_int_equal(len_of(report, "links"), 1);
    assert_string_equal(json_string_value(json_array_get(json_object_get(report, "links"), 0)),
                        "9-17");
    assert_false(report_certain(report)); /* a host's word, and routes may have changed since */
    json_decref(report);
}

/* Its probes get through, so that no link on its way swallows all. */
static void probes_that_get_through_suspect_nothing(void **state)
{
    json_t *report = stuck_with(*state, 1, TRACE("1", "[1,9,17,11,3]", "true", NOW));

    assert_int_equal(len_of(report, "switches"), 0);
    assert_true(report_has(report, "evidence", "or on the way back"));
    json_decref(report);
}

/* A way that no path between its racks begins with, and nothing that answered. */
static void traces_that_do_not_fit_are_left_out(void **state)
{
    static const char *const traces[] = {TRACE("1", "[1,10,20,13]", "false", NOW),
                                         TRACE("1", "[0,0]", "false", NOW),
                                         TRACE("1", "[99]", "false", NOW)};

    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
        struct fake_world *world = fake_world_new(4);
        json_t *report = stuck_with(world, 1, traces[i]);
        assert_true(report_has(report, "lacks", "path of"));
        assert_true(has_switch(report, 9) && has_switch(report, 10));
        assert_false(report_certain(report));
        json_decref(report);
        fake_world_free(world);
    }
    (void)state;
}

static void what_did_not_answer_is_said(void **state)
{
    struct fake_world *world = *state;

    fake_world_missing(world, 25, "timeout");
    json_t *report = fake_world_run(world, "blackhole", NULL);
    assert_true(report_has(report, "lacks", "host 25")); /* it may have cause to complain */
    json_decref(report);
    spray(world, 1000, "10.2.1.2", to_rack_3, "9-17", 0);
    report = fake_world_run(world, "blackhole", NULL);
    assert_int_equal(len_of(report, "switches"), 0);
    assert_true(report_has(report, "lacks", "host 25"));
    json_decref(report);
}

static void hostile_input_is_survived(void **state)
{
    struct fake_world *world = *state;
    struct pd_flow_id flow = {.ip_version = 4, .src = {{192, 168, 1, 1}}, .dst = {{10, 2, 1, 2}}};

    fake_world_alarm(world, 21, "POOR_PERF", &flow);
    json_array_append_new(world->alarms,
                          json_pack("{s:i, s:I, s:s, s:n}", "host", 21, "time_us",
                                    (json_int_t)FAKE_NOW_US, "reason", "POOR_PERF", "flow_id"));
    json_array_append_new(world->alarms, json_pack("{s:s}", "reason", "POOR_PERF"));
    spray(world, 1, "10.2.1.2", to_rack_3, "9-17", 0);
    fake_world_record(world, "10.1.1.2", 1, "10.2.1.2", 80, "1,9,20,11,3", 5, 0, 1000, 100);
    fake_world_record(world, "10.1.1.2", 1, "10.2.1.2", 80, "", 5, 0, 1000, 100);
    json_t *report = fake_world_run(world, "blackhole", NULL);
    assert_int_equal(len_of(report, "switches"), 3);
    assert_false(report_certain(report));
    assert_true(report_has(report, "lacks", "do not exist"));
    json_decref(report);
    fake_world_canned(world, "getFlows", "{\"flows\": [1, {\"flow_id\": {}}, {\"pkts\": 1e300}]}");
    report = fake_world_run(world, "blackhole", NULL);
    assert_int_equal(len_of(report, "links"), 0);
    assert_false(report_certain(report));
    json_decref(report);
    json_object_clear(world->canned[0].answer);
    assert_true(fake_world_fails(world, "blackhole", NULL) < 0);
    assert_true(fake_world_fails(world, "blackhole", "{\"src_ip\": \"10.1.1.2\"}") < 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(aggregate_to_core_gives_three_switches),
        TEST(paths_of_a_host_at_two_switches_are_not_known),
        TEST(rack_to_aggregate_gives_four_switches),
        TEST(noise_does_not_matter),
        TEST(more_flows_find_the_link),
        TEST(two_blackholes_are_told_apart),
        TEST(without_a_fault_nothing_is_reported),
        TEST(few_packets_prove_nothing),
        TEST(two_paths_that_fell_silent_share_a_link),
        TEST(a_short_flow_is_enough_when_its_packets_got_lost),
        TEST(silence_without_losses_is_no_blackhole),
        TEST(losses_beside_silence_are_a_blackhole),
        TEST(losses_of_long_ago_do_not_count),
        TEST(a_shorter_flow_is_not_enough),
        TEST(a_sender_may_say_anything),
        TEST(a_path_that_went_silent_is_missing),
        TEST(a_flow_on_one_path_leaves_candidates),
        TEST(a_trace_that_ends_leaves_the_links_behind_it),
        TEST(behind_a_silent_router_all_is_suspected),
        TEST(one_answer_may_be_lost_on_the_way_back),
        TEST(a_way_and_an_end_name_the_link),
        TEST(probes_that_get_through_suspect_nothing),
        TEST(traces_that_do_not_fit_are_left_out),
        TEST(what_did_not_answer_is_said),
        TEST(hostile_input_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
