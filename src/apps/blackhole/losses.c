/* SPDX-License-Identifier: Apache-2.0 */
/* blackhole: how many packets of a flow got lost, by what its sender's TCP says and its receiver's
 * records. */
#include <math.h>

#include "apps/blackhole/blackhole.h"
#include "apps/flow_args.h"
#include "apps/rows.h"

/* Spraying reorders packets, so that retransmissions are no losses: what was sent again without
 * need arrives, too. What was sent is counted instead, and what arrived taken off. Connections that
 * are older than the records looked at are left out. */

struct counting {
    const struct bh_case *c;
    struct bh_flow *flow;
};

static int take_sender(void *context, const struct pd_app_row *row, const json_t *object)
{
    const struct counting *k = context;
    uint64_t opened_us = 0, acked_bytes = 0, mss_bytes = 0, pkts_out = 0, again = 0;

    if (!pd_flow_id_equal(&row->flow, &k->flow->id) ||
        !pd_app_number(object, "opened_us", &opened_us) ||
        !pd_app_number(object, "bytes_acked", &acked_bytes) ||
        !pd_app_number(object, "mss_bytes", &mss_bytes) ||
        !pd_app_number(object, "pkts_out", &pkts_out) ||
        !pd_app_number(object, "retransmissions", &again)) {
        return 0;
    }
    if (!mss_bytes || opened_us + k->c->back_us < k->c->now_us) {
        return 0;
    }
    k->flow->mss_bytes = mss_bytes;
    uint64_t acked_pkts = acked_bytes / mss_bytes;
    k->flow->sent_pkts = (double)acked_pkts + (double)pkts_out + (double)again;
    return 0;
}

int pd_blackhole_ask_sent(struct bh_case *c, struct bh_flow *flow, struct pd_error *error)
{
    struct counting k = {.c = c, .flow = flow};
    json_t *answer = NULL;

    flow->sent_pkts = 0;
    if (!flow->src_host) {
        return 0;
    }
    int err = pd_app_ask(c->call, c->report, "getPoorTCPFlows",
                         json_pack("{s:i, s:f}", "threshold", 1, "from", (double)c->since_us / 1e6),
                         pd_app_host_list(flow->src_host), &answer, error);
    if (!err) {
        err = pd_app_rows(answer, "flows", c->report, take_sender, &k, error);
    }
    json_decref(answer);
    return err == -PD_E_UNSUPPORTED ? 0 : err;
}

#define HEADER_BYTES 40.0 /* IPv4 and TCP, at least */

/* Receivers may count several packets that their network card has joined as one: then bytes tell
 * more, less the headers, which would hide the losses of a long flow. */
double pd_blackhole_lost_pkts(const struct bh_flow *flow)
{
    if (flow->sent_pkts <= 0) {
        return 0;
    }
    double payload_bytes = (double)flow->bytes - HEADER_BYTES * (double)flow->pkts;
    double arrived = fmax((double)flow->pkts, payload_bytes / (double)flow->mss_bytes);
    return fmax(0, flow->sent_pkts - arrived);
}
