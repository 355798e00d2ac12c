/* SPDX-License-Identifier: Apache-2.0 */
/* Samples: what single packets carried, in a bounded ring beside the table of one core. */
#ifndef PD_TRAJECTORY_SAMPLES_H
#define PD_TRAJECTORY_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/flow_id.h"

/* Marks of some schemes are no key of a record: each is one packet's part of an answer that many of
 * them give. They pass through a ring to whoever folds them. The packet path never waits: a sample
 * that finds the ring full is counted and gone.
 *
 * Thread safety: one thread puts, one takes; they may be of two processes (region.h). The one that
 * puts believes nothing that the other says but where it has read to, and that only within what was
 * written. */

struct pd_sample {
    struct pd_flow_id flow;
    uint64_t mark;    /* of the packet; only its scheme reads it */
    uint64_t time_ns; /* on the clock of whoever put it */
    uint32_t packet_id;
    uint16_t hops;  /* as the packet tells, 0: it does not */
    uint8_t scheme; /* number of the mark's scheme (base/mark.h) */
    uint8_t zero;
};
_Static_assert(sizeof(struct pd_sample) == 64, "docs/formats/shared-memory.md");

#define PD_SAMPLES_SLOTS_MAX (1u << 22)

/* The words that both ends look at. */
struct pd_samples_words {
    uint64_t written; /* atomic: samples ever put */
    uint64_t full;    /* atomic: samples that found no room */
};

/* One end of a ring. */
struct pd_samples {
    struct pd_sample *slots;
    uint32_t slots_len;             /* a power of two; 0: no ring, each put counts as full */
    struct pd_samples_words *words; /* of the end that puts */
    uint64_t *read;                 /* atomic: samples taken; of the end that takes */
    uint64_t read_known;            /* the last value of it that could be true */
};

/* A ring in memory of its own, for both ends; `slots` a power of two up to PD_SAMPLES_SLOTS_MAX. 0,
 * -EINVAL or -ENOMEM. */
int pd_trajectory_samples_new(uint32_t slots, struct pd_samples *ret_samples);
void pd_trajectory_samples_free(
    struct pd_samples *samples); /* only of pd_trajectory_samples_new; zeroed is fine */

/* False: full, and counted. */
bool pd_trajectory_samples_put(struct pd_samples *samples, const struct pd_sample *sample);

/* Moves at most `max` samples out, oldest first; how many. */
size_t pd_trajectory_samples_take(struct pd_samples *samples, struct pd_sample *ret_samples,
                                  size_t max);

#endif
