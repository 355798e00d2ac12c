/* SPDX-License-Identifier: Apache-2.0 */
/* The controller as the world of applications. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/rows.h"
#include "base/clock.h"
#include "controller/apps/private.h"
#include "controller/execute.h"
#include "controller/links/metric.h"
#include "controller/meters/meters.h"
#include "controller/probes/probes.h"
#include "controller/telemetry/telemetry.h"

#define SKEW_US (60 * PD_US_PER_S) /* by which clocks of hosts may be ahead of this one's */

static uint64_t now_us(void *context)
{
    (void)context;
    return pd_clock_wall_us();
}

/* An operator who waits for a diagnosis does not wait half a minute for a host that is down. */
static int rows(void *context, json_t *document, const struct pd_items *items, json_t **ret_answer,
                struct pd_error *error)
{
    struct pd_apps_world *world = context;
    json_t *question = json_copy(document);
    int err;

    if (!question) {
        return pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    if (!json_object_get(question, "deadline_ms") &&
        json_object_set_new(question, "deadline_ms", json_integer(PD_APPS_DEADLINE_MS))) {
        json_decref(question);
        return pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    err = pd_controller_execute_within(world->controller, world->client, question, items,
                                       ret_answer, error);
    json_decref(question);
    return err;
}

static int ask(void *context, json_t *document, json_t **ret_answer, struct pd_error *error)
{
    return rows(context, document, NULL, ret_answer, error);
}

/* ---- alarms ---- */

/* A ring of the newest ones. */
struct alarms {
    uint64_t from_us, to_us;
    json_t **ring;
    size_t most, len; /* len: of all that came by */
    bool failed;
};

static int take(void *context, uint64_t id, const char *json, size_t len)
{
    struct alarms *alarms = context;
    char text[PD_ALARM_MESSAGE_MAX_BYTES + 64] = "{";
    json_int_t time_us;
    json_t *alarm;

    if (len >= sizeof text - 1) {
        return 0;
    }
    memcpy(text + 1, json, len);
    alarm = json_loadb(text, len + 1, 0, NULL);
    time_us = json_integer_value(json_object_get(alarm, "time_us"));
    if (time_us < 0 || (uint64_t)time_us < alarms->from_us || (uint64_t)time_us > alarms->to_us ||
        json_object_get(alarm, "unverified")) {
        json_decref(alarm);
        return 0;
    }
    if (!alarm || json_object_set_new(alarm, "id", json_integer((json_int_t)id))) {
        alarms->failed = true;
    }
    json_decref(alarms->ring[alarms->len % alarms->most]);
    alarms->ring[alarms->len++ % alarms->most] = alarm;
    return 0;
}

static int by_time(const void *a, const void *b)
{
    json_int_t x = json_integer_value(json_object_get(*(json_t *const *)a, "time_us")),
               y = json_integer_value(json_object_get(*(json_t *const *)b, "time_us"));

    return (x > y) - (x < y);
}

/* Empties the ring. */
static json_t *list_of(struct alarms *alarms)
{
    size_t len = alarms->len < alarms->most ? alarms->len : alarms->most;
    json_t *list = alarms->failed ? NULL : json_array();

    if (list) {
        qsort(alarms->ring, len, sizeof(void *), by_time);
    }
    for (size_t i = 0; i < len; i++) {
        if (!list || json_array_append(list, alarms->ring[i])) {
            alarms->failed = true;
        }
    }
    for (size_t i = 0; i < len; i++) {
        json_decref(alarms->ring[i]);
    }
    if (!alarms->failed) {
        return list;
    }
    json_decref(list);
    return NULL;
}

/* Alarms come after they happened, unless the host's clock is ahead: none of the wanted ones came
 * before. */
static int read_alarms(struct pd_alarm_store *store, const char *reason, struct alarms *alarms)
{
    uint64_t since = 0, next;
    bool more;
    int err = pd_alarm_store_find(store, alarms->from_us > SKEW_US ? alarms->from_us - SKEW_US : 0,
                                  &since);

    return err ? err
               : pd_alarm_store_read(store, since, reason, SIZE_MAX, take, alarms, &next, &more);
}

static int alarms_of(void *context, const char *reason, uint64_t from_us, uint64_t to_us,
                     size_t most, json_t **ret_alarms, struct pd_error *error)
{
    struct pd_apps_world *world = context;
    struct alarms alarms = {.from_us = from_us, .to_us = to_us, .most = most ? most : 1};
    json_t *list;
    int err;

    if (alarms.most > PD_APPS_ALARMS_MAX) {
        alarms.most = PD_APPS_ALARMS_MAX;
    }
    alarms.ring = calloc(alarms.most, sizeof(void *));
    if (!alarms.ring) {
        return pd_fail(error, -ENOMEM, "alarms: %s", pd_error_text(-ENOMEM));
    }
    err = read_alarms(world->controller->alarms, reason, &alarms);
    alarms.failed |= err != 0;
    list = list_of(&alarms);
    free(alarms.ring);
    if (!list) {
        return pd_fail(error, err ? err : -ENOMEM, "the alarms cannot be read: %s",
                       pd_error_text(err ? err : -ENOMEM));
    }
    *ret_alarms = list;
    return 0;
}

/* ---- evidence ---- */

static int observe(void *context, uint64_t from_us, uint64_t to_us, unsigned wanted,
                   const struct pd_evidence_sink *sink, struct pd_report *report,
                   struct pd_error *error)
{
    struct pd_apps_world *world = context;
    const struct pd_app_call call = {.world = &world->world};
    const unsigned metered = pd_controller_meters_are_there() ? PD_APP_METERS : 0;
    const unsigned probes = pd_controller_probes_on() ? PD_APP_PROBES : 0;
    const bool flows = wanted & (PD_APP_FLOWS | PD_APP_EACH_FLOW);
    int err = 0;

    pd_app_lacks_evidence(wanted, PD_APP_FLOWS | PD_APP_EACH_FLOW | metered | probes, report);
    if (flows) {
        err = pd_app_join(&world->join, &call, from_us, to_us, wanted & PD_APP_EACH_FLOW, sink,
                          report, error);
    }
    if (!err && wanted & metered) {
        err = pd_controller_meters_observe(from_us, to_us, flows, sink);
        err = err ? pd_fail(error, err, "meters: %s", pd_error_text(err)) : 0;
    }
    if (!err && wanted & probes) {
        err = pd_controller_probes_observe(from_us, to_us, sink);
        err = err ? pd_fail(error, err, "probes: %s", pd_error_text(err)) : 0;
    }
    return err;
}

/* ---- switches ---- */

static int packet_out(void *context, uint32_t switch_id, uint32_t in_port, const uint8_t *data,
                      size_t bytes)
{
    struct pd_apps_world *world = context;

    return world->controller->switches
               ? pd_switch_service_packet_out(world->controller->switches, switch_id, in_port, data,
                                              bytes)
               : -PD_E_NOT_FOUND;
}

/* Watches run before the service of switches is open: nothing is known of an edge then. */
static enum pd_switch_edge edge_of(const struct pd_apps_world *world, uint32_t switch_id)
{
    struct pd_switch_service *switches = world->controller->switches;

    return switches ? pd_switch_service_edge(switches, switch_id) : PD_SWITCH_EDGE_UNKNOWN;
}

static void edges(void *context, struct pd_app_edges *ret_edges)
{
    struct pd_apps_world *world = context;
    uint32_t *const len[] = {[PD_SWITCH_EDGE_HELD] = &ret_edges->held,
                             [PD_SWITCH_EDGE_OPEN] = &ret_edges->open,
                             [PD_SWITCH_EDGE_UNKNOWN] = &ret_edges->unknown};

    *ret_edges = (struct pd_app_edges){.open = 0};
    for (uint32_t sw = 0; sw < world->inventory->topology->switches_len; sw++) {
        const struct pd_switch *entry = &world->inventory->topology->switches[sw];
        enum pd_switch_edge edge = edge_of(world, entry->id);

        if (!pd_topology_switch_has_rack(entry)) {
            continue;
        }
        ++*len[edge];
        if (edge == PD_SWITCH_EDGE_OPEN && !ret_edges->first_open) {
            ret_edges->first_open = entry->id;
        } else if (edge == PD_SWITCH_EDGE_UNKNOWN && !ret_edges->first_unknown) {
            ret_edges->first_unknown = entry->id;
        }
    }
}

static void telemetry_plan(void *context, uint64_t *number, struct pd_pint_plan **plan)
{
    (void)context;
    pd_telemetry_plan_now(number, plan);
}

static int links(void *context, const char *metric, float *ret_values, uint32_t len,
                 struct pd_error *error)
{
    struct pd_apps_world *world = context;
    const uint32_t at = pd_link_metric_find(metric);
    struct pd_link_window window = {.controller = world->controller,
                                    .world = &world->world,
                                    .to_us = pd_clock_wall_us(),
                                    .newest = true,
                                    .only = PD_NONE,
                                    .len = len,
                                    .complete = true};

    if (at == PD_NONE || !pd_link_metrics[at]->of_now || !pd_link_metrics[at]->read) {
        return pd_fail(error, -PD_E_NOT_FOUND, "%.32s: no metric of links that is known at once",
                       metric);
    }
    window.from_us = window.to_us;
    return pd_link_metrics[at]->read(&window, ret_values, error);
}

/* ---- life ---- */

static const struct pd_app_world_ops ops = {
    .now_us = now_us,
    .ask = ask,
    .rows = rows,
    .alarms = alarms_of,
    .observe = observe,
    .packet_out = packet_out,
    .edges = edges,
    .telemetry_plan = telemetry_plan,
    .links = links,
    .request = pd_apps_request,
};

int pd_apps_world_open(struct pd_controller *controller, const char *client,
                       struct pd_apps_world **ret_world)
{
    struct pd_apps_world *world = calloc(1, sizeof *world);

    if (!world) {
        return -ENOMEM;
    }
    world->controller = controller;
    world->inventory = pd_controller_hosts_inventory(controller->hosts);
    snprintf(world->client, sizeof world->client, "%s", client);
    world->world = (struct pd_app_world){
        .ops = &ops,
        .context = world,
        .topology = world->inventory->topology,
        .link_mbps = controller->settings->link_mbps,
    };
    if (controller->simulated) {
        world->world = *controller->simulated;
        world->world.topology = world->inventory->topology;
    }
    *ret_world = world;
    return 0;
}

void pd_apps_world_close(struct pd_apps_world *world)
{
    if (!world) {
        return;
    }
    pd_controller_inventory_free(world->inventory);
    pd_app_join_done(&world->join);
    free(world);
}

bool pd_apps_world_holds(const struct pd_apps_world *world)
{
    struct pd_inventory *now = pd_controller_hosts_inventory(world->controller->hosts);
    bool same = now == world->inventory;

    pd_controller_inventory_free(now);
    return same;
}
