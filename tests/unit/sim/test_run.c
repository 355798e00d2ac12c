/* SPDX-License-Identifier: Apache-2.0 */
/* Whole runs: the same twice, loads and losses as asked for, faults found at both levels, nothing
 * named without one. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/watch.h"
#include "tests/shared/evidence.h"

static struct pd_sim_scenario read_scenario(const char *json)
{
    struct pd_sim_scenario scenario;
    struct pd_error error = {0};
    if (pd_sim_scenario_parse(json, strlen(json), "test", false, &scenario, &error)) {
        fail_msg("%s", error.text);
    }
    return scenario;
}

/* ---- what a run tells, as one number */

struct sums {
    uint64_t hash, pkts, bytes, retransmissions, alarms;
    uint64_t pkts_9_17; /* arrived, over the link 9-17 */
};

static int add_up(void *context, const struct pd_sim_period *period)
{
    const struct pd_evidence_row *flows = period->flows;
    struct sums *sums = context;
    for (size_t i = 0; i < period->flows_len; i++) {
        sums->retransmissions += flows[i].lost;
        sums->alarms += period->senders[i].alarm;
        sums->hash = sums->hash * 31 + flows[i].lost;
        for (size_t w = 0; w < flows[i].ways_len; w++) {
            const struct pd_evidence_way *way = &flows[i].ways[w];
            const struct pd_path path = path_of(way);
            sums->pkts += way->pkts;
            if (pd_path_crosses(&path, (struct pd_link_match){9, 17})) {
                sums->pkts_9_17 += way->pkts;
            }
            sums->bytes += way->bytes;
            sums->hash = sums->hash * 31 + pd_flow_id_hash(&flows[i].flow);
            sums->hash = sums->hash * 31 + pd_path_hash(&path) + way->pkts;
        }
    }
    assert_int_equal(sums->alarms, period->totals->alarms);
    return 0;
}

static struct sums run(const struct pd_sim_scenario *scenario, uint64_t seed,
                       struct pd_sim_totals *totals)
{
    struct sums sums = {0};
    assert_int_equal(pd_sim_run(scenario, seed, add_up, &sums, totals, NULL), 0);
    return sums;
}

static void the_same_seed_gives_the_same_run(void **state)
{
    static const char *const scenarios[] = {
        "{\"topology\":{\"fat_tree\":4},\"duration_s\":0.6,\"faults\":[{\"link\":\"9-17\",\"loss\":"
        "0."
        "02}]}",
        "{\"topology\":{\"fat_tree\":4},\"duration_s\":0.5,\"level\":\"packet\",\"link_mbps\":200,"
        "\"faults\":[{\"link\":\"9-17\",\"loss\":0.02}]}",
        "{\"topology\":{\"vl2\":4},\"duration_s\":0.4,\"spray\":true,\"link_mbps\":100,"
        "\"flow_sizes\":\"hadoop\"}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        struct pd_sim_scenario scenario = read_scenario(scenarios[i]);
        struct pd_sim_totals totals[3];
        struct sums a = run(&scenario, 7, &totals[0]), b = run(&scenario, 7, &totals[1]),
                    c = run(&scenario, 8, &totals[2]);
        assert_memory_equal(&a, &b, sizeof a);
        assert_int_equal(totals[0].packet_hops, totals[1].packet_hops);
        assert_true(a.hash != c.hash && a.pkts > 0);
        assert_int_equal(a.bytes, a.pkts * 1500);
        pd_sim_scenario_done(&scenario);
    }
}

/* Sizes without a long tail, so that some seconds have their mean: up to 200 kB, each as likely as
 * the others. */
static struct pd_sim_scenario read_even_scenario(const char *json)
{
    static const char sizes[] = "0,0\n200000,1\n";
    struct pd_sim_scenario scenario = read_scenario(json);
    pd_sim_sizes_done(&scenario.sizes);
    assert_int_equal(pd_sim_sizes_parse(sizes, strlen(sizes), "sizes", &scenario.sizes, NULL), 0);
    return scenario;
}

/* Hosts send what the load says, and the link drops what it should of the packets that it was
 * given. The bounds are five standard deviations of some 4000 flows and 20000 packets, and a little
 * for what is on its way at the end. */
static void load_and_loss_are_as_asked(void **state)
{
    static const char *const levels[] = {"flow", "packet"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        char json[300];
        snprintf(json, sizeof json,
                 "{\"topology\":{\"fat_tree\":4},\"duration_s\":5,\"load\":0.4,\"link_mbps\":100,"
                 "\"level\":\"%s\",\"faults\":[{\"link\":\"9-17\",\"loss\":0.02}]}",
                 levels[i]);
        struct pd_sim_scenario scenario = read_even_scenario(json);
        struct pd_sim_totals totals;
        struct sums sums = run(&scenario, 2016, &totals);
        double share = (double)sums.bytes * 8 / (16 * 100e6 * 5);
        assert_true(share > 0.36 && share < 0.44);
        double lost = (double)totals.lost_fault, given = (double)sums.pkts_9_17 + lost;
        assert_true(given > 5000);
        assert_true(fabs(lost - given * 0.02) < 5 * sqrt(given * 0.02) + given * 0.002);
        assert_true(sums.retransmissions >= totals.lost_fault * 9 / 10);
        pd_sim_scenario_done(&scenario);
    }
}

/* ---- hunts */

struct found {
    uint32_t from, to; /* wanted; 0: nothing */
    bool certain;      /* once at least: it may be withdrawn while queues add noise */
    /* verdicts that name anything although nothing is faulty, or another link for certain */
    unsigned wrong;
};

static int judge(void *context, double now_s, const json_t *report)
{
    struct found *found = context;
    const json_t *links = json_object_get(report, "links");
    const char *first = json_string_value(json_array_get(links, 0));
    bool certain = json_is_true(json_object_get(report, "certain"));
    char wanted[32];
    (void)now_s;
    snprintf(wanted, sizeof wanted, "%u-%u", found->from, found->to);
    bool right = json_array_size(links) == 1 && !strcmp(first, wanted);
    found->wrong += found->from ? certain && !right : json_array_size(links) > 0;
    found->certain |= right && certain;
    return 0;
}

static struct found hunt(const char *members, uint32_t from, uint32_t to, double loss)
{
    char json[400], faults[100] = "";
    struct pd_sim_watch_end end;
    struct found found = {.from = from, .to = to};
    if (from) {
        snprintf(faults, sizeof faults, "{\"link\":\"%u-%u\",\"loss\":%g}", from, to, loss);
    }
    snprintf(json, sizeof json, "{%s,\"faults\":[%s]}", members, faults);
    struct pd_sim_scenario scenario = read_scenario(json);
    const struct pd_sim_watch watch = {.scenario = &scenario,
                                       .seed = 2016,
                                       .app = pd_app_find("silent-drops"),
                                       .report = judge,
                                       .context = &found};
    assert_non_null(watch.app);
    assert_int_equal(pd_sim_watch(&watch, &end, NULL), 0);
    assert_true(end.totals.flows > 0 && end.totals.packet_hops > 0);
    pd_sim_scenario_done(&scenario);
    return found;
}

#define SMALL(seconds)                                                           \
    "\"topology\":{\"fat_tree\":4},\"link_mbps\":200,\"flow_sizes\":\"hadoop\"," \
    "\"duration_s\":" #seconds
#define PACKETS ",\"level\":\"packet\""

/* Most are found for certain in 1.4 s; one seed in 200 took 3.4. */
static void a_fault_is_found_at_both_levels(void **state)
{
    struct found found;
    (void)state;
    found = hunt(SMALL(6), 3, 11, 0.03);
    assert_true(found.certain && !found.wrong);
    found = hunt(SMALL(6) PACKETS, 18, 13, 0.03);
    assert_true(found.certain && !found.wrong);
}

static void nothing_is_named_without_a_fault(void **state)
{
    (void)state;
    assert_int_equal(hunt(SMALL(2), 0, 0, 0).wrong, 0);
    assert_int_equal(hunt(SMALL(2) PACKETS, 0, 0, 0).wrong, 0);
    assert_int_equal(
        hunt("\"topology\":{\"vl2\":4},\"duration_s\":1,\"link_mbps\":100", 0, 0, 0).wrong, 0);
}

/* Nothing passes a blackhole, so that no path over it is in any TIB: the verdict has nothing to
 * name, and does not guess. */
static void a_blackhole_is_not_guessed_at(void **state)
{
    struct found found;
    (void)state;
    found = hunt(SMALL(3), 9, 17, 1);
    assert_int_equal(found.wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_seed_gives_the_same_run),
        cmocka_unit_test(load_and_loss_are_as_asked),
        cmocka_unit_test(a_fault_is_found_at_both_levels),
        cmocka_unit_test(nothing_is_named_without_a_fault),
        cmocka_unit_test(a_blackhole_is_not_guessed_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
