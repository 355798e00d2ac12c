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
 * Links between switches only.
 *
 * What was seen is kept from run to run (BH_PERIODS_MAX periods). Internal to the folder. One
 * thread. */

#define BH_PERIODS_MAX 64
#define BH_STUCK_MAX   256 /* flows of a period; what is beyond is left out */

struct bh_stuck {
    struct pd_flow_id flow;
    uint64_t seen_us; /* end of the period */
};

struct bh_period {
    uint64_t from_us, to_us;
    float *pkts; /* by link */
};

struct bh_silence {
    const struct pd_topology *topology; /* that all below is of */
    uint32_t links_len;
    struct bh_period periods[BH_PERIODS_MAX]; /* ascending */
    size_t len;
    struct bh_stuck stuck[BH_STUCK_MAX]; /* of late: the oldest goes */
    size_t stuck_len;
    uint64_t seen_us; /* all up to here has been looked at; 0: nothing was */
};

/* A link that fell silent. */
struct bh_silent {
    uint32_t link;     /* number */
    uint64_t since_us; /* end of the last period in which it carried packets */
    double chance;     /* of that without a fault */
    double share;      /* of the flows stuck since, that it explains */
    size_t stuck;      /* these flows */
};

/* Looks at what is new, `back_us` back at first. 0, or a negative error in words. */
int pd_blackhole_silence_look(struct bh_silence *silence, const struct pd_app_call *call,
                              uint64_t back_us, struct pd_report *report, struct pd_error *error);
/* Into the report, if links fell silent that flows are stuck behind; *ret_found: they did. 0 or
 * -ENOMEM. */
int pd_blackhole_silence_conclude(const struct bh_silence *silence, struct pd_report *report,
                                  bool *ret_found);
void pd_blackhole_silence_done(struct bh_silence *silence); /* works on zeroed memory */

#endif
