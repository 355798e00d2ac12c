/* SPDX-License-Identifier: Apache-2.0 */
/* The world of applications: answers that add up to what receivers saw, senders' counters, alarms,
 * observations; and when a watch runs. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim/watch.h"
#include "sim/world.h"

static struct pd_sim_scenario read_scenario(const char *json)
{
    struct pd_sim_scenario scenario;
    struct pd_error error = {0};
    if (pd_sim_scenario_parse(json, strlen(json), "test", false, &scenario, &error)) {
        fail_msg("%s", error.text);
    }
    return scenario;
}

#define SMALL                                                                                 \
    "\"topology\":{\"fat_tree\":4},\"link_mbps\":100,\"load\":0.3,\"flow_sizes\":\"hadoop\"," \
    "\"duration_s\":2"

/* ---- a run whose last period is asked about */

struct run {
    struct pd_sim_app_world world;
    void (*look)(struct run *run);
    uint64_t pkts, to_21_pkts; /* arrived */
    uint64_t retransmissions, alarms;
    unsigned looks;
};

static int take(void *context, const struct pd_sim_period *period)
{
    struct run *run = context;
    const struct pd_topology *topology = run->world.scenario->topology;
    uint32_t host = pd_topology_host(topology, 21);
    assert_int_equal(pd_sim_app_world_take(&run->world, period, NULL), 0);
    for (size_t i = 0; i < period->flows_len; i++) {
        run->retransmissions += period->senders[i].retransmissions;
        run->alarms += period->senders[i].alarm;
        const struct pd_flow_id *flow = &period->flows[i].flow;
        for (size_t w = 0; w < period->flows[i].ways_len; w++) {
            uint64_t pkts = period->flows[i].ways[w].pkts;
            run->pkts += pkts;
            if (!memcmp(&flow->dst, &topology->hosts[host].addrs[0], sizeof flow->dst)) {
                run->to_21_pkts += pkts;
            }
        }
    }
    if (period->totals->now_s >= run->world.scenario->duration_s) {
        run->look(run);
        run->looks++;
    }
    return 0;
}

static void run_and_look(const char *faults, void (*look)(struct run *run))
{
    char json[400];
    struct pd_sim_totals totals;
    struct run run = {.look = look};
    snprintf(json, sizeof json, "{" SMALL ",\"faults\":[%s]}", faults);
    struct pd_sim_scenario scenario = read_scenario(json);
    pd_sim_app_world_init(&run.world, &scenario);
    assert_int_equal(pd_sim_run(&scenario, 11, take, &run, &totals, NULL), 0);
    assert_int_equal(run.looks, 1);
    pd_sim_app_world_done(&run.world);
    pd_sim_scenario_done(&scenario);
}

/* The answer, or NULL with the error's code. */
static json_t *ask(struct run *run, const char *document, struct pd_error *error)
{
    json_t *json = json_loads(document, 0, NULL), *answer = NULL;
    assert_non_null(json);
    int err = run->world.app.ops->ask(run->world.app.context, json, &answer, error);
    json_decref(json);
    assert_true(err ? !answer : answer != NULL);
    return answer;
}

static json_t *asked(struct run *run, const char *document, json_int_t hosts)
{
    struct pd_error error = {0};
    json_t *answer = ask(run, document, &error);
    if (!answer) {
        fail_msg("%s: %s", document, error.text);
    }
    const json_t *coverage = json_object_get(answer, "hosts");
    assert_int_equal(json_integer_value(json_object_get(coverage, "asked")), hosts);
    assert_int_equal(json_integer_value(json_object_get(coverage, "answered")), hosts);
    assert_true(json_is_array(json_object_get(coverage, "missing")));
    return answer;
}

static json_int_t pkts_of(json_t *answer)
{
    json_int_t pkts = json_integer_value(json_object_get(answer, "pkts"));
    json_decref(answer);
    return pkts;
}

/* Rows as they come, and where they stop. */
struct seen {
    size_t rows, most;
    uint64_t pkts;
};

static int see(struct seen *seen, uint64_t pkts)
{
    seen->pkts += pkts;
    return ++seen->rows == seen->most ? -PD_E_FULL : 0;
}

static int see_group(void *context, const struct pd_tib_record *group)
{
    return see(context, group->pkts);
}

static int see_sums(void *context, const struct pd_query_sums *sums)
{
    return see(context, sums->pkts);
}

static int rows_of(struct run *run, const char *document, struct seen *seen)
{
    const struct pd_items items = {seen, see_group, see_sums};
    const struct pd_app_world *world = &run->world.app;
    json_t *json = json_loads(document, 0, NULL), *answer = NULL;
    int err = world->ops->rows(world->context, json, &items, &answer, NULL);

    assert_true(err || json_is_true(json_object_get(answer, "complete")));
    json_decref(answer);
    json_decref(json);
    return err;
}

/* What is given as rows is what the same answer has in JSON. */
static void look_at_rows(struct run *run)
{
    static const struct {
        const char *document, *list;
    } cases[] = {
        {"{\"query\":\"getFlows\"}", "flows"},
        {"{\"query\":\"getFlows\",\"hosts\":[21]}", "flows"},
        {"{\"query\":\"topFlows\",\"args\":{\"k\":7}}", "top"},
        {"{\"query\":\"trafficMatrix\"}", "pairs"},
    };
    struct seen one = {0}, cut = {.most = 3};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *answer = asked(run, cases[i].document, i == 1 ? 1 : 16), *row;
        struct seen seen = {0};
        uint64_t pkts = 0;
        size_t at;

        assert_int_equal(rows_of(run, cases[i].document, &seen), 0);
        json_array_foreach(json_object_get(answer, cases[i].list), at, row)
        {
            pkts += (uint64_t)json_integer_value(json_object_get(row, "pkts"));
        }
        assert_true(seen.rows > 1 && seen.rows == at && seen.pkts == pkts);
        json_decref(answer);
    }
    assert_int_equal(rows_of(run, "{\"query\":\"getCount\"}", &one), 0);
    assert_true(one.rows == 1 && one.pkts == run->pkts);
    assert_int_equal(rows_of(run, cases[0].document, &cut), -PD_E_FULL);
    assert_int_equal(cut.rows, 3);
}

static void look_at_records(struct run *run)
{
    struct pd_error error = {0};
    assert_true(run->pkts > 1000 && run->to_21_pkts > 10);
    assert_int_equal(pkts_of(asked(run, "{\"query\":\"getCount\"}", 16)), run->pkts);
    assert_int_equal(
        pkts_of(asked(run, "{\"query\":\"getCount\",\"hosts\":\"all\",\"deadline_ms\":9}", 16)),
        run->pkts);
    assert_int_equal(pkts_of(asked(run, "{\"query\":\"getCount\",\"hosts\":[21]}", 1)),
                     run->to_21_pkts);
    /* A part of the time, and the rest. */
    json_int_t early = pkts_of(asked(run, "{\"query\":\"getCount\",\"args\":{\"to\":0.7}}", 16));
    assert_true(early > 0 && early < (json_int_t)run->pkts);
    assert_null(ask(run, "{\"program\":\"return 1\"}", &error));
    assert_int_equal(error.code, -PD_E_UNSUPPORTED);
    assert_null(ask(run, "{\"query\":\"getCount\",\"hosts\":[9]}", &error));
    assert_null(ask(run, "{\"query\":\"getCount\",\"host\":[21]}", &error));
    assert_null(ask(run, "{\"query\":\"getCount\",\"hosts\":7}", &error));
    look_at_rows(run);
}

/* The store's directory is gone as soon as it is there. */
static void records_add_up_and_nothing_is_left(void **state)
{
    char folder[] = "/tmp/test-sim-world-XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(folder));
    setenv("TMPDIR", folder, 1);
    run_and_look("", look_at_records);
    unsetenv("TMPDIR");
    assert_int_equal(rmdir(folder), 0);
}

/* ---- senders */

static json_int_t sum_of(const json_t *answer, const char *member)
{
    const json_t *flow;
    size_t i;
    json_int_t sum = 0;
    json_array_foreach(json_object_get(answer, "flows"), i, flow)
    {
        assert_true(json_is_object(json_object_get(flow, "flow_id")));
        assert_in_range(json_integer_value(json_object_get(flow, "host")), 21, 36);
        sum += json_integer_value(json_object_get(flow, member));
    }
    return sum;
}

static void look_at_senders(struct run *run)
{
    json_t *all = asked(run, "{\"query\":\"getPoorTCPFlows\",\"args\":{\"threshold\":0}}", 16);
    json_t *recent =
        asked(run, "{\"query\":\"getPoorTCPFlows\",\"args\":{\"threshold\":1,\"from\":0}}", 16);
    json_t *poor = asked(run, "{\"query\":\"getPoorTCPFlows\",\"args\":{\"threshold\":1}}", 16);
    json_t *few = asked(
        run, "{\"query\":\"getPoorTCPFlows\",\"args\":{\"threshold\":0},\"hosts\":[21,22]}", 2);
    assert_true(run->retransmissions > 20);
    assert_int_equal(sum_of(all, "retransmissions"), run->retransmissions);
    assert_int_equal(sum_of(recent, "recent"), run->retransmissions);
    assert_string_equal(json_string_value(json_object_get(all, "source")), "simulator");
    assert_true(json_is_true(json_object_get(all, "complete")));
    size_t len = json_array_size(json_object_get(poor, "flows"));
    assert_true(len > 0 && len < json_array_size(json_object_get(all, "flows")));
    assert_true(sum_of(few, "host") <=
                22 * (json_int_t)json_array_size(json_object_get(few, "flows")));
    json_decref(all);
    json_decref(recent);
    json_decref(poor);
    json_decref(few);
}

static size_t alarms_of(struct run *run, const char *reason, uint64_t from_us, uint64_t to_us,
                        size_t most)
{
    json_t *alarms;
    const json_t *alarm;
    size_t i, len;
    uint64_t last = 0;
    assert_int_equal(run->world.app.ops->alarms(run->world.app.context, reason, from_us, to_us,
                                                most, &alarms, NULL),
                     0);
    json_array_foreach(alarms, i, alarm)
    {
        uint64_t time_us = (uint64_t)json_integer_value(json_object_get(alarm, "time_us"));
        assert_string_equal(json_string_value(json_object_get(alarm, "reason")), "POOR_PERF");
        assert_int_equal(json_array_size(json_object_get(alarm, "paths")), 0);
        assert_in_range(time_us, from_us, to_us);
        assert_true(time_us >= last);
        last = time_us;
    }
    len = json_array_size(alarms);
    json_decref(alarms);
    return len;
}

static void look_at_alarms(struct run *run)
{
    assert_true(run->alarms > 3);
    assert_int_equal(alarms_of(run, NULL, 0, UINT64_MAX, 100000), run->alarms);
    assert_int_equal(alarms_of(run, "POOR_PERF", 0, UINT64_MAX, 2), 2);
    assert_int_equal(alarms_of(run, "PC_FAIL", 0, UINT64_MAX, 100000), 0);
    assert_int_equal(alarms_of(run, NULL, 0, 1000000, 100000) +
                         alarms_of(run, NULL, 1000001, UINT64_MAX, 100000),
                     run->alarms);
}

static void senders_and_alarms_add_up(void **state)
{
    (void)state;
    run_and_look("{\"link\":\"9-17\",\"blackhole\":true},{\"link\":\"3-11\",\"loss\":0.05}",
                 look_at_senders);
    run_and_look("{\"link\":\"9-17\",\"blackhole\":true},{\"link\":\"3-11\",\"loss\":0.05}",
                 look_at_alarms);
}

/* ---- observations of earlier periods */

struct counting {
    struct pd_sim_app_world world;
    uint64_t given, seen, from_us, first_us;
    unsigned visits, lacks;
};

static int count_flows(void *context, const struct pd_evidence_period *period)
{
    const struct pd_evidence_row *flows = period->rows;
    struct counting *counting = context;
    counting->visits++;
    for (size_t i = 0; i < period->rows_len; i++) {
        for (size_t w = 0; w < flows[i].ways_len; w++) {
            assert_in_range(flows[i].ways[w].nodes_len, 1, 5);
            counting->seen += flows[i].ways[w].pkts;
        }
    }
    return 0;
}

/* Looks each second period. */
static int take_some(void *context, const struct pd_sim_period *period)
{
    struct counting *counting = context;
    struct pd_report report;
    assert_int_equal(pd_sim_app_world_take(&counting->world, period, NULL), 0);
    for (size_t i = 0; i < period->flows_len; i++) {
        for (size_t w = 0; w < period->flows[i].ways_len; w++) {
            counting->given += period->flows[i].ways[w].pkts;
        }
    }
    if (period->to_us / 200000 % 2) {
        return 0;
    }
    if (counting->from_us == 0) {
        counting->given = 0; /* the first look is one too late for the period before */
        for (size_t i = 0; i < period->flows_len; i++) {
            for (size_t w = 0; w < period->flows[i].ways_len; w++) {
                counting->given += period->flows[i].ways[w].pkts;
            }
        }
    }
    pd_app_report_init(&report);
    const struct pd_evidence_sink sink = {counting, count_flows};
    assert_int_equal(counting->world.app.ops->observe(counting->world.app.context,
                                                      counting->from_us, period->to_us,
                                                      PD_APP_FLOWS, &sink, &report, NULL),
                     0);
    counting->lacks += (unsigned)json_array_size(report.lacks);
    pd_app_report_done(&report);
    counting->from_us = period->to_us;
    return 0;
}

static void earlier_periods_are_kept_when_asked_for(void **state)
{
    struct pd_sim_scenario scenario = read_scenario("{" SMALL "}");
    struct pd_sim_totals totals;
    struct counting counting = {.visits = 0};
    (void)state;
    pd_sim_app_world_init(&counting.world, &scenario);
    assert_int_equal(pd_sim_run(&scenario, 11, take_some, &counting, &totals, NULL), 0);
    assert_int_equal(counting.visits, 9); /* ten periods, without the first */
    assert_int_equal(counting.lacks, 1);
    assert_true(counting.seen > 0);
    assert_int_equal(counting.seen, counting.given);
    pd_sim_app_world_done(&counting.world);
    pd_sim_scenario_done(&scenario);
}

/* ---- watches */

static unsigned opened, closed, runs, alarmed;

static int open_app(const struct pd_app_call *call, void **ret_state, struct pd_error *error)
{
    (void)error;
    assert_int_equal(json_integer_value(json_object_get(call->args, "many")), 7);
    opened++;
    *ret_state = &opened;
    return 0;
}

static int run_app(void *state, const struct pd_app_call *call, struct pd_report *report,
                   struct pd_error *error)
{
    (void)error;
    assert_ptr_equal(state, &opened);
    runs++;
    alarmed += call->alarm != NULL;
    report->confidence = 0.5;
    pd_app_report_say(report, runs < 3 ? "run %u" : "later run %u", runs);
    return 0;
}

static void close_app(void *state)
{
    closed += state != NULL; /* arguments that are wrong: it was never opened */
}

static int count_report(void *context, double now_s, const json_t *report)
{
    unsigned *reports = context;
    assert_true(now_s > 0 && json_is_string(json_object_get(report, "verdict")));
    ++*reports;
    return 0;
}

static const struct pd_app_param params[] = {{"many", PD_APP_INTEGER, "N", "3", false, "how many"},
                                             {.name = NULL}};
static const struct pd_app_trigger poor_perf[] = {{.reason = "POOR_PERF"}, {.reason = NULL}};

static unsigned watch(const struct pd_app_ops *app, const char *args, bool every_run, int wanted)
{
    struct pd_sim_scenario scenario =
        read_scenario("{" SMALL ",\"faults\":[{\"link\":\"3-11\",\"loss\":0.05}]}");
    struct pd_sim_watch_end end;
    struct pd_error error = {0};
    unsigned reports = 0;
    json_t *given = json_loads(args, 0, NULL);
    opened = closed = runs = alarmed = 0;
    const struct pd_sim_watch watch = {.scenario = &scenario,
                                       .seed = 1,
                                       .app = app,
                                       .args = given,
                                       .every_run = every_run,
                                       .report = count_report,
                                       .context = &reports};
    assert_int_equal(pd_sim_watch(&watch, &end, &error), wanted);
    if (!wanted) {
        assert_int_equal(opened, 1);
        assert_int_equal(closed, 1);
        assert_int_equal(end.runs, runs);
    }
    if (!wanted && !(app->period_s > 0) && app->triggers) {
        assert_int_equal(alarmed, runs);
        assert_int_equal(runs + end.alarms_left, end.totals.alarms);
    }
    json_decref(given);
    pd_sim_scenario_done(&scenario);
    return reports;
}

static void watches_run_when_they_should(void **state)
{
    struct pd_app_ops app = {.name = "test",
                             .params = params,
                             .period_s = 0.5,
                             .open = open_app,
                             .run = run_app,
                             .close = close_app};
    (void)state;
    assert_int_equal(watch(&app, "{\"many\":\"7\"}", true, 0), 4); /* 0.6, 1, 1.6, 2 s */
    assert_int_equal(watch(&app, "{\"many\":7}", false, 0), 2);    /* digits are no news */
    app.period_s = 0.01;
    assert_int_equal(watch(&app, "{\"many\":7}", true, 0), 10); /* not more often than periods */
    app.period_s = 30;
    assert_int_equal(watch(&app, "{\"many\":7}", true, 0), 1); /* at the end */
    app.period_s = 0;
    assert_int_equal(watch(&app, "{\"many\":7}", true, 0), 2);
    app.triggers = poor_perf;
    assert_true(watch(&app, "{\"many\":7}", true, 0) > 3);
    watch(&app, "{\"lots\":7}", true, -PD_E_UNKNOWN_KEY);
    assert_int_equal(opened, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_add_up_and_nothing_is_left),
        cmocka_unit_test(senders_and_alarms_add_up),
        cmocka_unit_test(earlier_periods_are_kept_when_asked_for),
        cmocka_unit_test(watches_run_when_they_should),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
