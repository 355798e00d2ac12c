/* SPDX-License-Identifier: Apache-2.0 */
/* A Clos network of pods: ToRs below the T1s of their pod, T1s below all T2s (007, section 4). */
#include "topology/generate.h"

enum { PODS, TORS, T1, T2, HOSTS };

static int add_nodes(struct pd_draft *draft, const uint32_t *values)
{
    int err = 0;
    for (uint32_t pod = 1; pod <= values[PODS]; pod++) {
        for (uint32_t i = 1; i <= values[TORS] && !err; i++) {
            err = pd_topology_generate_node(draft, PD_ROLE_TOR, pod, "tor-%u-%u", pod, i);
            if (!err) {
                err = pd_topology_generate_rack(draft, pod, i);
            }
        }
    }
    for (uint32_t pod = 1; pod <= values[PODS]; pod++) {
        for (uint32_t j = 1; j <= values[T1] && !err; j++) {
            err = pd_topology_generate_node(draft, PD_ROLE_AGG, pod, "agg-%u-%u", pod, j);
        }
    }
    for (uint32_t c = 1; c <= values[T2] && !err; c++) {
        err = pd_topology_generate_node(draft, PD_ROLE_CORE, 0, "core-%u", c);
    }
    return err;
}

static int add_links(struct pd_draft *draft, const uint32_t *values)
{
    uint32_t tors = values[PODS] * values[TORS], t1s = values[PODS] * values[T1];
    int err = 0;
    for (uint32_t tor = 0; tor < tors; tor++) {
        for (uint32_t j = 1; j <= values[T1] && !err; j++) {
            err =
                pd_topology_draft_link(draft, tor + 1, tors + tor / values[TORS] * values[T1] + j);
        }
    }
    for (uint32_t t1 = 1; t1 <= t1s; t1++) {
        for (uint32_t c = 1; c <= values[T2] && !err; c++) {
            err = pd_topology_draft_link(draft, tors + t1, tors + t1s + c);
        }
    }
    for (uint32_t tor = 0; tor < tors && !err; tor++) {
        err = pd_topology_generate_hosts(draft, tor + 1, tor / values[TORS] + 1,
                                         tor % values[TORS] + 1, values[HOSTS]);
    }
    return err;
}

static int make(const uint32_t *values, struct pd_draft *draft, struct pd_error *error)
{
    uint64_t nodes = (uint64_t)values[PODS] * (values[TORS] * (1 + values[HOSTS]) + values[T1]);
    if (nodes + values[T2] > PD_NODES_MAX) {
        return pd_fail(error, -PD_E_VALUE, "clos: more than %d nodes", PD_NODES_MAX);
    }
    int err = pd_topology_generate_names(draft, NULL, "clos-%u-%u-%u-%u", values[PODS],
                                         values[TORS], values[T1], values[T2]);
    if (!err) {
        err = add_nodes(draft, values);
    }
    return err ? err : add_links(draft, values);
}

static const struct pd_generator_option options[] = {
    [PODS] = {"pods", "P", 1, 255, "pods"},
    [TORS] = {"tors", "N", 1, 255, "ToRs of a pod"},
    [T1] = {"t1", "N", 1, 1024, "T1 switches of a pod, role agg, each linked with its ToRs"},
    [T2] = {"t2", "N", 1, 1024, "T2 switches, role core, each linked with every T1"},
    [HOSTS] = {"hosts", "H", 0, PD_RACK_HOSTS_MAX, "hosts of a ToR"},
    {0},
};

const struct pd_generator pd_topology_generator_clos = {
    .name = "clos",
    .help = "pods of ToRs and T1 switches below a layer of T2 switches; without a codec",
    .options = options,
    .make = make,
};
