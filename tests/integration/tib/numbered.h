/* SPDX-License-Identifier: Apache-2.0 */
/* Records that tell their own number, so that a test can see which ones a store holds, and that
 * each is whole. */
#ifndef PD_TESTS_TIB_NUMBERED_H
#define PD_TESTS_TIB_NUMBERED_H

#include "tib/tib.h"

/* Every field of record `number` follows from the number. */
void numbered_record(uint64_t number, struct pd_path *path, struct pd_tib_record *ret_record);

/* Appends the records from first to end - 1. Returns the first error. */
int numbered_append(struct pd_tib *tib, uint64_t first, uint64_t end);

/* Scans everything. 0 when the store holds exactly the records from *ret_first to *ret_end - 1,
 * each one once and whole, and nothing is damaged; else it says on stderr what is wrong and returns
 * -1. */
int numbered_range(struct pd_tib *tib, uint64_t *ret_first, uint64_t *ret_end);

/* An empty directory under TMPDIR or /tmp; and the removal of it with the store in it. */
void numbered_make(char *ret_place, size_t size_bytes);
void numbered_wipe(const char *place);

#endif
