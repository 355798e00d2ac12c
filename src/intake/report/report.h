/* SPDX-License-Identifier: Apache-2.0 */
/* The intake that takes reports of switches (Telemetry Report v2.0) from a UDP socket. */
#ifndef PD_INTAKE_REPORT_H
#define PD_INTAKE_REPORT_H

#include "intake/intake.h"

/* "report:127.0.0.1:32766", "report:[::1]:32766". A report of a packet with a stack of INT-MD is
 * one packet with that path; postcards are joined per flow (postcards.h). Packets count as they
 * were reported: a switch that samples tells of a part. What a switch says was dropped, or met a
 * queue, is told to whoever listens to complaints (pd_intake_complaints). */

extern const struct pd_intake_ops pd_intake_report;

#endif
