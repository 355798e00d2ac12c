/* SPDX-License-Identifier: Apache-2.0 */
/* Alarms that digests raise: a walk that the topology does not have, and another plan at switches.
 */
#ifndef PD_AGENT_DIGESTS_WATCH_H
#define PD_AGENT_DIGESTS_WATCH_H

#include "agent/alarms/alarms.h"
#include "codec/pint/flow.h"

/* Whether digests fit at all: those of a flow that nothing fits are counted against those of known
 * paths, over a short span of time. A changed path, a wrong cable or one bad switch spoil some
 * flows for some packets; another plan spoils all of them.
 *
 * Thread safety: the intake's thread. */

struct pd_digests_watch {
    struct pd_alarms *alarms; /* NULL: nobody is told */
    uint64_t from_ns;         /* time of the first packet of the span at hand */
    uint64_t fitting, misfits;
};

/* After a packet of the flow, which was counted to `record`. */
void pd_agent_digests_watch(struct pd_digests_watch *watch, const struct pd_flow_id *id,
                            const struct pd_pint_flow *flow, const struct pd_pint_record *record,
                            uint64_t time_ns);

#endif
