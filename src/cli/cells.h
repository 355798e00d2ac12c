/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of tables: ends of flows, times, paths, numbers as people read them. */
#ifndef PD_CLI_CELLS_H
#define PD_CLI_CELLS_H

#include <stdint.h>

#include "base/clock.h"
#include "base/flow_id.h"
#include "base/path.h"
#include "cli/text.h"
#include "tib/record.h"

/* Thread safety: all of them work on the caller's memory. */

/* "10.1.1.2:80", "[fd00::2]:80"; the address alone for a protocol without ports. */
const char *pd_cell_end(const struct pd_addr *addr, const struct pd_flow_id *flow, uint16_t port,
                        char text[PD_END_TEXT_BYTES]);

/* RFC 3339 with a blank instead of the T: easier on the eye, and still read by --from and --to. */
const char *pd_cell_time_text(uint64_t wall_us, char text[PD_TIME_TEXT_BYTES]);

const char *pd_cell_plural(uint64_t n); /* "s" or "" */

/* The next cell or cells of the table. */
/* What others wrote, cut to less than `most` bytes; whole in CSV. */
void pd_cell_word(struct pd_cli_table *table, const char *text, size_t most);
/* In CSV numbers have no commas, bytes are bytes, times RFC 3339 and spans microseconds. */
void pd_cell_number(struct pd_cli_table *table, uint64_t number);
void pd_cell_bytes(struct pd_cli_table *table, uint64_t bytes);
void pd_cell_time(struct pd_cli_table *table, uint64_t wall_us);
void pd_cell_span(struct pd_cli_table *table, uint64_t span_us);
void pd_cell_flow(struct pd_cli_table *table,
                  const struct pd_flow_id *flow); /* both ends, protocol */
void pd_cell_way(const struct pd_style *style, struct pd_cli_table *table,
                 const struct pd_claim *claim);
void pd_cell_path(const struct pd_style *style, struct pd_cli_table *table,
                  const struct pd_path *path);
void pd_cell_hops(struct pd_cli_table *table, const struct pd_path *path);
void pd_cell_times(struct pd_cli_table *table,
                   const struct pd_tib_record *record); /* first packet, how long */

#endif
