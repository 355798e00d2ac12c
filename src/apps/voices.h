/* SPDX-License-Identifier: Apache-2.0 */
/* Voices: whose word a finding is, and whether hosts could have made it themselves. */
#ifndef PD_APPS_VOICES_H
#define PD_APPS_VOICES_H

#include "apps/apps.h"

/* A record is the word of the host that received the packets; what they carried may be the work of
 * the host that sent them, where its rack lets marks of hosts in. So evidence that one host alone
 * can make is named as such, and nothing that rests on marks is certain where an edge is open.
 *
 * Thread safety: as of their arguments. */

struct pd_app_voices {
    uint32_t told, sent; /* ID of the first host that received, that sent; 0: of no known host */
    bool any, told_by_several, sent_by_several;
};

/* A flow that a finding rests on. */
void pd_app_voices_add(struct pd_app_voices *voices, const struct pd_topology *topology,
                       const struct pd_flow_id *flow);

/* Adds to the evidence whose word `what` is; nothing where no flow was added. */
void pd_app_voices_say(const struct pd_app_voices *voices, const char *what,
                       struct pd_report *report);

/* Says how many edges are open (then the report lacks something) or not known. All 0 in a world
 * where no host makes marks. */
struct pd_app_edges pd_app_edges_say(const struct pd_app_call *call, struct pd_report *report);

#endif
