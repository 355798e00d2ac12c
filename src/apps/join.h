/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence for localisers, asked of all hosts: senders' losses joined with receivers' paths. */
#ifndef PD_APPS_JOIN_H
#define PD_APPS_JOIN_H

#include <stdio.h>

#include "apps/suffering.h"

/* Senders are asked which flows suffered (query/suffering.h), then receivers for sums by path of
 * all others and for rows of these (query/path_sums.h), so that what comes here grows with paths
 * and with flows that suffered, not with flows. Rows of evidence are made of it:
 * - a flow that suffered, with its paths; one that nobody received anything of has no path, but
 *   on networks that tag nothing that of its sender's trace (apps/traces.h), if it has one;
 * - a path over switches with the packets of all other flows, of which none was lost;
 * - the link of each host up and down, likewise.
 *
 * Where more flows suffer than one question can name, an even sample of all flows counts, suffering
 * or not: shares stay what they are. Bytes are scaled up again, since they tell load.
 *
 * Times of records are the receivers', times of retransmissions the senders', [from, to] is by the
 * clock of who asks. Clocks may differ by PD_PATH_SUMS_SLACK_US: retransmissions are told apart by
 * counters, not by times; packets are counted once, whatever clocks say.
 *
 * The first look, which goes back for a minute or so, gives several periods, shorter ones towards
 * its end; each later one gives one.
 *
 * One thread at a time. Zeroed memory is empty. */

struct pd_app_join {
    struct pd_app_suffering suffering; /* of the time before */
    FILE *copy; /* what is given to the sink is written here, too; NULL: nowhere */
};

/* `each`: every flow is wanted as a row of its own, and no sums. What is missing is said in
 * `report`. 0, what the sink returned, or a negative error in words. */
int pd_app_join(struct pd_app_join *join, const struct pd_app_call *call, uint64_t from_us,
                uint64_t to_us, bool each, const struct pd_evidence_sink *sink,
                struct pd_report *report, struct pd_error *error);
void pd_app_join_done(struct pd_app_join *join);

#endif
