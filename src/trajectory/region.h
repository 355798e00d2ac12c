/* SPDX-License-Identifier: Apache-2.0 */
/* Region: the memory of one trajectory memory, laid out so that another process can read it while
 * it is written. */
#ifndef PD_TRAJECTORY_REGION_H
#define PD_TRAJECTORY_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trajectory/record.h"
#include "trajectory/samples.h"
#include "trajectory/trajectory.h"

/* A region holds a header page, an event ring and the hash tables (docs/formats/shared-memory.md,
 * byte by byte). Its owner is one thread of the process that counts; a reader is another process
 * that maps it read-only. The reader answers through an index page of its own, one word that says
 * up to where it has stored the ring's events; the owner trusts that word with nothing: a wrong one
 * makes the ring look full, or lets the owner write over events that were not read.
 *
 * Thread safety. Owner: the thread that owns the trajectory memory. Reader: any number, none of
 * them waits or is waited for. Words are stored with release and loaded with acquire order, so on
 * x86 they are plain moves; a record is guarded by the sequence number of its slot (odd: being
 * written).
 *
 * Owner: memory of pd_trajectory_region_bytes() zeroed bytes → pd_trajectory_region_init →
 * pd_trajectory_new_in with pd_event_ring's functions as sink. Reader: pd_trajectory_view_init →
 * pd_trajectory_view_event in order of the ring, pd_trajectory_view_walk for what is live. */

#define PD_REGION_MAGIC        UINT64_C(0x00314a4152544450) /* "PDTRAJ1" */
#define PD_REGION_VERSION      2u
#define PD_REGION_HEADER_BYTES 4096u
#define PD_INDEX_BYTES         4096u
#define PD_RING_SLOTS_MAX      (1u << 24)

struct pd_region_table {
    /* atomic: growths << 16 | log2 slots of the old generation (0: none) << 8 | of the new one */
    uint64_t state;
    uint64_t slots_at[2]; /* a generation of 2^b slots lies at slots_at[b & 1] */
    uint32_t key_len;     /* 3: IPv4, 6: IPv6 */
    uint32_t bits_max;
};

struct pd_region {
    uint64_t magic;
    uint32_t version;
    uint32_t header_bytes;
    uint64_t bytes;
    uint64_t instance_id; /* of the process that counts, new with each start; never 0 */
    uint64_t region_id;   /* counts up within an instance, from 1 */
    uint32_t core_id;     /* for people */
    int32_t numa_id;
    uint64_t ring_at;
    uint32_t ring_slots; /* a power of two; 0: no ring */
    uint32_t zero;
    struct pd_region_table tables[2]; /* IPv4, IPv6 */
    uint64_t ring_write;              /* atomic: events ever written; a cache line of its own */
    uint64_t flushed;                 /* atomic: the last flush that was asked for and is done */
    struct pd_samples_words samples;  /* atomic */
    uint64_t samples_at;
    uint32_t samples_slots; /* a power of two; 0: no ring of samples */
    uint32_t zero_too;
    uint64_t unused[2];
    /* For people and metrics: each word atomic, no two of one moment. */
    uint64_t live_records;
    uint64_t ring_refused; /* evictions that found the ring full; the record stayed in the table */
    uint64_t ring_unheard; /* new flows that were not announced: the ring was half full */
    uint64_t frames, frame_bytes;
    uint64_t verdicts[PD_PACKET_VERDICT_COUNT];
    struct pd_trajectory_counters counters;
};
_Static_assert(offsetof(struct pd_region, tables) == 64, "docs/formats/shared-memory.md");
_Static_assert(offsetof(struct pd_region, ring_write) == 128, "docs/formats/shared-memory.md");
_Static_assert(offsetof(struct pd_region, samples) == 144, "docs/formats/shared-memory.md");
_Static_assert(offsetof(struct pd_region, live_records) == 192, "docs/formats/shared-memory.md");
_Static_assert(offsetof(struct pd_region, counters) == 296, "docs/formats/shared-memory.md");
_Static_assert(sizeof(struct pd_region) == 368, "docs/formats/shared-memory.md");

enum pd_event_kind { PD_EVENT_EVICTED = 1, PD_EVENT_NEW_FLOW = 2 };

struct pd_event {
    uint32_t kind; /* enum pd_event_kind */
    uint32_t zero;
    struct pd_trajectory_record record;
};
_Static_assert(sizeof(struct pd_event) == 96, "docs/formats/shared-memory.md");

struct pd_index {
    uint64_t read; /* atomic: events that the reader has stored; they may be written over */
    uint64_t unused[7];
    uint64_t samples_read; /* atomic: samples that the reader has taken */
};
_Static_assert(offsetof(struct pd_index, samples_read) == 64, "docs/formats/shared-memory.md");

/* What goes over the socket, one message a packet. The switch speaks first: HELLO, then a REGION
 * for each that there is. */
enum pd_message_type {
    PD_MESSAGE_HELLO = 1,  /* switch: version, instance ID */
    PD_MESSAGE_REGION = 2, /* switch: region ID, with two descriptors: the region, the index page */
    PD_MESSAGE_GONE = 3,   /* switch: region ID; all of it was stored, unmap it */
    PD_MESSAGE_BUSY = 4,   /* switch: another reader is attached; closes */
    PD_MESSAGE_FLUSH = 5,  /* reader: evict everything soon */
    PD_MESSAGE_FLUSHING =
        6 /* switch: number of the flush; regions tell when they are done with it */
};

struct pd_message {
    uint32_t type;
    uint32_t version;
    uint64_t instance_id;
    uint64_t region_id;
    uint64_t value;
};
_Static_assert(sizeof(struct pd_message) == 32, "docs/formats/shared-memory.md");

/* ---- owner ----------------------------------------------------------------------------------- */

/* Bytes of a region for that many records. `ring_slots`, `samples_slots`: powers of two, or 0. */
size_t pd_trajectory_region_bytes(uint32_t max_records, uint32_t ring_slots,
                                  uint32_t samples_slots);

/* Writes the header of a region into zeroed memory, page aligned; IDs and core are left for the
 * caller. */
struct pd_region *pd_trajectory_region_init(void *memory, uint32_t max_records, uint32_t ring_slots,
                                            uint32_t samples_slots);

/* The owner's end of the ring of samples. */
struct pd_samples pd_trajectory_region_samples(struct pd_region *region, struct pd_index *index);

/* Huge pages for all but the first 2 MB of each table: those may be all that a quiet host ever
 * touches. */
void pd_trajectory_region_advise(struct pd_region *region);

/* As pd_trajectory_new, in a region made for at least config->max_records, which outlives the
 * trajectory memory. */
int pd_trajectory_new_in(struct pd_region *region, const struct pd_trajectory_config *config,
                         const struct pd_trajectory_sink *sink,
                         struct pd_trajectory **ret_trajectory);

/* The owner's end of the ring: the sink of a trajectory memory whose records a reader takes. */
struct pd_event_ring {
    struct pd_region *region;
    const struct pd_index *index; /* the reader's, untrusted */
    uint64_t write;
    uint64_t read_known; /* last value of the index that could be true */
};

void pd_trajectory_event_ring_init(struct pd_event_ring *ring, struct pd_region *region,
                                   const struct pd_index *index);
struct pd_trajectory_sink pd_trajectory_event_ring_sink(struct pd_event_ring *ring);
uint64_t pd_trajectory_event_ring_used(
    struct pd_event_ring *ring); /* events that the reader has not stored yet */

/* Adds to a word that others may read. Only its one writer does. */
#define PD_SHARED_ADD(word, n) __atomic_store_n(&(word), (word) + (n), __ATOMIC_RELAXED)

/* ---- reader ---------------------------------------------------------------------------------- */

/* A region as it was checked: nothing of the header that could lead astray is read a second time.
 */
struct pd_view {
    const struct pd_region *region;
    const struct pd_event *ring;
    uint32_t ring_slots;
    struct pd_sample *samples; /* NULL: no ring of samples */
    uint32_t samples_slots;
    struct pd_view_table {
        const uint8_t *slots[2];
        uint32_t key_len, bits_max;
    } tables[2];
};

/* Checks a mapping of `bytes` bytes. -EPROTO: not a region; -EPROTONOSUPPORT: of another version,
 * which is in `region->version`; -EINVAL: the header contradicts itself. */
int pd_trajectory_view_init(struct pd_view *view, const void *map, size_t bytes);

/* The reader's end of the ring of samples. */
struct pd_samples pd_trajectory_view_samples(const struct pd_view *view, struct pd_index *index);

uint64_t pd_trajectory_view_written(const struct pd_view *view); /* events in the ring end here */

/* Copies event number `at`; the caller keeps to [index, written). */
void pd_trajectory_view_event(const struct pd_view *view, uint64_t at, struct pd_event *ret_event);

struct pd_view_walk {
    uint64_t torn; /* records left out: their slot was being written, at each of some tries */
    bool moved;    /* the table kept growing: records may be left out */
};

/* Copies each live record to `visit`. Every record that is live from begin to end is visited; one
 * that moves meanwhile may be visited twice (same key and first time), one that is evicted
 * meanwhile once or not at all. When the owner is dead, `torn` counts records that it was writing
 * when it died. */
struct pd_view_walk pd_trajectory_view_walk(
    const struct pd_view *view,
    void (*visit)(void *context, const struct pd_trajectory_record *record), void *context);

#endif
