/* SPDX-License-Identifier: Apache-2.0 */
/* The switches as one of the controller's parts, and GET /v1/switches. */
#include "controller/openflow.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "controller/apps/apps.h"
#include "controller/events/hub.h"
#include "controller/routes.h"

#define MODULE "switches"

/* In the endpoint's thread; the store does not make it wait. */
static void raise_unknown(void *context, uint64_t datapath_id, const char *peer)
{
    const struct pd_controller *controller = context;
    struct pd_alarm_message alarm = {.time_us = pd_clock_wall_us(),
                                     .reason = "SWITCH_UNKNOWN",
                                     .origin = PD_ALARM_ORIGIN_APP,
                                     .by = "switches"};

    snprintf(alarm.detail, sizeof alarm.detail,
             "datapath ID %" PRIu64
             " at %s is no switch of the topology: nothing is installed there",
             datapath_id, peer);
    pd_alarm_store_raise(controller->alarms, &alarm);
}

static void raise_refused(void *context, uint32_t switch_id, const char *peer)
{
    const struct pd_controller *controller = context;
    struct pd_alarm_message alarm = {.time_us = pd_clock_wall_us(),
                                     .reason = "SWITCH_REFUSED",
                                     .origin = PD_ALARM_ORIGIN_APP,
                                     .by = "switches"};

    snprintf(alarm.detail, sizeof alarm.detail,
             "%s says that it is switch %" PRIu32 ", but its certificate is another's", peer,
             switch_id);
    pd_alarm_store_raise(controller->alarms, &alarm);
}

static void publish(void *context, const struct pd_topology *topology,
                    const struct pd_switch_status *status)
{
    const struct pd_controller *controller = context;

    if (pd_events_wanted(controller->events, &pd_event_switch)) {
        pd_events_publish(controller->events, &pd_event_switch, status->id,
                          pd_switch_status_json(topology, status));
    }
}

static void hand_on(void *context, const struct pd_switches_packet_in *packet)
{
    pd_apps_packet(context, packet);
}

static const void *provider_options(void *context, const struct pd_switch_provider_ops *ops)
{
    const struct pd_controller *controller = context;

    return pd_daemon_options_own_of(pd_controller_joined(), controller->settings, ops->options);
}

static int open_switches(void *daemon, const void *options, struct pd_error *error)
{
    struct pd_controller *controller = daemon;
    const struct pd_controller_settings *settings = controller->settings;
    struct pd_switch_service_settings wanted = {
        .credentials = controller->credentials,
        .depth = settings->openflow_depth,
        .context = controller,
        .options = provider_options,
        .unknown = raise_unknown,
        .refused = raise_refused,
        .changed = publish,
        .packet_in = hand_on,
    };

    (void)options;
    pd_controller_openflow(settings, controller->openflow);
    wanted.listen = *controller->openflow ? controller->openflow : NULL;
    controller->switches_inventory = pd_controller_hosts_inventory(controller->hosts);
    return pd_switch_service_open(controller->switches_inventory->topology, &wanted,
                                  &controller->switches, error);
}

/* The endpoint works by the topology of an inventory that it holds as long as it needs it. */
static void reload_switches(void *daemon)
{
    struct pd_controller *controller = daemon;
    struct pd_inventory *wanted = pd_controller_hosts_inventory(controller->hosts);
    struct pd_error error = {0};
    bool taken;

    if (pd_switch_service_reload(controller->switches, wanted->topology, &taken, &error)) {
        pd_log(PD_LOG_ERROR, MODULE, NULL, "%s: %s", error.text,
               taken ? "switches cannot connect until the next reload"
                     : "switches keep the rules of the topology before");
    }
    if (!taken || !pd_switch_service_left_behind(controller->switches)) {
        pd_controller_inventory_free(taken ? controller->switches_inventory : wanted);
    }
    if (taken) {
        controller->switches_inventory = wanted;
    }
}

static void close_switches(void *daemon)
{
    struct pd_controller *controller = daemon;

    if (pd_switch_service_close(controller->switches)) {
        pd_controller_inventory_free(controller->switches_inventory);
    }
}

const struct pd_part pd_controller_openflow_part = {
    .name = "switches",
    .open = open_switches,
    .reload = reload_switches,
    .close = close_switches,
};

int pd_controller_switches_answer(struct pd_controller *controller, struct pd_call *call,
                                  struct pd_answer *answer, struct pd_problem *problem)
{
    json_t *document = pd_switch_service_json(controller->switches);

    (void)call;
    if (!document) {
        return pd_fail(&problem->error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    pd_http_answer_json(answer, 200, answer->type, document);
    return 0;
}
