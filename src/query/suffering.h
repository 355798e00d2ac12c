/* SPDX-License-Identifier: Apache-2.0 */
/* sufferingFlows: which flows sent packets again, and how many, in few words. */
#ifndef PD_QUERY_SUFFERING_H
#define PD_QUERY_SUFFERING_H

#include "query/question.h"

/* Senders' half of the evidence for localisers (apps/join.h), a short getPoorTCPFlows:
 *
 *   {"flows":[["10.1.1.2","10.2.1.2",SRC_PORT,DST_PORT,PROTOCOL,
 *              RETRANSMISSIONS,RECENT,SPARED,HOST],…],
 *    "source":"bpf"|"inet_diag"|"none"|"mixed"|"simulator", "since_us":N, "forgotten":N,
 *    "left_out":N, "complete":bool}
 *
 * RETRANSMISSIONS are those since the flow began, RECENT those since "from_us". SPARED of all of
 * them are no losses of this flow's data: what the receiver reported as a duplicate (DSACK: its
 * acknowledgement was late or lost), and what carried none. A SYN is also sent again when its
 * answer is lost, a FIN when the last acknowledgement is, which no DSACK tells. "since_us" is the
 * latest moment from which on a host has watched.
 *
 * Thread safety: pure functions. */

#define PD_SUFFERING_NAME "sufferingFlows"

enum {
    PD_SUFFERING_TOTAL = 5,
    PD_SUFFERING_RECENT,
    PD_SUFFERING_SPARED,
    PD_SUFFERING_HOST,
    PD_SUFFERING_LEN
};

extern const struct pd_question pd_query_question_suffering;

#endif
