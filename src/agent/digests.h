/* SPDX-License-Identifier: Apache-2.0 */
/* Digests of packets on their way from the intake to the store: records get the paths that their
 * flows' digests told. */
#ifndef PD_AGENT_DIGESTS_H
#define PD_AGENT_DIGESTS_H

#include <stdint.h>

#include "agent/alarms/alarms.h"
#include "agent/counters.h"
#include "intake/intake.h"
#include "trajectory/record.h"

/* With a telemetry plan (--telemetry) each frame's digest goes to its flow (codec/pint/flow.h), and
 * the trajectory memory counts by flow alone. When it gives a record away, the record is split into
 * one for each path that the flow's packets took since the last time, with the path's number as its
 * mark; what no path is known of keeps mark 0. Packets and bytes of the parts are those of the
 * record.
 *
 * What hops measured goes with the part whose path they are of, as a further column
 * (telemetry/column.h); it waits while the path is not known.
 *
 * A walk that the topology does not have is named in an alarm as soon as it is known.
 *
 * Another plan comes by pd_agent_digests_offer, from any thread. The intake's thread lets all
 * records go that are of the one before, and takes it over; digests of its first settle_ms are left
 * aside, since switches may still write by the plan before, and counted.
 *
 * Digests that fit no walk at all, while others fit none either, are not the plan's: that raises an
 * alarm.
 *
 * The paths are those of the topology that the daemon started with. Flows are forgotten two minutes
 * after their last packet.
 *
 * Thread safety: the intake's thread. */

struct pd_digests;
struct pd_pint_plan;

/* Beside a codec whose marks are keys (`key_bits`: of marks, not 0), digests are told apart by flow
 * and mark, and records stay what they are: what hops measured goes with the record whose packets
 * measured it, as soon as its path is known from digests, or at once where the plan has no query of
 * paths.
 *
 * `flows_max`: of flows at a time; packets of more are counted and without a path. `plan` is the
 * digests' from then on, also after an error; NULL: none yet, all digests are left aside. */
int pd_agent_digests_new(const char *topology_file, struct pd_pint_plan *plan, uint64_t key_bits,
                         uint64_t flows_max, struct pd_agent_counters *counters,
                         struct pd_alarms *alarms, struct pd_digests **ret_digests,
                         struct pd_error *error);
void pd_agent_digests_free(struct pd_digests *digests); /* NULL is fine */

/* Another plan, the digests' from now on. Any thread; of several the last one counts. */
void pd_agent_digests_offer(struct pd_digests *digests, struct pd_pint_plan *plan);
/* The intake's thread: is there one? Then it lets all records go and takes it over. NULL: no. */
bool pd_agent_digests_offered(struct pd_digests *digests);
void pd_agent_digests_change(struct pd_digests *digests);
bool pd_agent_digests_settling(const struct pd_digests *digests); /* any thread; relaxed */

/* Digests are worked out some at a time; takes in what is left. The intake's thread, after each
 * poll; NULL is fine. */
void pd_agent_digests_flush(struct pd_digests *digests);

/* What the intake is to call for each frame; it calls `next` (may be NULL), too. */
const struct pd_intake_tap *pd_agent_digests_tap(struct pd_digests *digests,
                                                 const struct pd_intake_tap *next);

/* A part of a record, with its further columns (tib/record.h; NULL: none) until the call returns.
 */
typedef void pd_digests_give(void *context, const struct pd_trajectory_record *record,
                             const uint8_t *extra, uint32_t extra_bytes);

/* Calls `give` for each part of a record; without digests (NULL), for the record. `take`: its
 * packets are not told again. `columns`: what hops measured is told, too. */
void pd_agent_digests_split(struct pd_digests *digests, const struct pd_trajectory_record *record,
                            bool take, bool columns, pd_digests_give *give, void *context);

/* The same for a walk over live records. */
struct pd_digests_walk {
    struct pd_digests *digests; /* may be NULL */
    bool columns;
    pd_digests_give *give;
    void *context;
};
void pd_agent_digests_visit(void *walk, const struct pd_trajectory_record *record);

#endif
