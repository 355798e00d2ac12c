/* SPDX-License-Identifier: Apache-2.0 */
/* Queries over this host's own records. */
#include "agent/local.h"

#include <errno.h>

#include "base/clock.h"
#include "query/merge.h"

#define KEEP_NS PD_NS_PER_MS /* of processor time: what takes less is not worth being kept */

int pd_local_open(struct pd_agent *agent, const struct pd_query *query,
                  struct pd_picture **ret_picture, struct pd_error *error)
{
    struct pd_picture *picture;
    int e;

    if (query->live) {
        e = pd_pipeline_picture(agent->pipeline, query, ret_picture);
    } else if ((picture = pd_picture_new(query))) {
        e = pd_tib_snapshot(agent->tib, &picture->snapshot);
        if (e) {
            pd_picture_free(picture);
        } else {
            *ret_picture = picture;
        }
    } else {
        e = -ENOMEM;
    }
    if (e == -PD_E_BUSY) {
        pd_fail(error, e, "the live picture was not ready in time; try again");
    } else if (e) {
        pd_fail(error, e, "the store cannot be read: %s", pd_error_text(e));
    }
    return e;
}

static int count_incomplete(struct pd_agent *agent, int e, bool complete)
{
    if (!e && !complete) {
        pd_count(&agent->counters.queries_incomplete, 1);
    }
    return e;
}

/* Runs over the picture, and keeps an answer that took long. */
static int answer_anew(struct pd_agent *agent, const struct pd_query *query,
                       enum pd_query_form form, const struct pd_picture *picture, uint64_t version,
                       const struct pd_query_sink *sink, struct pd_answer *answer,
                       struct pd_error *error)
{
    uint64_t begun_ns = pd_clock_thread_ns();
    bool complete = false;
    int e = pd_query_run_as(query, form, picture->snapshot, picture->rows, picture->rows_len, sink,
                            &complete, error);
    bool keep = answer && complete && pd_clock_thread_ns() - begun_ns >= KEEP_NS;

    if (!e && keep && !pd_answer_finish(answer)) {
        pd_again_keep(agent->again, query, form, version, answer);
    }
    return count_incomplete(agent, e, complete);
}

int pd_local_answer(struct pd_agent *agent, const struct pd_query *query, enum pd_query_form form,
                    const struct pd_query_sink *sink, struct pd_answer *answer,
                    struct pd_error *error)
{
    struct pd_picture *picture;
    int e = pd_local_open(agent, query, &picture, error);

    if (e) {
        return e;
    }
    /* With live records the answer changes with every packet. */
    uint64_t version = picture->rows_len ? 0 : pd_tib_version(picture->snapshot);
    if (answer && pd_again_find(agent->again, query, form, version, answer)) {
        pd_count(&agent->counters.queries_again, 1);
    } else {
        e = answer_anew(agent, query, form, picture, version, sink, answer, error);
    }
    pd_picture_free(picture);
    return e;
}

int pd_local_partial(struct pd_agent *agent, const struct pd_query *query, uint64_t begun_ns,
                     const struct pd_query_sink *sink, struct pd_error *error)
{
    struct pd_picture *picture;
    bool complete = false;
    int e = pd_local_open(agent, query, &picture, error);

    if (e) {
        return e;
    }
    e = pd_query_run_partial(query, picture->snapshot, picture->rows, picture->rows_len, begun_ns,
                             sink, &complete, error);
    pd_picture_free(picture);
    return count_incomplete(agent, e, complete);
}
