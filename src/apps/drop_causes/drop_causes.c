/* SPDX-License-Identifier: Apache-2.0 */
/* drop-causes: what hurt these connections? Flows that suffered vote for the links of their paths.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "apps/apps.h"
#include "apps/args.h"
#include "apps/drop_causes/sufferers.h"
#include "apps/rows.h"
#include "localise/localise.h"

/* Paper 003. Works on networks that tag nothing; where switches do tag, a flow's way is what its
 * packets say, and a trace that says otherwise is a finding. A watch looks at each trace once. */

#define SETTLED_US UINT64_C(200000) /* a trace that began so long ago is over */

struct causes {
    uint64_t seen_us; /* traces before were looked at; 0: none */
};

static const struct pd_app_param params[] = {
    {.name = "epoch",
     .kind = PD_APP_SECONDS,
     .value = "S",
     .fallback = "30",
     .help = "how far back the first look goes, when no begin is given"},
    {.name = "method",
     .kind = PD_APP_LOCALISER,
     .value = "NAME",
     .fallback = "votes",
     .help = "localiser: votes, evidence, binary, integer"},
    {.name = "from", .kind = PD_APP_TIME, .value = "TIME", .help = "begin, of any past time"},
    {.name = "to", .kind = PD_APP_TIME, .value = "TIME", .help = "end; now unless given"},
    {.name = "host",
     .kind = PD_APP_INTEGER,
     .value = "HOST",
     .help = "ID of a sender: what hurt it; any when not given"},
    {.name = "prefix",
     .kind = PD_APP_TEXT,
     .value = "PREFIX",
     .help = "flows from or to these addresses, as 10.1.0.0/16"},
    {.name = "dst_port",
     .kind = PD_APP_INTEGER,
     .value = "PORT",
     .help = "flows to this port of servers"},
    {.name = "flows",
     .kind = PD_APP_BOOL,
     .value = "true",
     .help = "list each flow with its cause"},
    {.name = "symptom",
     .kind = PD_APP_TEXT,
     .value = "WHAT",
     .fallback = "retransmissions",
     .help = "retransmissions, or srtt: flows that are slow"},
    {.name = "over_ms",
     .kind = PD_APP_INTEGER,
     .value = "MS",
     .help = "with srtt: round trips longer than this"},
    {.name = NULL, .kind = PD_APP_TEXT},
};

static int open_causes(const struct pd_app_call *call, void **ret_state, struct pd_error *error)
{
    struct causes *causes = calloc(1, sizeof *causes);

    (void)call;
    if (!causes) {
        return pd_fail(error, -ENOMEM, "drop-causes: %s", pd_error_text(-ENOMEM));
    }
    *ret_state = causes;
    return 0;
}

/* ---- what is asked ---- */

static int read_symptom(const json_t *args, struct pd_sufferers_ask *ask, struct pd_error *error)
{
    const char *symptom = pd_app_arg_text(args, "symptom");
    uint64_t over_ms = pd_app_arg_u64(args, "over_ms", 0);

    if (!symptom || !strcmp(symptom, "retransmissions")) {
        return over_ms ? pd_fail(error, -PD_E_VALUE, "over_ms: goes with symptom srtt") : 0;
    }
    if (strcmp(symptom, "srtt") != 0) {
        return pd_fail(error, -PD_E_VALUE, "symptom: expects retransmissions or srtt");
    }
    if (!over_ms || over_ms > UINT32_MAX) {
        return pd_fail(error, -PD_E_VALUE, "over_ms: symptom srtt needs it");
    }
    ask->over_us = over_ms * 1000;
    return 0;
}

static int read_window(const struct causes *causes, const struct pd_app_call *call,
                       struct pd_sufferers_ask *ask, struct pd_error *error)
{
    uint64_t now_us = call->world->ops->now_us(call->world->context);
    uint64_t back_us = (uint64_t)(pd_app_arg_number(call->args, "epoch", 30) * 1e6);
    uint64_t settled_us = now_us > SETTLED_US ? now_us - SETTLED_US : 0;

    ask->to_us = pd_app_arg_u64(call->args, "to", settled_us);
    ask->from_us = pd_app_arg_u64(call->args, "from",
                                  causes->seen_us        ? causes->seen_us
                                  : ask->to_us > back_us ? ask->to_us - back_us
                                                         : 0);
    return ask->from_us <= ask->to_us ? 0
                                      : pd_fail(error, -PD_E_VALUE, "to: it ends before it begins");
}

static int read_ask(const struct causes *causes, const struct pd_app_call *call,
                    struct pd_prefix *prefix, struct pd_sufferers_ask *ask, struct pd_error *error)
{
    const char *text = pd_app_arg_text(call->args, "prefix");
    uint64_t host = pd_app_arg_u64(call->args, "host", 0),
             port = pd_app_arg_u64(call->args, "dst_port", 0);

    *ask = (struct pd_sufferers_ask){.prefix = text ? prefix : NULL};
    if (text && pd_prefix_parse(text, prefix)) {
        return pd_fail(error, -PD_E_VALUE, "prefix: expects one as 10.1.0.0/16");
    }
    if (host > UINT32_MAX || port > UINT16_MAX) {
        return pd_fail(error, -PD_E_VALUE, "%s: no such %s",
                       port > UINT16_MAX ? "dst_port" : "host",
                       port > UINT16_MAX ? "port" : "host");
    }
    ask->host = (uint32_t)host;
    ask->dst_port = (uint16_t)port;
    int err = read_symptom(call->args, ask, error);
    return err ? err : read_window(causes, call, ask, error);
}

/* ---- evidence ---- */

/* One flow as a row; `ways` has room for all of its ways. */
static struct pd_evidence_row row_of(const struct pd_sufferer *sufferer,
                                     struct pd_evidence_way ways[PD_SUFFERER_WAYS_MAX])
{
    struct pd_evidence_row row = {.kind = PD_EVIDENCE_FLOW,
                                  .flow = sufferer->wire,
                                  .pkts = PD_EVIDENCE_UNKNOWN,
                                  .lost = sufferer->retransmissions,
                                  .ways = ways};

    for (unsigned i = 0; i < sufferer->ways_len; i++) {
        ways[row.ways_len++] = (struct pd_evidence_way){.nodes = sufferer->ways[i].switches,
                                                        .nodes_len = sufferer->ways[i].len,
                                                        .reached = true,
                                                        .origin = PD_EVIDENCE_FROM_TAGS,
                                                        .pkts = PD_EVIDENCE_UNKNOWN};
    }
    if (!row.ways_len && sufferer->path.len) {
        ways[row.ways_len++] = (struct pd_evidence_way){.nodes = sufferer->path.switches,
                                                        .nodes_len = sufferer->path.len,
                                                        .reached = sufferer->reached,
                                                        .origin = PD_EVIDENCE_FROM_TRACE,
                                                        .pkts = PD_EVIDENCE_UNKNOWN};
    }
    return row;
}

static int observe(struct pd_localiser *localiser, const struct pd_sufferers *all,
                   const struct pd_sufferers_ask *ask)
{
    struct pd_evidence_row *rows = calloc(all->len + 1, sizeof *rows);
    struct pd_evidence_way(*ways)[PD_SUFFERER_WAYS_MAX] = calloc(all->len + 1, sizeof *ways);
    int err = rows && ways ? 0 : -ENOMEM;

    for (size_t i = 0; !err && i < all->len; i++) {
        rows[i] = row_of(&all->flows[i], ways[i]);
    }
    if (!err) {
        err = pd_localiser_observe(localiser, &(struct pd_evidence_period){.from_us = ask->from_us,
                                                                           .to_us = ask->to_us,
                                                                           .rows = rows,
                                                                           .rows_len = all->len});
    }
    free(ways);
    free(rows);
    return err;
}

/* ---- customers first: whom each link has hurt ---- */

struct hurt {
    uint32_t from, to;
    size_t flows, hosts;
    uint64_t retransmissions;
};

struct blame { /* of one flow */
    uint32_t from, to, host;
    uint64_t retransmissions;
};

static int by_link_and_host(const void *a, const void *b)
{
    const struct blame *x = a, *y = b;

    if (x->from != y->from) {
        return x->from < y->from ? -1 : 1;
    }
    if (x->to != y->to) {
        return x->to < y->to ? -1 : 1;
    }
    return (x->host > y->host) - (x->host < y->host);
}

/* `blames` ascend. */
static struct hurt hurt_by(const struct blame *blames, size_t len, uint32_t from, uint32_t to)
{
    struct hurt hurt = {.from = from, .to = to};
    uint32_t host = UINT32_MAX;

    for (size_t i = 0; i < len; i++) {
        if (blames[i].from == from && blames[i].to == to) {
            hurt.flows++;
            hurt.hosts += blames[i].host != host;
            host = blames[i].host;
            hurt.retransmissions += blames[i].retransmissions;
        }
    }
    return hurt;
}

static const char *const classes[] = {
    [PD_CAUSE_NOISE] = "noise", [PD_CAUSE_FAILURE] = "failure", [PD_CAUSE_UNKNOWN] = "unknown"};

static json_t *cause_json(const struct pd_sufferer *sufferer, const struct pd_cause *cause,
                          bool flat)
{
    char src[PD_ADDR_TEXT_BYTES], dst[PD_ADDR_TEXT_BYTES], link[PD_LINK_TEXT_BYTES];
    const struct pd_flow_id *flow = &sufferer->flow;
    bool failure = cause->class == PD_CAUSE_FAILURE;
    json_t *row = flat ? json_pack("{s:s, s:i, s:s, s:i}", "src_ip",
                                   pd_addr_format(&flow->src, flow->ip_version, src), "src_port",
                                   (int)flow->src_port, "dst_ip",
                                   pd_addr_format(&flow->dst, flow->ip_version, dst), "dst_port",
                                   (int)flow->dst_port)
                       : json_pack("{s:o}", "flow_id", pd_app_flow_json(flow));

    json_object_set_new(row, "class", json_string(classes[cause->class]));
    json_object_set_new(
        row, "link",
        failure ? json_string(pd_link_format((struct pd_link_match){cause->from, cause->to}, link))
                : json_null());
    json_object_set_new(row, "retransmissions",
                        json_integer((json_int_t)sufferer->retransmissions));
    return row;
}

static int find_causes(struct pd_localiser *localiser, const struct pd_sufferers *all,
                       bool list_flows, struct blame *blames, struct pd_report *report)
{
    for (size_t i = 0; i < all->len; i++) {
        struct pd_evidence_way ways[PD_SUFFERER_WAYS_MAX];
        const struct pd_evidence_row row = row_of(&all->flows[i], ways);
        struct pd_cause cause;
        int err = pd_localiser_cause(localiser, &row, &cause);

        if (err) {
            return err;
        }
        blames[i] = (struct blame){.host = all->flows[i].host,
                                   .retransmissions = all->flows[i].retransmissions};
        if (cause.class == PD_CAUSE_FAILURE) {
            blames[i].from = cause.from;
            blames[i].to = cause.to;
        }
        pd_app_report_row(report, "causes", cause_json(&all->flows[i], &cause, true));
        if (list_flows) {
            pd_app_report_flow(report, cause_json(&all->flows[i], &cause, false));
        }
    }
    qsort(blames, all->len, sizeof *blames, by_link_and_host);
    return 0;
}

static void show_ranking(const struct pd_verdict *verdict, const struct blame *blames, size_t len,
                         struct pd_report *report)
{
    for (size_t i = 0; i < verdict->ranking_len; i++) {
        const struct pd_verdict_link *link = &verdict->ranking[i];
        const struct hurt hurt = hurt_by(blames, len, link->from, link->to);
        char text[PD_LINK_TEXT_BYTES];

        pd_link_format((struct pd_link_match){link->from, link->to}, text);
        pd_app_report_row(report, "ranking",
                          json_pack("{s:s, s:f, s:I, s:I, s:I}", "link", text, "votes", link->score,
                                    "flows", (json_int_t)hurt.flows, "hosts",
                                    (json_int_t)hurt.hosts, "retransmissions",
                                    (json_int_t)hurt.retransmissions));
    }
    for (size_t i = 0; i < verdict->links_len; i++) {
        const struct pd_verdict_link *link = &verdict->links[i];
        const struct hurt hurt = hurt_by(blames, len, link->from, link->to);
        char text[PD_LINK_TEXT_BYTES];

        pd_app_report_link(report, link->from, link->to);
        pd_app_report_evidence(
            report, "%s hurt %zu flows of %zu hosts, which sent %" PRIu64 " packets again",
            pd_link_format((struct pd_link_match){link->from, link->to}, text), hurt.flows,
            hurt.hosts, hurt.retransmissions);
    }
}

/* ---- tags and traces check each other ---- */

static bool is_whole(const struct pd_sufferer *sufferer)
{
    for (uint32_t i = 0; i < sufferer->path.len; i++) {
        if (!sufferer->path.switches[i]) {
            return false;
        }
    }
    return sufferer->reached;
}

static bool differs(const struct pd_sufferer *sufferer)
{
    if (!sufferer->ways_len || !is_whole(sufferer)) {
        return false;
    }
    for (unsigned i = 0; i < sufferer->ways_len; i++) {
        if (pd_path_equal(&sufferer->ways[i], &sufferer->path)) {
            return false;
        }
    }
    return true;
}

static void show_differences(const struct pd_sufferers *all, struct pd_report *report)
{
    size_t len = 0;

    for (size_t i = 0; i < all->len; i++) {
        const struct pd_sufferer *sufferer = &all->flows[i];
        char ends[PD_ENDS_TEXT_BYTES], tags[PD_APP_PATH_TEXT_BYTES], trace[PD_APP_PATH_TEXT_BYTES];

        if (differs(sufferer)) {
            len++;
            pd_app_report_row(report, "differ",
                              json_pack("{s:s, s:s, s:s}", "flow",
                                        pd_ends_format(&sufferer->flow, ends), "tags",
                                        pd_app_path_text(&sufferer->ways[0], tags), "trace",
                                        pd_app_path_text(&sufferer->path, trace)));
        }
    }
    if (len) {
        pd_app_report_evidence(
            report,
            "of %zu flows the trace tells another path than the packets' own tags: "
            "routes changed, or a switch writes wrong tags (wrong-modification)",
            len);
    }
}

/* ---- the run ---- */

static int new_localiser(const struct pd_app_call *call, struct pd_localiser **ret_localiser,
                         struct pd_error *error)
{
    const char *method = pd_app_arg_text(call->args, "method");
    const struct pd_localiser_ops *ops = pd_localiser_find(method ? method : "votes");
    const struct pd_localiser_config config = {.topology = call->world->topology};
    int err;

    err = pd_localiser_new(ops, &config, ret_localiser);
    return err ? pd_fail(error, err, "drop-causes: %s", pd_error_text(err)) : 0;
}

static void conclude(const struct pd_verdict *verdict, const struct pd_sufferers *all,
                     const struct pd_sufferers_ask *ask, struct pd_report *report)
{
    const char *what = ask->over_us ? "were slow" : "sent packets again";

    report->certain = verdict->certain;
    report->confidence = verdict->confidence;
    if (all->without_way) {
        pd_app_report_lacks(report, "the paths of %" PRIu64 " flows that %s", all->without_way,
                            what);
    }
    if (!all->len) {
        pd_app_report_say(report, "no flow that was traced %s", what);
    } else if (!verdict->links_len) {
        pd_app_report_say(report, "%zu flows %s, and no link stands out", all->len, what);
    } else {
        pd_app_report_say(report, "%zu flows %s, and %zu link%s stand%s out", all->len, what,
                          verdict->links_len, verdict->links_len == 1 ? "" : "s",
                          verdict->links_len == 1 ? "s" : "");
    }
}

static int judge(struct pd_localiser *localiser, const struct pd_app_call *call,
                 const struct pd_sufferers *all, const struct pd_sufferers_ask *ask,
                 struct pd_report *report)
{
    struct blame *blames = calloc(all->len + 1, sizeof *blames);
    bool list_flows = json_is_true(json_object_get(call->args, "flows"));
    struct pd_verdict verdict;
    int err = blames ? observe(localiser, all, ask) : -ENOMEM;

    if (!err) {
        err = pd_localiser_locate(localiser, &verdict);
    }
    if (!err) {
        err = find_causes(localiser, all, list_flows, blames, report);
    }
    if (!err) {
        show_ranking(&verdict, blames, all->len, report);
        show_differences(all, report);
        conclude(&verdict, all, ask, report);
    }
    free(blames);
    return err;
}

static int run(void *state, const struct pd_app_call *call, struct pd_report *report,
               struct pd_error *error)
{
    struct causes *causes = state;
    struct pd_sufferers all = {0};
    struct pd_sufferers_ask ask;
    struct pd_prefix prefix;
    struct pd_localiser *localiser = NULL;
    int err = read_ask(causes, call, &prefix, &ask, error);

    if (!err) {
        err = new_localiser(call, &localiser, error);
    }
    if (!err) {
        err = pd_drop_cause_sufferers_ask(call, &ask, &all, report, error);
    }
    if (!err && (err = judge(localiser, call, &all, &ask, report))) {
        pd_fail(error, err, "drop-causes: %s", pd_error_text(err));
    }
    if (!err) {
        causes->seen_us = ask.to_us;
    }
    pd_drop_cause_sufferers_done(&all);
    pd_localiser_free(localiser);
    return err;
}

const struct pd_app_ops pd_app_drop_causes = {
    .name = "drop-causes",
    .section = "007",
    .help = "what hurt these connections?",
    .params = params,
    .period_s = 30,
    .open = open_causes,
    .run = run,
    .close = free,
};
