/* SPDX-License-Identifier: Apache-2.0 */
/* The hash table under the trajectory memory; nobody outside this folder includes it. */
#ifndef PD_TRAJECTORY_TABLE_H
#define PD_TRAJECTORY_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trajectory/region.h"

/* Open addressing with linear probing and backward-shift delete. Key and counters share a slot: one
 * 64-byte cache line for IPv4, two for IPv6, so that a hit costs one miss of the cache. At most
 * three slots of eight are taken (while the table grows, some more).
 *
 * The home of a key is given by the *high* bits of its hash, so a table of twice the size holds the
 * same records in the same order. That makes growing cheap and steady: records move over from front
 * to back, a few with each insert, and a key is looked up on one side only (behind the border: new,
 * before it: old). The border always stands at an empty slot, so no run of probes crosses it. Small
 * tables keep the few records of a quiet host in a few pages, and the clock hand's turn short.
 *
 * Runs of probes do not wrap: behind the last slot that is a home there are PD_TABLE_SPILL more,
 * the last of which stays empty. So records move towards lower slots only, or from the old
 * generation to the new one, and a reader that walks the old one and then the new one, each from
 * the end to the front, misses no record.
 *
 * Both generations live in memory of the caller's, of the final size and half of it, in turns.
 * Slots hold no pointers. One thread owns a table; others may read it (region.h). So the owner
 * stores every word of a slot with release order, and keeps the slot's sequence number odd
 * meanwhile: a reader that loads with acquire order sees that a word was not of the moment. On x86
 * all that is plain moves. */

/* The first word of a key is the end of struct pd_flow_id as it lies in memory (ports, protocol, IP
 * version, two zero bytes), read as little-endian. The slot's copy also holds what is no part of
 * the key: 47 closing (FIN or RST was seen), 56-63 TCP flags. It is never 0 in a slot that is
 * taken, for the IP version is in it. Second word: the mark. Then the addresses: 1 word (IPv4)
 * or 4. */
#define PD_KEY_FLOW         UINT64_C(0x000007ffffffffff)
#define PD_KEY_CLOSING      (UINT64_C(1) << 47)
#define PD_KEY_TCP_FLAGS_AT 56
#define PD_KEY_MASK         (~(UINT64_C(0xff) << PD_KEY_TCP_FLAGS_AT | PD_KEY_CLOSING))
#define PD_KEY_LEN_IPV4     3
#define PD_KEY_LEN_IPV6     6

struct pd_slot {
    uint32_t sequence;  /* odd while the slot is being written */
    uint32_t linger_ns; /* closing: packets up to last_ns + linger_ns still merge */
    uint64_t pkts;
    uint64_t first_ns;
    uint64_t bytes;
    uint64_t last_ns;
    uint64_t key[]; /* key_len words */
};
_Static_assert(sizeof(struct pd_slot) + 8 * PD_KEY_LEN_IPV4 == 64, "one cache line for IPv4");
_Static_assert(sizeof(struct pd_slot) + 8 * PD_KEY_LEN_IPV6 <= 128, "two for IPv6");

/* Slots behind the last home. A run that long does not happen: at three slots of eight taken its
 * probability is e^-91. */
#define PD_TABLE_SPILL    256
#define PD_TABLE_BITS_MIN 4
#define PD_TABLE_BITS_MAX 30

/* One size of the table. slots is NULL when there is none. */
struct pd_generation {
    uint8_t *slots;
    uint32_t len;   /* slots, with those behind the last home */
    uint32_t shift; /* home = hash >> shift */
};

struct pd_table {
    struct pd_generation now;
    struct pd_generation old; /* being emptied into `now` */
    uint32_t border;          /* old: slots before it are moved */
    uint32_t len;             /* records */
    uint32_t hand;            /* of the clock */
    uint64_t swept_ns;        /* up to when the hand has moved; 0 before the first sweep */
    uint64_t seed[6];
    uint8_t key_len;
    uint8_t bits; /* log2 of the slots of `now` */
    uint8_t bits_max;
    uint8_t *slots[2]; /* a generation of 2^b slots lives in slots[b & 1] */
    struct pd_region_table *shared;
};

/* log2 of the slots that `max_records` need, and the bytes of a generation of 2^bits slots. */
unsigned pd_trajectory_table_bits(uint32_t max_records);
size_t pd_trajectory_table_bytes(unsigned key_len, unsigned bits);

/* In zeroed memory, as `shared` tells; `hash_seed` makes the hash secret. */
void pd_trajectory_table_init(struct pd_table *table, struct pd_region *region,
                              struct pd_region_table *shared, uint64_t hash_seed);

/* Makes a taken slot for a key that pd_table_find did not find, and leaves it open: its counters
 * are for the caller to fill, who closes it. The caller keeps the number of records to max_records.
 * NULL: no slot in reach. */
struct pd_slot *pd_trajectory_table_insert(struct pd_table *table, const uint64_t *key,
                                           uint64_t hash);

/* Empties a taken slot. Records of the same run of slots may move, also into this slot. */
void pd_trajectory_table_delete(struct pd_table *table, struct pd_slot *slot);

/* Moves the records of at least `slots` slots out of the old generation, if there is one. */
void pd_trajectory_table_move(struct pd_table *table, uint32_t slots);

/* Gives the memory of a large table back to the system if no record is in it; it can be used on. */
void pd_trajectory_table_release(const struct pd_table *table);

/* log2 of the bytes of a slot. */
static inline unsigned pd_slot_bits(unsigned key_len)
{
    return key_len == PD_KEY_LEN_IPV4 ? 6 : 7;
}

static inline struct pd_slot *pd_slot_at(const struct pd_generation *generation, unsigned key_len,
                                         uint32_t index)
{
    return (struct pd_slot *)(void *)(generation->slots + ((size_t)index << pd_slot_bits(key_len)));
}

#define PD_SLOT_SET(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELEASE)

/* Pairs with the second load of the sequence number in region.c. */
static inline uint32_t pd_slot_open(struct pd_slot *slot)
{
    uint32_t sequence = slot->sequence;
    __atomic_store_n(&slot->sequence, sequence + 1, __ATOMIC_RELAXED);
    return sequence + 2; /* for pd_slot_close: to load it again would wait for the store */
}

/* Pairs with the first one. */
static inline void pd_slot_close(struct pd_slot *slot, uint32_t sequence)
{
    __atomic_store_n(&slot->sequence, sequence, __ATOMIC_RELEASE);
}

static inline bool pd_slot_taken(const struct pd_slot *slot)
{
    return slot->key[0] != 0;
}

/* Product of two words, its halves folded: with secret words mixed in, nobody can choose keys that
 * collide, which a CRC of any start value allows. */
static inline uint64_t pd_table_mix(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Of a key whose first word has nothing in it but key. */
static inline uint64_t pd_table_hash(const struct pd_table *table, unsigned key_len,
                                     const uint64_t *key)
{
    const uint64_t *seed = table->seed;
    uint64_t hash = pd_table_mix(key[0] ^ seed[0], key[1] ^ seed[1]);
    hash += pd_table_mix(key[2] ^ seed[2], (key_len > 3 ? key[3] : 0) ^ seed[3]);
    if (key_len > 3) {
        hash += pd_table_mix(key[4] ^ seed[4], key[5] ^ seed[5]);
    }
    return hash;
}

/* The generation that holds a key of this hash, if any does. */
static inline const struct pd_generation *pd_table_side(const struct pd_table *table, uint64_t hash)
{
    const struct pd_generation *old = &table->old;
    if (__builtin_expect(old->slots != NULL, 0)) {
        uint32_t home = (uint32_t)(hash >> old->shift);
        return home < table->border ? &table->now : old;
    }
    return &table->now;
}

static inline bool pd_key_equal(unsigned key_len, const uint64_t *a, const uint64_t *b)
{
    uint64_t difference = ((a[0] ^ b[0]) & PD_KEY_MASK) | (a[1] ^ b[1]) | (a[2] ^ b[2]);
    for (unsigned i = 3; i < key_len; i++) {
        difference |= a[i] ^ b[i];
    }
    return difference == 0;
}

/* Where the search for a key of this hash begins, on its side. */
static inline uint32_t pd_table_home(const struct pd_generation *side, uint64_t hash)
{
    return (uint32_t)(hash >> side->shift);
}

/* The slot of a key, or NULL, searched from its home `at` on. `key_len` is the table's. */
static inline struct pd_slot *pd_table_find(const struct pd_generation *side, unsigned key_len,
                                            const uint64_t *key, uint32_t at)
{
    for (;; at++) {
        struct pd_slot *slot = pd_slot_at(side, key_len, at);
        if (__builtin_expect(pd_key_equal(key_len, slot->key, key), 1)) {
            return slot;
        }
        if (!pd_slot_taken(slot)) {
            return NULL;
        }
    }
}

static inline void pd_table_prefetch(const struct pd_generation *side, unsigned key_len,
                                     uint32_t at)
{
    const uint8_t *slot = (const uint8_t *)pd_slot_at(side, key_len, at);
    __builtin_prefetch(slot);
    if (key_len == PD_KEY_LEN_IPV6) {
        __builtin_prefetch(slot + 64);
    }
}

/* A slot that nobody is writing, as a record. */
void pd_trajectory_slot_record(const struct pd_slot *slot, unsigned key_len,
                               enum pd_eviction eviction, struct pd_trajectory_record *ret_record);

#define PD_FLOW_END_AT offsetof(struct pd_flow_id, src_port)
_Static_assert(sizeof(struct pd_flow_id) - PD_FLOW_END_AT == sizeof(uint64_t),
               "ports, protocol and IP version are one word of the key");

#endif
