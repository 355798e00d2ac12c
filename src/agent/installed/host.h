/* SPDX-License-Identifier: Apache-2.0 */
/* Installed queries in a running agent: its store, its programs, its alarms. */
#ifndef PD_AGENT_INSTALLED_HOST_H
#define PD_AGENT_INSTALLED_HOST_H

#include "agent/agent.h"

/* Makes agent->installed and has it hear alarms. The list lies in `folder`
 * (pd_agent_settings_folder). Before the first thread starts, with agent->alarms there; runs begin
 * with pd_installed_start, when the rest of the agent is there as well. */
int pd_installed_open(struct pd_agent *agent, const char *folder, struct pd_model *model,
                      struct pd_error *error);

#endif
