/* SPDX-License-Identifier: Apache-2.0 */
/* Hops' samples of one flow's record, gathered: how often which code came from which hop. */
#ifndef PD_TELEMETRY_COUNTS_H
#define PD_TELEMETRY_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A flow has few distinct codes, so that a small table of those that came takes less than arrays of
 * all codes for each hop, and grows with what is in it. What all tables of a process may take is
 * bounded by a common budget of bytes: beyond it samples are left out, which the caller counts.
 *
 * Thread safety: one thread for all tables of a budget. */

struct pd_telemetry_cell {
    uint8_t series; /* which value: a number of the caller's */
    uint8_t hop;    /* 0: of the path as a whole */
    uint16_t code;
    uint32_t count; /* stops at its greatest number */
};

struct pd_telemetry_counts { /* zeroed: empty */
    struct pd_telemetry_cell *cells;
    uint32_t len, room; /* room: a power of 2 */
};

/* False: there is no room. `budget`: bytes that tables may take in all, less what they do. */
bool pd_telemetry_counts_add(struct pd_telemetry_counts *counts, size_t *budget, unsigned series,
                             unsigned hop, unsigned code);
/* Brings the cell that such a sample will be added to into the cache, for many flows in turn. */
void pd_telemetry_counts_prefetch(const struct pd_telemetry_counts *counts, unsigned series,
                                  unsigned hop, unsigned code);
void pd_telemetry_counts_clear(struct pd_telemetry_counts *counts, size_t *budget);

/* Writes the cells, `counts->len` of them, by series, hop and code. */
void pd_telemetry_counts_sorted(const struct pd_telemetry_counts *counts,
                                struct pd_telemetry_cell *ret_cells);

#endif
