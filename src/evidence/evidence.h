/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence: rows that say what was lost and where it may have been lost, whoever saw it. */
#ifndef PD_EVIDENCE_EVIDENCE_H
#define PD_EVIDENCE_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/flow_id.h"

/* Localisers take evidence and nothing else, so that whoever sees losses only has to make rows:
 * senders' retransmissions joined with receivers' paths, traces of flows that suffered, meters that
 * count what a stretch of a path lost, probes, the simulator.
 *
 * Nodes of a way are IDs of switches, first to last; 0 stands for one or more switches that are not
 * known, and the first and the last may be hosts. A way that was not `reached` ends early: nothing
 * is known behind its last node.
 *
 * Ownership: rows, ways and nodes are the giver's and valid during the call that gives them.
 * Thread safety: plain memory. */

#define PD_EVIDENCE_UNKNOWN   UINT64_MAX /* of packets */
#define PD_EVIDENCE_NODES_MAX 130u       /* of a way: 128 switches and two hosts */
#define PD_EVIDENCE_WAYS_MAX  1024u      /* of a row */

/* clang-format off */
#define PD_EVIDENCE_ORIGINS(X)                                  \
    X(TAGS, "tags", "link tags of the packets themselves")      \
    X(TRACE, "trace", "a traceroute with the flow's addresses") \
    X(PROBE, "probe", "packets sent to find out")               \
    X(METER, "meter", "counters before and behind a stretch")   \
    X(SIM, "sim", "the simulator")                              \
    X(OTHER, "other", "anything else")
/* clang-format on */

enum pd_evidence_origin {
#define X(id, name, text) PD_EVIDENCE_FROM_##id,
    PD_EVIDENCE_ORIGINS(X)
#undef X
        PD_EVIDENCE_ORIGIN_COUNT
};

/* Kinds of rows, as bits: which of them a localiser can use. */
enum pd_evidence_kind {
    PD_EVIDENCE_FLOW = 1, /* a flow, and what its sender sent again */
    PD_EVIDENCE_PATH = 2, /* packets counted at both ends of a path */
};

struct pd_evidence_way {
    const uint32_t *nodes;
    uint32_t nodes_len;
    bool reached;
    uint8_t origin; /* enum pd_evidence_origin */
    uint64_t pkts;  /* of the row's, on this way; or PD_EVIDENCE_UNKNOWN */
    uint64_t bytes; /* 0 where they are not known */
};

struct pd_evidence_row {
    enum pd_evidence_kind kind;
    struct pd_flow_id flow; /* ip_version 0: of no flow */
    /* Packets sent, those that were sent again not counted twice; or PD_EVIDENCE_UNKNOWN. */
    uint64_t pkts;
    uint64_t lost; /* of a flow: its retransmissions; of a path: at most `pkts` */
    /* A flow may have several; a counted path has one. */
    const struct pd_evidence_way *ways;
    size_t ways_len;
    uint32_t srtt_us; /* mean round trip of the flow; 0: not known */
    /* Flows that began on the row's only way in this span; 0: none, or nobody counted them. */
    uint64_t began;
    /* Simulated evidence: the link that dropped most of the row's packets; 0: none. */
    uint32_t truth_from, truth_to;
};

/* Rows of one span of time. A long period may be given in several parts. */
struct pd_evidence_period {
    uint64_t from_us, to_us; /* both 0: not known */
    bool continues;          /* the same period as the one given before */
    /* Whoever gives it saw the network change just before from_us: what was given of earlier
     * periods tells of a state that is over. */
    bool anew;
    const struct pd_evidence_row *rows;
    size_t rows_len;
    uint64_t flows_unlisted; /* that have no row: their packets are in sums */
};

/* Whoever takes evidence. 0, or a negative error, which ends the giving. */
struct pd_evidence_sink {
    void *context;
    int (*take)(void *context, const struct pd_evidence_period *period);
};

const char *pd_evidence_origin_name(enum pd_evidence_origin origin);
/* PD_EVIDENCE_FROM_OTHER for what is not in the table. */
enum pd_evidence_origin pd_evidence_origin_find(const char *name);

#endif
