/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the alarm store share. */
#ifndef PD_CONTROLLER_ALARMS_PRIVATE_H
#define PD_CONTROLLER_ALARMS_PRIVATE_H

#include <lmdb.h>
#include <pthread.h>

#include "controller/alarms/store.h"

#define PD_ALARM_STORE_VERSION 2u

/* Before an alarm's reason and JSON, in `alarms`; integers little-endian. */
struct pd_alarm_value_head {
    uint64_t received_us;
    uint32_t host;
    uint8_t reason_len;
    uint8_t zero[3];
};
_Static_assert(sizeof(struct pd_alarm_value_head) == 16, "written as it is");

/* How far a spool was taken, in `spools`; its key is host and spool, big-endian. */
struct pd_alarm_spool_value {
    uint64_t last;
    uint64_t touched_us;
};
_Static_assert(sizeof(struct pd_alarm_spool_value) == 16, "written as it is");

/* In `meta`, key "store". */
struct pd_alarm_meta_value {
    uint32_t version;
    uint32_t zero;
    uint64_t next_id;
};
_Static_assert(sizeof(struct pd_alarm_meta_value) == 16, "written as it is");

struct listener {
    void (*hear)(void *context, uint64_t id, uint32_t host, const struct pd_alarm_message *message);
    void *context;
};

/* A delivery that waits to be committed. */
struct commit {
    struct commit *next;
    const struct pd_alarm_delivery *delivery;
    uint64_t last;
    int refused; /* it alone: the others of the transaction are fine */
    int error;
    bool done;
};

struct own {
    struct own *next;
    struct pd_alarm_message message;
};

/* One that is there already, and was told again. */
struct pd_alarm_retold {
    struct pd_alarm_retold *next;
    uint64_t id;
    uint32_t host;
    struct pd_alarm_message message;
};

struct pd_alarm_store {
    struct pd_alarm_store_config config;
    MDB_env *env;
    MDB_dbi alarms_db, reasons_db, hosts_db, spools_db, meta_db;
    pthread_t writer;
    bool writer_runs;

    /* of the next four; and of next_id: whoever is committing has it alone */
    pthread_mutex_t commit_lock;
    pthread_cond_t committed;
    struct commit *first, *last;
    bool committing;
    uint64_t next_id;
    struct pd_alarm_recent *recent; /* likewise; NULL: nothing was stored yet */
    struct pd_alarm_retold *retold; /* of this transaction; likewise */

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t grown;
    bool stopping;
    struct pd_alarm_store_stat stat;
    struct own *own_first, *own_last;
    unsigned own_len;
    struct listener listeners[PD_ALARM_LISTENERS_MAX];
    unsigned listeners_len;
    struct pd_alarm_retold *to_retell; /* told again, and listeners have not heard it */
    bool telling;                      /* the store writer is telling listeners */
    uint64_t heard;                    /* the store writer's: up to this ID listeners were told */
};

/* What a transaction did, to be counted when it is durable. */
struct pd_alarm_tally {
    uint64_t accepted, merged, repeated, missing, removed, forgotten;
};

/* commit.c: one transaction for all of them. */
int pd_alarm_store_commit(struct pd_alarm_store *store, struct commit *first);
/* The same alarm in its place, as old as it was. */
int pd_alarm_put_again(struct pd_alarm_store *store, MDB_txn *txn, uint64_t id, uint32_t host,
                       const struct pd_alarm_value_head *head,
                       const struct pd_alarm_message *message);

/* repeat.c: counts it as one more of an alarm of the last minute. -PD_E_NOT_FOUND: it is a new one,
 * to be remembered. Whoever is committing. */
int pd_alarm_repeat(struct pd_alarm_store *store, MDB_txn *txn, uint32_t host,
                    const struct pd_alarm_message *message);
void pd_alarm_remember(struct pd_alarm_store *store, uint64_t id, uint32_t host,
                       const struct pd_alarm_message *message);
void pd_alarm_retold_free(struct pd_alarm_retold *retold);

/* retain.c: removes what is too much or too old, some more than so many at most. */
int pd_alarm_store_retain(struct pd_alarm_store *store, MDB_txn *txn, uint64_t accepted,
                          struct pd_alarm_tally *tally);
/* Removes what has become too old. */
void pd_alarm_store_age(struct pd_alarm_store *store);
/* Of an alarm, by its ID as it is a key. What LMDB returns. */
int pd_alarm_index_host(struct pd_alarm_store *store, MDB_txn *txn, const MDB_val *id,
                        uint32_t host);
/* For a store of version 1, which has no index of hosts. What LMDB returns. */
int pd_alarm_index_all(struct pd_alarm_store *store, MDB_txn *txn);

/* writer.c */
int pd_alarm_writer_start(struct pd_alarm_store *store);

#endif
