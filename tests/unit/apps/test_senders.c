/* SPDX-License-Identifier: Apache-2.0 */
/* outcast and incast: the paper's case of 15 senders, fair shares, few senders, links with room,
 * alarms that say little. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <stdio.h>
#include <string.h>

#include "apps/rows.h"
#include "fake_world.h"

#define RECEIVER "10.1.1.2"

/* Where from, and how. Two by ToR 1's port from 10 would be the paper's f1: here host 10.1.1.3 in
 * the receiver's rack. */
struct sending {
    double fair_mbps, near_mbps; /* of each by an agg; of the host in the rack */
    unsigned far_len;
    bool near, suffers, near_suffers;
    const char *path; /* of the far ones, from pod %u; NULL: spread over both ports */
};

/* 14 share a port, and the one in the rack gets next to nothing: an outcast. */
static const struct sending starved = {.fair_mbps = 0.65,
                                       .near_mbps = 0.05,
                                       .far_len = 14,
                                       .near = true,
                                       .suffers = true,
                                       .near_suffers = true,
                                       .path = "one port"};

static void send(struct fake_world *world, const char *src, uint16_t port, const char *path,
                 double mbps, bool suffers)
{
    uint64_t bytes = (uint64_t)(mbps * 1e6 / 8 * 2);
    struct pd_tib_record *record = fake_world_record(world, src, port, RECEIVER, 5001, path,
                                                     2000000, 0, bytes, bytes / 1400 + 1);

    if (!suffers) {
        return;
    }
    for (unsigned i = 0; i < 3; i++) {
        fake_world_alarm(world, 30, "POOR_PERF", &record->flow);
    }
    fake_world_poor(world, 30, &record->flow, 9, (uint64_t)(mbps * 1e6));
}

/* 14 far ones of pods 2 to 4 (hosts .2 to .5 in each rack), by agg 9. */
static struct fake_world *add_senders(const struct sending *sending)
{
    struct fake_world *world = fake_world_new(4);
    char src[32], path[32];

    world->world.link_mbps = 10;
    for (unsigned i = 0; i < sending->far_len; i++) {
        unsigned pod = 2 + i % 3, rack = 1 + i / 3 % 2, agg = 7 + 2 * pod;

        snprintf(src, sizeof src, "10.%u.%u.%u", pod, rack, 2 + i / 6);
        if (sending->path || i % 2) {
            snprintf(path, sizeof path, "%u,%u,17,9,1", 2 * (pod - 1) + rack, agg);
        } else {
            snprintf(path, sizeof path, "%u,%u,19,10,1", 2 * (pod - 1) + rack, agg + 1);
        }
        send(world, src, (uint16_t)(1000 + i), path, sending->fair_mbps, sending->suffers);
    }
    if (sending->near) {
        send(world, "10.1.1.3", 999, "1", sending->near_mbps, sending->near_suffers);
    }
    return world;
}

static json_t *ask(const struct sending *sending, const char *app, const char *args)
{
    struct fake_world *world = add_senders(sending);
    json_t *report = fake_world_run(world, app, args);

    fake_world_free(world);
    return report;
}

static void names_access_link(const json_t *report)
{
    assert_string_equal(json_string_value(json_array_get(json_object_get(report, "links"), 0)),
                        "1-21");
    assert_int_equal(json_integer_value(json_array_get(json_object_get(report, "switches"), 0)), 1);
}

static void the_near_sender_is_starved(void **state)
{
    json_t *report = ask(&starved, "outcast", NULL);
    const char *tree = json_string_value(report_rows(report, "tree"));
    (void)state;

    assert_non_null(strstr(report_verdict(report), "outcast: to " RECEIVER));
    assert_true(report_certain(report));
    names_access_link(report);
    assert_true(report_has(report, "evidence", "10.1.1.3: 3 alarms"));
    assert_true(report_has(report, "evidence", "15 senders suffer at once"));
    assert_int_equal(json_array_size(report_rows(report, "senders")), 15);
    assert_int_equal(json_array_size(report_rows(report, "ports")), 2);
    assert_int_equal(json_array_size(json_object_get(report, "flows")), 1);
    assert_non_null(strstr(tree, RECEIVER "\n└─ 1: 15 flows, "));
    assert_non_null(strstr(tree, "   └─ 10.1.1.3: 50 kb/s, suffers\n"));
    assert_non_null(strstr(tree, "   ├─ 9: 14 flows, "));
    json_decref(report);
}

/* Nobody is starved, nobody complains, too few complain, the few get more. */
static void without_the_profile_there_is_none(void **state)
{
    struct sending cases[] = {starved, starved, starved, starved, starved};
    (void)state;

    cases[0].near_mbps = 0.6;
    cases[1].suffers = cases[1].near_suffers = false;
    cases[2].far_len = 5;
    cases[3].near_mbps = 2;
    cases[4].near_suffers = false; /* it is slow by itself: it loses nothing */
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *report = ask(&cases[i], "outcast", NULL);

        assert_false(report_certain(report));
        assert_int_equal(json_array_size(json_object_get(report, "links")), 0);
        assert_int_equal(json_array_size(json_object_get(report, "flows")), 0);
        assert_int_not_equal(strncmp(report_verdict(report), "outcast", 7), 0);
        json_decref(report);
    }
}

static void a_link_with_room_makes_it_uncertain(void **state)
{
    json_t *report = ask(&starved, "outcast", "{\"link_mbps\":1000}");
    (void)state;

    assert_non_null(strstr(report_verdict(report), "outcast: "));
    assert_false(report_certain(report));
    assert_true(json_number_value(json_object_get(report, "confidence")) < 0.5);
    json_decref(report);
}

static void what_is_missing_is_said(void **state)
{
    static const char *const apps[] = {"outcast", "incast"};
    (void)state;

    for (unsigned i = 0; i < 2; i++) {
        struct fake_world *world = add_senders(&starved);
        json_t *report;
        struct pd_flow_id unknown = world->records[0].flow;

        unknown.src.bytes[3] = 77; /* nothing of it arrived */
        fake_world_alarm(world, 30, "POOR_PERF", &unknown);
        json_array_append_new(world->alarms,
                              json_pack("{s:s, s:I, s:n}", "reason", "POOR_PERF", "time_us",
                                        (json_int_t)world->now_us, "flow_id"));
        report = fake_world_run(world, apps[i], NULL);
        assert_true(
            report_has(report, "lacks", "1 alarms are about flows of which nothing arrived"));
        assert_true(report_has(report, "lacks", "1 alarms do not say which flow suffers"));
        assert_false(report_certain(report));
        json_decref(report);
        fake_world_missing(world, 21, "it is off"); /* the receiver */
        report = fake_world_run(world, apps[i], "{\"senders\":1000}");
        assert_true(report_has(report, "lacks", "it is off"));
        json_decref(report);
        report = fake_world_run(world, apps[i], NULL);
        assert_true(report_has(report, "lacks", "it is off"));
        assert_false(report_certain(report));
        json_decref(report);
        fake_world_canned(world, "getPoorTCPFlows", "{\"flows\":7}");
        fake_world_canned(world, "getFlows", "{\"flows\":[{\"flow_id\":null}],\"hosts\":[]}");
        report = fake_world_run(world, apps[i], NULL);
        assert_false(report_certain(report));
        json_decref(report);
        fake_world_free(world);
    }
}

static void many_at_once_are_an_incast(void **state)
{
    const struct sending sending = {.fair_mbps = 0.65,
                                    .near_mbps = 0.6,
                                    .far_len = 14,
                                    .near = true,
                                    .suffers = true,
                                    .near_suffers = true};
    json_t *report = ask(&sending, "incast", NULL);
    (void)state;

    assert_non_null(strstr(report_verdict(report), "incast: 15 of 15 senders to " RECEIVER));
    assert_true(report_certain(report));
    names_access_link(report);
    assert_true(report_has(report, "evidence", "nothing in common but the last hop"));
    assert_int_equal(json_array_size(json_object_get(report, "flows")), 15);
    json_decref(report);
}

/* On a network that tags nothing: records without a path, and traces of all senders but the first
 * `without`. */
static json_t *incast_by_traces(unsigned without)
{
    const struct sending sending = {.fair_mbps = 0.65, .far_len = 14, .suffers = true};
    struct fake_world *world = add_senders(&sending);
    struct pd_topology *topology = (struct pd_topology *)(uintptr_t)world->world.topology;
    uint32_t codecs_len = topology->codecs_len;
    json_t *traces = json_array();

    for (size_t i = 0; i < world->records_len; i++) {
        const struct pd_tib_record *record = &world->records[i];
        struct pd_path *path = &world->paths[i];
        json_t *list = pd_app_path_json(path);

        path->len = 0;
        if (i >= without) {
            json_array_append_new(traces,
                                  json_pack("{s:o, s:o, s:b, s:i, s:i}", "flow_id",
                                            pd_app_flow_json(&record->flow), "path", list,
                                            "reached", 1, "time_us", 5, "retransmissions", 1));
        } else {
            json_decref(list);
        }
    }
    json_t *answer = json_pack("{s:o, s:b}", "traces", traces, "complete", 1);
    char *text = json_dumps(answer, 0);

    fake_world_canned(world, "getTraces", text);
    topology->codecs_len = 0;
    json_t *report = fake_world_run(world, "incast", NULL);
    topology->codecs_len = codecs_len;
    free(text);
    json_decref(answer);
    fake_world_free(world);
    return report;
}

/* The same, as far as the paths of all that suffer are known. */
static void traces_tell_the_paths_of_an_incast(void **state)
{
    (void)state;
    json_t *report = incast_by_traces(0);
    assert_non_null(strstr(report_verdict(report), "incast: 14 of 14 senders to " RECEIVER));
    assert_true(report_certain(report));
    assert_true(report_has(report, "evidence", "nothing in common but the last hop"));
    json_decref(report);
    report = incast_by_traces(3);
    names_access_link(report);
    assert_false(report_certain(report));
    assert_true(report_has(report, "lacks", "the paths of 3 senders"));
    json_decref(report);
}

/* All of them come by one link between switches: it may be that one. Nobody suffers: nothing. One
 * after the other: no incast. */
static void other_causes_are_no_incast(void **state)
{
    struct sending sending = {
        .fair_mbps = 0.65, .far_len = 14, .suffers = true, .path = "one port"};
    json_t *report = ask(&sending, "incast", NULL);
    struct fake_world *world;
    (void)state;

    assert_true(report_has(report, "evidence", "all of them also cross 9-1"));
    assert_false(report_certain(report));
    json_decref(report);
    sending.suffers = false;
    report = ask(&sending, "incast", NULL);
    assert_non_null(strstr(report_verdict(report), "nothing: "));
    json_decref(report);
    sending = (struct sending){.fair_mbps = 0.65, .far_len = 14, .suffers = true};
    world = add_senders(&sending);
    for (size_t i = 0; i < world->records_len; i++) {
        world->records[i].stime_us = world->now_us - 9000000 + 600000 * i;
        world->records[i].etime_us = world->records[i].stime_us + 500000;
    }
    report = fake_world_run(world, "incast", NULL);
    assert_non_null(strstr(report_verdict(report), "at most 1 flows ran at once"));
    assert_int_equal(json_array_size(json_object_get(report, "links")), 0);
    json_decref(report);
    fake_world_free(world);
}

/* On a busy network each sender loses something to each receiver, in a few of its flows: neither
 * profile, and no name. */
static void few_flows_of_many_are_neither(void **state)
{
    const struct sending sending = {.fair_mbps = 0.65,
                                    .near_mbps = 0.05,
                                    .far_len = 14,
                                    .near = true,
                                    .suffers = true,
                                    .near_suffers = true};
    static const char *const apps[] = {"outcast", "incast"};
    (void)state;

    for (unsigned well = 0; well <= 2; well++) {
        for (unsigned i = 0; i < 2; i++) {
            struct fake_world *world = add_senders(&sending);
            json_t *report;

            for (unsigned flow = 0; flow < 40; flow++) { /* too short to tell anything */
                send(world, "10.3.1.2", (uint16_t)(1500 + flow), "5,13,17,9,1", 0.01, false);
            }
            for (unsigned flow = 0; flow < 16 * well; flow++) {
                send(world, "10.3.1.2", (uint16_t)(2000 + flow), "5,13,17,9,1", 0.2, false);
            }
            report = fake_world_run(world, apps[i], NULL);
            assert_int_equal(json_array_size(json_object_get(report, "links")), !well);
            assert_int_equal(report_certain(report), !well);
            if (well) {
                assert_non_null(
                    strstr(report_verdict(report), well == 1 ? "only 15 of 31 flows to " RECEIVER
                                                             : "only 15 of 47 flows to " RECEIVER));
            }
            json_decref(report);
            fake_world_free(world);
        }
    }
}

/* Agents repeat an alarm once a minute only: what goes on is seen in the senders' TCP. */
static void old_alarms_do_when_losses_go_on(void **state)
{
    struct fake_world *world = add_senders(&starved);
    json_t *alarm, *row, *report;
    size_t i;
    (void)state;

    json_array_foreach(world->alarms, i, alarm)
    {
        json_object_set_new(alarm, "time_us", json_integer((json_int_t)world->now_us - 40000000));
    }
    report = fake_world_run(world, "outcast", NULL);
    assert_int_not_equal(strncmp(report_verdict(report), "outcast", 7), 0);
    json_decref(report);
    json_array_foreach(world->poor, i, row)
    {
        json_object_set_new(row, "recent", json_integer(4));
        json_object_set_new(row, "host", json_integer(22 + 3 * (json_int_t)(i % 2)));
    }
    report = fake_world_run(world, "outcast", NULL);
    assert_int_equal(strncmp(report_verdict(report), "outcast", 7), 0);
    assert_true(report_certain(report));
    json_decref(report);
    fake_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_near_sender_is_starved),
        cmocka_unit_test(without_the_profile_there_is_none),
        cmocka_unit_test(a_link_with_room_makes_it_uncertain),
        cmocka_unit_test(what_is_missing_is_said),
        cmocka_unit_test(old_alarms_do_when_losses_go_on),
        cmocka_unit_test(few_flows_of_many_are_neither),
        cmocka_unit_test(many_at_once_are_an_incast),
        cmocka_unit_test(traces_tell_the_paths_of_an_incast),
        cmocka_unit_test(other_causes_are_no_incast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
