/* SPDX-License-Identifier: Apache-2.0 */
/* The level of epochs: as many flows as asked for, losses where the faults are, the truth on each
 * lossy row; members that do not fit are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "sim/sim.h"

#define EPOCH "{\"topology\":{\"fat_tree\":4},\"level\":\"epoch\""

struct seen {
    size_t rows, periods;
    uint64_t over, lost_over, lost_else; /* packets and losses of flows over 9-17, and of others */
};

static int take(void *context, const struct pd_sim_period *period)
{
    struct seen *seen = context;
    seen->periods++;
    for (size_t i = 0; i < period->flows_len; i++) {
        const struct pd_evidence_row *row = &period->flows[i];
        bool crosses = false;
        for (uint32_t n = 1; n < row->ways->nodes_len; n++) {
            crosses |= row->ways->nodes[n - 1] == 9 && row->ways->nodes[n] == 17;
        }
        seen->rows++;
        seen->over += crosses ? row->pkts : 0;
        *(crosses ? &seen->lost_over : &seen->lost_else) += row->lost;
        assert_true(row->lost <= row->pkts);
        assert_int_equal(row->lost > 0, row->truth_from > 0);
        assert_true(!row->lost || (row->truth_from == 9 && row->truth_to == 17));
    }
    return 0;
}

static int parse(const char *json, struct pd_sim_scenario *scenario, struct pd_error *error)
{
    return pd_sim_scenario_parse(json, strlen(json), "test", false, scenario, error);
}

static void losses_are_where_the_fault_is(void **state)
{
    struct pd_sim_scenario scenario;
    struct pd_sim_totals totals;
    struct pd_error error = {0};
    struct seen seen = {0};
    (void)state;
    if (parse(EPOCH ",\"epochs\":3,\"noise\":[0,0],\"flows_per_host\":[50,50],"
                    "\"faults\":[{\"link\":\"9-17\",\"loss\":0.05}]}",
              &scenario, &error)) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(pd_sim_run(&scenario, 1, take, &seen, &totals, NULL), 0);
    pd_sim_scenario_done(&scenario);
    assert_int_equal(seen.periods, 3);
    assert_int_equal(seen.rows, 3 * 16 * 50);
    assert_int_equal(seen.lost_else, 0);
    double loss = (double)seen.lost_over / (double)seen.over;
    assert_true(loss > 0.03 && loss < 0.07);
    assert_int_equal(totals.lost_fault, seen.lost_over);
}

static void what_does_not_fit_is_refused(void **state)
{
    static const char *const bad[] = {
        EPOCH ",\"noise\":[1,0]}",
        EPOCH ",\"noise\":0.1}",
        EPOCH ",\"flows_per_host\":[0,5]}",
        EPOCH ",\"random_faults\":{\"n\":2,\"heavy\":3}}",
        EPOCH ",\"random_faults\":{\"no\":2}}",
        EPOCH ",\"traffic\":[]}",
        EPOCH ",\"epochs\":0}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct pd_sim_scenario scenario;
        struct pd_error error = {0};
        assert_true(parse(bad[i], &scenario, &error) < 0);
        assert_true(strlen(error.text) > 6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_are_where_the_fault_is),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
