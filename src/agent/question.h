/* SPDX-License-Identifier: Apache-2.0 */
/* Questions of the table (query/question.h) at this host. */
#ifndef PD_AGENT_QUESTION_H
#define PD_AGENT_QUESTION_H

#include "agent/rest.h"
#include "query/question.h"

/* This host's own part. What it asks of the records takes a turn of `client`, waited for until the
 * deadline; what it asks of the TCP monitor needs none. *ret_answer is the caller's. */
int pd_agent_question(struct pd_agent *agent, const struct pd_question *question, const void *args,
                      const char *client, uint64_t deadline_ns, json_t **ret_answer,
                      struct pd_error *error);

/* GET and POST /v1/NAME: request->question, its parameters in request->body. */
pd_rest_handler pd_rest_question;

#endif
