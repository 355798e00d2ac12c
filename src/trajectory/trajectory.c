/* SPDX-License-Identifier: Apache-2.0 */
/* Trajectory memory: what happens to a packet's record, and when records leave. */
#include "trajectory/trajectory.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "trajectory/table.h"

#define BATCH           32
#define TURN_NS         UINT64_C(1000000000) /* of the clock hand */
#define TIME_MAX        (UINT64_MAX >> 1)
#define TIMEOUT_MAX     (UINT64_MAX >> 2) /* so that sums of time and timeout do not wrap */
#define LINGER_MAX_NS   UINT64_C(4000000000)
#define MAX_RECORDS_MAX (UINT32_C(1) << 28)
#define TCP_FIN_OR_RST  0x05
#define FLUSH_SLOTS     4096u /* that a flush passes in one sweep */

struct pd_trajectory {
    struct pd_table ipv4;
    struct pd_table ipv6;
    struct pd_trajectory_config config;
    struct pd_trajectory_sink sink;
    bool sink_full; /* it refused since the last sweep */
    struct pd_region *region;
    size_t map_bytes;       /* of the region if it is ours, else 0 */
    uint64_t flush_left[2]; /* slots that the hand passes evicting everything: IPv4, IPv6 */
};

#define COUNT(trajectory, name, n) PD_SHARED_ADD((trajectory)->region->counters.name, (n))

/* A packet on its way into the table. */
struct lookup {
    uint64_t key[PD_KEY_LEN_IPV6];
    uint32_t at; /* slot to look at first: a guess */
    uint32_t unused[3];
};

/* What a packet adds to its record. */
struct sample {
    uint64_t now_ns;
    uint32_t pkts, bytes;
    uint8_t tcp_flags;
};

/* ---- life ------------------------------------------------------------------------------------ */

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static int config_check(struct pd_trajectory_config *config)
{
    if (config->idle_ns == 0 || config->active_ns == 0 || config->max_records == 0 ||
        config->max_records > MAX_RECORDS_MAX || config->fin_linger_ns > LINGER_MAX_NS) {
        return -EINVAL;
    }
    config->active_ns = min_u64(config->active_ns, TIMEOUT_MAX);
    config->idle_ns = min_u64(config->idle_ns, config->active_ns);
    config->fin_linger_ns = min_u64(config->fin_linger_ns, config->idle_ns);
    while (config->hash_seed == 0) {
        if (getrandom(&config->hash_seed, sizeof config->hash_seed, 0) < 0 && errno != EINTR) {
            return -errno;
        }
    }
    return 0;
}

int pd_trajectory_new_in(struct pd_region *region, const struct pd_trajectory_config *config,
                         const struct pd_trajectory_sink *sink,
                         struct pd_trajectory **ret_trajectory)
{
    struct pd_trajectory *trajectory = calloc(1, sizeof *trajectory);
    if (!trajectory) {
        return -ENOMEM;
    }
    trajectory->config = *config;
    trajectory->sink = *sink;
    trajectory->region = region;
    int error = config_check(&trajectory->config);
    if (!error && pd_trajectory_table_bits(config->max_records) > region->tables[0].bits_max) {
        error = -EINVAL;
    }
    if (error) {
        free(trajectory);
        return error;
    }
    pd_trajectory_table_init(&trajectory->ipv4, region, &region->tables[0],
                             trajectory->config.hash_seed);
    pd_trajectory_table_init(&trajectory->ipv6, region, &region->tables[1],
                             trajectory->config.hash_seed);
    *ret_trajectory = trajectory;
    return 0;
}

/* Private memory, of which the tables begin at a huge page's border. */
int pd_trajectory_new(const struct pd_trajectory_config *config,
                      const struct pd_trajectory_sink *sink, struct pd_trajectory **ret_trajectory)
{
    struct pd_trajectory_config checked = *config;
    int error = config_check(&checked);
    if (error) {
        return error;
    }
    size_t bytes = pd_trajectory_region_bytes(checked.max_records, 0, 0), map_bytes = bytes;
    void *map = mmap(NULL, map_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) {
        return -ENOMEM;
    }
    struct pd_region *region = pd_trajectory_region_init(map, checked.max_records, 0, 0);
    pd_trajectory_region_advise(region);
    error = pd_trajectory_new_in(region, &checked, sink, ret_trajectory);
    if (error) {
        munmap(map, map_bytes);
        return error;
    }
    (*ret_trajectory)->map_bytes = map_bytes;
    return 0;
}

void pd_trajectory_free(struct pd_trajectory *trajectory)
{
    if (!trajectory) {
        return;
    }
    if (trajectory->map_bytes) {
        munmap(trajectory->region, trajectory->map_bytes);
    }
    free(trajectory);
}

/* ---- keys and records ------------------------------------------------------------------------ */

static inline void key_of(const struct pd_packet *packet, uint64_t mark_bits, uint64_t *ret_key)
{
    const uint8_t *flow = (const uint8_t *)&packet->flow;
    uint64_t word;
    memcpy(&word, flow + PD_FLOW_END_AT, sizeof word);
    ret_key[0] = le64toh(word) & PD_KEY_FLOW;
    ret_key[1] = packet->mark & mark_bits;
    if (packet->flow.ip_version == 4) {
        uint32_t src, dst;
        memcpy(&src, packet->flow.src.bytes, 4);
        memcpy(&dst, packet->flow.dst.bytes, 4);
        ret_key[2] = src | (uint64_t)dst << 32;
    } else {
        memcpy(&ret_key[2], flow, 32);
    }
}

/* ---- ends of records ------------------------------------------------------------------------- */

/* Why a packet of this time would not merge; NONE: it does. */
static enum pd_eviction expiry(const struct pd_trajectory *trajectory, const struct pd_slot *slot,
                               uint64_t now_ns)
{
    bool closing = slot->key[0] & PD_KEY_CLOSING;
    if (closing && now_ns > slot->last_ns + slot->linger_ns) {
        return PD_EVICTION_FIN;
    }
    if (now_ns > slot->last_ns + trajectory->config.idle_ns ||
        slot->last_ns > now_ns + trajectory->config.idle_ns) {
        return PD_EVICTION_IDLE;
    }
    if (!closing && now_ns > slot->first_ns + trajectory->config.active_ns) {
        return PD_EVICTION_ACTIVE;
    }
    return PD_EVICTION_NONE;
}

static bool offer(struct pd_trajectory *trajectory, const struct pd_slot *slot, unsigned key_len,
                  enum pd_eviction eviction)
{
    struct pd_trajectory_record record;
    pd_trajectory_slot_record(slot, key_len, eviction, &record);
    if (!trajectory->sink.evicted(trajectory->sink.context, &record)) {
        trajectory->sink_full = true;
        COUNT(trajectory, refused, 1);
        return false;
    }
    switch (eviction) {
    case PD_EVICTION_FIN: COUNT(trajectory, evicted_fin, 1); break;
    case PD_EVICTION_IDLE: COUNT(trajectory, evicted_idle, 1); break;
    case PD_EVICTION_ACTIVE: COUNT(trajectory, evicted_active, 1); break;
    default: COUNT(trajectory, evicted_flush, 1); break;
    }
    return true;
}

/* ---- update ---------------------------------------------------------------------------------- */

static void mark_closing(const struct pd_trajectory *trajectory, struct pd_slot *slot,
                         uint64_t now_ns)
{
    uint64_t passed_ns = slot->last_ns - now_ns; /* the FIN itself may be late */
    uint64_t linger_ns = trajectory->config.fin_linger_ns;
    PD_SLOT_SET(slot->key[0], slot->key[0] | PD_KEY_CLOSING);
    PD_SLOT_SET(slot->linger_ns, (uint32_t)(passed_ns < linger_ns ? linger_ns - passed_ns : 0));
}

/* The first packet of a record whose key is in place, in an open slot. */
static void begin(struct pd_trajectory *trajectory, struct pd_slot *slot,
                  const struct sample *sample)
{
    uint64_t flags = (uint64_t)sample->tcp_flags << PD_KEY_TCP_FLAGS_AT;
    PD_SLOT_SET(slot->key[0], (slot->key[0] & PD_KEY_MASK) | flags);
    PD_SLOT_SET(slot->linger_ns, 0);
    PD_SLOT_SET(slot->pkts, sample->pkts);
    PD_SLOT_SET(slot->bytes, sample->bytes);
    PD_SLOT_SET(slot->first_ns, sample->now_ns);
    PD_SLOT_SET(slot->last_ns, sample->now_ns);
    if (sample->tcp_flags & TCP_FIN_OR_RST) {
        mark_closing(trajectory, slot, sample->now_ns);
    }
    COUNT(trajectory, inserts, 1);
}

static void announce(const struct pd_trajectory *trajectory, const struct pd_slot *slot,
                     unsigned key_len)
{
    if (trajectory->sink.new_flow) {
        struct pd_trajectory_record record;
        pd_trajectory_slot_record(slot, key_len, PD_EVICTION_NONE, &record);
        trajectory->sink.new_flow(trajectory->sink.context, &record);
    }
}

static inline void add(struct pd_slot *slot, const struct sample *sample)
{
    PD_SLOT_SET(slot->pkts, slot->pkts + sample->pkts);
    PD_SLOT_SET(slot->bytes, slot->bytes + sample->bytes);
    PD_SLOT_SET(slot->key[0], slot->key[0] | (uint64_t)sample->tcp_flags << PD_KEY_TCP_FLAGS_AT);
}

/* A packet that may end its record, close it, or come before its first one. */
static __attribute__((noinline)) void hit_seldom(struct pd_trajectory *trajectory,
                                                 struct pd_slot *slot, unsigned key_len,
                                                 const struct sample *as_given)
{
    struct sample sample = *as_given;
    sample.now_ns = min_u64(sample.now_ns, TIME_MAX);
    enum pd_eviction eviction = expiry(trajectory, slot, sample.now_ns);
    if (eviction && !trajectory->sink_full && offer(trajectory, slot, key_len, eviction)) {
        uint32_t sequence = pd_slot_open(slot);
        begin(trajectory, slot, &sample);
        pd_slot_close(slot, sequence);
        if (eviction != PD_EVICTION_ACTIVE) {
            announce(trajectory, slot, key_len);
        }
        return;
    }
    uint32_t sequence = pd_slot_open(slot);
    add(slot, &sample);
    PD_SLOT_SET(slot->first_ns, min_u64(slot->first_ns, sample.now_ns));
    if (sample.now_ns > slot->last_ns) {
        uint64_t step_ns = sample.now_ns - slot->last_ns;
        uint64_t linger_ns = slot->linger_ns;
        PD_SLOT_SET(slot->linger_ns, (uint32_t)(step_ns < linger_ns ? linger_ns - step_ns : 0));
        PD_SLOT_SET(slot->last_ns, sample.now_ns);
    }
    if ((sample.tcp_flags & TCP_FIN_OR_RST) && !(slot->key[0] & PD_KEY_CLOSING)) {
        mark_closing(trajectory, slot, sample.now_ns);
    }
    pd_slot_close(slot, sequence);
}

static __attribute__((noinline)) void lose(struct pd_trajectory *trajectory,
                                           const struct sample *sample)
{
    COUNT(trajectory, updates, -(uint64_t)sample->pkts);
    COUNT(trajectory, lost_full_pkts, sample->pkts);
    COUNT(trajectory, lost_full_bytes, sample->bytes);
}

static __attribute__((noinline)) void miss(struct pd_trajectory *trajectory, struct pd_table *table,
                                           const struct lookup *lookup,
                                           const struct sample *as_given)
{
    struct sample sample = *as_given;
    sample.now_ns = min_u64(sample.now_ns, TIME_MAX);
    bool full = pd_trajectory_len(trajectory) >= trajectory->config.max_records;
    uint64_t hash = pd_table_hash(table, table->key_len, lookup->key);
    struct pd_slot *slot = full ? NULL : pd_trajectory_table_insert(table, lookup->key, hash);
    if (!slot) {
        lose(trajectory, &sample);
        return;
    }
    begin(trajectory, slot, &sample);
    pd_slot_close(slot, slot->sequence + 1);
    PD_SHARED_ADD(trajectory->region->live_records, 1);
    announce(trajectory, slot, table->key_len);
}

/* Most packets: neither the first of a record, nor late, nor its end. Where times go back the
 * differences wrap to more than any timeout, and the packet goes the long way. */
static inline bool merges_plainly(const struct pd_trajectory *trajectory,
                                  const struct pd_slot *slot, const struct sample *sample)
{
    return (sample->tcp_flags & TCP_FIN_OR_RST) == 0 && (slot->key[0] & PD_KEY_CLOSING) == 0 &&
           sample->now_ns <= TIME_MAX &&
           sample->now_ns - slot->last_ns <= trajectory->config.idle_ns &&
           sample->now_ns - slot->first_ns <= trajectory->config.active_ns;
}

static __attribute__((noinline)) struct pd_slot *find_from_home(const struct pd_table *table,
                                                                const uint64_t *key)
{
    uint64_t hash = pd_table_hash(table, table->key_len, key);
    const struct pd_generation *side = pd_table_side(table, hash);
    return pd_table_find(side, table->key_len, key, pd_table_home(side, hash));
}

/* Inlined at every level of optimisation, so that the sample stays in registers: to pass it through
 * memory stalls. */
static inline __attribute__((always_inline)) void count(struct pd_trajectory *trajectory,
                                                        struct pd_table *table, unsigned key_len,
                                                        const struct lookup *lookup,
                                                        const struct sample *sample)
{
    struct pd_slot *slot = pd_slot_at(&table->now, key_len, lookup->at);
    if (__builtin_expect(table->old.slots || !pd_key_equal(key_len, slot->key, lookup->key), 0)) {
        slot = find_from_home(table, lookup->key);
        if (!slot) {
            miss(trajectory, table, lookup, sample);
            return;
        }
    }
    if (__builtin_expect(!merges_plainly(trajectory, slot, sample), 0)) {
        hit_seldom(trajectory, slot, key_len, sample);
        return;
    }
    uint32_t sequence = pd_slot_open(slot);
    add(slot, sample);
    PD_SLOT_SET(slot->last_ns, sample->now_ns);
    pd_slot_close(slot, sequence);
}

/* IPv6 is out of line, so that the registers are free for IPv4. */
static __attribute__((noinline)) void count_ipv6(struct pd_trajectory *trajectory,
                                                 const struct lookup *lookup,
                                                 const struct sample *sample)
{
    count(trajectory, &trajectory->ipv6, PD_KEY_LEN_IPV6, lookup, sample);
}

static inline void hash_key(const struct pd_table *table, unsigned key_len, struct lookup *lookup)
{
    uint64_t hash = pd_table_hash(table, key_len, lookup->key);
    const struct pd_generation *side = pd_table_side(table, hash);
    lookup->at = pd_table_home(side, hash);
    pd_table_prefetch(side, key_len, lookup->at);
}

static __attribute__((noinline)) void hash_ipv6(const struct pd_trajectory *trajectory,
                                                struct lookup *lookup)
{
    hash_key(&trajectory->ipv6, PD_KEY_LEN_IPV6, lookup);
}

/* One record in eight is not at home but most likely right behind. Which ones cannot be predicted:
 * hence no branch. */
static inline void step_aside(const struct pd_table *table, unsigned key_len, struct lookup *lookup)
{
    const struct pd_slot *home = pd_slot_at(&table->now, key_len, lookup->at);
    uint32_t step = !pd_key_equal(key_len, home->key, lookup->key);
    lookup->at += step; /* there are slots behind the last home */
    pd_table_prefetch(&table->now, key_len, lookup->at);
}

/* Three passes: while the later packets of a batch are hashed, the slots of the earlier ones come
 * into the cache. Inlined once with weights and once without. */
static inline __attribute__((always_inline)) void update_batch(
    struct pd_trajectory *trajectory, const struct pd_packet *packets,
    const struct pd_packet_weight *weights, const uint64_t *now_ns, unsigned n, uint64_t mark_bits)
{
    struct lookup lookups[BATCH];
    uint64_t pkts = 0;
    for (unsigned i = 0; i < n; i++) {
        key_of(&packets[i], mark_bits, lookups[i].key);
        if (packets[i].flow.ip_version == 4) {
            hash_key(&trajectory->ipv4, PD_KEY_LEN_IPV4, &lookups[i]);
        } else {
            hash_ipv6(trajectory, &lookups[i]);
        }
    }
    for (unsigned i = 0; i < n && !trajectory->ipv4.old.slots; i++) {
        if (packets[i].flow.ip_version == 4) {
            step_aside(&trajectory->ipv4, PD_KEY_LEN_IPV4, &lookups[i]);
        }
    }
    for (unsigned i = 0; i < n; i++) {
        struct sample sample = {.now_ns = now_ns[i],
                                .pkts = weights ? weights[i].pkts : 1,
                                .bytes = weights ? weights[i].bytes : packets[i].ip_bytes,
                                .tcp_flags = packets[i].tcp_flags};
        pkts += sample.pkts;
        if (packets[i].flow.ip_version == 4) {
            count(trajectory, &trajectory->ipv4, PD_KEY_LEN_IPV4, &lookups[i], &sample);
        } else {
            count_ipv6(trajectory, &lookups[i], &sample);
        }
    }
    COUNT(trajectory, updates, pkts);
}

static __attribute__((noinline)) void update_unweighted(struct pd_trajectory *trajectory,
                                                        const struct pd_packet *packets,
                                                        const uint64_t *now_ns, unsigned n,
                                                        uint64_t mark_bits)
{
    update_batch(trajectory, packets, NULL, now_ns, n, mark_bits);
}

static __attribute__((noinline)) void update_weighted(struct pd_trajectory *trajectory,
                                                      const struct pd_packet *packets,
                                                      const struct pd_packet_weight *weights,
                                                      const uint64_t *now_ns, unsigned n,
                                                      uint64_t mark_bits)
{
    update_batch(trajectory, packets, weights, now_ns, n, mark_bits);
}

void pd_trajectory_update(struct pd_trajectory *trajectory, const struct pd_packet *packets,
                          const struct pd_packet_weight *weights, const uint64_t *now_ns, size_t n,
                          uint64_t mark_bits)
{
    for (size_t at = 0; at < n; at += BATCH) {
        unsigned len = n - at < BATCH ? (unsigned)(n - at) : BATCH;
        if (weights) {
            update_weighted(trajectory, packets + at, weights + at, now_ns + at, len, mark_bits);
        } else {
            update_unweighted(trajectory, packets + at, now_ns + at, len, mark_bits);
        }
    }
}

/* ---- sweep, flush, walk ---------------------------------------------------------------------- */

/* How many slots the hand is to pass on its way to `now_ns`: all of them a second. Time that went
 * back counts from where it went. */
static uint32_t slots_due(struct pd_table *table, uint64_t now_ns)
{
    uint64_t slots = table->now.len;
    uint64_t passed_ns = now_ns - table->swept_ns;
    if (table->swept_ns == 0 || now_ns < table->swept_ns) {
        table->swept_ns = now_ns;
        return 0;
    }
    if (passed_ns >= TURN_NS) {
        table->swept_ns = now_ns;
        return (uint32_t)slots;
    }
    uint64_t due = slots * passed_ns / TURN_NS;
    table->swept_ns += due * TURN_NS / slots;
    return (uint32_t)due;
}

static void remove_record(struct pd_trajectory *trajectory, struct pd_table *table,
                          struct pd_slot *slot)
{
    pd_trajectory_table_delete(table, slot);
    PD_SHARED_ADD(trajectory->region->live_records, -UINT64_C(1));
}

/* What the hand does with a record. */
static enum pd_eviction due_eviction(const struct pd_trajectory *trajectory,
                                     const struct pd_slot *slot, uint64_t now_ns, bool flushing)
{
    enum pd_eviction eviction =
        pd_slot_taken(slot) ? expiry(trajectory, slot, now_ns) : PD_EVICTION_NONE;
    if (eviction == PD_EVICTION_FIN || eviction == PD_EVICTION_IDLE) {
        return eviction;
    }
    return flushing && pd_slot_taken(slot) ? PD_EVICTION_FLUSH : PD_EVICTION_NONE;
}

static void sweep_table(struct pd_trajectory *trajectory, struct pd_table *table, uint64_t now_ns)
{
    uint64_t *flush_left = &trajectory->flush_left[table == &trajectory->ipv6];
    uint32_t due = slots_due(table, now_ns);
    if (*flush_left) {
        due = due > FLUSH_SLOTS ? due : FLUSH_SLOTS;
    }
    if (table->old.slots) { /* rather finish growing: then the hand finds all records on one side */
        pd_trajectory_table_move(table, due);
        return;
    }
    while (due > 0 && !trajectory->sink_full) {
        struct pd_slot *slot = pd_slot_at(&table->now, table->key_len, table->hand);
        enum pd_eviction eviction = due_eviction(trajectory, slot, now_ns, *flush_left > 0);
        if (eviction) {
            if (offer(trajectory, slot, table->key_len, eviction)) {
                remove_record(trajectory, table, slot); /* another one may be in its place now */
            }
            continue;
        }
        table->hand = table->hand + 1 < table->now.len ? table->hand + 1 : 0;
        *flush_left -= *flush_left > 0;
        due--;
    }
}

void pd_trajectory_flush_begin(struct pd_trajectory *trajectory)
{
    pd_trajectory_table_move(&trajectory->ipv4, UINT32_MAX);
    pd_trajectory_table_move(&trajectory->ipv6, UINT32_MAX);
    trajectory->flush_left[0] = trajectory->ipv4.now.len;
    trajectory->flush_left[1] = trajectory->ipv6.now.len;
}

bool pd_trajectory_flushing(const struct pd_trajectory *trajectory)
{
    return trajectory->flush_left[0] > 0 || trajectory->flush_left[1] > 0;
}

int pd_trajectory_set_times(struct pd_trajectory *trajectory,
                            const struct pd_trajectory_config *config)
{
    struct pd_trajectory_config wanted = trajectory->config;
    wanted.idle_ns = config->idle_ns;
    wanted.active_ns = config->active_ns;
    wanted.fin_linger_ns = config->fin_linger_ns;
    int error = config_check(&wanted);
    if (!error) {
        trajectory->config = wanted;
    }
    return error;
}

void pd_trajectory_sweep(struct pd_trajectory *trajectory, uint64_t now_ns)
{
    now_ns = min_u64(now_ns, TIME_MAX);
    trajectory->sink_full = false;
    sweep_table(trajectory, &trajectory->ipv4, now_ns);
    sweep_table(trajectory, &trajectory->ipv6, now_ns);
}

static void flush_table(struct pd_trajectory *trajectory, struct pd_table *table)
{
    pd_trajectory_table_move(table, UINT32_MAX);
    for (uint32_t i = 0; i < table->now.len; i++) {
        struct pd_slot *slot = pd_slot_at(&table->now, table->key_len, i);
        while (pd_slot_taken(slot) && offer(trajectory, slot, table->key_len, PD_EVICTION_FLUSH)) {
            remove_record(trajectory, table, slot);
        }
    }
    pd_trajectory_table_release(table);
}

size_t pd_trajectory_flush(struct pd_trajectory *trajectory)
{
    flush_table(trajectory, &trajectory->ipv4);
    flush_table(trajectory, &trajectory->ipv6);
    trajectory->sink_full = false;
    return pd_trajectory_len(trajectory);
}

static void walk_side(const struct pd_table *table, const struct pd_generation *side,
                      void (*visit)(void *context, const struct pd_trajectory_record *record),
                      void *context)
{
    for (uint32_t i = 0; side->slots && i < side->len; i++) {
        const struct pd_slot *slot = pd_slot_at(side, table->key_len, i);
        if (pd_slot_taken(slot)) {
            struct pd_trajectory_record record;
            pd_trajectory_slot_record(slot, table->key_len, PD_EVICTION_NONE, &record);
            visit(context, &record);
        }
    }
}

void pd_trajectory_walk(const struct pd_trajectory *trajectory,
                        void (*visit)(void *context, const struct pd_trajectory_record *record),
                        void *context)
{
    walk_side(&trajectory->ipv4, &trajectory->ipv4.now, visit, context);
    walk_side(&trajectory->ipv4, &trajectory->ipv4.old, visit, context);
    walk_side(&trajectory->ipv6, &trajectory->ipv6.now, visit, context);
    walk_side(&trajectory->ipv6, &trajectory->ipv6.old, visit, context);
}

size_t pd_trajectory_len(const struct pd_trajectory *trajectory)
{
    return (size_t)trajectory->ipv4.len + trajectory->ipv6.len;
}

const struct pd_trajectory_counters *pd_trajectory_counters(const struct pd_trajectory *trajectory)
{
    return &trajectory->region->counters;
}
