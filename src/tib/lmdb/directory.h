/* SPDX-License-Identifier: Apache-2.0 */
/* What this process knows about chunks: times for pruning, and whether their checksum was found to
 * hold. */
#ifndef PD_TIB_LMDB_DIRECTORY_H
#define PD_TIB_LMDB_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A chunk never changes under its key, place and size, so it is verified once; then a scan that
 * prunes it by time does not touch its pages at all. A chunk that is moved (recompression, a key
 * used again by a segment after the tail) has another place and is verified anew. Bounded: beyond
 * PD_DIRECTORY_MAX entries everything is forgotten, and verified again.
 *
 * Thread safety: any thread. */

#define PD_DIRECTORY_MAX 16384u

struct pd_directory_entry {
    uint64_t key;
    const void *at; /* identity only, never read through */
    size_t size_bytes;
    uint64_t min_time_us, max_time_us;
    uint64_t last_commit_row; /* number of the first record of its last commit */
    uint32_t rows;
    int error; /* 0: verified; else what is wrong, and the times are not known */
};

struct pd_directory;

struct pd_directory *pd_lmdb_directory_new(void); /* NULL: no memory */
void pd_lmdb_directory_free(struct pd_directory *directory);

bool pd_lmdb_directory_find(struct pd_directory *directory, uint64_t key, const void *at,
                            size_t size_bytes, struct pd_directory_entry *ret_entry);

/* Replaces the entry of the same key. Without memory it stays unknown. */
void pd_lmdb_directory_put(struct pd_directory *directory, const struct pd_directory_entry *entry);

/* What this process's writer is about to commit. Its bytes were made here a moment ago, so a reader
 * that comes before the writer has read them back (written.c) takes them by the checksum in their
 * head; it would spend most of a millisecond on a segment otherwise. A few at most; those beyond
 * are verified by who reads them first. */
struct pd_directory_written {
    uint64_t key;
    size_t size_bytes;
    uint64_t xxh3; /* that the head of the chunk bears */
};
#define PD_DIRECTORY_WRITTEN 4u

void pd_lmdb_directory_write(struct pd_directory *directory,
                             const struct pd_directory_written *written);
bool pd_lmdb_directory_find_written(struct pd_directory *directory, uint64_t key, size_t size_bytes,
                                    uint64_t *ret_xxh3);
void pd_lmdb_directory_forget_written(struct pd_directory *directory);

/* Nothing is known any more: the map moves. */
void pd_lmdb_directory_forget(struct pd_directory *directory);

#endif
