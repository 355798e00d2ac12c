/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator's level of epochs: flows that only send packets over lossy links. */
#ifndef PD_SIM_EPOCH_H
#define PD_SIM_EPOCH_H

#include <jansson.h>

#include "sim/random.h"
#include "sim/sim.h"

/* Paper 003, section 6: in each epoch each host has some flows to other racks, each of some
 * packets, each on a path that ECMP draws; each link drops each packet with its own probability, a
 * packet that is dropped goes no further, and is sent again once. No queues, no TCP, no time within
 * an epoch. One draw decides what a link drops of a flow.
 *
 * The rows tell the truth: the link that dropped most. Internal to sim/. */

/* Its members of a scenario, defaults for those that are missing. 0, or -PD_E_VALUE in words. */
int pd_sim_epochs_read(const json_t *root, struct pd_sim_epochs *ret_epochs,
                       struct pd_error *error);

int pd_sim_epochs_run(const struct pd_sim_scenario *scenario, uint64_t seed, pd_sim_visit *visit,
                      void *context, struct pd_sim_totals *ret_totals, struct pd_error *error);

#endif
