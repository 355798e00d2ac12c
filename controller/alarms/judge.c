/* SPDX-License-Identifier: Apache-2.0 */
/* Alarms held against who brings them, the clock and the topology. */
#include "controller/alarms/judge.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "http/role.h"

static int judge_origin(const struct pd_controller_alarm_judge *judge,
                        struct pd_alarm_message *message, struct pd_error *error)
{
    if (judge->request->role == PD_ROLE_ADMIN && !judge->open) {
        message->origin = PD_ALARM_ORIGIN_API;
        snprintf(message->by, sizeof message->by, "%s",
                 judge->request->peer ? judge->request->peer : "");
    } else if (message->origin == PD_ALARM_ORIGIN_APP || message->origin == PD_ALARM_ORIGIN_API) {
        return pd_fail(error, -PD_E_VALUE, "origin: %s is none that a host has",
                       pd_fleet_alarm_origin_id(message->origin));
    }
    return pd_fleet_alarm_origin_fits(message->origin, message->reason)
               ? 0
               : pd_fail(error, -PD_E_VALUE, "reason: %s is none of the origin %s", message->reason,
                         pd_fleet_alarm_origin_id(message->origin));
}

static void judge_time(uint64_t now_us, struct pd_alarm_message *message)
{
    size_t used = strlen(message->detail);
    uint64_t told_us = message->time_us;
    uint64_t apart_us = told_us > now_us ? told_us - now_us : now_us - told_us;

    if (apart_us <= PD_CONTROLLER_ALARM_TIME_US) {
        return;
    }
    message->time_us = now_us;
    snprintf(message->detail + used, sizeof message->detail - used,
             "%sits host's clock said %" PRIu64 " us", used ? "; " : "", told_us);
}

static bool has_path(const struct pd_topology *topology, const struct pd_path *path)
{
    uint32_t before = PD_NONE;

    for (uint32_t i = 0; i < path->len; i++) {
        uint32_t at = pd_topology_switch(topology, path->switches[i]);

        if (at == PD_NONE || (i && !pd_topology_link(topology, before, at))) {
            return false;
        }
        before = at;
    }
    return true;
}

static bool has_address(const struct pd_topology *topology, const struct pd_addr *addr,
                        uint8_t ip_version)
{
    uint32_t tors[PD_HOMES_MAX];

    return pd_topology_tors_of(topology, addr, ip_version, tors) != 0;
}

static bool is_verified(const struct pd_topology *topology, const struct pd_alarm_message *message)
{
    const struct pd_flow_id *flow = &message->flow;

    if (flow->ip_version && (!has_address(topology, &flow->src, flow->ip_version) ||
                             !has_address(topology, &flow->dst, flow->ip_version))) {
        return false;
    }
    for (unsigned i = 0; i < message->paths_len; i++) {
        if (!has_path(topology, &message->paths[i])) {
            return false;
        }
    }
    return true;
}

int pd_controller_alarm_judge(const struct pd_controller_alarm_judge *judge,
                              struct pd_alarm_message *message, struct pd_error *error)
{
    int err = judge_origin(judge, message, error);

    if (!err) {
        judge_time(judge->now_us, message);
        message->unverified = !is_verified(judge->topology, message);
    }
    return err;
}
