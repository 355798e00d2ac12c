/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of requests for alarms. */
#include "controller/alarms/parameters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 15u /* below 2^53 */

enum { SINCE = 1, REASON = 2, LIMIT = 4, NEWEST = 8 };

int pd_alarm_id_parse(const char *text, uint64_t *ret_id)
{
    size_t len = strspn(text, "0123456789");

    if (!len || len > DIGITS_MAX || text[len]) {
        return -PD_E_VALUE;
    }
    *ret_id = strtoull(text, NULL, 10);
    return 0;
}

static unsigned name_bit(const char *name, bool takes_limit)
{
    if (!strcmp(name, "since")) {
        return SINCE;
    }
    if (!strcmp(name, "reason")) {
        return REASON;
    }
    if (takes_limit && !strcmp(name, "newest")) {
        return NEWEST;
    }
    return takes_limit && !strcmp(name, "limit") ? LIMIT : 0;
}

static int take_number(const char *name, const char *value, uint64_t *ret_number,
                       struct pd_error *error)
{
    uint64_t number;

    if (pd_alarm_id_parse(value, &number) || !number || number > PD_ALARMS_LIMIT) {
        return pd_fail(error, -PD_E_VALUE, "%s: expects a number from 1 to %u", name,
                       PD_ALARMS_LIMIT);
    }
    *ret_number = number;
    return 0;
}

static int take(struct pd_alarm_parameters *parameters, unsigned bit, const char *value,
                struct pd_error *error)
{
    switch (bit) {
    case SINCE:
        parameters->has_since = true;
        return pd_alarm_id_parse(value, &parameters->since)
                   ? pd_fail(error, -PD_E_VALUE, "since: expects the ID of an alarm")
                   : 0;
    case LIMIT: return take_number("limit", value, &parameters->limit, error);
    case NEWEST: return take_number("newest", value, &parameters->newest, error);
    default:
        if (!pd_fleet_alarm_reason_holds(value)) {
            return pd_fail(error, -PD_E_VALUE, "reason: expects a reason as in PC_FAIL");
        }
        snprintf(parameters->reason, sizeof parameters->reason, "%s", value);
        return 0;
    }
}

int pd_alarm_parameters_read(struct pd_call *call, bool takes_limit,
                             struct pd_alarm_parameters *parameters, struct pd_problem *problem)
{
    char value[PD_TARGET_MAX_BYTES];
    unsigned seen = 0;
    int err;

    while (
        (err = pd_http_target_next(&call->parameters, problem->parameter, sizeof problem->parameter,
                                   value, sizeof value, &problem->error)) > 0) {
        unsigned bit = name_bit(problem->parameter, takes_limit);

        if (!bit) {
            return pd_fail(&problem->error, -PD_E_UNKNOWN_KEY, "%s: unknown parameter",
                           problem->parameter);
        }
        if (seen & bit) {
            return pd_fail(&problem->error, -PD_E_VALUE, "%s: given twice", problem->parameter);
        }
        seen |= bit;
        err = take(parameters, bit, value, &problem->error);
        if (err) {
            return err;
        }
    }
    if (!err) {
        problem->parameter[0] = '\0';
    }
    return err;
}
