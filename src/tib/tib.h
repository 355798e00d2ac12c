/* SPDX-License-Identifier: Apache-2.0 */
/* TIB: the store of finished records ⟨flow ID, path, stime, etime, bytes, pkts⟩, behind one
 * interface for all backends. */
#ifndef PD_TIB_TIB_H
#define PD_TIB_TIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "tib/filter.h"

/* One process writes (one thread), any number of processes and threads read through snapshots. What
 * was committed survives kill -9 at any moment; an uncommitted batch is wholly absent then. Each
 * backend lives in a folder of its own and is listed in src/tib/registry.c; all pass the same
 * conformance suite (tests/unit/tib/conformance.c).
 *
 * Usage, writer: pd_tib_append(…) many times, pd_tib_commit once a second or every 20K records,
 * pd_tib_maintain now and then. Usage, reader: pd_tib_snapshot → pd_tib_scan → pd_tib_release; hold
 * a snapshot no longer than one query runs. */

enum pd_tib_mode {
    PD_TIB_READ,
    PD_TIB_WRITE
}; /* WRITE creates what is missing; a second writer gets -PD_E_BUSY */

struct pd_tib_config {
    /* Retention: oldest records go when the pages in use grow beyond; 0: no limit. What is free
     * goes back to the file system. */
    uint64_t max_bytes;
    uint64_t max_age_s; /* retention: records whose etime is older go; 0: no limit */
    /* segments whose last record is older are packed: half the bytes, slower to read; 0: never */
    uint64_t cold_after_s;
    uint64_t map_bytes; /* most the store may ever take on disk (LMDB map); 0: default */
    /* Stores that many hosts share, WRITE: whose records these are (not 0), and where they wait
     * while the server is away. */
    uint32_t host_id;
    const char *spool;    /* directory; NULL: default */
    uint64_t spool_bytes; /* most that may wait; 0: default */
};

#define PD_TIB_COUNTERS(X)                                              \
    X(appended, "records given to the store")                           \
    X(stored, "records committed")                                      \
    X(lost_full, "records lost: no room on the disk or in the map")     \
    X(lost_error, "records lost: the store failed otherwise")           \
    X(tags_dropped, "infeasible records stored without their raw tags") \
    X(extra_dropped, "records stored without their further columns")    \
    X(converted, "parts of an older format converted")                  \
    X(expired, "records removed by retention")                          \
    X(commits, "transactions committed")                                \
    X(segments_sealed, "segments sealed")                               \
    X(segments_packed, "cold segments packed")                          \
    X(sent, "records that the store's server has acknowledged")         \
    X(server_errors, "attempts to reach the store's server that failed")

struct pd_tib_stat {
#define X(name, text) uint64_t name;
    PD_TIB_COUNTERS(X) /* since this process opened the store for writing */
#undef X
    uint64_t records; /* in the store now */
    uint64_t spooled; /* of these, not yet known to be on the server */
    uint64_t segments;
    uint64_t paths;
    uint64_t bytes_used;   /* of the files, pages in use */
    uint64_t bytes_file;   /* that the files take on the disk */
    uint64_t min_stime_us; /* 0 when empty */
    uint64_t max_etime_us;
};

#define PD_TIB_CURSORS 64

struct pd_tib;
struct pd_tib_snapshot;

struct pd_tib_ops {
    const char *scheme; /* "" for a directory, "mongodb" for mongodb://… */
    int (*open)(const char *location, enum pd_tib_mode mode, const struct pd_tib_config *config,
                struct pd_tib **ret_tib, struct pd_error *error);
    void (*close)(struct pd_tib *tib); /* commits first when writing */
    /* Buffers records for the next commit; commits by itself when the buffer is full. -PD_E_FULL or
     * -errno mean that these records (or earlier ones of the buffer) were lost and counted; the
     * store stays usable. */
    int (*append)(struct pd_tib *tib, const struct pd_tib_record *records, size_t n);
    int (*commit)(struct pd_tib *tib); /* durable when it returns 0 */
    /* Notes how far a source of records has been read; becomes durable with the next commit of
     * records, wholly or not at all. A commit that loses its records loses nothing here: they will
     * not come again. The latest PD_TIB_CURSORS keys are kept. */
    int (*set_cursor)(struct pd_tib *tib, uint64_t key, uint64_t value);
    /* -PD_E_NOT_FOUND: nothing is known about this key. */
    int (*cursor)(struct pd_tib *tib, uint64_t key, uint64_t *ret_value);
    int (*maintain)(struct pd_tib *tib,
                    uint64_t now_us); /* seals by age, applies retention; bounded work a call */
    /* Other retention from the next `maintain` on; from any thread. */
    void (*retain)(struct pd_tib *tib, uint64_t max_bytes, uint64_t max_age_s);
    int (*stat)(struct pd_tib *tib, struct pd_tib_stat *ret_stat); /* from any thread */
    int (*snapshot)(struct pd_tib *tib,
                    struct pd_tib_snapshot **ret_snapshot); /* from any thread */
    void (*release)(struct pd_tib_snapshot *snapshot);
    /* Calls `visit` with batches of matching records, in no order; stops early when it returns
     * non-zero and returns that. One call at a time, but not all from the caller's thread. */
    int (*scan)(struct pd_tib_snapshot *snapshot, const struct pd_tib_filter *filter,
                int (*visit)(void *context, const struct pd_tib_record *records, size_t n),
                void *context);
    /* Calls `visit` with batches of groups, in the order asked for; paths are the snapshot's or
     * those of live records. NULL: done by scanning, in group.c. Errors other than the visitor's
     * come before its first call. */
    int (*group)(struct pd_tib_snapshot *snapshot, const struct pd_tib_filter *filter,
                 const struct pd_tib_grouping *grouping,
                 int (*visit)(void *context, const struct pd_tib_record *groups, size_t n),
                 void *context);
    /* Text for `since` of later filters, of letters, digits and .:_- alone: no record comes twice
     * or never. The caller frees it. Scans refuse one that this store did not give with
     * -PD_E_VALUE. */
    int (*token)(struct pd_tib_snapshot *snapshot, char **ret_token);
    /* See pd_tib_version. NULL: always 0. */
    uint64_t (*version)(const struct pd_tib_snapshot *snapshot);
    /* Verifies every checksum; each damage is reported by place. 0 or -PD_E_CORRUPT. */
    int (*check)(struct pd_tib *tib, void (*report)(void *context, const char *finding),
                 void *context);
    /* Packs what can be packed and gives the bytes back that the records do not need. Opened for
     * writing; -PD_E_BUSY while a snapshot of this process is in use, those of others stay good.
     * `progress` (may be NULL) hears how much of `all` is done, in any unit. After any failure the
     * store is as it was. NULL: -PD_E_UNSUPPORTED, the server does so itself. */
    int (*compact)(struct pd_tib *tib, void (*progress)(void *context, uint64_t done, uint64_t all),
                   void *context);
};

/* Common heads of each backend's own structs. */
struct pd_tib {
    const struct pd_tib_ops *ops;
};
struct pd_tib_snapshot {
    const struct pd_tib_ops *ops;
    _Atomic uint64_t damaged;
};

/* `location`: a directory, or SCHEME://… of a backend; that may hold a password: show pd_tib_shown
 * to people. */
int pd_tib_open(const char *location, enum pd_tib_mode mode, const struct pd_tib_config *config,
                struct pd_tib **ret_tib, struct pd_error *error);
#define PD_TIB_SHOWN_BYTES 300
/* The location without user, password and options, cut where it does not fit; returns `text`. */
const char *pd_tib_shown(const char *location, char text[PD_TIB_SHOWN_BYTES]);
void pd_tib_close(struct pd_tib *tib); /* NULL is fine */
int pd_tib_append(struct pd_tib *tib, const struct pd_tib_record *records, size_t n);
int pd_tib_commit(struct pd_tib *tib);
int pd_tib_set_cursor(struct pd_tib *tib, uint64_t key, uint64_t value);
int pd_tib_cursor(struct pd_tib *tib, uint64_t key, uint64_t *ret_value);
int pd_tib_maintain(struct pd_tib *tib, uint64_t now_us);
void pd_tib_retain(struct pd_tib *tib, uint64_t max_bytes, uint64_t max_age_s);
int pd_tib_stat(struct pd_tib *tib, struct pd_tib_stat *ret_stat);
int pd_tib_snapshot(struct pd_tib *tib, struct pd_tib_snapshot **ret_snapshot);
void pd_tib_release(struct pd_tib_snapshot *snapshot); /* NULL is fine */
int pd_tib_scan(struct pd_tib_snapshot *snapshot, const struct pd_tib_filter *filter,
                int (*visit)(void *context, const struct pd_tib_record *records, size_t n),
                void *context);
/* `snapshot` may be NULL here: live records alone. */
int pd_tib_group(struct pd_tib_snapshot *snapshot, const struct pd_tib_filter *filter,
                 const struct pd_tib_grouping *grouping,
                 int (*visit)(void *context, const struct pd_tib_record *groups, size_t n),
                 void *context);
int pd_tib_token(struct pd_tib_snapshot *snapshot, char **ret_token);
/* A number that every change of the store makes another one: snapshots of one open store with the
 * same number are equal. 0: not known. */
uint64_t pd_tib_version(const struct pd_tib_snapshot *snapshot);
/* Damaged parts (segments, commits, blocks of paths) that scans of this snapshot could not read and
 * left out: when it is not 0 after a scan, the answer is not complete. */
uint64_t pd_tib_snapshot_damaged(const struct pd_tib_snapshot *snapshot);
int pd_tib_check(struct pd_tib *tib, void (*report)(void *context, const char *finding),
                 void *context);
int pd_tib_compact(struct pd_tib *tib, void (*progress)(void *context, uint64_t done, uint64_t all),
                   void *context);
extern const struct pd_tib_ops
    *const pd_tib_backends[]; /* NULL-terminated; the first has scheme "" */

#endif
