/* SPDX-License-Identifier: Apache-2.0 */
/* A second, slow implementation for the tests: enumerates paths and computes tags by formula,
 * without rules. */
#ifndef PD_TESTS_CODEC_NAIVE_H
#define PD_TESTS_CODEC_NAIVE_H

#include "codec/tagging/tagging.h"
#include "codec/verify.h"

/* Positions come from arithmetic on the generators' IDs; nothing here calls topology/shape.h or
 * src/codec. `ids` renames switches: the formulas see ids[ID] where that is given (NULL: the IDs
 * themselves). */

enum naive_kind { NAIVE_FAT_TREE, NAIVE_VL2, NAIVE_LEAF_SPINE };

struct naive {
    enum naive_kind kind;
    uint32_t k;      /* leaf-spine: number of spines */
    uint32_t leaves; /* leaf-spine only */
    const uint32_t *ids;
};

/* All tags that the path gets, however many; the DSCP in *ret_dscp. Returns how many VLAN tags
 * there are. */
unsigned naive_tags(const struct naive *naive, const struct pd_path *path,
                    uint16_t ret_vids[PD_PATH_MAX], uint8_t *ret_dscp);

/* Calls `visit` for each simple path of at most max_hops links between two switches (IDs), by plain
 * recursion. */
void naive_paths(const struct pd_topology *topology, uint32_t src, uint32_t dst, unsigned max_hops,
                 void (*visit)(void *context, const struct pd_path *path), void *context);

/* What verification must count, over all pairs of different ToRs. */
void naive_verification(const struct pd_topology *topology, const struct naive *naive,
                        unsigned max_vlans, unsigned max_hops,
                        struct pd_verification *ret_verification);

/* Generates the network and its codec, or fails the test. */
struct pd_codec *naive_codec(const struct naive *naive, struct pd_topology **ret_topology);

/* The same with these options of the codec, or with "max_hops" alone; NULL when the codec refuses
 * them. */
struct pd_codec *naive_codec_told(const struct naive *naive, const char *options,
                                  struct pd_topology **ret_topology);
struct pd_codec *naive_codec_within(const struct naive *naive, unsigned max_hops,
                                    struct pd_topology **ret_topology);

#endif
