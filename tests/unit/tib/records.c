/* SPDX-License-Identifier: Apache-2.0 */
/* Random records and filters, and the naive store that real ones are compared with. */
#include "records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/tagging/mark.h"

#define START_US UINT64_C(1790000000000000)

static struct pd_path random_path(struct random *random)
{
    struct pd_path path = {0};
    switch (random_below(random, 8)) {
    case 0: break; /* no path */
    case 1:
        path.len = 1;
        path.switches[0] = (uint32_t)random_below(random, 4) + 1;
        break;
    case 2:
        path.len = (uint32_t)(2 + random_below(random, PD_PATH_MAX - 1));
        for (unsigned i = 0; i < path.len; i++) {
            path.switches[i] = (uint32_t)random_next(random) | 1;
        }
        break;
    default:
        path.len = (uint32_t)(3 + 2 * random_below(random, 3));
        for (unsigned i = 0; i < path.len; i++) {
            path.switches[i] = (uint32_t)(random_below(random, 4) + 4 * i + 1);
        }
    }
    return path;
}

static struct pd_mark random_mark(struct random *random)
{
    uint16_t vids[PD_TAGGING_TAGS_MAX];
    for (unsigned i = 0; i < PD_TAGGING_TAGS_MAX; i++) {
        vids[i] = (uint16_t)random_below(random, 4096);
    }
    return pd_tagging_mark(vids, (unsigned)random_below(random, PD_TAGGING_TAGS_MAX + 1),
                           (uint8_t)random_below(random, 64));
}

static struct pd_claim random_claim(struct random *random, struct pd_path *path)
{
    struct pd_claim claim = {.path = path};
    unsigned kind = (unsigned)random_below(random, 8);
    if (kind < 2) {
        claim.origin = (uint8_t)random_below(random, PD_ORIGIN_COUNT);
    }
    if (kind == 2 && path->len > 2) {
        claim.state = PD_CLAIM_PARTIAL;
        path->switches[1] = 0;
    } else if (kind == 3) {
        claim.state = PD_CLAIM_AMBIGUOUS;
        claim.candidates = (uint32_t)random_below(random, 5);
    }
    if (!path->len) {
        claim.state = kind < 3 ? PD_CLAIM_UNDECIDED : PD_CLAIM_INFEASIBLE;
        claim.candidates = kind < 3 ? (uint32_t)random_next(random) : 0;
        claim.mark = kind < 3 ? claim.mark : random_mark(random);
    }
    return claim;
}

static struct pd_flow_id random_flow(struct random *random)
{
    static const uint8_t protocols[] = {1, 6, 17, 58, 132};
    struct pd_flow_id flow = {
        .src_port = (uint16_t)random_below(random, random_below(random, 2) ? 4 : 65536),
        .dst_port = (uint16_t)random_below(random, 3),
        .protocol = protocols[random_below(random, sizeof protocols)],
        .ip_version = random_below(random, 3) ? 4 : 6,
    };
    flow.src.bytes[0] = flow.dst.bytes[0] = flow.ip_version == 4 ? 10 : 0xfd;
    flow.src.bytes[3] = (uint8_t)random_below(random, 16);
    flow.dst.bytes[3] = (uint8_t)random_below(random, 3);
    if (flow.ip_version == 6) {
        flow.src.bytes[7] = (uint8_t)random_below(random, 4);
        flow.src.bytes[15] = (uint8_t)random_below(random, 256);
        flow.dst.bytes[8] = (uint8_t)random_below(random, 256);
    }
    return flow;
}

void pool_init(struct pool *pool, struct random *random)
{
    for (unsigned i = 0; i < POOL_PATHS; i++) {
        pool->paths[i] = random_path(random);
        pool->claims[i] = random_claim(random, &pool->paths[i]);
    }
    for (unsigned i = 0; i < POOL_FLOWS; i++) {
        pool->flows[i] = random_flow(random);
    }
}

struct pd_tib_record pool_record(const struct pool *pool, struct random *random)
{
    static const uint8_t extra[] = {1, 0, 2, 0, 0, 0, 7, 8, 255, 255, 0, 0, 0, 0};
    unsigned way = (unsigned)random_below(random, POOL_PATHS);
    struct pd_tib_record record = {
        .flow = pool->flows[random_below(random, POOL_FLOWS)],
        .path = &pool->paths[way],
        .claim = pd_tib_claim_kept(&pool->claims[way]),
        .stime_us = START_US + random_below(random, 1000) * 1000,
        .bytes = random_next(random) >> random_below(random, 64),
        .pkts = 1 + (random_next(random) >> (32 + random_below(random, 32))),
    };
    if (!random_below(random, 20)) {
        record.retransmissions = (uint32_t)random_next(random) >> random_below(random, 32);
    }
    if (!random_below(random, 20)) {
        record.extra = extra;
        record.extra_bytes = random_below(random, 2) ? 8 : sizeof extra;
    }
    record.etime_us =
        record.stime_us + (random_below(random, 3) ? random_below(random, 50) * 1000 : 0);
    return record;
}

struct pd_tib_filter pool_filter(const struct pool *pool, struct random *random,
                                 struct pd_path *path)
{
    struct pd_tib_filter filter = PD_TIB_FILTER_ALL;
    unsigned kinds = (unsigned)random_next(random);
    if (kinds & 1) {
        filter.flow.id = pool->flows[random_below(random, POOL_FLOWS)];
        filter.flow.fields =
            random_below(random, 4) ? (unsigned)random_below(random, 32) : PD_FLOW_ALL;
    }
    const struct pd_path *some = &pool->paths[random_below(random, POOL_PATHS)];
    if ((kinds & 6) == 2 && some->len > 1) {
        unsigned hop = (unsigned)random_below(random, some->len - 1u);
        filter.link.from = random_below(random, 3) ? some->switches[hop] : 0;
        filter.link.to = random_below(random, 3)   ? some->switches[hop + 1]
                         : random_below(random, 4) ? 0
                                                   : 7;
    }
    if ((kinds & 24) == 8) {
        *path = *some;
        filter.path = path;
    }
    if (kinds & 128) {
        filter.origins = (uint32_t)random_below(random, 1u << PD_ORIGIN_COUNT);
    }
    if (kinds & 32) {
        filter.from_us = START_US + random_below(random, 1100) * 1000;
    }
    if (kinds & 64) {
        filter.to_us = START_US + random_below(random, 1100) * 1000;
    }
    return filter;
}

/* What a record points to; begins with its path. */
struct owned {
    struct pd_path path;
    struct pd_claim claim;
    uint8_t extra[64];
};

void list_add(struct list *list, const struct pd_tib_record *record)
{
    if (list->len == list->room) {
        list->room = list->room ? 2 * list->room : 64;
        list->records = realloc(list->records, list->room * sizeof *list->records);
        assert_non_null(list->records);
    }
    struct pd_tib_record *kept = &list->records[list->len++];
    struct owned *owned = calloc(1, sizeof *owned);
    assert_non_null(owned);
    pd_path_copy(&owned->path, record->path);
    *kept = *record;
    kept->path = &owned->path;
    if (record->claim) {
        assert_ptr_equal(record->claim->path, record->path);
        owned->claim = *record->claim;
        owned->claim.path = &owned->path;
        kept->claim = &owned->claim;
    }
    if (record->extra_bytes) {
        assert_true(record->extra_bytes <= sizeof owned->extra);
        memcpy(owned->extra, record->extra, record->extra_bytes);
        kept->extra = owned->extra;
    }
}

void list_clear(struct list *list)
{
    for (size_t i = 0; i < list->len; i++) {
        free((void *)list->records[i].path);
    }
    free(list->records);
    *list = (struct list){0};
}

static int collect(void *context, const struct pd_tib_record *records, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        list_add(context, &records[i]);
    }
    return 0;
}

int list_scan(struct pd_tib_snapshot *snapshot, const struct pd_tib_filter *filter,
              struct list *ret_list)
{
    return pd_tib_scan(snapshot, filter, collect, ret_list);
}

static int compare_records(const void *a, const void *b)
{
    const struct pd_tib_record *ra = a, *rb = b;
    uint64_t na[] = {ra->stime_us, ra->etime_us,        ra->bytes,
                     ra->pkts,     ra->retransmissions, ra->extra_bytes};
    uint64_t nb[] = {rb->stime_us, rb->etime_us,        rb->bytes,
                     rb->pkts,     rb->retransmissions, rb->extra_bytes};
    int order = memcmp(na, nb, sizeof na);
    order = order ? order : memcmp(&ra->flow, &rb->flow, sizeof ra->flow);
    order = order || !ra->extra_bytes ? order : memcmp(ra->extra, rb->extra, ra->extra_bytes);
    order = order ? order : memcmp(ra->path, rb->path, sizeof *ra->path); /* zero behind it */
    if (order || (!ra->claim && !rb->claim)) {
        return order;
    }
    if (!ra->claim || !rb->claim) {
        return ra->claim ? 1 : -1;
    }
    return memcmp(&ra->claim->candidates, &rb->claim->candidates,
                  sizeof *ra->claim - offsetof(struct pd_claim, candidates));
}

void list_assert_equal(struct list *found, struct list *wanted)
{
    assert_int_equal(found->len, wanted->len);
    if (!wanted->len) {
        return;
    }
    qsort(found->records, found->len, sizeof *found->records, compare_records);
    qsort(wanted->records, wanted->len, sizeof *wanted->records, compare_records);
    for (size_t i = 0; i < wanted->len; i++) {
        assert_int_equal(compare_records(&found->records[i], &wanted->records[i]), 0);
    }
}

void list_assert_within(struct list *found, struct list *stored)
{
    if (!found->len) {
        return;
    }
    qsort(found->records, found->len, sizeof *found->records, compare_records);
    qsort(stored->records, stored->len, sizeof *stored->records, compare_records);
    size_t j = 0;
    for (size_t i = 0; i < found->len; i++, j++) {
        while (j < stored->len && compare_records(&stored->records[j], &found->records[i]) < 0) {
            j++;
        }
        assert_true(j < stored->len);
        assert_int_equal(compare_records(&stored->records[j], &found->records[i]), 0);
    }
}

static bool crosses(const struct pd_path *path, struct pd_link_match link)
{
    bool any = !link.from && !link.to;
    for (unsigned i = 0; i + 1 < path->len; i++) {
        any |= path->switches[i] && path->switches[i + 1] && /* no gap */
               (link.from == 0 || link.from == path->switches[i]) &&
               (link.to == 0 || link.to == path->switches[i + 1]);
    }
    return any;
}

static bool flow_matches(const struct pd_flow_match *match, const struct pd_flow_id *id)
{
    unsigned f = match->fields;
    bool same_family = match->id.ip_version == id->ip_version;
    if ((f & PD_FLOW_SRC_IP) && (!same_family || memcmp(&match->id.src, &id->src, 16) != 0)) {
        return false;
    }
    if ((f & PD_FLOW_DST_IP) && (!same_family || memcmp(&match->id.dst, &id->dst, 16) != 0)) {
        return false;
    }
    return (!(f & PD_FLOW_SRC_PORT) || match->id.src_port == id->src_port) &&
           (!(f & PD_FLOW_DST_PORT) || match->id.dst_port == id->dst_port) &&
           (!(f & PD_FLOW_PROTOCOL) || match->id.protocol == id->protocol);
}

void list_select(const struct list *stored, const struct pd_tib_filter *filter,
                 struct list *ret_wanted)
{
    for (size_t i = 0; i < stored->len; i++) {
        const struct pd_tib_record *r = &stored->records[i];
        bool wanted = r->etime_us >= filter->from_us && r->stime_us <= filter->to_us &&
                      flow_matches(&filter->flow, &r->flow) && crosses(r->path, filter->link) &&
                      (!filter->origins || filter->origins >> pd_tib_claim(r).origin & 1) &&
                      (!filter->path || pd_path_equal(filter->path, r->path));
        assert_int_equal(wanted, pd_tib_filter_matches(filter, r));
        if (wanted) {
            list_add(ret_wanted, r);
        }
    }
}
