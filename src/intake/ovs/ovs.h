/* SPDX-License-Identifier: Apache-2.0 */
/* The intake that takes trajectory records from an Open vSwitch on this host, out of its shared
 * memory. */
#ifndef PD_INTAKE_OVS_OVS_H
#define PD_INTAKE_OVS_OVS_H

#include "intake/intake.h"

/* The switch counts; here its event rings are emptied, in order, into the sink. The switch keeps
 * each record until it is stored
 * (`committed`), so an agent that dies loses none; and a switch that dies leaves its memory mapped
 * here, to the last complete record. Both must be in the same PID namespace.
 * docs/formats/shared-memory.md has the bytes. */
extern const struct pd_intake_ops pd_intake_ovs;

#endif
