/* SPDX-License-Identifier: Apache-2.0 */
/* Between the TCP monitor and the agent: questions, alarms, the log. */
#include "agent/poor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "monitor/json.h"

#define MODULE "tcp"

int pd_agent_poor(struct pd_agent *agent, const struct pd_poor_question *question,
                  json_t **ret_answer, struct pd_error *error)
{
    const struct pd_monitor_wish wish = {.threshold = (uint32_t)question->threshold,
                                         .from_us = question->has_from ? question->from_us : 0};
    struct pd_monitor_list list;
    json_t *answer;

    if (!agent->monitor) {
        return pd_fail(error, -PD_E_UNSUPPORTED,
                       "not supported here: this agent does not watch TCP");
    }
    if (pd_monitor_list(agent->monitor, &wish, &list)) {
        return pd_fail(error, -ENOMEM, "no memory for the list of connections");
    }
    answer = pd_monitor_list_json(&list, question->has_from);
    pd_monitor_list_done(&list);
    if (!answer) {
        return pd_fail(error, -ENOMEM, "no memory for the answer");
    }
    *ret_answer = answer;
    return 0;
}

/* The sender does not know the path of what is lost: receivers' records do. */
static void raise_alarm(void *context, const struct pd_monitor_alarm *alarm)
{
    const struct pd_monitor_flow *flow = alarm->flow;
    char detail[PD_ALARM_DETAIL_BYTES];

    snprintf(detail, sizeof detail,
             "%" PRIu32 " retransmission%s in %" PRIu64 " ms (consecutive %" PRIu32
             ", timeouts %" PRIu32 ", srtt %" PRIu32 " us)",
             flow->recent, flow->recent == 1 ? "" : "s", alarm->period_ms, flow->consecutive,
             flow->timeouts, flow->srtt_us);
    (void)pd_alarms_raise(context, &(struct pd_alarm_raise){.reason = PD_ALARM_POOR_PERF,
                                                            .flow = &flow->flow,
                                                            .detail = detail});
}

int pd_agent_watch_tcp(struct pd_agent *agent, const struct pd_monitor_config *config,
                       struct pd_error *error)
{
    struct pd_monitor_config ours = *config;
    struct pd_monitor_stat stat;
    int e;

    ours.alarm = raise_alarm;
    ours.context = agent->alarms;
    e = pd_monitor_open(&ours, &agent->monitor, error);
    if (e) {
        return pd_fail_within(error, "tcp-monitor");
    }
    pd_monitor_stat(agent->monitor, &stat);
    if (*stat.reason) {
        pd_log(PD_LOG_WARN, MODULE, NULL, "TCP connections are watched by %s, since there is no %s",
               pd_monitor_source_id(stat.source), stat.reason);
    } else {
        pd_log(PD_LOG_INFO, MODULE, NULL, "TCP connections are watched by %s",
               pd_monitor_source_id(stat.source));
    }
    return 0;
}
