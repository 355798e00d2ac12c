/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the MongoDB backend share: the server, the sender, the store, its snapshots. */
#ifndef PD_TIB_MONGODB_STORE_H
#define PD_TIB_MONGODB_STORE_H

#include <mongoc/mongoc.h>
#include <pthread.h>

#include "base/log.h"
#include "tib/mongodb/document.h"
#include "tib/mongodb/mongodb.h"
#include "tib/mongodb/spool.h"

/* Collections: `records` (document.h) and `hosts`: one document per writer, with the number up to
 * which its records are whole on the server, and one document `store` with the identity that tokens
 * carry. A writer is a spool: if a host loses its spool, the new one is another writer of the same
 * host, so no number is ever given twice. Readers count records up to each writer's number only.
 *
 * Threads: append, commit and cursors on the thread that owns the store; the sender has a thread of
 * its own and is the only one that writes to the server; snapshots and stat from any thread. One
 * lock, `lock`, guards what they share; nothing waits for the network while it holds it. */

/* ---- server.c: the connection ---- */

struct pd_mongo_server {
    mongoc_client_pool_t *pool; /* thread-safe */
    char *database;
    char *place;      /* location without user, password and options: for people */
    char *secrets[2]; /* user, password: never in a text for people */
};

int pd_mongodb_server_open(const char *location, struct pd_mongo_server *ret_server,
                           struct pd_error *error);
void pd_mongodb_server_close(struct pd_mongo_server *server);

/* A client of the pool with one collection; `give` takes it back. -PD_E_BUSY: too many are out. */
struct pd_mongo_client {
    struct pd_mongo_server *server;
    mongoc_client_t *client;
    mongoc_collection_t *records, *hosts;
};
int pd_mongodb_client_take(struct pd_mongo_server *server, struct pd_mongo_client *ret_client);
void pd_mongodb_client_give(struct pd_mongo_client *client);

/* The project's code for what libmongoc says, and (error not NULL) its words without secrets. */
int pd_mongodb_fail(const struct pd_mongo_server *server, const bson_error_t *mongo,
                    struct pd_error *error);

#define PD_MONGO_QUERY_MS                                                  \
    30000 /* a query that takes longer is given up, here and on the server \
           */

/* ---- hosts.c: who writes, and how far each has got ---- */

struct pd_mongo_writer {
    uint32_t host;
    uint32_t writer;
    uint64_t committed;
    uint64_t after; /* records up to here are left out: `since` */
};

#define PD_MONGO_IDENTITY 17 /* 16 digits and NUL */
struct pd_mongo_writers {
    char identity[PD_MONGO_IDENTITY]; /* of the store; empty: nobody has written yet */
    struct pd_mongo_writer *writers;
    size_t len, room;
};

/* All writers, or those of one host (host_only). */
int pd_mongodb_writers_load(struct pd_mongo_client *client, bool host_only, uint32_t host,
                            struct pd_mongo_writers *ret_writers, struct pd_error *error);
void pd_mongodb_writers_done(struct pd_mongo_writers *writers);

/* What the server knows of this spool. */
struct pd_mongo_registration {
    uint32_t writer;
    uint64_t committed;   /* 0: nothing yet */
    uint64_t host_stored; /* records of all writers of the host, as far as they were counted */
    uint64_t removed;     /* of this writer */
    uint64_t min_stime_us, max_etime_us;
    bool ttl;     /* the server removes what has expired */
    bool min_max; /* and can group with $min and $max */
};
int pd_mongodb_register(struct pd_mongo_client *client, uint32_t host, const struct pd_spool *spool,
                        uint64_t front_seq, struct pd_mongo_registration *ret_registration,
                        struct pd_error *error);

struct pd_mongo_progress {
    uint32_t host, writer;
    uint64_t committed, removed;
    uint64_t min_stime_us, max_etime_us;
    const struct pd_spool_cursor *cursors; /* NULL: as they are */
    unsigned cursors_len;
};
int pd_mongodb_progress_put(struct pd_mongo_client *client,
                            const struct pd_mongo_progress *progress, struct pd_error *error);
bool pd_mongodb_has_min_max(struct pd_mongo_client *client);

/* ---- the store ---- */

struct pd_mongo_store {
    struct pd_tib head;
    enum pd_tib_mode mode;
    uint32_t host_id;
    struct pd_mongo_server server;
    struct pd_spool *spool; /* WRITE */
    pthread_t sender;
    bool sender_runs;

    pthread_mutex_t lock;
    pthread_cond_t changed; /* of anything below */
    bool stopping;
    bool registered; /* the server has been reached once */
    bool min_max;    /* READ: asked at the first group */
    bool min_max_known;
    int sender_error; /* why the last attempt failed; 0: it did not */
    struct pd_mongo_registration registration;
    uint64_t committed;    /* last number in the spool */
    uint64_t acknowledged; /* last number that is whole on the server, and said so in `hosts` */
    uint64_t host_stored;  /* records of this host on the server */
    uint64_t document_bytes, documents; /* of what was sent: for the average */
    uint64_t max_bytes, max_age_s;      /* retention */
    uint64_t now_us;                    /* of the last `maintain`; 0: none yet */
    uint64_t retain_ns;                 /* monotonic: not before; the sender alone */
    struct pd_tib_stat counters;
};

/* sender.c */
int pd_mongodb_sender_start(struct pd_mongo_store *store);
void pd_mongodb_sender_stop(struct pd_mongo_store *store); /* after a while of draining */
/* Waits until the server has all up to `seq`; 0, or why not. Bounded. */
int pd_mongodb_sender_wait(struct pd_mongo_store *store, uint64_t seq);

/* retain.c, on the sender's thread */
int pd_mongodb_retain(struct pd_mongo_store *store, struct pd_mongo_client *client,
                      struct pd_error *error);

/* ---- snapshots ---- */

struct pd_mongo_snapshot {
    struct pd_tib_snapshot head;
    struct pd_mongo_store *store;
    uint64_t wanted;    /* WRITE: of this host's writer, what was committed */
    uint64_t oldest_us; /* records that ended before have expired, removed or not yet */
    pthread_mutex_t lock;
    bool resolved; /* the writers are known */
    struct pd_mongo_writers writers;
    struct path_node {
        struct pd_claim claim;
        struct path_node *next;
        struct pd_path path; /* as long as it is */
    } **paths;               /* hash table of all paths met */
    uint32_t paths_len;
};

int pd_mongodb_snapshot(struct pd_tib *tib, struct pd_tib_snapshot **ret_snapshot);
void pd_mongodb_release(struct pd_tib_snapshot *snapshot);
int pd_mongodb_token(struct pd_tib_snapshot *snapshot, char **ret_token);
/* The writers of the snapshot with `after` as the token says; the caller frees. -PD_E_VALUE: not a
 * token of this store. */
int pd_mongodb_snapshot_writers(struct pd_mongo_snapshot *snapshot, const char *since,
                                struct pd_mongo_writers *ret_writers);
int pd_mongodb_intern(struct pd_mongo_snapshot *snapshot, const struct pd_claim *claim,
                      struct pd_tib_record *record);

/* ---- filter.c: what the server is asked ---- */

#define PD_MONGO_WRITERS_ASKED 64u /* with more, the answers are sorted out here */

/* False: nothing can match. */
bool pd_mongodb_match(const struct pd_mongo_writers *writers, const struct pd_tib_filter *filter,
                      bson_t *match);
/* The filter without what has expired. */
struct pd_tib_filter pd_mongodb_unexpired(const struct pd_mongo_snapshot *snapshot,
                                          const struct pd_tib_filter *filter);
/* Whether one record is within what the writers have committed. */
bool pd_mongodb_within(const struct pd_mongo_writers *writers, struct pd_mongo_id id);

/* ---- scan.c, group.c ---- */

int pd_mongodb_scan(struct pd_tib_snapshot *snapshot, const struct pd_tib_filter *filter,
                    int (*visit)(void *context, const struct pd_tib_record *records, size_t n),
                    void *context);
/* The same, with the server's sort and limit (NULL: none). */
int pd_mongodb_scan_sorted(struct pd_mongo_snapshot *snapshot, const struct pd_tib_filter *filter,
                           const bson_t *sort, uint64_t limit,
                           int (*visit)(void *context, const struct pd_tib_record *records,
                                        size_t n),
                           void *context);
/* Walks a cursor, and destroys it. */
enum pd_mongo_rows { PD_MONGO_RECORDS, PD_MONGO_GROUPS, PD_MONGO_GROUPS_WITHOUT_TIMES };
int pd_mongodb_walk(struct pd_mongo_snapshot *snapshot, mongoc_cursor_t *cursor,
                    enum pd_mongo_rows rows, const struct pd_mongo_writers *writers,
                    const struct pd_tib_filter *filter,
                    int (*visit)(void *context, const struct pd_tib_record *records, size_t n),
                    void *context);
int pd_mongodb_group(struct pd_tib_snapshot *snapshot, const struct pd_tib_filter *filter,
                     const struct pd_tib_grouping *grouping,
                     int (*visit)(void *context, const struct pd_tib_record *groups, size_t n),
                     void *context);
int pd_mongodb_check(struct pd_tib *tib, void (*report)(void *context, const char *finding),
                     void *context);

#endif
