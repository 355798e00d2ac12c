/* SPDX-License-Identifier: Apache-2.0 */
/* Flows with the paths that they took, as all applications that look at loads and senders want
 * them. */
#ifndef PD_APPS_FLOWS_H
#define PD_APPS_FLOWS_H

#include <jansson.h>
#include <stddef.h>

#include "apps/apps.h"
#include "apps/rows.h"

/* Rows of getFlows whose path exists in the topology, one for each flow and path. Trajectories that
 * fit no path, and paths that the topology has not, say nothing about links: they are left out and
 * counted in "lacks". */

struct pd_app_flows {
    struct pd_app_row *rows;
    size_t len, room;
    size_t unknown; /* left out */
};

/* `args` (parameters of getFlows) and `hosts` (NULL: all) are taken over. 0, or a negative error in
 * words; what was filled is then done with. */
int pd_app_flows_ask(const struct pd_app_call *call, struct pd_report *report, json_t *args,
                     json_t *hosts, struct pd_app_flows *ret_flows, struct pd_error *error);
/* The same on networks that tag nothing: there a flow takes the way that its sender has traced
 * since `from_us`, if that is whole; of the others `path.len` is 0. Elsewhere it is the function
 * above. */
int pd_app_flows_ask_traced(const struct pd_app_call *call, struct pd_report *report, json_t *args,
                            json_t *hosts, uint64_t from_us, struct pd_app_flows *ret_flows,
                            struct pd_error *error);
void pd_app_flows_done(struct pd_app_flows *flows); /* works on zeroed memory */

/* By flow ID, then by path: rows of one flow lie together. Largest first. */
void pd_app_flows_by_id(struct pd_app_flows *flows);
void pd_app_flows_by_bytes(struct pd_app_flows *flows);

/* {"flow_id":…,"path":[…],"bytes","pkts"}, for pd_app_report_flow. */
json_t *pd_app_flows_json(const struct pd_app_row *row);

#endif
