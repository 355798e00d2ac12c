/* SPDX-License-Identifier: Apache-2.0 */
/* The LMDB backend: opening, closing, and its table of operations. */
#include "tib/lmdb/store.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "tib/lmdb/view.h"

/* Takes half-built stores. */
static void store_free(struct pd_store *store)
{
    pd_lmdb_view_forget(store);
    pd_lmdb_store_env_close(store);
    pd_lmdb_paths_free(store->paths);
    pd_lmdb_directory_free(store->directory);
    free(store->writer.rows);
    pd_lmdb_extra_done(&store->writer.extra);
    pthread_mutex_destroy(&store->lock);
    pthread_mutex_destroy(&store->view_lock);
    free(store);
}

static int store_open(const char *location, enum pd_tib_mode mode,
                      const struct pd_tib_config *config, struct pd_tib **ret_tib,
                      struct pd_error *error)
{
    struct pd_store *store = calloc(1, sizeof *store);
    if (!store) {
        return pd_fail(error, -ENOMEM, "%s: %s", location, pd_error_text(-ENOMEM));
    }
    *store = (struct pd_store){.head.ops = &pd_lmdb_store_ops, .mode = mode, .lock_fd = -1};
    if (config) {
        store->config = *config;
    }
    pthread_mutex_init(&store->lock, NULL);
    pthread_mutex_init(&store->view_lock, NULL);
    store->paths = pd_lmdb_paths_new();
    store->directory = pd_lmdb_directory_new();
    int err =
        store->paths && store->directory ? 0 : pd_fail(error, -ENOMEM, "%s: no memory", location);
    err = err ? err : pd_lmdb_store_env_open(store, location, error);
    if (!err && mode == PD_TIB_WRITE && (err = pd_lmdb_store_writer_open(store))) {
        pd_fail(error, err, "%s/data.mdb: %s", location, pd_error_text(err));
    }
    if (err) {
        store_free(store);
        return err;
    }
    *ret_tib = &store->head;
    return 0;
}

static void store_close(struct pd_tib *tib)
{
    struct pd_store *store = (struct pd_store *)tib;
    if (store->mode == PD_TIB_WRITE) {
        pd_lmdb_store_commit(tib);
        pd_lmdb_store_punch(store);
    }
    store_free(store);
}

const struct pd_tib_ops pd_lmdb_store_ops = {
    .scheme = "",
    .open = store_open,
    .close = store_close,
    .append = pd_lmdb_store_append,
    .commit = pd_lmdb_store_commit,
    .set_cursor = pd_lmdb_store_set_cursor,
    .cursor = pd_lmdb_store_cursor,
    .maintain = pd_lmdb_store_maintain,
    .retain = pd_lmdb_store_retain,
    .stat = pd_lmdb_store_stat,
    .snapshot = pd_lmdb_store_snapshot,
    .release = pd_lmdb_store_release,
    .scan = pd_lmdb_store_scan,
    .group = pd_lmdb_store_group,
    .token = pd_lmdb_store_token,
    .version = pd_lmdb_store_version,
    .check = pd_lmdb_store_check,
    .compact = pd_lmdb_store_compact,
};
