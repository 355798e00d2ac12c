/* SPDX-License-Identifier: Apache-2.0 */
/* What the endpoint would change on the switches that connect to it, printed; nothing is changed.
 */
#ifndef PD_CONTROLLER_SWITCHES_DRY_RUN_H
#define PD_CONTROLLER_SWITCHES_DRY_RUN_H

#include <stdio.h>

#include "controller/switches/switches.h"

/* Opens an endpoint that only compares, waits until every switch of the topology was compared,
 * `wait_ms` at most, and prints: a line for each flow, "switch 17 (core-1-1): add FLOW" (replace,
 * delete, blocked), one for each switch that did not come or that was not compared in time, one for
 * each unknown switch, and a sum.
 *
 * Thread safety: blocks its caller; the endpoint's own thread does the work.
 *
 * 0, also when switches did not come; what pd_switches_open returns; -ENOMEM; -EIO when `out`
 * cannot be written. */
int pd_switches_dry_run(const struct pd_codec *codec, const struct pd_switches_settings *settings,
                        uint64_t wait_ms, FILE *out, struct pd_error *error);

#endif
