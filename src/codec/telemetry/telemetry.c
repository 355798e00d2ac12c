/* SPDX-License-Identifier: Apache-2.0 */
/* Codec `telemetry`: switches write their IDs on packets, and the path is what they wrote. */
#include <errno.h>
#include <stdlib.h>

#include "codec/codec.h"
#include "telemetry/hop_lists.h"

enum { TRIES = 4096 }; /* to order postcards */

/* No rule, any topology. A mark is the number of a list of hops. A way is exact when nothing is cut
 * off, each step is a link, and it begins and ends at the racks of the addresses; where the
 * topology does not have a switch or a step it is infeasible; else there are gaps. */

static void free_telemetry(struct pd_codec *codec)
{
    free(codec);
}

static int new_telemetry(const struct pd_codec_ops *ops, const struct pd_topology *topology,
                         const char *options, struct pd_codec **ret_codec, struct pd_error *error)
{
    struct pd_codec *codec = calloc(1, sizeof *codec);
    (void)options;
    if (!codec) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    *codec = (struct pd_codec){.ops = ops,
                               .topology = topology,
                               .mark_bits = UINT64_MAX,
                               .read_mark = pd_telemetry_hop_lists_read};
    *ret_codec = codec;
    return 0;
}

/* What routers write is not for the reference encoder to say: they write what they are. */
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

static uint32_t find_switch(const struct pd_topology *topology, const struct pd_hop_list *list,
                            uint32_t n)
{
    return list->kind == PD_TELEMETRY_IOAM ? pd_topology_ioam(topology, list->nodes[n])
                                           : pd_topology_switch(topology, list->nodes[n]);
}

static int add_switch(const struct pd_topology *topology, struct pd_walk *walk, uint32_t sw,
                      struct pd_error *error)
{
    uint32_t before = walk->len ? walk->switches[walk->len - 1] : PD_NONE;
    if (before != PD_NONE && sw != PD_NONE && !pd_topology_link(topology, before, sw)) {
        return pd_fail(error, -PD_E_INFEASIBLE, "there is no link %u-%u",
                       topology->switches[before].id, topology->switches[sw].id);
    }
    if (walk->len == PD_PATH_MAX) {
        return pd_fail(error, -PD_E_INFEASIBLE, "more than %d switches", PD_PATH_MAX);
    }
    walk->switches[walk->len++] = sw;
    return 0;
}

/* Between postcards others may be missing. */
static bool is_step(const struct pd_topology *topology, const struct pd_walk *walk, uint32_t sw)
{
    uint32_t before = walk->len ? walk->switches[walk->len - 1] : PD_NONE;

    return before == PD_NONE || pd_topology_link(topology, before, sw);
}

/* A gap in front, or behind, where the end is not at its rack. */
static int walk_list(const struct pd_codec *codec, const struct pd_hop_list *list, uint32_t src_tor,
                     uint32_t dst_tor, struct pd_decoding *decoding, struct pd_error *error)
{
    struct pd_walk *walk = &decoding->walk;
    bool whole = !list->cut && list->len;
    int err = 0;
    for (uint32_t n = 0; !err && n < list->len; n++) {
        uint32_t sw = list->nodes[n] ? find_switch(codec->topology, list, n) : PD_NONE;
        if (list->nodes[n] && sw == PD_NONE) {
            return pd_fail(error, -PD_E_INFEASIBLE, "there is no switch %u", list->nodes[n]);
        }
        if (!n && sw != src_tor) {
            whole = false;
            err = sw == PD_NONE ? 0 : add_switch(codec->topology, walk, PD_NONE, error);
        }
        whole = whole && sw != PD_NONE;
        if (!err && list->kind == PD_TELEMETRY_INT_XD && !is_step(codec->topology, walk, sw)) {
            err = add_switch(codec->topology, walk, PD_NONE, error);
        }
        err = err ? err : add_switch(codec->topology, walk, sw, error);
    }
    if (!err && (list->cut || !walk->len || walk->switches[walk->len - 1] != dst_tor)) {
        whole = false;
        err = add_switch(codec->topology, walk, PD_NONE, error);
    }
    decoding->state = whole ? PD_DECODING_EXACT : PD_DECODING_PARTIAL;
    return err;
}

/* ---- postcards ---- */

/* A way over all of the switches, each once, from the source's rack; the nearest in the order in
 * which they were told is tried first. Lists are short, and tries are bounded: what cannot be
 * ordered is left as it was told. */
struct order {
    const struct pd_topology *topology;
    const struct pd_hop_list *list;
    uint32_t switches[PD_TELEMETRY_HOPS_MAX]; /* of each place of the list; PD_NONE: unknown */
    uint32_t way[PD_TELEMETRY_HOPS_MAX];      /* places of the list */
    bool used[PD_TELEMETRY_HOPS_MAX];
    uint32_t last; /* switch that it has to end at */
    unsigned tries;
};

static bool go_on(struct order *order, uint32_t len)
{
    bool found = len == order->list->len;

    if (found) {
        return order->switches[order->way[len - 1]] == order->last;
    }
    for (uint32_t n = 0; n < order->list->len && order->tries && !found; n++) {
        const uint32_t before = order->switches[order->way[len - 1]], sw = order->switches[n];

        if (order->used[n] || !pd_topology_link(order->topology, before, sw)) {
            continue;
        }
        order->tries--;
        order->used[n] = true;
        order->way[len] = n;
        found = go_on(order, len + 1);
        order->used[n] = false;
    }
    return found;
}

static bool find_order(struct order *order, uint32_t src_tor)
{
    uint32_t first = PD_NONE;

    for (uint32_t n = 0; n < order->list->len; n++) {
        order->switches[n] = pd_topology_switch(order->topology, order->list->nodes[n]);
        if (order->switches[n] == PD_NONE) {
            return false;
        }
        first = order->switches[n] == src_tor ? n : first;
    }
    if (first == PD_NONE) {
        return false;
    }
    order->used[first] = true;
    order->way[0] = first;
    return go_on(order, 1);
}

static void put_right(const struct pd_topology *topology, uint32_t src_tor, uint32_t dst_tor,
                      struct pd_hop_list *list)
{
    struct order order = {.topology = topology, .list = list, .last = dst_tor, .tries = TRIES};
    const struct pd_hop_list told = *list;

    if (!list->len) {
        return;
    }
    if (find_order(&order, src_tor)) {
        for (uint32_t n = 0; n < told.len; n++) {
            list->nodes[n] = told.nodes[order.way[n]];
        }
    } else {
        list->cut = true; /* some have not come */
    }
}

static int decode(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor, uint64_t mark,
                  struct pd_decoding *ret_decoding, struct pd_error *error)
{
    struct pd_hop_list list;
    int err = pd_telemetry_hop_lists_find(mark, &list);
    ret_decoding->candidates = 0;
    ret_decoding->walk.len = 0;
    if (err == -PD_E_NOT_FOUND && src_tor == dst_tor) {
        ret_decoding->state = PD_DECODING_EXACT;
        return pd_walk_add(&ret_decoding->walk, src_tor);
    }
    if (err == -PD_E_NOT_FOUND || err == -PD_E_LIMIT) {
        return pd_fail(error, -PD_E_UNSUPPORTED,
                       err == -PD_E_LIMIT ? "there are too many different ways to keep this one"
                                          : "no switch wrote on the packet");
    }
    if (err) {
        return pd_fail(error, -PD_E_INFEASIBLE, "the mark is of no packet");
    }
    if (list.kind == PD_TELEMETRY_INT_XD) {
        put_right(codec->topology, src_tor, dst_tor, &list);
    }
    return walk_list(codec, &list, src_tor, dst_tor, ret_decoding, error);
}

const struct pd_codec_ops pd_telemetry_codec = {
    .name = "telemetry",
    .paper = "RFC 9197, RFC 9486; P4.org INT 2.1; paper 001, section II-C",
    .kind = PD_CODEC_KEY,
    .carriers = PD_CARRIER_HEADER,
    .new = new_telemetry,
    .free = free_telemetry,
    .take = take,
    .decode = decode,
};
