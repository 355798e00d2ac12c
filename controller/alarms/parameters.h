/* SPDX-License-Identifier: Apache-2.0 */
/* Which alarms a request wants: since, reason, limit, newest. */
#ifndef PD_CONTROLLER_ALARMS_PARAMETERS_H
#define PD_CONTROLLER_ALARMS_PARAMETERS_H

#include "controller/routes.h"
#include "fleet/alarm_message.h"

#define PD_ALARMS_LIMIT 100000u /* of an answer, when the request says nothing */

struct pd_alarm_parameters {
    bool has_since;
    uint64_t since;
    char reason[PD_ALARM_REASON_BYTES]; /* "": any */
    uint64_t limit;
    uint64_t newest; /* only so many, the newest; 0: all */
};

/* Each at most once. 0 or a negative error in words. What is not given stays as it was. */
int pd_alarm_parameters_read(struct pd_call *call, bool takes_limit,
                             struct pd_alarm_parameters *parameters, struct pd_problem *problem);

/* An ID: digits. -PD_E_VALUE. */
int pd_alarm_id_parse(const char *text, uint64_t *ret_id);

#endif
