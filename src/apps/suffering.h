/* SPDX-License-Identifier: Apache-2.0 */
/* Flows that suffer: what hosts' TCP monitors counted of each since they were last asked, whatever
 * their clocks say. */
#ifndef PD_APPS_SUFFERING_H
#define PD_APPS_SUFFERING_H

#include "apps/apps.h"
#include "base/flow_id.h"

/* A flow's counter of retransmissions only grows. So what is new is the difference to the counter
 * of the time before, which needs no clock; where a flow is asked for the first time, it is what
 * its host says of the time asked for. A host speaks of flows that it sends, and of no others.
 *
 * What is sent again need not have been lost: what the receiver had already is *spared* as soon as
 * it says so (DSACK), and SYN and FIN always. Where that comes to be known later than what was
 * counted, losses that follow of the same flow count for as many less.
 *
 * One thread at a time. Zeroed memory is empty. */

struct pd_app_sufferer {
    struct pd_flow_id flow;
    uint64_t total; /* retransmissions since it began */
    uint64_t fresh; /* of these, new */
    uint64_t lost;  /* of these, data that was lost */
    uint64_t told;  /* of all, counted as lost so far */
};

struct pd_app_suffering {
    struct pd_app_sufferer *flows; /* ascending by flow, of the last answer */
    size_t len;
    uint64_t since_us; /* the latest of the monitors began then */
    bool asked;        /* at least once */
};

/* Asks all hosts. 0, or a negative error in words, which leaves everything as it was. */
int pd_app_suffering_ask(struct pd_app_suffering *suffering, const struct pd_app_call *call,
                         uint64_t from_us, struct pd_report *report, struct pd_error *error);
/* NULL: it is none of them. */
struct pd_app_sufferer *pd_app_suffering_find(const struct pd_app_suffering *suffering,
                                              const struct pd_flow_id *flow);
void pd_app_suffering_done(struct pd_app_suffering *suffering);

#endif
