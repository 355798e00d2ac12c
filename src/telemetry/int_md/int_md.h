/* SPDX-License-Identifier: Apache-2.0 */
/* INT-MD v2.1 behind TCP or UDP: a shim, a header, a stack of metadata. */
#ifndef PD_TELEMETRY_INT_MD_H
#define PD_TELEMETRY_INT_MD_H

#include "telemetry/bytes.h"
#include "telemetry/telemetry.h"

/* P4.org, In-band Network Telemetry Dataplane Specification, 2.1. Packets that carry it have a DSCP
 * of their own. `behind` begins where the transport header ends. -PD_E_NOT_FOUND, -PD_E_SYNTAX. */
int pd_int_md_read(struct pd_bytes behind, struct pd_telemetry *telemetry);

#endif
