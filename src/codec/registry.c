/* SPDX-License-Identifier: Apache-2.0 */
/* The schemes there are, and what is the same for all of them: choice by name, life, tables. */
#include <string.h>

#include "codec/codec.h"
#include "codec/edge.h"
#include "codec/path_bloom/path_bloom.h"
#include "codec/pint/codec.h"
#include "codec/tagging/fat_tree/fat_tree.h"
#include "codec/tagging/leaf_spine/leaf_spine.h"
#include "codec/tagging/vl2/vl2.h"
#include "pd_extensions.h"

extern const struct pd_codec_ops pd_telemetry_codec;
#define X(symbol) extern const struct pd_codec_ops symbol;
PD_EXTENSION_CODEC(X)
#undef X

const struct pd_codec_ops *const pd_codecs[] = {
    &pd_fat_tree_codec.codec,
    &pd_vl2_codec.codec,
    &pd_leaf_spine_codec.codec,
    &pd_path_bloom_codec,
    &pd_pint_codec,
    &pd_telemetry_codec,
#define X(symbol) &(symbol),
    PD_EXTENSION_CODEC(X)
#undef X
        NULL,
};

/* NULL when no scheme has this name. */
static const struct pd_codec_ops *find(const char *name)
{
    const struct pd_codec_ops *const *ops = pd_codecs;
    while (*ops && strcmp((*ops)->name, name) != 0) {
        ops++;
    }
    return *ops;
}

static int unsupported(const char *name, struct pd_error *error)
{
    if (!*name) {
        return pd_fail(error, -PD_E_UNSUPPORTED, "the topology names no codec");
    }
    return pd_fail(error, -PD_E_UNSUPPORTED, "there is no codec `%s`", name);
}

const char *pd_codec_key_name(const struct pd_topology *topology)
{
    const char *name = topology->codec;
    for (uint32_t i = topology->codecs_len; i-- > 0;) {
        const struct pd_codec_ops *ops = find(topology->codecs[i].name);
        name = ops && ops->kind == PD_CODEC_KEY ? ops->name : name;
    }
    return name;
}

int pd_codec_new(const struct pd_topology *topology, struct pd_codec **ret_codec,
                 struct pd_error *error)
{
    return pd_codec_new_named(topology, pd_codec_key_name(topology), ret_codec, error);
}

int pd_codec_new_with(const struct pd_topology *topology, const char *name, const char *options,
                      struct pd_codec **ret_codec, struct pd_error *error)
{
    const struct pd_codec_ops *ops = find(name);
    return ops ? ops->new (ops, topology, options, ret_codec, error) : unsupported(name, error);
}

int pd_codec_new_named(const struct pd_topology *topology, const char *name,
                       struct pd_codec **ret_codec, struct pd_error *error)
{
    const struct pd_codec_choice *choice = pd_topology_codec(topology, name);
    const char *options = choice && *choice->options ? choice->options : NULL;
    return pd_codec_new_with(topology, name, options, ret_codec, error);
}

void pd_codec_free(struct pd_codec *codec)
{
    if (codec) {
        codec->ops->free(codec);
    }
}

int pd_codec_rows_make(const struct pd_codec *codec, uint32_t sw, enum pd_depth depth,
                       struct pd_codec_rows *ret_rows)
{
    const struct pd_codec_row pass = {PD_ROW_ANY_MARK, .action = PD_ROW_PASS};
    const struct pd_codec_choice *choice = pd_topology_codec(codec->topology, codec->ops->name);
    struct pd_codec_rows rows = {.tpid = choice ? choice->tpid : PD_TPID_DEFAULT};
    int err = pd_codec_edge_rows(codec, sw, &rows);
    if (!err && codec->ops->rows) {
        err = codec->ops->rows(codec, sw, depth, &rows);
    }
    if (!err) {
        err = pd_codec_edge_last(codec, sw, &rows);
    }
    if (!err) {
        err = pd_codec_rows_add(&rows, &pass);
    }
    if (err) {
        pd_codec_rows_done(&rows);
    } else {
        *ret_rows = rows;
    }
    return err;
}
