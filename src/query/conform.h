/* SPDX-License-Identifier: Apache-2.0 */
/* Path conformance: the rules of a query from their texts (section 2.3 of the paper: length of a
 * path, switches to avoid). */
#ifndef PD_QUERY_CONFORM_H
#define PD_QUERY_CONFORM_H

#include "query/query.h"

/* Each takes one parameter's text and returns what is expected instead, or NULL when it is fine.
 * The check of a record stands in query.h. */
const char *pd_query_conformance_set_max_hops(struct pd_conformance *rules, const char *value);
const char *pd_query_conformance_set_switches(struct pd_switch_set *set, const char *value);
const char *pd_query_conformance_set_allow(struct pd_conformance *rules, const char *value);

/* Whether a rule looks at the switches of paths, so that an infeasible trajectory cannot be judged.
 */
bool pd_query_conformance_judges_paths(const struct pd_query *query);

#endif
