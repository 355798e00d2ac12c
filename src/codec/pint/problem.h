/* SPDX-License-Identifier: Apache-2.0 */
/* One trellis and a flow's clues: which of its walks are left. Internal to codec/pint. */
#ifndef PD_CODEC_PINT_PROBLEM_H
#define PD_CODEC_PINT_PROBLEM_H

#include "codec/pint/search.h"

/* First open: which nodes and arcs are alive, thinned by each clue (thin.c). Then listed: the walks
 * themselves (halves.c). All belongs to one thread. */

#define PINT_LIST_MAX 4096 /* walks that are tried one by one */

/* Scratch that problems share; grows as needed. */
struct pint_buffer {
    void *bytes;
    size_t room;
};

struct pd_pint_solver {
    const struct pd_topology *topology;
    const struct pd_pint_plan *plan;
    enum pd_pint_method method;
    struct pd_pint_trellises *trellises;
    struct pint_buffer sets, counts, vectors, forward, backward, table, found;
    uint8_t *visited; /* by switch: on the walk that is being made */
};

/* Room for so many bytes, or NULL. What was there is lost. */
void *pd_pint_buffer_get(struct pint_buffer *buffer, size_t bytes);

/* A clue that an open problem keeps: several hops may have written. */
struct pint_open_clue {
    struct pd_pint_clue clue;
    uint16_t *own; /* contribution of each node of the trellis; 0 where the layer is not in it */
    bool settled;  /* no hop in it is open: nothing more to learn */
    bool stale;    /* something has changed since it was tried */
};

struct pint_problem {
    struct pd_pint_solver *solver;
    const struct pd_pint_trellis *trellis;
    uint32_t first_hop;
    bool dead;   /* nothing fits */
    bool listed; /* `walks` are what is left */
    /* open */
    uint8_t *nodes, *arcs; /* alive or not */
    uint32_t *left;        /* nodes of each layer */
    struct pint_open_clue *clues;
    size_t clues_len, clues_room;
    double hopeless; /* walks when listing was given up the last time; 0: never */
    size_t hopeless_clues;
    /* listed: indexes of switches, trellis->len each */
    uint32_t *walks;
    uint32_t walks_len;
};

int pd_pint_problem_init(struct pint_problem *problem, struct pd_pint_solver *solver,
                         const struct pd_pint_trellis *trellis, uint32_t first_hop);
void pd_pint_problem_done(struct pint_problem *problem);

/* Takes a clue; pd_pint_problem_solve then draws all conclusions. 0 or -ENOMEM. */
int pd_pint_problem_add(struct pint_problem *problem, const struct pd_pint_clue *clue);
int pd_pint_problem_solve(struct pint_problem *problem);

uint64_t pd_pint_problem_candidates(const struct pint_problem *problem);
size_t pd_pint_problem_bytes(const struct pint_problem *problem);

/* What node's switch contributes to a clue. */
uint32_t pd_pint_own_bits(const struct pint_problem *problem, const struct pd_pint_clue *clue,
                          uint32_t sw, uint32_t place);

/* Takes nodes and arcs out until nothing changes (thin.c). False: no walk is left. -ENOMEM. */
int pd_pint_thin(struct pint_problem *problem, bool *ret_alive);

/* Lists the walks if they are few (halves.c): then the problem is listed. 0 or -ENOMEM. */
int pd_pint_list(struct pint_problem *problem);

#endif
