/* SPDX-License-Identifier: Apache-2.0 */
/* Trajectory memory: the live table of trajectory records of one core. */
#ifndef PD_TRAJECTORY_TRAJECTORY_H
#define PD_TRAJECTORY_TRAJECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "packet/packet.h"
#include "trajectory/record.h"

/* Counts packets and bytes per ⟨flow ID, mark⟩ (paper, section 3.2). One owner thread updates,
 * sweeps and reads; there are no locks and, after pd_trajectory_new, no allocation and no system
 * call.
 *
 * Time is the caller's (`now_ns` of each packet): nothing here reads a clock, so a capture file
 * gives the same slices at any replay speed. A record ends, and a packet of the same flow begins a
 * new one,
 *   - later than the linger time after the first FIN or RST: up to then late packets merge;
 *   - after the idle timeout, by which the packet is later than the latest one, or earlier (the
 *     clock was set back, or one packet carried a time from the future): a smaller step back only
 *     moves the record's first time;
 *   - after the active timeout since the record's first packet: long flows come out in slices.
 * Both update and sweep apply the first two, so the sweep only cleans up what no packet touches any
 * more, and records do not depend on when it runs as long as times do not go back.
 *
 * Every record leaves through the sink, exactly once. The sink may refuse (its ring is full): the
 * record then stays and goes on counting, and nothing is offered again before the next sweep. So
 * packets given to update are `updates` + `lost_full_pkts`, and `updates` are the packets of all
 * records that left and of all that are live.
 *
 * Usage: new, update with the packets of each burst, sweep now and then, flush at the end, free. */

struct pd_trajectory_config {
    uint64_t idle_ns;       /* evict after this long without a packet; at most active_ns counts */
    uint64_t active_ns;     /* slice long flows */
    uint64_t fin_linger_ns; /* packets this long after FIN or RST still merge; at most 4 s */
    uint32_t max_records;   /* live records, IPv4 and IPv6 together; at most 2^28 */
    uint64_t hash_seed;     /* 0: a secret one, so that nobody can choose flows that collide */
};

/* 5 s, 60 s, 200 ms, 1,048,576 records. */
#define PD_TRAJECTORY_DEFAULTS                         \
    {                                                  \
        5000000000, 60000000000, 200000000, 1048576, 0 \
    }

/* Where records go. Called from inside update, sweep and flush; the record is the callee's only for
 * the call, and the callee does not call back into the trajectory memory.
 *
 * evicted: a record has ended; false refuses it. new_flow (may be NULL): the first packet of a new
 * ⟨flow, mark⟩, already counted in the record; a flow whose last slice was ended by the active
 * timeout goes on and is not new. */
struct pd_trajectory_sink {
    void *context;
    bool (*evicted)(void *context, const struct pd_trajectory_record *record);
    void (*new_flow)(void *context, const struct pd_trajectory_record *record);
};

#define PD_TRAJECTORY_COUNTERS(X)                                \
    X(updates, "packets counted in a record")                    \
    X(inserts, "records begun")                                  \
    X(evicted_fin, "records evicted after FIN or RST")           \
    X(evicted_idle, "records evicted by the idle timeout")       \
    X(evicted_active, "slices ended by the active timeout")      \
    X(evicted_flush, "records evicted by a flush")               \
    X(refused, "evictions that the sink refused")                \
    X(lost_full_pkts, "packets not counted: the table was full") \
    X(lost_full_bytes, "bytes not counted: the table was full")

struct pd_trajectory_counters {
#define X(name, text) uint64_t name;
    PD_TRAJECTORY_COUNTERS(X)
#undef X
};

struct pd_trajectory;

/* Address space for max_records is reserved at once; memory is used as records come, and stays
 * used. Returns 0, -EINVAL (a time or a number that is 0 or beyond its limit), -ENOMEM or what
 * getrandom fails with. */
int pd_trajectory_new(const struct pd_trajectory_config *config,
                      const struct pd_trajectory_sink *sink, struct pd_trajectory **ret_trajectory);

/* Frees without evicting: flush first to keep what is live. NULL is fine. */
void pd_trajectory_free(struct pd_trajectory *trajectory);

/* Counts `n` packets (any number; worked on in batches with prefetch). `now_ns[i]` is the time of
 * packet i; times from 2^63 (the year 2262) on are read as 2^63 - 1. `mark_bits`: of each mark,
 * those that are part of the key; others are ignored. Weights beyond one packet (segments that
 * the kernel merged) may be given in `weights` (NULL: each packet counts 1 and ip_bytes). */
struct pd_packet_weight {
    uint32_t pkts;
    uint32_t bytes; /* IP bytes of all of them together */
};
void pd_trajectory_update(struct pd_trajectory *trajectory, const struct pd_packet *packets,
                          const struct pd_packet_weight *weights, const uint64_t *now_ns, size_t n,
                          uint64_t mark_bits);

/* Moves the clock hand on to `now_ns` and evicts what timed out under it; call it at least every
 * 100 ms of that time. It looks at no more slots than the table has, and makes a full turn within a
 * second of `now_ns` (two while the table grows). */
void pd_trajectory_sweep(struct pd_trajectory *trajectory, uint64_t now_ns);

/* Evicts everything. Returns how many records the sink refused (they stay). */
size_t pd_trajectory_flush(struct pd_trajectory *trajectory);

/* The same in steps, for an owner that must not stand still: from now on sweeps also evict each
 * record that the hand meets, some thousand slots at a time, until it has met all that were there.
 */
void pd_trajectory_flush_begin(struct pd_trajectory *trajectory);
bool pd_trajectory_flushing(const struct pd_trajectory *trajectory);

/* Other times (the rest of `config` is not looked at) from the next packet on. 0 or -EINVAL. */
int pd_trajectory_set_times(struct pd_trajectory *trajectory,
                            const struct pd_trajectory_config *config);

/* Copies each live record to `visit`, in no order (eviction NONE); for live=true. */
void pd_trajectory_walk(const struct pd_trajectory *trajectory,
                        void (*visit)(void *context, const struct pd_trajectory_record *record),
                        void *context);

size_t pd_trajectory_len(const struct pd_trajectory *trajectory); /* live records */
const struct pd_trajectory_counters *pd_trajectory_counters(const struct pd_trajectory *trajectory);

#endif
