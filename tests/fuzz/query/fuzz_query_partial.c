/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: partial results from another server, in pieces; what is taken is written again and
 * must be read as the same. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "query/partial.h"

#define MEMORY (1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    struct pd_partial_writer *writer;
    uint64_t items;
};

static int on_group(void *context, const struct pd_tib_record *group)
{
    struct seen *seen = context;
    seen->items++;
    return seen->writer ? pd_query_partial_put_groups(seen->writer, group, 1) : 0;
}

static int on_sums(void *context, const struct pd_query_sums *sums)
{
    struct seen *seen = context;
    seen->items++;
    return seen->writer ? pd_query_partial_put_sums(seen->writer, sums, 1) : 0;
}

static int on_missing(void *context, uint64_t host, const char *reason)
{
    struct seen *seen = context;
    seen->items++;
    return seen->writer ? pd_query_partial_put_missing(seen->writer, host, reason) : 0;
}

static int feed_again(void *context, const char *bytes, size_t len)
{
    return pd_query_partial_feed(context, bytes, len);
}

/* The first byte says how long the pieces are. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pd_tib_budget budgets[3] = {{MEMORY}, {MEMORY}, {MEMORY}};
    struct seen first = {NULL, 0}, second = {NULL, 0};
    struct pd_partial_handler take_first = {&first, on_group, on_sums, on_missing};
    struct pd_partial_handler take_second = {&second, on_group, on_sums, on_missing};
    struct pd_partial_reader *reader = pd_query_partial_reader_new(&take_first, &budgets[0]);
    struct pd_partial_reader *again = pd_query_partial_reader_new(&take_second, &budgets[1]);
    struct pd_query_sink sink = {again, feed_again};
    struct pd_partial_end end, end_again;
    int error = pd_query_partial_begin(&sink, &budgets[2], &first.writer);
    size_t piece = size ? data[0] + 1u : 1;
    for (size_t at = 1; at < size && !error; at += piece) {
        error = pd_query_partial_feed(reader, data + at, piece < size - at ? piece : size - at);
    }
    if (!error && !pd_query_partial_ended(reader, &end)) {
        error = pd_query_partial_finish(first.writer, &end);
        assert(!error && !pd_query_partial_ended(again, &end_again));
        assert(first.items == second.items && end.asked == end_again.asked);
    }
    pd_query_partial_writer_free(first.writer);
    pd_query_partial_reader_free(reader);
    pd_query_partial_reader_free(again);
    return 0;
}
