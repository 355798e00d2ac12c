/* SPDX-License-Identifier: Apache-2.0 */
/* Digests at the receivers, by place of the table of flows. */
#include "sim/digests.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "codec/pint/flow.h"
#include "codec/pint/values.h"
#include "telemetry/column.h"

#define COUNTS_BYTES ((size_t)256 << 20)
#define CHUNK_HEADER 6 /* of further columns: kind, length */

struct slot {
    struct pd_pint_flow *state;         /* NULL: the plan tells no paths */
    struct pd_telemetry_counts *counts; /* of each route */
};

/* Columns of a period: each its own block, since a record's bytes may not move. */
struct block {
    struct block *next;
    uint8_t bytes[];
};

struct pd_sim_digests {
    const struct pd_pint_plan *plan;
    const struct pd_topology *topology;
    struct pd_pint_receiver *receiver;
    struct slot *slots;
    uint32_t slots_len, routes;
    size_t counts_left; /* bytes */
    uint64_t lost;
    struct pd_telemetry_scale scales[PD_PINT_QUERIES_MAX];
    struct pd_telemetry_cell *cells; /* room to sort them */
    uint32_t cells_room;
    struct block *blocks;
};

/* ---- life */

static void slot_done(struct pd_sim_digests *digests, struct slot *slot)
{
    for (uint32_t r = 0; slot->counts && r < digests->routes; r++) {
        pd_telemetry_counts_clear(&slot->counts[r], &digests->counts_left);
    }
    pd_pint_flow_free(slot->state);
    slot->state = NULL;
}

void pd_sim_digests_free(struct pd_sim_digests *digests)
{
    if (!digests) {
        return;
    }
    for (uint32_t i = 0; i < digests->slots_len; i++) {
        slot_done(digests, &digests->slots[i]);
        free(digests->slots[i].counts);
    }
    pd_sim_digests_clear(digests);
    pd_pint_receiver_free(digests->receiver);
    free(digests->slots);
    free(digests->cells);
    free(digests);
}

static bool tells_paths(const struct pd_pint_plan *plan)
{
    for (unsigned q = 0; q < plan->queries_len; q++) {
        if (plan->queries[q].aggregation == PD_PINT_STATIC &&
            plan->queries[q].value == PD_PINT_SWITCH_ID) {
            return true;
        }
    }
    return false;
}

int pd_sim_digests_new(const struct pd_sim_scenario *scenario, const struct pd_sim_flows *flows,
                       struct pd_sim_digests **ret_digests)
{
    const struct pd_pint_receiver_config config = {.topology = scenario->topology,
                                                   .plan = scenario->plan};
    struct pd_sim_digests *digests = calloc(1, sizeof *digests);

    if (!digests ||
        (tells_paths(config.plan) && pd_pint_receiver_new(&config, &digests->receiver))) {
        free(digests);
        return -ENOMEM;
    }
    digests->plan = config.plan;
    digests->topology = scenario->topology;
    digests->routes = flows->routes_max;
    digests->counts_left = COUNTS_BYTES;
    for (unsigned q = 0; q < config.plan->queries_len; q++) {
        const struct pd_pint_query *query = &config.plan->queries[q];
        digests->scales[q] = (struct pd_telemetry_scale){query->name, query->values, query->codes,
                                                         query->space_bytes};
    }
    *ret_digests = digests;
    return 0;
}

/* ---- flows */

static int reach(struct pd_sim_digests *digests, uint32_t place)
{
    uint32_t room = digests->slots_len;

    if (place >= room) {
        if (PD_GROW(digests->slots, room, (size_t)place + 1)) {
            return -ENOMEM;
        }
        memset(digests->slots + digests->slots_len, 0,
               (room - digests->slots_len) * sizeof *digests->slots);
        digests->slots_len = room;
    }
    struct slot *slot = &digests->slots[place];
    if (!slot->counts) {
        slot->counts = calloc(digests->routes, sizeof *slot->counts);
    }
    return slot->counts ? 0 : -ENOMEM;
}

int pd_sim_digests_begin(struct pd_sim_digests *digests, uint32_t place,
                         const struct pd_sim_flow *flow)
{
    const struct pd_topology *topology = digests->topology;
    int err = reach(digests, place);

    if (err) {
        return err;
    }
    struct slot *slot = &digests->slots[place];
    slot_done(digests, slot);
    return digests->receiver ? pd_pint_flow_new(digests->receiver, topology->hosts[flow->src].tor,
                                                topology->hosts[flow->dst].tor, &slot->state)
                             : 0;
}

int pd_sim_digests_take(struct pd_sim_digests *digests, uint32_t place, uint32_t route,
                        uint32_t hops, uint32_t packet_id, uint16_t digest)
{
    struct slot *slot = &digests->slots[place];
    struct pd_pint_code_at codes[PD_PINT_BITS_MAX];
    struct pd_pint_draw draw;
    size_t record;

    pd_pint_draw(digests->plan, &packet_id, &hops, 1, &draw);
    int err =
        slot->state ? pd_pint_flow_add(slot->state, packet_id, digest, hops, &draw, &record) : 0;
    const size_t len = err ? 0 : pd_pint_values(digests->plan, &draw, digest, codes);
    for (size_t i = 0; i < len; i++) {
        digests->lost += !pd_telemetry_counts_add(&slot->counts[route], &digests->counts_left,
                                                  codes[i].query, codes[i].hop, codes[i].code);
    }
    return err;
}

/* ---- what they tell */

uint32_t pd_sim_digests_column(struct pd_sim_digests *digests, uint32_t place, uint32_t route,
                               const struct pd_sim_flow *flow, const uint8_t **ret_bytes)
{
    struct pd_telemetry_counts *counts = &digests->slots[place].counts[route];
    const uint16_t kind = htole16(PD_TELEMETRY_COLUMN_KIND);
    uint8_t column[PD_TELEMETRY_COLUMN_BYTES_MAX];

    if (!counts->len || PD_GROW(digests->cells, digests->cells_room, counts->len)) {
        return 0;
    }
    pd_telemetry_counts_sorted(counts, digests->cells);
    size_t bytes = pd_telemetry_column_write(digests->cells, counts->len, digests->scales, 1,
                                             flow->routes[route].route.path.len,
                                             digests->topology->hosts[flow->dst].id, column);
    struct block *block = bytes ? malloc(sizeof *block + CHUNK_HEADER + bytes) : NULL;
    if (!block) {
        return 0;
    }
    const uint32_t bytes_le = htole32((uint32_t)bytes);
    memcpy(block->bytes, &kind, sizeof kind);
    memcpy(block->bytes + sizeof kind, &bytes_le, sizeof bytes_le);
    memcpy(block->bytes + CHUNK_HEADER, column, bytes);
    block->next = digests->blocks;
    digests->blocks = block;
    pd_telemetry_counts_clear(counts, &digests->counts_left);
    *ret_bytes = block->bytes;
    return (uint32_t)(CHUNK_HEADER + bytes);
}

void pd_sim_digests_clear(struct pd_sim_digests *digests)
{
    while (digests->blocks) {
        struct block *block = digests->blocks;

        digests->blocks = block->next;
        free(block);
    }
}

/* The first path that was told; flows of the simulator keep theirs. */
struct pd_sim_told pd_sim_digests_told(const struct pd_sim_digests *digests, uint32_t place,
                                       const struct pd_sim_flow *flow)
{
    const struct pd_pint_flow *state = digests->slots[place].state;
    const struct pd_path *took = &flow->routes[0].route.path;
    struct pd_sim_told told = {0};

    if (!state || !pd_pint_flow_records(state)) {
        return told;
    }
    const struct pd_pint_record *record = pd_pint_flow_record(state, 0);
    told.decided_at = record->decided_at;
    told.known_at = record->known_at;
    told.wrong = record->path.len && flow->routes_len == 1 && record->path.len != took->len;
    for (uint32_t i = 0; i < record->path.len && flow->routes_len == 1 && !told.wrong; i++) {
        told.wrong = record->path.switches[i] != took->switches[i];
    }
    return told;
}

uint64_t pd_sim_digests_lost(const struct pd_sim_digests *digests)
{
    return digests->lost;
}
