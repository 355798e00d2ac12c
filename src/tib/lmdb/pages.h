/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the pages of an LMDB file, which liblmdb trusts: a flipped bit there would make it read
 * outside its memory. */
#ifndef PD_TIB_LMDB_PAGES_H
#define PD_TIB_LMDB_PAGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* LMDB has no checksums. Values carry their own (chunks, blocks of paths, the store record); what
 * is left are the pages of the trees: this checks every one that liblmdb follows before liblmdb
 * sees it. Only B-tree pages and the first page of each large value are read, so the cost is that
 * of some hundred page faults for a store of 24 million records.
 *
 * Written against LMDB 0.9 (data version 1) on little-endian 64-bit machines, the layout of mdb.c:
 * page header, node header, struct MDB_db, struct MDB_meta.
 *
 * Thread safety: works on its own mapping. The snapshot's pages stay as they are while the caller
 * holds a read transaction. */

/* Before mdb_env_open: are the two meta pages sane? `fd` is data.mdb's. -PD_E_CORRUPT,
 * -PD_E_VERSION or -errno with the words. */
int pd_lmdb_pages_check_meta(int fd, struct pd_error *error);

/* The value of `key` in database `database` as meta page `page` (0 or 1) has it, at most
 * *ret_size_bytes long, and that page's commit number. For small values, and good without
 * pd_lmdb_pages_check: no page is followed unseen. -PD_E_NOT_FOUND also when a writer replaced the
 * page meanwhile. */
int pd_lmdb_pages_value(int fd, unsigned page, const char *database, const char *key,
                        void *ret_value, size_t *ret_size_bytes, uint64_t *ret_txn_id);

/* Gives a file that mdb_env_copyfd2 has made the commit number `txn_id`. What the other meta page
 * leads to is empty, as of the commit before. */
int pd_lmdb_pages_renumber(int fd, uint64_t txn_id);

/* Checks the trees of the snapshot `txn_id`, and the list of free pages: a writer would use a page
 * again that is wrongly on it, and a tree whose root has changed to what it was some commits ago is
 * known by nothing else than its pages, which are free. -PD_E_CORRUPT with the page in words,
 * -PD_E_NOT_FOUND when two later commits have replaced that snapshot's meta page (take a new one),
 * or -errno. */
int pd_lmdb_pages_check(int fd, uint64_t txn_id, struct pd_error *error);

#endif
