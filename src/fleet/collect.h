/* SPDX-License-Identifier: Apache-2.0 */
/* Collecting: one short request to each of a list of servers, their answers whole and in memory. */
#ifndef PD_FLEET_COLLECT_H
#define PD_FLEET_COLLECT_H

#include <stddef.h>

#include "base/error.h"
#include "fleet/fanout.h"

/* What the controller's parts do with all hosts or monitors: ask how they are, bring them a plan or
 * rules. Answers are bounded by the request's `max_bytes`, and with `ended` those held at once by
 * its `at_once`. What comes from trees of hosts is gathered (fleet/gather.h).
 *
 * Thread safety: as pd_fleet_fanout_ask, in whose caller's thread `ended` is called. */

/* A server, and what it said. */
struct pd_collected {
    const char *url;
    const char *route;     /* where it is not that of all; else NULL */
    const char *body;      /* a text; NULL: none */
    struct pd_error error; /* 0: the answer is whole, and its status 200 */
    char *answer;
    size_t len, room;
};

/* A server is done: once for each. */
typedef void pd_collected_ended(void *context, size_t i, const struct pd_collected *peer);

/* Asks them all and returns when each has ended: 0, or -ENOMEM, which is then the error of each.
 * With `ended` an answer is given up when that returns; without, with pd_fleet_collected_done. */
int pd_fleet_collect(struct pd_fanout *fanout, const struct pd_fanout_request *request,
                     struct pd_collected *peers, size_t len, pd_collected_ended *ended,
                     void *context);

void pd_fleet_collected_done(struct pd_collected *peers, size_t len);

#endif
