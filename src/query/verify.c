/* SPDX-License-Identifier: Apache-2.0 */
/* Verification: whether all of a child's answer can be merged, before any of it is. */
#include <errno.h>

#include "query/merge.h"
#include "query/partial_stream.h"
#include "query/plan.h"

#define PIECE_BYTES 16384

static int feed_all(struct pd_partial_reader *reader, const struct pd_partial_source *source)
{
    char piece[PIECE_BYTES];
    for (;;) {
        ssize_t len = source->read(source->context, piece, sizeof piece);
        if (len <= 0) {
            return (int)len;
        }
        int error = pd_query_partial_feed(reader, piece, (size_t)len);
        if (error) {
            return error;
        }
    }
}

int pd_query_partial_read_all(const struct pd_partial_source *source,
                              const struct pd_partial_handler *handler,
                              struct pd_tib_budget *budget, struct pd_partial_end *ret_end)
{
    struct pd_partial_reader *reader = pd_query_partial_reader_new(handler, budget);
    if (!reader) {
        return -ENOMEM;
    }
    int error = feed_all(reader, source);
    error = error ? error : pd_query_partial_ended(reader, ret_end);
    pd_query_partial_reader_free(reader);
    return error;
}

struct verify {
    const struct pd_query *query;
    const struct pd_partial_source *source;
    struct pd_query_plan plan;
    uint64_t items, missing;
    const char *wrong; /* what does not hold, in words */
};

static int refuse(struct verify *verify, const char *wrong)
{
    verify->wrong = wrong;
    return -PD_E_VALUE;
}

/* No more than the first k, where these are all it takes; one total. */
static int count_item(struct verify *verify)
{
    uint64_t most = verify->plan.kind == PD_PLAN_TOTAL ? 1
                    : verify->plan.prunable            ? verify->query->k
                                                       : UINT64_MAX;
    return ++verify->items > most ? refuse(verify, "it has more rows than were asked for") : 0;
}

static int on_group(void *context, const struct pd_tib_record *group)
{
    struct verify *verify = context;
    if (!pd_query_plan_fits_group(verify->query, &verify->plan, group)) {
        return refuse(verify, "it has a group that this query does not have");
    }
    return count_item(verify);
}

static int on_sums(void *context, const struct pd_query_sums *sums)
{
    struct verify *verify = context;
    if (!pd_query_plan_fits_sums(verify->query, &verify->plan, sums)) {
        return refuse(verify, "it has sums that this query does not have");
    }
    return count_item(verify);
}

static int on_missing(void *context, uint64_t host, const char *reason)
{
    struct verify *verify = context;
    const struct pd_partial_source *source = verify->source;
    verify->missing++;
    return source->missing ? source->missing(source->context, (uint32_t)host, reason) : 0;
}

static int check_hosts(struct verify *verify, const struct pd_partial_end *end)
{
    if (!end->asked || verify->missing != end->asked - end->answered) {
        return refuse(verify, "its hosts do not add up");
    }
    if (end->complete && verify->missing) {
        return refuse(verify, "it says it is complete, but hosts are missing");
    }
    return 0;
}

int pd_query_partial_verify(const struct pd_query *query, const struct pd_partial_source *source,
                            struct pd_partial_end *ret_end, struct pd_error *error)
{
    struct verify verify = {.query = query, .source = source, .plan = pd_query_plan_of(query)};
    const struct pd_partial_handler handler = {&verify, on_group, on_sums, on_missing};
    struct pd_tib_budget budget = {query->memory_bytes};
    struct pd_partial_end end;
    int err = pd_query_partial_read_all(source, &handler, &budget, &end);
    err = err ? err : check_hosts(&verify, &end);
    if (err) {
        return pd_fail(error, err, "the partial result cannot be used: %s",
                       verify.wrong ? verify.wrong : pd_error_text(err));
    }
    *ret_end = end;
    return 0;
}
