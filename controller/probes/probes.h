/* SPDX-License-Identifier: Apache-2.0 */
/* Probes over planned paths as one of the controller's parts. */
#ifndef PD_CONTROLLER_PROBES_PROBES_H
#define PD_CONTROLLER_PROBES_PROBES_H

#include "apps/apps.h"
#include "controller/controller.h"

/* POST /v1/probes plans (probe/plan), gives each host its part (probe/order.h) and keeps it up: a
 * host that dies loses its ways to others. Hosts report (probe/report.h); what they say is joined
 * and watched (probe/watch.h), paths that lose are isolated, and all counts are evidence of
 * applications and link metrics. One thread, pd-probes, which gives orders; reports are taken in
 * the threads of their requests.
 *
 * What is kept of links and evidence is bounded, whatever hosts say. One lock, under which nobody
 * is asked. */

extern const struct pd_part pd_controller_probes_part;

/* Are probes on? */
bool pd_controller_probes_on(void);

/* What became of probes in the periods that ended in (from_us, to_us]. The sink's error, or
 * -ENOMEM. */
int pd_controller_probes_observe(uint64_t from_us, uint64_t to_us,
                                 const struct pd_evidence_sink *sink);

/* ---- the state of a directed link between switches */

enum pd_link_probe_state { PD_LINK_UNKNOWN, PD_LINK_OK, PD_LINK_LOSSY, PD_LINK_DEAD };

enum pd_link_probe_metric {
    PD_LINK_LATENCY,
    PD_LINK_LATENCY_ERROR,
    PD_LINK_HOP_LATENCY,
    PD_LINK_RESIDENCE,
    PD_LINK_QUEUE,
    PD_LINK_QUEUE_MAX,
    PD_LINK_PROBE_LOSS,
    PD_LINK_PROBE_AGE,
    PD_LINK_PROBE_STATE,
};

/* By directed number, as of now; NAN: not known. False: there are no probes, or links are those of
 * another topology. */
bool pd_controller_probes_read(const struct pd_topology *topology, enum pd_link_probe_metric metric,
                               float *ret_values, uint32_t len);

#endif
