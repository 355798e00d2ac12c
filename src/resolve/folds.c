/* SPDX-License-Identifier: Apache-2.0 */
/* States of flows by flow ID, racks and scheme: a table of windows, as the resolver's cache. */
#include "resolve/folds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define WINDOW 8u

struct fold {
    struct pd_flow_id flow;
    uint32_t src_tor, dst_tor;
    uint64_t last_ns; /* of the newest sample */
    uint8_t scheme;   /* 0: a free place */
    bool spoiled;     /* it contradicts itself */
};

struct pd_resolve_folds {
    const struct pd_codec_set *codecs;
    size_t mask;
    size_t state_bytes;    /* of the largest state */
    struct fold *folds;    /* WINDOW - 1 more than the mask says: no window wraps around */
    unsigned char *states; /* one for each */
};

struct key {
    const struct pd_flow_id *flow;
    uint32_t src_tor, dst_tor;
    uint8_t scheme;
};

int pd_resolve_folds_new(const struct pd_codec_set *codecs, size_t len,
                         struct pd_resolve_folds **ret_folds)
{
    struct pd_resolve_folds *folds = calloc(1, sizeof *folds);

    if (!folds) {
        return -ENOMEM;
    }
    folds->codecs = codecs;
    folds->mask = len - 1;
    for (uint32_t i = 0; i < codecs->len; i++) {
        const size_t bytes = codecs->codecs[i]->ops->state_bytes;
        folds->state_bytes = bytes > folds->state_bytes ? bytes : folds->state_bytes;
    }
    folds->state_bytes = (folds->state_bytes + 15) / 16 * 16; /* as malloc aligns */
    folds->folds = calloc(len + WINDOW, sizeof *folds->folds);
    folds->states = calloc(len + WINDOW, folds->state_bytes + 16);
    if (!folds->folds || !folds->states) {
        pd_resolve_folds_free(folds);
        return -ENOMEM;
    }
    *ret_folds = folds;
    return 0;
}

void pd_resolve_folds_free(struct pd_resolve_folds *folds)
{
    if (!folds) {
        return;
    }
    free(folds->folds);
    free(folds->states);
    free(folds);
}

/* ---- places */

static void *state_of(const struct pd_resolve_folds *folds, const struct fold *fold)
{
    return folds->states + (size_t)(fold - folds->folds) * folds->state_bytes;
}

static struct fold *window_of(const struct pd_resolve_folds *folds, const struct key *key)
{
    const uint64_t racks = (uint64_t)key->src_tor << 32 | key->dst_tor;
    return &folds->folds[pd_hash_mix(pd_flow_id_hash(key->flow) ^ racks) & folds->mask];
}

static bool is_of(const struct fold *fold, const struct key *key)
{
    return fold->scheme == key->scheme && fold->src_tor == key->src_tor &&
           fold->dst_tor == key->dst_tor && pd_flow_id_equal(&fold->flow, key->flow);
}

/* Places are never freed, so a search may end at the first free one. */
static struct fold *find(const struct pd_resolve_folds *folds, const struct key *key)
{
    struct fold *fold = window_of(folds, key);

    for (unsigned i = 0; i < WINDOW && fold->scheme; i++, fold++) {
        if (is_of(fold, key)) {
            return fold;
        }
    }
    return NULL;
}

/* A free one, or that of the flow that was silent longest. */
static struct fold *make(struct pd_resolve_folds *folds, const struct key *key, int *replaced)
{
    struct fold *window = window_of(folds, key), *chosen = window;

    for (unsigned i = 0; i < WINDOW && chosen->scheme; i++) {
        chosen = !window[i].scheme || window[i].last_ns < chosen->last_ns ? &window[i] : chosen;
    }
    *replaced += chosen->scheme != 0;
    *chosen = (struct fold){.flow = *key->flow,
                            .src_tor = key->src_tor,
                            .dst_tor = key->dst_tor,
                            .scheme = key->scheme};
    memset(state_of(folds, chosen), 0, folds->state_bytes);
    return chosen;
}

/* ---- samples in */

static void fold_one(struct pd_resolve_folds *folds, const struct pd_codec *codec,
                     const struct key *key, const struct pd_sample *sample, int *replaced)
{
    const struct pd_codec_sample one = {.mark = sample->mark,
                                        .time_ns = sample->time_ns,
                                        .packet_id = sample->packet_id,
                                        .hops = sample->hops};
    struct fold *fold = find(folds, key);

    fold = fold ? fold : make(folds, key, replaced);
    if (fold->spoiled) {
        memset(state_of(folds, fold), 0, folds->state_bytes);
        fold->spoiled = false;
    }
    fold->last_ns = sample->time_ns;
    codec->ops->fold(codec, key->src_tor, key->dst_tor, &one, state_of(folds, fold));
}

int pd_resolve_folds_add(struct pd_resolve_folds *folds, const struct pd_sample *sample)
{
    const struct pd_codec *codec = pd_codec_set_sampled(folds->codecs, sample->scheme);
    const struct pd_topology *topology = folds->codecs->topology;
    const struct pd_flow_id *flow = &sample->flow;
    uint32_t srcs[PD_HOMES_MAX], dsts[PD_HOMES_MAX], srcs_len, dsts_len;
    int replaced = 0;

    if (!codec) {
        return -PD_E_UNSUPPORTED;
    }
    srcs_len = pd_topology_tors_of(topology, &flow->src, flow->ip_version, srcs);
    dsts_len = pd_topology_tors_of(topology, &flow->dst, flow->ip_version, dsts);
    for (uint32_t s = 0; s < srcs_len; s++) {
        for (uint32_t d = 0; d < dsts_len; d++) {
            const struct key key = {flow, srcs[s], dsts[d], sample->scheme};
            fold_one(folds, codec, &key, sample, &replaced);
        }
    }
    return srcs_len && dsts_len ? replaced : -PD_E_UNSUPPORTED;
}

/* ---- what they tell */

struct deciding {
    struct pd_decoding best;
    bool seen;      /* some state there is */
    uint32_t walks; /* that fit */
};

static bool is_walk(const struct pd_decoding *decoding)
{
    return decoding->state == PD_DECODING_EXACT || decoding->state == PD_DECODING_PARTIAL;
}

static void decide_one(struct pd_resolve_folds *folds, const struct key *key,
                       struct deciding *deciding)
{
    const struct pd_codec *codec = pd_codec_set_sampled(folds->codecs, key->scheme);
    struct fold *fold = find(folds, key);
    struct pd_decoding found;

    if (!fold) {
        return;
    }
    deciding->seen = true;
    fold->spoiled = codec->ops->decide(codec, key->src_tor, key->dst_tor, state_of(folds, fold),
                                       &found, NULL) != 0;
    if (fold->spoiled) {
        return;
    }
    deciding->walks += is_walk(&found);
    if (!is_walk(&deciding->best) ||
        (found.state == PD_DECODING_EXACT && deciding->best.state != PD_DECODING_EXACT)) {
        deciding->best = found;
    }
}

static void decide_all(struct pd_resolve_folds *folds, const struct pd_flow_id *flow,
                       uint8_t scheme, struct deciding *deciding)
{
    const struct pd_topology *topology = folds->codecs->topology;
    uint32_t srcs[PD_HOMES_MAX], dsts[PD_HOMES_MAX];
    const uint32_t srcs_len = pd_topology_tors_of(topology, &flow->src, flow->ip_version, srcs);
    const uint32_t dsts_len = pd_topology_tors_of(topology, &flow->dst, flow->ip_version, dsts);

    for (uint32_t s = 0; s < srcs_len; s++) {
        for (uint32_t d = 0; d < dsts_len; d++) {
            decide_one(folds, &(struct key){flow, srcs[s], dsts[d], scheme}, deciding);
        }
    }
}

int pd_resolve_folds_decide(struct pd_resolve_folds *folds, const struct pd_flow_id *flow,
                            struct pd_decoding *ret_decoding)
{
    const struct pd_codec_set *codecs = folds->codecs;
    struct deciding deciding = {.best = {.state = PD_DECODING_AMBIGUOUS, .candidates = UINT32_MAX}};

    for (uint32_t i = 0; i < codecs->len && !deciding.walks; i++) {
        if (codecs->codecs[i]->ops->sample) {
            decide_all(folds, flow, codecs->codecs[i]->ops->scheme, &deciding);
        }
    }
    if (!deciding.seen || deciding.best.candidates == UINT32_MAX) {
        return deciding.seen ? -PD_E_INFEASIBLE : -PD_E_NOT_FOUND;
    }
    *ret_decoding = deciding.best;
    if (deciding.walks > 1) {
        *ret_decoding =
            (struct pd_decoding){.state = PD_DECODING_AMBIGUOUS, .candidates = deciding.walks};
    }
    return 0;
}
