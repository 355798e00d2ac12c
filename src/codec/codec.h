/* SPDX-License-Identifier: Apache-2.0 */
/* A codec: a scheme that puts paths on packets (which switch writes what) and reads them back, set
 * up for one topology. */
#ifndef PD_CODEC_CODEC_H
#define PD_CODEC_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/mark.h"
#include "base/path.h"
#include "codec/rows.h"
#include "packet/packet.h"
#include "topology/topology.h"

/* From a topology a scheme makes one table of entries per switch (rows.h). Writers print these
 * entries as OpenFlow or load them into switches; the reference encoder and verification execute
 * the same rules: nothing else knows what a switch writes. What is left on a packet is its *mark*,
 * a number of at most 64 bits that only the scheme understands. Schemes live in folders of their
 * own and are listed in registry.c.
 *
 *     pd_codec_new(topology, &codec, &error);
 *     pd_codec_encode(codec, &path, &packet, &error);
 *     pd_codec_decode(codec, src_tor, dst_tor, packet.mark, &path, &error);
 *     pd_codec_free(codec);
 *
 * Thread safety: a codec is immutable after pd_codec_new. */

struct pd_codec;
struct pd_walk;

/* What becomes of a packet's mark where it is received. */
enum pd_codec_kind {
    PD_CODEC_KEY,   /* part of a trajectory record's key: one mark tells the path */
    PD_CODEC_SAMPLE /* an observation of one packet: only many of them tell the path */
};

/* Where schemes write; two of them on one topology must not share one. */
enum pd_carrier {
    PD_CARRIER_VLAN = 1,  /* VLAN tags that are pushed */
    PD_CARRIER_DSCP = 2,  /* the DSCP, which is cleared when marks are stripped */
    PD_CARRIER_VXLAN = 4, /* reserved fields of the VXLAN header */
    PD_CARRIER_HEADER = 8 /* a header or trailer of the scheme's own */
};

/* Which paths a scheme has to tell apart: all; or those that no other one between the same ends
 * beats, from each other and from detours that would be read as one of them; or what many digests
 * tell together, which trials of PINT's planner try. */
enum pd_verify_scope { PD_VERIFY_ALL, PD_VERIFY_SHORTEST, PD_VERIFY_DIGESTS };

/* A path as switch indexes of the topology. */
struct pd_walk {
    uint32_t len;
    uint32_t switches[PD_PATH_MAX];
};

/* What is known of a packet's way. */
enum pd_decoding_state {
    PD_DECODING_EXACT,     /* the walk was taken */
    PD_DECODING_PARTIAL,   /* the walk has gaps, PD_NONE each */
    PD_DECODING_UNDECIDED, /* so far one of several */
    PD_DECODING_AMBIGUOUS  /* several walks leave this mark; the walk is one of them */
};
struct pd_decoding {
    enum pd_decoding_state state;
    uint32_t candidates; /* where undecided or ambiguous; 0: not known */
    struct pd_walk walk;
};

/* A packet on its way, as it is taken along by encoder, proof and verification. */
struct pd_codec_packet {
    uint64_t mark;      /* the scheme's own form: equal numbers are equal marks */
    uint32_t packet_id; /* of samples: decides who writes; else 0 */
    uint16_t hops;      /* links behind it */
    bool punted;        /* a switch sent it to the controller instead of writing once more */
};

/* One sample: what a packet of a flow carried. */
struct pd_codec_sample {
    uint64_t mark;
    uint64_t time_ns;
    uint32_t packet_id;
    uint16_t hops;
};

/* What a scheme implements. Every slot but `new` is called with a codec made by its own `new`;
 * slots that may be NULL say so. */
struct pd_codec_ops {
    const char *name;  /* as in the topology file */
    const char *paper; /* where the scheme is described */
    enum pd_codec_kind kind;
    enum pd_verify_scope tells; /* which paths its marks promise to tell apart */
    unsigned carriers;          /* enum pd_carrier, of all its variants */
    /* A key only where no other codec has one; beside others it is observed, and its tags of this
     * TPID are no link tags. 0: never. */
    uint16_t yields_tpid;

    /* Checks that the topology is one that the scheme can serve and sets a codec up; `options` is
     * the scheme's member of "codec_options" as JSON text, or NULL. -PD_E_TOPOLOGY, -PD_E_VALUE
     * or -ENOMEM with the reason; nothing is left then. */
    int (*new)(const struct pd_codec_ops *ops, const struct pd_topology *topology,
               const char *options, struct pd_codec **ret_codec, struct pd_error *error);
    void (*free)(struct pd_codec *codec);

    /* Adds the entries of a switch, in the order of their priority; `depth` says how switches know
     * how much room is left on a packet. NULL: switches need none. 0 or -ENOMEM. */
    int (*rows)(const struct pd_codec *codec, uint32_t sw, enum pd_depth depth,
                struct pd_codec_rows *rows);

    /* Execution. `enter` is what the first switch writes on a packet from its host (NULL: nothing),
     * `take` what the switch behind neighbour number `rank` of `from` writes. */
    void (*enter)(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor,
                  struct pd_codec_packet *packet);
    void (*take)(const struct pd_codec *codec, uint32_t from, uint32_t rank, uint32_t src_tor,
                 uint32_t dst_tor, struct pd_codec_packet *packet);

    /* Keys: what a mark says between two racks, both in the topology. It is exact only if these
     * rules, executed along the walk, put exactly this mark on the packet (pd_codec_prove). 0;
     * -PD_E_INFEASIBLE with the reason. `error` may be NULL: no words are made then. *ret_decoding
     * is scratch on failure. */
    int (*decode)(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor, uint64_t mark,
                  struct pd_decoding *ret_decoding, struct pd_error *error);

    /* Keys, for verification: whether the mark, which `walk` is known to leave, is read as this
     * walk. NULL: it is, unless another path leaves it as well. */
    bool (*reads)(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor, uint64_t mark,
                  const struct pd_walk *walk);

    /* Keys: visits the walks that leave this mark, as far as decoding looks, until `visit` returns
     * false. NULL: an ambiguous mark is all that is known. 0 or a negative error. */
    int (*each)(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor, uint64_t mark,
                bool (*visit)(void *context, const struct pd_walk *walk), void *context);

    /* Keys, for verification: whether all that the path of `other` wrote is in `mark`, too, by
     * which the scheme's paper would take it for a candidate. NULL: the paper compares marks. */
    bool (*passes)(const struct pd_codec *codec, uint64_t other, uint64_t mark);

    /* Keys: the mark as others keep it (base/mark.h). NULL: nobody keeps it. */
    struct pd_mark (*wrap)(const struct pd_codec *codec, uint64_t mark);

    /* Samples: reads what a packet carries, all but the time, off a frame that was received; false:
     * nothing. Called for each frame of the agent's own intakes. NULL: they hear none of them. */
    bool (*sample)(const struct pd_codec *codec, const uint8_t *frame, size_t captured,
                   const struct pd_packet *packet, struct pd_codec_sample *ret_sample);
    uint8_t scheme; /* where there is `sample`: the number of these marks (base/mark.h) */

    /* Samples: folds one more into a state of `state_bytes` bytes, zeroed before the first, and
     * says what is known by now; returns as `decode` does. */
    size_t state_bytes;
    void (*fold)(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor,
                 const struct pd_codec_sample *sample, void *state);
    int (*decide)(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor,
                  const void *state, struct pd_decoding *ret_decoding, struct pd_error *error);
};

/* Common head of every codec's own struct. */
struct pd_codec {
    const struct pd_codec_ops *ops;
    const struct pd_topology *topology; /* outlives the codec */
    unsigned carriers;                  /* enum pd_carrier; 0: those of the scheme */
    uint64_t mark_bits;                 /* of a received mark that are the scheme's */
    pd_packet_mark_reader *read_mark;   /* how it stands on a frame; NULL: as link tags */
};

/* Where this one writes. */
static inline unsigned pd_codec_carriers(const struct pd_codec *codec)
{
    return codec->carriers ? codec->carriers : codec->ops->carriers;
}

/* The first codec with keys that the topology names; set.h makes all of them. -PD_E_UNSUPPORTED
 * when no scheme has its name (or the topology names none), -PD_E_TOPOLOGY when it cannot serve
 * this one, -ENOMEM.
 */
int pd_codec_new(const struct pd_topology *topology, struct pd_codec **ret_codec,
                 struct pd_error *error);
/* Name of the first codec with keys that the topology names, else of its first one; "": none. */
const char *pd_codec_key_name(const struct pd_topology *topology);
/* By name, with these options (JSON text; NULL: none). */
int pd_codec_new_with(const struct pd_topology *topology, const char *name, const char *options,
                      struct pd_codec **ret_codec, struct pd_error *error);
/* By name, with the topology's options for it, if there are some. */
int pd_codec_new_named(const struct pd_topology *topology, const char *name,
                       struct pd_codec **ret_codec, struct pd_error *error);
/* Stands in where a topology names no codec: traffic between racks has no known path (decoding
 * returns -PD_E_UNSUPPORTED). 0 or -ENOMEM. */
int pd_codec_none(const struct pd_topology *topology, struct pd_codec **ret_codec);
void pd_codec_free(struct pd_codec *codec);          /* NULL is fine */
extern const struct pd_codec_ops *const pd_codecs[]; /* NULL-terminated */

/* The entries of a switch; the caller frees them with pd_codec_rows_done. 0 or -ENOMEM. */
int pd_codec_rows_make(const struct pd_codec *codec, uint32_t sw, enum pd_depth depth,
                       struct pd_codec_rows *ret_rows);

/* ---- reference encoder (encode.c): executes the rules along a path, as the switches would */

struct pd_encoding {
    uint64_t mark;      /* as it arrives; of a punted packet, as it went to the controller */
    bool punted;        /* a rule wanted to write more than there is room for */
    uint32_t punted_at; /* index in the path where it did */
    bool dropped;       /* at its first switch, since its host had put tags on it */
};

/* `path` holds switch IDs; it must start and end at ToRs and follow links of the topology
 * (-PD_E_INFEASIBLE if not). Revisiting switches is allowed (loops). */
int pd_codec_encode(const struct pd_codec *codec, const struct pd_path *path,
                    struct pd_encoding *ret_encoding, struct pd_error *error);
/* The same for a packet on which its host has put link tags and a DSCP of its own (packet/tags.h):
 * the edge of the first switch comes first. Also -ENOMEM. */
int pd_codec_encode_own(const struct pd_codec *codec, const struct pd_path *path, uint64_t own,
                        struct pd_encoding *ret_encoding, struct pd_error *error);

/* ---- decode (decode.c) */

/* Rebuilds the path, as switch IDs, from source ToR to destination ToR (indexes of the topology).
 * Never guesses: the path is simple and the rules put exactly this mark on it, or the answer is
 * -PD_E_INFEASIBLE with the reason; -PD_E_AMBIGUOUS when several paths do. `error` may be NULL;
 * without it no words are made (fast). */
int pd_codec_decode(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor, uint64_t mark,
                    struct pd_path *ret_path, struct pd_error *error);

/* Takes a packet along the walk: it must be a simple path of links and come out with this mark. For
 * schemes. 0 or -PD_E_INFEASIBLE. */
int pd_codec_prove(const struct pd_codec *codec, const struct pd_walk *walk, uint64_t mark,
                   struct pd_error *error);

/* For rebuilding: adds a switch at the end; -PD_E_INFEASIBLE when the walk is full, or where the
 * shape has none (PD_NONE). */
static inline int pd_walk_add(struct pd_walk *walk, uint32_t sw)
{
    if (walk->len == PD_PATH_MAX || sw == PD_NONE) {
        return -PD_E_INFEASIBLE;
    }
    walk->switches[walk->len++] = sw;
    return 0;
}

#endif
