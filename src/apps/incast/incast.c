/* SPDX-License-Identifier: Apache-2.0 */
/* incast: do many senders at once overrun the access link of one receiver? (paper 000, section 4.6)
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "apps/args.h"
#include "apps/senders.h"
#include "apps/sums.h"

/* The profile: many senders to one receiver retransmit, in most of their flows, these overlap in
 * time by the receiver's clock, and what their paths have in common is the last hop alone. Full
 * queues there show in two ways: the access link is loaded; or whole windows are lost and senders
 * sit out timeouts, and then it is not. */

#define LOADED 0.6

/* A link between switches that the paths of all senders that suffer cross, the one nearest to the
 * receiver. False: there is none. */
static bool common_link(const struct pd_app_receiver *receiver, struct pd_link_match *ret_link)
{
    uint32_t from = 0, to = 0;

    for (size_t i = 0; i < receiver->senders_len; i++) {
        const struct pd_app_sender *sender = &receiver->senders[i];

        if (!sender->suffers) {
            continue;
        }
        if (!sender->port || (from && sender->port != from)) {
            return false;
        }
        from = sender->port;
        to = sender->path.switches[sender->path.len - 1];
    }
    *ret_link = (struct pd_link_match){from, to};
    return from;
}

static uint64_t with_timeouts(const struct pd_app_receiver *receiver)
{
    uint64_t senders = 0;

    for (size_t i = 0; i < receiver->senders_len; i++) {
        senders += receiver->senders[i].suffers && receiver->senders[i].timeouts;
    }
    return senders;
}

static void name_flows(const struct pd_app_receiver *receiver, struct pd_report *report)
{
    for (size_t i = 0; i < receiver->senders_len; i++) {
        const struct pd_app_sender *sender = &receiver->senders[i];

        if (sender->suffers) {
            pd_app_report_flow(report, json_pack("{s:o, s:o, s:f}", "flow_id",
                                                 pd_app_flow_json(&sender->flow), "path",
                                                 pd_app_path_json(&sender->path), "throughput_mbps",
                                                 sender->flow_bps / 1e6));
        }
    }
}

static void blame(const struct pd_app_call *call, const struct pd_app_receiver *receiver,
                  struct pd_report *report)
{
    char addr[PD_ADDR_TEXT_BYTES], rate[PD_APP_AMOUNT_BYTES];
    double use = pd_app_receiver_use(call, receiver);
    uint64_t sitting = with_timeouts(receiver);
    bool full = use >= LOADED || 2 * sitting >= receiver->suffering;
    struct pd_link_match common;

    pd_app_report_say(report,
                      "incast: %" PRIu64 " of %zu senders to %s suffer, %" PRIu64
                      " flows at once, %s together",
                      receiver->suffering, receiver->senders_len,
                      pd_addr_format(&receiver->addr, receiver->ip_version, addr),
                      receiver->at_once, pd_app_rate(receiver->total_bps, rate));
    if (use < 0) {
        pd_app_report_lacks(
            report, "the capacity of the access link is not known (link_mbps): whether it is full");
    } else {
        pd_app_report_evidence(report, "the receiver's access link is %.0f %% full", 100 * use);
    }
    pd_app_report_evidence(report, "%" PRIu64 " of the senders that suffer had timeouts", sitting);
    pd_app_report_evidence(report, "%" PRIu64 " of %" PRIu64 " flows suffer",
                           receiver->flows_suffering, receiver->flows_telling);
    if (receiver->tor) {
        pd_app_report_switch(report, receiver->tor);
    }
    if (receiver->tor && receiver->host) {
        pd_app_report_link(report, receiver->tor, receiver->host);
    }
    report->certain = full;
    report->confidence = full ? 0.95 : use < 0 ? 0.6 : 0.3;
    if (common_link(receiver, &common)) {
        pd_app_report_evidence(
            report, "all of them also cross %" PRIu32 "-%" PRIu32 ", which may drop as well",
            common.from, common.to);
        report->certain = false;
        report->confidence *= 0.5;
    } else if (receiver->pathless) {
        pd_app_report_lacks(report,
                            "the paths of %" PRIu64 " senders that suffer: a link that they have "
                            "in common may drop as well",
                            receiver->pathless);
        report->certain = false;
        report->confidence *= 0.5;
    } else {
        pd_app_report_evidence(report, "their paths have nothing in common but the last hop");
    }
    name_flows(receiver, report);
}

static void judge(const struct pd_app_call *call, const struct pd_app_receiver *receiver,
                  uint64_t least, struct pd_report *report)
{
    char addr[PD_ADDR_TEXT_BYTES];

    pd_addr_format(&receiver->addr, receiver->ip_version, addr);
    if (receiver->suffering < least) {
        pd_app_report_say(report,
                          "no incast: %" PRIu64
                          " senders to %s suffer and have records, fewer than %" PRIu64,
                          receiver->suffering, addr, least);
    } else if (receiver->at_once < least) {
        pd_app_report_say(report,
                          "no incast: %" PRIu64 " senders to %s suffer, but at most %" PRIu64
                          " flows ran at once",
                          receiver->suffering, addr, receiver->at_once);
    } else if (!pd_app_receiver_most_suffer(receiver)) {
        pd_app_report_say(report, "no incast: only %" PRIu64 " of %" PRIu64 " flows to %s suffer",
                          receiver->flows_suffering, receiver->flows_telling, addr);
    } else {
        blame(call, receiver, report);
    }
    pd_app_receiver_show(receiver, report);
}

static int run(void *state, const struct pd_app_call *call, struct pd_report *report,
               struct pd_error *error)
{
    uint64_t least = pd_app_arg_u64(call->args, "senders", 10);
    struct pd_app_receiver receiver = {0};
    int err = pd_app_receiver_find(call, report, &receiver, error);

    (void)state;
    if (!err && receiver.sources < least) {
        err = pd_app_receiver_spare(call, report, &receiver, least, error);
    } else if (!err) {
        receiver.traced = true;
        err = pd_app_receiver_ask(call, report, &receiver, error);
        if (!err) {
            judge(call, &receiver, least, report);
        }
    }
    pd_app_receiver_done(&receiver);
    return err;
}

static const struct pd_app_param params[] = {
    {.name = "senders",
     .kind = PD_APP_INTEGER,
     .value = "N",
     .fallback = PD_APP_SENDERS_LEAST,
     .help = "so many sources have to suffer at once"},
    {.name = "link_mbps",
     .kind = PD_APP_INTEGER,
     .value = "N",
     .help = "capacity of the access link; the controller's setting unless given"},
    PD_APP_WINDOW_PARAMS("10"),
    {.name = NULL},
};

static const struct pd_app_trigger triggers[] = {{.reason = "POOR_PERF", .origin = "monitor"}, {0}};

const struct pd_app_ops pd_app_incast = {
    .name = "incast",
    .section = "4.6",
    .help = "do many senders at once overrun the access link of one receiver?",
    .params = params,
    .triggers = triggers,
    .run = run,
};
