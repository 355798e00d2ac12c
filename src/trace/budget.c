/* SPDX-License-Identifier: Apache-2.0 */
/* The bounds: shape of a Clos network, and the flow of traces over all shortest paths. */
#include "trace/budget.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPREAD 4.7534 /* standard deviations that a normal variable exceeds once in 10^6 */

/* ---- the Clos network of paper 003, figure 16 ---- */

struct clos {
    uint32_t n0, n1, n2, pods, hosts; /* ToRs and T1s of a pod, T2s, pods, hosts of a rack */
};

static uint32_t count_role(const struct pd_topology *topology, enum pd_switch_role role,
                           uint32_t pod)
{
    uint32_t len = 0;

    for (uint32_t i = 0; i < topology->switches_len; i++) {
        const struct pd_switch *sw = &topology->switches[i];

        len += sw->role == role && (!pod || sw->pod == pod);
    }
    return len;
}

/* Neighbours that are switches of this role, in this pod (0: any). */
static uint32_t neighbours_of(const struct pd_topology *topology, const struct pd_switch *sw,
                              enum pd_switch_role role, uint32_t pod)
{
    uint32_t len = 0;

    for (uint32_t i = 0; i < sw->switch_neighbours; i++) {
        const struct pd_switch *other = &topology->switches[sw->neighbours[i].node];

        len += other->role == role && (!pod || other->pod == pod);
    }
    return len;
}

static bool fits(const struct pd_topology *topology, const struct clos *clos,
                 const struct pd_switch *sw)
{
    uint32_t up, hosts = sw->neighbours_len - sw->switch_neighbours;

    switch (sw->role) {
    case PD_ROLE_TOR:
        up = neighbours_of(topology, sw, PD_ROLE_AGG, sw->pod);
        return up == clos->n1 && up == sw->switch_neighbours && hosts == clos->hosts;
    case PD_ROLE_AGG:
        up = neighbours_of(topology, sw, PD_ROLE_CORE, 0);
        return up == clos->n2 && !hosts &&
               neighbours_of(topology, sw, PD_ROLE_TOR, sw->pod) == clos->n0 &&
               sw->switch_neighbours == clos->n0 + clos->n2;
    case PD_ROLE_CORE: return sw->switch_neighbours == clos->pods * clos->n1 && !hosts;
    default: return false;
    }
}

static bool find_clos(const struct pd_topology *topology, struct clos *ret_clos)
{
    const struct pd_switch *switches = topology->switches;
    struct clos clos = {.n2 = count_role(topology, PD_ROLE_CORE, 0)};

    for (uint32_t i = 0; i < topology->switches_len; i++) {
        clos.pods = switches[i].pod > clos.pods ? switches[i].pod : clos.pods;
        if (switches[i].role == PD_ROLE_TOR && !clos.n0) {
            clos.n0 = count_role(topology, PD_ROLE_TOR, switches[i].pod);
            clos.n1 = count_role(topology, PD_ROLE_AGG, switches[i].pod);
            clos.hosts = switches[i].neighbours_len - switches[i].switch_neighbours;
        }
    }
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        if (!fits(topology, &clos, &switches[i])) {
            return false;
        }
    }
    *ret_clos = clos;
    return clos.n0 && clos.n1 && clos.n2 && clos.hosts &&
           count_role(topology, PD_ROLE_TOR, 0) == clos.n0 * clos.pods;
}

/* ---- Theorems 1 and 2 ---- */

/* n2 (n0 pods − 1) / (n0 (pods − 1)): how many T2 links a pod has for each flow that leaves it.
 * With one pod nothing leaves it. */
static double theorem_1(const struct clos *clos, double t_max)
{
    double n0 = clos->n0, pods = clos->pods;
    double out = pods > 1 ? clos->n2 * (n0 * pods - 1) / (n0 * (pods - 1)) : INFINITY;

    return t_max / (n0 * clos->hosts) * fmin(clos->n1, out);
}

static bool conditions_hold(const struct clos *clos)
{
    double n0 = clos->n0, n1 = clos->n1, n2 = clos->n2, most = fmax(n0 / n1, 1);

    if (clos->n0 <= clos->n2) {
        return false; /* n0 = n2 would need endless pods */
    }
    most = fmax(most, n2 * (n0 - 1) / (n0 * (n0 - n2)));
    return clos->pods >= 1 + most;
}

static void theorem_2(const struct clos *clos, const struct pd_budget_ask *ask,
                      struct pd_budget *budget)
{
    double n0 = clos->n0, k = ask->bad_links, leaving = n0 * (clos->pods - 1.0);
    double above = n0 * (4 * n0 - k) * (clos->pods - 1.0);
    double below = clos->n2 * (n0 * clos->pods - 1) - leaving * k;

    if (!ask->bad_links || below <= 0 || above <= 0) {
        return; /* as many bad links are beyond the theorem */
    }
    budget->has_theorem_2 = true;
    budget->alpha = above / below;
    budget->noise_max = -expm1(ask->pkts_min * log1p(-ask->loss)) / (ask->pkts_max * budget->alpha);
    budget->holds = conditions_hold(clos);
}

/* ---- the busiest switch ---- */

/* Traces that pass each switch a second when every host makes one, to another rack drawn evenly. */
struct flow {
    const struct pd_topology *topology;
    double *load, *mass; /* by switch; mass: of one target, still on its way */
    uint32_t *away;      /* hops to the target; PD_NONE: no way */
    uint32_t *order;     /* switches by that, near ones first */
    uint32_t order_len;
};

static uint32_t hosts_at(const struct pd_switch *sw)
{
    return sw->neighbours_len - sw->switch_neighbours;
}

static void measure(struct flow *flow, uint32_t target)
{
    for (uint32_t i = 0; i < flow->topology->switches_len; i++) {
        flow->away[i] = PD_NONE;
    }
    flow->away[target] = 0;
    flow->order[0] = target;
    flow->order_len = 1;
    for (uint32_t at = 0; at < flow->order_len; at++) {
        const struct pd_switch *sw = &flow->topology->switches[flow->order[at]];

        for (uint32_t i = 0; i < sw->switch_neighbours; i++) {
            uint32_t next = sw->neighbours[i].node;

            if (flow->away[next] == PD_NONE) {
                flow->away[next] = flow->away[flow->order[at]] + 1;
                flow->order[flow->order_len++] = next;
            }
        }
    }
}

/* ECMP hop by hop: each way on is as likely as the others, a cable beside another one is a way. */
static void pass_on(const struct flow *flow, uint32_t from)
{
    const struct pd_switch *sw = &flow->topology->switches[from];
    uint32_t ways = 0;

    for (uint32_t i = 0; i < sw->switch_neighbours; i++) {
        bool nearer = flow->away[sw->neighbours[i].node] + 1 == flow->away[from];

        ways += nearer ? sw->neighbours[i].parallel : 0;
    }
    for (uint32_t i = 0; i < sw->switch_neighbours; i++) {
        const struct pd_neighbour *next = &sw->neighbours[i];

        if (flow->away[next->node] + 1 == flow->away[from]) {
            flow->mass[next->node] += flow->mass[from] * next->parallel / ways;
        }
    }
}

static void send_to(struct flow *flow, uint32_t target, uint32_t racks)
{
    const struct pd_topology *topology = flow->topology;

    measure(flow, target);
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        bool sends = i != target && flow->away[i] != PD_NONE;

        flow->mass[i] = sends ? (double)hosts_at(&topology->switches[i]) / (racks - 1) : 0;
    }
    for (uint32_t at = flow->order_len; at-- > 0;) {
        uint32_t sw = flow->order[at];

        flow->load[sw] += flow->mass[sw];
        if (sw != target) {
            pass_on(flow, sw);
        }
    }
}

static uint32_t count_racks(const struct pd_topology *topology)
{
    uint32_t len = 0;

    for (uint32_t i = 0; i < topology->switches_len; i++) {
        len += hosts_at(&topology->switches[i]) > 0;
    }
    return len;
}

static void follow(struct flow *flow, uint32_t racks, uint32_t *ret_busiest, double *ret_load)
{
    const struct pd_topology *topology = flow->topology;

    for (uint32_t i = 0; i < topology->switches_len; i++) {
        if (hosts_at(&topology->switches[i])) {
            send_to(flow, i, racks);
        }
    }
    *ret_busiest = PD_NONE;
    *ret_load = 0;
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        if (flow->load[i] > *ret_load) {
            *ret_load = flow->load[i];
            *ret_busiest = i;
        }
    }
}

static int find_busiest(const struct pd_topology *topology, uint32_t racks, uint32_t *ret_busiest,
                        double *ret_load)
{
    size_t len = topology->switches_len;
    struct flow flow = {topology,
                        calloc(len, sizeof(double)),
                        calloc(len, sizeof(double)),
                        calloc(len, sizeof(uint32_t)),
                        calloc(len, sizeof(uint32_t)),
                        0};
    int err = flow.load && flow.mass && flow.away && flow.order ? 0 : -ENOMEM;

    if (!err) {
        follow(&flow, racks, ret_busiest, ret_load);
    }
    free(flow.load);
    free(flow.mass);
    free(flow.away);
    free(flow.order);
    return err;
}

/* ---- all of it ---- */

/* The mean x of answers a second at which x + SPREAD * sqrt(x) are t_max: a sum of answers that
 * come or do not has at most the variance x. */
static double held_rate(double rate, double load, double t_max)
{
    const double root = (sqrt(SPREAD * SPREAD + 4 * t_max) - SPREAD) / 2;

    return rate < 1 || load <= 0 ? rate : fmax(1, fmin(rate, root * root / load));
}

int pd_trace_budget_work_out(const struct pd_topology *topology, const struct pd_budget_ask *ask,
                             struct pd_budget *ret_budget, struct pd_error *error)
{
    struct pd_budget budget = {0};
    struct clos clos;
    uint32_t racks = count_racks(topology);
    double load;
    int err;

    if (racks < 2) {
        return pd_fail(error, -PD_E_TOPOLOGY,
                       "there are no two switches with hosts: nothing is traced between racks");
    }
    err = find_busiest(topology, racks, &budget.busiest, &load);
    if (err) {
        return pd_fail(error, err, "%s", pd_error_text(err));
    }
    budget.rate = load > 0 ? ask->t_max / load : 0;
    budget.is_clos = find_clos(topology, &clos);
    if (budget.is_clos) {
        budget.theorem_1 = theorem_1(&clos, ask->t_max);
        budget.rate = fmin(budget.rate, budget.theorem_1);
        theorem_2(&clos, ask, &budget);
    }
    budget.held = held_rate(budget.rate, load, ask->t_max);
    budget.busiest_per_s = load * (budget.is_clos ? budget.theorem_1 : budget.rate);
    *ret_budget = budget;
    return 0;
}
