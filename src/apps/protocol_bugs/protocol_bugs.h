/* SPDX-License-Identifier: Apache-2.0 */
/* protocol-bugs: what its parts share: flows with what they sent and lost, and which links they
 * crossed. */
#ifndef PD_APPS_PROTOCOL_BUGS_H
#define PD_APPS_PROTOCOL_BUGS_H

#include "apps/apps.h"

/* Internal to the folder. One thread. */

#define PB_FLOWS_MAX  (1u << 16) /* in one run; more are counted */
#define PB_LINKS_MAX  64         /* of one flow over all its paths; further ones are left out */
#define PB_LOAD_MAX   0.80       /* of what a link carries: losses beyond are those of its queue */
#define PB_LOST_MIN   3          /* retransmissions of a flow that suffers */
#define PB_RATE_MIN   0.002      /* and their share of its packets */
#define PB_PEER_PKTS  100        /* of a flow that did not suffer, to count against a suspicion */
#define PB_FLOWS_MIN  3          /* that suffer, of a group */
#define PB_CLEAN_PKTS 1000       /* of others over a link, to call it clean */

struct pb_link {
    uint32_t number;
    float share; /* of the flow's packets, summed over periods */
};

struct pb_flow {
    struct pd_flow_id id;
    uint32_t src_host, dst_host; /* IDs; 0: unknown */
    double pkts, lost;
    struct pb_link links[PB_LINKS_MAX];
    uint8_t links_len;
    bool explained; /* crosses a link that drops packets, or belongs to a group that was found */
};

/* Directed links by their number in the topology; parallel ones by that of the first. */
struct pb_links {
    uint32_t len;
    double *pkts, *lost; /* of the flows that are in no group at hand, by number */
    bool *own;           /* crossed by a group that is looked at */
    double *bytes;       /* of one period */
    double *down;        /* the same of links down to hosts, by index of the host */
};

struct pb_case {
    const struct pd_app_call *call;
    struct pd_report *report;
    struct pd_localiser *localiser;
    uint64_t period_us, link_mbps;
    struct pb_links links;
    struct pb_flow *flows;
    size_t flows_len, flows_room;
    uint32_t *slots; /* number + 1 of a flow, by ID */
    size_t slots_len;
    uint64_t lost, congested, pathless,
        uncounted; /* flows without room, over full links, with no known path, and traced
                      ones of which nobody counted what they sent */
};

/* flows.c */
int pd_protocol_bug_links_init(struct pb_case *c);
/* PD_NONE: no link of the topology. */
uint32_t pd_protocol_bug_link_number(const struct pb_case *c, uint32_t from, uint32_t to);
int pd_protocol_bug_take(void *context, const struct pd_evidence_period *period);
void pd_protocol_bug_done(struct pb_case *c); /* frees what `c` holds */

/* groups.c: what suffering flows that no link explains have in common. */
int pd_protocol_bug_conclude(struct pb_case *c, struct pd_error *error);

static inline bool pb_suffers(const struct pb_flow *flow)
{
    return flow->lost >= PB_LOST_MIN && flow->lost >= PB_RATE_MIN * flow->pkts;
}

#endif
