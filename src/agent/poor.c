/* SPDX-License-Identifier: Apache-2.0 */
/* Between the TCP monitor and the agent: questions, alarms, the log. */
#include "agent/poor.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/settings.h"
#include "base/log.h"
#include "monitor/json.h"

#define MODULE "tcp"

int pd_agent_poor(struct pd_agent *agent, const struct pd_poor_question *question,
                  json_t **ret_answer, struct pd_error *error)
{
    const struct pd_monitor_request wanted = {.threshold = (uint32_t)question->threshold,
                                              .from_us =
                                                  question->has_from ? question->from_us : 0};
    struct pd_monitor_list list;
    json_t *answer;

    if (!agent->monitor) {
        return pd_fail(error, -PD_E_UNSUPPORTED,
                       "not supported here: this agent does not watch TCP");
    }
    if (pd_monitor_list(agent->monitor, &wanted, &list)) {
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

/* ---- alarms ---- */

struct pd_agent_poor_alarms {
    struct pd_alarms *alarms;
    pthread_mutex_t lock; /* of what follows */
    struct pd_model *model;
    struct pd_agent_poor_filter filter; /* its topology is the model's */
};

static bool is_here(const struct pd_topology *topology, const struct pd_addr *addr,
                    uint8_t ip_version)
{
    uint32_t tors[PD_HOMES_MAX];

    return pd_topology_tors_of(topology, addr, ip_version, tors) != 0;
}

bool pd_agent_poor_counts(const struct pd_agent_poor_filter *filter, const struct pd_flow_id *flow)
{
    for (size_t i = 0; i < 2; i++) {
        uint16_t own = filter->own_ports[i];

        if (own && (flow->src_port == own || flow->dst_port == own)) {
            return false;
        }
    }
    return filter->all || (is_here(filter->topology, &flow->src, flow->ip_version) &&
                           is_here(filter->topology, &flow->dst, flow->ip_version));
}

static bool counts(struct pd_agent_poor_alarms *poor, const struct pd_flow_id *flow)
{
    bool counts;

    pthread_mutex_lock(&poor->lock);
    counts = pd_agent_poor_counts(&poor->filter, flow);
    pthread_mutex_unlock(&poor->lock);
    return counts;
}

/* The sender does not know the path of what is lost: receivers' records do. */
static void raise_alarm(void *context, const struct pd_monitor_alarm *alarm)
{
    struct pd_agent_poor_alarms *poor = context;
    const struct pd_monitor_flow *flow = alarm->flow;
    char detail[PD_ALARM_DETAIL_BYTES];

    if (!counts(poor, &flow->flow)) {
        return;
    }

    snprintf(detail, sizeof detail,
             "%" PRIu32 " retransmission%s in %" PRIu64 " ms (consecutive %" PRIu32
             ", timeouts %" PRIu32 ", srtt %" PRIu32 " us)",
             flow->recent, flow->recent == 1 ? "" : "s", alarm->period_ms, flow->consecutive,
             flow->timeouts, flow->srtt_us);
    (void)pd_alarms_raise(poor->alarms, &(struct pd_alarm_raise){.reason = PD_ALARM_POOR_PERF,
                                                                 .flow = &flow->flow,
                                                                 .detail = detail});
}

/* Of "HOST:PORT" and of a URL; 0 where there is none. */
static uint16_t port_of(const char *address)
{
    const char *colon = address && strncmp(address, "unix:", 5) != 0 ? strrchr(address, ':') : NULL;

    return colon ? (uint16_t)strtoul(colon + 1, NULL, 10) : 0;
}

static int make_poor(struct pd_agent *agent)
{
    struct pd_agent_poor_alarms *poor = calloc(1, sizeof *poor);

    if (!poor) {
        return -ENOMEM;
    }
    pthread_mutex_init(&poor->lock, NULL);
    poor->alarms = agent->alarms;
    poor->filter.all = !agent->model; /* tests */
    if (agent->settings) {
        poor->filter.all |= agent->settings->tcp_alarm_all;
        poor->filter.own_ports[0] = port_of(agent->settings->listen);
        poor->filter.own_ports[1] = port_of(agent->settings->controller);
    }
    agent->poor = poor;
    if (agent->model) {
        pd_agent_poor_model(agent, agent->model);
    }
    return 0;
}

void pd_agent_poor_model(struct pd_agent *agent, struct pd_model *model)
{
    struct pd_agent_poor_alarms *poor = agent->poor;
    struct pd_model *old;

    if (!poor) {
        return;
    }
    pthread_mutex_lock(&poor->lock);
    old = poor->model;
    poor->model = pd_agent_model_hold(model);
    poor->filter.topology = model->topology;
    pthread_mutex_unlock(&poor->lock);
    pd_agent_model_free(old);
}

void pd_agent_poor_done(struct pd_agent *agent)
{
    if (agent->poor) {
        pd_agent_model_free(agent->poor->model);
        pthread_mutex_destroy(&agent->poor->lock);
        free(agent->poor);
    }
    agent->poor = NULL;
}

int pd_agent_watch_tcp(struct pd_agent *agent, const struct pd_monitor_config *config,
                       struct pd_error *error)
{
    struct pd_monitor_config ours = *config;
    struct pd_monitor_stat stat;
    int err = make_poor(agent);

    if (err) {
        return pd_fail(error, err, "tcp-monitor: no memory");
    }
    ours.alarm = raise_alarm;
    ours.context = agent->poor;
    err = pd_monitor_open(&ours, &agent->monitor, error);
    if (err) {
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
