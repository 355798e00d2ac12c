/* SPDX-License-Identifier: Apache-2.0 */
/* The spool: records that were committed and are not yet known to be on the server, in an LMDB file
 * of this host. */
#ifndef PD_TIB_MONGODB_SPOOL_H
#define PD_TIB_MONGODB_SPOOL_H

#include <lmdb.h>
#include <stdbool.h>
#include <stdint.h>

#include "tib/tib.h"

/* Every commit goes through here, also while the server answers: one path, and the same promise in
 * good times and bad. A commit is one LMDB transaction (records, their numbers, cursors), durable
 * when it returns; the sender takes entries from the front and drops them when the server has
 * acknowledged them. So an agent that is killed loses nothing that was committed, and what was sent
 * twice is recognised by its number.
 *
 * Threads: one puts, another takes and drops; LMDB orders them. One process: whoever holds the lock
 * of spool.lock.
 *
 * Database `queue`: number of an entry's first record (8 bytes, big-endian) → entry. `meta`:
 * "spool" → struct of spool.c. An entry: XXH3 of the rest (8 bytes), numbers of records and of
 * cursors (4 bytes each), cursors (16 bytes each), records; little-endian throughout. Bytes and
 * validity: docs/formats/mongodb.md. */

#define PD_SPOOL_ENTRY_RECORDS 1000u
#define PD_SPOOL_IDENTITY      33 /* 32 digits and NUL */

struct pd_spool_cursor {
    uint64_t key, value;
};

struct pd_spool {
    MDB_env *env;
    MDB_dbi queue_db, meta_db;
    int lock_fd;
    uint64_t max_bytes; /* of entries */
    char identity[PD_SPOOL_IDENTITY];
    uint64_t next_seq;                              /* of the next record to be committed */
    struct pd_spool_cursor cursors[PD_TIB_CURSORS]; /* latest first; the writer's thread only */
    unsigned cursors_len;
    bool cursors_changed;
    /* entries of the next commit, one behind the other; the writer's thread only */
    uint8_t *buffer;
    size_t buffer_bytes, buffer_room;
    uint32_t buffered; /* records */
    size_t entry_at;   /* where the last entry of the buffer begins */
    uint32_t entry_records;
};

/* `host_id` is noted in a new spool; records of another host are never sent as this one's. */
int pd_mongodb_spool_open(const char *directory, uint32_t host_id, uint64_t max_bytes,
                          struct pd_spool **ret_spool, struct pd_error *error);
void pd_mongodb_spool_close(
    struct pd_spool *spool); /* NULL is fine; what was not committed is gone */

int pd_mongodb_spool_add(struct pd_spool *spool,
                         const struct pd_tib_record *record); /* to the buffer */
/* The buffer becomes durable, or (negative error: -PD_E_FULL, …) is thrown away. Cursors stay. */
int pd_mongodb_spool_commit(struct pd_spool *spool);
void pd_mongodb_spool_set_cursor(struct pd_spool *spool, uint64_t key, uint64_t value);

/* Records from the front of the queue, as many whole entries as fit into `most`. */
struct pd_spool_batch {
    struct pd_tib_record *records; /* paths point into `paths`, and so on */
    struct pd_path *paths;
    struct pd_claim *claims;
    uint8_t **extras;
    uint32_t len, room;
    uint64_t first_seq;
    uint64_t damaged; /* records of entries whose checksum did not hold: left out */
    /* of the last entry looked at, damaged or not; first_seq - 1 when there was none */
    uint64_t end_seq;
    struct pd_spool_cursor cursors[PD_TIB_CURSORS]; /* as of end_seq, if cursors_len is not 0 */
    unsigned cursors_len;
};
int pd_mongodb_spool_batch_init(struct pd_spool_batch *batch, uint32_t room);
void pd_mongodb_spool_batch_done(struct pd_spool_batch *batch);
int pd_mongodb_spool_take(struct pd_spool *spool, struct pd_spool_batch *batch);
int pd_mongodb_spool_drop(struct pd_spool *spool,
                          uint64_t end_seq); /* entries up to and with end_seq */

/* First number in the queue; next_seq when it is empty. */
int pd_mongodb_spool_front(struct pd_spool *spool, uint64_t *ret_seq);
/* Number of entries that do not hold. */
int pd_mongodb_spool_check(struct pd_spool *spool, uint64_t *ret_damaged);
uint64_t pd_mongodb_spool_used_bytes(struct pd_spool *spool);

#endif
