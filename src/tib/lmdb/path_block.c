/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of paths, as the database `path` holds them (docs/formats/tib.md): encoder and checked
 * decoder. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/error.h"
#include "codec/tagging/mark.h"
#include "tib/lmdb/paths_private.h"

/* On disk; little-endian. The paths follow. An exact path from tags: a byte with the number of
 * switches, and the switches. Any other claim: CLAIM_FOLLOWS, struct claim_header, the bytes of the
 * mark, the switches. In version 2 a path without switches had number of tags, DSCP and the tags
 * (2 bytes each) instead. */
struct block_header {
    uint64_t xxh3; /* XXH3-64 of all bytes behind this field, seed: ID of the first path */
    uint32_t paths;
    uint8_t width_bytes; /* of a switch ID: 2 or 4 */
    uint8_t version;     /* 0: that of stores of version 2; else BLOCK_VERSION */
    uint8_t zero[2];
};
_Static_assert(sizeof(struct block_header) == 16, "docs/formats/tib.md");

struct claim_header {
    uint8_t state;
    uint8_t origin;
    uint8_t scheme; /* of the mark; 0: none */
    uint8_t mark_bytes;
    uint32_t candidates;
    uint8_t len; /* switches */
    uint8_t zero[3];
};
_Static_assert(sizeof(struct claim_header) == 12, "docs/formats/tib.md");

#define BLOCK_VERSION 3
#define CLAIM_FOLLOWS UINT8_MAX
#define OLD_PATH_MAX  32
#define OLD_TAGS_MAX  4
#define HASHED_FROM   sizeof(uint64_t)
#define PATH_MOST_BYTES \
    (1 + sizeof(struct claim_header) + PD_MARK_BYTES + sizeof(uint32_t) * PD_PATH_MAX)

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

static uint8_t *put_number(uint8_t *at, uint32_t value, unsigned width_bytes)
{
    value = htole32(value); /* the low bytes come first */
    memcpy(at, &value, width_bytes);
    return at + width_bytes;
}

static uint8_t *put_claim(uint8_t *at, const struct pd_claim *claim, unsigned width_bytes)
{
    struct claim_header header = {.state = claim->state,
                                  .origin = claim->origin,
                                  .scheme = claim->mark.scheme,
                                  .mark_bytes = claim->mark.len,
                                  .candidates = htole32(claim->candidates),
                                  .len = (uint8_t)claim->path->len};
    bool plain = !claim->state && !claim->origin && !claim->candidates && !claim->mark.scheme;
    *at++ = plain ? (uint8_t)claim->path->len : CLAIM_FOLLOWS;
    if (!plain) {
        memcpy(at, &header, sizeof header);
        at += sizeof header;
        memcpy(at, claim->mark.bytes, claim->mark.len);
        at += claim->mark.len;
    }
    for (unsigned i = 0; i < claim->path->len; i++) {
        at = put_number(at, claim->path->switches[i], width_bytes);
    }
    return at;
}

/* `claim` gives them one after the other. */
static int encode(const struct pd_claim *(*claim_of)(const void *context, uint32_t i),
                  const void *context, uint32_t first, uint32_t len, void **ret_bytes,
                  size_t *ret_size_bytes)
{
    uint32_t all = 0;
    size_t room = sizeof(struct block_header);
    for (uint32_t i = 0; i < len; i++) {
        const struct pd_path *path = claim_of(context, i)->path;
        for (unsigned j = 0; j < path->len; j++) {
            all |= path->switches[j];
        }
        room += PATH_MOST_BYTES - sizeof(uint32_t) * (PD_PATH_MAX - path->len);
    }
    uint8_t *bytes = malloc(room);
    if (!bytes) {
        return -ENOMEM;
    }
    struct block_header header = {
        .paths = htole32(len),
        .width_bytes = all <= UINT16_MAX ? 2 : 4,
        .version = BLOCK_VERSION,
    };
    uint8_t *at = bytes + sizeof header;
    for (uint32_t i = 0; i < len; i++) {
        at = put_claim(at, claim_of(context, i), header.width_bytes);
    }
    memcpy(bytes, &header, sizeof header);
    header.xxh3 = htole64(
        XXH3_64bits_withSeed(bytes + HASHED_FROM, (size_t)(at - bytes) - HASHED_FROM, first));
    memcpy(bytes, &header, sizeof header);
    *ret_bytes = bytes;
    *ret_size_bytes = (size_t)(at - bytes);
    return 0;
}

struct table_part {
    const struct pd_paths *paths;
    uint32_t first;
};

static const struct pd_claim *claim_of_table(const void *context, uint32_t i)
{
    const struct table_part *part = context;
    uint32_t id = part->first + i;
    return &part->paths->blocks[id / PD_PATHS_BLOCK][id % PD_PATHS_BLOCK];
}

int pd_lmdb_paths_block_encode(const struct pd_paths *paths, uint32_t first, void **ret_bytes,
                               size_t *ret_size_bytes)
{
    const struct table_part part = {paths, first};
    return encode(claim_of_table, &part, first, pd_lmdb_paths_len(paths) - first, ret_bytes,
                  ret_size_bytes);
}

static uint32_t get_number(const uint8_t *at, unsigned width_bytes)
{
    uint32_t value = 0;
    memcpy(&value, at, width_bytes);
    return le32toh(value);
}

/* A claim as it is read, with room for its path. */
struct taken {
    struct pd_claim claim;
    struct pd_path path;
};

static int take_switches(struct cursor *cursor, unsigned width_bytes, uint32_t len,
                         struct taken *taken)
{
    const uint8_t *switches = take(cursor, (size_t)width_bytes * len);
    if (!switches || len > PD_PATH_MAX) {
        return -PD_E_CORRUPT;
    }
    taken->path.len = len;
    for (uint32_t i = 0; i < len; i++) {
        taken->path.switches[i] = get_number(switches + (size_t)width_bytes * i, width_bytes);
    }
    return 0;
}

/* Raw tags, as version 2 had them. */
static int take_tags(struct cursor *cursor, struct taken *taken)
{
    const uint8_t *counts = take(cursor, 2);
    const uint8_t *tags = counts && counts[0] <= OLD_TAGS_MAX ? take(cursor, 2u * counts[0]) : NULL;
    uint16_t vids[OLD_TAGS_MAX];
    if (!tags) {
        return -PD_E_CORRUPT;
    }
    for (unsigned i = 0; i < counts[0]; i++) {
        vids[i] = (uint16_t)get_number(tags + 2 * i, 2);
    }
    taken->path.len = 0;
    taken->claim.state = PD_CLAIM_INFEASIBLE;
    taken->claim.mark = pd_tagging_mark(vids, counts[0], counts[1]);
    return 0;
}

/* The mark's scheme need not be known to this program. */
static int take_claim(struct cursor *cursor, unsigned width_bytes, struct taken *taken)
{
    struct claim_header header;
    const uint8_t *head = take(cursor, sizeof header), *mark;
    if (!head) {
        return -PD_E_CORRUPT;
    }
    memcpy(&header, head, sizeof header);
    mark = header.mark_bytes <= PD_MARK_BYTES ? take(cursor, header.mark_bytes) : NULL;
    if (!mark || header.state >= PD_CLAIM_STATE_COUNT || header.origin >= PD_ORIGIN_COUNT ||
        (!header.scheme && header.mark_bytes) || (!header.state && !header.len)) {
        return -PD_E_CORRUPT;
    }
    taken->claim = (struct pd_claim){.path = &taken->path,
                                     .candidates = le32toh(header.candidates),
                                     .state = header.state,
                                     .origin = header.origin,
                                     .mark = {.scheme = header.scheme, .len = header.mark_bytes}};
    memcpy(taken->claim.mark.bytes, mark, header.mark_bytes);
    return take_switches(cursor, width_bytes, header.len, taken);
}

static int take_path(struct cursor *cursor, const struct block_header *header, struct taken *taken)
{
    const uint8_t *len = take(cursor, 1);
    bool old = header->version != BLOCK_VERSION;
    taken->claim = (struct pd_claim){.path = &taken->path};
    if (!len || (old && *len > OLD_PATH_MAX)) {
        return -PD_E_CORRUPT;
    }
    if (!old && *len == CLAIM_FOLLOWS) {
        return take_claim(cursor, header->width_bytes, taken);
    }
    if (!*len) {
        return old ? take_tags(cursor, taken) : -PD_E_CORRUPT;
    }
    return take_switches(cursor, header->width_bytes, *len, taken);
}

/* Walks over the paths of a block; adds them to `paths` unless that is NULL. */
static int walk(struct cursor cursor, const struct block_header *header, struct pd_paths *paths)
{
    for (uint32_t i = 0; i < header->paths; i++) {
        struct taken taken;
        int err = take_path(&cursor, header, &taken);
        err = err || !paths ? err : pd_lmdb_paths_add_locked(paths, &taken.claim);
        if (err) {
            return err;
        }
    }
    return cursor.at == cursor.end ? 0 : -PD_E_CORRUPT;
}

/* Header and hash. */
static int open_block(uint32_t first, const void *bytes, size_t size_bytes,
                      struct block_header *ret_header, struct cursor *ret_cursor)
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
        header.paths > PD_PATHS_MAX - first ||
        (header.version && header.version != BLOCK_VERSION)) {
        return -PD_E_CORRUPT;
    }
    *ret_header = header;
    *ret_cursor = (struct cursor){at + sizeof header, at + size_bytes};
    return 0;
}

int pd_lmdb_paths_block_load(struct pd_paths *paths, uint32_t first, const void *bytes,
                             size_t size_bytes)
{
    struct block_header header;
    struct cursor cursor;
    int err = open_block(first, bytes, size_bytes, &header, &cursor);
    err = err ? err : walk(cursor, &header, NULL);
    if (err) {
        return err;
    }
    pthread_mutex_lock(&paths->lock);
    err = pd_lmdb_paths_len(paths) == first ? walk(cursor, &header, paths) : -PD_E_CORRUPT;
    pthread_mutex_unlock(&paths->lock);
    return err;
}

/* ---- conversion ---- */

bool pd_lmdb_paths_block_old(const void *bytes, size_t size_bytes)
{
    struct block_header header;
    if (size_bytes < sizeof header) {
        return false;
    }
    memcpy(&header, bytes, sizeof header);
    return header.version != BLOCK_VERSION;
}

static const struct pd_claim *claim_of_array(const void *context, uint32_t i)
{
    const struct taken *taken = context;
    return &taken[i].claim;
}

int pd_lmdb_paths_block_convert(uint32_t first, const void *bytes, size_t size_bytes,
                                void **ret_bytes, size_t *ret_size_bytes)
{
    struct block_header header;
    struct cursor cursor;
    int err = open_block(first, bytes, size_bytes, &header, &cursor);
    if (err) {
        return err;
    }
    err = walk(cursor, &header, NULL);
    struct taken *taken = err ? NULL : malloc((header.paths + 1) * sizeof *taken);
    if (!taken) {
        return err ? err : -ENOMEM;
    }
    for (uint32_t i = 0; i < header.paths && !err; i++) {
        err = take_path(&cursor, &header, &taken[i]);
    }
    err = err ? err : encode(claim_of_array, taken, first, header.paths, ret_bytes, ret_size_bytes);
    free(taken);
    return err;
}
