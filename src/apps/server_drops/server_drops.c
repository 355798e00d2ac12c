/* SPDX-License-Identifier: Apache-2.0 */
/* server-drops: are packets lost in the network, or by the server that they reach? */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "apps/apps.h"
#include "apps/args.h"
#include "apps/flow_args.h"
#include "apps/rows.h"
#include "query/path_sums.h"

/* Paper 000, Table 2. The datapath of a server counts what reached it, before its stack can drop
 * anything. What a sender sent again and the network had lost arrives once; what the server had
 * dropped arrives twice. So bytes that arrived beyond those that are acknowledged, over the bytes
 * sent again, are the server's share. Counters of whole connections are compared, so no clock
 * matters. Headers are only known within bounds (options): so is the share. */

enum { FLOWS_MAX = 64, ASKED_MAX = 8192, OPTIONS_BYTES = 12, PKTS_MIN = 5, PKTS_CERTAIN = 20 };
#define SERVER_SHARE  0.5               /* of what was sent again, at least, had arrived before */
#define NETWORK_SHARE 0.25              /* at most */
#define CLOCK_US      UINT64_C(5000000) /* between hosts */

struct flow {
    struct pd_flow_id id;
    uint32_t server, sender; /* host IDs */
    uint64_t resent;         /* packets */
    uint64_t acked, mss, out_pkts, opened_us;
    bool opening;              /* only SYNs were sent */
    uint64_t bytes, pkts;      /* at the server's datapath */
    double twice_lo, twice_hi; /* packets that arrived though they were sent again */
    bool known;
};

struct finding {
    uint32_t server;
    uint64_t resent;
    double twice_lo, twice_hi;
    size_t flows, senders;
};

struct drops {
    const struct pd_app_call *call;
    struct pd_report *report;
    uint32_t wanted; /* server; 0: any */
    struct flow *flows;
    size_t len;
};

static const struct pd_app_param params[] = {
    {.name = "server",
     .kind = PD_APP_INTEGER,
     .value = "HOST",
     .help = "ID of the server; any when not given"},
    {.name = "seconds",
     .kind = PD_APP_SECONDS,
     .value = "S",
     .fallback = "60",
     .help = "flows that retransmitted since so long"},
    {.name = NULL, .kind = PD_APP_TEXT},
};

/* ---- senders ---- */

static uint64_t number(const json_t *object, const char *member)
{
    uint64_t value = 0;

    return pd_app_number(object, member, &value) ? value : 0;
}

static int take_sender(void *context, const struct pd_app_row *row, const json_t *object)
{
    struct drops *d = context;
    const struct pd_topology *topology = d->call->world->topology;
    struct flow flow = {
        .id = row->flow,
        .resent = number(object, "retransmissions"),
        .acked = number(object, "bytes_acked"),
        .mss = number(object, "mss_bytes"),
        .out_pkts = number(object, "pkts_out"),
        .opened_us = number(object, "opened_us"),
    };

    if (!row->flow.ip_version || row->flow.protocol != 6 || !flow.resent || d->len == ASKED_MAX) {
        return 0;
    }
    flow.opening = !flow.opened_us && flow.acked <= 1;
    flow.server = pd_app_host_of(topology, &flow.id.dst, flow.id.ip_version);
    flow.sender = pd_app_host_of(topology, &flow.id.src, flow.id.ip_version);
    if (!flow.server || !flow.sender || (d->wanted && flow.server != d->wanted)) {
        return 0;
    }
    if (flow.opening || (flow.mss && flow.acked > 1)) {
        d->flows[d->len++] = flow;
    }
    return 0;
}

static int by_resent(const void *a, const void *b)
{
    const struct flow *x = a, *y = b;

    return (x->resent < y->resent) - (x->resent > y->resent);
}

static int ask_senders(struct drops *d, uint64_t from_us, struct pd_error *error)
{
    json_t *args = pd_app_flow_args(NULL, from_us, UINT64_MAX), *answer = NULL;

    json_object_del(args, "live");
    json_object_set_new(args, "threshold", json_integer(1));
    int err = pd_app_ask(d->call, d->report, "getPoorTCPFlows", args, NULL, &answer, error);
    if (!err) {
        err = pd_app_rows(answer, "flows", d->report, take_sender, d, error);
    }
    json_decref(answer);
    if (err) {
        return err;
    }
    qsort(d->flows, d->len, sizeof *d->flows, by_resent);
    if (d->len > FLOWS_MAX) {
        pd_app_report_evidence(d->report,
                               "%zu flows retransmit: the %d that do most were looked at", d->len,
                               FLOWS_MAX);
        d->len = FLOWS_MAX;
    }
    return 0;
}

/* ---- receivers ---- */

static int take_record(void *context, const struct pd_app_row *row, const json_t *object)
{
    struct flow *flow = context;

    (void)object;
    if (pd_flow_id_equal(&row->flow, &flow->id)) {
        flow->bytes += row->bytes;
        flow->pkts += row->pkts;
    }
    return 0;
}

static double clamp(double value, double most)
{
    return value < 0 ? 0 : value > most ? most : value;
}

/* Packets of the network are told by what is acknowledged: all of that arrived once. What is out
 * may have arrived as well. */
static void compare(struct flow *flow)
{
    double resent = (double)flow->resent, mss = (double)flow->mss;
    double header = (flow->id.ip_version == 6 ? 40 : 20) + 20;
    double most = (double)flow->bytes - (double)flow->pkts * header;
    double least = most - (double)flow->pkts * OPTIONS_BYTES;
    double acked = (double)flow->acked - 1; /* the SYN counts as one */

    if (flow->opening) { /* every SYN that arrives has passed the network */
        flow->known = true;
        flow->twice_lo = flow->twice_hi = clamp((double)flow->pkts, resent);
        return;
    }
    flow->known = most >= acked; /* else records of it are missing */
    flow->twice_lo = clamp((least - acked) / mss - (double)flow->out_pkts, resent);
    flow->twice_hi = clamp((most - acked) / mss, resent);
}

static int ask_server(struct drops *d, struct flow *flow, struct pd_error *error)
{
    size_t lacked = json_array_size(d->report->lacks);
    uint64_t from_us = flow->opened_us > CLOCK_US ? flow->opened_us - CLOCK_US : 0;
    const struct pd_app_rows_query query = {.name = "getFlows",
                                            .list = "flows",
                                            .args =
                                                pd_app_flow_args(&flow->id, from_us, UINT64_MAX),
                                            .hosts = pd_app_host_list(flow->server)};
    int err = pd_app_ask_rows(d->call, d->report, &query, take_record, flow, NULL, error);

    if (!err && json_array_size(d->report->lacks) == lacked) {
        compare(flow);
    }
    return err;
}

/* That no SYN arrived is only known of a server whose datapath tells of packets at all: of any of
 * these flows, or of any other flow in the window. */
static int hears(struct drops *d, const struct flow *flow, uint64_t from_us, bool *ret_hears,
                 struct pd_error *error)
{
    uint64_t seen = 0;
    json_t *answer = NULL;

    *ret_hears = false;
    for (size_t i = 0; i < d->len && !*ret_hears; i++) {
        *ret_hears = d->flows[i].server == flow->server && d->flows[i].pkts;
    }
    if (*ret_hears) {
        return 0;
    }
    int err =
        pd_app_ask(d->call, d->report, PD_PATH_SUMS_NAME,
                   json_pack("{s:I, s:I}", "from_us", (json_int_t)from_us, "to_us",
                             (json_int_t)d->call->world->ops->now_us(d->call->world->context)),
                   pd_app_host_list(flow->server), &answer, error);
    *ret_hears = !err && pd_app_number(answer, "flows_seen", &seen) && seen;
    json_decref(answer);
    return err;
}

/* Once for each server of connections that never opened. */
static int doubt_silence(struct drops *d, uint64_t from_us, struct pd_error *error)
{
    int err = 0;

    for (size_t i = 0; i < d->len && !err; i++) {
        bool hearing = true;

        if (!d->flows[i].opening || !d->flows[i].known || d->flows[i].pkts) {
            continue;
        }
        err = hears(d, &d->flows[i], from_us, &hearing, error);
        for (size_t k = i; k < d->len && !err && !hearing; k++) {
            d->flows[k].known &= d->flows[k].server != d->flows[i].server;
        }
    }
    return err;
}

/* ---- the verdict ---- */

static const char *judge(const struct finding *f)
{
    double resent = (double)f->resent;

    if (f->resent < PKTS_MIN) {
        return "too little";
    }
    if (f->twice_lo >= SERVER_SHARE * resent) {
        return "server";
    }
    return f->twice_hi <= NETWORK_SHARE * resent ? "network" : "not told";
}

static struct finding sum(const struct drops *d, uint32_t server)
{
    struct finding f = {.server = server};

    for (size_t i = 0; i < d->len; i++) {
        const struct flow *flow = &d->flows[i];
        bool again = false;

        if (flow->server != server || !flow->known) {
            continue;
        }
        for (size_t k = 0; k < i; k++) {
            again |= d->flows[k].known && d->flows[k].server == server &&
                     d->flows[k].sender == flow->sender;
        }
        f.senders += !again;
        f.flows++;
        f.resent += flow->resent;
        f.twice_lo += flow->twice_lo;
        f.twice_hi += flow->twice_hi;
    }
    return f;
}

static void show_flows(struct drops *d, uint32_t server)
{
    for (size_t i = 0; i < d->len; i++) {
        const struct flow *flow = &d->flows[i];

        if (flow->server == server && flow->known) {
            pd_app_report_flow(d->report,
                               json_pack("{s:o, s:I, s:I, s:I, s:f}", "flow_id",
                                         pd_app_flow_json(&flow->id), "sent_again",
                                         (json_int_t)flow->resent, "arrived_pkts",
                                         (json_int_t)flow->pkts, "arrived_bytes",
                                         (json_int_t)flow->bytes, "arrived_twice", flow->twice_lo));
        }
    }
}

static void show(struct drops *d, const struct finding *f, const char *where)
{
    double resent = (double)f->resent;
    bool server = !strcmp(where, "server");
    double share = (server ? f->twice_lo : resent - f->twice_hi) / resent;

    pd_app_report_row(d->report, "servers",
                      json_pack("{s:I, s:s, s:I, s:I, s:I, s:f, s:f}", "server",
                                (json_int_t)f->server, "lost_by", where, "flows",
                                (json_int_t)f->flows, "senders", (json_int_t)f->senders,
                                "sent_again", (json_int_t)f->resent, "arrived_twice_least",
                                f->twice_lo, "arrived_twice_most", f->twice_hi));
    pd_app_report_evidence(d->report,
                           "host %" PRIu32 ": of %" PRIu64 " packets sent again, %.0f to %.0f had "
                           "reached it before (%zu flows, %zu senders)",
                           f->server, f->resent, f->twice_lo, f->twice_hi, f->flows, f->senders);
    show_flows(d, f->server);
    if (share > d->report->confidence) {
        d->report->confidence = share;
    }
    d->report->certain &= share >= 0.9 && f->resent >= PKTS_CERTAIN && (!server || f->senders > 1);
}

static void conclude(struct drops *d)
{
    char servers[200] = "", networks[200] = "";
    size_t unknown = 0, told = 0;

    d->report->certain = true;
    for (size_t i = 0; i < d->len; i++) {
        bool first = true;
        char id[16];

        unknown += !d->flows[i].known;
        for (size_t k = 0; k < i; k++) {
            first &= d->flows[k].server != d->flows[i].server;
        }
        struct finding f = sum(d, d->flows[i].server);
        const char *where = judge(&f);
        if (!first || !strcmp(where, "too little")) {
            continue;
        }
        show(d, &f, where);
        told += strcmp(where, "not told") != 0;
        d->report->certain &= strcmp(where, "not told") != 0;
        char *list = !strcmp(where, "server") ? servers : networks;
        snprintf(id, sizeof id, "%s%" PRIu32, *list ? ", " : "", f.server);
        if (strcmp(where, "not told") && strlen(list) + strlen(id) < sizeof servers) {
            strcat(list, id);
        }
    }
    d->report->certain &= told > 0;
    if (unknown) {
        pd_app_report_lacks(
            d->report, "%zu flows of which the server's records are not complete, or not there",
            unknown);
    }
    if (!told) {
        d->report->confidence = 0;
    }
    if (*servers) {
        pd_app_report_say(d->report, "packets reach the server and are dropped there: host %s%s%s",
                          servers, *networks ? "; lost in the network before: those to host " : "",
                          networks);
    } else if (*networks) {
        pd_app_report_say(d->report, "packets are lost in the network, before they reach host %s",
                          networks);
    } else {
        pd_app_report_say(d->report, "no server of whose lost packets anything can be said");
    }
}

static int run(void *state, const struct pd_app_call *call, struct pd_report *report,
               struct pd_error *error)
{
    struct drops d = {.call = call, .report = report};
    uint64_t now_us = call->world->ops->now_us(call->world->context);
    uint64_t back_us = (uint64_t)(pd_app_arg_number(call->args, "seconds", 60) * 1e6) + CLOCK_US;
    uint64_t wanted = pd_app_arg_u64(call->args, "server", 0);

    (void)state;
    if (wanted && (wanted > UINT32_MAX ||
                   pd_topology_host(call->world->topology, (uint32_t)wanted) == PD_NONE)) {
        return pd_fail(error, -PD_E_VALUE, "server: no host %" PRIu64 " in the topology", wanted);
    }
    d.wanted = (uint32_t)wanted;
    d.flows = calloc(ASKED_MAX, sizeof *d.flows);
    if (!d.flows) {
        return pd_fail(error, -ENOMEM, "server-drops: %s", pd_error_text(-ENOMEM));
    }
    int err = ask_senders(&d, now_us > back_us ? now_us - back_us : 0, error);
    for (size_t i = 0; i < d.len && !err; i++) {
        err = ask_server(&d, &d.flows[i], error);
    }
    err = err ? err : doubt_silence(&d, now_us > back_us ? now_us - back_us : 0, error);
    if (!err) {
        conclude(&d);
    }
    free(d.flows);
    return err;
}

static const struct pd_app_trigger triggers[] = {{.reason = "POOR_PERF", .origin = "monitor"}, {0}};

const struct pd_app_ops pd_app_server_drops = {
    .name = "server-drops",
    .section = "Table 2",
    .help = "are packets lost in the network, or by the server?",
    .params = params,
    .triggers = triggers,
    .run = run,
};
