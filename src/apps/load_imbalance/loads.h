/* SPDX-License-Identifier: Apache-2.0 */
/* What links of a choice carried, interval by interval, and which flows of which sizes. */
#ifndef PD_APPS_LOAD_IMBALANCE_LOADS_H
#define PD_APPS_LOAD_IMBALANCE_LOADS_H

#include "apps/flows.h"
#include "apps/measured.h"
#include "apps/window.h"

/* Internal to load-imbalance. A *group* is a set of links that share traffic which could have gone
 * over any of them: the uplinks of a switch, or the links given. Links lie sorted, a group's
 * together. */

#define LOADS_CELLS_MAX     (UINT64_C(1) << 22) /* links times intervals */
#define LOADS_INTERVALS_MAX 1000

struct load_link {
    struct pd_link_match link;
    uint32_t group;
    uint64_t bytes, pkts, flows; /* of the window; whole records */
    double squares;              /* sum of the squares of the flows' bytes */
    double measured;             /* share of the capacity at the port; negative: not known */
};

/* A flow on a link of a group. */
struct load_flow {
    uint32_t link; /* index */
    uint64_t bytes;
};

struct loads {
    struct load_link *links;
    size_t links_len, links_room;
    uint32_t groups_len;
    double *cells; /* bytes: links_len rows of intervals_len */
    size_t intervals_len;
    double interval_s;
    struct load_flow
        *flows; /* after pd_load_imbalance_loads_count: sorted by group, largest first */
    size_t flows_len, flows_room;
};

/* Which links: --links, --switch, or the uplinks of each switch that has at least two. */
int pd_load_imbalance_loads_choose(struct loads *loads, const struct pd_app_call *call,
                                   struct pd_error *error);
/* The one switch that all links begin at; 0: there are several. */
uint32_t pd_load_imbalance_loads_switch(const struct loads *loads);
int pd_load_imbalance_loads_count(struct loads *loads, const struct pd_app_flows *flows,
                                  const struct pd_app_window *window, double interval_s,
                                  struct pd_error *error);
/* What ports measured. Returns how many links were. */
size_t pd_load_imbalance_loads_measure(struct loads *loads, const struct pd_app_measured *measured);
/* Whether all of a group were, so that they can be compared by it. */
bool pd_load_imbalance_loads_measured(const struct loads *loads, uint32_t group);
void pd_load_imbalance_loads_done(struct loads *loads); /* works on zeroed memory */

/* The links of a group: [*ret_begin, *ret_end). */
void pd_load_imbalance_loads_group(const struct loads *loads, uint32_t group, size_t *ret_begin,
                                   size_t *ret_end);
/* Its flows, likewise. */
void pd_load_imbalance_loads_group_flows(const struct loads *loads, uint32_t group,
                                         size_t *ret_begin, size_t *ret_end);

#endif
