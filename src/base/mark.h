/* SPDX-License-Identifier: Apache-2.0 */
/* Marks: what a scheme leaves on a packet for its receiver, kept as it came. */
#ifndef PD_BASE_MARK_H
#define PD_BASE_MARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/hash.h"

/* A mark is the number of the scheme that wrote it and at most 16 bytes that only that scheme
 * understands: the stage packet takes them off frames, the scheme's folder below codec/ turns them
 * into claims and prints them (struct pd_mark_scheme), all others store, compare and hash them.
 *
 * Marks of one scheme are ordered by their bytes, so a scheme lays them out in the order in which
 * they are to be listed. Numbers of schemes stand in files: one is never given twice. */

#define PD_MARK_BYTES 16

#define PD_MARK_NONE  0 /* number of no scheme: nothing was kept */

struct pd_mark {
    uint8_t scheme;
    uint8_t len;                  /* bytes in use */
    uint8_t bytes[PD_MARK_BYTES]; /* unused ones 0, so that marks can be compared as bytes */
};
_Static_assert(sizeof(struct pd_mark) == 18, "marks are compared as bytes");

/* A mark in the scheme's words: named lists of numbers, or numbers. */
#define PD_MARK_FIELDS_MAX 4
struct pd_mark_field {
    const char *name;  /* of the member in JSON and MongoDB */
    const char *label; /* in texts */
    bool list;
    bool implied; /* a number that is 0, which need not be told */
    uint8_t len;  /* of a list; else 1 */
    uint32_t values[PD_MARK_BYTES];
};

/* What a field can hold, as people write it. */
struct pd_mark_field_kind {
    const char *name;
    const char *expected; /* "a list of link tags" */
    bool list;
    uint8_t most; /* items */
    uint32_t max;
};

/* What a scheme tells about its marks; its slots are called with marks of this scheme alone. */
struct pd_mark_scheme {
    uint8_t number; /* 1 to 255 */
    const char *name;
    /* Whether the scheme could have left these bytes. */
    bool (*valid)(const struct pd_mark *mark);
    /* Writes a valid mark as at most PD_MARK_FIELDS_MAX fields and returns how many. */
    size_t (*fields)(const struct pd_mark *mark, struct pd_mark_field *ret_fields);
    /* The way back, where people may write the fields: those of `kinds`, in this order and within
     * their limits; a number that was not given is 0. `kinds_len` 0: such marks are written as
     * bytes. */
    const struct pd_mark_field_kind *kinds;
    size_t kinds_len;
    struct pd_mark (*make)(const struct pd_mark_field *fields);
};

static inline bool pd_mark_equal(const struct pd_mark *a, const struct pd_mark *b)
{
    return !memcmp(a, b, sizeof *a);
}

/* <0, 0, >0: by scheme, then by bytes. */
static inline int pd_mark_compare(const struct pd_mark *a, const struct pd_mark *b)
{
    int order = (a->scheme > b->scheme) - (a->scheme < b->scheme);

    order = order ? order : memcmp(a->bytes, b->bytes, sizeof a->bytes);
    return order ? order : (a->len > b->len) - (a->len < b->len);
}

static inline uint64_t pd_mark_hash(const struct pd_mark *mark)
{
    uint64_t words[2];

    memcpy(words, mark->bytes, sizeof words);
    return pd_hash_mix(words[0] ^
                       pd_hash_mix(words[1] ^ (uint64_t)mark->scheme << 8 ^ (uint64_t)mark->len));
}

#endif
