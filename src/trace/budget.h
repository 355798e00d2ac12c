/* SPDX-License-Identifier: Apache-2.0 */
/* How often hosts may trace, so that no switch has to answer more often than it may. */
#ifndef PD_TRACE_BUDGET_H
#define PD_TRACE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "topology/topology.h"

/* Paper 003, section 4.1. Each switch of a traced path answers once, out of the budget T_max of
 * ICMP messages a second. Theorem 1 bounds the rate of a host on a Clos network, for traffic
 * between racks drawn evenly and ECMP. It counts the way up only: in the paper's own setting (T_max
 * 100, 2 pods of 20 ToRs and 8 T1s, 10 T2s, 40 hosts a rack) it allows one trace a second, and a T1
 * then answers 151 times. So the exact bound is worked out, too, by following the traffic from rack
 * to rack over all shortest paths; any graph has one. The rate is the smaller of the two.
 *
 * Both are means. When all hosts trace at once, answers of a switch spread around them: at the rate
 * of 112 hosts of 7 x 4 x 4 the busiest switch answered 107 to 121 times in each second of a storm,
 * at T_max 100. So a host holds a lower rate, at which that happens once in 10^6 seconds. Below one
 * trace a second there is but one token a host, and no rate helps the second in which all begin.
 *
 * Theorem 2 (section 5.2, in the precise form of theorem 3 in the appendix) says when the ranking
 * by votes is right: k links that drop a packet with `loss` stand above all good ones while these
 * drop at most `noise_max`, for flows of `pkts_min` to `pkts_max` packets.
 *
 * Thread safety: pure. */

struct pd_budget_ask {
    double t_max;       /* answers a second of a switch, > 0 */
    uint32_t bad_links; /* k; 0: nothing is asked of Theorem 2 */
    double loss;        /* of a bad link, 0 … 1 */
    uint32_t pkts_min, pkts_max;
};

struct pd_budget {
    bool is_clos;     /* else Theorems 1 and 2 say nothing */
    double theorem_1; /* traces a second of a host */
    double rate;      /* what is allowed on the mean */
    double held;      /* what to use */
    uint32_t busiest; /* switch, by index; PD_NONE: no traffic crosses any */
    /* answers a second of that switch, at the rate of Theorem 1, or where there is none at `rate`
     */
    double busiest_per_s;
    bool has_theorem_2; /* asked for, a Clos network, and k within its bound */
    double alpha, noise_max;
    bool holds; /* the conditions on the numbers of switches and pods */
};

/* 0; -PD_E_TOPOLOGY: there are not two racks with hosts; -ENOMEM. */
int pd_trace_budget_work_out(const struct pd_topology *topology, const struct pd_budget_ask *ask,
                             struct pd_budget *ret_budget, struct pd_error *error);

#endif
