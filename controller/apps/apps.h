/* SPDX-License-Identifier: Apache-2.0 */
/* Applications at the controller: run by hand, watched, or fed with packets of switches. */
#ifndef PD_CONTROLLER_APPS_APPS_H
#define PD_CONTROLLER_APPS_APPS_H

#include "controller/controller.h"
#include "controller/switches/switches.h"

/* Their world (src/apps/apps.h) is this controller: questions take the way of POST /v1/execute,
 * alarms come out of the alarm store, packets from and to switches. Each run gets the topology of
 * the inventory in force; a state that was kept is opened anew when that was replaced.
 *
 * Three ways to start one: POST /v1/apps/NAME, in the thread of the request, a few at a time; a
 * watch, by period or by alarm, in one thread of their own, kept over a restart (watches.json in
 * the state directory); a packet of a switch, in another thread, for applications that want
 * packets. When what a watch or a packet finds has changed, that is an alarm of the controller:
 * APP_NAME. */

extern const struct pd_part pd_apps_part;

/* What POST /v1/watches does, but for the file: gone with the process. `watch`: its body. */
int pd_apps_watch(struct pd_controller *controller, const json_t *watch, struct pd_error *error);

/* The last report of each watch, under a lock: `take` is quick, and asks nobody. */
void pd_apps_reports(struct pd_controller *controller,
                     void (*take)(void *context, const json_t *report), void *context);

/* From the switches' thread: returns soon. */
void pd_apps_packet(struct pd_controller *controller, const struct pd_switches_packet_in *packet);

#endif
