/* SPDX-License-Identifier: Apache-2.0 */
/* Several codecs of one topology: made together, refused where they are in each other's way. */
#include "codec/set.h"

#include <stdio.h>
#include <string.h>

/* Bits of a mark that nobody reads are nobody's. */
static int join(struct pd_codec_set *set, uint32_t at, bool others, struct pd_error *error)
{
    struct pd_codec *codec = set->codecs[at];
    const bool yields = others && codec->ops->yields_tpid;
    bool key = codec->ops->kind == PD_CODEC_KEY && !yields;
    uint64_t bits = key ? codec->mark_bits : 0;
    if (set->carriers & pd_codec_carriers(codec) || set->mark_bits & bits) {
        return pd_fail(error, -PD_E_TOPOLOGY, "codec %s writes where another codec does",
                       codec->ops->name);
    }
    const struct pd_codec_choice *choice = pd_topology_codec(set->topology, codec->ops->name);
    if (pd_codec_carriers(codec) & PD_CARRIER_VLAN && choice && choice->tpid != PD_TPID_DEFAULT) {
        set->tpid = choice->tpid;
    }
    set->carriers |= pd_codec_carriers(codec);
    set->mark_bits |= bits;
    set->aside_tpid = yields ? codec->ops->yields_tpid : set->aside_tpid;
    if (key) {
        set->read_mark = codec->read_mark ? codec->read_mark : set->read_mark;
        set->keys[set->keys_len++] = at;
    }
    return 0;
}

static int add(struct pd_codec_set *set, const char *name, struct pd_error *error)
{
    struct pd_codec *codec = NULL;
    int err = name ? pd_codec_new_named(set->topology, name, &codec, error)
                   : pd_codec_none(set->topology, &codec);
    if (!err) {
        set->codecs[set->len++] = codec;
    }
    return err;
}

/* Whether one of them has a key that it does not give up. */
static bool has_key(const struct pd_codec_set *set)
{
    for (uint32_t i = 0; i < set->len; i++) {
        if (set->codecs[i]->ops->kind == PD_CODEC_KEY && !set->codecs[i]->ops->yields_tpid) {
            return true;
        }
    }
    return false;
}

int pd_codec_set_init(struct pd_codec_set *set, const struct pd_topology *topology,
                      struct pd_error *error)
{
    int err = 0;
    *set = (struct pd_codec_set){.topology = topology};
    for (uint32_t i = 0; i < topology->codecs_len && !err; i++) {
        err = add(set, topology->codecs[i].name, error);
    }
    if (!err && !topology->codecs_len) {
        err = add(set, NULL, error);
    }
    for (uint32_t i = 0; !err && i < set->len; i++) {
        err = join(set, i, has_key(set), error);
    }
    if (err) {
        pd_codec_set_done(set);
    }
    return err;
}

void pd_codec_set_done(struct pd_codec_set *set)
{
    for (uint32_t i = 0; i < set->len; i++) {
        pd_codec_free(set->codecs[i]);
    }
    *set = (struct pd_codec_set){.topology = NULL};
}

const struct pd_codec *pd_codec_set_find(const struct pd_codec_set *set, const char *name)
{
    if (!name) {
        return set->keys_len ? set->codecs[set->keys[0]] : NULL;
    }
    for (uint32_t i = 0; i < set->len; i++) {
        if (!strcmp(set->codecs[i]->ops->name, name)) {
            return set->codecs[i];
        }
    }
    return NULL;
}

const struct pd_codec *pd_codec_set_sampled(const struct pd_codec_set *set, uint8_t scheme)
{
    for (uint32_t i = 0; i < set->len; i++) {
        if (set->codecs[i]->ops->sample && set->codecs[i]->ops->scheme == scheme) {
            return set->codecs[i];
        }
    }
    return NULL;
}

bool pd_codec_set_samples(const struct pd_codec_set *set)
{
    for (uint32_t i = 0; i < set->len; i++) {
        if (set->codecs[i]->ops->sample) {
            return true;
        }
    }
    return false;
}

char *pd_codec_set_names(const struct pd_codec_set *set, char *text, size_t size)
{
    size_t at = 0;
    *text = '\0';
    for (uint32_t i = 0; i < set->len && at < size; i++) {
        at +=
            (size_t)snprintf(text + at, size - at, "%s%s", i ? "," : "", set->codecs[i]->ops->name);
    }
    return text;
}
