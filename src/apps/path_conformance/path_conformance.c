/* SPDX-License-Identifier: Apache-2.0 */
/* path-conformance: which flows went a way that a rule forbids? The query "conformance" over all
 * hosts, and alarms of those that are installed. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "apps/args.h"
#include "apps/rows.h"
#include "apps/voices.h"
#include "base/clock.h"
#include "topology/paths.h"

#define CLOCKS_US  (5 * PD_US_PER_S) /* by which clocks of hosts may differ */
#define ALARMS_MAX 1000
#define RULES      4

static const char *const rules[RULES] = {"max_hops", "avoid", "must_pass", "allow"};

struct findings {
    const struct pd_app_call *call;
    struct pd_report *report;
    size_t violations, alarms, infeasible, by_rule[RULES];
    struct pd_app_row first; /* violation */
    const char *first_rule;
    struct pd_app_voices voices; /* of violations */
    bool edges_open;             /* hosts may have written what paths are read from */
    bool invented;               /* a path that the topology does not have */
};

/* ---- links concerned ---- */

struct deviation {
    const struct pd_path *path;
    bool usual[PD_PATH_MAX]; /* link i is on a shortest path */
};

static int see_usual(void *context, const struct pd_path *shortest)
{
    struct deviation *d = context;

    for (unsigned i = 1; i < d->path->len; i++) {
        d->usual[i] |= pd_path_crosses(
            shortest, (struct pd_link_match){d->path->switches[i - 1], d->path->switches[i]});
    }
    return 0;
}

/* Links of the path that no shortest path between its ends has. */
static void add_deviation(const struct findings *f, const struct pd_path *path)
{
    const struct pd_topology *topology = f->call->world->topology;
    struct deviation d = {.path = path};
    int err = pd_topology_shortest(topology, pd_topology_switch(topology, path->switches[0]),
                                   pd_topology_switch(topology, path->switches[path->len - 1]),
                                   see_usual, &d);

    if (err) {
        f->report->failed = true;
        return;
    }
    for (unsigned i = 1; i < path->len; i++) {
        if (!d.usual[i]) {
            pd_app_report_link(f->report, path->switches[i - 1], path->switches[i]);
        }
    }
}

static bool is_listed(const json_t *list, uint32_t id)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (json_integer_value(json_array_get(list, i)) == id) {
            return true;
        }
    }
    return false;
}

static bool passes(const struct pd_path *path, uint32_t id)
{
    for (unsigned i = 0; i < path->len; i++) {
        if (path->switches[i] == id) {
            return true;
        }
    }
    return false;
}

/* The switch to avoid, with the link by which the flow came to it and the one by which it went on.
 */
static void add_avoided(const struct findings *f, const struct pd_path *path)
{
    const json_t *avoid = json_object_get(f->call->args, "avoid");

    for (unsigned i = 0; i < path->len; i++) {
        if (!is_listed(avoid, path->switches[i])) {
            continue;
        }
        pd_app_report_switch(f->report, path->switches[i]);
        if (i) {
            pd_app_report_link(f->report, path->switches[i - 1], path->switches[i]);
        }
        if (i + 1 < path->len) {
            pd_app_report_link(f->report, path->switches[i], path->switches[i + 1]);
        }
    }
}

static void add_missed(const struct findings *f, const struct pd_path *path)
{
    const json_t *must_pass = json_object_get(f->call->args, "must_pass");

    for (size_t i = 0; i < json_array_size(must_pass); i++) {
        json_int_t id = json_integer_value(json_array_get(must_pass, i));

        if (!passes(path, (uint32_t)id)) {
            pd_app_report_switch(f->report, (uint32_t)id);
        }
    }
}

/* Who may talk to whom is no matter of links. */
static void add_concerned(const struct findings *f, const struct pd_path *path, const char *rule)
{
    if (!strcmp(rule, "avoid")) {
        add_avoided(f, path);
    } else if (!strcmp(rule, "must_pass")) {
        add_missed(f, path);
    } else if (!strcmp(rule, "max_hops")) {
        add_deviation(f, path);
    }
}

/* ---- violations ---- */

static json_t *flow_row(const struct pd_flow_id *flow, const struct pd_path *path, const char *key,
                        const char *value)
{
    return json_pack("{s:o, s:o, s:s}", "flow_id", pd_app_flow_json(flow), "path",
                     pd_app_path_json(path), key, value);
}

static int number_of(const char *rule)
{
    for (int i = 0; rule && i < RULES; i++) {
        if (!strcmp(rule, rules[i])) {
            return i;
        }
    }
    return -1;
}

static int see_violation(void *context, const struct pd_app_row *row, const json_t *object)
{
    struct findings *f = context;
    const char *rule = row->rule;
    int number = number_of(rule);
    bool exists = pd_app_path_exists(f->call->world->topology, &row->path);

    (void)object;
    if (number < 0 || !row->flow.ip_version || !row->has_path || (row->path.len && !exists)) {
        f->invented = true;
        return 0;
    }
    if (!f->violations++) {
        f->first = *row;
        f->first_rule = rules[number];
    }
    f->by_rule[number]++;
    pd_app_voices_add(&f->voices, f->call->world->topology, &row->flow);
    pd_app_report_flow(f->report, flow_row(&row->flow, &row->path, "rule", rule));
    if (exists && f->violations <= PD_REPORT_FLOWS_MAX) { /* those that the report has room for */
        add_concerned(f, &row->path, rule);
    }
    return 0;
}

/* The arguments that are the query's as well. */
static json_t *query_args(const struct pd_app_call *call, uint64_t from_us, uint64_t to_us)
{
    static const char *const same[] = {"max_hops", "avoid",  "must_pass", "allow",
                                       "link",     "src_ip", "dst_ip"};
    json_t *args = json_object();

    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        if (json_object_get(call->args, same[i])) {
            json_object_set(args, same[i], json_object_get(call->args, same[i]));
        }
    }
    json_object_set_new(args, "live", json_true());
    json_object_set_new(args, "from", json_real((double)from_us / 1e6));
    json_object_set_new(args, "to", json_real((double)to_us / 1e6));
    return args;
}

static int ask_violations(struct findings *f, uint64_t from_us, uint64_t to_us,
                          struct pd_error *error)
{
    const struct pd_app_rows_query query = {
        .name = "conformance", .list = "violations", .args = query_args(f->call, from_us, to_us)};
    uint64_t infeasible = 0;
    int err = pd_app_ask_rows(f->call, f->report, &query, see_violation, f, &infeasible, error);

    if (!err && infeasible) {
        pd_app_report_lacks(
            f->report,
            "%" PRIu64 " flows have tags that fit no path: rules about switches cannot be judged",
            infeasible);
    }
    f->infeasible += infeasible;
    return err;
}

/* ---- alarms ---- */

/* PC_FAIL has the paths of one flow that break a rule of an installed query. */
static void see_alarm(struct findings *f, const char *list, const json_t *object)
{
    struct pd_app_alarm alarm;
    const char *detail = json_string_value(json_object_get(object, "detail"));
    const json_t *paths = json_object_get(object, "paths");
    struct pd_path path = {0};
    char text[PD_APP_PATH_TEXT_BYTES] = "", time[PD_TIME_TEXT_BYTES];
    json_t *row;

    if (!pd_app_alarm_read(object, &alarm) || !alarm.flow.ip_version) {
        f->invented = true;
        return;
    }
    row = json_pack("{s:[]}", "path");
    if (json_array_size(paths) && !json_object_set(row, "path", json_array_get(paths, 0)) &&
        pd_app_path_read(row, &path) && pd_app_path_exists(f->call->world->topology, &path)) {
        pd_app_path_text(&path, text);
    }
    json_decref(row);
    row = pd_app_flow_json(&alarm.flow);
    json_object_set_new(row, "path", json_string(text));
    json_object_set_new(row, "host", json_integer(alarm.host));
    json_object_set_new(row, "time", json_string(pd_time_format(alarm.time_us, time)));
    json_object_set_new(row, "detail", json_string(detail ? detail : ""));
    pd_app_report_row(f->report, list, row);
}

static int ask_alarms(struct findings *f, const char *reason, const char *list, uint64_t from_us,
                      uint64_t to_us, size_t *ret_len, struct pd_error *error)
{
    json_t *alarms, *object;
    size_t i;
    int err = pd_app_alarms(f->call, reason, from_us > CLOCKS_US ? from_us - CLOCKS_US : 0,
                            to_us + CLOCKS_US, ALARMS_MAX, &alarms, error);

    if (err) {
        return err;
    }
    json_array_foreach(alarms, i, object)
    {
        see_alarm(f, list, object);
    }
    *ret_len = json_array_size(alarms);
    if (*ret_len >= ALARMS_MAX) {
        pd_app_report_lacks(f->report, "only the newest %d alarms %s were looked at", ALARMS_MAX,
                            reason);
    }
    json_decref(alarms);
    return 0;
}

/* ---- the verdict ---- */

static bool has_rules(const json_t *args)
{
    for (int i = 0; i < RULES; i++) {
        if (json_object_get(args, rules[i])) {
            return true;
        }
    }
    return false;
}

static int see_nothing(void *context, const struct pd_app_row *row, const json_t *object)
{
    (void)context;
    (void)row;
    (void)object;
    return 0;
}

/* Without a rule alarms are all there is: they are missing of hosts that are away. */
static int ask_who_is_there(struct findings *f, struct pd_error *error)
{
    const struct pd_app_rows_query query = {
        .name = "getCount",
        .args = json_pack("{s:f, s:b}", "from",
                          (double)f->call->world->ops->now_us(f->call->world->context) / 1e6,
                          "live", 0)};

    return pd_app_ask_rows(f->call, f->report, &query, see_nothing, NULL, NULL, error);
}

static void say(struct findings *f, size_t infeasible_alarms)
{
    struct pd_report *report = f->report;
    char text[PD_APP_PATH_TEXT_BYTES];

    if (f->violations) {
        pd_app_report_say(report, "%zu flows break rules; the first one breaks %s%s%s",
                          f->violations, f->first_rule, f->first.path.len ? " on the path " : "",
                          pd_app_path_text(&f->first.path, text));
        report->certain = !f->edges_open;
        report->confidence = f->edges_open ? 0.9 : 1;
    } else if (f->alarms) {
        pd_app_report_say(report, "%zu alarms of installed conformance queries%s", f->alarms,
                          has_rules(f->call->args) ? "; the rules given here hold" : "");
        report->confidence = 0.9;
    } else if (f->infeasible || infeasible_alarms) {
        pd_app_report_say(report, "no rule is broken on a path that is known; some flows have tags "
                                  "that fit no path");
    } else if (has_rules(f->call->args)) {
        pd_app_report_say(report, "all paths conform");
    } else {
        pd_app_report_say(report, "no rule was given, and no installed conformance query raised an "
                                  "alarm");
    }
    if (f->invented) {
        pd_app_report_lacks(report, "hosts gave flows that no record can be, or paths that the "
                                    "topology does not have: left out");
    }
    for (int i = 0; i < RULES; i++) {
        if (f->by_rule[i]) {
            pd_app_report_evidence(
                report, "%zu flows and paths break %s, by the records of their receivers",
                f->by_rule[i], rules[i]);
        }
    }
    pd_app_voices_say(&f->voices, "what breaks rules", report);
    if (infeasible_alarms) {
        pd_app_report_evidence(report,
                               "%zu alarms INFEASIBLE_PATH: tags that fit no path, so some switch "
                               "tags wrongly (see wrong-modification)",
                               infeasible_alarms);
    }
}

static int run(void *state, const struct pd_app_call *call, struct pd_report *report,
               struct pd_error *error)
{
    struct findings f = {.call = call, .report = report};
    uint64_t to_us =
        pd_app_arg_u64(call->args, "to", call->world->ops->now_us(call->world->context));
    uint64_t back_us = (uint64_t)(pd_app_arg_number(call->args, "seconds", 60) * 1e6);
    uint64_t from_us = pd_app_arg_u64(call->args, "from", to_us > back_us ? to_us - back_us : 0);
    size_t infeasible_alarms = 0;
    int err;

    (void)state;
    if (from_us > to_us) {
        return pd_fail(error, -PD_E_VALUE, "from: expects a time that is not after \"to\"");
    }
    err = has_rules(call->args) ? ask_violations(&f, from_us, to_us, error)
                                : ask_who_is_there(&f, error);
    if (!err) {
        err = ask_alarms(&f, "PC_FAIL", "alarms", from_us, to_us, &f.alarms, error);
    }
    if (!err) {
        err = ask_alarms(&f, "INFEASIBLE_PATH", "infeasible", from_us, to_us, &infeasible_alarms,
                         error);
    }
    if (!err) {
        f.edges_open = pd_app_edges_say(call, report).open;
        say(&f, infeasible_alarms);
    }
    return err;
}

static const struct pd_app_param params[] = {
    {.name = "max_hops",
     .kind = PD_APP_INTEGER,
     .value = "N",
     .help = "most links that a path may have"},
    {.name = "avoid",
     .kind = PD_APP_LIST,
     .value = "LIST",
     .help = "switches that no path may have"},
    {.name = "must_pass",
     .kind = PD_APP_LIST,
     .value = "LIST",
     .help = "switches that every path must have (waypoints)"},
    {.name = "allow",
     .kind = PD_APP_PAIRS,
     .value = "PAIRS",
     .help = "prefixes that may talk, all others must not (isolation)"},
    {.name = "link", .kind = PD_APP_LINK, .value = "A-B", .help = "only flows over this link"},
    {.name = "src_ip",
     .kind = PD_APP_ADDRESS,
     .value = "IP",
     .help = "only flows from this address"},
    {.name = "dst_ip", .kind = PD_APP_ADDRESS, .value = "IP", .help = "only flows to this address"},
    {.name = "seconds",
     .kind = PD_APP_SECONDS,
     .value = "S",
     .fallback = "60",
     .help = "how far to look back, when there is no \"from\""},
    {.name = "from", .kind = PD_APP_TIME, .value = "TIME", .help = "only what ended then or later"},
    {.name = "to",
     .kind = PD_APP_TIME,
     .value = "TIME",
     .help = "only what began then or earlier; now"},
    {.name = 0},
};

static const struct pd_app_trigger triggers[] = {{.reason = "PC_FAIL", .origin = "installed"}, {0}};

const struct pd_app_ops pd_app_path_conformance = {
    .name = "path-conformance",
    .section = "4.1, Table 2",
    .help =
        "which flows break a rule: length of the path, waypoints, switches to avoid, isolation?",
    .params = params,
    .triggers = triggers,
    .period_s = 10,
    .run = run,
};
