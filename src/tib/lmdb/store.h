/* SPDX-License-Identifier: Apache-2.0 */
/* The LMDB backend from inside: what its files share. */
#ifndef PD_TIB_LMDB_STORE_H
#define PD_TIB_LMDB_STORE_H

#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "tib/lmdb/chunk.h"
#include "tib/lmdb/directory.h"
#include "tib/lmdb/lmdb.h"
#include "tib/lmdb_error.h"
#include "tib/tib.h"

/* Files: env.c opens and closes the directory; writer.c buffers and commits; seal.c turns the tail
 * into segments; maintain.c applies retention; snapshot.c and scan.c read; store.c is the table of
 * operations.
 *
 * Threads: the writer (one thread: append, commit, maintain, close) owns `writer`; any thread may
 * take a snapshot. `lock` guards `counters` and the pool of read transactions; `paths` and
 * `directory` have locks of their own, taken alone. No lock that a query takes is held by the
 * writer for long or for each record: off its core, it would keep the query waiting. */

#define PD_COMMIT_ROWS 20000u /* the writer's buffer: larger transactions bloat the file */
#define PD_SEAL_AGE_US (3600 * UINT64_C(1000000))
#define PD_POOL_TXNS   4u

/* The record `store` of the database `meta`, as it is on disk; little-endian. */
struct pd_store_meta {
    uint64_t xxh3; /* XXH3-64 of all bytes behind this field */
    uint32_t magic;
    uint32_t version;
    uint64_t next_row; /* records ever stored; the next one's number */
    uint64_t expired;  /* records ever removed by retention */
    uint32_t paths;    /* IDs given */
    uint32_t zero;
    uint64_t identity; /* random, of this store alone: tokens carry it */
    uint64_t txn_id;   /* of the LMDB transaction that wrote this record, each one does */
};
_Static_assert(sizeof(struct pd_store_meta) == 56, "docs/formats/tib.md");
#define PD_STORE_MAGIC       0x42544450u /* "PDTB" */
#define PD_STORE_VERSION     3u
#define PD_STORE_VERSION_OLD 2u /* is read as it is, and converted by its writer */

struct pd_store_counters {
#define X(name, text) uint64_t name;
    PD_TIB_COUNTERS(X)
#undef X
};

/* Little-endian on disk, in an array. */
struct pd_store_cursor {
    uint64_t key;
    uint64_t value;
};
_Static_assert(sizeof(struct pd_store_cursor) == 16, "docs/formats/tib.md");

struct pd_store_written {
    MDB_dbi db;
    uint64_t key;
};

/* Copies of rows' extra bytes, which stay where they are until all go. */
struct pd_extra_block;
struct pd_extra_arena {
    struct pd_extra_block *blocks; /* the latest first */
    size_t bytes;                  /* that the rows have, of PD_CHUNK_EXTRA_BYTES */
    uint64_t dropped;              /* rows whose bytes found no room */
};
/* Takes the row's extra bytes over; drops them, and counts that, where there is no room. -ENOMEM
 * leaves the row as it was. */
int pd_lmdb_extra_take(struct pd_extra_arena *arena, struct pd_row *row);
void pd_lmdb_extra_done(struct pd_extra_arena *arena);

struct pd_store_writer {
    struct pd_row *rows; /* since the last commit */
    size_t len, room;
    struct pd_extra_arena extra; /* of these rows */
    bool old_blocks;             /* blocks of paths of version 2 may be left; convert.c */
    uint64_t convert_from;       /* keys of the others are lower */
    struct pd_store_meta meta;   /* as of the last commit */
    uint64_t tail_rows;          /* that the next segment takes */
    bool tail_waits;             /* a tail exists since tail_since_us */
    uint64_t tail_since_us;
    uint64_t trusted_wall_us; /* maintain.c: retention's clock */
    uint64_t trusted_at_ns;
    uint64_t jump_since_ns;
    struct pd_store_cursor cursors[PD_TIB_CURSORS]; /* latest first */
    unsigned cursors_len;
    bool cursors_changed; /* since the last commit */
    uint64_t held_bytes;  /* holes.c: free, and could not be given back last time */
    bool holes_refused;   /* the file system has none */
    uint64_t hot_from;    /* segments with lower keys are packed or damaged */
    struct pd_store_written written[PD_DIRECTORY_WRITTEN]; /* in the transaction that is open */
    unsigned written_len;
};

struct pd_store {
    struct pd_tib head;
    struct pd_tib_config config;
    enum pd_tib_mode mode;
    int lock_fd; /* writer.lock; -1: none held */
    /* NULL: a directory whose writer has not made the store yet, read as an empty one */
    MDB_env *env;
    MDB_dbi path_db, tail_db, segment_db, meta_db;
    char *location;
    uint64_t identity;     /* of the store that was opened; 0: none was there */
    uint64_t data_inode;   /* of the data.mdb that is open */
    uint64_t next_look_ms; /* when a reader looks again whether it was replaced; guarded by lock */
    int env_error;         /* why `env` could not be opened again; guarded by lock */
    uint64_t file_id[2];   /* device and inode of the directory */
    struct pd_store *next_open; /* env.c: the list of stores that this process has open */
    struct pd_paths *paths;
    struct pd_directory *directory;
    struct pd_store_writer writer;

    pthread_mutex_t lock;
    struct pd_store_counters counters;
    MDB_txn *pool[PD_POOL_TXNS]; /* reset, ready to be renewed */
    unsigned pool_len;
    unsigned txns_live;

    pthread_mutex_t view_lock; /* taken alone, but for the locks of `paths` and `directory` */
    struct pd_lmdb_view *view; /* the latest; NULL: none yet */
    _Atomic uint64_t asked_ns; /* when a view was last asked for; 0: never. Relaxed: a hint */
};

struct pd_store_snapshot {
    struct pd_tib_snapshot head;
    struct pd_store *store;
    MDB_txn *txn; /* NULL: an empty store */
    struct pd_store_meta meta;
    struct pd_lmdb_view *view; /* NULL until a scan asks for it */
};

/* env.c. open fills the store as far as it gets; close takes what is there. */
int pd_lmdb_store_env_open(struct pd_store *store, const char *location, struct pd_error *error);
void pd_lmdb_store_env_close(struct pd_store *store);
#define PD_COMPACT_FILE "compact.mdb"

/* Opens data.mdb anew, which may be another file by now. -PD_E_BUSY: a snapshot is in use;
 * pd_lmdb_store_reopen waits for it. After other errors the store answers with that error until the
 * next try. The lock is held, or taken. */
int pd_lmdb_store_reopen_locked(struct pd_store *store);
int pd_lmdb_store_reopen(struct pd_store *store);

/* Has compaction put another file in the place of the one that is open? Looks now and then. The
 * lock is held. */
bool pd_lmdb_store_replaced(struct pd_store *store);

/* -PD_E_CORRUPT as well when LMDB's commit number is another than the record's. */
int pd_lmdb_store_meta_get(struct pd_store *store, MDB_txn *txn, struct pd_store_meta *ret_meta);
int pd_lmdb_store_meta_put(struct pd_store *store, MDB_txn *txn, const struct pd_store_meta *meta);

/* Of data.mdb, before it is opened: does what both meta pages lead to have their commit numbers? */
int pd_lmdb_store_numbers_check(int fd, struct pd_error *error);

/* Begins a transaction that writes; opens the environment anew where LMDB has given it up. */
int pd_lmdb_store_txn_begin(struct pd_store *store, MDB_txn **ret_txn);

/* Ends a transaction that wrote: with `err` 0, puts the store record and commits, and then `meta`
 * is the writer's; else aborts and returns `err`. */
int pd_lmdb_store_txn_end(struct pd_store *store, MDB_txn *txn, const struct pd_store_meta *meta,
                          int err);

/* Loads the paths with IDs below `len` that are not in the table yet. Damaged blocks are skipped.
 */
int pd_lmdb_store_paths_load(struct pd_store *store, MDB_txn *txn, uint32_t len);

/* Keys are 8 bytes, big-endian, so that LMDB's order is that of the numbers. */
struct pd_store_key {
    uint64_t big_endian;
};
static inline MDB_val pd_store_key_val(struct pd_store_key *key, uint64_t number)
{
    key->big_endian = htobe64(number);
    return (MDB_val){sizeof key->big_endian, &key->big_endian};
}
/* False when a key has not 8 bytes. */
static inline bool pd_store_key_number(const MDB_val *key, uint64_t *ret_number)
{
    uint64_t big_endian;
    if (key->mv_size != sizeof big_endian) {
        return false;
    }
    memcpy(&big_endian, key->mv_data, sizeof big_endian);
    *ret_number = be64toh(big_endian);
    return true;
}

/* Opens a chunk that a cursor stands on; verified, once for each chunk and process. -PD_E_CORRUPT,
 * -PD_E_VERSION. */
int pd_lmdb_store_chunk(struct pd_store *store, const MDB_val *key, const MDB_val *value,
                        struct pd_chunk *ret_chunk);

/* The same, verified whatever is known of it, which is noted. */
int pd_lmdb_store_chunk_verify(struct pd_store *store, uint64_t key, const MDB_val *value,
                               struct pd_chunk *ret_chunk);

/* written.c: chunks that this process writes are read back by the writer, so that no reader has to.
 * `put` is called for each one before it is committed, `settle` after each transaction that wrote:
 * did it commit? */
void pd_lmdb_store_written_put(struct pd_store *store, MDB_dbi db, uint64_t key,
                               const MDB_val *value);
void pd_lmdb_store_written_settle(struct pd_store *store, bool committed);
extern uint64_t pd_lmdb_written_asked_within_ns; /* else nothing is read back; tests lengthen it */

/* cursors.c */
int pd_lmdb_store_cursors_get(struct pd_store *store, MDB_txn *txn);
int pd_lmdb_store_cursors_put(struct pd_store *store, MDB_txn *txn);

/* writer.c */
int pd_lmdb_store_writer_open(struct pd_store *store);
int pd_lmdb_store_writer_resume(
    struct pd_store *store); /* after reopening: what the file says counts */
int pd_lmdb_store_append(struct pd_tib *tib, const struct pd_tib_record *records, size_t n);
int pd_lmdb_store_commit(struct pd_tib *tib);
int pd_lmdb_store_set_cursor(struct pd_tib *tib, uint64_t key, uint64_t value);
int pd_lmdb_store_cursor(struct pd_tib *tib, uint64_t key, uint64_t *ret_value);
bool pd_lmdb_store_near_full(struct pd_store *store, MDB_txn *txn);
int pd_lmdb_store_chunk_put(struct pd_store *store, MDB_txn *txn, MDB_dbi db,
                            const struct pd_chunk_input *input);

/* seal.c: one segment of all undamaged tail rows and `extra` more (numbered from `extra_first_row`
 * on); drops the tail. */
int pd_lmdb_store_seal(struct pd_store *store, MDB_txn *txn, const struct pd_row *extra,
                       size_t extra_len, uint64_t extra_first_row);

/* convert.c: brings what is left of a store of version 2 to this one, some of it in one call. */
int pd_lmdb_store_convert(struct pd_store *store);

/* cold.c: packs segments that have not changed for a while; some in one call. */
int pd_lmdb_store_cool(struct pd_store *store, uint64_t now_us);
int pd_lmdb_store_pack(struct pd_store *store, uint64_t before_us); /* last etime before: now */

/* holes.c: gives free pages back to the file system. */
int pd_lmdb_store_punch(struct pd_store *store);
/* What the files take on the disk. */
int pd_lmdb_store_bytes_file(struct pd_store *store, uint64_t *ret_bytes);

/* compact.c */
int pd_lmdb_store_compact(struct pd_tib *tib,
                          void (*progress)(void *context, uint64_t done, uint64_t all),
                          void *context);

/* maintain.c */
int pd_lmdb_store_seal_tail(struct pd_store *store); /* whatever its age */
int pd_lmdb_store_maintain(struct pd_tib *tib, uint64_t now_us);
void pd_lmdb_store_retain(struct pd_tib *tib, uint64_t max_bytes, uint64_t max_age_s);

/* snapshot.c */
int pd_lmdb_store_snapshot(struct pd_tib *tib, struct pd_tib_snapshot **ret_snapshot);
void pd_lmdb_store_release(struct pd_tib_snapshot *snapshot);
int pd_lmdb_store_stat(struct pd_tib *tib, struct pd_tib_stat *ret_stat);
int pd_lmdb_store_check(struct pd_tib *tib, void (*report)(void *context, const char *finding),
                        void *context);
int pd_lmdb_store_token(struct pd_tib_snapshot *snapshot, char **ret_token);
uint64_t pd_lmdb_store_version(const struct pd_tib_snapshot *snapshot);
/* Number of the first record that was not there when `since` was given; 0 for NULL. -PD_E_VALUE:
 * not a token of this store. */
int pd_lmdb_store_since(const struct pd_store_snapshot *snapshot, const char *since,
                        uint64_t *ret_row);
int pd_lmdb_store_bytes_used(struct pd_store *store, MDB_txn *txn, uint64_t *ret_bytes);

/* scan.c */
int pd_lmdb_store_scan(struct pd_tib_snapshot *snapshot, const struct pd_tib_filter *filter,
                       int (*visit)(void *context, const struct pd_tib_record *records, size_t n),
                       void *context);

/* group.c */
int pd_lmdb_store_group(struct pd_tib_snapshot *snapshot, const struct pd_tib_filter *filter,
                        const struct pd_tib_grouping *grouping,
                        int (*visit)(void *context, const struct pd_tib_record *groups, size_t n),
                        void *context);

#endif
