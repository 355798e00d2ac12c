/* SPDX-License-Identifier: Apache-2.0 */
/* Probes as one of the agent's parts. */
#ifndef PD_AGENT_PROBES_PROBES_H
#define PD_AGENT_PROBES_PROBES_H

#include "daemon/part.h"
#include "intake/intake.h"

/* POST /v1/probes gives this host its part of a plan (probe/order.h), DELETE ends it, GET tells how
 * it goes. Two threads while there is one: pd-probes sends, pd-probe-reports tells the controller
 * each PD_AGENT_PROBES_REPORT_MS what was sent and collected; at once when a way falls silent. On a
 * way that isolates the first few probes follow each other closely, and are told of at once. What
 * comes is collected in the intake's thread, and counts for no flow. One lock, held for as long as
 * a round of probes takes to send.
 *
 * A part that is not given again ends with its lease: no host goes on for a controller that died.
 */

#define PD_AGENT_PROBES_REPORT_MS 100u
#define PD_AGENT_PROBES_HURRY_MS  10u /* while faults are being isolated */

extern const struct pd_part pd_agent_probes;

/* For the intakes' configuration; the part is open. */
const struct pd_intake_taker *pd_agent_probes_taker(void);

#endif
