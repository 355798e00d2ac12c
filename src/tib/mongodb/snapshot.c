/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots: up to which number of each writer records count; tokens; the paths that a snapshot
 * hands out. */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tib/mongodb/store.h"

#define BUCKETS            4096u /* a power of 2 */
#define PATHS_MOST         1000000u
#define TOKEN_HEAD         "m1."
#define TOKEN_SCOPE        9  /* "HHHHHHHH" or "all", and NUL */
#define TOKEN_WRITER_BYTES 26 /* ".HHHHHHHH-WWWWW-SSSSSSSSSSS" at most */

/* ---- life ---- */

static int snapshot_new(struct pd_mongo_store *store, struct pd_mongo_snapshot **ret_snapshot)
{
    struct pd_mongo_snapshot *snapshot = calloc(1, sizeof *snapshot);
    if (!snapshot) {
        return -ENOMEM;
    }
    snapshot->paths = calloc(BUCKETS, sizeof(struct path_node *));
    if (!snapshot->paths) {
        free(snapshot);
        return -ENOMEM;
    }
    snapshot->head.ops = &pd_mongodb_ops;
    snapshot->store = store;
    pthread_mutex_init(&snapshot->lock, NULL);
    *ret_snapshot = snapshot;
    return 0;
}

void pd_mongodb_release(struct pd_tib_snapshot *head)
{
    struct pd_mongo_snapshot *snapshot = (struct pd_mongo_snapshot *)head;
    for (uint32_t i = 0; i < BUCKETS; i++) {
        for (struct path_node *node = snapshot->paths[i], *next; node; node = next) {
            next = node->next;
            free(node);
        }
    }
    free(snapshot->paths);
    pd_mongodb_writers_done(&snapshot->writers);
    pthread_mutex_destroy(&snapshot->lock);
    free(snapshot);
}

static int load_writers(struct pd_mongo_snapshot *snapshot)
{
    struct pd_mongo_store *store = snapshot->store;
    struct pd_mongo_client client;
    int err = pd_mongodb_client_take(&store->server, &client);
    if (err) {
        return err;
    }
    err = pd_mongodb_writers_load(&client, store->mode == PD_TIB_WRITE, store->host_id,
                                  &snapshot->writers, NULL);
    pd_mongodb_client_give(&client);
    return err;
}

/* A writer's snapshot is where the spool stood; the server is waited for when it is read, on the
 * reader's thread. What it has not got by then is left out, and the answer says so. */
static int resolve(struct pd_mongo_snapshot *snapshot)
{
    struct pd_mongo_store *store = snapshot->store;
    int err = pd_mongodb_sender_wait(store, snapshot->wanted);
    err = err ? err : load_writers(snapshot);
    if (err) {
        return err;
    }
    pthread_mutex_lock(&store->lock);
    uint32_t writer = store->registration.writer;
    pthread_mutex_unlock(&store->lock);
    uint64_t committed = 0;
    for (size_t i = 0; i < snapshot->writers.len; i++) {
        struct pd_mongo_writer *one = &snapshot->writers.writers[i];
        if (one->writer != writer) {
            continue;
        }
        if (one->committed > snapshot->wanted) {
            one->committed = snapshot->wanted;
        }
        committed = one->committed;
    }
    if (committed < snapshot->wanted) {
        atomic_fetch_add_explicit(&snapshot->head.damaged, 1, memory_order_relaxed);
    }
    return 0;
}

int pd_mongodb_snapshot(struct pd_tib *tib, struct pd_tib_snapshot **ret_snapshot)
{
    struct pd_mongo_store *store = (struct pd_mongo_store *)tib;
    struct pd_mongo_snapshot *snapshot;
    int err = snapshot_new(store, &snapshot);
    if (err) {
        return err;
    }
    if (store->mode == PD_TIB_WRITE) {
        pthread_mutex_lock(&store->lock);
        snapshot->wanted = store->committed;
        if (store->max_age_s && store->now_us > store->max_age_s * PD_US_PER_S) {
            snapshot->oldest_us = store->now_us - store->max_age_s * PD_US_PER_S;
        }
        pthread_mutex_unlock(&store->lock);
    } else {
        err = load_writers(snapshot);
        snapshot->resolved = !err;
    }
    if (err) {
        pd_mongodb_release(&snapshot->head);
        return err;
    }
    *ret_snapshot = &snapshot->head;
    return 0;
}

/* ---- tokens: m1.IDENTITY.SCOPE(.HOST-WRITER-NUMBER)*, hexadecimal ---- */

static void scope_text(const struct pd_mongo_store *store, char text[TOKEN_SCOPE])
{
    if (store->mode == PD_TIB_WRITE) {
        snprintf(text, TOKEN_SCOPE, "%08x", store->host_id);
    } else {
        snprintf(text, TOKEN_SCOPE, "all");
    }
}

static struct pd_mongo_writer *find(struct pd_mongo_writers *writers, uint32_t host,
                                    uint32_t writer)
{
    size_t low = 0, high = writers->len;
    while (low < high) {
        size_t middle = (low + high) / 2;
        struct pd_mongo_writer *at = &writers->writers[middle];
        if (at->host == host && at->writer == writer) {
            return at;
        }
        if (at->host < host || (at->host == host && at->writer < writer)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

/* Sets `after` of the writers that it names. */
static int token_apply(const struct pd_mongo_store *store, const char *token,
                       struct pd_mongo_writers *writers)
{
    char head[64], scope[TOKEN_SCOPE];
    scope_text(store, scope);
    snprintf(head, sizeof head, TOKEN_HEAD ".%s", scope);
    if (!strcmp(token, head)) {
        return 0; /* given before anybody had written */
    }
    int len = snprintf(head, sizeof head, TOKEN_HEAD "%s.%s", writers->identity, scope);
    if (strncmp(token, head, (size_t)len) != 0) {
        return -PD_E_VALUE;
    }
    for (const char *at = token + len; *at;) {
        unsigned host, number;
        unsigned long long seq;
        int read = 0;
        if (sscanf(at, ".%8x-%5x-%11llx%n", &host, &number, &seq, &read) != 3 || !read) {
            return -PD_E_VALUE;
        }
        struct pd_mongo_writer *writer = find(writers, host, number);
        if (!writer || seq > writer->committed) {
            return -PD_E_VALUE;
        }
        writer->after = seq;
        at += read;
    }
    return 0;
}

static int resolve_once(struct pd_mongo_snapshot *snapshot)
{
    int err = 0;
    pthread_mutex_lock(&snapshot->lock);
    if (!snapshot->resolved) {
        err = resolve(snapshot);
        snapshot->resolved = !err;
    }
    pthread_mutex_unlock(&snapshot->lock);
    return err;
}

int pd_mongodb_snapshot_writers(struct pd_mongo_snapshot *snapshot, const char *since,
                                struct pd_mongo_writers *ret_writers)
{
    int err = resolve_once(snapshot);
    if (err) {
        return err;
    }
    struct pd_mongo_writers writers = snapshot->writers;
    writers.room = writers.len;
    writers.writers = calloc(writers.len ? writers.len : 1, sizeof *writers.writers);
    if (!writers.writers) {
        return -ENOMEM;
    }
    if (writers.len) {
        memcpy(writers.writers, snapshot->writers.writers, writers.len * sizeof *writers.writers);
    }
    err = since ? token_apply(snapshot->store, since, &writers) : 0;
    if (err) {
        pd_mongodb_writers_done(&writers);
    } else {
        *ret_writers = writers;
    }
    return err;
}

int pd_mongodb_token(struct pd_tib_snapshot *head, char **ret_token)
{
    struct pd_mongo_snapshot *snapshot = (struct pd_mongo_snapshot *)head;
    char scope[TOKEN_SCOPE];
    int err = resolve_once(snapshot);
    if (err) {
        return err;
    }
    size_t size = 64 + snapshot->writers.len * (TOKEN_WRITER_BYTES + 2), len;
    char *token = malloc(size);
    if (!token) {
        return -ENOMEM;
    }
    scope_text(snapshot->store, scope);
    len = (size_t)snprintf(token, size, TOKEN_HEAD "%s.%s", snapshot->writers.identity, scope);
    for (size_t i = 0; i < snapshot->writers.len; i++) {
        const struct pd_mongo_writer *writer = &snapshot->writers.writers[i];
        len += (size_t)snprintf(token + len, size - len, ".%x-%x-%" PRIx64, writer->host,
                                writer->writer, writer->committed);
    }
    *ret_token = token;
    return 0;
}

/* ---- paths ---- */

static int add_path(struct pd_mongo_snapshot *snapshot, const struct pd_claim *claim,
                    struct path_node **bucket, struct path_node **ret_node)
{
    if (snapshot->paths_len == PATHS_MOST) {
        return -PD_E_TOO_LARGE;
    }
    struct path_node *node =
        malloc(offsetof(struct path_node, path) + PD_PATH_BYTES(claim->path->len));
    if (!node) {
        return -ENOMEM;
    }
    node->claim = *claim;
    node->next = *bucket;
    pd_path_copy(&node->path, claim->path);
    node->claim.path = &node->path;
    *bucket = node;
    snapshot->paths_len++;
    *ret_node = node;
    return 0;
}

int pd_mongodb_intern(struct pd_mongo_snapshot *snapshot, const struct pd_claim *claim,
                      struct pd_tib_record *record)
{
    struct path_node **bucket = &snapshot->paths[pd_claim_hash(claim) & (BUCKETS - 1)];
    int err = 0;
    pthread_mutex_lock(&snapshot->lock);
    struct path_node *node = *bucket;
    while (node && !pd_claim_equal(&node->claim, claim)) {
        node = node->next;
    }
    if (!node) {
        err = add_path(snapshot, claim, bucket, &node);
    }
    pthread_mutex_unlock(&snapshot->lock);
    if (!err) {
        record->path = &node->path;
        record->claim = pd_tib_claim_kept(&node->claim);
    }
    return err;
}
