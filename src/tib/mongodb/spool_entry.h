/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of the spool's entries: written into the buffer of a commit, read back with every length
 * checked. */
#ifndef PD_TIB_MONGODB_SPOOL_ENTRY_H
#define PD_TIB_MONGODB_SPOOL_ENTRY_H

#include "tib/mongodb/spool.h"

#define PD_SPOOL_PREFIX 8u /* in the buffer, before each entry: its length */

struct pd_spool_entry_view {
    uint32_t records;
    uint32_t cursors;
};

/* Ends the last entry of the buffer; cursors that changed go with it. */
int pd_mongodb_spool_buffer_end(struct pd_spool *spool);
/* Puts the checksum into the entry at this place of the buffer; returns its length. */
uint64_t pd_mongodb_spool_entry_seal(struct pd_spool *spool, size_t at,
                                     struct pd_spool_entry_view *ret_view);

bool pd_mongodb_spool_entry_holds(const MDB_val *value);
/* Adds records seq … end to the batch; those of a damaged entry to its count. False, and no change:
 * there is no room. */
bool pd_mongodb_spool_entry_read(const MDB_val *value, uint64_t seq, uint64_t end,
                                 struct pd_spool_batch *batch);

#endif
