/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator: a data-centre network with faults, that makes the records and alarms that agents
 * make. */
#ifndef PD_SIM_SIM_H
#define PD_SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "evidence/evidence.h"
#include "sim/digests.h"
#include "sim/scenario.h"

/* Paper 000, section 4.3: each host generates web traffic, some interfaces drop packets at random,
 * TCP monitors look at their flows every 200 ms. Two levels, behind one interface (levels.h):
 * - flow: rates are max-min fair among the flows of each millisecond, losses are drawn for the
 * packets that a rate makes;
 * - packet: each packet passes each queue; senders run a TCP with selective acknowledgements.
 * docs/simulator.md tells what each models and what not.
 *
 * Probes (probes.h) and meters (meters.h) count beside the flows, which know nothing of them.
 *
 * At the end of each period the visitor gets what agents would tell: one row of evidence for each
 * flow that had packets or retransmissions in the period. A path of which nothing ever arrived is
 * in nobody's TIB, so that its row has no way.
 *
 * The same scenario and seed give the same run on every machine with IEEE arithmetic. One thread.
 */

#define PD_SIM_ALARM_GAP_US UINT64_C(1000000) /* of one flow */

struct pd_sim_totals {
    double now_s;
    uint64_t flows;       /* started */
    uint64_t packet_hops; /* packets × switches that forwarded them */
    uint64_t alarms;      /* POOR_PERF */
    uint64_t lost_fault;  /* packets that faulty links dropped */
    uint64_t lost_queue;  /* packets that full queues dropped */
    uint64_t refused;     /* flows beyond the simulator's limit */
    uint64_t values_lost; /* measured, and beyond what digests may hold */
};

/* A sender's TCP as the monitor of its host knows it at the end of a period. */
struct pd_sim_sender {
    struct pd_flow_id flow;
    uint32_t host; /* its place among the topology's hosts */
    bool live;
    bool alarm; /* POOR_PERF was raised in this period */
    uint64_t opened_us;
    uint64_t retransmissions;       /* in this period */
    uint64_t total_retransmissions; /* since it opened */
    uint64_t acked_pkts;
    uint32_t consecutive; /* retransmissions since the last acknowledgement */
    uint32_t timeouts;    /* since it opened */
    uint32_t backoff;     /* timeouts on end */
    uint32_t srtt_us, rto_us, cwnd_pkts;
};

/* A flow of which everything was acknowledged, at the level of packets. */
struct pd_sim_ended {
    struct pd_flow_id flow;
    uint64_t bytes; /* of full packets, without headers */
    uint64_t begun_ns;
    uint64_t took_ns;  /* from its start to the last acknowledgement */
    uint64_t alone_ns; /* what it takes when there is nothing else, nor any telemetry */
    bool has_digests;
    struct pd_sim_told told; /* by them */
};

/* Further columns of a record (tib/record.h). */
struct pd_sim_column {
    const uint8_t *bytes;
    uint32_t len;
};

/* What agents would tell of one period. Valid during the call. */
struct pd_sim_period {
    uint64_t from_us, to_us;
    /* Flows first; then what probes and meters counted on paths. */
    const struct pd_evidence_row *flows;
    const struct pd_sim_sender *senders; /* of each flow */
    size_t flows_len, rows_len;
    const struct pd_evidence_way *ways;  /* of all flows */
    const struct pd_sim_column *columns; /* of each way, what was measured there; NULL: none */
    const struct pd_sim_ended *ended;    /* in this period */
    size_t ended_len;
    bool anew; /* probes saw a link die or come back: theirs are of the time since then */
    const struct pd_sim_totals *totals;
};

static inline struct pd_evidence_period pd_sim_evidence(const struct pd_sim_period *period)
{
    return (struct pd_evidence_period){.from_us = period->from_us,
                                       .to_us = period->to_us,
                                       .anew = period->anew,
                                       .rows = period->flows,
                                       .rows_len = period->rows_len};
}

/* Called once a period. Non-zero ends the simulation, which then returns it. */
typedef int pd_sim_visit(void *context, const struct pd_sim_period *period);

int pd_sim_run(const struct pd_sim_scenario *scenario, uint64_t seed, pd_sim_visit *visit,
               void *context, struct pd_sim_totals *ret_totals, struct pd_error *error);

#endif
