/* SPDX-License-Identifier: Apache-2.0 */
/* The last answer that took long, for whoever asks the same again before anything has changed. */
#ifndef PD_AGENT_RESPONSE_CACHE_H
#define PD_AGENT_RESPONSE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "http/answer.h"
#include "query/query.h"

/* Continuous queries ask for the same many times a second. As long as the store's version is the
 * same (pd_tib_version) and no live record belongs to the answer, the answer cannot be another one,
 * so its bytes are given again. One answer is kept: in memory at most PD_ANSWER_MEMORY_BYTES of it,
 * else in its file without a name, of at most PD_AGAIN_FILE_BYTES.
 *
 * Thread safety: any number of threads at once. */

#define PD_AGAIN_FILE_BYTES (UINT64_C(16) << 20)

struct pd_response_cache;

struct pd_response_cache *pd_agent_response_cache_new(void); /* NULL without memory */
void pd_agent_response_cache_free(struct pd_response_cache *again);

/* Whether this answer is kept; then *answer, which is empty, has its body. A version of 0 is none.
 */
bool pd_agent_response_cache_find(struct pd_response_cache *again, const struct pd_query *query,
                                  enum pd_query_form form, uint64_t version,
                                  struct pd_answer *answer);

/* Keeps a copy of an answer that is finished, in place of what was kept. Without memory, or too
 * long, nothing is kept. */
void pd_agent_response_cache_keep(struct pd_response_cache *again, const struct pd_query *query,
                                  enum pd_query_form form, uint64_t version,
                                  const struct pd_answer *answer);

#endif
