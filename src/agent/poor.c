/* SPDX-License-Identifier: Apache-2.0 */
/* getPoorTCPFlows at this host. */
#include "agent/poor.h"

int pd_agent_poor(struct pd_agent *agent, const struct pd_poor_question *question,
                  json_t **ret_answer, struct pd_error *error)
{
    (void)agent;
    (void)question;
    (void)ret_answer;
    return pd_fail(error, -PD_E_UNSUPPORTED, "this agent does not watch TCP");
}
