/* SPDX-License-Identifier: Apache-2.0 */
/* Digests at the simulated receivers: what hops measured, and when a flow's path was told. */
#ifndef PD_SIM_DIGESTS_H
#define PD_SIM_DIGESTS_H

#include <stddef.h>
#include <stdint.h>

#include "sim/flows.h"

/* As the agent's (agent/digests.h), but that records have the paths that packets took, as with
 * digests beside another codec; what digests tell of a path is compared with it. One for all hosts.
 * Bounded by 256 MiB of samples; those beyond are counted. Internal to sim/. One thread. */

struct pd_sim_digests;

/* `digests` of a scenario with a plan. 0 or -ENOMEM. */
int pd_sim_digests_new(const struct pd_sim_scenario *scenario, const struct pd_sim_flows *flows,
                       struct pd_sim_digests **ret_digests);
void pd_sim_digests_free(struct pd_sim_digests *digests); /* NULL is fine */

/* A flow took this place of the table; what is left of the one before is forgotten. 0 or -ENOMEM.
 */
int pd_sim_digests_begin(struct pd_sim_digests *digests, uint32_t place,
                         const struct pd_sim_flow *flow);

/* A packet arrived over one of its routes. 0 or -ENOMEM. */
int pd_sim_digests_take(struct pd_sim_digests *digests, uint32_t place, uint32_t route,
                        uint32_t hops, uint32_t packet_id, uint16_t digest);

/* What was measured on a route since the last call, as further columns of a record; 0: nothing.
 * *ret_bytes stays until pd_sim_digests_clear. */
uint32_t pd_sim_digests_column(struct pd_sim_digests *digests, uint32_t place, uint32_t route,
                               const struct pd_sim_flow *flow, const uint8_t **ret_bytes);
void pd_sim_digests_clear(struct pd_sim_digests *digests);

/* What digests told of a flow's path. */
struct pd_sim_told {
    uint64_t decided_at, known_at; /* packets until then; 0: never */
    bool wrong;                    /* another one than it took */
};
struct pd_sim_told pd_sim_digests_told(const struct pd_sim_digests *digests, uint32_t place,
                                       const struct pd_sim_flow *flow);

uint64_t pd_sim_digests_lost(const struct pd_sim_digests *digests);

#endif
