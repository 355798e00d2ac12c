/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of queries that several applications ask: one flow, a time range, a list of hosts. */
#ifndef PD_APPS_FLOW_ARGS_H
#define PD_APPS_FLOW_ARGS_H

#include <jansson.h>
#include <stdint.h>

#include "base/flow_id.h"

/* Thread safety: pure functions. NULL: no memory; pd_app_ask takes it as it is. */

/* {"from","to","live":true} and the flow's members; from_us 0, to_us UINT64_MAX and flow NULL: any.
 */
json_t *pd_app_flow_args(const struct pd_flow_id *flow, uint64_t from_us, uint64_t to_us);

/* [21] */
json_t *pd_app_host_list(uint32_t host);

#endif
