/* SPDX-License-Identifier: Apache-2.0 */
/* Trials: after how many packets a receiver knows a path, on random paths of a topology. */
#ifndef PD_CODEC_PINT_TRIALS_H
#define PD_CODEC_PINT_TRIALS_H

#include "codec/pint/search.h"

/* A trial draws links that are down, which the decoder does not know, a shortest path of what is
 * left, and packet IDs; the switches' formulas make the digests. Same seed, same result. One
 * thread. */

#define PD_PINT_KNOWN_BITS \
    20 /* of digests that speak of each hop: a wrong walk fits once in 10^6 */

struct pd_pint_trials {
    uint64_t trials, seed;
    uint32_t src, dst; /* indexes of switches, PD_NONE: drawn */
    uint32_t links;    /* of the path; 0: as many as there are */
    uint32_t links_down;
    bool no_topology;
    enum pd_pint_method method;
    unsigned known_bits;
    /* Then a path is undecided, and the trials end; 0: undecided when the search is full. */
    uint32_t packets_max;
};

struct pd_pint_quantiles {
    double mean;
    uint32_t p50, p99;
};

struct pd_pint_outcome {
    uint64_t trials;
    uint64_t undecided; /* not decided within so many digests as a search keeps */
    uint64_t wrong;     /* decided for another path than the true one, or for none */
    struct pd_pint_quantiles decided, known;
};

/* 0; -PD_E_NOT_FOUND: there is no such path; -ENOMEM. */
int pd_pint_trials_run(const struct pd_topology *topology, const struct pd_pint_plan *plan,
                       const struct pd_pint_trials *trials, struct pd_pint_outcome *ret_outcome,
                       struct pd_error *error);

#endif
