/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregation trees over the hosts that are asked: from the topology, or with a fan-out that
 * somebody names. */
#ifndef PD_CONTROLLER_TREES_H
#define PD_CONTROLLER_TREES_H

#include <stddef.h>
#include <stdint.h>

#include "controller/inventory.h"
#include "controller/select.h"
#include "fleet/tree.h"

/* Each host asked stands in the trees once; the tops are asked by the controller. Everything
 * follows from the order (pod, rack, ID), so equal questions have equal trees.
 *
 * From the topology (section 3.2 of the PathDump paper, rack and pod): the host with the smallest
 * ID of a rack asks the others of its rack; the first of these heads in a pod also asks the other
 * heads of the pod; the controller asks the first heads. Answers shrink where they are near each
 * other, and each link above a rack carries one answer. Pods are the topology's; where it has none,
 * racks whose switches have the same neighbours above are a pod (VL2: a pair of aggregation
 * switches). Where that leaves but one pod (leaf-spine, or a question to one pod), its racks are
 * divided into as many groups as a group has racks.
 *
 * With a fan-out N nobody asks more than N hosts: the hosts in their order are cut into N ranges of
 * the same length, give or take one; the first of a range is its top, the rest of the range is cut
 * again. The depth is that of a full N-ary tree, and ranges follow racks as far as they can.
 *
 * Thread safety: works on the caller's memory only. */

#define PD_TREES_FANOUT_MIN 2
#define PD_TREES_FANOUT_MAX 4096

struct pd_trees {
    struct pd_tree *tops; /* in one piece of memory with all below; URLs are the inventory's */
    size_t tops_len;
    size_t hosts;    /* in all of them */
    uint32_t depth;  /* hosts from a top to the lowest leaf: 1 when nobody has children */
    uint32_t fanout; /* most that one asks, the controller included */
    /* most hosts asked one after the other along a way down: the sum of the longest lists */
    uint64_t chain;
};

/* `fanout` 0: from the topology. Else PD_TREES_FANOUT_MIN to _MAX. The inventory must outlive the
 * trees. 0 or -ENOMEM. */
int pd_controller_trees_new(const struct pd_inventory *inventory,
                            const struct pd_selection *selection, uint32_t fanout,
                            struct pd_trees *ret_trees);

/* All tops, no children. */
int pd_controller_trees_direct(const struct pd_inventory *inventory,
                               const struct pd_selection *selection, struct pd_trees *ret_trees);

void pd_controller_trees_done(struct pd_trees *trees); /* a zeroed one is fine */

#endif
