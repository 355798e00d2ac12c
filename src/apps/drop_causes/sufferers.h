/* SPDX-License-Identifier: Apache-2.0 */
/* Flows that suffered, with the way that each took: from tags where there are any, else traces. */
#ifndef PD_APPS_DROP_CAUSES_SUFFERERS_H
#define PD_APPS_DROP_CAUSES_SUFFERERS_H

#include "apps/apps.h"
#include "base/flow_id.h"
#include "base/path.h"

/* Counts of different origins are never added: what a flow suffered is what its sender's traces
 * say; what its packets' tags say is its way. One thread; zeroed memory is empty. */

#define PD_SUFFERER_WAYS_MAX 4u /* by tags; a flow with more is spread, and has no way here */

struct pd_sufferer {
    struct pd_flow_id flow;
    struct pd_flow_id wire; /* to the server itself */
    uint32_t host;          /* that sent it; 0: not known */
    uint64_t retransmissions;
    bool reached;
    struct pd_path path; /* of the trace, with gaps; empty: none */
    unsigned ways_len;   /* by tags; 0: the trace alone knows */
    struct pd_path ways[PD_SUFFERER_WAYS_MAX];
};

struct pd_sufferers {
    struct pd_sufferer *flows; /* ascending by flow */
    size_t len, room;
    uint64_t without_way; /* suffered, but neither tags nor traces tell where */
};

/* Which of them. */
struct pd_sufferers_ask {
    uint64_t from_us, to_us;        /* traced in [from, to) */
    uint32_t host;                  /* sender; 0: any */
    const struct pd_prefix *prefix; /* either end; NULL: any */
    uint16_t dst_port;              /* 0: any */
    uint64_t over_us; /* flows that are slower than this, instead of those that lost packets; 0 */
};

/* 0, or a negative error in words. What is missing is said in the report. */
int pd_drop_cause_sufferers_ask(const struct pd_app_call *call, const struct pd_sufferers_ask *ask,
                                struct pd_sufferers *ret_sufferers, struct pd_report *report,
                                struct pd_error *error);
void pd_drop_cause_sufferers_done(struct pd_sufferers *sufferers);

#endif
