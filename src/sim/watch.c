/* SPDX-License-Identifier: Apache-2.0 */
/* Applications on the simulator: when they run, and which of their reports are news. */
#include "sim/watch.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/args.h"
#include "base/clock.h"
#include "evidence/file.h"
#include "sim/world.h"

struct run {
    const struct pd_sim_watch *watch;
    struct pd_sim_app_world world;
    json_t *args;
    void *state;
    json_t *last; /* report given; NULL: none */
    double period_s, next_s;
    bool by_alarm;
    uint64_t alarm_id; /* latest one that was looked at */
    struct pd_sim_watch_end end;
    struct pd_error *error;
};

/* ---- news */

static bool same_words(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (isdigit((unsigned char)*a) || *a == '.') {
            a++;
        }
        while (isdigit((unsigned char)*b) || *b == '.') {
            b++;
        }
        if (*a != *b) {
            return false;
        }
        if (!*a) {
            return true;
        }
    }
}

static bool has_changed(const json_t *a, const json_t *b)
{
    static const char *const members[] = {"links", "switches", "certain"};

    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (!json_equal(json_object_get(a, members[i]), json_object_get(b, members[i]))) {
            return true;
        }
    }
    return fabs(json_number_value(json_object_get(a, "confidence")) -
                json_number_value(json_object_get(b, "confidence"))) >= PD_WATCH_CONFIDENCE_STEP ||
           !same_words(json_string_value(json_object_get(a, "verdict")),
                       json_string_value(json_object_get(b, "verdict")));
}

/* Takes the report over. */
static int give(struct run *run, double now_s, json_t *report)
{
    const struct pd_sim_watch *watch = run->watch;

    if (!watch->every_run && run->last && !has_changed(run->last, report)) {
        json_decref(report);
        return 0;
    }
    json_decref(run->last);
    run->last = report;
    return watch->report ? watch->report(watch->context, now_s, report) : 0;
}

/* ---- runs */

static int run_app(struct run *run, double now_s, const json_t *alarm)
{
    const struct pd_app_ops *app = run->watch->app;
    const struct pd_app_call call = {&run->world.app, run->args, alarm};
    struct pd_report report;
    json_t *json = NULL;

    pd_app_report_init(&report);
    int err = app->run(run->state, &call, &report, run->error);
    if (!err && !(json = pd_app_report_json(&report, app->name))) {
        err = pd_fail(run->error, -ENOMEM, "no memory");
    }
    pd_app_report_done(&report);
    run->end.runs++;
    return err ? err : give(run, now_s, json);
}

static bool is_wanted(const struct pd_app_ops *app, const char *reason)
{
    for (size_t i = 0; app->triggers[i].reason; i++) {
        if (!strcmp(app->triggers[i].reason, reason)) {
            return true;
        }
    }
    return false;
}

/* All alarms of this simulator have one reason. */
static int run_for_alarms(struct run *run, double now_s)
{
    const struct pd_sim_senders *senders = &run->world.senders;
    const json_t *alarm;
    size_t i;
    int err = 0;

    if (!is_wanted(run->watch->app, "POOR_PERF")) {
        return 0;
    }
    json_t *alarms =
        pd_sim_senders_alarms(senders, 0, UINT64_MAX, run->alarm_id, PD_WATCH_ALARMS_MAX);
    if (!alarms) {
        return pd_fail(run->error, -ENOMEM, "no memory");
    }
    run->end.alarms_left += senders->alarms - run->alarm_id - json_array_size(alarms);
    run->alarm_id = senders->alarms;
    json_array_foreach(alarms, i, alarm)
    {
        if (!err) {
            err = run_app(run, now_s, alarm);
        }
    }
    json_decref(alarms);
    return err;
}

static int write_all(struct run *run, const struct pd_sim_period *period)
{
    const struct pd_evidence_period evidence = pd_sim_evidence(period);
    int err = run->watch->evidence ? pd_evidence_write(run->watch->evidence, &evidence) : 0;

    return err ? pd_fail(run->error, err, "evidence: %s", pd_error_text(err)) : 0;
}

static int write_flows(struct run *run, const struct pd_sim_period *period)
{
    FILE *out = run->watch->flows;
    char src[PD_ADDR_TEXT_BYTES], dst[PD_ADDR_TEXT_BYTES];

    for (size_t i = 0; out && i < period->ended_len; i++) {
        const struct pd_sim_ended *ended = &period->ended[i];
        const struct pd_flow_id *flow = &ended->flow;

        fprintf(out,
                "{\"src\":\"%s\",\"dst\":\"%s\",\"src_port\":%u,\"dst_port\":%u,"
                "\"bytes\":%" PRIu64 ",\"start_ns\":%" PRIu64 ",\"took_ns\":%" PRIu64
                ",\"alone_ns\":%" PRIu64,
                pd_addr_format(&flow->src, flow->ip_version, src),
                pd_addr_format(&flow->dst, flow->ip_version, dst), flow->src_port, flow->dst_port,
                ended->bytes, ended->begun_ns, ended->took_ns, ended->alone_ns);
        if (ended->has_digests) {
            fprintf(out, ",\"decided_at\":%" PRIu64 ",\"known_at\":%" PRIu64 ",\"wrong\":%s",
                    ended->told.decided_at, ended->told.known_at,
                    ended->told.wrong ? "true" : "false");
        }
        fputs("}\n", out);
    }
    return out && ferror(out) ? pd_fail(run->error, -EIO, "flows: cannot be written") : 0;
}

static int visit(void *context, const struct pd_sim_period *period)
{
    struct run *run = context;
    double now_s = period->totals->now_s;
    int err = write_flows(run, period);

    if (err) {
        return err;
    }
    if (!run->watch->app) {
        return write_all(run, period);
    }
    err = pd_sim_app_world_take(&run->world, period, run->error);
    if (err) {
        return err;
    }
    if (run->by_alarm) {
        return run_for_alarms(run, now_s);
    }
    if (now_s < run->next_s - 1e-9 && now_s < run->watch->scenario->duration_s) {
        return 0;
    }
    while (run->next_s <= now_s + 1e-9) {
        run->next_s += run->period_s;
    }
    return run_app(run, now_s, NULL);
}

/* ---- begin and end */

static int open_app(struct run *run)
{
    const struct pd_app_ops *app = run->watch->app;
    double least_s = (double)run->watch->scenario->period_ms / 1e3;
    int err = pd_app_args_read(app, run->world.scenario->topology, run->watch->args, &run->args,
                               run->error);

    run->by_alarm = app->triggers && !(app->period_s > 0);
    run->period_s = app->period_s > 0 ? app->period_s : 1;
    run->period_s = run->period_s > least_s ? run->period_s : least_s;
    run->next_s = run->period_s;
    if (!err && app->open) {
        const struct pd_app_call call = {&run->world.app, run->args, NULL};

        err = app->open(&call, &run->state, run->error);
    }
    return err;
}

int pd_sim_watch(const struct pd_sim_watch *watch, struct pd_sim_watch_end *ret_end,
                 struct pd_error *error)
{
    struct run run = {.watch = watch, .error = error};
    uint64_t start_ns = pd_clock_monotonic_ns();
    int err;

    pd_sim_app_world_init(&run.world, watch->scenario);
    run.world.evidence = watch->evidence;
    /* Who is started by an alarm and compares with before asks for it then, as a fleet has it. */
    run.world.history.wanted = watch->app && watch->app->triggers && watch->app->keep_s > 0;
    err = watch->app ? open_app(&run) : 0;
    if (!err) {
        err = pd_sim_run(watch->scenario, watch->seed, visit, &run, &run.end.totals, error);
    }
    run.end.wall_s = (double)(pd_clock_monotonic_ns() - start_ns) / 1e9;
    if (watch->app && watch->app->close) {
        watch->app->close(run.state);
    }
    json_decref(run.args);
    json_decref(run.last);
    pd_sim_app_world_done(&run.world);
    if (!err) {
        *ret_end = run.end;
    }
    return err;
}
