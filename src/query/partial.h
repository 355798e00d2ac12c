/* SPDX-License-Identifier: Apache-2.0 */
/* Partial results: the groups that one server has for a query, as servers send them to each other
 * along an aggregation tree. */
#ifndef PD_QUERY_PARTIAL_H
#define PD_QUERY_PARTIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "query/fold.h"
#include "query/plan.h"
#include "query/query.h"
#include "tib/budget.h"

/* What merges is not an answer but what it is made of: groups (struct pd_tib_record) or sums by a
 * small key (struct pd_query_sums). The form is a stream of items (docs/formats/partial-result.md),
 * each at most PD_PARTIAL_ITEM_MAX_BYTES: so neither end holds more than one, beside the paths,
 * which are sent once each and referred to by number. A group names only the fields that differ
 * from those of the group before: some 15 bytes for a flow of a top-k.
 *
 * Thread safety: works on the caller's memory; a writer or reader belongs to one thread at a time.
 */

#define PD_PARTIAL_VERSION        3u
#define PD_PARTIAL_ITEM_MAX_BYTES 1024u
#define PD_PARTIAL_REASON_BYTES   128u /* of why a host is missing, with the final NUL */

/* What is said of the hosts below, at the end. */
struct pd_partial_end {
    bool complete;     /* no store was damaged, no sum capped */
    uint64_t asked;    /* hosts, this one included */
    uint64_t answered; /* of these; the others are listed as missing */
    /* the longest chain of processor time: this host's own and the longest of those below */
    uint64_t critical_us;
    uint64_t bytes; /* received over all links below */
};

/* ---- writing ---- */

struct pd_partial_writer;

/* Writes the head. Memory for the table of paths is charged to `budget`, which must outlive the
 * writer. Paths that are given are not copied: they must outlive it too. Errors of the sink stick;
 * pd_query_partial_finish returns them. -ENOMEM. */
int pd_query_partial_begin(const struct pd_query_sink *sink, struct pd_tib_budget *budget,
                           struct pd_partial_writer **ret_writer);
int pd_query_partial_put_groups(struct pd_partial_writer *writer,
                                const struct pd_tib_record *groups, size_t n);
int pd_query_partial_put_sums(struct pd_partial_writer *writer, const struct pd_query_sums *sums,
                              size_t n);
/* The reason is cut where it does not fit. */
int pd_query_partial_put_missing(struct pd_partial_writer *writer, uint64_t host,
                                 const char *reason);
int pd_query_partial_finish(struct pd_partial_writer *writer, const struct pd_partial_end *end);
/* The writer as a place for items. */
struct pd_items pd_query_partial_items(struct pd_partial_writer *writer);
bool pd_query_partial_stopped(const struct pd_partial_writer *writer); /* the sink failed */
void pd_query_partial_writer_free(struct pd_partial_writer *writer);   /* NULL is fine */

/* ---- reading ---- */

/* Called while bytes are fed; a non-zero return ends the reading with that value. Paths stay as
 * long as the reader. */
struct pd_partial_handler {
    void *context;
    int (*group)(void *context, const struct pd_tib_record *group);
    int (*sums)(void *context, const struct pd_query_sums *sums);
    int (*missing)(void *context, uint64_t host, const char *reason);
};

struct pd_partial_reader;

/* `budget` pays for the paths. NULL without memory. */
struct pd_partial_reader *pd_query_partial_reader_new(const struct pd_partial_handler *handler,
                                                      struct pd_tib_budget *budget);
/* Bytes as they come, in pieces of any size. -PD_E_SYNTAX, -PD_E_VERSION, -PD_E_TOO_LARGE (the
 * budget), -ENOMEM, or what the handler returned; nothing can be fed after an error. */
int pd_query_partial_feed(struct pd_partial_reader *reader, const void *bytes, size_t len);
/* After the last byte. -PD_E_TRUNCATED: the end had not come. */
int pd_query_partial_ended(const struct pd_partial_reader *reader, struct pd_partial_end *ret_end);
void pd_query_partial_reader_free(struct pd_partial_reader *reader); /* NULL is fine */

#endif
