/* SPDX-License-Identifier: Apache-2.0 */
/* Cost model: how long a question would take directly and along a tree, to choose between them and
 * to say why. */
#ifndef PD_CONTROLLER_COST_H
#define PD_CONTROLLER_COST_H

#include <stdint.h>

#include "controller/trees.h"
#include "query/document.h"
#include "topology/topology.h"

/* The time until the answer is there, as if every host had a machine of its own: who asks takes the
 * answers one after the other, PD_COST_ANSWER_NS for each and PD_COST_GROUP_NS for each group in
 * it, after the slowest of those below has answered. Groups of a host are what queries of that kind
 * have (k of topFlows, a bin or a pair of switches …); on the way up they add up, to as many as the
 * whole answer can have and not further. So a tree wins where answers shrink when they are merged
 * (topFlows, sums) and hosts are many; where they only grow (getFlows) each level copies them once
 * more, and direct stays ahead.
 *
 * What the constants were measured with is in docs/decisions/controller.md. They need to
 * be right to a factor of two or so: near the break-even point both ways take the same time.
 *
 * Thread safety: pure. */

#define PD_COST_ANSWER_NS                                                  \
    UINT64_C(40000) /* of an answer: connection, headers, reading, buffers \
                     */
/* Of a level: the request taken apart, the children's written, the answer sent. */
#define PD_COST_HOP_NS   UINT64_C(400000)
#define PD_COST_GROUP_NS UINT64_C(140) /* of a group: verified, merged, and written once more */
/* What a query's answers are like. */
struct pd_cost_shape {
    uint64_t groups;     /* from one host */
    uint64_t groups_max; /* from all of them, however many */
    uint64_t answer_ns;  /* of an answer beside its groups */
};

struct pd_cost_shape pd_controller_cost_shape(const struct pd_document *document,
                                              const struct pd_topology *topology);

/* Time along these trees; of trees without children: directly. */
uint64_t pd_controller_cost_ns(const struct pd_cost_shape *shape, const struct pd_trees *trees);

/* The numbers as a sentence for people. */
#define PD_COST_WORDS_BYTES 320
void pd_controller_cost_words(const struct pd_cost_shape *shape, const struct pd_trees *tree,
                              uint64_t tree_ns, uint64_t direct_ns,
                              char words[PD_COST_WORDS_BYTES]);

#endif
