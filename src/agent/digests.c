/* SPDX-License-Identifier: Apache-2.0 */
/* Flows with digests: their parts since the last record, and the split. */
#include "agent/digests.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/digests_flows.h"
#include "agent/digests_watch.h"
#include "base/clock.h"
#include "base/grow.h"
#include "codec/pint/encode.h"
#include "codec/pint/flow.h"
#include "codec/pint/numbers.h"
#include "codec/pint/values.h"
#include "packet/sample.h"
#include "telemetry/column.h"

#define COUNTS_BYTES ((size_t)256 << 20) /* what hops measured, of all flows */
#define CHUNK_HEADER 6                   /* of further columns: kind, length */

/* A frame's, until there are several. */
struct sample {
    struct pd_flow_id id;
    struct pd_digests_flow **bucket,
        *flow; /* flow: NULL while it is not looked for, or not there */
    uint64_t mark, time_ns;
    uint32_t packet_id, hops, ip_bytes;
    uint16_t digest;
};

struct pd_digests {
    struct pd_topology *topology;
    struct pd_pint_plan *plan;              /* NULL: none yet */
    _Atomic(struct pd_pint_plan *) offered; /* exchanged: the plan's bytes come with it */
    _Atomic uint64_t aside_until_ns;        /* monotonic; 0: no plan settles. Relaxed */
    struct pd_digests_watch watch;
    struct pd_agent_counters *counters;
    struct pd_intake_tap tap;
    const struct pd_intake_tap *next;
    atomic_bool wanted;
    uint64_t key_bits; /* of marks of another codec; 0: digests are alone */
    struct sample samples[PD_PINT_DRAWS_MAX];
    unsigned samples_len;
    struct pd_digests_flows flows;
    struct pd_telemetry_scale scales[PD_PINT_QUERIES_MAX];
    struct pd_telemetry_cell *cells; /* room to sort them */
    uint32_t cells_room;
    uint8_t extra[CHUNK_HEADER + PD_TELEMETRY_COLUMN_BYTES_MAX];
};

/* ---- life */

void pd_agent_digests_free(struct pd_digests *digests)
{
    if (!digests) {
        return;
    }
    pd_agent_digests_flows_forget(&digests->flows);
    pd_pint_receiver_free(digests->flows.receiver);
    pd_pint_plan_free(digests->plan);
    pd_pint_plan_free(atomic_load(&digests->offered));
    pd_topology_free(digests->topology);
    free(digests->cells);
    free(digests);
}

static void take_scales(struct pd_digests *digests)
{
    for (unsigned q = 0; q < digests->plan->queries_len; q++) {
        const struct pd_pint_query *query = &digests->plan->queries[q];
        digests->scales[q] = (struct pd_telemetry_scale){query->name, query->values, query->codes,
                                                         query->space_bytes};
    }
}

/* Without memory all digests are left aside. */
static int take_plan(struct pd_digests *digests, struct pd_pint_plan *plan)
{
    const struct pd_pint_receiver_config config = {.topology = digests->topology, .plan = plan};
    struct pd_pint_receiver *receiver = NULL;
    int err = plan ? pd_pint_receiver_new(&config, &receiver) : 0;

    if (err) {
        pd_pint_plan_free(plan);
        plan = NULL;
    }
    pd_pint_receiver_free(digests->flows.receiver);
    pd_pint_plan_free(digests->plan);
    digests->flows.receiver = receiver;
    digests->plan = plan;
    if (plan) {
        take_scales(digests);
    }
    return err;
}

int pd_agent_digests_new(const char *topology_file, struct pd_pint_plan *plan, uint64_t key_bits,
                         uint64_t flows_max, struct pd_agent_counters *counters,
                         struct pd_alarms *alarms, struct pd_digests **ret_digests,
                         struct pd_error *error)
{
    struct pd_digests *digests = calloc(1, sizeof *digests);
    int err = digests ? 0 : pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));

    if (!err) {
        err = pd_topology_read(topology_file, &digests->topology, error);
        digests->flows.topology = digests->topology;
    }
    if (err) {
        pd_pint_plan_free(plan);
    } else {
        err = take_plan(digests, plan);
        err = err ? pd_fail(error, err, "%s", pd_error_text(err)) : 0;
    }
    if (err) {
        pd_agent_digests_free(digests);
        return err;
    }
    digests->counters = counters;
    digests->watch.alarms = alarms;
    digests->key_bits = key_bits;
    digests->flows.counters = counters;
    digests->flows.max = flows_max;
    digests->flows.counts_left = COUNTS_BYTES;
    *ret_digests = digests;
    return 0;
}

/* ---- another plan */

void pd_agent_digests_offer(struct pd_digests *digests, struct pd_pint_plan *plan)
{
    pd_pint_plan_free(atomic_exchange(&digests->offered, plan));
}

bool pd_agent_digests_offered(struct pd_digests *digests)
{
    return digests && atomic_load_explicit(&digests->offered, memory_order_relaxed);
}

void pd_agent_digests_change(struct pd_digests *digests)
{
    struct pd_pint_plan *plan = atomic_exchange(&digests->offered, NULL);

    if (!plan) {
        return;
    }
    pd_agent_digests_flush(digests);
    pd_agent_digests_flows_forget(&digests->flows);
    digests->watch = (struct pd_digests_watch){.alarms = digests->watch.alarms};
    atomic_store_explicit(&digests->aside_until_ns,
                          pd_clock_monotonic_ns() + plan->settle_ms * PD_NS_PER_MS,
                          memory_order_relaxed);
    take_plan(digests, plan);
}

/* Asks the clock only while a plan settles. */
bool pd_agent_digests_settling(const struct pd_digests *digests)
{
    const uint64_t until_ns = atomic_load_explicit(&digests->aside_until_ns, memory_order_relaxed);

    return until_ns && pd_clock_monotonic_ns() < until_ns;
}

static bool is_aside(struct pd_digests *digests)
{
    if (!pd_agent_digests_settling(digests)) {
        atomic_store_explicit(&digests->aside_until_ns, 0, memory_order_relaxed);
        return !digests->plan;
    }
    return true;
}

/* ---- frames */

/* What the hops measured, before it is known which switches they are. */
static void measure(struct pd_digests *digests, struct pd_digests_part *part,
                    const struct pd_pint_draw *draw, uint16_t digest)
{
    struct pd_pint_code_at codes[PD_PINT_BITS_MAX];
    const size_t len = pd_pint_values(digests->plan, draw, digest, codes);

    for (size_t i = 0; i < len; i++) {
        if (!pd_telemetry_counts_add(&part->counts, &digests->flows.counts_left, codes[i].query,
                                     codes[i].hop, codes[i].code)) {
            pd_count(&digests->counters->values_lost, 1);
        }
    }
}

static void take_sample(struct pd_digests *digests, const struct sample *sample,
                        const struct pd_pint_draw *draw)
{
    struct pd_digests_flow *flow = sample->flow;
    size_t record = 0;

    flow = flow ? flow : pd_agent_digests_flow_in(*sample->bucket, &sample->id, sample->mark);
    flow = flow ? flow : pd_agent_digests_flow_add(&digests->flows, &sample->id, sample->mark);
    pd_count(&digests->counters->digests, 1);
    if (!flow || pd_pint_flow_add(flow->state, sample->packet_id, sample->digest, sample->hops,
                                  draw, &record)) {
        pd_count(&digests->counters->digests_lost, 1);
        return;
    }
    pd_agent_digests_watch(&digests->watch, &sample->id, flow->state,
                           pd_pint_flow_record(flow->state, record), sample->time_ns);
    struct pd_digests_part *part = &flow->parts[flow->record = record];
    part->first_ns = part->pkts ? part->first_ns : sample->time_ns;
    part->last_ns = flow->last_ns = sample->time_ns;
    part->pkts++;
    part->bytes += sample->ip_bytes;
    measure(digests, part, draw, sample->digest);
}

/* What the sample will be added to, if its flow goes on as before. */
static void prefetch(const struct pd_digests *digests, const struct sample *sample,
                     const struct pd_pint_draw *draw)
{
    struct pd_pint_code_at codes[PD_PINT_BITS_MAX];
    const struct pd_digests_flow *flow = sample->flow;
    const size_t len = pd_pint_values(digests->plan, draw, sample->digest, codes);

    pd_pint_flow_prefetch(flow->state);
    for (size_t i = 0; i < len; i++) {
        pd_telemetry_counts_prefetch(&flow->parts[flow->record].counts, codes[i].query,
                                     codes[i].hop, codes[i].code);
    }
}

/* Flows come in any order, so what they keep is seldom in the cache: that of several samples is
 * asked for before the first of them waits for it. */
static void look_ahead(struct pd_digests *digests, const struct pd_pint_draw *draws, unsigned len)
{
    for (unsigned i = 0; i < len; i++) {
        struct sample *sample = &digests->samples[i];
        sample->flow = pd_agent_digests_flow_in(*sample->bucket, &sample->id, sample->mark);
        if (sample->flow) {
            __builtin_prefetch(sample->flow->state, 1);
            __builtin_prefetch(&sample->flow->parts[sample->flow->record], 1);
        }
    }
    for (unsigned i = 0; i < len; i++) {
        if (digests->samples[i].flow) {
            prefetch(digests, &digests->samples[i], &draws[i]);
        }
    }
}

void pd_agent_digests_flush(struct pd_digests *digests)
{
    struct pd_pint_draw draws[PD_PINT_DRAWS_MAX];
    uint32_t packet_ids[PD_PINT_DRAWS_MAX], hops[PD_PINT_DRAWS_MAX];
    const unsigned len = digests ? digests->samples_len : 0;

    if (!len) {
        return;
    }
    for (unsigned i = 0; i < len; i++) {
        packet_ids[i] = digests->samples[i].packet_id;
        hops[i] = digests->samples[i].hops;
    }
    pd_pint_draw(digests->plan, packet_ids, hops, len, draws);
    digests->samples_len = 0;
    look_ahead(digests, draws, len);
    for (unsigned i = 0; i < len; i++) {
        take_sample(digests, &digests->samples[i], &draws[i]);
    }
}

static void fold(struct pd_digests *digests, const struct pd_packet *packet, const uint8_t *frame,
                 size_t captured, uint64_t time_ns)
{
    struct sample *sample = &digests->samples[digests->samples_len];

    if (is_aside(digests)) {
        pd_count(&digests->counters->digests_aside, 1);
        return;
    }
    sample->hops = pd_packet_hops(pd_packet_ttl(frame, packet));
    if (!pd_pint_digest(digests->plan, frame, packet, &sample->digest) ||
        sample->hops > PD_PINT_HOPS_MAX) {
        pd_count(&digests->counters->digests_missing, 1);
        return;
    }
    sample->id = packet->flow;
    sample->bucket = pd_agent_digests_bucket(&digests->flows, &sample->id);
    __builtin_prefetch(sample->bucket);
    sample->mark = packet->mark & digests->key_bits;
    sample->time_ns = time_ns;
    sample->ip_bytes = packet->ip_bytes;
    sample->packet_id = pd_packet_id(frame, captured, packet, digests->plan->seed);
    if (++digests->samples_len == PD_PINT_DRAWS_MAX) {
        pd_agent_digests_flush(digests);
    }
}

static void on_frame(void *context, const struct pd_packet *packet, const uint8_t *frame,
                     size_t captured, size_t wire, uint64_t time_ns)
{
    struct pd_digests *digests = context;
    const struct pd_intake_tap *next = digests->next;

    digests->flows.newest_ns =
        time_ns > digests->flows.newest_ns ? time_ns : digests->flows.newest_ns;
    fold(digests, packet, frame, captured, time_ns);
    if (next && atomic_load_explicit(next->wanted, memory_order_relaxed)) {
        next->frame(next->context, packet, frame, captured, wire, time_ns);
    }
}

const struct pd_intake_tap *pd_agent_digests_tap(struct pd_digests *digests,
                                                 const struct pd_intake_tap *next)
{
    atomic_store_explicit(&digests->wanted, true, memory_order_relaxed);
    digests->next = next;
    digests->tap = (struct pd_intake_tap){digests, &digests->wanted, on_frame};
    return &digests->tap;
}

/* ---- records */

/* Known and miscabled walks have a number, which the codec tells apart. */
static uint64_t mark_of(const struct pd_pint_record *record)
{
    const bool has_path = record->state == PD_PINT_KNOWN || record->state == PD_PINT_MISCABLED;
    return has_path ? pd_pint_number_of(&record->path) : 0;
}

/* The further column of a part with this path; 0: none. */
static uint32_t column_of(struct pd_digests *digests, const struct pd_digests_flow *flow,
                          const struct pd_telemetry_counts *counts, const struct pd_pint_path *path)
{
    const uint16_t kind = htole16(PD_TELEMETRY_COLUMN_KIND);
    size_t bytes = 0;

    if (!counts->len || PD_GROW(digests->cells, digests->cells_room, counts->len)) {
        return 0;
    }
    pd_telemetry_counts_sorted(counts, digests->cells);
    bytes = pd_telemetry_column_write(digests->cells, counts->len, digests->scales, path->first_hop,
                                      path->len, flow->host, digests->extra + CHUNK_HEADER);
    const uint32_t bytes_le = htole32((uint32_t)bytes);
    memcpy(digests->extra, &kind, sizeof kind);
    memcpy(digests->extra + sizeof kind, &bytes_le, sizeof bytes_le);
    return bytes ? (uint32_t)(CHUNK_HEADER + bytes) : 0;
}

/* Takes at most so many packets off a part. */
static struct pd_digests_part take_off(struct pd_digests_part *part, uint64_t pkts_max)
{
    struct pd_digests_part taken = *part;

    if (taken.pkts > pkts_max) {
        taken.bytes = taken.bytes / taken.pkts * pkts_max;
        taken.pkts = pkts_max;
    }
    part->pkts -= taken.pkts;
    part->bytes -= taken.bytes;
    part->first_ns = part->last_ns;
    return taken;
}

/* Packets that stay in the rest of the record, since no path is known of them. */
static void leave(struct pd_digests_part *part)
{
    *part = (struct pd_digests_part){.counts = part->counts};
}

/* One part's share of the record, which is taken off `rest`. */
static struct pd_trajectory_record share_of(const struct pd_trajectory_record *record,
                                            struct pd_trajectory_record *rest,
                                            struct pd_digests_part *part)
{
    const struct pd_digests_part taken = take_off(part, rest->pkts);
    struct pd_trajectory_record out = *record;

    out.pkts = (__typeof__(out.pkts))taken.pkts;
    out.bytes = taken.bytes < rest->bytes ? taken.bytes : rest->bytes;
    out.first_ns = taken.first_ns > record->first_ns ? taken.first_ns : record->first_ns;
    out.last_ns = taken.last_ns < record->last_ns ? taken.last_ns : record->last_ns;
    out.first_ns = out.first_ns < out.last_ns ? out.first_ns : out.last_ns;
    rest->pkts -= out.pkts;
    if (!rest->pkts) { /* packets and bytes of the parts are the record's */
        out.bytes = rest->bytes;
    }
    rest->bytes -= out.bytes;
    return out;
}

/* A walk that the topology does not have is in its alarm alone: its switches are nobody's. */
static bool has_switches(const struct pd_pint_record *record)
{
    return record->state == PD_PINT_KNOWN;
}

struct splitting {
    const struct pd_trajectory_record *record;
    bool take, columns;
    pd_digests_give *give;
    void *context;
};

static void split_part(struct pd_digests *digests, struct pd_digests_flow *flow, size_t number,
                       const struct splitting *splitting, struct pd_trajectory_record *rest)
{
    const struct pd_pint_record *way = pd_pint_flow_record(flow->state, number);
    struct pd_digests_part scratch = flow->parts[number];
    struct pd_digests_part *part = splitting->take ? &flow->parts[number] : &scratch;
    const uint64_t mark = mark_of(way);
    uint32_t bytes = 0;

    if (!mark || !part->pkts) {
        leave(part);
        return;
    }
    struct pd_trajectory_record out = share_of(splitting->record, rest, part);
    out.mark = mark;
    if (splitting->columns && has_switches(way)) {
        bytes = column_of(digests, flow, &part->counts, &way->path);
    }
    splitting->give(splitting->context, &out, bytes ? digests->extra : NULL, bytes);
    if (splitting->take && has_switches(way)) {
        pd_telemetry_counts_clear(&part->counts, &digests->flows.counts_left);
    }
}

static bool tells_paths(const struct pd_pint_plan *plan)
{
    for (unsigned q = 0; plan && q < plan->queries_len; q++) {
        if (plan->queries[q].aggregation == PD_PINT_STATIC &&
            plan->queries[q].value == PD_PINT_SWITCH_ID) {
            return true;
        }
    }
    return false;
}

/* The record as it is, with what was measured on its way. */
static void give_whole(struct pd_digests *digests, const struct splitting *splitting)
{
    const struct pd_trajectory_record *record = splitting->record;
    struct pd_digests_flow *flow =
        pd_agent_digests_flow(&digests->flows, &record->flow, record->mark & digests->key_bits);
    const size_t len = flow && splitting->columns ? pd_pint_flow_records(flow->state) : 0;
    uint32_t bytes = 0;

    for (size_t r = 0; r < len && !bytes; r++) {
        const struct pd_pint_record *way = pd_pint_flow_record(flow->state, r);
        struct pd_telemetry_counts *counts = &flow->parts[r].counts;
        const struct pd_pint_path whole = {.len = way->hops, .first_hop = 1};
        const struct pd_pint_path *path = tells_paths(digests->plan) ? &way->path : &whole;
        if (path == &whole || has_switches(way)) {
            bytes = column_of(digests, flow, counts, path);
        }
        if (bytes && splitting->take) {
            pd_telemetry_counts_clear(counts, &digests->flows.counts_left);
        }
    }
    splitting->give(splitting->context, record, bytes ? digests->extra : NULL, bytes);
}

void pd_agent_digests_split(struct pd_digests *digests, const struct pd_trajectory_record *record,
                            bool take, bool columns, pd_digests_give *give, void *context)
{
    const struct splitting splitting = {record, take, columns, give, context};
    struct pd_trajectory_record rest = *record;

    if (!digests) {
        give(context, record, NULL, 0);
        return;
    }
    pd_agent_digests_flush(digests);
    if (digests->key_bits) {
        give_whole(digests, &splitting);
        if (take) {
            pd_agent_digests_flows_sweep(&digests->flows);
        }
        return;
    }
    struct pd_digests_flow *flow = pd_agent_digests_flow(&digests->flows, &record->flow, 0);
    const size_t len = flow ? pd_pint_flow_records(flow->state) : 0;

    rest.mark = 0;
    for (size_t r = 0; r < len && rest.pkts; r++) {
        split_part(digests, flow, r, &splitting, &rest);
    }
    if (rest.pkts) {
        give(context, &rest, NULL, 0);
    }
    if (take) {
        pd_agent_digests_flows_sweep(&digests->flows);
    }
}

void pd_agent_digests_visit(void *walk, const struct pd_trajectory_record *record)
{
    const struct pd_digests_walk *asked = walk;

    pd_agent_digests_split(asked->digests, record, false, asked->columns, asked->give,
                           asked->context);
}
