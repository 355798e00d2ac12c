/* SPDX-License-Identifier: Apache-2.0 */
/* Steps: what the rule tables do to a packet on each link, resolved once so that a step costs one
 * look-up. */
#ifndef PD_CODEC_TAGGING_STEPS_H
#define PD_CODEC_TAGGING_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "codec/tagging/tagging.h"

/* Encoder, decoder and verification all execute rules through here. For each direction of each link
 * between two switches there is the outcome on ingress at its far end, for the eight cases that the
 * conditions of struct pd_rule can tell apart.
 *
 * Internal to src/codec/tagging/. Immutable once made. */

/* Cases: any of these bits together. */
enum { PD_STEP_SRC_INSIDE = 1, PD_STEP_DST_INSIDE = 2, PD_STEP_DSCP_SET = 4, PD_STEP_CASES = 8 };

struct pd_step {
    uint16_t outcomes[PD_STEP_CASES]; /* room for tags << 14 | action << 12 | value */
};

struct pd_steps {
    struct pd_step *steps; /* by directed link (topology/links.h); of parallel ones, the first */
    uint16_t *pods;        /* by switch, 0: none */
    unsigned least_room;   /* for tags, of all rules that push */
};

/* Executes all rule tables of the scheme. Where the topology file gives a link tag, a rule must
 * push the same: -PD_E_TOPOLOGY if not. */
int pd_tagging_steps_new(const struct pd_tagging *tagging, struct pd_steps **ret_steps,
                         struct pd_error *error);
void pd_tagging_steps_free(struct pd_steps *steps); /* NULL is fine */

static inline unsigned pd_tagging_steps_inside(const struct pd_steps *steps, uint32_t sw,
                                               uint32_t src_tor, uint32_t dst_tor)
{
    uint16_t pod = steps->pods[sw];
    if (!pod) {
        return 0;
    }
    return (pod == steps->pods[src_tor] ? PD_STEP_SRC_INSIDE : 0) |
           (pod == steps->pods[dst_tor] ? PD_STEP_DST_INSIDE : 0);
}

/* The packet enters the switch at the end of this directed link; `inside` is that switch's. */
static inline void pd_tagging_steps_take(const struct pd_tagging *tagging, uint32_t link,
                                         unsigned inside, struct pd_codec_packet *packet)
{
    const struct pd_steps *steps = tagging->steps;
    unsigned which = inside | (packet->mark & PD_TAGS_DSCP_MASK ? PD_STEP_DSCP_SET : 0);
    uint16_t outcome = steps->steps[link].outcomes[which];
    uint16_t value = outcome & 0xfff;
    switch (outcome >> 12 & 3) {
    case PD_TAG_PUSH_VLAN:
        if (pd_tags_len(packet->mark) < (unsigned)outcome >> 14) {
            packet->mark = pd_tags_push(packet->mark, value);
        } else {
            packet->punted = true;
        }
        break;
    case PD_TAG_SET_DSCP: packet->mark = pd_tags_set_dscp(packet->mark, (uint8_t)value); break;
    default: break;
    }
}

#endif
