/* SPDX-License-Identifier: Apache-2.0 */
/* Packet spraying: what each path carried of one flow. */
#ifndef PD_APPS_LOAD_IMBALANCE_SPRAY_H
#define PD_APPS_LOAD_IMBALANCE_SPRAY_H

#include "apps/window.h"

/* Internal to load-imbalance. The flow of the arguments: dst_ip, and as much else of the flow ID as
 * was given. */
int pd_load_imbalance_spray_run(const struct pd_app_call *call, const struct pd_app_window *window,
                                struct pd_report *report, struct pd_error *error);

#endif
