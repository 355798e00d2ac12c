/* SPDX-License-Identifier: Apache-2.0 */
/* Localisers: from flows that suffered, and flows that did not, to the links that silently drop
 * packets. */
#ifndef PD_LOCALISE_LOCALISE_H
#define PD_LOCALISE_LOCALISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/path.h"
#include "tib/tib.h"
#include "topology/topology.h"

/* Paper 000, sections 2.3 and 4.3: a faulty interface drops packets at random and counts nothing.
 * What end hosts see of it are retransmissions; the path of a flow that suffered is a *failure
 * signature*. A localiser takes one period of observations after the other (200 ms in the paper)
 * and can be asked for its verdict at any time.
 *
 * An observation is one flow in one period: its slices of TIB records, one for each path that it
 * took, and the retransmissions that its sender counted in that period. Flows without
 * retransmissions belong to it: a localiser that only wants signatures skips them. Links are
 * directed pairs of switch IDs.
 *
 * Each localiser has a folder and a line in registry.c. All pass
 * tests/unit/localise/test_conformance.c.
 *
 * Ownership: observations, their records and paths stay the caller's and are not kept. Thread
 * safety: a localiser belongs to one thread. Limits: PD_LOCALISE_LINKS_MAX and
 * PD_LOCALISE_SIGNATURES_MAX, what is beyond is counted. */

#define PD_LOCALISE_LINKS_MAX      (1u << 22)
#define PD_LOCALISE_SIGNATURES_MAX (1u << 17)
#define PD_LOCALISE_NAMED_MAX      256 /* links of a verdict */

struct pd_observation {
    const struct pd_tib_record *records; /* of one flow, one for each path */
    size_t records_len;
    uint64_t retransmissions;
};

struct pd_localiser_config {
    const struct pd_topology *topology; /* must outlive the localiser; NULL: links are those seen */
    uint64_t link_mbps;                 /* 0: unknown, load is not looked at */
    /* of the observations given at once; may be set anew before each `observe` */
    uint64_t period_us;
};

struct pd_verdict_link {
    uint32_t from, to; /* switch IDs */
    double loss;       /* share of packets that it drops, as estimated; 0: not estimated */
};

#define PD_LOCALISE_COUNTERS(X)                                                                \
    X(flows, "observations taken")                                                             \
    X(signatures, "observations with retransmissions, taken as failure signatures")            \
    X(spread, "of these: packets took several paths, and which of them lost some is not told") \
    X(congested, "observations left aside: a link of their path was loaded too much")          \
    X(contradicted, "signatures that hold no link under suspicion, at the last verdict")       \
    X(unknown, "observations left aside: no path, or a path that the topology has not")        \
    X(dropped, "signatures lost: too many")

struct pd_localiser_counters {
#define X(name, text) uint64_t name;
    PD_LOCALISE_COUNTERS(X)
#undef X
};

/* `certain` says that these links, and no others that drop at least the localiser's floor, are
 * faulty. It is never said of an empty list, and never when the evidence does not carry it. */
struct pd_verdict {
    /* ascending; never one that no signature crosses */
    struct pd_verdict_link links[PD_LOCALISE_NAMED_MAX];
    size_t links_len;
    bool certain;
    double confidence; /* 0 … 1 */
    /* Links between switches of which flows that passed say that they are well, of how many there
     * are; both 0 where the localiser does not clear any. */
    size_t cleared_len, all_len;
};

struct pd_localiser;

struct pd_localiser_ops {
    const char *name;
    const char *help; /* one line */
    /* 0 with *ret_localiser, or -ENOMEM. */
    int (*new)(const struct pd_localiser_config *config, struct pd_localiser **ret_localiser);
    void (*free)(struct pd_localiser *localiser);
    /* Takes all observations of one period. 0 or -ENOMEM: then some of them are lost, the localiser
     * stays usable. */
    int (*observe)(struct pd_localiser *localiser, const struct pd_observation *observations,
                   size_t observations_len);
    /* What is known now; may be asked without new observations. 0 or -ENOMEM. */
    int (*locate)(struct pd_localiser *localiser, struct pd_verdict *ret_verdict);
};

/* Common head of each localiser's own struct. */
struct pd_localiser {
    const struct pd_localiser_ops *ops;
    struct pd_localiser_config config;
    struct pd_localiser_counters counters;
};

extern const struct pd_localiser_ops *const pd_localisers[]; /* NULL-terminated */
extern const struct pd_localiser_ops pd_localiser_max_coverage, pd_localiser_evidence;

/* NULL when there is none of this name. */
const struct pd_localiser_ops *pd_localiser_find(const char *name);

int pd_localiser_new(const struct pd_localiser_ops *ops, const struct pd_localiser_config *config,
                     struct pd_localiser **ret_localiser);
void pd_localiser_free(struct pd_localiser *localiser); /* NULL is fine */
int pd_localiser_observe(struct pd_localiser *localiser, const struct pd_observation *observations,
                         size_t observations_len);
int pd_localiser_locate(struct pd_localiser *localiser, struct pd_verdict *ret_verdict);

/* Does each step of the path exist in the topology? True without a topology, false for an
 * infeasible trajectory. */
bool pd_localiser_knows(const struct pd_localiser *localiser, const struct pd_path *path);

#endif
