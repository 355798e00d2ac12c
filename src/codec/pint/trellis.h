/* SPDX-License-Identifier: Apache-2.0 */
/* Trellises: all walks of one length between two racks, layer by layer. */
#ifndef PD_CODEC_PINT_TRELLIS_H
#define PD_CODEC_PINT_TRELLIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topology/topology.h"

/* Layer p holds the switches that can stand at place p of a path, and between two layers the arcs
 * that some walk uses which never goes straight back and meets its ends once each. All flows of two
 * racks and a length share one. Where the topology is not to be believed (miscabling, or the
 * paper's receiver, which knows a set of switches), a trellis is complete: every switch in every
 * layer, and no arcs.
 *
 * Nodes are numbered through all layers. Immutable; a table of them belongs to one thread. */

struct pd_pint_trellis {
    uint32_t src, dst; /* indexes of switches; complete: PD_NONE */
    uint32_t len;      /* layers: switches of a path */
    bool complete;
    uint32_t *layers;  /* first node of each layer, and behind the last one their number */
    uint32_t *nodes;   /* index of each node's switch, in ascending order in a layer */
    uint32_t *outs;    /* first arc of each node, and behind the last one their number */
    uint32_t *heads;   /* of each arc: node of the next layer */
    uint32_t *ins;     /* first of each node's arcs in `in_arcs` */
    uint32_t *in_arcs; /* arcs, by the node that they lead to */
    uint32_t *tails;   /* of each arc: node that it leaves */
    size_t bytes;      /* of all this */
    struct pd_pint_trellis *next; /* in a table's bucket */
};

struct pd_pint_trellises;

/* `room_bytes` bounds what the table holds: beyond it there are no new trellises. 0 or
 * -ENOMEM. */
int pd_pint_trellises_new(const struct pd_topology *topology, size_t room_bytes,
                          struct pd_pint_trellises **ret_trellises);
void pd_pint_trellises_free(struct pd_pint_trellises *trellises); /* NULL is fine */

/* The trellis of `len` switches from one to the other; valid as long as the table. Without any
 * walk, -PD_E_NOT_FOUND; -PD_E_FULL when the bound is reached; -ENOMEM. */
int pd_pint_trellis_get(struct pd_pint_trellises *trellises, uint32_t src, uint32_t dst,
                        uint32_t len, const struct pd_pint_trellis **ret_trellis);
/* The complete one. */
int pd_pint_trellis_complete(struct pd_pint_trellises *trellises, uint32_t len,
                             const struct pd_pint_trellis **ret_trellis);

const struct pd_topology *pd_pint_trellises_topology(const struct pd_pint_trellises *trellises);

static inline uint32_t pd_pint_trellis_nodes(const struct pd_pint_trellis *trellis)
{
    return trellis->layers[trellis->len];
}

#endif
