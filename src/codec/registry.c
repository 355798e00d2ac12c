/* SPDX-License-Identifier: Apache-2.0 */
/* The codecs there are, and what is the same for all of them: choice by name, life, rule tables. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "codec/codec.h"
#include "codec/fat_tree/fat_tree.h"
#include "codec/leaf_spine/leaf_spine.h"
#include "codec/steps.h"
#include "codec/vl2/vl2.h"

const struct pd_codec_ops *const pd_codecs[] = {
    &pd_fat_tree_codec,
    &pd_vl2_codec,
    &pd_leaf_spine_codec,
    NULL,
};

static int unsupported(const char *name, struct pd_error *error)
{
    if (!*name) {
        return pd_fail(error, -PD_E_UNSUPPORTED, "the topology names no codec");
    }
    return pd_fail(error, -PD_E_UNSUPPORTED, "there is no codec `%s`", name);
}

int pd_codec_new(const struct pd_topology *topology, struct pd_codec **ret_codec,
                 struct pd_error *error)
{
    const struct pd_codec_ops *const *ops = pd_codecs;
    while (*ops && strcmp((*ops)->name, topology->codec) != 0) {
        ops++;
    }
    if (!*ops) {
        return unsupported(topology->codec, error);
    }
    struct pd_codec *codec = NULL;
    int failed = (*ops)->new (topology, &codec, error);
    if (failed) {
        return failed;
    }
    failed = pd_steps_new(codec, &codec->steps, error);
    if (failed) {
        pd_codec_free(codec);
    } else {
        *ret_codec = codec;
    }
    return failed;
}

void pd_codec_free(struct pd_codec *codec)
{
    if (!codec) {
        return;
    }
    pd_steps_free(codec->steps);
    codec->ops->free(codec);
}

int pd_codec_rules(const struct pd_codec *codec, uint32_t sw, struct pd_rule **ret_rules,
                   size_t *ret_len)
{
    size_t max = PD_RULES_MAX(codec->topology->switches[sw].switch_neighbours);
    struct pd_rule *rules = calloc(max, sizeof *rules);
    if (!rules) {
        return -ENOMEM;
    }
    *ret_len = codec->ops->rules(codec, sw, rules);
    *ret_rules = rules;
    return 0;
}
