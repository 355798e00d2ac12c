/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of tables: ends of flows, times, paths, numbers as people read them. */
#ifndef PD_QUERY_ROWS_CELLS_H
#define PD_QUERY_ROWS_CELLS_H

#include <stdint.h>

#include "base/clock.h"
#include "base/flow_id.h"
#include "base/path.h"
#include "query/rows/rows.h"
#include "tib/record.h"

/* Thread safety: all of them work on the caller's memory. */

/* The next cell or cells of the table. */
/* What others wrote, cut to less than `most` bytes; whole in CSV. */
void pd_rows_word(struct pd_rows_table *table, const char *text, size_t most);
/* In CSV numbers have no commas, bytes are bytes, times RFC 3339 and spans microseconds. */
void pd_rows_number(struct pd_rows_table *table, uint64_t number);
void pd_rows_bytes(struct pd_rows_table *table, uint64_t bytes);
void pd_rows_time(struct pd_rows_table *table, uint64_t wall_us);
void pd_rows_span(struct pd_rows_table *table, uint64_t span_us);
void pd_rows_flow(struct pd_rows_table *table,
                  const struct pd_flow_id *flow); /* both ends, protocol */
void pd_rows_way(const struct pd_style *style, struct pd_rows_table *table,
                 const struct pd_claim *claim);
void pd_rows_path(const struct pd_style *style, struct pd_rows_table *table,
                  const struct pd_path *path);
void pd_rows_hops(struct pd_rows_table *table, const struct pd_path *path);
void pd_rows_times(struct pd_rows_table *table,
                   const struct pd_tib_record *record); /* first packet, how long */

#endif
