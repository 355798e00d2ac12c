/* SPDX-License-Identifier: Apache-2.0 */
/* Programs in a running agent: what they ask is answered from its records, what they raise is an
 * alarm of this host. */
#ifndef PD_AGENT_PROGRAM_HOST_H
#define PD_AGENT_PROGRAM_HOST_H

#include <jansson.h>
#include <stdint.h>

#include "agent/agent.h"
#include "base/error.h"

/* The calls of src/program/program.h. Arguments of get_flows{}, get_paths{}, get_count{} and
 * get_duration{} are those of the queries of the same names, in the form of query documents, and
 * besides "flow_id": the object that rows have, in place of its five fields. A "path" without
 * switches, as rows of infeasible trajectories have it, restricts nothing. An answer that would not
 * be complete, since a part of the store cannot be read, is an error: a program could not say so in
 * its result.
 *
 * Thread safety: any number of threads may run programs at once; each has to hold a turn or
 * otherwise be few. */

/* On whose word a program runs: of what it may raise, and in whose name. */
struct pd_program_host_caller {
    enum pd_alarm_origin origin; /* PROGRAM or INSTALLED */
    const char *by;
    bool may_alarm; /* else a call of alarm{} fails */
};

/* Runs run(args) of `source` with the agent's programs. Alarms have reasons that begin with USER_.
 * As pd_programs_run; -PD_E_BUSY when the
 * agent is stopping. *ret_alarms (may be NULL, set in any case) is how many alarms it raised. */
int pd_agent_program_host_run(struct pd_agent *agent, const struct pd_program_host_caller *caller,
                              const char *source, json_t *args, uint64_t deadline_ns,
                              json_t **ret_result, uint64_t *ret_alarms, struct pd_error *error);

#endif
