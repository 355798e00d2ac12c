/* SPDX-License-Identifier: Apache-2.0 */
/* A localiser fed with evidence of some kinds, run after run, and what it says: what silent-drops
 * and probe-faults have in common. */
#ifndef PD_APPS_SILENT_DROPS_SEARCH_H
#define PD_APPS_SILENT_DROPS_SEARCH_H

#include "apps/apps.h"

/* Arguments: "method" (a localiser), "seconds" (how far back the first look goes), "link_mbps".
 * The state is pd_silent_drop_search_close()'s to free. `name` is the application's, a constant;
 * `wanted` are bits of enum pd_app_evidence. */
int pd_silent_drop_search_open(const struct pd_app_call *call, const char *name, unsigned wanted,
                               void **ret_state, struct pd_error *error);
int pd_silent_drop_search_run(void *state, const struct pd_app_call *call, struct pd_report *report,
                              struct pd_error *error);
void pd_silent_drop_search_close(void *state); /* NULL is nothing */

#endif
