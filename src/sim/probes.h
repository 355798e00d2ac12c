/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated probes: hosts send packets over planned paths, and the network's faults take some. */
#ifndef PD_SIM_PROBES_H
#define PD_SIM_PROBES_H

#include "evidence/evidence.h"
#include "sim/net.h"

/* Paper 001, and probe/watch.h for the ways. Every 1 / rate_hz seconds each way is probed once.
 *
 * A probe meets faults of links and nothing else: it waits in no queue, and hosts are always there.
 * It is a UDP packet between the hosts at the ends, port 2222. Random numbers are its own, so that
 * flows are what they are without probes. Internal to sim/. One thread. */

struct pd_sim_probes;

/* NULL in *ret_probes where the scenario has none. 0, -ENOMEM, or in words. */
int pd_sim_probes_new(const struct pd_sim_scenario *scenario, uint64_t seed,
                      struct pd_sim_probes **ret_probes, struct pd_error *error);
void pd_sim_probes_free(struct pd_sim_probes *probes); /* NULL is nothing */

/* All that is sent up to this time. 0 or -ENOMEM. */
int pd_sim_probes_advance(struct pd_sim_probes *probes, struct pd_sim_net *net, double until_s);

/* What was sent and lost since the last call: a row for each path with probes. Where a path fell
 * silent or came back meanwhile (*ret_anew), what was sent before that is left out. Rows are the
 * probes' and valid until the next call of either. 0 or -ENOMEM. */
int pd_sim_probes_rows(struct pd_sim_probes *probes, const struct pd_evidence_row **ret_rows,
                       size_t *ret_len, bool *ret_anew);

#endif
