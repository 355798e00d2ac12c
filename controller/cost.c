/* SPDX-License-Identifier: Apache-2.0 */
/* Expected sizes of answers, and times along trees. */
#include "controller/cost.h"

#include <inttypes.h>
#include <stdio.h>

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

struct pd_cost_shape pd_controller_cost_shape(const struct pd_document *document,
                                              const struct pd_topology *topology)
{
    const struct pd_question_size size = pd_query_question_size(document, topology);

    return (struct pd_cost_shape){.groups = size.groups,
                                  .groups_max = size.groups_max,
                                  .answer_ns = PD_COST_ANSWER_NS + size.merge_ns};
}

/* Time until a list of hosts has been asked and taken in, and the groups that come together. */
static uint64_t ask(const struct pd_cost_shape *shape, const struct pd_tree *trees, size_t len,
                    uint64_t *ret_groups)
{
    uint64_t slowest_ns = 0, own_ns = 0, groups = 0;

    for (size_t i = 0; i < len; i++) {
        uint64_t below = 0, ns = 0, of_this;

        if (trees[i].children_len) {
            ns = PD_COST_HOP_NS + ask(shape, trees[i].children, trees[i].children_len, &below);
        }
        slowest_ns = ns > slowest_ns ? ns : slowest_ns;
        of_this = min_u64(below + shape->groups, shape->groups_max);
        own_ns += shape->answer_ns + of_this * PD_COST_GROUP_NS;
        groups = min_u64(groups + of_this, shape->groups_max);
    }
    *ret_groups = groups;
    return slowest_ns + own_ns;
}

uint64_t pd_controller_cost_ns(const struct pd_cost_shape *shape, const struct pd_trees *trees)
{
    uint64_t groups;

    return PD_COST_HOP_NS + ask(shape, trees->tops, trees->tops_len, &groups);
}

void pd_controller_cost_words(const struct pd_cost_shape *shape, const struct pd_trees *tree,
                              uint64_t tree_ns, uint64_t direct_ns, char words[PD_COST_WORDS_BYTES])
{
    char way[160];

    snprintf(way, sizeof way, "a tree of depth %" PRIu32 " and fan-out %" PRIu32, tree->depth,
             tree->fanout);
    snprintf(words, PD_COST_WORDS_BYTES,
             "for %zu host%s with about %" PRIu64 " %s each, %s is estimated to take %.1f ms, "
             "asking each host directly %.1f ms",
             tree->hosts, tree->hosts == 1 ? "" : "s", shape->groups,
             shape->groups == 1 ? "group" : "groups", way, (double)tree_ns / 1e6,
             (double)direct_ns / 1e6);
}
