/* SPDX-License-Identifier: Apache-2.0 */
/* Merges: a collection whose paths are copies. */
#include "query/merge.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "query/answer.h"
#include "query/blocks.h"
#include "query/collect.h"
#include "query/partial_stream.h"
#include "query/run.h"

struct pd_query_merge {
    struct pd_query query;
    bool complete;
    struct pd_tib_paths known; /* numbers of the copies; addresses are of the input at hand */
    struct pd_path_blocks copies;
    struct pd_collect collect; /* its budget pays for everything */
    struct pd_query_answer answer;
    bool answering; /* it was begun */
};

int pd_query_mergeable(const struct pd_query *query, struct pd_error *error)
{
    if (!*query->since) {
        return 0;
    }
    return pd_fail(error, -PD_E_VALUE,
                   "since: a token is of one host's store; answers of several hosts have none");
}

int pd_query_merge_new(const struct pd_query *query, struct pd_query_merge **ret_merge,
                       struct pd_error *error)
{
    int err = pd_query_mergeable(query, error);
    if (err) {
        return err;
    }
    struct pd_query_merge *merge = calloc(1, sizeof *merge);
    if (!merge) {
        return pd_query_run_fail(query, -ENOMEM, error);
    }
    merge->query = *query;
    merge->complete = true;
    pd_query_collect_init(&merge->collect, &merge->query);
    *ret_merge = merge;
    return 0;
}

void pd_query_merge_free(struct pd_query_merge *merge)
{
    if (!merge) {
        return;
    }
    pd_query_collect_done(&merge->collect);
    pd_tib_paths_done(&merge->known);
    pd_query_path_blocks_done(&merge->copies);
    free(merge);
}

void pd_query_merge_incomplete(struct pd_query_merge *merge)
{
    merge->complete = false;
}

/* ---- in ---- */

/* Takes our copy of a record's path and claim, which may be new. */
static int copy_path(struct pd_query_merge *merge, struct pd_tib_record *record)
{
    const struct pd_claim *copy;
    struct pd_tib_budget *budget = &merge->collect.budget;
    uint32_t known = merge->known.len, number;
    int error = pd_tib_paths_number(&merge->known, budget, record, &number);
    if (!error && number == known) {
        const struct pd_claim claim = pd_tib_claim(record);
        error = pd_query_path_blocks_add(&merge->copies, budget, &claim, &copy);
        if (!error) {
            merge->known.paths[number] = (struct pd_tib_way){copy->path, pd_tib_claim_kept(copy)};
        }
    }
    if (!error) {
        record->path = merge->known.paths[number].path;
        record->claim = merge->known.paths[number].claim;
    }
    return error;
}

static int on_group(void *context, const struct pd_tib_record *group)
{
    struct pd_query_merge *merge = context;
    struct pd_tib_record item = *group;
    if (!pd_query_plan_fits_group(&merge->query, &merge->collect.plan, group)) {
        return -PD_E_VALUE;
    }
    int error = item.path ? copy_path(merge, &item) : 0;
    return error ? error : pd_query_collect_group(&merge->collect, &item);
}

static int on_sums(void *context, const struct pd_query_sums *sums)
{
    struct pd_query_merge *merge = context;
    if (!pd_query_plan_fits_sums(&merge->query, &merge->collect.plan, sums)) {
        return -PD_E_VALUE;
    }
    return pd_query_collect_sums(&merge->collect, sums);
}

struct input {
    struct pd_query_merge *merge;
    const struct pd_partial_source *source;
};

static int on_input_group(void *context, const struct pd_tib_record *group)
{
    return on_group(((struct input *)context)->merge, group);
}

static int on_input_sums(void *context, const struct pd_query_sums *sums)
{
    return on_sums(((struct input *)context)->merge, sums);
}

static int on_input_missing(void *context, uint64_t host, const char *reason)
{
    const struct pd_partial_source *source = ((struct input *)context)->source;
    return source->missing ? source->missing(source->context, (uint32_t)host, reason) : 0;
}

int pd_query_merge_partial(struct pd_query_merge *merge, const struct pd_partial_source *source,
                           struct pd_partial_end *ret_end, struct pd_error *error)
{
    struct input input = {merge, source};
    const struct pd_partial_handler handler = {&input, on_input_group, on_input_sums,
                                               on_input_missing};
    struct pd_tib_budget budget = {merge->query.memory_bytes};
    struct pd_partial_end end;
    pd_tib_paths_forget(&merge->known);
    int err = pd_query_partial_read_all(source, &handler, &budget, &end);
    if (err) {
        return pd_query_run_fail(&merge->query, err, error);
    }
    merge->complete &= end.complete;
    *ret_end = end;
    return 0;
}

static int on_local(void *context, const struct pd_tib_record *groups, size_t n)
{
    struct pd_query_merge *merge = context;
    int error = 0;
    for (size_t i = 0; i < n && !error; i++) {
        struct pd_tib_record group = groups[i];
        if (!pd_query_plan_wants(&merge->query, &group)) {
            continue;
        }
        if (group.path && merge->collect.plan.kind <= PD_PLAN_RECORDS) {
            error = copy_path(merge, &group);
        }
        error = error ? error : pd_query_collect_local(&merge->collect, &group);
    }
    return error;
}

int pd_query_merge_local(struct pd_query_merge *merge, struct pd_tib_snapshot *snapshot,
                         const struct pd_tib_record *live, size_t live_len, struct pd_error *error)
{
    const struct pd_run_store store = {snapshot, live, live_len};
    pd_tib_paths_forget(&merge->known);
    int err = pd_query_run_visit(&merge->query, &merge->collect.plan, &store, false, on_local,
                                 merge, &merge->complete);
    return err ? pd_query_run_fail(&merge->query, err, error) : 0;
}

/* ---- out ---- */

bool pd_query_merge_rows_early(const struct pd_query *query)
{
    return query->name == PD_QUERY_GET_FLOWS || query->name == PD_QUERY_CONFORMANCE;
}

/* Items become rows, behind those that were given before. */
static int give_rows(struct pd_query_merge *merge, enum pd_query_form form,
                     const struct pd_query_sink *sink)
{
    struct pd_query_answer *answer = &merge->answer;
    const struct pd_items items = {answer, pd_query_answer_group, pd_query_answer_sums};

    if (!merge->answering) {
        pd_query_answer_begin(answer, &merge->query, form, &merge->collect.budget, sink);
        merge->answering = true;
    }
    return pd_query_collect_give(&merge->collect, true, &items);
}

static void forget(struct pd_query_merge *merge)
{
    merge->complete &= merge->collect.complete;
    pd_query_collect_done(&merge->collect);
    pd_query_collect_init(&merge->collect, &merge->query);
    pd_tib_paths_done(&merge->known);
    merge->known = (struct pd_tib_paths){0};
    pd_query_path_blocks_done(&merge->copies);
    merge->copies = (struct pd_path_blocks){0};
}

int pd_query_merge_rows(struct pd_query_merge *merge, enum pd_query_form form,
                        const struct pd_query_sink *sink, struct pd_error *error)
{
    int err = give_rows(merge, form, sink);

    if (!err) {
        err = pd_rows_out_pass(&merge->answer.out);
    }
    if (err && !merge->answer.out.error) {
        pd_query_run_fail(&merge->query, err, error);
    }
    forget(merge);
    return err;
}

int pd_query_merge_json(struct pd_query_merge *merge, enum pd_query_form form, const json_t *extra,
                        const struct pd_query_sink *sink, bool *ret_complete,
                        struct pd_error *error)
{
    struct pd_query_answer *answer = &merge->answer;
    int err = give_rows(merge, form, sink);
    if (!err) {
        err = pd_query_answer_end(answer, NULL, extra, merge->complete && merge->collect.complete,
                                  ret_complete);
    }
    if (err && !answer->out.error) { /* else the sink knows why it stopped */
        pd_query_run_fail(&merge->query, err, error);
    }
    pd_query_answer_done(answer);
    return err;
}

int pd_query_merge_give(struct pd_query_merge *merge, const struct pd_items *items,
                        bool *ret_complete, struct pd_error *error)
{
    struct pd_run_giving giving = {.items = items};
    const struct pd_items noted = pd_query_run_noted(&giving);
    int err = pd_query_collect_give(&merge->collect, true, &noted);

    if (err) {
        return giving.stopped ? err : pd_query_run_fail(&merge->query, err, error);
    }
    *ret_complete = merge->complete && merge->collect.complete && !giving.capped;
    return 0;
}

static int write_partial(struct pd_query_merge *merge, struct pd_partial_writer *writer,
                         struct pd_partial_end end, const struct pd_partial_missing *missing,
                         size_t missing_len, uint64_t begun_ns)
{
    const struct pd_items items = pd_query_partial_items(writer);
    int error = pd_query_collect_give(&merge->collect, false, &items);
    for (size_t i = 0; i < missing_len && !error; i++) {
        error = pd_query_partial_put_missing(writer, missing[i].host, missing[i].reason);
    }
    if (error) {
        return error;
    }
    end.complete = end.complete && !missing_len && merge->complete && merge->collect.complete;
    end.critical_us += (pd_clock_thread_ns() - begun_ns) / PD_NS_PER_US;
    return pd_query_partial_finish(writer, &end);
}

int pd_query_merge_write(struct pd_query_merge *merge, const struct pd_partial_end *end,
                         const struct pd_partial_missing *missing, size_t missing_len,
                         uint64_t begun_ns, const struct pd_query_sink *sink,
                         struct pd_error *error)
{
    struct pd_partial_writer *writer = NULL;
    int err = pd_query_partial_begin(sink, &merge->collect.budget, &writer);
    if (!err) {
        err = write_partial(merge, writer, *end, missing, missing_len, begun_ns);
    }
    if (err && (!writer || !pd_query_partial_stopped(writer))) {
        pd_query_run_fail(&merge->query, err, error);
    }
    pd_query_partial_writer_free(writer);
    return err;
}
