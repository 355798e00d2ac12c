/* SPDX-License-Identifier: Apache-2.0 */
/* Switches that choose badly, and blackholes under spraying: what receivers' records then show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/sim.h"
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

/* ---- one flow of host 21 to host 33, another pod, over its four paths */

enum { PATHS = 4 };

static const struct pd_path four[PATHS] = {{.len = 5, .switches = {1, 9, 17, 15, 7}},
                                           {.len = 5, .switches = {1, 9, 18, 15, 7}},
                                           {.len = 5, .switches = {1, 10, 19, 16, 7}},
                                           {.len = 5, .switches = {1, 10, 20, 16, 7}}};

struct seen {
    uint64_t pkts[PATHS];
    uint64_t others; /* records of other paths */
    uint64_t retransmissions, alarms;
};

static int count_paths(void *context, const struct pd_sim_period *period)
{
    struct seen *seen = context;
    for (size_t i = 0; i < period->flows_len; i++) {
        const struct pd_evidence_row *flow = &period->flows[i];
        seen->retransmissions += flow->lost;
        seen->alarms += period->senders[i].alarm;
        assert_int_equal(period->senders[i].retransmissions, flow->lost);
        for (size_t w = 0; w < flow->ways_len; w++) {
            const struct pd_path path = path_of(&flow->ways[w]);
            int p = 0;
            while (p < PATHS && !pd_path_equal(&four[p], &path)) {
                p++;
            }
            if (p < PATHS) {
                seen->pkts[p] += flow->ways[w].pkts;
            } else {
                seen->others++;
            }
        }
    }
    return 0;
}

static struct seen spray(const char *level, const char *bytes, const char *faults)
{
    char json[500];
    struct pd_sim_totals totals;
    struct seen seen = {0};
    snprintf(json, sizeof json,
             "{\"topology\":{\"fat_tree\":4},\"duration_s\":8,\"load\":0,\"spray\":true,"
             "\"level\":\"%s\",\"flows\":[{\"src\":21,\"dst\":33,\"bytes\":%s}],\"faults\":[%s]}",
             level, bytes, faults);
    struct pd_sim_scenario scenario = read_scenario(json);
    assert_int_equal(pd_sim_run(&scenario, 5, count_paths, &seen, &totals, NULL), 0);
    assert_int_equal(totals.flows, 1);
    pd_sim_scenario_done(&scenario);
    assert_int_equal(seen.others, 0);
    return seen;
}

static void spraying_is_even_or_as_weighed(void **state)
{
    static const char *const levels[] = {"flow", "packet"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct seen even = spray(levels[i], "14480000", "");
        struct seen weighed = spray(levels[i], "14480000",
                                    "{\"switch\":10,\"weights\":{\"19\":3,\"20\":1}},{\"switch\":1,"
                                    "\"weights\":{\"9\":0.5}}");
        uint64_t sum = 0;
        for (int p = 0; p < PATHS; p++) {
            assert_in_range(even.pkts[p], 2250, 2750);
            sum += weighed.pkts[p];
        }
        assert_in_range(sum, 10000, 10010); /* 10000 packets, and a part of one for each path */
        assert_in_range(weighed.pkts[0], 1500, 1850); /* a third over 9 */
        assert_in_range(weighed.pkts[2], 4700, 5300); /* three quarters of two thirds */
        assert_in_range(weighed.pkts[3], 1500, 1850);
    }
}

/* Section 4.4: the records of a sprayed flow lack exactly the paths with the blackhole, and its
 * sender complains. */
static void a_blackhole_takes_away_exactly_its_paths(void **state)
{
    static const char *const levels[] = {"flow", "packet"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct seen one = spray(levels[i], "100000", "{\"link\":\"9-17\",\"blackhole\":true}");
        struct seen two = spray(levels[i], "100000", "{\"link\":\"1-10\",\"blackhole\":true}");
        assert_true(!one.pkts[0] && one.pkts[1] && one.pkts[2] && one.pkts[3]);
        assert_true(two.pkts[0] && two.pkts[1] && !two.pkts[2] && !two.pkts[3]);
        assert_true(one.retransmissions && one.alarms && two.retransmissions && two.alarms);
        assert_true(one.alarms <= 8 && two.alarms <= 8); /* one a second */
    }
}

/* ---- a hash by size: section 4.2 */

struct split {
    uint64_t large_right, large_wrong, small_right, small_wrong, before;
};

/* Flows end within a second here, so that what one period tells of a flow is enough to know which
 * it is. */
static int judge_split(void *context, const struct pd_sim_period *period)
{
    struct split *split = context;
    for (size_t i = 0; i < period->flows_len; i++) {
        if (!period->flows[i].ways_len) {
            continue;
        }
        const struct pd_path path = path_of(&period->flows[i].ways[0]);
        bool first = pd_path_crosses(&path, (struct pd_link_match){9, 17});
        bool other = pd_path_crosses(&path, (struct pd_link_match){9, 18});
        if (!first && !other) {
            continue;
        }
        if (period->senders[i].opened_us < 1000000) {
            split->before++;
        } else if (!period->senders[i].live && period->senders[i].acked_pkts > 70) {
            *(first ? &split->large_right : &split->large_wrong) += 1;
        } else if (!period->senders[i].live && period->senders[i].acked_pkts <= 69) {
            *(other ? &split->small_right : &split->small_wrong) += 1;
        }
    }
    return 0;
}

static void a_hash_by_size_parts_flows(void **state)
{
    struct pd_sim_scenario scenario = read_scenario(
        "{\"topology\":{\"fat_tree\":4},\"duration_s\":3,\"load\":0.3,\"link_mbps\":200,"
        "\"flow_sizes\":\"hadoop\",\"faults\":[{\"switch\":9,\"split_bytes\":100000,\"start_s\":1}]"
        "}");
    struct pd_sim_totals totals;
    struct split split = {0};
    (void)state;
    assert_int_equal(pd_sim_run(&scenario, 5, judge_split, &split, &totals, NULL), 0);
    pd_sim_scenario_done(&scenario);
    assert_true(split.before > 10 && split.large_right > 5 && split.small_right > 100);
    assert_int_equal(split.large_wrong + split.small_wrong, 0);
}

/* ---- every kind of topology, level and spreading gives records of paths that exist */

static int check_records(void *context, const struct pd_sim_period *period)
{
    uint64_t *pkts = context;
    for (size_t i = 0; i < period->flows_len; i++) {
        for (size_t w = 0; w < period->flows[i].ways_len; w++) {
            assert_in_range(period->flows[i].ways[w].nodes_len, 1, 5);
            *pkts += period->flows[i].ways[w].pkts;
        }
    }
    return 0;
}

static void all_kinds_run(void **state)
{
    static const char *const topologies[] = {"{\"fat_tree\":4}", "{\"fat_tree\":8}", "{\"vl2\":4}",
                                             "{\"vl2\":8}"};
    char json[300];
    (void)state;
    for (int i = 0; i < 16; i++) {
        snprintf(json, sizeof json,
                 "{\"topology\":%s,\"duration_s\":0.2,\"link_mbps\":20,\"flow_sizes\":\"hadoop\","
                 "\"level\":\"%s\",\"spray\":%s}",
                 topologies[i / 4], i & 1 ? "packet" : "flow", i & 2 ? "true" : "false");
        struct pd_sim_scenario scenario = read_scenario(json);
        struct pd_sim_totals totals;
        uint64_t pkts = 0;
        assert_int_equal(pd_sim_run(&scenario, 3, check_records, &pkts, &totals, NULL), 0);
        assert_true(pkts > 0 && totals.flows > 0 && totals.packet_hops >= pkts);
        pd_sim_scenario_done(&scenario);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spraying_is_even_or_as_weighed),
        cmocka_unit_test(a_blackhole_takes_away_exactly_its_paths),
        cmocka_unit_test(a_hash_by_size_parts_flows),
        cmocka_unit_test(all_kinds_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
