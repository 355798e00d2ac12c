/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated meters: switches count packets of chosen flows, and the loop chooses which. */
#ifndef PD_SIM_METERS_H
#define PD_SIM_METERS_H

#include <jansson.h>

#include "evidence/evidence.h"
#include "sim/net.h"

/* Paper 004; the parts are those of meter/: sketches of both roles, HashPipe, epochs, comparison
 * and loop. Monitors are the racks' switches, and the top ones where the scenario says so. A filter
 * is told as the number of its segment: what filters cannot tell apart is not modelled here, nor
 * that clocks of switches differ, nor that rules take time. What meters draw is their own, so that
 * flows are what they are without meters. Internal to sim/. One thread. */

struct pd_sim_meters;

struct pd_sim_meters_counters {
    uint64_t epochs;
    uint64_t sent;         /* packets that upstream meters marked */
    uint64_t received;     /* of them, in downstream meters */
    uint64_t late, stray;  /* of them, not in downstream meters */
    uint64_t undetermined; /* flows, epoch by epoch */
    uint64_t more_received;
    uint64_t measured, measured_lost; /* packets of flows that were determined */
    uint64_t unread;                  /* strays for which there was no room: their epochs */
};

/* The member "meters" of a scenario. 0, or an error in words. */
int pd_sim_meters_read(const json_t *root, struct pd_sim_scenario *scenario,
                       struct pd_error *error);

/* NULL in *ret_meters where the scenario has none. 0 or -ENOMEM. */
int pd_sim_meters_new(const struct pd_sim_scenario *scenario, uint64_t seed,
                      struct pd_sim_meters **ret_meters);
/* NULL is nothing to all that follow. */
void pd_sim_meters_free(struct pd_sim_meters *meters);

/* Packets of a flow come to a switch of their route, by its place there. *mark: theirs, as they
 * came and as they go on. */
void pd_sim_meters_pass(struct pd_sim_meters *meters, const struct pd_flow_id *flow,
                        const struct pd_sim_net_route *route, uint32_t place, uint64_t pkts,
                        uint64_t time_ns, uint8_t *mark);

/* Cleared, to be filled with what the links of a route lose of the packets that are carried over it
 * next. */
struct pd_sim_net_losses *pd_sim_meters_losses(struct pd_sim_meters *meters);
/* So many packets went over all of a route at once. */
void pd_sim_meters_carry(struct pd_sim_meters *meters, const struct pd_flow_id *flow,
                         const struct pd_sim_net_route *route, uint64_t pkts, uint64_t time_ns);

/* Reads the epochs that are over by then. 0 or -ENOMEM. */
int pd_sim_meters_until(struct pd_sim_meters *meters, uint64_t time_ns);

/* A row for each segment of which something is known since the last call. Valid until the next
 * call. 0 or -ENOMEM. */
int pd_sim_meters_rows(struct pd_sim_meters *meters, const struct pd_evidence_row **ret_rows,
                       size_t *ret_len);

struct pd_sim_meters_counters pd_sim_meters_counters(const struct pd_sim_meters *meters);

#endif
