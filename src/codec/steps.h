/* SPDX-License-Identifier: Apache-2.0 */
/* Steps: what the rule tables do to a packet on each link, resolved once so that a step costs one
 * look-up. */
#ifndef PD_CODEC_STEPS_H
#define PD_CODEC_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "codec/codec.h"

/* Encoder, decoder and verification all execute rules through here. For each direction of each link
 * between two switches there is the outcome on ingress at its far end, for the eight cases that the
 * conditions of struct pd_rule can tell apart.
 *
 * Internal to src/codec/. Immutable once made. */

/* A path as switch indexes of the topology. */
struct pd_walk {
    uint32_t len;
    uint32_t switches[PD_PATH_MAX];
};

/* Cases: any of these bits together. */
enum { PD_STEP_SRC_INSIDE = 1, PD_STEP_DST_INSIDE = 2, PD_STEP_DSCP_SET = 4, PD_STEP_CASES = 8 };

struct pd_step {
    uint16_t outcomes[PD_STEP_CASES]; /* action << 12 | value */
};

struct pd_steps {
    uint32_t *first;       /* by switch: where the steps to its neighbours begin */
    struct pd_step *steps; /* in the order of its neighbouring switches */
    uint16_t *pods;        /* by switch, 0: none */
};

/* Executes all rule tables of the codec. Where the topology file gives a link tag, a rule must push
 * the same: -PD_E_TOPOLOGY if not. */
int pd_steps_new(const struct pd_codec *codec, struct pd_steps **ret_steps, struct pd_error *error);
void pd_steps_free(struct pd_steps *steps); /* NULL is fine */

/* A packet on its way. */
struct pd_packet_state {
    struct pd_tags tags;
    bool punted;
};

static inline unsigned pd_steps_inside(const struct pd_steps *steps, uint32_t sw, uint32_t src_tor,
                                       uint32_t dst_tor)
{
    uint16_t pod = steps->pods[sw];
    if (!pod) {
        return 0;
    }
    return (pod == steps->pods[src_tor] ? PD_STEP_SRC_INSIDE : 0) |
           (pod == steps->pods[dst_tor] ? PD_STEP_DST_INSIDE : 0);
}

/* The packet enters the switch behind neighbour `rank` of `from`; `inside` is that switch's. */
static inline void pd_steps_take(const struct pd_codec *codec, uint32_t from, uint32_t rank,
                                 unsigned inside, struct pd_packet_state *packet)
{
    const struct pd_steps *steps = codec->steps;
    unsigned which = inside | (packet->tags.dscp ? PD_STEP_DSCP_SET : 0);
    uint16_t outcome = steps->steps[steps->first[from] + rank].outcomes[which];
    uint16_t value = outcome & 0xfff;
    switch (outcome >> 12) {
    case PD_TAG_PUSH_VLAN:
        if (packet->tags.len < codec->ops->max_vlans) {
            packet->tags.vids[packet->tags.len++] = value;
        } else {
            packet->punted = true;
        }
        break;
    case PD_TAG_SET_DSCP: packet->tags.dscp = (uint8_t)value; break;
    default: break;
    }
}

/* Rebuilds a walk and proves nothing yet; *ret_walk is scratch on failure, and only its `len`
 * switches are written: decode.c. The DSCP is 0 unless the codec uses it. */
int pd_rebuild_walk(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor,
                    const struct pd_tags *tags, struct pd_walk *ret_walk, struct pd_error *error);

/* For rebuilding: adds a switch at the end; -PD_E_INFEASIBLE when the walk is full. */
static inline int pd_walk_add(struct pd_walk *walk, uint32_t sw)
{
    if (walk->len == PD_PATH_MAX) {
        return -PD_E_INFEASIBLE;
    }
    walk->switches[walk->len++] = sw;
    return 0;
}

#endif
