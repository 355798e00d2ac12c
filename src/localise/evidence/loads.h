/* SPDX-License-Identifier: Apache-2.0 */
/* How much each link carried in one period: tells losses of a full queue from those of a faulty
 * interface. */
#ifndef PD_LOCALISE_EVIDENCE_LOADS_H
#define PD_LOCALISE_EVIDENCE_LOADS_H

#include "localise/links.h"
#include "localise/localise.h"

/* Bytes per link of the period at hand, summed over the records of all hosts. Access links are
 * links as well: they are where incast shows. One thread. */

#define PD_HOPS_MAX (PD_EVIDENCE_NODES_MAX + 1) /* links of a path between hosts */

struct pd_loads {
    double *bytes; /* by number of the link */
    size_t room;
};

void pd_loads_done(struct pd_loads *loads); /* works on zeroed memory */

/* A new period: nothing was carried yet. `links_len` links exist. 0 or -ENOMEM. */
int pd_loads_begin(struct pd_loads *loads, size_t links_len);

/* The links of a flow's way from host to host, numbered. 0, or an error of pd_links_add. */
int pd_loads_hops(struct pd_links *links, const struct pd_flow_id *flow,
                  const struct pd_evidence_way *way, uint32_t ret_hops[PD_HOPS_MAX],
                  size_t *ret_len);

#endif
