/* SPDX-License-Identifier: Apache-2.0 */
/* A partial result read from a source as a whole, item by item. */
#ifndef PD_QUERY_PARTIAL_STREAM_H
#define PD_QUERY_PARTIAL_STREAM_H

#include "query/merge.h"
#include "query/partial.h"

/* Feeds all of the source to the handler; `budget` pays for the paths, which are gone when this
 * returns. Errors as of pd_query_partial_feed and pd_query_partial_ended, or what the source
 * returned. */
int pd_query_partial_read_all(const struct pd_partial_source *source,
                              const struct pd_partial_handler *handler,
                              struct pd_tib_budget *budget, struct pd_partial_end *ret_end);

#endif
