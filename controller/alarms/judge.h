/* SPDX-License-Identifier: Apache-2.0 */
/* What is believed of an alarm that somebody brings. */
#ifndef PD_CONTROLLER_ALARMS_JUDGE_H
#define PD_CONTROLLER_ALARMS_JUDGE_H

#include <stdbool.h>

#include "fleet/alarm_message.h"
#include "http/server.h"
#include "topology/topology.h"

/* An agent's certificate says which host it is, not that it tells the truth. So an agent may not
 * say what is the controller's to say; what somebody else than an agent brings is that person's
 * word ("api"); a time that cannot be is this moment; and a flow or a path that the topology does
 * not have is marked "unverified": people see it, applications do not.
 *
 * Thread safety: pure. */

/* A host's clock may be so far off. */
#define PD_CONTROLLER_ALARM_TIME_US (UINT64_C(86400) * 1000000)

struct pd_controller_alarm_judge {
    const struct pd_topology *topology;
    const struct pd_http_request *request; /* who brings it */
    bool open;                             /* nobody needs credentials: agents are not known */
    uint64_t now_us;                       /* wall time */
};

/* 0, with the message as it is to be stored; -PD_E_VALUE: it is refused. */
int pd_controller_alarm_judge(const struct pd_controller_alarm_judge *judge,
                              struct pd_alarm_message *message, struct pd_error *error);

#endif
