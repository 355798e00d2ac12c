/* SPDX-License-Identifier: Apache-2.0 */
/* One seed, one run: what compilers, their settings and sanitizers must not change. The figures
 * were written down once; the test runs in all builds. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/random.h"
#include "sim/sim.h"

static const struct {
    const char *json;
    uint64_t hash; /* of all records, retransmissions and senders */
} runs[] = {
    {"{\"topology\":{\"fat_tree\":4},\"duration_s\":1,\"faults\":[{\"link\":\"9-17\",\"loss\":0.02}"
     "]}",
     UINT64_C(18030627144591597908)},
    {"{\"topology\":{\"fat_tree\":4},\"duration_s\":0.4,\"level\":\"packet\",\"link_mbps\":500,"
     "\"load\":0.9,"
     "\"faults\":[{\"link\":\"9-17\",\"loss\":0.02}]}",
     UINT64_C(8740640228018769852)},
    {"{\"topology\":{\"vl2\":4},\"duration_s\":0.4,\"spray\":true,\"link_mbps\":200,\"flow_sizes\":"
     "\"hadoop\"}",
     UINT64_C(6284255682919219307)},
    {"{\"topology\":{\"fat_tree\":4},\"duration_s\":0.4,\"spray\":true,\"level\":\"packet\",\"link_"
     "mbps\":100,"
     "\"flows\":[{\"src\":21,\"dst\":33,\"bytes\":1e6}],\"faults\":[{\"switch\":10,\"weights\":{"
     "\"19\":3}},"
     "{\"switch\":9,\"split_bytes\":1e5}]}",
     UINT64_C(10368542316149278608)},
};

static void mix(uint64_t *hash, uint64_t value)
{
    *hash = (*hash ^ value) * UINT64_C(0x100000001b3);
}

static int add_up(void *context, const struct pd_sim_period *period)
{
    uint64_t *hash = context;
    for (size_t i = 0; i < period->flows_len; i++) {
        const struct pd_sim_sender *sender = &period->senders[i];
        mix(hash, sender->retransmissions);
        mix(hash, sender->opened_us);
        mix(hash, sender->acked_pkts);
        mix(hash, sender->cwnd_pkts);
        for (size_t w = 0; w < period->flows[i].ways_len; w++) {
            const struct pd_evidence_way *way = &period->flows[i].ways[w];
            mix(hash, period->flows[i].flow.src_port);
            mix(hash, way->pkts);
            for (uint32_t n = 0; n < way->nodes_len; n++) {
                mix(hash, way->nodes[n]);
            }
        }
    }
    return 0;
}

static void every_build_gives_the_same_run(void **state)
{
    unsigned wrong = 0;
    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        struct pd_sim_scenario scenario;
        struct pd_sim_totals totals;
        struct pd_error error = {0};
        uint64_t hash = UINT64_C(0xcbf29ce484222325);
        if (pd_sim_scenario_parse(runs[i].json, strlen(runs[i].json), "test", false, &scenario,
                                  &error)) {
            fail_msg("%s", error.text);
        }
        assert_int_equal(pd_sim_run(&scenario, 2016, add_up, &hash, &totals, NULL), 0);
        pd_sim_scenario_done(&scenario);
        if (hash != runs[i].hash) {
            print_error("run %zu gives %" PRIu64 "\n", i, hash);
        }
        wrong += hash != runs[i].hash;
    }
    assert_int_equal(wrong, 0);
}

static void the_logarithm_is_one(void **state)
{
    struct pd_sim_random random = {5};
    (void)state;
    assert_true(pd_sim_random_log(1) == 0);
    for (int i = 0; i < 100000; i++) {
        double x =
            ldexp(1 - pd_sim_random_share(&random), (int)pd_sim_random_below(&random, 60) - 50);
        assert_true(fabs(pd_sim_random_log(x) - log(x)) <= 1e-15 + 1e-15 * fabs(log(x)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_build_gives_the_same_run),
        cmocka_unit_test(the_logarithm_is_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
