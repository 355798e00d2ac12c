/* SPDX-License-Identifier: Apache-2.0 */
/* outcast: is the sender nearest to a receiver starved by the many that come by another port?
 * (paper 000, section 4.6) */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "apps/args.h"
#include "apps/senders.h"
#include "apps/sums.h"

/* The profile: many senders to one receiver, all of them retransmit, in most of their flows; at the
 * last switch few flows come in by one port and many by another, both for the same output port; and
 * the few get much less (port blackout: tail drop in bursts hits the port that has few packets in
 * the queue). A sender in the rack has a port of its own, and TCP with its short round trip would
 * have favoured it.
 *
 * Deviation from the paper, which names the profile but no figures: "few" is at most a third of the
 * busiest port's flows, "much less" an argument. */

#define FEW_SHARE 3.0
#define LOADED    0.6 /* of the access link: below, its queue is not what drops */

struct port {
    const struct pd_app_sender *one; /* of its senders */
    uint32_t from;                   /* switch; 0: a host of the rack */
    uint64_t flows, flows_telling, flows_suffering, senders, suffering;
    double bps; /* sum over flows */
};

struct ports {
    struct port list[PD_APP_SENDERS_MAX];
    size_t len;
};

static double flow_bps(const struct port *port)
{
    return port->flows ? port->bps / (double)port->flows : 0;
}

static struct port *port_of(struct ports *ports, const struct pd_app_sender *sender)
{
    for (size_t i = 0; sender->port && i < ports->len; i++) {
        if (ports->list[i].from == sender->port) {
            return &ports->list[i];
        }
    }
    ports->list[ports->len] = (struct port){.one = sender, .from = sender->port};
    return &ports->list[ports->len++];
}

static void sort_ports(const struct pd_app_receiver *receiver, struct ports *ports)
{
    ports->len = 0;
    for (size_t i = 0; i < receiver->senders_len; i++) {
        const struct pd_app_sender *sender = &receiver->senders[i];
        struct port *port = port_of(ports, sender);

        port->flows += sender->flows;
        port->flows_telling += sender->flows_telling;
        port->flows_suffering += sender->flows_suffering;
        port->senders++;
        port->suffering += sender->suffers;
        port->bps += sender->flow_bps * (double)sender->flows;
    }
}

static const struct port *busiest(const struct ports *ports)
{
    const struct port *found = NULL;

    for (size_t i = 0; i < ports->len; i++) {
        if (!found || ports->list[i].flows > found->flows) {
            found = &ports->list[i];
        }
    }
    return found;
}

static bool is_victim(const struct port *port, const struct port *many, double ratio)
{
    return port != many && port->suffering &&
           3 * port->flows_suffering >= 2 * port->flows_telling &&
           (double)port->flows * FEW_SHARE <= (double)many->flows &&
           flow_bps(port) <= ratio * flow_bps(many);
}

static const struct port *worst(const struct ports *ports, const struct port *many, double ratio)
{
    const struct port *found = NULL;

    for (size_t i = 0; many && i < ports->len; i++) {
        if (is_victim(&ports->list[i], many, ratio) &&
            (!found || flow_bps(&ports->list[i]) < flow_bps(found))) {
            found = &ports->list[i];
        }
    }
    return found;
}

/* ---- the report ---- */

static void name_port(const struct port *port, uint8_t ip_version, char *text, size_t size)
{
    char addr[PD_ADDR_TEXT_BYTES];

    if (port->from) {
        snprintf(text, size, "the port from switch %" PRIu32, port->from);
    } else {
        snprintf(text, size, "the port of host %s",
                 pd_addr_format(&port->one->addr, ip_version, addr));
    }
}

static void show_ports(const struct ports *ports, uint8_t ip_version, struct pd_report *report)
{
    char name[80];

    for (size_t i = 0; i < ports->len; i++) {
        name_port(&ports->list[i], ip_version, name, sizeof name);
        pd_app_report_row(report, "ports",
                          json_pack("{s:s, s:I, s:I, s:f}", "port", name, "senders",
                                    (json_int_t)ports->list[i].senders, "flows",
                                    (json_int_t)ports->list[i].flows, "flow_mbps",
                                    flow_bps(&ports->list[i]) / 1e6));
    }
}

static void name_victims(const struct pd_app_receiver *receiver, const struct port *victim,
                         struct pd_report *report)
{
    char addr[PD_ADDR_TEXT_BYTES];

    for (size_t i = 0; i < receiver->senders_len; i++) {
        const struct pd_app_sender *sender = &receiver->senders[i];

        if (victim->from ? sender->port == victim->from : sender == victim->one) {
            pd_app_report_evidence(report,
                                   "%s: %" PRIu64 " alarms, %" PRIu64 " retransmissions, %" PRIu64
                                   " timeouts, %" PRIu32 " switches on its way",
                                   pd_addr_format(&sender->addr, receiver->ip_version, addr),
                                   sender->alarms, sender->retransmissions, sender->timeouts,
                                   (uint32_t)sender->path.len);
        }
    }
}

static void blame(const struct pd_app_call *call, const struct pd_app_receiver *receiver,
                  const struct port *victim, const struct port *many, struct pd_report *report)
{
    char addr[PD_ADDR_TEXT_BYTES], few[80], other[80];
    char slow[PD_APP_AMOUNT_BYTES], fast[PD_APP_AMOUNT_BYTES];
    double use = pd_app_receiver_use(call, receiver);

    name_port(victim, receiver->ip_version, few, sizeof few);
    name_port(many, receiver->ip_version, other, sizeof other);
    pd_app_rate(flow_bps(victim), slow);
    pd_app_rate(flow_bps(many), fast);
    pd_app_report_say(
        report, "outcast: to %s, %" PRIu64 " flow%s by %s get %s each, %" PRIu64 " by %s %s each",
        pd_addr_format(&receiver->addr, receiver->ip_version, addr), victim->flows,
        victim->flows == 1 ? "" : "s", few, slow, many->flows, other, fast);
    pd_app_report_evidence(report, "%" PRIu64 " senders suffer at once, by both ports",
                           receiver->suffering);
    pd_app_report_evidence(report, "%" PRIu64 " of %" PRIu64 " flows suffer",
                           receiver->flows_suffering, receiver->flows_telling);
    name_victims(receiver, victim, report);
    if (receiver->tor) {
        pd_app_report_switch(report, receiver->tor);
    }
    if (receiver->tor && receiver->host) {
        pd_app_report_link(report, receiver->tor, receiver->host);
    }
    if (use < 0) {
        pd_app_report_lacks(
            report, "the capacity of the access link is not known (link_mbps): whether it is full");
    } else {
        pd_app_report_evidence(report, "the receiver's access link is %.0f %% full", 100 * use);
    }
    /* An access link with room has no queue to be locked out of: the losses lie elsewhere then. */
    report->certain = use >= LOADED && many->suffering;
    report->confidence = use >= LOADED ? 0.95 : use < 0 ? 0.6 : 0.3;
}

static void name_flows(const struct pd_app_receiver *receiver, const struct port *victim,
                       struct pd_report *report)
{
    for (size_t i = 0; i < receiver->senders_len; i++) {
        const struct pd_app_sender *sender = &receiver->senders[i];

        if (victim->from ? sender->port != victim->from : sender != victim->one) {
            continue;
        }
        pd_app_report_flow(report,
                           json_pack("{s:o, s:o, s:f}", "flow_id", pd_app_flow_json(&sender->flow),
                                     "path", pd_app_path_json(&sender->path), "throughput_mbps",
                                     sender->flow_bps / 1e6));
    }
}

static void judge(const struct pd_app_call *call, const struct pd_app_receiver *receiver,
                  struct ports *ports, struct pd_report *report)
{
    const struct port *many, *victim = NULL;
    char addr[PD_ADDR_TEXT_BYTES];

    sort_ports(receiver, ports);
    many = busiest(ports);
    if (pd_app_receiver_most_suffer(receiver)) {
        victim = worst(ports, many, pd_app_arg_number(call->args, "ratio", 0.5));
    }
    if (victim) {
        blame(call, receiver, victim, many, report);
        name_flows(receiver, victim, report);
    } else if (!pd_app_receiver_most_suffer(receiver)) {
        pd_app_report_say(report, "no outcast: only %" PRIu64 " of %" PRIu64 " flows to %s suffer",
                          receiver->flows_suffering, receiver->flows_telling,
                          pd_addr_format(&receiver->addr, receiver->ip_version, addr));
    } else {
        pd_app_report_say(
            report,
            "no outcast: %" PRIu64 " senders to %s suffer, those by the busiest port no less",
            receiver->suffering, pd_addr_format(&receiver->addr, receiver->ip_version, addr));
    }
    pd_app_receiver_show(receiver, report);
    show_ports(ports, receiver->ip_version, report);
}

static int run(void *state, const struct pd_app_call *call, struct pd_report *report,
               struct pd_error *error)
{
    uint64_t least = pd_app_arg_u64(call->args, "senders", 10);
    struct pd_app_receiver receiver = {0};
    struct ports *ports = calloc(1, sizeof *ports);
    int err;

    (void)state;
    if (!ports) {
        return pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    err = pd_app_receiver_find(call, report, &receiver, error);
    if (!err && receiver.sources < least) {
        err = pd_app_receiver_spare(call, report, &receiver, least, error);
    } else if (!err) {
        err = pd_app_receiver_ask(call, report, &receiver, error);
        if (!err) {
            judge(call, &receiver, ports, report);
        }
    }
    pd_app_receiver_done(&receiver);
    free(ports);
    return err;
}

static const struct pd_app_param params[] = {
    {.name = "senders",
     .kind = PD_APP_INTEGER,
     .value = "N",
     .fallback = PD_APP_SENDERS_LEAST,
     .help = "so many sources have to raise alarms about one destination"},
    {.name = "ratio",
     .kind = PD_APP_NUMBER,
     .value = "R",
     .fallback = "0.5",
     .help = "starved: a flow gets at most so much of what a flow by the busiest port gets"},
    {.name = "link_mbps",
     .kind = PD_APP_INTEGER,
     .value = "N",
     .help = "capacity of the access link; the controller's setting unless given"},
    PD_APP_WINDOW_PARAMS("10"),
    {.name = NULL},
};

static const struct pd_app_trigger triggers[] = {{.reason = "POOR_PERF", .origin = "monitor"}, {0}};

const struct pd_app_ops pd_app_outcast = {
    .name = "outcast",
    .section = "4.6",
    .help = "is a sender near its receiver starved by many that come by another port?",
    .params = params,
    .triggers = triggers,
    .run = run,
};
