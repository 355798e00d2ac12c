/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of a scenario: what goes wrong on purpose, in the notation that the test bed takes, too.
 */
#ifndef PD_SIM_FAULTS_H
#define PD_SIM_FAULTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/flow_id.h"
#include "topology/topology.h"

/* docs/simulator.md has the notation. A link, a switch and a line card are lists of directed links
 * on which packets are lost: of a switch all that it sends into, so that each packet that passes is
 * at risk once; of a card both directions of its ports. A prefix or a range of hashes leaves all
 * other packets alone. In a burst all packets are lost, and bursts begin as often as the loss asks
 * for in the mean (Gilbert's model).
 *
 * A fault is immutable once read. */

enum pd_sim_fault_kind {
    PD_SIM_LOSS, /* links drop packets */
    /* a switch hashes flows by their size: large ones to its first uplink, the rest to the others
     */
    PD_SIM_SPLIT,
    PD_SIM_WEIGHTS, /* a switch gives its neighbours unequal shares */
};

struct pd_sim_fault {
    enum pd_sim_fault_kind kind;
    uint32_t sw;     /* SPLIT, WEIGHTS: index of the switch */
    uint32_t *links; /* LOSS: directed numbers */
    uint32_t links_len, links_room;
    double loss;             /* LOSS; 1: a blackhole */
    double burst_pkts;       /* LOSS: mean length of a burst; 0: packets are lost one by one */
    struct pd_prefix prefix; /* LOSS: of destinations; ip_version 0: any */
    uint16_t hash[2];        /* LOSS: of flows, both included */
    double split_bytes;      /* SPLIT: flows larger than that are large */
    double *weights;         /* WEIGHTS: of each neighbour that is a switch */
    double start_s, end_s;
};

/* One element of "faults"; what is half read is freed with pd_sim_fault_done, too. 0, or an error
 * that names the member. */
int pd_sim_fault_read(const struct pd_topology *topology, const json_t *object,
                      struct pd_sim_fault *ret_fault, struct pd_error *error);
void pd_sim_fault_done(struct pd_sim_fault *fault); /* works on zeroed memory */

static inline bool pd_sim_fault_is_on(const struct pd_sim_fault *fault, double now_s)
{
    return now_s >= fault->start_s && now_s < fault->end_s;
}

/* Whether it takes only some of the packets on its links. */
static inline bool pd_sim_fault_chooses(const struct pd_sim_fault *fault)
{
    return fault->prefix.ip_version || fault->hash[0] || fault->hash[1] != UINT16_MAX;
}

/* The flow's packets are among those that it takes. */
bool pd_sim_fault_takes(const struct pd_sim_fault *fault, const struct pd_flow_id *flow);

/* 16 bits of a flow, the same as in the test bed (tests/testbed/fault.bpf.c). */
uint16_t pd_sim_fault_hash(const struct pd_flow_id *flow);

#endif
