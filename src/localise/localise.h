/* SPDX-License-Identifier: Apache-2.0 */
/* Localisers: from evidence of losses, and of packets that passed, to the links that drop packets.
 */
#ifndef PD_LOCALISE_LOCALISE_H
#define PD_LOCALISE_LOCALISE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/options.h"
#include "evidence/evidence.h"
#include "topology/topology.h"

/* Paper 000, sections 2.3 and 4.3, papers 003 and 004: a faulty interface drops packets and counts
 * nothing. What is seen of it is evidence (evidence/evidence.h): flows that sent packets again with
 * the paths that they took, and packets counted before and behind a path. A localiser takes one
 * period of it after the other and can be asked for its verdict at any time. Links are directed
 * pairs of IDs, those of hosts among them.
 *
 * Each localiser has a folder and a line in registry.c, and brings its own options and members of
 * the answer. It says which kinds of rows it can use; the others are counted. All pass
 * tests/unit/localise/test_conformance.c.
 *
 * Ownership: evidence stays the caller's and is not kept; what a verdict points to is the
 * localiser's and valid until it is called again. Thread safety: a localiser belongs to one thread.
 * Limits: PD_LOCALISE_LINKS_MAX and PD_LOCALISE_SIGNATURES_MAX, what is beyond is counted. */

#define PD_LOCALISE_LINKS_MAX      (1u << 22)
#define PD_LOCALISE_SIGNATURES_MAX (1u << 20)

struct pd_localiser_config {
    const struct pd_topology *topology; /* must outlive the localiser */
    uint64_t link_mbps;                 /* 0: unknown, load is not looked at */
    /* Of the evidence given at once; may be set anew before each `observe`. 0: time is not known,
     * and all evidence counts alike. */
    uint64_t period_us;
    const void *options; /* read with the localiser's own table; NULL: the defaults */
};

struct pd_verdict_link {
    uint32_t from, to; /* IDs; `to` is 0 where it is a switch */
    double loss;       /* share of packets that it drops, as estimated; negative: not estimated */
    double score;      /* by which it is ranked; what it means is the localiser's */
};

/* Orders for qsort: ascending, switches before their links; and falling by score, then ascending.
 */
int pd_localise_by_ids(const void *a, const void *b);
int pd_localise_by_score(const void *a, const void *b);

#define PD_LOCALISE_COUNTERS(X)                                                                \
    X(flows, "flows seen")                                                                     \
    X(suffered, "flows that sent packets again")                                               \
    X(signatures, "flows with retransmissions, taken as failure signatures")                   \
    X(spread, "of these: packets took several paths, and which of them lost some is not told") \
    X(congested, "flows left aside: a link of their path was loaded too much")                 \
    X(contradicted, "signatures that hold no link under suspicion, at the last verdict")       \
    X(unknown, "flows left aside: no path, or a path that the topology has not")               \
    X(dropped, "signatures lost: too many")                                                    \
    X(paths, "counted paths seen")                                                             \
    X(paths_lossy, "of these: lost packets")                                                   \
    X(paths_unknown, "of these: not in the topology")                                          \
    X(paths_unused, "of these: left aside by a localiser that cannot use them")

struct pd_localiser_counters {
#define X(name, text) uint64_t name;
    PD_LOCALISE_COUNTERS(X)
#undef X
};

/* `certain` says that these links, and no others that drop at least what the localiser can see, are
 * faulty. It is never said of an empty list, and never when the evidence does not carry it. */
struct pd_verdict {
    /* Never one that nothing suffered on. Ascending, or in the order in which they were named,
     * where that tells something. */
    const struct pd_verdict_link *links;
    size_t links_len;
    /* What was weighed, falling by score; empty where a localiser ranks nothing. */
    const struct pd_verdict_link *ranking;
    size_t ranking_len;
    double total; /* of what the scores are shares */
    bool certain;
    double confidence; /* 0 … 1 */
};

enum pd_cause_class { PD_CAUSE_NOISE, PD_CAUSE_FAILURE, PD_CAUSE_UNKNOWN };

/* What hurt one flow. */
struct pd_cause {
    enum pd_cause_class class;
    uint32_t from, to; /* the link of a failure */
};

struct pd_localiser;
struct pd_localise_row;

struct pd_localiser_ops {
    const char *name;
    const char *help; /* one line */
    unsigned kinds;   /* of enum pd_evidence_kind, those that it can use */
    /* Ends with a NULL name, as flags have it; NULL: none. */
    const struct pd_option *options;
    size_t options_bytes; /* of the struct that they are read into */

    /* 0 with *ret_localiser, or a negative error. */
    int (*new)(const struct pd_localiser_config *config, struct pd_localiser **ret_localiser);
    void (*free)(struct pd_localiser *localiser);
    /* Takes evidence of one period, or a part of it. 0 or -ENOMEM: then some of it is lost, the
     * localiser stays usable. */
    int (*observe)(struct pd_localiser *localiser, const struct pd_evidence_period *period);
    /* What is known now; may be asked without new evidence. 0 or -ENOMEM. */
    int (*locate)(struct pd_localiser *localiser, struct pd_verdict *ret_verdict);
    /* What hurt a flow that suffered, by the last verdict; its row is resolved (network.h). NULL:
     * the first link named that it may have crossed, else noise. */
    void (*cause)(const struct pd_localiser *localiser, const struct pd_localise_row *row,
                  struct pd_cause *ret_cause);
    /* Further members of the answer, of the last verdict. May be NULL. */
    void (*describe)(const struct pd_localiser *localiser, json_t *answer);
};

/* Common head of each localiser's own struct. */
struct pd_localiser {
    const struct pd_localiser_ops *ops;
    struct pd_localiser_config config;
    struct pd_localiser_counters counters;
    struct pd_localise_network *network; /* of the topology; made when it is first needed */
    struct pd_verdict verdict;           /* the last one */
};

extern const struct pd_localiser_ops *const pd_localisers[]; /* NULL-terminated */

/* NULL when there is none of this name. */
const struct pd_localiser_ops *pd_localiser_find(const char *name);

/* -PD_E_TOPOLOGY: there is no topology. */
int pd_localiser_new(const struct pd_localiser_ops *ops, const struct pd_localiser_config *config,
                     struct pd_localiser **ret_localiser);
void pd_localiser_free(struct pd_localiser *localiser); /* NULL is fine */
int pd_localiser_observe(struct pd_localiser *localiser, const struct pd_evidence_period *period);
int pd_localiser_locate(struct pd_localiser *localiser, struct pd_verdict *ret_verdict);
/* 0 or -ENOMEM. */
int pd_localiser_cause(struct pd_localiser *localiser, const struct pd_evidence_row *row,
                       struct pd_cause *ret_cause);

/* ---- answer.c: the last verdict as JSON, the caller's; NULL: no memory ---- */

json_t *pd_localiser_answer(const struct pd_localiser *localiser, double took_ms);
/* One element of its "causes". */
json_t *pd_localiser_cause_json(const struct pd_flow_id *flow, const struct pd_cause *cause);

#endif
