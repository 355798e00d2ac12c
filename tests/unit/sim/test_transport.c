/* SPDX-License-Identifier: Apache-2.0 */
/* Transports at the level of packets: their members, HPCC's window, what flows get of a link, and
 * digests that are those of the formulas. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "codec/pint/encode.h"
#include "packet/sample.h"
#include "sim/ports.h"
#include "sim/sim.h"
#include "telemetry/column.h"

/* ---- members */

static int parse(const char *members, struct pd_sim_scenario *scenario, struct pd_error *error)
{
    char json[2000];

    snprintf(json, sizeof json, "{\"topology\":{\"fat_tree\":4},%s}", members);
    return pd_sim_scenario_parse(json, strlen(json), "x", false, scenario, error);
}

static void members_are_checked(void **state)
{
    static const char *const bad[][2] = {
        {"\"transport\":\"tcp\"", "transport: only at the level of packets"},
        {"\"overhead_bytes\":48,\"level\":\"flow\"", "overhead_bytes: only"},
        {"\"telemetry\":{},\"level\":\"epoch\"", "telemetry: only"},
        {"\"level\":\"packet\",\"transport\":\"reno\"", "transport: expected"},
        {"\"level\":\"packet\",\"transport\":7", "transport: expected"},
        {"\"level\":\"packet\",\"overhead_bytes\":1001", "overhead_bytes: expected"},
        {"\"level\":\"packet\",\"overhead_bytes\":-1", "overhead_bytes: expected"},
        {"\"level\":\"packet\",\"hop_ns\":1.5", "hop_ns: expected"},
        {"\"level\":\"packet\",\"telemetry\":{\"version\":1}", "telemetry: "},
        {"\"level\":\"packet\",\"telemetry\":\"plan.json\"", "telemetry: files"},
    };
    struct pd_sim_scenario scenario;
    struct pd_error error;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_true(parse(bad[i][0], &scenario, &error) < 0);
        assert_non_null(strstr(error.text, bad[i][1]));
    }
}

static void telemetry_takes_bytes(void **state)
{
    struct pd_sim_scenario scenario;
    struct pd_error error = {0};

    (void)state;
    assert_int_equal(parse("\"level\":\"packet\",\"transport\":\"hpcc-int\"", &scenario, &error),
                     0);
    assert_true(pd_sim_transport_overhead(&scenario.transport, 0) == 8);
    assert_true(pd_sim_transport_overhead(&scenario.transport, 5) == 68); /* paper, section 2 */
    assert_true(pd_sim_transport_ack(&scenario.transport, 5) == 52 + 68);
    pd_sim_scenario_done(&scenario);
    assert_int_equal(parse("\"level\":\"packet\",\"transport\":\"hpcc-int\",\"overhead_bytes\":9",
                           &scenario, &error),
                     0);
    assert_true(pd_sim_transport_overhead(&scenario.transport, 5) == 9);
    pd_sim_scenario_done(&scenario);
    assert_int_equal(parse("\"level\":\"packet\"", &scenario, &error), 0);
    assert_false(scenario.transport.roomy);
    pd_sim_scenario_done(&scenario);
}

/* ---- HPCC */

static void the_window_follows_the_busiest_port(void **state)
{
    const struct pd_sim_hpcc_base base = {13000, 162500};
    struct pd_sim_hpcc hpcc;

    (void)state;
    pd_sim_hpcc_init(&hpcc, &base);
    pd_sim_hpcc_react(&hpcc, &base, 1.9, 0, 100); /* renews: half of it */
    assert_true(fabs(hpcc.window_bytes - (162500 / 2. + 80)) < 1e-6);
    pd_sim_hpcc_react(&hpcc, &base, 1.9, 50, 120); /* not again in this round trip */
    pd_sim_hpcc_react(&hpcc, &base, 1.9, 99, 150);
    assert_true(fabs(hpcc.window_bytes - (hpcc.reference_bytes / 2 + 80)) < 1e-6);
    assert_true(fabs(hpcc.reference_bytes - (162500 / 2. + 80)) < 1e-6);
    pd_sim_hpcc_react(&hpcc, &base, .95, 100, 200);
    assert_true(fabs(hpcc.reference_bytes - (162500 / 2. + 160)) < 1e-6);
    pd_sim_hpcc_react(&hpcc, &base, .01, 200, 300); /* never beyond what one flow can use */
    assert_true(hpcc.window_bytes == base.most_bytes);
}

/* A port that sends at three quarters of its rate, with a queue of a tenth of T. */
static void utilisation_is_that_of_the_ports(void **state)
{
    const struct pd_sim_hpcc_base base = {10000, 100000};
    const double rate = 10; /* bytes a nanosecond */
    struct pd_sim_hpcc hpcc;
    double used = 0;

    (void)state;
    pd_sim_hpcc_init(&hpcc, &base);
    for (uint64_t i = 0; i < 200; i++) {
        const struct pd_sim_hpcc_port port = {1000 * (i + 1), 7500 * i, 10000};
        used = pd_sim_hpcc_measure(&hpcc, &base, &port, &rate, 1);
    }
    assert_true(fabs(used - (.75 + .1)) < .01);

    struct pd_sim_port port = {0};
    for (uint64_t i = 0; i < 200; i++) { /* the same as switches reckon it */
        const struct pd_sim_leaving leaving = {
            .now_ns = 1000 * (i + 1), .bytes = 7500, .bytes_ns = rate, .queue_bytes = 10000};
        pd_sim_port_leave(&port, &leaving, base.rtt_ns);
    }
    assert_true(fabs(port.used - (.75 + .1)) < .01);
    assert_int_equal(port.sent_bytes, 200 * 7500);
}

/* ---- flows */

struct ends {
    double took[4], alone[4];
    unsigned len;
};

static int take(void *context, const struct pd_sim_period *period)
{
    struct ends *ends = context;

    for (size_t i = 0; i < period->ended_len; i++) {
        assert_true(ends->len < 4);
        ends->took[ends->len] = (double)period->ended[i].took_ns;
        ends->alone[ends->len++] = (double)period->ended[i].alone_ns;
    }
    return 0;
}

static struct ends run(const char *transport, unsigned flows)
{
    char members[600];
    struct pd_sim_scenario scenario;
    struct pd_sim_totals totals;
    struct pd_error error = {0};
    struct ends ends = {.len = 0};

    snprintf(members, sizeof members,
             "\"level\":\"packet\",\"load\":0,\"duration_s\":0.05,\"link_mbps\":10000,"
             "\"hop_ns\":1000,\"period_ms\":10,%s,\"flows\":[{\"src\":21,\"dst\":36,"
             "\"bytes\":5e6}%s]",
             transport, flows > 1 ? ",{\"src\":25,\"dst\":36,\"bytes\":5e6}" : "");
    if (parse(members, &scenario, &error) ||
        pd_sim_run(&scenario, 1, take, &ends, &totals, &error)) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(ends.len, flows);
    assert_int_equal(totals.lost_queue, 0);
    pd_sim_scenario_done(&scenario);
    return ends;
}

static void alone_a_flow_has_the_link(void **state)
{
    (void)state;
    const struct ends plain = run("\"transport\":\"tcp\"", 1);
    const struct ends heavy = run("\"transport\":\"tcp\",\"overhead_bytes\":150", 1);
    const struct ends in = run("\"transport\":\"hpcc-int\"", 1);
    const struct ends pint = run("\"transport\":\"hpcc-pint\"", 1);

    assert_true(plain.took[0] < 1.1 * plain.alone[0] && plain.took[0] >= plain.alone[0]);
    assert_true(fabs(heavy.took[0] / plain.took[0] - 1.1) < .01);
    assert_true(in.took[0] < 1.2 * in.alone[0]);
    assert_true(pint.took[0] < in.took[0]); /* eta leaves 5 %, INT takes 4.5 % more */
}

static void two_flows_share_it(void **state)
{
    static const char *const transports[] = {"\"transport\":\"hpcc-int\"",
                                             "\"transport\":\"hpcc-pint\""};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        const struct ends ends = run(transports[i], 2);

        assert_true(ends.took[0] > 1.6 * ends.alone[0]);
        assert_true(ends.took[1] > 1.9 * ends.alone[1] && ends.took[1] < 2.5 * ends.alone[1]);
    }
}

/* ---- digests */

static const uint8_t frame[] = {
    2,    0,    0,    0, 0,    1,    2, 0, 0,  0, 0,    2,    0x08, 0x00, 0x45, 0, 0,    40,
    0x00, 0x05, 0x00, 0, 0x3d, 6,    0, 0, 10, 1, 1,    2,    10,   2,    1,    2, 0x9c, 0x40,
    0,    80,   0,    0, 0x1c, 0x49, 0, 0, 0,  1, 0x50, 0x10, 1,    0,    0,    0, 0,    0,
};

/* The packet ID is that of the frame that the transmission would be, IP ID 5, sequence number
 * 5 * 1448 + 1. */
static void packet_ids_are_those_of_frames(void **state)
{
    struct pd_pint_plan *plan = pd_sim_hpcc_plan();
    struct pd_packet packet;

    (void)state;
    assert_non_null(plan);
    assert_int_equal(pd_packet_parse(frame, sizeof frame, sizeof frame, &packet), PD_PACKET_OK);
    assert_int_equal(pd_sim_packet_id(plan, &packet.flow, 5),
                     pd_packet_id(frame, sizeof frame, &packet, plan->seed));
    pd_pint_plan_free(plan);
}

/* Of many packets the mean of what digests tell is the utilisation of the busiest port. */
static void digests_tell_the_busiest_port(void **state)
{
    static const double used[] = {.2, .7, .4};
    struct pd_pint_plan *plan = pd_sim_hpcc_plan();
    const struct pd_sim_leaving leaving = {.bytes = 1500, .bytes_ns = 1};
    double sum = 0;

    (void)state;
    assert_non_null(plan);
    for (uint32_t id = 1; id <= 4000; id++) {
        uint16_t digest = 0;
        for (uint32_t i = 0; i < 3; i++) {
            const struct pd_sim_hop hop = {id * 2654435761u, 9 + i, i + 1, 0};
            const struct pd_sim_port port = {.used = used[i]};
            pd_sim_digest(plan, &hop, &leaving, &port, &digest);
        }
        sum += pd_sim_digest_used(plan, id * 2654435761u, digest);
    }
    assert_true(fabs(sum / 4000 / .7 - 1) < .005);
    pd_pint_plan_free(plan);
}

/* ---- receivers */

#define LATENCY_PLAN                                                                               \
    "{\"version\":1,\"seed\":7,\"carrier\":\"tag\",\"bits\":16,\"queries\":["                      \
    "{\"name\":\"path\",\"aggregation\":\"static\",\"value\":\"switch-id\",\"coding\":\"hash\","   \
    "\"bits\":8,\"instances\":1,\"tau\":32768,\"xor\":[65536]},"                                   \
    "{\"name\":\"latency\",\"aggregation\":\"dynamic\",\"value\":\"hop-latency-ns\",\"bits\":4,"   \
    "\"rounding\":\"nearest\",\"values\":[0,1200,12000,120000],\"bounds\":[0,1000,10000,100000]}]" \
    ","                                                                                            \
    "\"sets\":[{\"weight\":65536,\"queries\":[\"path\",\"latency\"]}]}"

struct measured {
    uint64_t samples, slow; /* slow: at place 2, the switch before the narrow link */
    unsigned ended, known;
};

static void add_series(struct measured *measured, const struct pd_telemetry_series *series)
{
    for (uint32_t b = 0; b < series->len; b++) {
        measured->samples += series->bins[b].count;
        if (series->bins[b].value == 120000) {
            assert_int_equal(series->place, 2);
            measured->slow += series->bins[b].count;
        } else { /* 1.2 us for a packet, with a tag, at 10 Gb/s */
            assert_true(series->bins[b].value == 1200 || series->place == 2);
        }
    }
}

static int take_columns(void *context, const struct pd_sim_period *period)
{
    struct measured *measured = context;

    for (size_t i = 0; i < period->flows_len; i++) {
        for (size_t w = 0; w < period->flows[i].ways_len; w++) {
            const struct pd_sim_column *bytes =
                &period->columns[period->flows[i].ways + w - period->ways];
            struct pd_telemetry_series series = {0};
            struct pd_telemetry_column column;

            assert_true(bytes->len > 6);
            assert_int_equal(pd_telemetry_column_open(bytes->bytes + 6, bytes->len - 6, &column),
                             0);
            assert_int_equal(column.host, 36);
            while (pd_telemetry_column_next(&column, &series)) {
                assert_string_equal(series.name, "latency");
                add_series(measured, &series);
            }
        }
    }
    for (size_t i = 0; i < period->ended_len; i++, measured->ended++) {
        assert_true(period->ended[i].has_digests && !period->ended[i].told.wrong);
        measured->known += period->ended[i].told.known_at > 0;
    }
    return 0;
}

/* One flow, its packets paced by nobody, into a way up that carries a hundredth: its waits stand at
 * that switch alone, and its path becomes known. */
static void waits_are_measured_where_they_are(void **state)
{
    struct pd_sim_scenario scenario;
    struct pd_sim_totals totals;
    struct pd_error error = {0};
    struct measured measured = {0};

    (void)state;
    if (parse("\"level\":\"packet\",\"load\":0,\"duration_s\":0.05,\"link_mbps\":10000,"
              "\"hop_ns\":1000,\"period_ms\":10,\"telemetry\":" LATENCY_PLAN
              ",\"flows\":[{\"src\":21,\"dst\":36,\"bytes\":3e5}]",
              &scenario, &error)) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(scenario.transport.overhead_bytes, PD_SIM_TAG_BYTES);
    for (uint32_t i = 0; i < scenario.topology->fabric_links_len; i++) {
        struct pd_link *link = (struct pd_link *)(uintptr_t)&scenario.topology->links[i];
        bool leaves_second = scenario.topology->switches[link->ends[0]].id >= 9;
        link->mbps = leaves_second && scenario.topology->switches[link->ends[0]].id <= 10 ? 100 : 0;
    }
    assert_int_equal(pd_sim_run(&scenario, 1, take_columns, &measured, &totals, &error), 0);
    assert_int_equal(measured.ended, 1);
    assert_int_equal(measured.known, 1);
    assert_int_equal(measured.samples, 208);
    assert_true(measured.slow > 20 && measured.slow < 65); /* a fifth of the packets, or so */
    assert_int_equal(totals.values_lost, 0);
    pd_sim_scenario_done(&scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_checked),
        cmocka_unit_test(telemetry_takes_bytes),
        cmocka_unit_test(the_window_follows_the_busiest_port),
        cmocka_unit_test(utilisation_is_that_of_the_ports),
        cmocka_unit_test(alone_a_flow_has_the_link),
        cmocka_unit_test(two_flows_share_it),
        cmocka_unit_test(packet_ids_are_those_of_frames),
        cmocka_unit_test(digests_tell_the_busiest_port),
        cmocka_unit_test(waits_are_measured_where_they_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
