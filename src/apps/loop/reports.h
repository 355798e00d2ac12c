/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that switches report by themselves: the query "loop" of a telemetry plan. */
#ifndef PD_APPS_LOOP_REPORTS_H
#define PD_APPS_LOOP_REPORTS_H

#include "apps/apps.h"
#include "codec/pint/plan.h"

/* Paper 002 (PINT), algorithm 2: a switch that finds its own digest on a packet once more than the
 * plan's threshold reports the packet and drops it. A report counts only if the packet's bits are
 * what this switch writes for it, and the counter is the threshold's: by chance that is so once in
 * 2^(bits * (threshold + 1)).
 *
 * The port by which the packet came in names a link of the loop, since the packet had been at this
 * switch before. Reports of links and flows that belong together make one circle; with all its
 * links it is closed.
 *
 * Belongs to one thread at a time. Bounded: 64 circles of 64 links and 64 flows. */

struct loop_reports;

int pd_loop_reports_new(struct loop_reports **ret_reports); /* 0 or -ENOMEM */
void pd_loop_reports_free(struct loop_reports *reports);    /* NULL is fine */

/* A packet of a switch; true when a link of a loop is new. */
bool pd_loop_reports_take(struct loop_reports *reports, const struct pd_app_world *world,
                          const struct pd_app_packet *packet, uint64_t now_us);

/* What ended at or after `from_us`; returns how many loops that is. */
uint32_t pd_loop_reports_tell(const struct loop_reports *reports, uint64_t from_us, bool edges_held,
                              struct pd_report *report);

/* Whether there is a plan by which switches report loops. */
bool pd_loop_reports_able(struct loop_reports *reports, const struct pd_app_world *world);

#endif
