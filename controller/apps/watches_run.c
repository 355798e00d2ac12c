/* SPDX-License-Identifier: Apache-2.0 */
/* The thread of watches: whose run is due, its run, and alarms that make runs due. */
#include <stdio.h>
#include <string.h>

#include "apps/args.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/wait.h"
#include "controller/apps/watches.h"
#include "controller/events/hub.h"

#define MODULE "watches"

/* ---- one run; without the lock ---- */

static void close_state(struct pd_watch *watch)
{
    if (watch->opened && watch->ops->close && !watch->ops->packet_in) {
        watch->ops->close(watch->state);
    }
    pd_apps_world_close(watch->world);
    watch->world = NULL;
    watch->state = NULL;
    watch->opened = false;
}

/* A topology that was replaced takes the state along, and the arguments are held against the new
 * one. What wants packets has a state elsewhere. */
static int make_ready(struct pd_watches *watches, struct pd_watch *watch, struct pd_error *error)
{
    struct pd_app_call call;
    json_t *args;
    int err;

    if (watch->opened && pd_apps_world_holds(watch->world)) {
        return 0;
    }
    close_state(watch);
    err = pd_apps_world_open(watches->controller, watch->ops->name, &watch->world);
    if (!err) {
        err = pd_app_args_read(watch->ops, watch->world->world.topology, watch->args, &args, error);
    }
    if (err) {
        return err;
    }
    json_decref(watch->read_args);
    watch->read_args = args;
    call = (struct pd_app_call){.world = &watch->world->world, .args = args};
    if (watch->ops->open && !watch->ops->packet_in) {
        err = watch->ops->open(&call, &watch->state, error);
    }
    watch->opened = !err;
    return err;
}

static json_t *alarm_json(const struct pd_watch_alarm *alarm)
{
    json_t *json = pd_fleet_alarm_message_json(&alarm->message);

    if (!json || json_object_set_new(json, "id", json_integer((json_int_t)alarm->id)) ||
        json_object_set_new(json, "host", json_integer(alarm->host))) {
        json_decref(json);
        return NULL;
    }
    return json;
}

static int run_watch(struct pd_watches *watches, struct pd_watch *watch,
                     const struct pd_watch_alarm *alarm, json_t **ret_report,
                     struct pd_error *error)
{
    struct pd_app_call call = {0};
    json_t *json = alarm ? alarm_json(alarm) : NULL;
    int err = make_ready(watches, watch, error);

    if (!err) {
        call = (struct pd_app_call){
            .world = &watch->world->world, .args = watch->read_args, .alarm = json};
        err = watch->ops->packet_in
                  ? pd_apps_resident_run(watches->controller->apps->residents, watch->ops,
                                         watch->read_args, ret_report, error)
                  : pd_apps_run(watch->ops, watch->state, &call, ret_report, error);
    }
    json_decref(json);
    if (err && !*error->text) {
        pd_fail(error, err, "%s", pd_error_text(err));
    }
    return err;
}

/* ---- with the lock ---- */

static bool is_due(const struct pd_watch *watch, uint64_t now_ns)
{
    return watch->next_ns <= now_ns && (watch->period_s || watch->has_alarm);
}

/* The one that has waited longest, or NULL and until when to wait. */
static struct pd_watch *choose(struct pd_watches *watches, uint64_t now_ns, uint64_t *ret_until_ns)
{
    struct pd_watch *chosen = NULL;

    *ret_until_ns = now_ns + 3600 * PD_NS_PER_S;
    for (size_t i = 0; i < watches->len; i++) {
        struct pd_watch *watch = watches->items[i];

        if (is_due(watch, now_ns) && (!chosen || watch->next_ns < chosen->next_ns)) {
            chosen = watch;
        }
        if ((watch->period_s || watch->has_alarm) && watch->next_ns < *ret_until_ns) {
            *ret_until_ns = watch->next_ns;
        }
    }
    return chosen;
}

static void wait_until(struct pd_watches *watches, uint64_t until_ns)
{
    pd_wait_until(&watches->wake, &watches->lock, until_ns);
}

/* Takes the report over. */
static void note(struct pd_watch *watch, uint64_t begun_ns, int err, json_t *report,
                 const struct pd_error *error)
{
    watch->runs++;
    watch->failures += err != 0;
    watch->last_us = pd_clock_wall_us();
    snprintf(watch->error, sizeof watch->error, "%s", err ? error->text : "");
    watch->next_ns = watch->period_s ? begun_ns + (uint64_t)(watch->period_s * PD_NS_PER_S)
                                     : pd_clock_monotonic_ns() + PD_WATCHES_ALARM_NS;
    if (err) {
        return;
    }
    json_decref(watch->report);
    watch->report = report;
}

/* The lock is let go while it works. */
static void run_one(struct pd_watches *watches, struct pd_watch *watch)
{
    struct pd_controller *controller = watches->controller;
    struct pd_watch_alarm alarm = watch->alarm;
    bool has_alarm = watch->has_alarm;
    uint64_t begun_ns = pd_clock_monotonic_ns();
    struct pd_error error = {0};
    json_t *report = NULL;
    int err;

    watch->running = true;
    watch->has_alarm = false;
    pthread_mutex_unlock(&watches->lock);
    err = run_watch(watches, watch, has_alarm ? &alarm : NULL, &report, &error);
    pd_count(&controller->counters.apps_watch_runs, 1);
    pd_count(&controller->counters.apps_failed, err != 0);
    if (!err && !watch->ops->packet_in) { /* else the packet itself has raised it */
        pd_apps_remember(controller, watch->ops, &watch->memory, report);
    }
    pthread_mutex_lock(&watches->lock);
    if (err && strcmp(watch->error, error.text) != 0 && !watches->stopping) {
        pd_log(PD_LOG_ERROR, MODULE, NULL, "%s (watch %llu) has failed: %s", watch->ops->name,
               (unsigned long long)watch->id, error.text);
    }
    note(watch, begun_ns, err, report, &error);
    if (pd_events_wanted(controller->events, &pd_event_verdict)) {
        pd_events_publish(controller->events, &pd_event_verdict, watch->id,
                          pd_app_watch_status_json(watch));
    }
    watch->running = false;
    if (watch->removed) {
        pd_app_watch_free(watch);
    }
}

void *pd_app_watches_work(void *context)
{
    struct pd_watches *watches = context;

    pthread_mutex_lock(&watches->lock);
    while (!watches->stopping) {
        uint64_t until_ns;
        struct pd_watch *watch = choose(watches, pd_clock_monotonic_ns(), &until_ns);

        if (watch) {
            run_one(watches, watch);
        } else {
            wait_until(watches, until_ns);
        }
    }
    pthread_mutex_unlock(&watches->lock);
    return NULL;
}

/* ---- alarms ---- */

/* What is not of this network concerns no application. */
static bool wants(const struct pd_watch *watch, const struct pd_alarm_message *message)
{
    const struct pd_app_trigger *wanted = watch->ops->triggers;

    if (watch->period_s || message->unverified) {
        return false;
    }
    for (; wanted && wanted->reason; wanted++) {
        if (!strcmp(wanted->reason, message->reason) &&
            !strcmp(wanted->origin, pd_fleet_alarm_origin_id(message->origin))) {
            return true;
        }
    }
    return false;
}

/* In the store writer's thread. One run does for all alarms that come before it begins. */
void pd_app_watches_hear(void *context, uint64_t id, uint32_t host,
                         const struct pd_alarm_message *message)
{
    struct pd_watches *watches = context;

    pthread_mutex_lock(&watches->lock);
    for (size_t i = 0; i < watches->len; i++) {
        struct pd_watch *watch = watches->items[i];

        if (!wants(watch, message)) {
            continue;
        }
        watch->coalesced += watch->has_alarm;
        pd_count(&watches->controller->counters.apps_coalesced, watch->has_alarm);
        watch->has_alarm = true;
        watch->alarm.id = id;
        watch->alarm.host = host;
        watch->alarm.message = *message;
        pthread_cond_signal(&watches->wake);
    }
    pthread_mutex_unlock(&watches->lock);
}
