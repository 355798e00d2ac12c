/* SPDX-License-Identifier: Apache-2.0 */
/* wrong-modification: does a switch change packets that it should not, or write wrong tags? */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "apps/args.h"
#include "apps/voices.h"
#include "apps/wrong_modification/suspects.h"
#include "base/clock.h"

/* Paper 000, section 2.4 and Table 2 (a row that the paper leaves open). */

/* By which clocks may differ, and after which a flow has arrived. */
#define SLACK_US     (2 * PD_US_PER_S)
#define KEPT_US      (50 * PD_US_PER_S) /* monitors keep closed connections for at least 60 s */
#define PAIRS_NEEDED 3
#define PAIRS_MAX    1000
#define ALARMS_MAX   1000

struct judge {
    const struct pd_app_call *call;
    struct pd_report *report;
    struct wm_flows flows;
    uint64_t from_us, to_us;
    size_t kinds[WM_INFEASIBLE + 1], pairs, lost, nobodys, infeasible_alarms;
    struct pd_app_voices unsent_voices, infeasible_voices;
    bool edges_held;
    struct wm_suspects unsent, infeasible;
};

/* ---- what each flow is ---- */

static bool is_missing(const struct pd_report *report, uint32_t host)
{
    char start[48];
    size_t i, len = (size_t)snprintf(start, sizeof start, "host %" PRIu32 " did not answer", host);
    const json_t *words;

    json_array_foreach(report->lacks, i, words)
    {
        if (!strncmp(json_string_value(words), start, len)) {
            return true;
        }
    }
    return false;
}

/* Whether the sender's monitor would know this flow, had it been sent. */
static bool can_be_judged(const struct judge *j, const struct wm_arrived *arrived, uint32_t host)
{
    return arrived->flow.protocol == 6 && j->flows.by_events && !is_missing(j->report, host) &&
           j->flows.since_us < UINT64_MAX - SLACK_US &&
           arrived->stime_us > j->flows.since_us + SLACK_US &&
           arrived->etime_us + KEPT_US >= j->to_us;
}

static enum wm_kind kind_of(struct judge *j, const struct wm_arrived *arrived)
{
    const struct pd_flow_id reverse = pd_wrong_modification_reverse(&arrived->flow);
    uint32_t host =
        pd_app_host_of(j->call->world->topology, &arrived->flow.src, arrived->flow.ip_version);
    struct wm_sent *sent = pd_wrong_modification_find_sent(&j->flows, &arrived->flow);

    if (sent) {
        sent->arrived = true;
    }
    if (!arrived->path.len) {
        return WM_INFEASIBLE;
    }
    if (sent ||
        (arrived->flow.protocol == 6 && pd_wrong_modification_find_sent(&j->flows, &reverse))) {
        return WM_RIGHT; /* or it answers one: a port that nobody listens at has no connection */
    }
    if (!host) {
        j->nobodys++;
    }
    return host && can_be_judged(j, arrived, host) ? WM_UNSENT : WM_UNJUDGED;
}

/* A kernel answers what it does not expect with a reset, for which there is no connection either:
 * nothing but headers. */
static bool is_reset(const struct judge *j, const struct wm_arrived *arrived)
{
    const struct pd_flow_id reverse = pd_wrong_modification_reverse(&arrived->flow);
    uint64_t header = arrived->flow.ip_version == 6 ? 60 : 40;

    return arrived->bytes <= header * arrived->pkts &&
           pd_wrong_modification_find_arrived(&j->flows, &reverse);
}

static void judge_flows(struct judge *j)
{
    for (size_t i = 0; i < j->flows.arrived_len; i++) {
        struct wm_arrived *arrived = &j->flows.arrived[i];

        arrived->kind = kind_of(j, arrived);
        if (arrived->kind == WM_UNSENT && is_reset(j, arrived)) {
            arrived->kind = WM_ANSWER;
        }
        j->kinds[arrived->kind]++;
        if (arrived->kind == WM_UNSENT || arrived->kind == WM_INFEASIBLE) {
            pd_app_voices_add(arrived->kind == WM_UNSENT ? &j->unsent_voices
                                                         : &j->infeasible_voices,
                              j->call->world->topology, &arrived->flow);
        }
    }
}

/* ---- what it was meant to be ---- */

/* Sent in this time, long enough ago to have arrived. */
static bool is_lost(const struct judge *j, const struct wm_sent *sent)
{
    return !sent->arrived && sent->first_us > j->from_us + SLACK_US &&
           sent->first_us + SLACK_US < j->to_us &&
           pd_app_host_of(j->call->world->topology, &sent->flow.dst, sent->flow.ip_version);
}

/* Fields that differ. */
static unsigned differences(const struct pd_flow_id *a, const struct pd_flow_id *b)
{
    return (memcmp(&a->src, &b->src, sizeof a->src) != 0) +
           (memcmp(&a->dst, &b->dst, sizeof a->dst) != 0) + (a->src_port != b->src_port) +
           (a->dst_port != b->dst_port);
}

/* A flow that arrived and nobody sent, for one that was sent and did not arrive: they differ in one
 * field and began at the same time. */
static void find_pair(struct judge *j, const size_t *unsent, size_t unsent_len,
                      const struct wm_sent *sent)
{
    for (size_t i = 0; i < unsent_len; i++) {
        struct wm_arrived *arrived = &j->flows.arrived[unsent[i]];

        if (arrived->meant || differences(&arrived->flow, &sent->flow) != 1 ||
            arrived->stime_us + SLACK_US < sent->first_us ||
            arrived->stime_us > sent->first_us + SLACK_US) {
            continue;
        }
        arrived->meant = sent;
        j->pairs++;
        return;
    }
}

/* Of the first PAIRS_MAX flows that nobody sent: with more than that, no flow has to be told from
 * another. */
static void find_pairs(struct judge *j)
{
    size_t unsent[PAIRS_MAX], unsent_len = 0;

    for (size_t i = 0; i < j->flows.arrived_len && unsent_len < PAIRS_MAX; i++) {
        if (j->flows.arrived[i].kind == WM_UNSENT) {
            unsent[unsent_len++] = i;
        }
    }
    for (size_t i = 0; i < j->flows.sent_len; i++) {
        if (!is_lost(j, &j->flows.sent[i])) {
            continue;
        }
        j->lost++;
        if (j->pairs < unsent_len && j->lost <= PD_REPORT_ROWS_MAX) {
            find_pair(j, unsent, unsent_len, &j->flows.sent[i]);
        }
    }
}

/* ---- the report ---- */

static void put_flow(json_t *row, const char *name, const struct pd_flow_id *flow)
{
    char text[PD_ENDS_TEXT_BYTES];

    json_object_set_new(row, name, json_string(pd_ends_format(flow, text)));
}

static void add_flows(const struct judge *j)
{
    for (size_t i = 0; i < j->flows.arrived_len; i++) {
        const struct wm_arrived *arrived = &j->flows.arrived[i];
        bool unsent = arrived->kind == WM_UNSENT;
        char path[PD_APP_PATH_TEXT_BYTES];
        json_t *row;

        if (!unsent && arrived->kind != WM_INFEASIBLE) {
            continue;
        }
        pd_app_report_flow(j->report,
                           json_pack("{s:o, s:o, s:s}", "flow_id", pd_app_flow_json(&arrived->flow),
                                     "path", pd_app_path_json(&arrived->path), "wrong",
                                     unsent ? "nobody sent it" : "its tags fit no path"));
        row = json_object();
        put_flow(row, "arrived", &arrived->flow);
        json_object_set_new(row, "path", json_string(pd_app_path_text(&arrived->path, path)));
        json_object_set_new(row, "pkts", json_integer((json_int_t)arrived->pkts));
        if (arrived->meant) {
            put_flow(row, "sent", &arrived->meant->flow);
        } else {
            json_object_set_new(row, "sent", json_string(""));
        }
        pd_app_report_row(j->report, unsent ? "modified" : "infeasible", row);
    }
}

static void add_suspects(const struct judge *j, const struct wm_suspects *suspects,
                         const char *what)
{
    if (!suspects->wrong) {
        return;
    }
    for (size_t i = 0; i < suspects->len; i++) {
        pd_app_report_switch(j->report, suspects->ids[i]);
    }
    if (suspects->len) {
        pd_app_report_evidence(
            j->report,
            "%zu flows %s; each suspect may have had %zu of them and had %zu right "
            "ones; %zu suspects",
            suspects->wrong, what, suspects->covered, suspects->right, suspects->len);
    }
}

/* What could explain the findings as well, or was not looked at. */
static void say_lacks(const struct judge *j)
{
    struct pd_report *report = j->report;
    const char *protocol = pd_app_arg_text(j->call->args, "protocol");

    if (protocol && strcmp(protocol, "tcp") != 0) {
        pd_app_report_lacks(report, "only TCP's senders have a record of what they sent: flows of "
                                    "other protocols are judged by their tags alone");
    }
    if (!j->flows.by_events) {
        pd_app_report_lacks(report,
                            "not every host's TCP monitor gets the kernel's events (bpf): "
                            "what it does not know may have been sent, so only tags are judged");
    }
    if (j->flows.forgotten) {
        pd_app_report_lacks(report, "monitors forgot %" PRIu64 " connections early",
                            j->flows.forgotten);
    }
    if (j->flows.since_us > j->from_us) {
        pd_app_report_lacks(report, "not every monitor ran since the beginning of this time");
    }
    if (j->flows.left_out) {
        pd_app_report_lacks(report, "%" PRIu64 " flows more than are looked at", j->flows.left_out);
    }
    if (j->flows.strange) {
        pd_app_report_lacks(report,
                            "hosts gave flows that cannot be, or paths that the topology does "
                            "not have: left out");
    }
    if (j->nobodys) {
        pd_app_report_lacks(report, "%zu flows came from addresses of no host that is known here",
                            j->nobodys);
    }
}

static void add_evidence(const struct judge *j)
{
    struct pd_report *report = j->report;

    pd_app_report_evidence(
        report,
        "%zu flows and paths are known to their senders, %zu are not, %zu could not "
        "be judged, %zu have tags that fit no path",
        j->kinds[WM_RIGHT], j->kinds[WM_UNSENT], j->kinds[WM_UNJUDGED] + j->kinds[WM_ANSWER],
        j->kinds[WM_INFEASIBLE]);
    if (j->pairs) {
        pd_app_report_evidence(report,
                               "%zu flows were sent, did not arrive as such, and arrived with one "
                               "field changed at that time",
                               j->pairs);
    }
    if (j->lost > j->pairs) {
        pd_app_report_evidence(report,
                               "%zu flows were sent and did not arrive: they may be lost as well",
                               j->lost - j->pairs);
    }
    if (j->infeasible_alarms) {
        pd_app_report_evidence(report, "%zu alarms INFEASIBLE_PATH", j->infeasible_alarms);
    }
    add_suspects(j, &j->unsent, "arrived that nobody sent");
    add_suspects(j, &j->infeasible, "have tags that fit no path");
    pd_app_voices_say(&j->unsent_voices, "what arrived that nobody sent", report);
    pd_app_voices_say(&j->infeasible_voices, "what has tags that fit no path", report);
}

/* One switch, that nothing right ever crossed, explains everything; for changed packets the flows
 * that were meant are known, of several senders. */
static bool is_certain(const struct judge *j)
{
    bool modified =
        !j->unsent.wrong ||
        (j->unsent.len == 1 && j->unsent.covered == j->unsent.wrong && !j->unsent.right &&
         j->unsent.sources > 1 && j->pairs >= PAIRS_NEEDED && j->pairs == j->unsent.wrong);
    bool tagged = !j->infeasible.wrong ||
                  (j->infeasible.len == 1 && j->infeasible.covered == j->infeasible.wrong &&
                   !j->infeasible.right && j->infeasible.wrong >= PAIRS_NEEDED);

    return modified && tagged && j->edges_held && (j->unsent.wrong || j->infeasible.wrong);
}

static void say(const struct judge *j)
{
    struct pd_report *report = j->report;
    const struct wm_suspects *main = j->unsent.wrong ? &j->unsent : &j->infeasible;

    if (!main->wrong && !j->infeasible_alarms) {
        pd_app_report_say(report, "everything that arrived and could be judged is as it was sent");
        return;
    }
    report->certain = is_certain(j);
    if (!main->wrong) {
        pd_app_report_say(report,
                          "%zu alarms of tags that fit no path; their records are not in this "
                          "time",
                          j->infeasible_alarms);
    } else if (main->len == 1) {
        pd_app_report_say(
            report, "%s: %zu flows %s, and switch %" PRIu32 " fits best",
            report->certain ? "a switch changes packets" : "packets seem to be changed",
            main->wrong,
            main == &j->unsent ? "arrived that nobody sent" : "have tags that fit no path",
            main->ids[0]);
    } else {
        pd_app_report_say(
            report, "packets seem to be changed: %zu flows %s; %zu switches fit equally",
            main->wrong,
            main == &j->unsent ? "arrived that nobody sent" : "have tags that fit no path",
            main->len);
    }
    report->confidence = report->certain ? 1 : main->len ? 0.5 / (double)main->len : 0.1;
}

static int count_alarms(struct judge *j, struct pd_error *error)
{
    json_t *alarms;
    int e =
        pd_app_alarms(j->call, "INFEASIBLE_PATH", j->from_us > SLACK_US ? j->from_us - SLACK_US : 0,
                      j->to_us + SLACK_US, ALARMS_MAX, &alarms, error);

    if (e) {
        return e;
    }
    j->infeasible_alarms = json_array_size(alarms);
    json_decref(alarms);
    return 0;
}

static int judge_all(struct judge *j, struct pd_error *error)
{
    const struct pd_topology *topology = j->call->world->topology;
    int err;

    judge_flows(j);
    find_pairs(j);
    err = pd_wrong_modification_find_suspects(topology, &j->flows, WM_UNSENT, &j->unsent);
    if (!err) {
        err =
            pd_wrong_modification_find_suspects(topology, &j->flows, WM_INFEASIBLE, &j->infeasible);
    }
    if (err) {
        return pd_fail(error, err, "%s", pd_error_text(err));
    }
    if (j->unsent.wrong) {
        pd_wrong_modification_add_links(&j->flows, &j->unsent, j->report);
    }
    add_flows(j);
    add_evidence(j);
    j->edges_held = !pd_app_edges_say(j->call, j->report).open;
    say_lacks(j);
    say(j);
    return 0;
}

static int check_protocol(const json_t *args, struct pd_error *error)
{
    static const char *const known[] = {"tcp", "udp", "all"};
    const char *protocol = pd_app_arg_text(args, "protocol");

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!protocol || !strcmp(protocol, known[i])) {
            return 0;
        }
    }
    return pd_fail(error, -PD_E_VALUE, "protocol: expects tcp, udp or all");
}

static int run(void *state, const struct pd_app_call *call, struct pd_report *report,
               struct pd_error *error)
{
    struct judge j = {.call = call, .report = report};
    uint64_t back_us = (uint64_t)(pd_app_arg_number(call->args, "seconds", 30) * 1e6);
    int err = check_protocol(call->args, error);

    (void)state;
    if (err) {
        return err;
    }
    j.to_us = call->world->ops->now_us(call->world->context);
    back_us = back_us < KEPT_US ? back_us : KEPT_US;
    j.from_us = j.to_us > back_us ? j.to_us - back_us : 0;
    err = pd_wrong_modification_ask(call, report, j.from_us, j.to_us, &j.flows, error);
    if (!err) {
        err = count_alarms(&j, error);
    }
    if (!err) {
        err = judge_all(&j, error);
    }
    pd_wrong_modification_done(&j.flows);
    return err;
}

static const struct pd_app_param params[] = {
    {.name = "seconds",
     .kind = PD_APP_SECONDS,
     .value = "S",
     .fallback = "30",
     .help = "how far to look back; at most 50, since monitors forget closed connections"},
    {.name = "protocol",
     .kind = PD_APP_TEXT,
     .value = "tcp|udp|all",
     .fallback = "tcp",
     .help = "what you want to know about: only TCP's senders know what they sent"},
    {.name = 0},
};

static const struct pd_app_trigger triggers[] = {{.reason = "INFEASIBLE_PATH", .origin = "monitor"},
                                                 {0}};

const struct pd_app_ops pd_app_wrong_modification = {
    .name = "wrong-modification",
    .section = "2.4, Table 2",
    .help = "does a switch change packets that it should not, or write wrong tags?",
    .params = params,
    .triggers = triggers,
    .period_s = 20,
    .run = run,
};
