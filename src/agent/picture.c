/* SPDX-License-Identifier: Apache-2.0 */
/* Live records: copied, decoded and made rows of the TIB's form. */
#include "agent/picture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "codec/tagging/mark.h"

_Static_assert(PD_RAW_TAGS_MAX == PD_TAGGING_TAGS_MAX, "all tags are kept");

struct pd_picture *pd_picture_new(const struct pd_query *query)
{
    struct pd_picture *picture = calloc(1, sizeof *picture);

    if (!picture) {
        return NULL;
    }
    picture->query = *query;
    picture->query.filter = pd_query_filter(&picture->query);
    return picture;
}

void pd_picture_free(struct pd_picture *picture)
{
    if (!picture) {
        return;
    }
    pd_tib_release(picture->snapshot);
    free(picture->rows);
    free(picture->paths);
    free(picture->records);
    free(picture);
}

struct pd_tib_record pd_picture_row(const struct pd_trajectory_record *record,
                                    const struct pd_path *path)
{
    return (struct pd_tib_record){
        .flow = record->flow,
        .path = path,
        .stime_us = record->first_ns / PD_NS_PER_US,
        .etime_us = record->last_ns / PD_NS_PER_US,
        .bytes = record->bytes,
        .pkts = record->pkts,
    };
}

int pd_picture_path(struct pd_resolver *resolver, const struct pd_trajectory_record *record,
                    struct pd_path *ret_path)
{
    struct pd_claim claim;
    int e = pd_resolver_claim(resolver, &record->flow, record->mark, &claim);

    *ret_path = *claim.path;
    if (e) {
        ret_path->tags_len =
            (uint8_t)pd_tagging_mark_read(&claim.mark, ret_path->tags, &ret_path->dscp);
    }
    return e;
}

void pd_picture_add(struct pd_picture *picture, const struct pd_trajectory_record *record)
{
    const struct pd_tib_filter *filter = &picture->query.filter;

    if (picture->error || !pd_flow_matches(&filter->flow, &record->flow) ||
        record->first_ns / PD_NS_PER_US > filter->to_us ||
        record->last_ns / PD_NS_PER_US < filter->from_us) {
        return;
    }
    if (picture->records_len == picture->records_size) {
        size_t size = picture->records_size ? 2 * picture->records_size : 256;
        void *grown = reallocarray(picture->records, size, sizeof *picture->records);

        if (!grown) {
            picture->error = -ENOMEM;
            return;
        }
        picture->records = grown;
        picture->records_size = size;
    }
    picture->records[picture->records_len++] = *record;
}

/* Distinct paths of a picture: index + 1 by hash, open addressing. */
struct interner {
    struct pd_path *paths;
    size_t len;
    uint32_t *slots;
    size_t mask;
};

static const struct pd_path *intern(struct interner *interner, const struct pd_path *path)
{
    size_t slot = pd_path_hash(path) & interner->mask;

    for (; interner->slots[slot]; slot = (slot + 1) & interner->mask) {
        const struct pd_path *known = &interner->paths[interner->slots[slot] - 1];

        if (pd_path_equal(known, path)) {
            return known;
        }
    }
    interner->paths[interner->len] = *path;
    interner->slots[slot] = (uint32_t)++interner->len;
    return &interner->paths[interner->len - 1];
}

void pd_picture_decode(struct pd_picture *picture, struct pd_resolver *resolver)
{
    size_t n = picture->records_len, slots = 16;
    struct interner interner = {0};

    if (picture->error || !n) {
        return;
    }
    while (slots < 2 * n) {
        slots *= 2;
    }
    /* Room for as many paths as records: of such a reservation only what is used is ever touched.
     */
    picture->paths = interner.paths = reallocarray(NULL, n, sizeof *picture->paths);
    picture->rows = reallocarray(NULL, n, sizeof *picture->rows);
    interner.slots = calloc(slots, sizeof *interner.slots);
    interner.mask = slots - 1;
    if (!interner.paths || !picture->rows || !interner.slots) {
        picture->error = -ENOMEM;
        free(interner.slots);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        struct pd_tib_record row;
        struct pd_path path;

        pd_picture_path(resolver, &picture->records[i], &path);
        row = pd_picture_row(&picture->records[i], &path);
        if (!pd_tib_filter_matches(&picture->query.filter, &row)) {
            continue;
        }
        row.path = intern(&interner, &path);
        picture->rows[picture->rows_len++] = row;
    }
    free(interner.slots);
}
