/* SPDX-License-Identifier: Apache-2.0 */
/* The alarm store's life, its writers' queue, and its readers. */
#include "controller/alarms/store.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/wait.h"
#include "controller/alarms/private.h"
#include "tib/lmdb_error.h"

#define READERS     1024u
#define READ_STEP   500u
#define MAP_BYTES   (UINT64_C(256) << 20)
#define ALARM_BYTES 2048u /* of the map for each: far more than most take */
#define DIRECTORY   0750
#define FILES       0640

/* ---- opening ---- */

static void init_locks(struct pd_alarm_store *store)
{
    pd_wait_init(&store->grown);
    pd_wait_init(&store->committed);
    pthread_mutex_init(&store->lock, NULL);
    pthread_mutex_init(&store->commit_lock, NULL);
}

/* What is no file would be opened all the same, and written to. */
static int check_files(const char *directory)
{
    static const char *const names[] = {"data.mdb", "lock.mdb"};
    char path[4096];
    struct stat now;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", directory, names[i]);
        if (!lstat(path, &now) && !S_ISREG(now.st_mode)) {
            return S_ISLNK(now.st_mode) ? -ELOOP : -EINVAL;
        }
    }
    return 0;
}

static int env_open(struct pd_alarm_store *store)
{
    uint64_t map = store->config.map_bytes;
    int result = mdb_env_create(&store->env);

    if (!map) {
        map = MAP_BYTES + store->config.max_alarms * ALARM_BYTES;
    }
    if (mkdir(store->config.directory, DIRECTORY) && errno != EEXIST) {
        return -errno;
    }
    int err = check_files(store->config.directory);
    if (err) {
        return err;
    }
    if (!result) {
        result = mdb_env_set_maxdbs(store->env, 5);
    }
    if (!result) {
        result = mdb_env_set_maxreaders(store->env, READERS);
    }
    if (!result) {
        result = mdb_env_set_mapsize(store->env, map);
    }
    if (!result) {
        result =
            mdb_env_open(store->env, store->config.directory, MDB_NOTLS | MDB_NORDAHEAD, FILES);
    }
    return pd_tib_lmdb_error(result);
}

static int meta_read(struct pd_alarm_store *store, MDB_txn *txn)
{
    MDB_val key = {5, (void *)"store"}, value;
    struct pd_alarm_meta_value meta;
    int result = mdb_get(txn, store->meta_db, &key, &value);

    store->next_id = 1;
    if (result) {
        return result == MDB_NOTFOUND ? 0 : pd_tib_lmdb_error(result);
    }
    if (value.mv_size != sizeof meta) {
        return -PD_E_CORRUPT;
    }
    memcpy(&meta, value.mv_data, sizeof meta);
    if (le32toh(meta.version) == 1) {
        result = pd_alarm_index_all(store, txn);
    } else if (le32toh(meta.version) != PD_ALARM_STORE_VERSION) {
        return -PD_E_VERSION;
    }
    if (result) {
        return pd_tib_lmdb_error(result);
    }
    store->next_id = le64toh(meta.next_id);
    return store->next_id ? 0 : -PD_E_CORRUPT;
}

static int databases_open(struct pd_alarm_store *store)
{
    MDB_txn *txn;
    int result = mdb_txn_begin(store->env, NULL, 0, &txn), e;

    if (result) {
        return pd_tib_lmdb_error(result);
    }
    result = mdb_dbi_open(txn, "alarms", MDB_CREATE, &store->alarms_db);
    if (!result) {
        result = mdb_dbi_open(txn, "reasons", MDB_CREATE | MDB_DUPSORT | MDB_DUPFIXED,
                              &store->reasons_db);
    }
    if (!result) {
        result =
            mdb_dbi_open(txn, "hosts", MDB_CREATE | MDB_DUPSORT | MDB_DUPFIXED, &store->hosts_db);
    }
    if (!result) {
        result = mdb_dbi_open(txn, "spools", MDB_CREATE, &store->spools_db);
    }
    if (!result) {
        result = mdb_dbi_open(txn, "meta", MDB_CREATE, &store->meta_db);
    }
    e = result ? pd_tib_lmdb_error(result) : meta_read(store, txn);
    if (e) {
        mdb_txn_abort(txn);
        return e;
    }
    return pd_tib_lmdb_error(mdb_txn_commit(txn));
}

int pd_alarm_store_open(const struct pd_alarm_store_config *config,
                        struct pd_alarm_store **ret_store, struct pd_error *error)
{
    struct pd_alarm_store *store = calloc(1, sizeof *store);
    int err;

    if (!store) {
        return pd_fail(error, -ENOMEM, "%s: no memory", config->directory);
    }
    store->config = *config;
    init_locks(store);
    err = env_open(store);
    if (!err) {
        err = databases_open(store);
    }
    store->stat.last_id = store->heard = err ? 0 : store->next_id - 1;
    if (!err) {
        err = pd_alarm_writer_start(store);
    }
    if (err) {
        pd_alarm_store_close(store);
        return pd_fail(error, err, "%s: %s", config->directory, pd_error_text(err));
    }
    *ret_store = store;
    return 0;
}

void pd_alarm_store_stop(struct pd_alarm_store *store)
{
    pthread_mutex_lock(&store->lock);
    store->stopping = true;
    pthread_cond_broadcast(&store->grown);
    pthread_mutex_unlock(&store->lock);
}

void pd_alarm_store_close(struct pd_alarm_store *store)
{
    if (!store) {
        return;
    }
    pd_alarm_store_stop(store);
    if (store->writer_runs) {
        pthread_join(store->writer, NULL);
    }
    if (store->env) {
        mdb_env_close(store->env);
    }
    while (store->own_first) {
        struct own *next = store->own_first->next;

        free(store->own_first);
        store->own_first = next;
    }
    pd_alarm_retold_free(store->to_retell);
    free(store->recent);
    pthread_cond_destroy(&store->committed);
    pthread_cond_destroy(&store->grown);
    pthread_mutex_destroy(&store->commit_lock);
    pthread_mutex_destroy(&store->lock);
    free(store);
}

/* ---- writing ---- */

/* All that wait, in one transaction, by the one of them who came first. */
static void commit_all(struct pd_alarm_store *store)
{
    struct commit *first = store->first, *next;
    int err;

    store->first = store->last = NULL;
    store->committing = true;
    pthread_mutex_unlock(&store->commit_lock);
    err = pd_alarm_store_commit(store, first);
    pthread_mutex_lock(&store->commit_lock);
    store->committing = false;
    for (struct commit *commit = first; commit; commit = next) {
        next = commit->next; /* once it is done it may be gone */
        commit->error = err ? err : commit->refused;
        commit->done = true;
    }
    pthread_cond_broadcast(&store->committed);
}

int pd_alarm_store_add(struct pd_alarm_store *store, const struct pd_alarm_delivery *delivery,
                       uint64_t *ret_last)
{
    struct commit commit = {.delivery = delivery};

    for (size_t i = 1; delivery->seqs && i < delivery->len; i++) {
        if (delivery->seqs[i] <= delivery->seqs[i - 1]) {
            return -PD_E_VALUE;
        }
    }
    pthread_mutex_lock(&store->commit_lock);
    *(store->last ? &store->last->next : &store->first) = &commit;
    /* cppcheck-suppress autoVariables ; it has left the queue when this function returns */
    store->last = &commit;
    while (!commit.done) {
        if (store->committing) {
            pthread_cond_wait(&store->committed, &store->commit_lock);
        } else {
            commit_all(store);
        }
    }
    pthread_mutex_unlock(&store->commit_lock);
    if (!commit.error) {
        *ret_last = commit.last;
    }
    return commit.error;
}

void pd_alarm_store_raise(struct pd_alarm_store *store, const struct pd_alarm_message *message)
{
    struct own *own = malloc(sizeof *own);

    if (own) {
        *own = (struct own){.message = *message};
    }
    pthread_mutex_lock(&store->lock);
    if (!own || store->own_len == PD_ALARM_OWN_MAX) {
        store->stat.lost++;
        free(own);
    } else {
        *(store->own_last ? &store->own_last->next : &store->own_first) = own;
        store->own_last = own;
        store->own_len++;
        pthread_cond_broadcast(&store->grown);
    }
    pthread_mutex_unlock(&store->lock);
}

/* ---- reading ---- */

struct reading {
    struct pd_alarm_store *store;
    MDB_txn *txn;
    const char *reason;
    pd_alarm_visit *visit;
    void *context;
    uint64_t next;
    size_t left;
    bool ended, stopped; /* there are no more; the visitor wants no more */
};

static int give(struct reading *reading, uint64_t id, const MDB_val *value)
{
    struct pd_alarm_value_head head;
    size_t at = sizeof head;

    if (value->mv_size < at) {
        return -PD_E_CORRUPT;
    }
    memcpy(&head, value->mv_data, sizeof head);
    at += head.reason_len;
    if (value->mv_size <= at) {
        return -PD_E_CORRUPT;
    }
    if (reading->visit(reading->context, id, (const char *)value->mv_data + at,
                       value->mv_size - at)) {
        reading->stopped = true;
        return 0;
    }
    reading->next = id;
    reading->left--;
    return 0;
}

static uint64_t id_of(const MDB_val *id)
{
    uint64_t id_be = 0;

    if (id->mv_size == sizeof id_be) {
        memcpy(&id_be, id->mv_data, sizeof id_be);
    }
    return be64toh(id_be);
}

/* All reasons: the alarms themselves, in order. */
static int step_all(struct reading *reading, MDB_cursor *cursor)
{
    uint64_t from = htobe64(reading->next + 1);
    MDB_val key = {sizeof from, &from}, value;
    int result = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE), e = 0;

    for (unsigned n = 0; !result && !e && reading->left && n < READ_STEP; n++) {
        e = give(reading, id_of(&key), &value);
        if (e || reading->stopped) {
            return e;
        }
        result = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    reading->ended = result == MDB_NOTFOUND;
    return e || reading->ended ? e : pd_tib_lmdb_error(result);
}

/* One reason: by its index. */
static int step_reason(struct reading *reading, MDB_cursor *cursor)
{
    uint64_t from = htobe64(reading->next + 1);
    MDB_val key = {strlen(reading->reason), (char *)reading->reason}, id = {sizeof from, &from};
    int result = mdb_cursor_get(cursor, &key, &id, MDB_GET_BOTH_RANGE), e = 0;

    for (unsigned n = 0; !result && !e && reading->left && n < READ_STEP; n++) {
        MDB_val value;

        result = mdb_get(reading->txn, reading->store->alarms_db, &id, &value);
        if (result) {
            break;
        }
        e = give(reading, id_of(&id), &value);
        if (e || reading->stopped) {
            return e;
        }
        result = mdb_cursor_get(cursor, &key, &id, MDB_NEXT_DUP);
    }
    reading->ended = result == MDB_NOTFOUND;
    return e || reading->ended ? e : pd_tib_lmdb_error(result);
}

static int step(struct reading *reading)
{
    MDB_dbi db = reading->reason ? reading->store->reasons_db : reading->store->alarms_db;
    MDB_cursor *cursor;
    int err =
        pd_tib_lmdb_error(mdb_txn_begin(reading->store->env, NULL, MDB_RDONLY, &reading->txn));

    if (err) {
        return err;
    }
    err = pd_tib_lmdb_error(mdb_cursor_open(reading->txn, db, &cursor));
    if (!err) {
        err = reading->reason ? step_reason(reading, cursor) : step_all(reading, cursor);
        mdb_cursor_close(cursor);
    }
    mdb_txn_abort(reading->txn);
    return err;
}

int pd_alarm_store_read(struct pd_alarm_store *store, uint64_t since, const char *reason,
                        size_t most, pd_alarm_visit *visit, void *context, uint64_t *ret_next,
                        bool *ret_more)
{
    struct reading reading = {.store = store,
                              .reason = reason,
                              .visit = visit,
                              .context = context,
                              .next = since,
                              .left = most};
    int err = 0;

    while (!err && !reading.ended && !reading.stopped && reading.left) {
        err = step(&reading);
    }
    if (err) {
        return err;
    }
    *ret_next = reading.next;
    *ret_more = !reading.ended;
    return 0;
}

bool pd_alarm_store_wait(struct pd_alarm_store *store, uint64_t since, uint64_t until_ns)
{
    bool on;

    pthread_mutex_lock(&store->lock);
    while (!store->stopping && store->stat.last_id <= since && pd_clock_monotonic_ns() < until_ns) {
        pd_wait_until(&store->grown, &store->lock, until_ns);
    }
    on = !store->stopping;
    pthread_mutex_unlock(&store->lock);
    return on;
}

/* ---- numbers ---- */

uint64_t pd_alarm_store_last(struct pd_alarm_store *store)
{
    uint64_t last;

    pthread_mutex_lock(&store->lock);
    last = store->stat.last_id;
    pthread_mutex_unlock(&store->lock);
    return last;
}

void pd_alarm_store_stat(struct pd_alarm_store *store, struct pd_alarm_store_stat *ret_stat)
{
    struct pd_alarm_store_stat stat;
    MDB_cursor *cursor;
    MDB_stat db = {0};
    MDB_val key, value;
    MDB_txn *txn;

    pthread_mutex_lock(&store->lock);
    stat = store->stat;
    pthread_mutex_unlock(&store->lock);
    if (!mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn)) {
        if (!mdb_stat(txn, store->alarms_db, &db)) {
            stat.kept = db.ms_entries;
        }
        if (!mdb_cursor_open(txn, store->alarms_db, &cursor)) {
            if (!mdb_cursor_get(cursor, &key, &value, MDB_FIRST)) {
                stat.first_id = id_of(&key);
            }
            mdb_cursor_close(cursor);
        }
        mdb_txn_abort(txn);
    }
    *ret_stat = stat;
}
