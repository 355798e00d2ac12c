/* SPDX-License-Identifier: Apache-2.0 */
/* Live records: copied, decoded and made rows of the TIB's form. */
#include "agent/picture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

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
    free(picture->ways);
    free(picture->records);
    free(picture);
}

struct pd_tib_record pd_picture_row(const struct pd_trajectory_record *record,
                                    const struct pd_claim *claim)
{
    return (struct pd_tib_record){
        .flow = record->flow,
        .path = claim->path,
        .claim = pd_tib_claim_kept(claim),
        .stime_us = record->first_ns / PD_NS_PER_US,
        .etime_us = record->last_ns / PD_NS_PER_US,
        .bytes = record->bytes,
        .pkts = record->pkts,
    };
}

int pd_picture_path(struct pd_resolver *resolver, const struct pd_trajectory_record *record,
                    struct pd_way *ret_way)
{
    struct pd_claim claim;
    int e = pd_resolver_claim(resolver, &record->flow, record->mark, &claim);

    pd_path_copy(&ret_way->path, claim.path);
    ret_way->claim = claim;
    ret_way->claim.path = &ret_way->path;
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

/* Distinct claims of a picture: index + 1 by hash, open addressing. */
struct interner {
    struct pd_way *ways;
    size_t len;
    uint32_t *slots;
    size_t mask;
};

static const struct pd_claim *intern(struct interner *interner, const struct pd_claim *claim)
{
    size_t slot = pd_claim_hash(claim) & interner->mask;
    struct pd_way *way;

    for (; interner->slots[slot]; slot = (slot + 1) & interner->mask) {
        const struct pd_claim *known = &interner->ways[interner->slots[slot] - 1].claim;

        if (pd_claim_equal(known, claim)) {
            return known;
        }
    }
    way = &interner->ways[interner->len];
    way->claim = *claim;
    way->claim.path = &way->path;
    pd_path_copy(&way->path, claim->path);
    interner->slots[slot] = (uint32_t)++interner->len;
    return &way->claim;
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
    /* Room for as many as records: of such a reservation only what is used is ever touched. */
    picture->ways = interner.ways = reallocarray(NULL, n, sizeof *picture->ways);
    picture->rows = reallocarray(NULL, n, sizeof *picture->rows);
    interner.slots = calloc(slots, sizeof *interner.slots);
    interner.mask = slots - 1;
    if (!interner.ways || !picture->rows || !interner.slots) {
        picture->error = -ENOMEM;
        free(interner.slots);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        struct pd_tib_record row;
        struct pd_way way;
        const struct pd_claim *kept;

        pd_picture_path(resolver, &picture->records[i], &way);
        row = pd_picture_row(&picture->records[i], &way.claim);
        if (!pd_tib_filter_matches(&picture->query.filter, &row)) {
            continue;
        }
        kept = intern(&interner, &way.claim);
        row.path = kept->path;
        row.claim = pd_tib_claim_kept(kept);
        picture->rows[picture->rows_len++] = row;
    }
    free(interner.slots);
}
