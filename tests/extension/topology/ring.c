/* SPDX-License-Identifier: Apache-2.0 */
/* A toy generator: a ring of racks with a host each. */
#include "topology/generate.h"

static int add_rack(struct pd_draft *draft, uint32_t i)
{
    int err = pd_topology_generate_node(draft, PD_ROLE_TOR, 0, "ring-%u", i + 1);

    return err ? err : pd_topology_generate_rack(draft, 0, i);
}

static int make(const uint32_t *values, struct pd_draft *draft, struct pd_error *error)
{
    int err = pd_topology_generate_names(draft, NULL, "toy ring of %u", values[0]);

    (void)error;
    for (uint32_t i = 0; i < values[0] && !err; i++) {
        err = add_rack(draft, i);
    }
    for (uint32_t i = 0; i < values[0] && !err; i++) {
        err = pd_topology_draft_link(draft, i + 1, (i + 1) % values[0] + 1);
    }
    for (uint32_t i = 0; i < values[0] && !err; i++) {
        err = pd_topology_generate_hosts(draft, i + 1, 0, i, 1);
    }
    return err;
}

static const struct pd_generator_option options[] = {
    {"racks", "N", 3, 250, "racks of the ring"},
    {0},
};

extern const struct pd_generator toy_ring;
const struct pd_generator toy_ring = {
    .name = "toy-ring",
    .help = "a ring of racks with a host each",
    .options = options,
    .make = make,
};
