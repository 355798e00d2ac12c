/* SPDX-License-Identifier: Apache-2.0 */
/* A telemetry plan as tables of a switch program. */
#ifndef PD_CODEC_PINT_TABLES_H
#define PD_CODEC_PINT_TABLES_H

#include "base/tables.h"
#include "codec/pint/plan.h"

/* Tables pint_field1 to pint_field4: set to field(…), the set's fields one by one. Arrays: pint
 * (seed, carrier, switch ID, least nanoseconds of a high latency, number of sets), pint_sets (sum
 * of the weights before each set), pint_reservoir (of 65536, by hop), pint_starts and pint_below
 * (layers of static queries, 16 for each), pint_steps and pint_values (codes, 256 for each).
 *
 * A set of more than four fields does not fit: -PD_E_UNSUPPORTED with its number. -ENOMEM. Thread
 * safety: pure. */
int pd_pint_tables(const struct pd_pint_plan *plan, uint32_t switch_id, struct pd_tables *tables,
                   struct pd_error *error);

#endif
