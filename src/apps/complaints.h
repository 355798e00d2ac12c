/* SPDX-License-Identifier: Apache-2.0 */
/* Whom the alarms of suffering flows are about. */
#ifndef PD_APPS_COMPLAINTS_H
#define PD_APPS_COMPLAINTS_H

#include "apps/senders.h"

/* Flows of alarms, by destination, then by source. One thread; the caller frees the list. */
struct pd_app_complaints {
    struct pd_flow_id *list;
    size_t len;
};

/* Alarms of the window, and of `before_us` before it; those that do not say whom they are about,
 * and more of them than are looked at, stand in the report under `lacks`. */
int pd_app_complaints_ask(const struct pd_app_call *call, const struct pd_app_window *window,
                          uint64_t before_us, struct pd_report *report,
                          struct pd_app_complaints *complaints, struct pd_error *error);

/* The destination of the alarm that started the run, if it is about a flow; else the one that most
 * sources complain about. Sets the receiver's address and `sources`. */
void pd_app_complaints_choose(const struct pd_app_complaints *complaints,
                              const struct pd_app_alarm *started, struct pd_app_receiver *receiver);

#endif
