/* SPDX-License-Identifier: Apache-2.0 */
/* Records of a flow: which one a packet belongs to, and what becomes of it. */
#include "codec/pint/flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KNOWN_BITS  20 /* a walk not in the file fits once in 10^6 */
#define ROOM_BYTES  ((size_t)256 << 20)
#define SOLVE_FIRST 8 /* digests; then at each doubling, and at the flow's end */

struct pd_pint_receiver {
    struct pd_pint_receiver_config config;
    struct pd_pint_solver *solver;
    struct pd_pint_counters counters;
    size_t bytes; /* of searches */
};

/* What a record's conclusions are drawn from; gone when its path is known. */
struct work {
    struct pd_pint_search *search; /* NULL: no room */
    struct pd_pint_search *again;  /* begun when nothing fitted any more */
    uint64_t again_packet, again_pkts;
    size_t solve_at; /* digests when it is solved without neighbours the next time */
    uint16_t coverage[PD_PINT_HOPS_MAX];
};

struct pd_pint_flow {
    struct pd_pint_receiver *receiver;
    uint32_t src, dst;
    uint64_t pkts;
    size_t current;
    size_t records_len;
    struct pd_pint_record *records;
    struct work **works; /* of each record; NULL when it is known */
};

const char *pd_pint_state_id(enum pd_pint_state state)
{
    static const char *const ids[PD_PINT_STATE_COUNT] = {
#define X(name, id, text) id,
        PD_PINT_STATES(X)
#undef X
    };
    return (unsigned)state < PD_PINT_STATE_COUNT ? ids[state] : "unknown";
}

/* ---- the receiver */

int pd_pint_receiver_new(const struct pd_pint_receiver_config *config,
                         struct pd_pint_receiver **ret_receiver)
{
    struct pd_pint_receiver *receiver = calloc(1, sizeof *receiver);
    int err;

    if (!receiver) {
        return -ENOMEM;
    }
    receiver->config = *config;
    receiver->config.known_bits = config->known_bits ? config->known_bits : KNOWN_BITS;
    receiver->config.room_bytes = config->room_bytes ? config->room_bytes : ROOM_BYTES;
    receiver->config.no_topology = config->no_topology || config->method == PD_PINT_PEEL;
    err = pd_pint_solver_new(config->topology, config->plan, config->method,
                             receiver->config.room_bytes, &receiver->solver);
    if (err) {
        free(receiver);
        return err;
    }
    *ret_receiver = receiver;
    return 0;
}

void pd_pint_receiver_free(struct pd_pint_receiver *receiver)
{
    if (receiver) {
        pd_pint_solver_free(receiver->solver);
        free(receiver);
    }
}

const struct pd_pint_counters *pd_pint_receiver_counters(const struct pd_pint_receiver *receiver)
{
    return &receiver->counters;
}

/* ---- searches, counted against the bound */

static void search_drop(struct pd_pint_receiver *receiver, struct pd_pint_search **search)
{
    if (*search) {
        receiver->bytes -= pd_pint_search_bytes(*search);
        pd_pint_search_free(*search);
        *search = NULL;
    }
}

/* No room leaves NULL and is counted. */
static int search_begin(struct pd_pint_flow *flow, uint32_t hops, struct pd_pint_search **search)
{
    struct pd_pint_receiver *receiver = flow->receiver;
    const bool known_ends =
        flow->src != PD_NONE && flow->dst != PD_NONE && !receiver->config.no_topology;
    int err = receiver->bytes > receiver->config.room_bytes ? -PD_E_FULL : 0;

    *search = NULL;
    if (!err) {
        err = pd_pint_search_new(receiver->solver, known_ends ? flow->src : PD_NONE, flow->dst,
                                 hops, known_ends ? PD_PINT_OFFSETS : 1, search);
    }
    if (!err) {
        receiver->bytes += pd_pint_search_bytes(*search);
    }
    if (err == -PD_E_FULL) {
        receiver->counters.flows_full++;
        err = 0;
    }
    return err;
}

static int search_add(struct pd_pint_receiver *receiver, struct pd_pint_search *search,
                      uint32_t packet_id, uint16_t digest)
{
    const size_t before = pd_pint_search_bytes(search);
    int err = pd_pint_search_add(search, packet_id, digest);

    receiver->bytes += pd_pint_search_bytes(search) - before;
    if (err == -PD_E_FULL) {
        receiver->counters.samples_full++;
        err = 0;
    }
    return err;
}

/* ---- life */

int pd_pint_flow_new(struct pd_pint_receiver *receiver, uint32_t src, uint32_t dst,
                     struct pd_pint_flow **ret_flow)
{
    struct pd_pint_flow *flow = calloc(1, sizeof *flow);

    if (!flow) {
        return -ENOMEM;
    }
    *flow = (struct pd_pint_flow){.receiver = receiver, .src = src, .dst = dst};
    *ret_flow = flow;
    return 0;
}

static void work_free(struct pd_pint_receiver *receiver, struct work **work)
{
    if (*work) {
        search_drop(receiver, &(*work)->search);
        search_drop(receiver, &(*work)->again);
        free(*work);
        *work = NULL;
    }
}

void pd_pint_flow_free(struct pd_pint_flow *flow)
{
    if (flow) {
        for (size_t r = 0; r < flow->records_len; r++) {
            work_free(flow->receiver, &flow->works[r]);
        }
        free(flow->records);
        free(flow->works);
        free(flow);
    }
}

void pd_pint_flow_prefetch(const struct pd_pint_flow *flow)
{
    if (flow->records_len) {
        __builtin_prefetch(&flow->records[flow->current], 1);
        __builtin_prefetch(&flow->works[flow->current]);
    }
}

uint64_t pd_pint_flow_pkts(const struct pd_pint_flow *flow)
{
    return flow->pkts;
}

size_t pd_pint_flow_records(const struct pd_pint_flow *flow)
{
    return flow->records_len;
}

const struct pd_pint_record *pd_pint_flow_record(const struct pd_pint_flow *flow, size_t number)
{
    return &flow->records[number];
}

/* A record without work yet. */
static int record_new(struct pd_pint_flow *flow, uint32_t hops, uint64_t first_packet)
{
    const size_t room = flow->records_len + 1;
    struct pd_pint_record *records = realloc(flow->records, room * sizeof *records);
    struct work **works;

    if (!records) {
        return -ENOMEM;
    }
    flow->records = records;
    works = realloc(flow->works, room * sizeof(void *));
    if (!works) {
        return -ENOMEM;
    }
    flow->works = works;
    records[flow->records_len] = (struct pd_pint_record){
        .hops = hops, .first_packet = first_packet, .candidates = UINT64_MAX};
    works[flow->records_len] = NULL;
    flow->records_len++;
    return 0;
}

static int record_begin(struct pd_pint_flow *flow, uint32_t hops)
{
    struct work *work = calloc(1, sizeof *work);
    int err = work ? record_new(flow, hops, flow->pkts) : -ENOMEM;

    if (err) {
        free(work);
        return err;
    }
    work->solve_at = SOLVE_FIRST;
    flow->current = flow->records_len - 1;
    flow->works[flow->current] = work;
    return search_begin(flow, hops, &work->search);
}

/* ---- conclusions */

static bool has_path(const struct pd_pint_record *record)
{
    return record->state == PD_PINT_KNOWN || record->state == PD_PINT_MISCABLED;
}

/* Bits of a search's digests on each hop of its path: true when that is enough. */
static bool is_covered(const struct pd_pint_flow *flow, const struct pd_pint_search *search,
                       const struct pd_pint_path *path)
{
    const struct pd_pint_receiver_config *config = &flow->receiver->config;
    uint16_t coverage[PD_PINT_HOPS_MAX] = {0};
    size_t len;
    const struct pd_pint_sample *samples = pd_pint_search_samples(search, &len);

    for (size_t i = 0; i < len; i++) {
        pd_pint_fits(config->plan, path, samples[i].packet_id, samples[i].digest, NULL, coverage);
    }
    for (uint32_t p = 0; p < path->len; p++) {
        if (coverage[p] < config->known_bits) {
            return false;
        }
    }
    return true;
}

static void conclude(struct pd_pint_flow *flow, size_t number, enum pd_pint_state state,
                     const struct pd_pint_path *path)
{
    struct pd_pint_record *record = &flow->records[number];

    record->state = state;
    record->path = *path;
    record->candidates = 1;
    record->known_at = flow->pkts;
    if (!record->decided_at) {
        record->decided_at = flow->pkts;
    }
    flow->receiver->counters.changes += number > 0;
    flow->receiver->counters.miscabled += state == PD_PINT_MISCABLED;
    work_free(flow->receiver, &flow->works[number]);
}

/* Without neighbours, from the digests of a record that nothing fits. */
static int solve_without_cables(struct pd_pint_flow *flow, size_t number)
{
    struct pd_pint_receiver *receiver = flow->receiver;
    struct pd_pint_record *record = &flow->records[number];
    struct pd_pint_search *search = NULL;
    struct pd_pint_path path;
    size_t len;
    const struct pd_pint_sample *samples =
        pd_pint_search_samples(flow->works[number]->search, &len);
    int err = pd_pint_search_new(receiver->solver, PD_NONE, PD_NONE, record->hops, PD_PINT_OFFSETS,
                                 &search);

    for (size_t i = 0; !err && i < len; i++) {
        err = pd_pint_search_add(search, samples[i].packet_id, samples[i].digest);
    }
    if (!err) {
        record->state = pd_pint_search_candidates(search) ? PD_PINT_UNDECIDED : PD_PINT_INFEASIBLE;
        if (pd_pint_search_path(search, &path) && is_covered(flow, search, &path)) {
            conclude(flow, number, PD_PINT_MISCABLED, &path);
        }
    }
    pd_pint_search_free(search);
    return err == -PD_E_FULL ? 0 : err;
}

/* What was begun anew has a known path: a record of its own, from its first packet on. */
static int split(struct pd_pint_flow *flow, size_t number, const struct pd_pint_path *path)
{
    const struct work *work = flow->works[number];
    const uint64_t first = work->again_packet, pkts = work->again_pkts;
    int err = 0;

    if (first > flow->records[number].first_packet && flow->records_len < PD_PINT_RECORDS_MAX) {
        err = record_new(flow, flow->records[number].hops, first);
        if (!err) {
            flow->records[number].pkts -= pkts;
            number = flow->current = flow->records_len - 1;
            flow->records[number].pkts = pkts;
        }
    }
    if (!err) {
        conclude(flow, number, PD_PINT_KNOWN, path);
    }
    return err;
}

/* Beside a search that has failed: the path may have changed. */
static int search_again(struct pd_pint_flow *flow, size_t number, uint32_t packet_id,
                        uint16_t digest)
{
    struct work *work = flow->works[number];
    struct pd_pint_path path;
    int err = 0;

    if (work->again) {
        err = search_add(flow->receiver, work->again, packet_id, digest);
        work->again_pkts++;
    }
    if (!err && (!work->again || pd_pint_search_candidates(work->again) == 0)) {
        search_drop(flow->receiver, &work->again);
        err = search_begin(flow, flow->records[number].hops, &work->again);
        work->again_packet = flow->pkts;
        work->again_pkts = 1;
        if (!err && work->again) {
            err = search_add(flow->receiver, work->again, packet_id, digest);
        }
    }
    if (!err && work->again && pd_pint_search_path(work->again, &path) &&
        is_covered(flow, work->again, &path)) {
        err = split(flow, number, &path);
    }
    return err;
}

static int misfit(struct pd_pint_flow *flow, size_t number, uint32_t packet_id, uint16_t digest)
{
    struct work *work = flow->works[number];
    struct pd_pint_record *record = &flow->records[number];
    size_t len;
    int err = 0;

    record->candidates = 0;
    record->path.len = 0;
    record->decided_at = 0;
    if (record->state == PD_PINT_DECIDED) {
        record->state = PD_PINT_UNDECIDED;
    }
    pd_pint_search_samples(work->search, &len);
    if (len >= work->solve_at) {
        work->solve_at = 2 * len;
        err = solve_without_cables(flow, number);
    }
    return err || !flow->works[number] ? err : search_again(flow, number, packet_id, digest);
}

static int learn(struct pd_pint_flow *flow, size_t number, uint32_t packet_id, uint16_t digest)
{
    struct pd_pint_record *record = &flow->records[number];
    struct work *work = flow->works[number];
    int err;

    if (!work->search) {
        return 0;
    }
    err = search_add(flow->receiver, work->search, packet_id, digest);
    if (err) {
        return err;
    }
    record->candidates = pd_pint_search_candidates(work->search);
    if (record->candidates == 0) {
        return misfit(flow, number, packet_id, digest);
    }
    if (pd_pint_search_path(work->search, &record->path)) {
        record->state = PD_PINT_DECIDED;
        record->decided_at = record->decided_at ? record->decided_at : flow->pkts;
        if (is_covered(flow, work->search, &record->path)) {
            const struct pd_pint_path path = record->path;
            conclude(flow, number, PD_PINT_KNOWN, &path);
        }
    }
    return 0;
}

/* ---- packets */

/* A packet as it came in. */
struct arrival {
    uint32_t packet_id, hops;
    uint16_t digest;
    const struct pd_pint_draw *draw; /* may be NULL */
};

static bool record_fits(const struct pd_pint_flow *flow, const struct pd_pint_record *record,
                        const struct arrival *arrival)
{
    uint16_t coverage[PD_PINT_HOPS_MAX] = {0};

    return has_path(record) && record->hops == arrival->hops &&
           pd_pint_fits(flow->receiver->config.plan, &record->path, arrival->packet_id,
                        arrival->digest, arrival->draw, coverage);
}

/* The record that a packet belongs to, or the number of records: it begins another one. */
static size_t find_record(const struct pd_pint_flow *flow, const struct arrival *arrival)
{
    if (flow->records_len && record_fits(flow, &flow->records[flow->current], arrival)) {
        return flow->current;
    }
    for (size_t r = 0; r < flow->records_len; r++) {
        if (record_fits(flow, &flow->records[r], arrival)) {
            return r;
        }
    }
    for (size_t r = flow->records_len; r-- > 0;) {
        if (!has_path(&flow->records[r]) && flow->records[r].hops == arrival->hops) {
            return r;
        }
    }
    return flow->records_len;
}

int pd_pint_flow_add(struct pd_pint_flow *flow, uint32_t packet_id, uint16_t digest, uint32_t hops,
                     const struct pd_pint_draw *draw, size_t *ret_record)
{
    struct pd_pint_receiver *receiver = flow->receiver;
    const struct arrival arrival = {packet_id, hops, digest, draw};
    size_t number = find_record(flow, &arrival);
    int err = 0;

    flow->pkts++;
    receiver->counters.samples++;
    if (number == PD_PINT_RECORDS_MAX) {
        receiver->counters.records_full++;
        number--;
    } else if (number == flow->records_len) {
        err = record_begin(flow, hops);
    }
    if (number < flow->records_len) {
        flow->records[number].pkts++;
        flow->current = number;
    }
    if (!err && flow->works[number] && flow->records[number].hops == hops) {
        err = learn(flow, number, packet_id, digest);
    }
    *ret_record = flow->current;
    return err;
}

int pd_pint_flow_end(struct pd_pint_flow *flow)
{
    int err = 0;

    for (size_t r = 0; !err && r < flow->records_len; r++) {
        struct pd_pint_record *record = &flow->records[r];
        if (flow->works[r] && flow->works[r]->search && record->candidates == 0 &&
            record->state != PD_PINT_INFEASIBLE) {
            record->state = PD_PINT_INFEASIBLE;
            err = solve_without_cables(flow, r);
        }
        if (!has_path(record) && record->candidates == 0) {
            record->state = PD_PINT_INFEASIBLE;
            flow->receiver->counters.infeasible++;
        }
        work_free(flow->receiver, &flow->works[r]);
    }
    return err;
}
