/* SPDX-License-Identifier: Apache-2.0 */
/* Layout of a region; the owner's end of its ring; and the reader's way through both. */
#include "trajectory/region.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "trajectory/table.h"

#define PAGE_BYTES      ((size_t)4096)
#define HUGE_PAGE_BYTES ((size_t)2 << 20)
#define TRIES_SLOT      64 /* of a reader, at a slot that is being written */
#define TRIES_WALK      8  /* through a table that grew meanwhile */

static const uint32_t key_lens[2] = {PD_KEY_LEN_IPV4, PD_KEY_LEN_IPV6};

/* ---- layout ---------------------------------------------------------------------------------- */

/* Large parts begin at the border of a huge page. */
static size_t place(size_t *end, size_t bytes)
{
    size_t border = bytes >= HUGE_PAGE_BYTES ? HUGE_PAGE_BYTES : PAGE_BYTES;
    size_t at = (*end + border - 1) & ~(border - 1);
    *end = at + bytes;
    return at;
}

static size_t lay_out(struct pd_region *region, uint32_t max_records, uint32_t ring_slots,
                      uint32_t samples_slots)
{
    size_t end = PD_REGION_HEADER_BYTES;
    region->ring_slots = ring_slots;
    region->ring_at = place(&end, ring_slots * sizeof(struct pd_event));
    for (unsigned i = 0; i < 2; i++) {
        struct pd_region_table *table = &region->tables[i];
        unsigned bits = pd_trajectory_table_bits(max_records);
        table->key_len = key_lens[i];
        table->bits_max = bits;
        table->slots_at[bits & 1] = place(&end, pd_trajectory_table_bytes(table->key_len, bits));
        table->slots_at[(bits - 1) & 1] =
            place(&end, pd_trajectory_table_bytes(table->key_len, bits - 1));
    }
    region->samples_slots = samples_slots;
    region->samples_at = samples_slots ? place(&end, samples_slots * sizeof(struct pd_sample)) : 0;
    return place(&end, 0);
}

size_t pd_trajectory_region_bytes(uint32_t max_records, uint32_t ring_slots, uint32_t samples_slots)
{
    struct pd_region region = {0};
    return lay_out(&region, max_records, ring_slots, samples_slots);
}

struct pd_region *pd_trajectory_region_init(void *memory, uint32_t max_records, uint32_t ring_slots,
                                            uint32_t samples_slots)
{
    struct pd_region *region = memory;
    region->magic = PD_REGION_MAGIC;
    region->version = PD_REGION_VERSION;
    region->header_bytes = PD_REGION_HEADER_BYTES;
    region->bytes = lay_out(region, max_records, ring_slots, samples_slots);
    return region;
}

struct pd_samples pd_trajectory_region_samples(struct pd_region *region, struct pd_index *index)
{
    return (struct pd_samples){
        .slots = (struct pd_sample *)(void *)((uint8_t *)region + region->samples_at),
        .slots_len = region->samples_slots,
        .words = &region->samples,
        .read = &index->samples_read,
    };
}

void pd_trajectory_region_advise(struct pd_region *region)
{
    for (unsigned i = 0; i < 2; i++) {
        const struct pd_region_table *table = &region->tables[i];
        for (unsigned bits = table->bits_max - 1; bits <= table->bits_max; bits++) {
            size_t bytes = pd_trajectory_table_bytes(table->key_len, bits);
            uint8_t *slots = (uint8_t *)region + table->slots_at[bits & 1];
            slots += -(uintptr_t)slots & (HUGE_PAGE_BYTES - 1);
            if (bytes > 2 * HUGE_PAGE_BYTES) {
                /* Slower without, not wrong. */
                (void)madvise(slots + HUGE_PAGE_BYTES, bytes - 2 * HUGE_PAGE_BYTES, MADV_HUGEPAGE);
            }
        }
    }
}

/* ---- owner's end of the ring ----------------------------------------------------------------- */

void pd_trajectory_event_ring_init(struct pd_event_ring *ring, struct pd_region *region,
                                   const struct pd_index *index)
{
    *ring = (struct pd_event_ring){.region = region, .index = index};
}

/* An index that went back, or points behind what was written, is not believed. */
uint64_t pd_trajectory_event_ring_used(struct pd_event_ring *ring)
{
    uint64_t read =
        __atomic_load_n(&ring->index->read, __ATOMIC_ACQUIRE); /* pairs with the reader's store */
    if (read - ring->read_known <= ring->write - ring->read_known) {
        ring->read_known = read;
    }
    return ring->write - ring->read_known;
}

static void put(struct pd_event_ring *ring, enum pd_event_kind kind,
                const struct pd_trajectory_record *record)
{
    struct pd_region *region = ring->region;
    struct pd_event *events = (struct pd_event *)(void *)((uint8_t *)region + region->ring_at);
    struct pd_event *event = &events[ring->write & (region->ring_slots - 1)];
    event->kind = kind;
    event->zero = 0;
    event->record = *record;
    __atomic_store_n(&region->ring_write, ++ring->write,
                     __ATOMIC_RELEASE); /* pairs with pd_trajectory_view_written */
}

static bool ring_evicted(void *context, const struct pd_trajectory_record *record)
{
    struct pd_event_ring *ring = context;
    uint32_t slots = ring->region->ring_slots;
    if (ring->write - ring->read_known >= slots && pd_trajectory_event_ring_used(ring) >= slots) {
        PD_SHARED_ADD(ring->region->ring_refused, 1);
        return false;
    }
    put(ring, PD_EVENT_EVICTED, record);
    return true;
}

/* Announcements take no more than half of the ring: they can be done without, records cannot. */
static void ring_new_flow(void *context, const struct pd_trajectory_record *record)
{
    struct pd_event_ring *ring = context;
    uint32_t half = ring->region->ring_slots / 2;
    if (ring->write - ring->read_known >= half && pd_trajectory_event_ring_used(ring) >= half) {
        PD_SHARED_ADD(ring->region->ring_unheard, 1);
        return;
    }
    put(ring, PD_EVENT_NEW_FLOW, record);
}

struct pd_trajectory_sink pd_trajectory_event_ring_sink(struct pd_event_ring *ring)
{
    return (struct pd_trajectory_sink){ring, ring_evicted, ring_new_flow};
}

/* ---- reader ---------------------------------------------------------------------------------- */

static bool inside(uint64_t at, uint64_t bytes, size_t map_bytes)
{
    return at % PAGE_BYTES == 0 && at >= PD_REGION_HEADER_BYTES && bytes <= map_bytes &&
           at <= map_bytes - bytes;
}

static int view_table(struct pd_view_table *view, const struct pd_region *region,
                      const struct pd_region_table *shared, uint32_t key_len, size_t bytes)
{
    struct pd_region_table table = {.slots_at = {shared->slots_at[0], shared->slots_at[1]},
                                    .bits_max = shared->bits_max};
    if (shared->key_len != key_len || table.bits_max < PD_TABLE_BITS_MIN ||
        table.bits_max > PD_TABLE_BITS_MAX) {
        return -EINVAL;
    }
    for (unsigned bits = table.bits_max - 1; bits <= table.bits_max; bits++) {
        uint64_t at = table.slots_at[bits & 1];
        if (!inside(at, pd_trajectory_table_bytes(key_len, bits), bytes)) {
            return -EINVAL;
        }
        view->slots[bits & 1] = (const uint8_t *)region + at;
    }
    view->key_len = key_len;
    view->bits_max = table.bits_max;
    return 0;
}

int pd_trajectory_view_init(struct pd_view *view, const void *map, size_t bytes)
{
    const struct pd_region *region = map;
    struct pd_view made = {.region = region};
    if (bytes < PD_REGION_HEADER_BYTES || region->magic != PD_REGION_MAGIC) {
        return -EPROTO;
    }
    if (region->version != PD_REGION_VERSION) {
        return -EPROTONOSUPPORT;
    }
    uint64_t ring_at = region->ring_at;
    made.ring_slots = region->ring_slots;
    if (made.ring_slots == 0 || made.ring_slots > PD_RING_SLOTS_MAX ||
        (made.ring_slots & (made.ring_slots - 1)) != 0 ||
        !inside(ring_at, made.ring_slots * sizeof(struct pd_event), bytes)) {
        return -EINVAL;
    }
    made.ring = (const struct pd_event *)(const void *)((const uint8_t *)region + ring_at);
    uint64_t samples_at = region->samples_at;
    made.samples_slots = region->samples_slots;
    if (made.samples_slots &&
        (made.samples_slots > PD_SAMPLES_SLOTS_MAX ||
         (made.samples_slots & (made.samples_slots - 1)) ||
         !inside(samples_at, made.samples_slots * sizeof(struct pd_sample), bytes))) {
        return -EINVAL;
    }
    if (made.samples_slots) {
        made.samples = (struct pd_sample *)(uintptr_t)((const uint8_t *)region + samples_at);
    }
    for (unsigned i = 0; i < 2; i++) {
        int error = view_table(&made.tables[i], region, &region->tables[i], key_lens[i], bytes);
        if (error) {
            return error;
        }
    }
    *view = made;
    return 0;
}

struct pd_samples pd_trajectory_view_samples(const struct pd_view *view, struct pd_index *index)
{
    return (struct pd_samples){
        .slots = view->samples,
        .slots_len = view->samples_slots,
        .words = (struct pd_samples_words *)(uintptr_t)&view->region->samples,
        .read = &index->samples_read,
    };
}

uint64_t pd_trajectory_view_written(const struct pd_view *view)
{
    return __atomic_load_n(&view->region->ring_write, __ATOMIC_ACQUIRE); /* pairs with put */
}

void pd_trajectory_view_event(const struct pd_view *view, uint64_t at, struct pd_event *ret_event)
{
    *ret_event = view->ring[at & (view->ring_slots - 1)];
}

void pd_trajectory_slot_record(const struct pd_slot *slot, unsigned key_len,
                               enum pd_eviction eviction, struct pd_trajectory_record *ret_record)
{
    uint64_t word = slot->key[0], end = htole64(word & PD_KEY_FLOW);
    *ret_record = (struct pd_trajectory_record){
        .mark = slot->key[1],
        .tcp_flags = (uint8_t)(word >> PD_KEY_TCP_FLAGS_AT),
        .eviction = (uint8_t)eviction,
        .pkts = slot->pkts,
        .bytes = slot->bytes,
        .first_ns = slot->first_ns,
        .last_ns = slot->last_ns,
    };
    memcpy((uint8_t *)&ret_record->flow + PD_FLOW_END_AT, &end, sizeof end);
    if (key_len == PD_KEY_LEN_IPV4) {
        uint32_t src = (uint32_t)slot->key[2], dst = (uint32_t)(slot->key[2] >> 32);
        memcpy(ret_record->flow.src.bytes, &src, 4);
        memcpy(ret_record->flow.dst.bytes, &dst, 4);
    } else {
        memcpy(&ret_record->flow, &slot->key[2], 32);
    }
}

/* A slot as it was at one moment; false: it was being written at each try. An empty one has key[0]
 * = 0. */
static bool slot_read(const struct pd_slot *slot, unsigned key_len, struct pd_slot *ret_copy)
{
    for (unsigned i = 0; i < TRIES_SLOT; i++) {
        uint32_t sequence = __atomic_load_n(&slot->sequence, __ATOMIC_ACQUIRE);
        ret_copy->pkts = __atomic_load_n(&slot->pkts, __ATOMIC_ACQUIRE);
        ret_copy->first_ns = __atomic_load_n(&slot->first_ns, __ATOMIC_ACQUIRE);
        ret_copy->bytes = __atomic_load_n(&slot->bytes, __ATOMIC_ACQUIRE);
        ret_copy->last_ns = __atomic_load_n(&slot->last_ns, __ATOMIC_ACQUIRE);
        for (unsigned k = 0; k < key_len; k++) {
            ret_copy->key[k] = __atomic_load_n(&slot->key[k], __ATOMIC_ACQUIRE);
        }
        if ((sequence & 1) == 0 && __atomic_load_n(&slot->sequence, __ATOMIC_RELAXED) == sequence) {
            return true;
        }
    }
    return false;
}

struct walk {
    void (*visit)(void *context, const struct pd_trajectory_record *record);
    void *context;
    struct pd_view_walk done;
};

/* From the end to the front: records move that way. */
static void walk_side(struct walk *walk, const struct pd_view_table *table, unsigned bits)
{
    union {
        struct pd_slot slot;
        uint64_t words[sizeof(struct pd_slot) / 8 + PD_KEY_LEN_IPV6];
    } copy;
    if (bits < PD_TABLE_BITS_MIN || bits > table->bits_max) {
        return;
    }
    const uint8_t *slots = table->slots[bits & 1];
    for (size_t i = ((size_t)1 << bits) + PD_TABLE_SPILL; i-- > 0;) {
        const uint8_t *slot = slots + (i << pd_slot_bits(table->key_len));
        struct pd_trajectory_record record;
        if (!slot_read((const struct pd_slot *)(const void *)slot, table->key_len, &copy.slot)) {
            walk->done.torn++;
        } else if (pd_slot_taken(&copy.slot)) {
            pd_trajectory_slot_record(&copy.slot, table->key_len, PD_EVICTION_NONE, &record);
            walk->visit(walk->context, &record);
        }
    }
}

static void walk_table(struct walk *walk, const struct pd_view_table *table,
                       const uint64_t *shared_state)
{
    uint64_t state =
        __atomic_load_n(shared_state, __ATOMIC_ACQUIRE); /* pairs with publish in table.c */
    for (unsigned i = 0; i < TRIES_WALK; i++) {
        walk_side(walk, table, state >> 8 & 0xff);
        walk_side(walk, table, state & 0xff);
        uint64_t after = __atomic_load_n(shared_state, __ATOMIC_ACQUIRE);
        if (after >> 16 == state >> 16) {
            return;
        }
        state = after;
    }
    walk->done.moved = true;
}

struct pd_view_walk pd_trajectory_view_walk(
    const struct pd_view *view,
    void (*visit)(void *context, const struct pd_trajectory_record *record), void *context)
{
    struct walk walk = {.visit = visit, .context = context};
    for (unsigned i = 0; i < 2; i++) {
        walk_table(&walk, &view->tables[i], &view->region->tables[i].state);
    }
    return walk.done;
}

/* ---- names ----------------------------------------------------------------------------------- */

const char *pd_trajectory_eviction_id(enum pd_eviction eviction)
{
    static const char *const ids[PD_EVICTION_COUNT] = {
#define X(name, id, text) [PD_EVICTION_##name] = id,
        PD_EVICTIONS(X)
#undef X
    };
    return (unsigned)eviction < PD_EVICTION_COUNT ? ids[eviction] : "unknown";
}
