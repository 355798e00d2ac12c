/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of the meters: which flows are counted on which segment, and what segments lost. */
#ifndef PD_METER_LOOP_H
#define PD_METER_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/flow_id.h"
#include "meter/compare.h"

/* Paper 004, sections III-D and III-E. A *segment* is a stretch of path between two monitors. After
 * each epoch the driver (the controller, the simulator) says what of each flow was sent and lost,
 * and which flows the monitors at the ends of segments have seen (HashPipe). Where a segment's
 * flows sent fewer than alpha packets, or were fewer than beta, delta more are chosen, the largest
 * first, each with more than eta packets. A rule goes when its flow sent nothing for `epochs`
 * epochs, or was seen on another segment.
 *
 * Losses of a segment count when it lost packets in `epochs_min` of its last `epochs` epochs; or,
 * at the end of these, in each of at least two in which it was measured. Until then its lossy
 * epochs are held back; they are given when they leave the window, each at a time of its own, or
 * are transient then: counted, and given to nobody. Two epochs on end in which nothing arrived
 * count at once: a full queue drops some packets, and never all.
 *
 * Thread safety: a loop belongs to one thread. */

#define PD_METER_EPOCHS_MAX 64u

struct pd_meter_loop_settings {
    uint64_t alpha;      /* packets of a segment in an epoch */
    uint32_t beta;       /* flows of it that were measured */
    uint32_t delta;      /* flows more, of a segment after an epoch */
    uint32_t eta;        /* a flow is chosen that has more packets in an epoch */
    uint32_t epochs;     /* of the window: 1 to PD_METER_EPOCHS_MAX */
    uint32_t epochs_min; /* 1 to `epochs` */
    uint32_t rules_max;  /* of a monitor, in either role */
};
#define PD_METER_LOOP_DEFAULTS                                                            \
    {                                                                                     \
        .alpha = 1000, .beta = 20, .delta = 20, .eta = 16, .epochs = 10, .epochs_min = 3, \
        .rules_max = 4096                                                                 \
    }

enum pd_meter_segment_state {
    PD_METER_SEGMENT_MEASURED,
    PD_METER_SEGMENT_UNKNOWN, /* a monitor missed the epoch, or nothing was measured lately */
    PD_METER_SEGMENT_STARVED, /* fewer than alpha packets in each epoch of the window */
};
const char *pd_meter_segment_state_name(enum pd_meter_segment_state state);

struct pd_meter_segment {
    uint32_t up, down; /* numbers of its monitors */
    uint32_t rules;
    /* Of the window. */
    uint64_t sent, lost;
    uint32_t flows; /* of the newest epoch in which it was measured */
    uint32_t epochs, lossy;
    enum pd_meter_segment_state state;
    bool rules_full; /* no room for more rules kept it from being measured */
    bool loses;      /* its losses count */
    /* What the newest epoch says, with what was held back until then; evidence of one row. */
    uint64_t given_sent, given_lost;
};

struct pd_meter_rule {
    struct pd_flow_id flow;
    uint32_t up; /* monitor */
    uint32_t segment;
    uint64_t epoch; /* in which it last sent something, or was made */
};

struct pd_meter_loop_counters {
    uint64_t rules;          /* now */
    uint64_t added, removed; /* rules */
    uint64_t moved;          /* flows seen on another segment */
    uint64_t full;           /* flows for which there was no room */
    uint64_t transient;      /* packets lost in epochs that were held back to the end */
};

struct pd_meter_loop;

/* 0, -EINVAL or -ENOMEM. `monitors`: how many there are, numbers from 0. */
int pd_meter_loop_new(const struct pd_meter_loop_settings *settings, uint32_t monitors,
                      struct pd_meter_loop **ret_loop);
void pd_meter_loop_free(struct pd_meter_loop *loop); /* NULL is fine */

/* A segment more; numbers rise from 0. 0 or -ENOMEM. */
int pd_meter_loop_add(struct pd_meter_loop *loop, uint32_t up, uint32_t down, uint32_t *ret_number);
uint32_t pd_meter_loop_len(const struct pd_meter_loop *loop);
const struct pd_meter_segment *pd_meter_loop_segment(const struct pd_meter_loop *loop,
                                                     uint32_t number);
struct pd_meter_loop_counters pd_meter_loop_counters(const struct pd_meter_loop *loop);

/* The rule of a flow at an upstream monitor; NULL: there is none. Valid until the epoch's end. */
const struct pd_meter_rule *pd_meter_loop_rule(const struct pd_meter_loop *loop,
                                               const struct pd_flow_id *flow, uint32_t up);
/* Calls `visit` with each, until it returns non-zero, which is returned. */
int pd_meter_loop_rules(const struct pd_meter_loop *loop,
                        int (*visit)(void *context, const struct pd_meter_rule *rule),
                        void *context);

/* ---- an epoch: any of these, then its end ---- */

/* Which monitor an ID of readings is. */
struct pd_meter_loop_monitors {
    uint32_t (*number_of)(void *context, uint32_t id); /* UINT32_MAX: it is none */
    void *context;
};
struct pd_meter_loop_sums {
    uint64_t measured, lost;              /* packets of flows whose losses are known */
    uint64_t undetermined, more_received; /* flows */
};

/* Tells the loop what the readings of its monitors say, and adds that to `sums`. The filter of an
 * entry downstream is the number of its segment. 0 or -ENOMEM. */
int pd_meter_loop_compare(struct pd_meter_loop *loop, struct pd_meter_readings *readings,
                          const struct pd_meter_loop_monitors *monitors,
                          struct pd_meter_loop_sums *sums);
/* What a flow that is measured sent and lost on a segment. */
void pd_meter_loop_measured(struct pd_meter_loop *loop, uint32_t segment,
                            const struct pd_flow_id *flow, uint64_t sent, uint64_t lost);
/* It sent something, and what became of it is not determined. */
void pd_meter_loop_undetermined(struct pd_meter_loop *loop, const struct pd_flow_id *flow,
                                uint32_t up);
/* A monitor at one of its ends missed the epoch. */
void pd_meter_loop_unread(struct pd_meter_loop *loop, uint32_t segment);
/* A flow was seen at the end of a segment. 0 or -ENOMEM. */
int pd_meter_loop_seen(struct pd_meter_loop *loop, uint32_t segment, const struct pd_flow_id *flow,
                       uint64_t pkts);

/* Chooses flows. `change` is told of each rule that goes, then of each that comes; non-zero ends
 * it, and is returned. 0 or -ENOMEM. */
int pd_meter_loop_end(struct pd_meter_loop *loop,
                      int (*change)(void *context, const struct pd_meter_rule *rule, bool added),
                      void *context);

#endif
