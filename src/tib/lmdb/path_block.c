/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of paths, as the database `path` holds them (docs/formats/tib.md): encoder and checked
 * decoder. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/error.h"
#include "tib/lmdb/paths_private.h"

/* On disk; little-endian. The paths follow: a byte with the number of switches and the switches, or
 * a zero byte, number of tags, DSCP and the tags (2 bytes each). */
struct block_header {
    uint64_t xxh3; /* XXH3-64 of all bytes behind this field, seed: ID of the first path */
    uint32_t paths;
    uint8_t width_bytes; /* of a switch ID: 2 or 4 */
    uint8_t zero[3];
};
_Static_assert(sizeof(struct block_header) == 16, "docs/formats/tib.md");

#define HASHED_FROM     sizeof(uint64_t)
#define PATH_MOST_BYTES (1 + sizeof(uint32_t) * PD_PATH_MAX)

struct cursor {
    const uint8_t *at, *end;
};

/* The next `size_bytes` bytes, or NULL when fewer are left. */
static const uint8_t *take(struct cursor *cursor, size_t size_bytes)
{
    const uint8_t *at = cursor->at;
    if ((size_t)(cursor->end - at) < size_bytes) {
        return NULL;
    }
    cursor->at += size_bytes;
    return at;
}

static bool switches_fit_16_bits(const struct pd_paths *paths, uint32_t first, uint32_t len)
{
    uint32_t all = 0;
    for (uint32_t id = first; id < len; id++) {
        const struct pd_path *path = pd_paths_get(paths, id);
        for (unsigned i = 0; i < path->len; i++) {
            all |= path->switches[i];
        }
    }
    return all <= UINT16_MAX;
}

static uint8_t *put_number(uint8_t *at, uint32_t value, unsigned width_bytes)
{
    value = htole32(value); /* the low bytes come first */
    memcpy(at, &value, width_bytes);
    return at + width_bytes;
}

static uint8_t *put_path(uint8_t *at, const struct pd_path *path, unsigned width_bytes)
{
    *at++ = (uint8_t)path->len;
    for (unsigned i = 0; i < path->len; i++) {
        at = put_number(at, path->switches[i], width_bytes);
    }
    if (path->len) {
        return at;
    }
    *at++ = path->tags_len;
    *at++ = path->dscp;
    for (unsigned i = 0; i < path->tags_len; i++) {
        at = put_number(at, path->tags[i], 2);
    }
    return at;
}

int pd_paths_block_encode(const struct pd_paths *paths, uint32_t first, void **ret_bytes,
                          size_t *ret_size_bytes)
{
    uint32_t len = pd_paths_len(paths);
    uint8_t *bytes = malloc(sizeof(struct block_header) + (len - first) * PATH_MOST_BYTES);
    if (!bytes) {
        return -ENOMEM;
    }
    struct block_header header = {
        .paths = htole32(len - first),
        .width_bytes = switches_fit_16_bits(paths, first, len) ? 2 : 4,
    };
    uint8_t *at = bytes + sizeof header;
    for (uint32_t id = first; id < len; id++) {
        at = put_path(at, pd_paths_get(paths, id), header.width_bytes);
    }
    memcpy(bytes, &header, sizeof header);
    header.xxh3 = htole64(
        XXH3_64bits_withSeed(bytes + HASHED_FROM, (size_t)(at - bytes) - HASHED_FROM, first));
    memcpy(bytes, &header, sizeof header);
    *ret_bytes = bytes;
    *ret_size_bytes = (size_t)(at - bytes);
    return 0;
}

static uint32_t get_number(const uint8_t *at, unsigned width_bytes)
{
    uint32_t value = 0;
    memcpy(&value, at, width_bytes);
    return le32toh(value);
}

static int take_tags(struct cursor *cursor, struct pd_path *path)
{
    const uint8_t *counts = take(cursor, 2);
    if (!counts || counts[0] > PD_RAW_TAGS_MAX) {
        return -PD_E_CORRUPT;
    }
    path->tags_len = counts[0];
    path->dscp = counts[1];
    const uint8_t *tags = take(cursor, 2u * path->tags_len);
    for (unsigned i = 0; tags && i < path->tags_len; i++) {
        path->tags[i] = (uint16_t)get_number(tags + 2 * i, 2);
    }
    return tags ? 0 : -PD_E_CORRUPT;
}

static int take_path(struct cursor *cursor, unsigned width_bytes, struct pd_path *ret_path)
{
    struct pd_path path = {0};
    const uint8_t *len = take(cursor, 1);
    if (!len || *len > PD_PATH_MAX) {
        return -PD_E_CORRUPT;
    }
    path.len = *len;
    const uint8_t *switches = take(cursor, (size_t)width_bytes * path.len);
    if (!switches || (!path.len && take_tags(cursor, &path))) {
        return -PD_E_CORRUPT;
    }
    for (unsigned i = 0; i < path.len; i++) {
        path.switches[i] = get_number(switches + (size_t)width_bytes * i, width_bytes);
    }
    *ret_path = path;
    return 0;
}

/* Walks over the paths of a block; adds them to `paths` unless that is NULL. */
static int walk(struct cursor cursor, const struct block_header *header, struct pd_paths *paths)
{
    for (uint32_t i = 0; i < header->paths; i++) {
        struct pd_path path;
        int err = take_path(&cursor, header->width_bytes, &path);
        err = err || !paths ? err : pd_paths_add_locked(paths, &path);
        if (err) {
            return err;
        }
    }
    return cursor.at == cursor.end ? 0 : -PD_E_CORRUPT;
}

int pd_paths_block_load(struct pd_paths *paths, uint32_t first, const void *bytes,
                        size_t size_bytes)
{
    struct block_header header;
    if (size_bytes < sizeof header) {
        return -PD_E_CORRUPT;
    }
    memcpy(&header, bytes, sizeof header);
    header.paths = le32toh(header.paths);
    const uint8_t *at = bytes;
    uint64_t xxh3 = XXH3_64bits_withSeed(at + HASHED_FROM, size_bytes - HASHED_FROM, first);
    if (xxh3 != le64toh(header.xxh3) || (header.width_bytes != 2 && header.width_bytes != 4) ||
        header.paths > PD_PATHS_MAX - first) {
        return -PD_E_CORRUPT;
    }
    struct cursor cursor = {at + sizeof header, at + size_bytes};
    int err = walk(cursor, &header, NULL);
    if (err) {
        return err;
    }
    pthread_mutex_lock(&paths->lock);
    err = pd_paths_len(paths) == first ? walk(cursor, &header, paths) : -PD_E_CORRUPT;
    pthread_mutex_unlock(&paths->lock);
    return err;
}
