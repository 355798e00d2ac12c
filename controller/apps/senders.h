/* SPDX-License-Identifier: Apache-2.0 */
/* Senders: what hosts' TCP monitors counted of each flow since it was last asked, whatever their
 * clocks say. */
#ifndef PD_CONTROLLER_APPS_SENDERS_H
#define PD_CONTROLLER_APPS_SENDERS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "apps/apps.h"
#include "base/flow_id.h"

/* A flow's counter of retransmissions only grows. So what is new is the difference to the counter
 * of the time before, which needs no clock; where a flow is asked for the first time, it is what
 * its host says of the time asked for.
 *
 * One thread at a time. Zeroed memory is empty. */

#define PD_SENDERS_FLOWS_MAX 65536u /* with retransmissions, in one answer; more are counted */

struct pd_sender {
    struct pd_flow_id flow;
    uint64_t total; /* retransmissions since it began */
    uint64_t fresh; /* of these, new */
};

struct pd_senders {
    struct pd_sender *flows; /* ascending by flow, of the last answer */
    size_t len;
    uint64_t since_us; /* the latest of the monitors began then */
    uint64_t lost;     /* flows that there was no room for, in the last answer */
    bool asked;        /* at least once */
};

/* From an answer of getPoorTCPFlows. 0, or a negative error in words, which leaves everything as it
 * was. */
int pd_senders_take(struct pd_senders *senders, const json_t *answer, struct pd_report *report,
                    struct pd_error *error);
const struct pd_sender *pd_senders_find(const struct pd_senders *senders,
                                        const struct pd_flow_id *flow);
void pd_senders_done(struct pd_senders *senders);

#endif
