/* SPDX-License-Identifier: Apache-2.0 */
/* One flow from rack 1 to rack 3 of a fat-tree of 4, and what receives it. */
#ifndef PD_TESTS_PINT_WORLD_H
#define PD_TESTS_PINT_WORLD_H

#include "codec/pint/flow.h"
#include "tests/unit/codec/pint/networks.h"

struct world {
    struct pd_topology *topology;
    struct pd_pint_plan *plan;
    struct pd_pint_receiver *receiver;
    struct pd_pint_flow *flow;
    struct random random;
};

/* Takes the plan. room_bytes: of all flows; 0: the usual. */
static inline void open_world(struct world *world, struct pd_pint_plan *plan, size_t room_bytes)
{
    *world = (struct world){.plan = plan, .random = {test_seed()}};
    assert_int_equal(pd_topology_fat_tree(4, &world->topology, NULL), 0);
    const struct pd_pint_receiver_config config = {
        .topology = world->topology, .plan = plan, .room_bytes = room_bytes};
    assert_int_equal(pd_pint_receiver_new(&config, &world->receiver), 0);
    assert_int_equal(pd_pint_flow_new(world->receiver, pd_topology_switch(world->topology, 1),
                                      pd_topology_switch(world->topology, 3), &world->flow),
                     0);
}

static inline void close_world(struct world *world)
{
    pd_pint_flow_free(world->flow);
    pd_pint_receiver_free(world->receiver);
    pd_pint_plan_free(world->plan);
    pd_topology_free(world->topology);
}

#endif
