/* SPDX-License-Identifier: Apache-2.0 */
/* One kept answer behind a lock. */
#include "agent/response_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct pd_response_cache {
    pthread_mutex_t lock;
    struct pd_query query; /* all that follows: of the kept answer */
    enum pd_query_form form;
    uint64_t version; /* 0: none is kept */
    struct pd_answer answer;
};

struct pd_response_cache *pd_agent_response_cache_new(void)
{
    struct pd_response_cache *again = calloc(1, sizeof *again);

    if (!again) {
        return NULL;
    }
    pthread_mutex_init(&again->lock, NULL);
    pd_http_answer_init(&again->answer);
    return again;
}

void pd_agent_response_cache_free(struct pd_response_cache *again)
{
    if (!again) {
        return;
    }
    pd_http_answer_done(&again->answer);
    pthread_mutex_destroy(&again->lock);
    free(again);
}

/* Queries are copies of what pd_query_init made and texts were set in: where they mean the same but
 * differ in a byte, the store is asked. */
static bool is_kept(const struct pd_response_cache *again, const struct pd_query *query,
                    enum pd_query_form form, uint64_t version)
{
    return again->version == version && again->form == form &&
           /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison,cert-exp42-c,cert-flp37-c) */
           !memcmp(&again->query, query, sizeof *query);
}

bool pd_agent_response_cache_find(struct pd_response_cache *again, const struct pd_query *query,
                                  enum pd_query_form form, uint64_t version,
                                  struct pd_answer *answer)
{
    if (!again || !version) {
        return false;
    }
    pthread_mutex_lock(&again->lock);
    bool found =
        is_kept(again, query, form, version) && !pd_http_answer_copy_body(&again->answer, answer);
    pthread_mutex_unlock(&again->lock);
    return found;
}

void pd_agent_response_cache_keep(struct pd_response_cache *again, const struct pd_query *query,
                                  enum pd_query_form form, uint64_t version,
                                  const struct pd_answer *answer)
{
    if (!again || !version || answer->flowing || answer->file_bytes > PD_AGAIN_FILE_BYTES) {
        return;
    }
    pthread_mutex_lock(&again->lock);
    pd_http_answer_done(&again->answer);
    again->version = pd_http_answer_copy_body(answer, &again->answer) ? 0 : version;
    again->form = form;
    memcpy(&again->query, query, sizeof *query); /* with what lies between members */
    pthread_mutex_unlock(&again->lock);
}
