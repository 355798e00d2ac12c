/* SPDX-License-Identifier: Apache-2.0 */
/* What each link carried in a window. */
#ifndef PD_APPS_CONGESTED_LINK_USE_H
#define PD_APPS_CONGESTED_LINK_USE_H

#include "apps/flows.h"
#include "apps/measured.h"
#include "apps/window.h"
#include "topology/topology.h"

/* Internal to congested-link. Bytes of records are prorated: a record of a minute does not fill a
 * window of ten seconds. */

struct use {
    struct pd_link_match link;
    double bytes;
    uint64_t flows;  /* and paths */
    double measured; /* share of the capacity at the port; negative: not known */
};

struct use_flow {
    const struct pd_app_row *row;
    double bytes; /* in the window */
    bool moved;
};

struct uses {
    struct use *list; /* all links of the topology, in order */
    size_t len;
    struct use_flow *flows; /* largest first */
    size_t flows_len;
    double capacity_bytes; /* of a link, in the window */
};

/* `flows` must outlive it. 0 or -ENOMEM. */
int pd_congested_link_uses_count(struct uses *uses, const struct pd_topology *topology,
                                 const struct pd_app_flows *flows,
                                 const struct pd_app_window *window, uint64_t link_mbps);
/* A port that measured more than arrived over it has sent more: the difference was lost, or was
 * there in bursts. Returns how many links were measured. */
size_t pd_congested_link_uses_measure(struct uses *uses, const struct pd_app_measured *measured);
struct use *pd_congested_link_uses_find(const struct uses *uses,
                                        struct pd_link_match link); /* NULL: there is none */
void pd_congested_link_uses_done(struct uses *uses);                /* works on zeroed memory */

#endif
