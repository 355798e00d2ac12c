/* SPDX-License-Identifier: Apache-2.0 */
/* What a switch has to be told so that it takes probes along. */
#ifndef PD_PROBE_RULES_H
#define PD_PROBE_RULES_H

#include <stdio.h>

#include "probe/plan/plan.h"

/* Carriers that need something of a switch. Text, one command or flow a line. Functions return 0 or
 * a negative error with words, and may have written a part then. */

/* srv6-ioam (a Linux router, interface ethP at port P): sysctls, the IOAM namespace, and a segment
 * End.X for each neighbouring switch. */
int pd_probe_rules_srv6_ioam(const struct pd_topology *topology, uint32_t sw, FILE *out,
                             struct pd_error *error);

/* openflow (Open vSwitch): as a plan uses no direction twice, what comes in by one port goes out by
 * one other. Where a path begins, the UDP source port tells which one it is. */
int pd_probe_rules_openflow(const struct pd_topology *topology, const struct pd_plan *plan,
                            uint32_t sw, FILE *out, struct pd_error *error);

#endif
