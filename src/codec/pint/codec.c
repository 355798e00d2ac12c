/* SPDX-License-Identifier: Apache-2.0 */
/* PINT among the schemes: the mark of a record is the number of the path that its digests told. */
#include <errno.h>
#include <stdlib.h>

#include "codec/pint/codec.h"
#include "codec/pint/numbers.h"

static int new_codec(const struct pd_codec_ops *ops, const struct pd_topology *topology,
                     const char *options, struct pd_codec **ret_codec, struct pd_error *error)
{
    struct pd_codec *codec = calloc(1, sizeof *codec);

    (void)options;
    if (!codec) {
        return pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    *codec = (struct pd_codec){.ops = ops, .topology = topology, .mark_bits = UINT64_MAX};
    *ret_codec = codec;
    return 0;
}

static void free_codec(struct pd_codec *codec)
{
    free(codec);
}

/* A digest is no mark: what switches write stands in formulas.h. */
static void take(const struct pd_codec *codec, uint32_t from, uint32_t rank, uint32_t src_tor,
                 uint32_t dst_tor, struct pd_codec_packet *packet)
{
    (void)codec;
    (void)from;
    (void)rank;
    (void)src_tor;
    (void)dst_tor;
    (void)packet;
}

static int walk_of(const struct pd_topology *topology, const struct pd_pint_path *path,
                   struct pd_walk *ret_walk)
{
    if (path->len > PD_PATH_MAX) {
        return -PD_E_INFEASIBLE;
    }
    ret_walk->len = path->len;
    for (uint32_t p = 0; p < path->len; p++) {
        ret_walk->switches[p] = pd_topology_switch(topology, path->switches[p]);
        if (ret_walk->switches[p] == PD_NONE ||
            (p && !pd_topology_link(topology, ret_walk->switches[p - 1], ret_walk->switches[p]))) {
            return -PD_E_INFEASIBLE;
        }
    }
    return 0;
}

/* Mark 0: nothing is known yet. */
static int decode(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor, uint64_t mark,
                  struct pd_decoding *ret_decoding, struct pd_error *error)
{
    struct pd_pint_path path;

    if (mark == 0) {
        return pd_fail(error, -PD_E_UNSUPPORTED, "the path is not decided yet");
    }
    if (!pd_pint_number_path(mark, &path) || walk_of(codec->topology, &path, &ret_decoding->walk) ||
        ret_decoding->walk.switches[0] != src_tor ||
        ret_decoding->walk.switches[path.len - 1] != dst_tor) {
        return pd_fail(error, -PD_E_INFEASIBLE, "the walk taken is none of the topology");
    }
    ret_decoding->state = PD_DECODING_EXACT;
    ret_decoding->candidates = 0;
    return 0;
}

const struct pd_codec_ops pd_pint_codec = {
    .name = "pint",
    .paper = "PINT, SIGCOMM 2020",
    .kind = PD_CODEC_KEY,
    .tells = PD_VERIFY_DIGESTS,
    .carriers = PD_CARRIER_HEADER,
    .yields_tpid = PD_TPID_SERVICE,
    .new = new_codec,
    .free = free_codec,
    .take = take,
    .decode = decode,
};
