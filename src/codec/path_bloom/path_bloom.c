/* SPDX-License-Identifier: Apache-2.0 */
/* Path filters among the schemes: bits of switches, execution, decoding. */
#include "codec/path_bloom/path_bloom.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "codec/path_bloom/mark.h"
#include "codec/path_bloom/rows.h"
#include "codec/path_ids.h"
#include "packet/filter.h"

enum { FAR = 255, MAX_HOPS = 6 };

/* ---- bits ---- */

/* SplitMix64. */
static uint64_t mix64(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

uint32_t pd_path_bloom_mask(uint64_t path_id, const struct pd_path_bloom_options *options)
{
    uint32_t mask = 0;

    for (unsigned i = 0; i < options->hashes; i++) {
        mask |= UINT32_C(1) << mix64(64 * path_id + i) % options->bits;
    }
    return mask;
}

/* ---- execution ---- */

static uint32_t turn(const struct pd_path_bloom_options *options, uint32_t held)
{
    const uint32_t top = held >> (options->bits - 1) & 1;
    const uint32_t all = options->bits == 32 ? UINT32_MAX : (UINT32_C(1) << options->bits) - 1;

    return options->order ? (held << 1 | top) & all : held;
}

static bool begins(const struct pd_path_bloom *bloom, uint32_t sw)
{
    return bloom->options.top && pd_role_is_top(bloom->head.topology->switches[sw].role);
}

uint32_t pd_path_bloom_write(const struct pd_path_bloom *bloom, uint32_t held, uint32_t sw,
                             uint32_t dst_tor)
{
    if (sw == dst_tor) {
        return held;
    }
    return bloom->masks[sw] | (begins(bloom, sw) ? 0 : turn(&bloom->options, held));
}

static void enter(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor,
                  struct pd_codec_packet *packet)
{
    if (src_tor != dst_tor) {
        packet->mark = PD_FILTER_PRESENT | pd_path_bloom(codec)->masks[src_tor];
    }
}

static void take(const struct pd_codec *codec, uint32_t from, uint32_t rank, uint32_t src_tor,
                 uint32_t dst_tor, struct pd_codec_packet *packet)
{
    const uint32_t to = codec->topology->switches[from].neighbours[rank].node;
    (void)src_tor;
    packet->mark = PD_FILTER_PRESENT |
                   pd_path_bloom_write(pd_path_bloom(codec), (uint32_t)packet->mark, to, dst_tor);
}

/* ---- decoding ---- */

struct found {
    struct pd_decoding *decoding;
    bool (*visit)(void *context, const struct pd_walk *walk); /* NULL: the first is kept */
    void *context;
    uint32_t len;
};

static bool find(void *context, const struct pd_walk *walk)
{
    struct found *found = context;

    if (!found->len++ && found->decoding) {
        found->decoding->walk = *walk;
    }
    return found->visit ? found->visit(found->context, walk) : true;
}

/* Shortest paths first: only where none of them leaves the filter, detours are looked at. */
static int find_paths(const struct pd_path_bloom *bloom, uint32_t src_tor, uint32_t dst_tor,
                      uint32_t filter, struct found *found)
{
    const struct pd_topology *topology = bloom->head.topology;
    const uint32_t number = bloom->tor_numbers[dst_tor];
    const unsigned shortest =
        number == PD_NONE ? FAR : bloom->hops[(size_t)number * topology->switches_len + src_tor];
    int err = 0;

    if (shortest == FAR || shortest >= PD_PATH_MAX) {
        return -PD_E_INFEASIBLE;
    }
    const unsigned most = shortest > bloom->max_hops ? shortest : bloom->max_hops;
    for (unsigned hops = shortest; hops <= most && !err; hops++) {
        err = pd_path_bloom_search(bloom, src_tor, dst_tor, filter, hops, find, found);
        if (hops == shortest && found->len) {
            break;
        }
    }
    return err;
}

/* A packet without a filter stayed in its rack; or it is none that switches mark, as all but VXLAN.
 */
static int decode_none(const struct pd_path_bloom *bloom, bool same_rack, struct pd_error *error)
{
    if (same_rack) {
        return 0;
    }
    return bloom->options.carrier == PD_BLOOM_VXLAN
               ? pd_fail(error, -PD_E_UNSUPPORTED, "no VXLAN: switches write on nothing else")
               : pd_fail(error, -PD_E_INFEASIBLE, "no filter on a packet between racks");
}

static int judge(int err, uint32_t len, struct pd_decoding *decoding, struct pd_error *error)
{
    if (err == -PD_E_LIMIT) {
        decoding->state = PD_DECODING_AMBIGUOUS;
        decoding->candidates = 0;
        return 0;
    }
    if (err || !len) {
        return pd_fail(error, -PD_E_INFEASIBLE, "no path leaves this filter");
    }
    decoding->state = len == 1 ? PD_DECODING_EXACT : PD_DECODING_AMBIGUOUS;
    decoding->candidates = len == 1 ? 0 : len;
    return 0;
}

static int decode(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor, uint64_t mark,
                  struct pd_decoding *ret_decoding, struct pd_error *error)
{
    const struct pd_path_bloom *bloom = pd_path_bloom(codec);
    struct found found = {.decoding = ret_decoding};

    ret_decoding->walk = (struct pd_walk){.len = 1, .switches = {src_tor}};
    ret_decoding->state = PD_DECODING_EXACT;
    ret_decoding->candidates = 0;
    if (!mark) {
        return decode_none(bloom, src_tor == dst_tor, error);
    }
    if (src_tor == dst_tor && mark == PD_FILTER_PRESENT &&
        bloom->options.carrier == PD_BLOOM_VXLAN) {
        return 0; /* the fields are always there */
    }
    if (src_tor == dst_tor) {
        return pd_fail(error, -PD_E_INFEASIBLE, "a filter on a packet that stays in one rack");
    }
    if (mark & PD_FILTER_MALFORMED) {
        return pd_fail(error, -PD_E_INFEASIBLE, "more or fewer tags than a filter has");
    }
    const int err = find_paths(bloom, src_tor, dst_tor, (uint32_t)mark, &found);
    return judge(err, found.len, ret_decoding, error);
}

static int each(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor, uint64_t mark,
                bool (*visit)(void *context, const struct pd_walk *walk), void *context)
{
    struct found found = {.visit = visit, .context = context};

    if (src_tor == dst_tor || !(mark & PD_FILTER_PRESENT) || mark & PD_FILTER_MALFORMED) {
        return 0;
    }
    return find_paths(pd_path_bloom(codec), src_tor, dst_tor, (uint32_t)mark, &found);
}

/* The paper's test asks of the other path's switches, all but the last: are their bits set? */
static bool passes(const struct pd_codec *codec, uint64_t other, uint64_t mark)
{
    (void)codec;
    return !((uint32_t)other & ~(uint32_t)mark);
}

static struct pd_mark wrap(const struct pd_codec *codec, uint64_t mark)
{
    (void)codec;
    return pd_path_bloom_mark(mark);
}

/* ---- life ---- */

static void free_bloom(struct pd_codec *codec)
{
    struct pd_path_bloom *bloom = (struct pd_path_bloom *)codec;

    free(bloom->masks);
    free(bloom->hops);
    free(bloom->tor_numbers);
    free(bloom);
}

/* Breadth first from a ToR. */
static void measure(const struct pd_topology *topology, uint32_t tor, uint8_t *hops,
                    uint32_t *queue)
{
    uint32_t head = 0, tail = 0;

    memset(hops, FAR, topology->switches_len);
    hops[tor] = 0;
    queue[tail++] = tor;
    while (head < tail) {
        const uint32_t at = queue[head++];
        const struct pd_switch *entry = &topology->switches[at];

        for (uint32_t i = 0; i < entry->switch_neighbours; i++) {
            const uint32_t to = entry->neighbours[i].node;
            if (hops[to] == FAR && hops[at] < FAR - 1) {
                hops[to] = (uint8_t)(hops[at] + 1);
                queue[tail++] = to;
            }
        }
    }
}

static uint32_t number_tors(struct pd_path_bloom *bloom)
{
    const struct pd_topology *topology = bloom->head.topology;
    uint32_t len = 0;

    for (uint32_t i = 0; i < topology->switches_len; i++) {
        const bool tor = pd_topology_switch_has_rack(&topology->switches[i]);
        bloom->tor_numbers[i] = tor ? len++ : PD_NONE;
    }
    return len;
}

static int fill(struct pd_path_bloom *bloom)
{
    const struct pd_topology *topology = bloom->head.topology;
    const size_t len = topology->switches_len;
    uint32_t *queue = malloc((len + 1) * sizeof *queue);

    bloom->masks = calloc(len + 1, sizeof *bloom->masks);
    bloom->tor_numbers = calloc(len + 1, sizeof *bloom->tor_numbers);
    const uint32_t tors = bloom->tor_numbers ? number_tors(bloom) : 0;
    bloom->hops = malloc(tors * len + 1);
    if (!queue || !bloom->masks || !bloom->tor_numbers || !bloom->hops) {
        free(queue);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < len; i++) {
        bloom->masks[i] = pd_path_bloom_mask(topology->switches[i].path_id, &bloom->options);
        if (bloom->tor_numbers[i] != PD_NONE) {
            measure(topology, i, bloom->hops + bloom->tor_numbers[i] * len, queue);
        }
    }
    free(queue);
    return 0;
}

static int new_bloom(const struct pd_codec_ops *ops, const struct pd_topology *topology,
                     const char *options, struct pd_codec **ret_codec, struct pd_error *error)
{
    static pd_packet_mark_reader *const readers[] = {[PD_BLOOM_VXLAN] = pd_packet_filter_read_vxlan,
                                                     [PD_BLOOM_VLAN] = pd_packet_filter_read_vlan,
                                                     [PD_BLOOM_VLAN2] =
                                                         pd_packet_filter_read_vlan2};
    const struct pd_codec_choice *choice = pd_topology_codec(topology, ops->name);
    struct pd_path_bloom *bloom = calloc(1, sizeof *bloom);

    if (!bloom) {
        return pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    bloom->head = (struct pd_codec){.ops = ops, .topology = topology, .mark_bits = PD_FILTER_BITS};
    bloom->max_hops = choice && choice->max_hops ? choice->max_hops : MAX_HOPS;
    int err = pd_path_bloom_options_read(options, &bloom->options, error);
    if (!err && fill(bloom)) {
        err = pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    if (err) {
        free_bloom(&bloom->head);
        return err;
    }
    bloom->head.carriers =
        bloom->options.carrier == PD_BLOOM_VXLAN ? PD_CARRIER_VXLAN : PD_CARRIER_VLAN;
    bloom->head.read_mark = readers[bloom->options.carrier];
    *ret_codec = &bloom->head;
    return 0;
}

const struct pd_codec_ops pd_path_bloom_codec = {
    .name = PD_CODEC_PATH_FILTERS,
    .paper = "Canary, paper 004, section III-B",
    .kind = PD_CODEC_KEY,
    .tells = PD_VERIFY_SHORTEST,
    .carriers = PD_CARRIER_VLAN | PD_CARRIER_VXLAN,
    .new = new_bloom,
    .free = free_bloom,
    .rows = pd_path_bloom_rows,
    .enter = enter,
    .take = take,
    .decode = decode,
    .each = each,
    .passes = passes,
    .wrap = wrap,
};
