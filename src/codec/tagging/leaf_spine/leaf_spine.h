/* SPDX-License-Identifier: Apache-2.0 */
/* The same idea for leaf-spines (not in the paper): each spine pushes the tag of the link a packet
 * came in by. */
#ifndef PD_CODEC_TAGGING_LEAF_SPINE_LEAF_SPINE_H
#define PD_CODEC_TAGGING_LEAF_SPINE_LEAF_SPINE_H

#include "codec/tagging/tagging.h"

extern const struct pd_tagging_ops pd_leaf_spine_codec;

#endif
