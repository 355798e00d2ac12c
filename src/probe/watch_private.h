/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the watch share. */
#ifndef PD_PROBE_WATCH_PRIVATE_H
#define PD_PROBE_WATCH_PRIVATE_H

#include "probe/watch.h"

/* A path of the plan. */
struct pd_probe_planned {
    struct pd_probe_way way;
    uint32_t missing;  /* on end */
    uint64_t *lost_at; /* numbers of the newest PD_PROBE_WATCH_LOSSY that were lost, a ring */
    uint32_t lost_len;
    uint32_t hint;                 /* somebody said that it is silent */
    bool fell_silent, came_back;   /* and nothing was begun anew for that yet */
    struct pd_probe_way *prefixes; /* while it is isolated */
    size_t prefixes_len, prefixes_room;
    uint64_t isolated; /* its probes when ways were looked for last */
    bool arrived;      /* one of them has, since the first of these were laid */
    uint32_t open;     /* its directions that nothing is known to have crossed since then */
};

struct pd_probe_watch {
    struct pd_probe_watch_config config;
    const struct pd_topology *topology;
    struct pd_plan_graph graph;
    struct pd_plan plan;
    struct pd_probe_planned *planned;
    struct pd_probe_way **ways; /* all there are */
    size_t ways_len, ways_room;
    bool *well;                    /* by directed link */
    bool *passed;                  /* likewise, by the further ways of one path: scratch */
    bool *dead;                    /* likewise: for certain */
    bool *able;                    /* of each host: it sends and collects */
    bool *begins_well, *ends_well; /* of each host: with probes that are well */
    bool anew;
    uint32_t hosts_given, numbers_given;
};

/* ---- way.c */

/* One of the hosts of a switch, another one each time, rather one whose link is known to be well;
 * PD_NONE: it has none. */
uint32_t pd_probe_way_host(struct pd_probe_watch *watch, uint32_t sw, const bool *well);
/* From a host at the first switch to one at the last. 0, -ENOMEM, or -PD_E_TOPOLOGY: no host. */
int pd_probe_way_make(struct pd_probe_watch *watch, uint32_t src, uint32_t dst,
                      const uint32_t *switches, uint32_t hops, struct pd_probe_way *ret_way);
void pd_probe_way_done(struct pd_probe_way *way);

/* ---- round.c */

#define PD_PROBE_ROUND_AGAIN 5u /* probes of a path; then more ways are looked for */

/* Whether a path lost enough of its newest probes. */
bool pd_probe_round_suspects(const struct pd_probe_watch *watch,
                             const struct pd_probe_planned *planned);
/* Neither end of the path is one of the way's. */
bool pd_probe_round_is_another_word(const struct pd_probe_way *path,
                                    const struct pd_probe_way *way);
/* Further ways of a path, beside those that it has. 0 or -ENOMEM. */
int pd_probe_round_lay(struct pd_probe_watch *watch, uint32_t path);
void pd_probe_round_forget(struct pd_probe_planned *planned);
/* What silent paths and their further ways say together: finds `dead`. */
void pd_probe_round_judge(struct pd_probe_watch *watch);

#endif
