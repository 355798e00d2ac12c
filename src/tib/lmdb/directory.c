/* SPDX-License-Identifier: Apache-2.0 */
/* What this process knows about chunks: a sorted array. */
#include "tib/lmdb/directory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

struct pd_directory {
    pthread_mutex_t lock;
    struct pd_directory_entry *entries; /* by key */
    size_t len, room;
    struct pd_directory_written written[PD_DIRECTORY_WRITTEN];
    size_t written_len;
};

struct pd_directory *pd_lmdb_directory_new(void)
{
    struct pd_directory *directory = calloc(1, sizeof *directory);
    if (directory && pthread_mutex_init(&directory->lock, NULL)) {
        free(directory);
        directory = NULL;
    }
    return directory;
}

void pd_lmdb_directory_free(struct pd_directory *directory)
{
    if (!directory) {
        return;
    }
    pthread_mutex_destroy(&directory->lock);
    free(directory->entries);
    free(directory);
}

/* Index of the first entry whose key is not below. */
static size_t place_of(const struct pd_directory *directory, uint64_t key)
{
    size_t low = 0, high = directory->len;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (directory->entries[mid].key < key) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

bool pd_lmdb_directory_find(struct pd_directory *directory, uint64_t key, const void *at,
                            size_t size_bytes, struct pd_directory_entry *ret_entry)
{
    pthread_mutex_lock(&directory->lock);
    size_t place = place_of(directory, key);
    const struct pd_directory_entry *entry =
        place < directory->len ? &directory->entries[place] : NULL;
    bool found = entry && entry->key == key && entry->at == at && entry->size_bytes == size_bytes;
    if (found) {
        *ret_entry = *entry;
    }
    pthread_mutex_unlock(&directory->lock);
    return found;
}

static bool reserve(struct pd_directory *directory)
{
    if (directory->len == PD_DIRECTORY_MAX) {
        directory->len = 0;
    }
    return !PD_GROW(directory->entries, directory->room, directory->len + 1);
}

void pd_lmdb_directory_put(struct pd_directory *directory, const struct pd_directory_entry *entry)
{
    pthread_mutex_lock(&directory->lock);
    size_t place = place_of(directory, entry->key);
    bool replace = place < directory->len && directory->entries[place].key == entry->key;
    if (replace) {
        directory->entries[place] = *entry;
    } else if (reserve(directory)) {
        place = place_of(directory, entry->key);
        struct pd_directory_entry *at = &directory->entries[place];
        memmove(at + 1, at, (directory->len - place) * sizeof *at);
        *at = *entry;
        directory->len++;
    }
    pthread_mutex_unlock(&directory->lock);
}

void pd_lmdb_directory_write(struct pd_directory *directory,
                             const struct pd_directory_written *written)
{
    pthread_mutex_lock(&directory->lock);
    if (directory->written_len < PD_DIRECTORY_WRITTEN) {
        directory->written[directory->written_len++] = *written;
    }
    pthread_mutex_unlock(&directory->lock);
}

bool pd_lmdb_directory_find_written(struct pd_directory *directory, uint64_t key, size_t size_bytes,
                                    uint64_t *ret_xxh3)
{
    bool found = false;
    pthread_mutex_lock(&directory->lock);
    for (size_t i = 0; i < directory->written_len; i++) {
        const struct pd_directory_written *written = &directory->written[i];
        if (written->key == key && written->size_bytes == size_bytes) {
            *ret_xxh3 = written->xxh3;
            found = true;
        }
    }
    pthread_mutex_unlock(&directory->lock);
    return found;
}

void pd_lmdb_directory_forget_written(struct pd_directory *directory)
{
    pthread_mutex_lock(&directory->lock);
    directory->written_len = 0;
    pthread_mutex_unlock(&directory->lock);
}

void pd_lmdb_directory_forget(struct pd_directory *directory)
{
    pthread_mutex_lock(&directory->lock);
    directory->len = 0;
    directory->written_len = 0;
    pthread_mutex_unlock(&directory->lock);
}
