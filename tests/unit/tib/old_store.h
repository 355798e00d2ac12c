/* SPDX-License-Identifier: Apache-2.0 */
/* Makes an open store one of another version: of version 2, as older programs have left it, or of
 * one that is still to come. */
#ifndef PD_TESTS_TIB_OLD_STORE_H
#define PD_TESTS_TIB_OLD_STORE_H

#include <stdint.h>

#include "tib/lmdb/store.h"

/* Version 2: each path stands in a block of its own, infeasible trajectories with their raw tags.
 * 0 or a negative error. The store is to be closed next: what it has in memory is newer. */
int old_store_age(struct pd_store *store, uint32_t version);

/* Blocks of paths that are still of version 2. */
unsigned old_store_blocks(struct pd_store *store);

#endif
