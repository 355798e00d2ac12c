/* SPDX-License-Identifier: Apache-2.0 */
/* TCP connections that do poorly: getPoorTCPFlows at this host, and the alarm POOR_PERF. */
#ifndef PD_AGENT_POOR_H
#define PD_AGENT_POOR_H

#include <jansson.h>

#include "agent/agent.h"
#include "agent/model.h"
#include "query/poor.h"

/* {"flows":[…],"complete","source","since_us","forgotten"} as docs/api/openapi.json says; the
 * caller's. From any thread. */
int pd_agent_poor(struct pd_agent *agent, const struct pd_poor_question *question,
                  json_t **ret_answer, struct pd_error *error);

/* POOR_PERF is raised for connections of this network: between addresses of the topology, unless
 * --tcp-alarm-all. Never for those of agents and the controller, told by their ports, which are
 * those of this agent and of its controller's URL: what watches the network is no news. */
struct pd_agent_poor_filter {
    const struct pd_topology *topology;
    bool all;
    uint16_t own_ports[2]; /* 0: none */
};
bool pd_agent_poor_counts(const struct pd_agent_poor_filter *filter, const struct pd_flow_id *flow);

/* Another topology from now on; it is held. From the main thread. */
void pd_agent_poor_model(struct pd_agent *agent, struct pd_model *model);

void pd_agent_poor_done(struct pd_agent *agent); /* after the monitor's end */

/* Opens the monitor, whose alarms go where the agent's go, and logs which source runs. */
int pd_agent_watch_tcp(struct pd_agent *agent, const struct pd_monitor_config *config,
                       struct pd_error *error);

#endif
