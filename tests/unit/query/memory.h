/* SPDX-License-Identifier: Apache-2.0 */
/* A store in memory, and texts and partial results as bytes: what tests of queries ask, and what
 * they get. */
#ifndef PD_TESTS_QUERY_MEMORY_H
#define PD_TESTS_QUERY_MEMORY_H

#include "query/merge.h"
#include "query/query.h"
#include "tib/tib.h"

struct store {
    struct pd_tib_snapshot head;
    const struct pd_tib_record *records;
    size_t len;
    int code; /* what a scan returns in the end */
};

/* Its one token is "t-1". */
struct pd_tib_snapshot *open_store(struct store *store, const struct pd_tib_record *records,
                                   size_t len);

/* Parameters as "name=value name=value". */
struct pd_query make_query(const char *name, const char *params);

/* What a sink was given, with a NUL behind. */
struct bytes {
    char *at;
    size_t len;
};
int bytes_keep(void *bytes, const char *more, size_t len); /* struct pd_query_sink */
void bytes_free(struct bytes *bytes);

/* Bytes as a source, in pieces of at most `piece`. */
struct reading {
    const struct bytes *bytes;
    size_t at, piece;
    uint32_t missing; /* hosts that were heard of */
};
struct pd_partial_source reading_begin(struct reading *reading, const struct bytes *bytes,
                                       size_t piece);

#endif
