/* SPDX-License-Identifier: Apache-2.0 */
/* Applications that want packets: one state each, open as long as the controller runs. */
#include <errno.h>
#include <stdlib.h>

#include "apps/args.h"
#include "base/log.h"
#include "controller/apps/private.h"
#include "controller/events/hub.h"

#define MODULE "apps"

struct pd_apps_residents {
    struct pd_controller *controller;
    size_t len;
    struct pd_apps_resident items[];
};

static void close_state(struct pd_apps_resident *resident)
{
    if (resident->opened && resident->ops->close) {
        resident->ops->close(resident->state);
    }
    json_decref(resident->args);
    pd_apps_world_close(resident->world);
    resident->args = NULL;
    resident->world = NULL;
    resident->state = NULL;
    resident->opened = false;
}

static int open_state(struct pd_controller *controller, struct pd_apps_resident *resident,
                      struct pd_error *error)
{
    struct pd_app_call call = {0};
    int err = pd_apps_world_open(controller, resident->ops->name, &resident->world);

    if (!err) {
        err = pd_app_args_read(resident->ops, resident->world->world.topology, NULL,
                               &resident->args, error);
    }
    if (!err) {
        call = (struct pd_app_call){.world = &resident->world->world, .args = resident->args};
        err = resident->ops->open ? resident->ops->open(&call, &resident->state, error) : 0;
    }
    resident->opened = !err;
    if (err) {
        close_state(resident);
    }
    return err;
}

/* With the lock held. A topology that was replaced takes the state along. */
static int make_ready(struct pd_controller *controller, struct pd_apps_resident *resident,
                      struct pd_error *error)
{
    int err;

    if (resident->opened && pd_apps_world_holds(resident->world)) {
        return 0;
    }
    close_state(resident);
    err = open_state(controller, resident, error);
    if (err && !resident->complained) {
        pd_log(PD_LOG_ERROR, MODULE, NULL, "%s takes no packets: %s", resident->ops->name,
               error->text);
    }
    resident->complained = err != 0;
    return err;
}

int pd_apps_residents_open(struct pd_controller *controller, struct pd_apps_residents **ret_list)
{
    struct pd_apps_residents *list;
    size_t len = 0;

    for (size_t i = 0; pd_apps[i]; i++) {
        len += pd_apps[i]->packet_in != NULL;
    }
    list = calloc(1, sizeof *list + len * sizeof *list->items);
    if (!list) {
        return -ENOMEM;
    }
    list->controller = controller;
    for (size_t i = 0; pd_apps[i]; i++) {
        if (!pd_apps[i]->packet_in) {
            continue;
        }
        list->items[list->len].ops = pd_apps[i];
        pthread_mutex_init(&list->items[list->len++].lock, NULL);
    }
    *ret_list = list;
    return 0;
}

void pd_apps_residents_close(struct pd_apps_residents *list)
{
    for (size_t i = 0; list && i < list->len; i++) {
        close_state(&list->items[i]);
        json_decref(list->items[i].memory.found);
        pthread_mutex_destroy(&list->items[i].lock);
    }
    free(list);
}

bool pd_apps_residents_any(const struct pd_apps_residents *list)
{
    return list->len;
}

int pd_apps_resident_run(struct pd_apps_residents *list, const struct pd_app_ops *ops,
                         const json_t *args, json_t **ret_report, struct pd_error *error)
{
    struct pd_apps_resident *resident = list->items;
    int err;

    while (resident->ops != ops) {
        resident++;
    }
    pthread_mutex_lock(&resident->lock);
    err = make_ready(list->controller, resident, error);
    if (!err) {
        struct pd_app_call call = {.world = &resident->world->world, .args = args};

        err = pd_apps_run(ops, resident->state, &call, ret_report, error);
    }
    pthread_mutex_unlock(&resident->lock);
    return err;
}

/* Beside watches, which have IDs from 1 on. */
static void publish(struct pd_controller *controller, const struct pd_apps_resident *resident,
                    json_t *report)
{
    uint64_t key = UINT64_MAX - (uint64_t)(resident - controller->apps->residents->items);

    if (pd_events_wanted(controller->events, &pd_event_verdict)) {
        pd_events_publish(controller->events, &pd_event_verdict, key,
                          json_pack("{s:s, s:O}", "app", resident->ops->name, "report", report));
    }
}

static void run_for_packet(struct pd_controller *controller, struct pd_apps_resident *resident)
{
    struct pd_app_call call = {.world = &resident->world->world, .args = resident->args};
    struct pd_error error = {0};
    json_t *report = NULL;

    pd_count(&controller->counters.apps_packet_runs, 1);
    if (pd_apps_run(resident->ops, resident->state, &call, &report, &error)) {
        pd_count(&controller->counters.apps_failed, 1);
        pd_log(PD_LOG_ERROR, MODULE, NULL, "%s has failed after a packet: %s", resident->ops->name,
               error.text);
        return;
    }
    pd_apps_remember(controller, resident->ops, &resident->memory, report);
    publish(controller, resident, report);
    json_decref(report);
}

void pd_apps_residents_packet(struct pd_apps_residents *list, const struct pd_app_packet *packet)
{
    for (size_t i = 0; i < list->len; i++) {
        struct pd_apps_resident *resident = &list->items[i];
        struct pd_error error = {0};

        pthread_mutex_lock(&resident->lock);
        if (!make_ready(list->controller, resident, &error) &&
            resident->ops->packet_in(resident->state, &resident->world->world, packet)) {
            run_for_packet(list->controller, resident);
        }
        pthread_mutex_unlock(&resident->lock);
    }
}
