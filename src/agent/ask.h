/* SPDX-License-Identifier: Apache-2.0 */
/* Questions: GET of the named queries, and POST /v1/query with a document, which may be a program
 * and may name hosts below. */
#ifndef PD_AGENT_ASK_H
#define PD_AGENT_ASK_H

#include "agent/rest.h"

/* This host's own part takes a turn (agent->query_turns, programs: agent->program_turns), waited
 * for until the question's deadline. While others are waited for none is held, so that hosts which
 * ask each other in several trees at once cannot lock up.
 *
 * Thread safety: any number of threads at once. */

/* GET /v1/NAME, request->query. POST /v1/query is pd_rest_query of the table of routes. */
pd_rest_handler pd_ask_named;

#endif
