/* SPDX-License-Identifier: Apache-2.0 */
/* Tagging schemes: switches push the numbers of links as VLAN tags, or write one into the DSCP. */
#ifndef PD_CODEC_TAGGING_TAGGING_H
#define PD_CODEC_TAGGING_TAGGING_H

#include "codec/codec.h"
#include "packet/tags.h"

/* What the three CherryPick schemes share: abstract rules, one table for each switch, from which
 * come the rows, the reference encoder, the proof of a decoded path and verification. A scheme
 * writes rules and rebuilds walks, and nothing else.
 *
 * Internal to src/codec/, but for tests and the `loop` application's traces. */

enum pd_tag_action { PD_TAG_NONE, PD_TAG_PUSH_VLAN, PD_TAG_SET_DSCP };

/* One abstract tagging rule: all its conditions must hold. A switch's table is ordered; the first
 * match acts, and where nothing matches the packet is left as it is. "Inside" means that the
 * address belongs to a rack of this switch's own pod. */
struct pd_rule {
    uint32_t ingress; /* index of the neighbouring switch it comes from, or PD_NONE: any port */
    bool src_inside;
    bool dst_inside;
    bool dscp_zero;
    enum pd_tag_action action;
    uint16_t value; /* VLAN ID or DSCP to write */
    /* links of the shortest path on which this rule pushes a packet's first tag; each tag that the
     * packet has already stands for two more */
    uint8_t hops;
};

#define PD_RULES_MAX(switch_neighbours) (2 * (size_t)(switch_neighbours) + 2)

struct pd_steps; /* the rules of all switches, resolved for each link (steps.h) */

/* Common head of every tagging scheme's own struct. */
struct pd_tagging {
    struct pd_codec head;
    const struct pd_tagging_ops *ops;
    uint16_t max_hops; /* longer paths are punted as soon as their tags tell; 0: at max_vlans */
    struct pd_steps *steps; /* made by pd_tagging_new */
};

/* What a tagging scheme implements: its codec's slots are those of PD_TAGGING_CODEC. */
struct pd_tagging_ops {
    struct pd_codec_ops codec;
    bool uses_dscp;     /* the DSCP belongs to the scheme and is cleared when tags are stripped */
    unsigned max_vlans; /* a packet that would need one more is punted to the controller */
    unsigned min_hops;  /* the least that "max_hops" may be: shortest paths have as many */
    /* Checks that the topology is one that the scheme can serve. On failure nothing is left. */
    int (*new)(const struct pd_topology *topology, struct pd_tagging **ret_tagging,
               struct pd_error *error);
    void (*free)(struct pd_tagging *tagging);
    /* Writes the rule table of a switch, at most PD_RULES_MAX of its neighbours; returns its
     * length. */
    size_t (*rules)(const struct pd_tagging *tagging, uint32_t sw, struct pd_rule *ret_rules);
    /* Rebuilds the walk from one ToR to a different one. The tags are well-formed and within
     * max_vlans. Need not prove anything: what it returns counts only if the rules put exactly
     * these tags on it. -PD_E_INFEASIBLE with the reason otherwise. */
    int (*rebuild)(const struct pd_tagging *tagging, uint32_t src_tor, uint32_t dst_tor,
                   const struct pd_tags *tags, struct pd_walk *ret_walk, struct pd_error *error);
};

static inline const struct pd_tagging *pd_tagging(const struct pd_codec *codec)
{
    return (const struct pd_tagging *)codec;
}

/* The slots of all tagging schemes (tagging.c, rows.c, decode.c). */
#define PD_TAGGING_CODEC                                                                           \
    .kind = PD_CODEC_KEY, .new = pd_tagging_new, .free = pd_tagging_free, .rows = pd_tagging_rows, \
    .take = pd_tagging_take, .decode = pd_tagging_decode, .reads = pd_tagging_reads,               \
    .wrap = pd_tagging_wrap
int pd_tagging_new(const struct pd_codec_ops *ops, const struct pd_topology *topology,
                   const char *options, struct pd_codec **ret_codec, struct pd_error *error);
void pd_tagging_free(struct pd_codec *codec);
int pd_tagging_rows(const struct pd_codec *codec, uint32_t sw, enum pd_depth depth,
                    struct pd_codec_rows *rows);
void pd_tagging_take(const struct pd_codec *codec, uint32_t from, uint32_t rank, uint32_t src_tor,
                     uint32_t dst_tor, struct pd_codec_packet *packet);
int pd_tagging_decode(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor,
                      uint64_t mark, struct pd_decoding *ret_decoding, struct pd_error *error);
bool pd_tagging_reads(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor,
                      uint64_t mark, const struct pd_walk *walk);

struct pd_mark pd_tagging_wrap(const struct pd_codec *codec, uint64_t mark);

/* How many tags a packet may have already where this rule pushes one; with more it is punted. */
unsigned pd_tagging_room(const struct pd_tagging *tagging, const struct pd_rule *rule);

/* The rule table of a switch, in order; the caller frees *ret_rules. 0 or -ENOMEM. */
int pd_tagging_rules(const struct pd_tagging *tagging, uint32_t sw, struct pd_rule **ret_rules,
                     size_t *ret_len);

/* What the rules of the far end do to a packet between two racks (PD_NONE: addresses of no rack)
 * that comes over the link from switch `from` to its neighbour number `rank`, both switches.
 * `dscp_set`: it carries a DSCP that is not 0. */
struct pd_tag_step {
    enum pd_tag_action action;
    uint16_t value;
    uint8_t room; /* a packet with as many tags is punted instead of pushed one more */
};
struct pd_tag_step pd_tagging_step(const struct pd_tagging *tagging, uint32_t from, uint32_t rank,
                                   uint32_t src_tor, uint32_t dst_tor, bool dscp_set);

#endif
