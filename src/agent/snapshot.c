/* SPDX-License-Identifier: Apache-2.0 */
/* Live records: copied, decoded and made rows of the TIB's form. */
#include "agent/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/queue.h"
#include "base/clock.h"
#include "base/grow.h"
#include "tib/tib.h"

struct pd_agent_snapshot *pd_agent_snapshot_new(const struct pd_query *query)
{
    struct pd_agent_snapshot *snapshot = calloc(1, sizeof *snapshot);

    if (!snapshot) {
        return NULL;
    }
    snapshot->query = *query;
    snapshot->query.filter = pd_query_filter(&snapshot->query);
    return snapshot;
}

void pd_agent_snapshot_free(struct pd_agent_snapshot *snapshot)
{
    if (!snapshot) {
        return;
    }
    pd_tib_release(snapshot->tib);
    for (size_t i = 0; i < snapshot->traces_len; i++) {
        free(snapshot->traces[i]);
    }
    free(snapshot->traces);
    for (size_t i = 0; snapshot->extras && i < snapshot->records_len; i++) {
        free(snapshot->extras[i]);
    }
    free(snapshot->extras);
    free(snapshot->rows);
    free(snapshot->ways);
    free(snapshot->records);
    free(snapshot);
}

struct pd_tib_record pd_agent_snapshot_row(const struct pd_trajectory_record *record,
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

int pd_agent_snapshot_path(struct pd_resolver *resolver, const struct pd_trajectory_record *record,
                           struct pd_way *ret_way)
{
    struct pd_claim claim;
    int err = pd_resolver_claim(resolver, &record->flow, record->mark, &claim);

    pd_path_copy(&ret_way->path, claim.path);
    ret_way->claim = claim;
    ret_way->claim.path = &ret_way->path;
    return err;
}

void pd_agent_snapshot_add(struct pd_agent_snapshot *snapshot,
                           const struct pd_trajectory_record *record, const uint8_t *extra,
                           uint32_t extra_bytes)
{
    const struct pd_tib_filter *filter = &snapshot->query.filter;

    if (snapshot->error || !pd_flow_matches(&filter->flow, &record->flow) ||
        record->first_ns / PD_NS_PER_US > filter->to_us ||
        record->last_ns / PD_NS_PER_US < filter->from_us) {
        return;
    }
    if (PD_GROW(snapshot->records, snapshot->records_size, snapshot->records_len + 1) ||
        (snapshot->query.columns &&
         PD_GROW(snapshot->extras, snapshot->extras_size, snapshot->records_len + 1))) {
        snapshot->error = -ENOMEM;
        return;
    }
    if (snapshot->query.columns) {
        snapshot->extras[snapshot->records_len] = pd_agent_item_extra_new(extra, extra_bytes);
    }
    snapshot->records[snapshot->records_len++] = *record;
}

/* Distinct claims of a snapshot: index + 1 by hash, open addressing. */
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

void pd_agent_snapshot_decode(struct pd_agent_snapshot *snapshot, struct pd_resolver *resolver)
{
    size_t n = snapshot->records_len, slots = 16;
    struct interner interner = {0};

    if (snapshot->error || !n) {
        return;
    }
    while (slots < 2 * n) {
        slots *= 2;
    }
    /* Room for as many as records: of such a reservation only what is used is ever touched. */
    snapshot->ways = interner.ways = reallocarray(NULL, n, sizeof *snapshot->ways);
    snapshot->rows = reallocarray(NULL, n, sizeof *snapshot->rows);
    snapshot->rows_size = n;
    interner.slots = calloc(slots, sizeof *interner.slots);
    interner.mask = slots - 1;
    if (!interner.ways || !snapshot->rows || !interner.slots) {
        snapshot->error = -ENOMEM;
        free(interner.slots);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        struct pd_tib_record row;
        struct pd_way way;
        const struct pd_claim *kept;

        pd_agent_snapshot_path(resolver, &snapshot->records[i], &way);
        row = pd_agent_snapshot_row(&snapshot->records[i], &way.claim);
        if (!pd_tib_filter_matches(&snapshot->query.filter, &row)) {
            continue;
        }
        if (snapshot->extras && snapshot->extras[i]) {
            row.extra = snapshot->extras[i]->bytes;
            row.extra_bytes = snapshot->extras[i]->bytes_len;
        }
        kept = intern(&interner, &way.claim);
        row.path = kept->path;
        row.claim = pd_tib_claim_kept(kept);
        snapshot->rows[snapshot->rows_len++] = row;
    }
    free(interner.slots);
}

/* ---- traces ---- */

void pd_agent_trace_row(const struct pd_trace *trace, struct pd_agent_trace_row *ret_row)
{
    pd_trace_claim(trace, &ret_row->claim);
    pd_path_copy(&ret_row->path, &trace->way.path);
    ret_row->claim.path = &ret_row->path;
    ret_row->record = (struct pd_tib_record){
        .flow = trace->flow,
        .path = &ret_row->path,
        .claim = &ret_row->claim,
        .stime_us = trace->time_us,
        .etime_us = trace->last_us > trace->time_us ? trace->last_us : trace->time_us,
        .retransmissions = trace->retransmissions,
        .extra_bytes = (uint32_t)pd_trace_extra_write(trace, ret_row->extra),
        .extra = ret_row->extra,
    };
}

/* Both lists have room for one more. */
static bool grow(struct pd_agent_snapshot *snapshot)
{
    return !PD_GROW(snapshot->rows, snapshot->rows_size, snapshot->rows_len + 1) &&
           !PD_GROW(snapshot->traces, snapshot->traces_size, snapshot->traces_len + 1);
}

void pd_agent_snapshot_trace(void *context, const struct pd_trace *trace)
{
    struct pd_agent_snapshot *snapshot = context;
    struct pd_agent_trace_row *row;

    if (snapshot->error) {
        return;
    }
    row = grow(snapshot) ? malloc(sizeof *row) : NULL;
    if (!row) {
        snapshot->error = -ENOMEM;
        return;
    }
    pd_agent_trace_row(trace, row);
    if (!pd_tib_filter_matches(&snapshot->query.filter, &row->record)) {
        free(row);
        return;
    }
    snapshot->traces[snapshot->traces_len++] = row;
    snapshot->rows[snapshot->rows_len++] = row->record;
}
