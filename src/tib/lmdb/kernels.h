/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: the inner loops over columns, made for each width and for the machine's vector unit. */
#ifndef PD_TIB_LMDB_KERNELS_H
#define PD_TIB_LMDB_KERNELS_H

#include "tib/lmdb/chunk.h"

/* A loop that decides per row how wide a column is spends more time on that than on the row. So
 * each loop is compiled for each width, and all of them twice: for the oldest machine that the
 * build allows and for AVX2, of which the process takes one at its first query. The C code is the
 * same; the compiler makes the vector instructions.
 *
 * Thread safety: no state. */

struct pd_kernels {
    /* Values of rows first … first + len - 1, or of the rows listed. */
    void (*load)(const struct pd_column *column, size_t first, size_t len, uint64_t *ret_values);
    void (*gather)(const struct pd_column *column, const uint32_t *rows, size_t len,
                   uint64_t *ret_values);
    /* Rows of *first … end - 1 whose value less the base lies in low … low + span: as many as fit
     * into `room` (at least PD_FIND_GROUP); *first moves to where to go on. */
    size_t (*find)(const struct pd_column *column, uint64_t low, uint64_t span, size_t *first,
                   size_t end, uint32_t *ret_rows, size_t room);
    /* The same for rows that begin at `most` or before and end at `until` or after. Both columns
     * are 4 bytes wide; the times are less the columns' bases (until: less both). */
    size_t (*find_lasting)(const struct pd_column *stime, const struct pd_column *duration,
                           uint32_t most, uint32_t until, size_t *first, size_t end,
                           uint32_t *ret_rows, size_t room);
    /* Keeps of `rows` those that pass. */
    size_t (*narrow)(const struct pd_column *column, uint64_t low, uint64_t span, uint32_t *rows,
                     size_t len);
    /* sums[i] += coefficient * value of row first + i. */
    void (*add_scaled)(const struct pd_column *column, uint64_t coefficient, size_t first,
                       size_t len, uint64_t *sums);
    /* ret_sums[i] = the values of rows first … first + i less their bases, summed. */
    void (*prefix_sums)(const struct pd_column *column, size_t first, size_t len,
                        uint64_t *ret_sums);
    /* First index >= `first` and < `end` whose value has its bit set in `bits` (clear, with `want`
     * 0); else `end`. */
    size_t (*find_bit)(const struct pd_column *column, const uint32_t *bits, size_t first,
                       size_t end);
};

#define PD_FIND_GROUP 64u

const struct pd_kernels *pd_lmdb_kernels(void);

#endif
