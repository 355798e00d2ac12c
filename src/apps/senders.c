/* SPDX-License-Identifier: Apache-2.0 */
/* The senders of the receiver that most complaints are about: their flows, and what they lost. */
#include "apps/senders.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/args.h"
#include "apps/complaints.h"
#include "apps/sums.h"
#include "apps/tree.h"
#include "base/grow.h"

#define TRACED_BEFORE_US UINT64_C(120000000) /* epochs of traces are seldom longer */

int pd_app_receiver_find(const struct pd_app_call *call, struct pd_report *report,
                         struct pd_app_receiver *ret_receiver, struct pd_error *error)
{
    struct pd_app_receiver receiver = {0};
    struct pd_app_complaints complaints = {0};
    struct pd_app_alarm started = {0};
    int err = pd_app_window_read(call, &receiver.window, error);

    if (!err) {
        err = pd_app_complaints_ask(call, &receiver.window, PD_APP_AGAIN_US + PD_APP_SKEW_US,
                                    report, &complaints, error);
    }
    if (!err) {
        if (call->alarm) {
            pd_app_alarm_read(call->alarm, &started);
        }
        pd_app_complaints_choose(&complaints, &started, &receiver);
        if (receiver.ip_version) {
            uint32_t tors[PD_HOMES_MAX];
            uint32_t len = pd_topology_tors_of(call->world->topology, &receiver.addr,
                                               receiver.ip_version, tors);

            receiver.host =
                pd_app_host_of(call->world->topology, &receiver.addr, receiver.ip_version);
            receiver.tor = len == 1 ? call->world->topology->switches[tors[0]].id : 0;
        }
        *ret_receiver = receiver;
    }
    free(complaints.list);
    return err;
}

/* A run that an alarm started has no time for a roll call, and the next alarm comes soon. */
int pd_app_receiver_spare(const struct pd_app_call *call, struct pd_report *report,
                          const struct pd_app_receiver *receiver, uint64_t least,
                          struct pd_error *error)
{
    if (!receiver->sources) {
        pd_app_report_say(report, "nothing: no sender complains");
    } else {
        pd_app_report_say(report,
                          "nothing: at most %" PRIu64
                          " sender%s to one receiver suffer%s, fewer than %" PRIu64,
                          receiver->sources, receiver->sources == 1 ? "" : "s",
                          receiver->sources == 1 ? "s" : "", least);
    }
    return call->alarm ? 0 : pd_app_roll_call(call, report, error);
}

/* ---- its senders ---- */

static int by_address(const void *a, const void *b)
{
    const struct pd_app_sender *x = a, *y = b;

    return memcmp(&x->addr, &y->addr, sizeof x->addr);
}

static struct pd_app_sender *sender_of(struct pd_app_receiver *receiver, const struct pd_addr *addr)
{
    struct pd_app_sender key = {.addr = *addr};

    return receiver->senders_len
               ? bsearch(&key, receiver->senders, receiver->senders_len, sizeof key, by_address)
               : NULL;
}

static bool is_sender(const struct pd_app_row *row)
{
    return row->flow.protocol == 6 && row->pkts && row->bytes / row->pkts >= PD_APP_ACK_BYTES;
}

/* The last time that anything came: flows that stall until then are slow, not short. */
static uint64_t latest(const struct pd_app_flows *flows, const struct pd_app_window *window)
{
    uint64_t last = 0;

    for (size_t i = 0; i < flows->len; i++) {
        if (flows->rows[i].etime_us > last) {
            last = flows->rows[i].etime_us;
        }
    }
    return last < window->to_us ? last : window->to_us;
}

static void add_row(struct pd_app_receiver *receiver, struct pd_app_sender *sender,
                    const struct pd_app_row *row, uint64_t last_us)
{
    double share = pd_app_window_share(&receiver->window, row->stime_us, row->etime_us);
    uint64_t begin =
        row->stime_us > receiver->window.from_us ? row->stime_us : receiver->window.from_us;
    double seconds = last_us > begin ? (double)(last_us - begin) / 1e6 : 1e-3;

    if (seconds < 1e-3) {
        seconds = 1e-3;
    }
    sender->bytes += row->bytes;
    sender->flow_bps += share * (double)row->bytes * 8 / seconds; /* a sum so far */
    if (row->bytes >= sender->path_bytes && (row->path.len || !sender->path.len)) {
        sender->path_bytes = row->bytes;
        sender->flow = row->flow;
        sender->path = row->path;
        sender->port = row->path.len > 1 ? row->path.switches[row->path.len - 2] : 0;
    }
}

/* Rows come sorted by flow ID: by source, since the destination is one. */
static int group(struct pd_app_receiver *receiver, const struct pd_topology *topology,
                 struct pd_app_flows *flows, struct pd_report *report)
{
    uint64_t last_us = latest(flows, &receiver->window), beyond = 0;

    receiver->senders = calloc(PD_APP_SENDERS_MAX, sizeof *receiver->senders);
    if (!receiver->senders) {
        return -ENOMEM;
    }
    pd_app_flows_by_id(flows);
    for (size_t i = 0; i < flows->len; i++) {
        const struct pd_app_row *row = &flows->rows[i];
        struct pd_app_sender *sender =
            receiver->senders_len ? &receiver->senders[receiver->senders_len - 1] : NULL;

        if (!is_sender(row)) {
            continue;
        }
        if (!sender || memcmp(&sender->addr, &row->flow.src, sizeof sender->addr) != 0) {
            if (receiver->senders_len == PD_APP_SENDERS_MAX) {
                beyond++;
                continue;
            }
            sender = &receiver->senders[receiver->senders_len++];
            sender->addr = row->flow.src;
            sender->host = pd_app_host_of(topology, &row->flow.src, row->flow.ip_version);
        }
        sender->flows +=
            !i || !pd_flow_id_equal(&row->flow, &flows->rows[i - 1].flow); /* not each path */
        add_row(receiver, sender, row, last_us);
    }
    for (size_t i = 0; i < receiver->senders_len; i++) {
        receiver->senders[i].flow_bps /= (double)receiver->senders[i].flows;
    }
    if (beyond) {
        pd_app_report_lacks(report, "%" PRIu64 " flows of more than %d senders: left out", beyond,
                            PD_APP_SENDERS_MAX);
    }
    return 0;
}

/* ---- how many at once, and how much ---- */

struct edge {
    uint64_t time_us;
    int step; /* a flow begins: 1; it ends: -1 */
};

static int by_time(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;

    if (x->time_us != y->time_us) {
        return x->time_us > y->time_us ? 1 : -1;
    }
    return y->step - x->step; /* what begins as another ends meets it */
}

/* Paths of one flow are one. */
static void extend(struct edge *begin, struct edge *end, const struct pd_app_row *row,
                   const struct pd_app_window *window)
{
    uint64_t from = row->stime_us > window->from_us ? row->stime_us : window->from_us;
    uint64_t to = row->etime_us < window->to_us ? row->etime_us : window->to_us;

    if (from < begin->time_us) {
        begin->time_us = from;
    }
    if (to > end->time_us) {
        end->time_us = to;
    }
}

/* Flows come sorted by ID. */
static int sweep(struct pd_app_receiver *receiver, const struct pd_app_flows *flows)
{
    struct edge *edges = calloc(2 * flows->len + 1, sizeof *edges);
    size_t len = 0, last = 0;
    uint64_t running = 0, flowing_us = 0;
    double bits = 0;

    if (!edges) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < flows->len; i++) {
        const struct pd_app_row *row = &flows->rows[i];
        const struct pd_app_window *window = &receiver->window;

        bits += 8 * (double)row->bytes * pd_app_window_share(window, row->stime_us, row->etime_us);
        if (!is_sender(row) || row->etime_us < row->stime_us) {
            continue;
        }
        if (!len || !pd_flow_id_equal(&row->flow, &flows->rows[last].flow)) {
            len += 2;
            edges[len - 2] = (struct edge){UINT64_MAX, 1};
            edges[len - 1] = (struct edge){0, -1};
        }
        last = i;
        extend(&edges[len - 2], &edges[len - 1], row, window);
    }
    if (len) {
        qsort(edges, len, sizeof *edges, by_time);
    }
    for (size_t i = 0; i < len; i++) {
        flowing_us += running ? edges[i].time_us - edges[i - 1].time_us : 0;
        running = edges[i].step > 0 ? running + 1 : running - (running > 0);
        if (running > receiver->at_once) {
            receiver->at_once = running;
        }
    }
    free(edges);
    receiver->flowing_s = (double)flowing_us / 1e6;
    receiver->total_bps = flowing_us ? bits / receiver->flowing_s : 0;
    return 0;
}

/* ---- who of them suffers ---- */

/* Flows of which losses are known, in any order, some of them twice. */
struct losers {
    struct pd_flow_id *list;
    size_t len, room;
    bool failed; /* no memory for all */
};

struct asking {
    struct pd_app_receiver *receiver;
    struct losers *losers;
};

static void add_loser(struct losers *losers, const struct pd_flow_id *flow)
{
    if (PD_GROW(losers->list, losers->room, losers->len + 1)) {
        losers->failed = true;
        return;
    }
    losers->list[losers->len++] = *flow;
}

static int note_alarms(const struct pd_app_call *call, struct pd_app_receiver *receiver,
                       struct losers *losers, struct pd_report *report, struct pd_error *error)
{
    struct pd_app_complaints complaints = {0};
    struct pd_report scratch = {0}; /* what is wrong was said when the receiver was chosen */
    uint64_t unknown = 0;
    int err;

    pd_app_report_init(&scratch);
    err = pd_app_complaints_ask(call, &receiver->window, PD_APP_SKEW_US, &scratch, &complaints,
                                error);
    for (size_t i = 0; i < complaints.len && !err; i++) {
        const struct pd_flow_id *flow = &complaints.list[i];
        struct pd_app_sender *sender;

        if (flow->ip_version != receiver->ip_version ||
            memcmp(&flow->dst, &receiver->addr, sizeof flow->dst) != 0) {
            continue;
        }
        sender = sender_of(receiver, &flow->src);
        if (!sender) {
            unknown++;
            continue;
        }
        sender->alarms++;
        add_loser(losers, flow);
    }
    if (unknown) {
        pd_app_report_lacks(report, "%" PRIu64 " alarms are about flows of which nothing arrived",
                            unknown);
    }
    pd_app_report_done(&scratch);
    free(complaints.list);
    return err;
}

/* ---- what their TCP says ---- */

static int take_poor(void *context, const struct pd_app_row *row, const json_t *object)
{
    const struct asking *asking = context;
    struct pd_app_receiver *receiver = asking->receiver;
    struct pd_app_sender *sender = sender_of(receiver, &row->flow.src);
    uint64_t number = 0;

    if (!sender || row->flow.ip_version != receiver->ip_version ||
        memcmp(&row->flow.dst, &receiver->addr, sizeof row->flow.dst) != 0) {
        return 0;
    }
    if (pd_app_number(object, "retransmissions", &number)) {
        sender->retransmissions += number;
    }
    if (pd_app_number(object, "recent", &number) && number) {
        sender->recent += number;
        add_loser(asking->losers, &row->flow);
    }
    if (pd_app_number(object, "timeouts", &number)) {
        sender->timeouts += number;
    }
    if (pd_app_number(object, "throughput_bps", &number)) {
        sender->tcp_bps += (double)number;
    }
    return 0;
}

static json_t *hosts_of(const struct pd_app_receiver *receiver)
{
    json_t *hosts = json_array();

    for (size_t i = 0; i < receiver->senders_len; i++) {
        if (receiver->senders[i].host) {
            json_array_append_new(hosts, json_integer(receiver->senders[i].host));
        }
    }
    return hosts;
}

/* Not every world has senders to ask: then the alarms have to do. */
static void ask_senders(const struct pd_app_call *call, struct pd_report *report,
                        struct pd_app_receiver *receiver, struct losers *losers)
{
    struct asking asking = {receiver, losers};
    struct pd_error error = {0};
    json_t *answer = NULL, *hosts = hosts_of(receiver),
           *args = pd_app_window_args(&receiver->window);
    int err;

    json_object_del(args, "to");
    json_object_del(args, "live");
    json_object_set_new(args, "threshold", json_integer(0));
    if (!json_array_size(hosts)) {
        json_decref(hosts);
        json_decref(args);
        return;
    }
    err = pd_app_ask(call, report, "getPoorTCPFlows", args, hosts, &answer, &error);
    if (!err) {
        err = pd_app_rows(answer, "flows", report, take_poor, &asking, &error);
    }
    if (err && err != -PD_E_UNSUPPORTED) {
        pd_app_report_lacks(report, "what the senders' TCP saw: %.300s", error.text);
    }
    json_decref(answer);
}

static int by_flow(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct pd_flow_id));
}

/* Flows come sorted by ID, those of a sender together. */
static void count_losers(struct pd_app_receiver *receiver, const struct pd_app_flows *flows,
                         struct losers *losers)
{
    uint64_t pkts = 0;

    if (losers->len) {
        qsort(losers->list, losers->len, sizeof *losers->list, by_flow);
    }
    for (size_t i = 0; i < flows->len; i++) {
        const struct pd_app_row *row = &flows->rows[i];
        struct pd_app_sender *sender = sender_of(receiver, &row->flow.src);
        bool last = i + 1 == flows->len || !pd_flow_id_equal(&row->flow, &row[1].flow), lost;

        pkts += is_sender(row) ? row->pkts : 0;
        if (!last) {
            continue;
        }
        lost = losers->len &&
               bsearch(&row->flow, losers->list, losers->len, sizeof *losers->list, by_flow);
        if (sender && (lost || pkts >= PD_APP_TELLING_PKTS)) {
            sender->flows_telling++;
            sender->flows_suffering += lost;
        }
        pkts = 0;
    }
}

static void sum_up(struct pd_app_receiver *receiver)
{
    for (size_t i = 0; i < receiver->senders_len; i++) {
        struct pd_app_sender *sender = &receiver->senders[i];

        sender->suffers = sender->alarms || sender->recent;
        receiver->pathless += sender->suffers && !sender->path.len;
        receiver->suffering += sender->suffers;
        receiver->flows_telling += sender->flows_telling;
        receiver->flows_suffering += sender->flows_suffering;
    }
}

static int ask_flows(const struct pd_app_call *call, struct pd_report *report,
                     const struct pd_app_receiver *receiver, struct pd_app_flows *ret_flows,
                     struct pd_error *error)
{
    char text[PD_ADDR_TEXT_BYTES];
    uint64_t from_us = receiver->window.from_us;
    json_t *args = pd_app_window_args(&receiver->window);
    json_t *hosts = receiver->host ? json_pack("[I]", (json_int_t)receiver->host) : NULL;

    json_object_set_new(args, "dst_ip",
                        json_string(pd_addr_format(&receiver->addr, receiver->ip_version, text)));
    if (!receiver->traced) {
        return pd_app_flows_ask(call, report, args, hosts, ret_flows, error);
    }
    from_us = from_us > TRACED_BEFORE_US ? from_us - TRACED_BEFORE_US : 0;
    return pd_app_flows_ask_traced(call, report, args, hosts, from_us, ret_flows, error);
}

int pd_app_receiver_ask(const struct pd_app_call *call, struct pd_report *report,
                        struct pd_app_receiver *receiver, struct pd_error *error)
{
    struct pd_app_flows flows = {0};
    struct losers losers = {0};
    int err = ask_flows(call, report, receiver, &flows, error);

    if (!err &&
        (group(receiver, call->world->topology, &flows, report) || sweep(receiver, &flows))) {
        err = pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    if (!err) {
        err = note_alarms(call, receiver, &losers, report, error);
    }
    if (!err) {
        ask_senders(call, report, receiver, &losers);
    }
    if (!err && losers.failed) {
        err = pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    if (!err) {
        count_losers(receiver, &flows, &losers);
        sum_up(receiver);
    }
    pd_app_flows_done(&flows);
    free(losers.list);
    return err;
}

void pd_app_receiver_done(struct pd_app_receiver *receiver)
{
    free(receiver->senders);
    *receiver = (struct pd_app_receiver){0};
}

bool pd_app_receiver_most_suffer(const struct pd_app_receiver *receiver)
{
    return receiver->flows_telling && 4 * receiver->flows_suffering >= 3 * receiver->flows_telling;
}

double pd_app_receiver_use(const struct pd_app_call *call, const struct pd_app_receiver *receiver)
{
    uint64_t mbps = pd_app_arg_u64(call->args, "link_mbps", call->world->link_mbps);

    return mbps ? receiver->total_bps / ((double)mbps * 1e6) : -1;
}

/* ---- figures ---- */

static void show_tree(const struct pd_app_receiver *receiver, struct pd_report *report)
{
    struct pd_app_branch *branches = calloc(receiver->senders_len + 1, sizeof *branches);
    char root[PD_ADDR_TEXT_BYTES], addr[PD_ADDR_TEXT_BYTES], rate[PD_APP_AMOUNT_BYTES];
    char *text = NULL;

    for (size_t i = 0; branches && i < receiver->senders_len; i++) {
        const struct pd_app_sender *sender = &receiver->senders[i];

        branches[i].path = sender->path;
        branches[i].flows = sender->flows;
        branches[i].bytes = sender->bytes;
        snprintf(branches[i].words, sizeof branches[i].words, "%s: %s%s",
                 pd_addr_format(&sender->addr, receiver->ip_version, addr),
                 pd_app_rate(sender->flow_bps, rate), sender->suffers ? ", suffers" : "");
    }
    if (branches) {
        text = pd_app_tree(pd_addr_format(&receiver->addr, receiver->ip_version, root), branches,
                           receiver->senders_len);
    }
    if (text) {
        pd_app_report_text(report, "tree", text);
    } else {
        report->failed = true;
    }
    free(text);
    free(branches);
}

void pd_app_receiver_show(const struct pd_app_receiver *receiver, struct pd_report *report)
{
    char addr[PD_ADDR_TEXT_BYTES];

    for (size_t i = 0; i < receiver->senders_len; i++) {
        const struct pd_app_sender *sender = &receiver->senders[i];

        pd_app_report_row(report, "senders",
                          json_pack("{s:s, s:I, s:I, s:I, s:I, s:f, s:I, s:I, s:I, s:f}", "sender",
                                    pd_addr_format(&sender->addr, receiver->ip_version, addr),
                                    "host", (json_int_t)sender->host, "port_switch",
                                    (json_int_t)sender->port, "flows", (json_int_t)sender->flows,
                                    "bytes", (json_int_t)sender->bytes, "throughput_mbps",
                                    sender->flow_bps / 1e6, "alarms", (json_int_t)sender->alarms,
                                    "retransmissions", (json_int_t)sender->retransmissions,
                                    "timeouts", (json_int_t)sender->timeouts, "tcp_mbps",
                                    sender->tcp_bps / 1e6));
    }
    show_tree(receiver, report);
}
