/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated meters: segments that lose are those over the faulty link, nothing is lost otherwise,
 * a link that dies shows, and flows are what they are without meters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/sim.h"
#include "small.h"

enum { SECONDS = 3 };

struct seen {
    uint64_t rows, sent, lost;     /* of segments that do not cross 9-17 */
    uint64_t over_sent, over_lost; /* of those that do */
    uint64_t flow_pkts;
    uint32_t longest;
};

static bool crosses(const struct pd_evidence_way *way, uint32_t from, uint32_t to)
{
    for (uint32_t n = 0; n + 1 < way->nodes_len; n++) {
        if (way->nodes[n] == from && way->nodes[n + 1] == to) {
            return true;
        }
    }
    return false;
}

static int count(void *context, const struct pd_sim_period *period)
{
    struct seen *seen = context;

    for (size_t i = 0; i < period->flows_len; i++) {
        seen->flow_pkts += period->flows[i].pkts;
    }
    for (size_t i = period->flows_len; i < period->rows_len; i++) {
        const struct pd_evidence_row *row = &period->flows[i];
        const bool over = crosses(row->ways, 9, 17);

        assert_int_equal(row->kind, PD_EVIDENCE_PATH);
        assert_int_equal(row->ways->origin, PD_EVIDENCE_FROM_METER);
        assert_true(row->lost <= row->pkts);
        seen->rows++;
        *(over ? &seen->over_sent : &seen->sent) += row->pkts;
        *(over ? &seen->over_lost : &seen->lost) += row->lost;
        seen->longest = row->ways->nodes_len > seen->longest ? row->ways->nodes_len : seen->longest;
    }
    return 0;
}

static struct seen run(const char *members)
{
    struct pd_sim_scenario scenario;
    struct pd_error error = {0};
    struct pd_sim_totals totals;
    struct seen seen = {0};

    small_scenario(members, SECONDS, &scenario);
    assert_int_equal(pd_sim_run(&scenario, 7, count, &seen, &totals, &error), 0);
    pd_sim_scenario_done(&scenario);
    return seen;
}

static void segments_over_the_faulty_link_lose(void **state)
{
    static const char *const levels[] = {"flow", "packet"};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        char members[300];

        snprintf(members, sizeof members,
                 "\"level\":\"%s\",\"load\":0.1,\"meters\":{\"monitors\":\"tor+top\","
                 "\"eta\":4},\"faults\":[{\"link\":\"9-17\",\"loss\":0.05}]",
                 levels[i]);
        const struct seen seen = run(members);
        assert_true(seen.rows > 20);
        assert_int_equal(seen.longest, 3);
        assert_true(seen.sent > 10 * seen.over_sent);
        assert_int_equal(seen.lost, 0);
        assert_in_range(1000 * seen.over_lost / seen.over_sent, 35, 65);
    }
}

static void monitors_at_racks_alone_see_whole_paths(void **state)
{
    const struct seen seen = run("\"load\":0.1,\"meters\":{\"monitors\":\"tor\"}");

    (void)state;
    assert_int_equal(seen.longest, 5);
    assert_int_equal(seen.lost + seen.over_lost, 0);
}

/* TCP goes on trying, more and more seldom. */
static void a_dead_link_shows(void **state)
{
    const struct seen seen =
        run("\"level\":\"packet\",\"load\":0.3,\"meters\":{\"monitors\":\"tor+top\"},"
            "\"faults\":[{\"link\":\"9-17\",\"blackhole\":true,\"start_s\":0.6}]");

    (void)state;
    assert_true(seen.over_lost > 2);
    assert_true(seen.lost < seen.sent / 1000);
}

static void flows_know_nothing_of_meters(void **state)
{
    static const char faults[] = ",\"faults\":[{\"link\":\"9-17\",\"loss\":0.05},{\"link\":"
                                 "\"17-11\",\"blackhole\":true}]";
    char plain[300], metered[400];

    (void)state;
    snprintf(plain, sizeof plain, "\"load\":0.3%s", faults);
    snprintf(metered, sizeof metered, "\"meters\":{},%s", plain);
    const struct seen with = run(metered), without = run(plain);
    assert_true(with.flow_pkts > 0);
    assert_int_equal(with.flow_pkts, without.flow_pkts);
    assert_int_equal(without.rows, 0);
}

static void what_is_wrong_is_named(void **state)
{
    static const char *const wrong[][2] = {{"{\"monitors\":\"all\"}", "monitors"},
                                           {"{\"width\":1000}", "width"},
                                           {"{\"epochs\":2,\"epochs_min\":3}", "epochs_min"},
                                           {"{\"more\":1}", "more"},
                                           {"[]", "meters"},
                                           {"{\"rows\":4}", "rows"}};

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char json[200];
        struct pd_sim_scenario scenario;
        struct pd_error error = {0};

        snprintf(json, sizeof json, "{\"topology\":{\"fat_tree\":4},\"meters\":%s}", wrong[i][0]);
        assert_true(pd_sim_scenario_parse(json, strlen(json), "test", false, &scenario, &error) <
                    0);
        assert_non_null(strstr(error.text, wrong[i][1]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_over_the_faulty_link_lose),
        cmocka_unit_test(monitors_at_racks_alone_see_whole_paths),
        cmocka_unit_test(a_dead_link_shows),
        cmocka_unit_test(flows_know_nothing_of_meters),
        cmocka_unit_test(what_is_wrong_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
