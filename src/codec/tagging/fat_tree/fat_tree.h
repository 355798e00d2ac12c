/* SPDX-License-Identifier: Apache-2.0 */
/* CherryPick for fat-trees: one link tag for a shortest path, one more for each detour of two hops.
 */
#ifndef PD_CODEC_TAGGING_FAT_TREE_FAT_TREE_H
#define PD_CODEC_TAGGING_FAT_TREE_FAT_TREE_H

#include "codec/tagging/tagging.h"

extern const struct pd_tagging_ops pd_fat_tree_codec;

#endif
