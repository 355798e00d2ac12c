/* SPDX-License-Identifier: Apache-2.0 */
/* Racks of the addresses, then the cache, then the codecs. */
#include "resolve/resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "resolve/folds.h"

/* Open addressing with a bounded window: an answer lies in one of the WINDOW slots from its hash
 * on, a slot is one cache line with key and path together, so that a hit mostly costs one line. A
 * miss takes the first free slot of its window, or else replaces one of them in turn (a counter
 * that all windows share): the cache never grows and needs no sweep; what is in use comes back with
 * its next miss. Slots never become free again, so that a search may end at the first free one. */

#define WINDOW        8
#define SLOT_SWITCHES 11 /* longer paths are decoded each time */

/* The path has gaps: better than an error, and no match for one without. */
#define PARTIAL 1

/* A rack is never PD_NONE here, so that 0 is not the complement of any pair of racks. */
struct key {
    uint64_t tors; /* complement of source << 32 | destination; 0: free slot */
    uint64_t mark;
};

/* What one pair of racks gave. */
struct answer {
    int16_t result; /* 0, PARTIAL or a negative error */
    uint16_t len;   /* of the path */
    /* switch IDs; of an ambiguous answer the first is the number of candidates */
    uint32_t switches[SLOT_SWITCHES];
};

struct slot {
    struct key key;
    struct answer answer;
};
_Static_assert(sizeof(struct slot) == 64, "one cache line");

struct pd_resolver {
    const struct pd_codec_set *codecs;
    struct pd_resolver_counters counters;
    bool several_homes; /* some address may lie behind more than one rack */
    size_t mask;
    void *memory;        /* holds the slots; zeroed pages that are touched only as answers come */
    struct slot *slots;  /* WINDOW - 1 more than the mask says, so that no window wraps around */
    unsigned next;       /* to replace */
    uint32_t candidates; /* of the last answer, where ambiguous */
    struct pd_path path; /* of the last answer */
    struct pd_path fit;  /* the first that fits, where several racks are tried */
    struct pd_path none; /* empty */
    struct pd_resolve_folds *folds; /* of samples; NULL: none came */
};

/* The first cache line that begins in `memory` or behind it. */
static struct slot *align(void *memory)
{
    size_t over = (uintptr_t)memory % sizeof(struct slot);
    return (struct slot *)((char *)memory + (over ? sizeof(struct slot) - over : 0));
}

static bool has_several_homes(const struct pd_topology *topology)
{
    uint32_t tors[PD_HOMES_MAX];
    for (uint32_t i = 0; i < topology->hosts_len; i++) {
        if (topology->hosts[i].tors_len > 1) {
            return true;
        }
    }
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        const struct pd_switch *sw = &topology->switches[i];
        for (uint32_t p = 0; p < sw->prefixes_len; p++) {
            const struct pd_prefix *prefix = &sw->prefixes[p];
            if (pd_topology_tors_of(topology, &prefix->addr, prefix->ip_version, tors) > 1) {
                return true;
            }
        }
    }
    return false;
}

int pd_resolver_new(const struct pd_codec_set *codecs, size_t cache_entries,
                    struct pd_resolver **ret_resolver)
{
    size_t room = 4;
    if (cache_entries > SIZE_MAX / 256) {
        return -ENOMEM;
    }
    while (room < cache_entries) {
        room *= 2;
    }
    struct pd_resolver *resolver = calloc(1, sizeof *resolver);
    if (!resolver) {
        return -ENOMEM;
    }
    resolver->codecs = codecs;
    resolver->several_homes = has_several_homes(codecs->topology);
    resolver->mask = room - 1;
    resolver->memory = calloc(room + WINDOW, sizeof *resolver->slots);
    if (!resolver->memory) {
        free(resolver);
        return -ENOMEM;
    }
    resolver->slots = align(resolver->memory);
    *ret_resolver = resolver;
    return 0;
}

void pd_resolver_free(struct pd_resolver *resolver)
{
    if (!resolver) {
        return;
    }
    pd_resolve_folds_free(resolver->folds);
    free(resolver->memory);
    free(resolver);
}

/* ---- one pair of racks */

static uint32_t id_of(const struct pd_topology *topology, uint32_t sw)
{
    return sw == PD_NONE ? 0 : topology->switches[sw].id;
}

static void set_path(struct pd_path *path, const struct pd_topology *topology,
                     const struct pd_walk *walk)
{
    memset(path, 0, sizeof *path);
    path->len = (uint16_t)walk->len;
    for (uint32_t i = 0; i < walk->len; i++) {
        path->switches[i] = id_of(topology, walk->switches[i]);
    }
}

static bool is_path(const struct pd_path *path, const struct pd_topology *topology,
                    const struct pd_walk *walk)
{
    if (path->len != walk->len) {
        return false;
    }
    for (uint32_t i = 0; i < walk->len; i++) {
        if (path->switches[i] != id_of(topology, walk->switches[i])) {
            return false;
        }
    }
    return true;
}

/* What all codecs with keys say: the first that knows the way, unless another one contradicts. */
static int decode(struct pd_resolver *resolver, const struct key *key)
{
    const struct pd_codec_set *set = resolver->codecs;
    uint32_t src_tor = (uint32_t)(~key->tors >> 32), dst_tor = (uint32_t)~key->tors;
    struct pd_decoding decoding;
    int result = -PD_E_UNSUPPORTED;
    for (uint32_t i = 0; i < set->keys_len; i++) {
        const struct pd_codec *codec = set->codecs[set->keys[i]];
        int err = codec->ops->decode(codec, src_tor, dst_tor, key->mark & codec->mark_bits,
                                     &decoding, NULL);
        if (!err && decoding.state == PD_DECODING_PARTIAL) {
            err = PARTIAL;
        } else if (!err && decoding.state != PD_DECODING_EXACT) {
            err = -PD_E_AMBIGUOUS;
            resolver->candidates = decoding.candidates;
        }
        if (!err && !result && !is_path(&resolver->path, set->topology, &decoding.walk)) {
            resolver->candidates = 2;
            return -PD_E_AMBIGUOUS;
        }
        if ((!err && result) || (err == PARTIAL && result < 0)) {
            set_path(&resolver->path, set->topology, &decoding.walk);
        }
        result = !i || !err || (err == PARTIAL && result < 0) ? err : result;
    }
    return result;
}

/* Makes the slot's answer the resolver's. Copies all of it: a loop as long as the path would be
 * mispredicted. */
static void unpack(struct pd_resolver *resolver, const struct answer *answer)
{
    if (resolver->path.len > SLOT_SWITCHES) {
        memset(resolver->path.switches, 0, sizeof resolver->path.switches);
    }
    memcpy(resolver->path.switches, answer->switches, sizeof answer->switches);
    resolver->path.len = answer->len;
}

/* Decodes, and keeps the answer in `slot`. An answer that is cut short would be wrong: it is not
 * kept. */
static int decode_into(struct pd_resolver *resolver, struct slot *slot, const struct key *key)
{
    const struct pd_path *path = &resolver->path;
    int result = decode(resolver, key);
    if (result >= 0 && path->len > SLOT_SWITCHES) {
        return result;
    }
    *slot = (struct slot){.key = *key, .answer = {.result = (int16_t)result}};
    if (result >= 0) {
        slot->answer.len = (uint16_t)path->len;
        memcpy(slot->answer.switches, path->switches, path->len * sizeof *path->switches);
    } else if (result == -PD_E_AMBIGUOUS) {
        slot->answer.switches[0] = resolver->candidates;
    }
    return result;
}

/* The path is in resolver->path when this returns 0 or PARTIAL, the number of candidates in
 * resolver->candidates when it returns -PD_E_AMBIGUOUS. */
static int look_up(struct pd_resolver *resolver, uint32_t src_tor, uint32_t dst_tor, uint64_t mark)
{
    const struct key key = {.tors = ~((uint64_t)src_tor << 32 | dst_tor), .mark = mark};
    uint64_t hash = pd_hash_mix(key.tors ^ key.mark * UINT64_C(0x9e3779b97f4a7c15));
    struct slot *window = &resolver->slots[hash & resolver->mask];
    unsigned at = 0;
    for (; at < WINDOW && window[at].key.tors; at++) {
        if (window[at].key.tors != key.tors || window[at].key.mark != key.mark) {
            continue;
        }
        resolver->counters.hits++;
        if (window[at].answer.result >= 0) {
            unpack(resolver, &window[at].answer);
        } else {
            resolver->candidates = window[at].answer.switches[0];
        }
        return window[at].answer.result;
    }
    resolver->counters.misses++;
    return decode_into(resolver, &window[at < WINDOW ? at : resolver->next++ % WINDOW], &key);
}

/* ---- all racks of both addresses */

static int look_up_all(struct pd_resolver *resolver, const struct pd_flow_id *flow, uint64_t mark)
{
    const struct pd_topology *topology = resolver->codecs->topology;
    uint32_t srcs[PD_HOMES_MAX], dsts[PD_HOMES_MAX], candidates = 0;
    uint32_t srcs_len = pd_topology_tors_of(topology, &flow->src, flow->ip_version, srcs);
    uint32_t dsts_len = pd_topology_tors_of(topology, &flow->dst, flow->ip_version, dsts);
    int none = srcs_len && dsts_len ? -PD_E_INFEASIBLE : -PD_E_UNKNOWN_HOST;
    for (uint32_t s = 0; s < srcs_len; s++) {
        for (uint32_t d = 0; d < dsts_len; d++) {
            int result = look_up(resolver, srcs[s], dsts[d], mark);
            if ((!result && !candidates) || (result == PARTIAL && !candidates && none < 0)) {
                resolver->fit = resolver->path;
            }
            candidates += !result ? 1 : result == -PD_E_AMBIGUOUS ? resolver->candidates : 0;
            none = none == PARTIAL || !result || result == -PD_E_AMBIGUOUS ? none : result;
        }
    }
    resolver->path = resolver->fit;
    resolver->candidates = candidates;
    return !candidates ? none : candidates == 1 ? 0 : -PD_E_AMBIGUOUS;
}

static int find(struct pd_resolver *resolver, const struct pd_flow_id *flow, uint64_t mark)
{
    const struct pd_topology *topology = resolver->codecs->topology;
    if (resolver->several_homes) {
        return look_up_all(resolver, flow, mark);
    }
    uint32_t src_tor = pd_topology_tor_of(topology, &flow->src, flow->ip_version);
    uint32_t dst_tor = pd_topology_tor_of(topology, &flow->dst, flow->ip_version);
    if (src_tor == PD_NONE || dst_tor == PD_NONE) {
        return -PD_E_UNKNOWN_HOST;
    }
    return look_up(resolver, src_tor, dst_tor, mark);
}

/* The mark is kept as it came, by the scheme that it belongs to. */
static void fail_claim(struct pd_resolver *resolver, int result, uint64_t mark,
                       struct pd_claim *claim)
{
    const struct pd_codec *codec = pd_codec_set_find(resolver->codecs, NULL);
    claim->path = &resolver->none;
    claim->state = PD_CLAIM_INFEASIBLE;
    if (result == -PD_E_AMBIGUOUS) {
        claim->state = PD_CLAIM_AMBIGUOUS;
        claim->candidates = resolver->candidates;
    }
    if (codec && codec->ops->wrap) {
        claim->mark = codec->ops->wrap(codec, mark & codec->mark_bits);
    }
    resolver->counters.infeasible += result == -PD_E_INFEASIBLE;
    resolver->counters.ambiguous += result == -PD_E_AMBIGUOUS;
    resolver->counters.unknown_hosts += result == -PD_E_UNKNOWN_HOST;
}

/* ---- samples */

int pd_resolver_sample(struct pd_resolver *resolver, const struct pd_sample *sample)
{
    if (!resolver->folds &&
        pd_resolve_folds_new(resolver->codecs, PD_RESOLVER_FOLDS, &resolver->folds)) {
        return -ENOMEM;
    }
    return pd_resolve_folds_add(resolver->folds, sample);
}

/* What samples tell where keys told nothing. The claim is untouched unless they tell something. */
static int claim_of_samples(struct pd_resolver *resolver, const struct pd_flow_id *flow, int result,
                            struct pd_claim *claim)
{
    struct pd_decoding found;
    int err = pd_resolve_folds_decide(resolver->folds, flow, &found);
    if (err) {
        return err == -PD_E_NOT_FOUND ? result : err;
    }
    if (found.state == PD_DECODING_EXACT || found.state == PD_DECODING_PARTIAL) {
        set_path(&resolver->path, resolver->codecs->topology, &found.walk);
        claim->path = &resolver->path;
        claim->state = found.state == PD_DECODING_EXACT ? PD_CLAIM_EXACT : PD_CLAIM_PARTIAL;
        return 0;
    }
    claim->state = found.state == PD_DECODING_UNDECIDED ? PD_CLAIM_UNDECIDED : PD_CLAIM_AMBIGUOUS;
    claim->candidates = found.candidates;
    return claim->state == PD_CLAIM_UNDECIDED ? -PD_E_UNSUPPORTED : -PD_E_AMBIGUOUS;
}

int pd_resolver_claim(struct pd_resolver *resolver, const struct pd_flow_id *flow, uint64_t mark,
                      struct pd_claim *ret_claim)
{
    int result = find(resolver, flow, mark & resolver->codecs->mark_bits);
    *ret_claim = (struct pd_claim){
        .path = &resolver->path, .state = PD_CLAIM_EXACT, .origin = PD_ORIGIN_TAGS};
    if (result == PARTIAL) {
        ret_claim->state = PD_CLAIM_PARTIAL;
        return 0;
    }
    ret_claim->path = result ? &resolver->none : &resolver->path;
    if (result && resolver->folds && result != -PD_E_UNKNOWN_HOST) {
        result = claim_of_samples(resolver, flow, result, ret_claim);
    }
    if (result && ret_claim->state == PD_CLAIM_EXACT) {
        fail_claim(resolver, result, mark, ret_claim);
    }
    return result;
}

const struct pd_resolver_counters *pd_resolver_counters(const struct pd_resolver *resolver)
{
    return &resolver->counters;
}
