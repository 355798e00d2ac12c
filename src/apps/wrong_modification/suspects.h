/* SPDX-License-Identifier: Apache-2.0 */
/* Suspects: switches and links that wrong flows have in common and right flows do not cross. */
#ifndef PD_APPS_WRONG_MODIFICATION_SUSPECTS_H
#define PD_APPS_WRONG_MODIFICATION_SUSPECTS_H

#include "apps/wrong_modification/flows.h"

/* A switch that changes packets lies on the path of each flow that it changed. Counted for each
 * switch: wrong flows that (may) have crossed it, and right ones that did. Suspects are, of the
 * switches on the paths of most wrong flows, those that the fewest right flows crossed; a link
 * likewise. An infeasible trajectory has no path: it may have crossed each switch on a shortest
 * path between its racks.
 *
 * Internal to src/apps/wrong_modification. */

#define WM_SUSPECTS_MAX 32
#define WM_WRONG_MAX    10000 /* wrong flows of a kind that are counted: more say no more */

struct wm_suspects {
    uint32_t ids[WM_SUSPECTS_MAX];
    size_t len, wrong; /* wrong: flows that there are of this kind */
    size_t covered;    /* of them, each suspect is on the paths of so many */
    /* right flows that cross each suspect: 0 is what a switch has that changes all it gets */
    size_t right;
    size_t sources; /* different source addresses of the wrong flows, at most 2 are counted */
};

/* Of the wrong flows of this kind (WM_UNSENT or WM_INFEASIBLE). 0 or -ENOMEM. */
int pd_wrong_modification_find_suspects(const struct pd_topology *topology,
                                        const struct wm_flows *flows, enum wm_kind kind,
                                        struct wm_suspects *ret_suspects);

/* Links on the paths of all wrong flows of WM_UNSENT and of no right one go into the report. */
void pd_wrong_modification_add_links(const struct wm_flows *flows,
                                     const struct wm_suspects *suspects, struct pd_report *report);

#endif
