/* SPDX-License-Identifier: Apache-2.0 */
/* blackhole: the link that fell silent, where flows take one path each. */
#ifndef PD_APPS_BLACKHOLE_SILENCE_H
#define PD_APPS_BLACKHOLE_SILENCE_H

#include "apps/apps.h"

/* Of a flow that takes one path and of which nothing arrives nobody knows the path. But ordinary
 * traffic crosses every link again and again, and none of it the one that swallows packets. So a
 * link is suspected that
 * - carried packets, and none any more for so long that it is no chance: silence of w seconds at a
 *   mean of m packets a second that come with a dispersion d (Pearson's, over the periods before)
 *   has the chance d^(-m w / (d - 1)), that of a negative binomial number to be 0;
 * - most flows of which nothing arrives may have crossed, on one of their shortest paths.
 * Links between switches only. A link that swallows only what goes to one rack is silent for that
 * rack, and carries on for others: where no link is named, each pair of a link and a rack that its
 * packets went to is asked the same. So many pairs are kept as BH_PAIRS_MAX has room for; larger
 * networks are looked at by links alone.
 *
 * What was seen is kept from run to run (BH_PERIODS_MAX periods). Internal to the folder. One
 * thread. */

#define BH_PERIODS_MAX 64
#define BH_PAIRS_MAX   (1u << 17) /* 32 MiB for all periods; a 12-ary fat-tree has 124,416 */
#define BH_STUCK_MAX   256        /* flows of a period; what is beyond is left out */

struct bh_stuck {
    struct pd_flow_id flow;
    uint64_t seen_us; /* end of the period */
};

struct bh_period {
    uint64_t from_us, to_us;
    float *pkts; /* by link, then by pair */
};

/* A link that fell silent, for all or for one rack. */
struct bh_silent {
    uint32_t link;     /* number */
    uint32_t rack;     /* index of the switch that its packets went to; PD_NONE: to any */
    uint64_t since_us; /* end of the last period in which it carried packets */
    double chance;     /* of that without a fault */
    double share;      /* of the flows stuck since, that it explains; of all, where it is a pair */
    size_t stuck;      /* these flows */
};

struct bh_silence {
    const struct pd_topology *topology; /* that all below is of */
    uint32_t links_len, fabric_len;     /* directed; the second, between switches, come first */
    uint32_t pairs_len;                 /* links of the fabric × switches; 0: too many */
    struct bh_period periods[BH_PERIODS_MAX]; /* ascending */
    size_t len;
    struct bh_stuck stuck[BH_STUCK_MAX]; /* of late: the oldest goes */
    size_t stuck_len;
    uint64_t seen_us; /* all up to here has been looked at; 0: nothing was */
    /* What was named last stays silent until it carries packets, however long ago it fell so. */
    struct bh_silent held;
    size_t held_at; /* its place in `pkts` */
    bool holds;
};

/* Looks at what is new, `back_us` back at first. 0, or a negative error in words. */
int pd_blackhole_silence_look(struct bh_silence *silence, const struct pd_app_call *call,
                              uint64_t back_us, struct pd_report *report, struct pd_error *error);
/* Into the report, if links fell silent that flows are stuck behind; *ret_found: they did. 0 or
 * -ENOMEM. */
int pd_blackhole_silence_conclude(struct bh_silence *silence, struct pd_report *report,
                                  bool *ret_found);
void pd_blackhole_silence_done(struct bh_silence *silence); /* works on zeroed memory */

#endif
