/* SPDX-License-Identifier: Apache-2.0 */
/* A telemetry plan on a switch of the bed. */
#ifndef TESTBED_FABRICS_TC_PINT_H
#define TESTBED_FABRICS_TC_PINT_H

#include "codec/pint/plan.h"
#include "switches.h"

/* The switch writes digests by this plan from then on, at once on all packets; ports of hosts begin
 * them. 0, or a negative error in words: -PD_E_UNSUPPORTED, the plan is beyond what these switches
 * can (the carrier dscp, values that they do not measure). */
int tc_pint_put(const struct tc_switch *sw, const struct pd_pint_plan *plan,
                struct pd_error *error);

#endif
