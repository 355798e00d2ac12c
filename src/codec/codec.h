/* SPDX-License-Identifier: Apache-2.0 */
/* A codec: a way to put paths on packets (which switch writes what) and to read them back. */
#ifndef PD_CODEC_CODEC_H
#define PD_CODEC_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/flow_id.h"
#include "base/path.h"
#include "topology/topology.h"

/* From a topology a codec makes one table of abstract tagging rules per switch. That table is
 * written out as OpenFlow, loaded into test fabrics, executed by the reference encoder and verified
 * exhaustively; nothing else knows what a switch writes. Each codec lives in a folder of its own
 * and is listed in src/codec/registry.c.
 *
 *     struct pd_codec *codec;
 *     struct pd_path path;
 *     pd_codec_new(topology, &codec, &error);
 *     pd_codec_decode(codec, src_tor, dst_tor, &tags, &path, &error);
 *     pd_codec_free(codec);
 *
 * Thread safety: a codec is immutable after pd_codec_new; a decoder (with its cache) belongs to one
 * thread. */

#define PD_CODEC_TAGS_MAX 4 /* VLAN tags that a rule-abiding or broken network may deliver */

/* What a packet carries: the decoder's input. */
struct pd_tags {
    uint16_t vids[PD_CODEC_TAGS_MAX]; /* in the order pushed (innermost first); unused ones 0 */
    uint8_t len;
    uint8_t dscp; /* 0 unless the codec uses it */
};

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
};

struct pd_codec;
struct pd_steps; /* the rules of all switches, resolved for each link (steps.h) */
struct pd_walk;  /* a path as switch indexes (steps.h) */

/* What a codec implements. Every slot but `new` is called with a codec made by its own `new`. */
struct pd_codec_ops {
    const char *name;   /* as in the topology file */
    const char *paper;  /* where the scheme is described */
    bool uses_dscp;     /* the DSCP belongs to the codec and is cleared when tags are stripped */
    unsigned max_vlans; /* a packet that would need one more is punted to the controller */
    /* Checks that the topology is one that the codec can serve. On failure nothing is left. */
    int (*new)(const struct pd_topology *topology, struct pd_codec **ret_codec,
               struct pd_error *error);
    void (*free)(struct pd_codec *codec);
    /* Writes the rule table of a switch, at most PD_RULES_MAX of its neighbours; returns its
     * length. */
    size_t (*rules)(const struct pd_codec *codec, uint32_t sw, struct pd_rule *ret_rules);
    /* Rebuilds the walk from one ToR to a different one. `tags` is well-formed and within
     * max_vlans. Need not prove anything: what it returns counts only if the rules put exactly
     * these tags on it. -PD_E_INFEASIBLE with the reason otherwise. */
    int (*rebuild)(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor,
                   const struct pd_tags *tags, struct pd_walk *ret_walk, struct pd_error *error);
};

#define PD_RULES_MAX(switch_neighbours) (2 * (size_t)(switch_neighbours) + 2)

/* Common head of every codec's own struct. */
struct pd_codec {
    const struct pd_codec_ops *ops;
    const struct pd_topology *topology; /* outlives the codec */
    struct pd_steps *steps;             /* made by pd_codec_new */
};

/* Codec by the topology's "codec" name. -PD_E_UNSUPPORTED when none has it (or the topology names
 * none), -PD_E_TOPOLOGY when it cannot serve this one, -ENOMEM. */
int pd_codec_new(const struct pd_topology *topology, struct pd_codec **ret_codec,
                 struct pd_error *error);
void pd_codec_free(struct pd_codec *codec);          /* NULL is fine */
extern const struct pd_codec_ops *const pd_codecs[]; /* NULL-terminated */

/* The rule table of a switch, in order; the caller frees *ret_rules. 0 or -ENOMEM. */
int pd_codec_rules(const struct pd_codec *codec, uint32_t sw, struct pd_rule **ret_rules,
                   size_t *ret_len);

/* What the rules of the far end do to a packet between two racks (PD_NONE: addresses of no rack)
 * that comes over the link from switch `from` to its neighbour number `rank`, both switches.
 * `dscp_set`: it carries a DSCP that is not 0. */
struct pd_tagging {
    enum pd_tag_action action;
    uint16_t value;
};
struct pd_tagging pd_codec_tagging(const struct pd_codec *codec, uint32_t from, uint32_t rank,
                                   uint32_t src_tor, uint32_t dst_tor, bool dscp_set);

/* ---- reference encoder (encode.c): executes the rule tables along a path, as the switches would
 */

struct pd_encoding {
    struct pd_tags tags; /* as they arrive; of a punted packet, as it went to the controller */
    bool punted;         /* a rule wanted to push beyond max_vlans */
    uint32_t punted_at;  /* index in the path where it did */
};

/* `path` holds switch IDs; it must start and end at ToRs and follow links of the topology
 * (-PD_E_INFEASIBLE if not). Revisiting switches is allowed (loops). */
int pd_codec_encode(const struct pd_codec *codec, const struct pd_path *path,
                    struct pd_encoding *ret_encoding, struct pd_error *error);

/* ---- decode (decode.c) */

/* Rebuilds the path, as switch IDs, from source ToR to destination ToR (indexes of the topology).
 * Never guesses: the path is simple and the rules put exactly these tags on it, or the answer is
 * -PD_E_INFEASIBLE with the reason. The DSCP is looked at only if the codec uses it. `error` may be
 * NULL; without it no words are made (fast). */
int pd_codec_decode(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor,
                    const struct pd_tags *tags, struct pd_path *ret_path, struct pd_error *error);

/* ---- decoder with trajectory cache (decoder.c): paper, section 3.2 */

struct pd_decoder;

/* The cache is keyed by (source ToR, destination ToR, tags) and bounded: `cache_entries` (rounded
 * up to a power of 2, at least 4). 0 or -ENOMEM. */
int pd_decoder_new(const struct pd_codec *codec, size_t cache_entries,
                   struct pd_decoder **ret_decoder);
void pd_decoder_free(struct pd_decoder *decoder); /* NULL is fine */

/* Path of a flow's packets. On success *ret_path points into the decoder, valid until its next
 * call. An infeasible trajectory (cached as well): -PD_E_INFEASIBLE; an address of no rack:
 * -PD_E_UNKNOWN_HOST. */
int pd_decoder_path(struct pd_decoder *decoder, const struct pd_flow_id *flow,
                    const struct pd_tags *tags, const struct pd_path **ret_path);

struct pd_decoder_counters {
    uint64_t hits;
    uint64_t misses;
    uint64_t infeasible;    /* answers, cached or not */
    uint64_t unknown_hosts; /* likewise */
};
const struct pd_decoder_counters *pd_decoder_counters(const struct pd_decoder *decoder);

/* ---- exhaustive verification (verify.c) */

struct pd_verification {
    /* simple paths between two different ToRs, punted ones too; a hop is a link */
    uint64_t by_hops[PD_PATH_MAX];
    uint64_t paths;       /* their sum */
    uint64_t ambiguous;   /* not punted, same ends and tags as an earlier path */
    uint64_t undecodable; /* not punted, decode fails or gives another path */
    uint64_t punted;
};

/* Walks every simple path of at most `max_hops` (1 to PD_PATH_MAX - 1) links between every two
 * different ToRs, on all cores. `progress` (may be NULL) is called from the calling thread with the
 * share done, 0..1. 0, -ENOMEM, -PD_E_VALUE. */
int pd_codec_verify(const struct pd_codec *codec, unsigned max_hops,
                    void (*progress)(void *context, double share), void *context,
                    struct pd_verification *ret_verification);

/* ---- OpenFlow 1.3 text for ovs-ofctl (openflow.c) */

enum pd_depth { PD_DEPTH_PCP, PD_DEPTH_PLAIN }; /* tag depth kept in the outer PCP, or not */

/* Prints one flow a line for table 0, ending in goto_table:1 (docs/formats/tagging-rules.md). 0,
 * -ENOMEM or -errno of the write. */
int pd_codec_openflow(const struct pd_codec *codec, uint32_t sw, enum pd_depth depth, FILE *out);

#endif
