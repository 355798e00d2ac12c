/* SPDX-License-Identifier: Apache-2.0 */
/* What the answers of queries are like, before anybody is asked. */
#ifndef PD_QUERY_SIZE_H
#define PD_QUERY_SIZE_H

#include "query/question.h"
#include "topology/topology.h"

/* For the table of questions; `asked`: a struct pd_query. */
void pd_query_size(const void *asked, const struct pd_topology *topology,
                   struct pd_question_size *size);

#endif
