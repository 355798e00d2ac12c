/* SPDX-License-Identifier: Apache-2.0 */
/* Decoder with trajectory cache: most packets of a data centre carry few different trajectories. */
#include "codec/decoder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* Open addressing with a bounded window: an answer lies in one of the WINDOW slots from its hash
 * on, a slot is one cache line with key and path together, so that a hit mostly costs one line. A
 * miss takes the first free slot of its window, or else replaces one of them in turn (a counter
 * that all windows share): the cache never grows and needs no sweep; what is in use comes back with
 * its next miss. Slots never become free again, so that a search may end at the first free one. */

#define WINDOW        8
#define SLOT_SWITCHES 11 /* longer paths are decoded each time */

/* A rack is never PD_NONE here, so that 0 is not the complement of any pair of racks. */
struct key {
    uint64_t tors; /* complement of source << 32 | destination; 0: free slot */
    uint64_t mark;
};

struct slot {
    struct key key;
    int16_t result;
    uint16_t len;
    uint32_t switches[SLOT_SWITCHES];
};
_Static_assert(sizeof(struct slot) == 64, "one cache line");

struct pd_decoder {
    const struct pd_codec *codec;
    struct pd_decoder_counters counters;
    size_t mask;
    void *memory;        /* holds the slots; zeroed pages that are touched only as answers come */
    struct slot *slots;  /* WINDOW - 1 more than the mask says, so that no window wraps around */
    unsigned next;       /* to replace */
    struct pd_path path; /* the answer of the last call; zero behind its switches */
};

/* The first cache line that begins in `memory` or behind it. */
static struct slot *align(void *memory)
{
    size_t over = (uintptr_t)memory % sizeof(struct slot);
    return (struct slot *)((char *)memory + (over ? sizeof(struct slot) - over : 0));
}

int pd_decoder_new(const struct pd_codec *codec, size_t cache_entries,
                   struct pd_decoder **ret_decoder)
{
    size_t room = 4;
    if (cache_entries > SIZE_MAX / 256) {
        return -ENOMEM;
    }
    while (room < cache_entries) {
        room *= 2;
    }
    struct pd_decoder *decoder = calloc(1, sizeof *decoder);
    if (!decoder) {
        return -ENOMEM;
    }
    decoder->codec = codec;
    decoder->mask = room - 1;
    decoder->memory = calloc(room + WINDOW, sizeof *decoder->slots);
    if (!decoder->memory) {
        free(decoder);
        return -ENOMEM;
    }
    decoder->slots = align(decoder->memory);
    *ret_decoder = decoder;
    return 0;
}

void pd_decoder_free(struct pd_decoder *decoder)
{
    if (!decoder) {
        return;
    }
    free(decoder->memory);
    free(decoder);
}

/* Makes the slot's path the answer. Copies all of it: a loop as long as the path would be
 * mispredicted. */
static void unpack(struct pd_decoder *decoder, const struct slot *slot)
{
    if (decoder->path.len > SLOT_SWITCHES) {
        memset(decoder->path.switches, 0, sizeof decoder->path.switches);
    }
    memcpy(decoder->path.switches, slot->switches, sizeof slot->switches);
    decoder->path.len = slot->len;
}

/* Decodes, and keeps the answer in `slot`. An answer that is cut short would be wrong: it is not
 * kept. */
static int decode_into(struct pd_decoder *decoder, struct slot *slot, struct key key)
{
    struct pd_path path;
    int result = pd_codec_decode(decoder->codec, (uint32_t)(~key.tors >> 32), (uint32_t)~key.tors,
                                 key.mark, &path, NULL);
    if (!result) {
        decoder->path = path;
    }
    if (!result && path.len > SLOT_SWITCHES) {
        return 0;
    }
    *slot = (struct slot){.key = key, .result = (int16_t)result, .len = result ? 0 : path.len};
    if (!result) {
        memcpy(slot->switches, path.switches, path.len * sizeof *path.switches);
    }
    return result;
}

/* The answer for a key is in decoder->path when this returns 0. */
static int look_up(struct pd_decoder *decoder, struct key key)
{
    uint64_t hash = pd_hash_mix(key.tors ^ key.mark * UINT64_C(0x9e3779b97f4a7c15));
    struct slot *window = &decoder->slots[hash & decoder->mask];
    unsigned at = 0;
    for (; at < WINDOW && window[at].key.tors; at++) {
        if (window[at].key.tors != key.tors || window[at].key.mark != key.mark) {
            continue;
        }
        decoder->counters.hits++;
        if (!window[at].result) {
            unpack(decoder, &window[at]);
        }
        return window[at].result;
    }
    decoder->counters.misses++;
    return decode_into(decoder, &window[at < WINDOW ? at : decoder->next++ % WINDOW], key);
}

int pd_decoder_path(struct pd_decoder *decoder, const struct pd_flow_id *flow, uint64_t mark,
                    const struct pd_path **ret_path)
{
    const struct pd_topology *topology = decoder->codec->topology;
    uint32_t src_tor = pd_topology_tor_of(topology, &flow->src, flow->ip_version);
    uint32_t dst_tor = pd_topology_tor_of(topology, &flow->dst, flow->ip_version);
    if (src_tor == PD_NONE || dst_tor == PD_NONE) {
        decoder->counters.unknown_hosts++;
        return -PD_E_UNKNOWN_HOST;
    }
    struct key key = {.tors = ~((uint64_t)src_tor << 32 | dst_tor),
                      .mark = mark & decoder->codec->mark_bits};
    int result = look_up(decoder, key);
    if (!result) {
        *ret_path = &decoder->path;
    }
    decoder->counters.infeasible += result == -PD_E_INFEASIBLE;
    return result;
}

const struct pd_decoder_counters *pd_decoder_counters(const struct pd_decoder *decoder)
{
    return &decoder->counters;
}
