/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the trajectory memory's hash table that are not on the way of every packet. */
#include "trajectory/table.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"

#define KEPT_BYTES ((size_t)2 << 20)

enum {
    BITS_START = 13,     /* 8,192 slots to begin with: half a megabyte */
    MOVES_PER_INSERT = 8 /* growing is over long before the next one is due */
};

/* At most three slots of eight are taken: with half of them taken, an update took a fifth longer.
 */
static bool has_room(uint64_t slots, uint64_t records)
{
    return records * 8 <= slots * 3;
}

unsigned pd_trajectory_table_bits(uint32_t max_records)
{
    unsigned bits = PD_TABLE_BITS_MIN;
    while (!has_room(UINT64_C(1) << bits, max_records)) {
        bits++;
    }
    return bits;
}

size_t pd_trajectory_table_bytes(unsigned key_len, unsigned bits)
{
    return (((size_t)1 << bits) + PD_TABLE_SPILL) << pd_slot_bits(key_len);
}

static struct pd_generation generation_of(const struct pd_table *table, unsigned bits)
{
    return (struct pd_generation){table->slots[bits & 1], (1U << bits) + PD_TABLE_SPILL, 64 - bits};
}

/* Readers learn where the records are; how often the table grew tells them that all may have moved.
 */
static void publish(const struct pd_table *table, bool grown)
{
    uint64_t growths = (table->shared->state >> 16) + grown;
    unsigned old_bits = table->old.slots ? 64 - table->old.shift : 0;
    __atomic_store_n(&table->shared->state, growths << 16 | old_bits << 8 | table->bits,
                     __ATOMIC_RELEASE);
}

void pd_trajectory_table_init(struct pd_table *table, struct pd_region *region,
                              struct pd_region_table *shared, uint64_t hash_seed)
{
    *table = (struct pd_table){.key_len = (uint8_t)shared->key_len,
                               .bits_max = (uint8_t)shared->bits_max,
                               .shared = shared};
    table->bits = table->bits_max < BITS_START ? table->bits_max : BITS_START;
    for (unsigned i = 0; i < sizeof table->seed / sizeof table->seed[0]; i++) {
        table->seed[i] = pd_splitmix64(&hash_seed);
    }
    for (unsigned i = 0; i < 2; i++) {
        table->slots[i] = (uint8_t *)region + shared->slots_at[i];
    }
    table->now = generation_of(table, table->bits);
    publish(table, false);
}

/* The pages of empty slots go back to the system and read as empty slots again; memory that is
 * shared with another process stays. What is small is kept: a quiet host will need it. All the room
 * that the side has goes, not only what the generation took of it: half of a huge page would stay.
 */
static void give_back(const struct pd_table *table, const struct pd_generation *side)
{
    unsigned bits = 64 - side->shift, unused = table->bits_max - bits;
    if (pd_trajectory_table_bytes(table->key_len, bits) > KEPT_BYTES) {
        (void)madvise(side->slots, pd_trajectory_table_bytes(table->key_len, bits + (unused & ~1U)),
                      MADV_DONTNEED);
    }
}

void pd_trajectory_table_release(const struct pd_table *table)
{
    if (table->len == 0) {
        give_back(table, &table->now);
    }
}

static void grow(struct pd_table *table)
{
    table->old = table->now;
    table->bits++;
    table->now = generation_of(table, table->bits);
    table->hand = 0;
    table->border = 0;
    publish(table, true);
}

static uint64_t slot_hash(const struct pd_table *table, const struct pd_slot *slot)
{
    uint64_t key[PD_KEY_LEN_IPV6];
    memcpy(key, slot->key, (size_t)table->key_len * sizeof(uint64_t));
    key[0] &= PD_KEY_MASK;
    return pd_table_hash(table, table->key_len, key);
}

/* NULL: none in reach. The very last slot stays empty, so that every search ends. */
static struct pd_slot *empty_slot_for(const struct pd_table *table,
                                      const struct pd_generation *side, uint64_t hash)
{
    for (uint32_t i = pd_table_home(side, hash); i + 1 < side->len; i++) {
        struct pd_slot *slot = pd_slot_at(side, table->key_len, i);
        if (!pd_slot_taken(slot)) {
            return slot;
        }
    }
    return NULL;
}

static void slot_copy(struct pd_slot *to, const struct pd_slot *from, unsigned key_len)
{
    uint32_t sequence = pd_slot_open(to);
    PD_SLOT_SET(to->linger_ns, from->linger_ns);
    PD_SLOT_SET(to->pkts, from->pkts);
    PD_SLOT_SET(to->first_ns, from->first_ns);
    PD_SLOT_SET(to->bytes, from->bytes);
    PD_SLOT_SET(to->last_ns, from->last_ns);
    for (unsigned i = 0; i < key_len; i++) {
        PD_SLOT_SET(to->key[i], from->key[i]);
    }
    pd_slot_close(to, sequence);
}

static void slot_clear(struct pd_slot *slot)
{
    uint32_t sequence = pd_slot_open(slot);
    PD_SLOT_SET(slot->key[0], 0);
    pd_slot_close(slot, sequence);
}

/* A record is in its new place before it leaves the old one. */
static void move_one(const struct pd_table *table, struct pd_slot *from)
{
    struct pd_slot *to = empty_slot_for(table, &table->now, slot_hash(table, from));
    assert(to != NULL); /* at most three slots of sixteen are taken */
    slot_copy(to, from, table->key_len);
    slot_clear(from);
}

void pd_trajectory_table_move(struct pd_table *table, uint32_t slots)
{
    const struct pd_generation *old = &table->old;
    while (old->slots) {
        struct pd_slot *from = pd_slot_at(old, table->key_len, table->border);
        if (pd_slot_taken(from)) {
            move_one(table, from);
        } else if (table->border + 1 == old->len) {
            give_back(table, old);
            table->old.slots = NULL;
            publish(table, false);
        } else if (slots == 0) {
            return;
        }
        table->border++;
        slots -= slots > 0;
    }
}

struct pd_slot *pd_trajectory_table_insert(struct pd_table *table, const uint64_t *key,
                                           uint64_t hash)
{
    if (table->old.slots) {
        pd_trajectory_table_move(table, MOVES_PER_INSERT);
    } else if (table->bits < table->bits_max && !has_room(UINT64_C(1) << table->bits, table->len)) {
        grow(table);
    }
    struct pd_slot *slot = empty_slot_for(table, pd_table_side(table, hash), hash);
    if (!slot) {
        return NULL;
    }
    pd_slot_open(slot);
    for (unsigned i = 0; i < table->key_len; i++) {
        PD_SLOT_SET(slot->key[i], key[i]);
    }
    table->len++;
    return slot;
}

void pd_trajectory_table_delete(struct pd_table *table, struct pd_slot *slot)
{
    uint64_t hash = slot_hash(table, slot);
    const struct pd_generation *side = pd_table_side(table, hash);
    uint32_t hole =
        (uint32_t)((size_t)((uint8_t *)slot - side->slots) >> pd_slot_bits(table->key_len));
    for (uint32_t i = hole + 1;; i++) {
        struct pd_slot *next = pd_slot_at(side, table->key_len, i);
        if (!pd_slot_taken(next)) {
            break;
        }
        if (pd_table_home(side, slot_hash(table, next)) <= hole) { /* its probes pass the hole */
            slot_copy(pd_slot_at(side, table->key_len, hole), next, table->key_len);
            hole = i;
        }
    }
    slot_clear(pd_slot_at(side, table->key_len, hole));
    table->len--;
}
