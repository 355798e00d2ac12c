/* SPDX-License-Identifier: Apache-2.0 */
/* What a question's own part gets to ask of this host: the TCP monitor, the records, programs. */
#ifndef PD_AGENT_QUESTION_H
#define PD_AGENT_QUESTION_H

#include "agent/agent.h"
#include "program/merger.h"
#include "query/question.h"

/* What is asked of records and what runs a program takes a turn of the client (agent->query_turns,
 * agent->program_turns), waited for until the deadline; the TCP monitor needs none.
 *
 * Thread safety: one question's; its functions may be called from any thread, one at a time. */

struct pd_agent_host {
    struct pd_agent *agent;
    const char *client; /* whose turn it is */
    uint64_t deadline_ns;
    const struct pd_fleet_asker *asker; /* whose programs these are; the caller's, not NULL */
    struct pd_program_merger merger;
    struct pd_question_host host; /* its context is this struct: it must not move */
};

void pd_agent_host_init(struct pd_agent_host *asked, struct pd_agent *agent, const char *client,
                        uint64_t deadline_ns);

/* An earlier deadline. */
void pd_agent_host_limit(struct pd_agent_host *asked, uint64_t deadline_ns);

/* A turn of `admission`, which is to be given back; `what` waits, in words. */
int pd_agent_host_turn(const struct pd_agent_host *asked, struct pd_daemon_admission *admission,
                       const char *what, struct pd_error *error);

#endif
