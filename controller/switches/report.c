/* SPDX-License-Identifier: Apache-2.0 */
/* The endpoint's state as JSON and as metrics. */
#include "controller/switches/report.h"

#include <stdio.h>

#include "controller/switches/edge.h"

static void status_of(struct pd_switches *switches, const struct pd_topology *topology, uint32_t i,
                      struct pd_switch_status *ret_status)
{
    if (switches) {
        pd_switches_status(switches, i, ret_status);
    } else {
        *ret_status = (struct pd_switch_status){.id = topology->switches[i].id,
                                                .edge = pd_switch_edge_of(topology, i, NULL)};
    }
}

static uint64_t counter_of(const struct pd_switches *switches, enum pd_switches_counter counter)
{
    return switches ? pd_switches_counter(switches, counter) : 0;
}

/* ---- JSON */

static json_t *switch_json(const struct pd_switch *sw, const struct pd_switch_status *s)
{
    return json_pack("{s:I,s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:o,s:s}", "id",
                     (json_int_t)s->id, "name", sw->name ? sw->name : "", "role",
                     pd_topology_role_name(sw->role), "state", pd_switch_state_name(s->state),
                     "edge", pd_switch_edge_name(s->edge), "rules", (json_int_t)s->rules, "missing",
                     (json_int_t)s->missing, "differing", (json_int_t)s->differing, "surplus",
                     (json_int_t)s->surplus, "blocked", (json_int_t)s->blocked, "foreign",
                     (json_int_t)s->foreign, "connects", (json_int_t)s->connects, "packet_ins",
                     (json_int_t)s->packet_ins, "packet_ins_limited",
                     (json_int_t)s->packet_ins_limited, "last_change_us",
                     s->changed_us ? json_integer((json_int_t)s->changed_us) : json_null(),
                     "last_error", s->last_error);
}

json_t *pd_switch_status_json(const struct pd_topology *topology,
                              const struct pd_switch_status *status)
{
    uint32_t i = pd_topology_switch(topology, status->id);

    return i == PD_NONE ? NULL : switch_json(&topology->switches[i], status);
}

static json_t *counters_json(const struct pd_switches *switches)
{
    json_t *counters = json_object();
    for (int i = 0; counters && i < PD_SWITCHES_COUNTER_COUNT; i++) {
        json_object_set_new(counters, pd_switches_counter_name(i),
                            json_integer((json_int_t)counter_of(switches, i)));
    }
    return counters;
}

json_t *pd_switches_json(struct pd_switches *switches, const struct pd_topology *topology)
{
    json_t *list = json_array();
    for (uint32_t i = 0; list && i < topology->switches_len; i++) {
        struct pd_switch_status status;
        status_of(switches, topology, i, &status);
        json_array_append_new(list, switch_json(&topology->switches[i], &status));
    }
    if (json_array_size(list) != topology->switches_len) {
        json_decref(list);
        return NULL;
    }
    return json_pack("{s:s?,s:o,s:o}", "openflow", switches ? pd_switches_address(switches) : NULL,
                     "switches", list, "counters", counters_json(switches));
}

/* ---- metrics */

static const char *const states[] = {
#define X(id, name) name,
    PD_SWITCH_STATES(X)
#undef X
};
#define STATES_LEN (sizeof states / sizeof *states)

void pd_switches_metrics(struct pd_switches *switches, const struct pd_topology *topology,
                         struct pd_metrics *metrics)
{
    uint64_t len[STATES_LEN] = {0};
    char name[96];
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        struct pd_switch_status status;
        status_of(switches, topology, i, &status);
        len[status.state]++;
    }
    pd_daemon_metrics_head(metrics, "switches", "gauge",
                           "switches of the topology by what is known of their rules");
    for (size_t i = 0; i < STATES_LEN; i++) {
        pd_daemon_metrics_labelled(metrics, "switches", "state", states[i], len[i]);
    }
    for (int i = 0; i < PD_SWITCHES_COUNTER_COUNT; i++) {
        snprintf(name, sizeof name, "openflow_%s_total", pd_switches_counter_name(i));
        pd_daemon_metrics_counter(metrics, name, pd_switches_counter_text(i),
                                  counter_of(switches, i));
    }
}
