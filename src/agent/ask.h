/* SPDX-License-Identifier: Apache-2.0 */
/* Questions: GET and POST /v1/NAME of each of the table, and POST /v1/query with a document, which
 * may be a program and may name hosts below. */
#ifndef PD_AGENT_ASK_H
#define PD_AGENT_ASK_H

#include "agent/rest.h"

/* This host's own part takes a turn (question.h), waited for until the question's deadline. While
 * others are waited for none is held, so that hosts which ask each other in several trees at once
 * cannot lock up.
 *
 * Thread safety: any number of threads at once. */

/* /v1/NAME, request->document. POST /v1/query is pd_agent_rest_query of the table of routes. */
pd_rest_handler pd_agent_rest_question;

#endif
