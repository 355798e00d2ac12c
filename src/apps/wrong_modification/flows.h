/* SPDX-License-Identifier: Apache-2.0 */
/* What senders' kernels say that they sent, and what arrived: lists of flows. */
#ifndef PD_APPS_WRONG_MODIFICATION_FLOWS_H
#define PD_APPS_WRONG_MODIFICATION_FLOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apps/rows.h"

/* Internal to src/apps/wrong_modification. One thread. */

#define WM_FLOWS_MAX (1u << 20) /* of each list */

/* A TCP connection that a kernel knows; the source is its host's. */
struct wm_sent {
    struct pd_flow_id flow;
    uint32_t host;
    uint64_t first_us; /* its host's clock */
    bool arrived;
};

enum wm_kind {
    WM_RIGHT,      /* its sender knows it */
    WM_UNJUDGED,   /* nobody can say */
    WM_ANSWER,     /* a reset that answers a flow which nobody sent */
    WM_UNSENT,     /* nobody sent it */
    WM_INFEASIBLE, /* its tags fit no path */
};

/* A flow on one path, as its receiver counted it. */
struct wm_arrived {
    struct pd_flow_id flow;
    struct pd_path path;
    uint64_t stime_us, etime_us, bytes, pkts;
    enum wm_kind kind;
    const struct wm_sent *meant; /* that arrived as this one, as it seems */
};

struct wm_flows {
    struct wm_sent *sent; /* sorted by flow */
    size_t sent_len, sent_room;
    struct wm_arrived *arrived; /* sorted by flow */
    size_t arrived_len, arrived_room;
    uint64_t since_us, forgotten, left_out;
    bool by_events; /* all monitors see each connection (source bpf) */
    bool strange;   /* rows that cannot be */
};

/* Asks what arrived in the time, then what is known to have been sent: so all that arrived had been
 * sent by then. */
int pd_wrong_modification_ask(const struct pd_app_call *call, struct pd_report *report,
                              uint64_t from_us, uint64_t to_us, struct wm_flows *flows,
                              struct pd_error *error);
void pd_wrong_modification_done(struct wm_flows *flows);

struct wm_sent *pd_wrong_modification_find_sent(const struct wm_flows *flows,
                                                const struct pd_flow_id *flow);
const struct wm_arrived *pd_wrong_modification_find_arrived(const struct wm_flows *flows,
                                                            const struct pd_flow_id *flow);
struct pd_flow_id pd_wrong_modification_reverse(const struct pd_flow_id *flow);

#endif
