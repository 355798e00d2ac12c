/* SPDX-License-Identifier: Apache-2.0 */
/* The list of watches: its file and its life. */
#include "controller/apps/watches.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/args.h"
#include "base/log.h"
#include "base/wait.h"
#include "daemon/state_file.h"
#include "json/cursor.h"

#define MODULE         "watches"
#define VERSION        1
#define FILE_MAX_BYTES ((size_t)8 << 20)
#define ID_MAX         ((UINT64_C(1) << 53) - 1)

/* ---- one watch ---- */

void pd_app_watch_free(struct pd_watch *watch)
{
    if (!watch) {
        return;
    }
    if (watch->opened && watch->ops->close && !watch->ops->packet_in) {
        watch->ops->close(watch->state);
    }
    pd_apps_world_close(watch->world);
    json_decref(watch->read_args);
    json_decref(watch->args);
    json_decref(watch->memory.found);
    json_decref(watch->report);
    free(watch);
}

static int check_members(const json_t *json, struct pd_error *error)
{
    static const char *const members[] = {"id", "app", "args", "period_s", "on", NULL};
    const struct pd_json_cursor at = {.object = json, .err = -PD_E_VALUE, .error = error};

    return pd_json_only(&at, members);
}

static int read_app(const json_t *json, const struct pd_app_ops **ret_ops, struct pd_error *error)
{
    const char *name = json_string_value(json_object_get(json, "app"));
    const struct pd_app_ops *ops = name ? pd_app_find(name) : NULL;

    if (!name) {
        return pd_fail(error, -PD_E_VALUE, "app: expects the name of an application");
    }
    if (!ops) {
        pd_fail(error, -PD_E_VALUE, "app: there is no application \"%.40s\"", name);
        pd_printable(error->text);
        return -PD_E_VALUE;
    }
    *ret_ops = ops;
    return 0;
}

/* When to run: as it says, else as the application is meant. */
static int read_when(const json_t *json, struct pd_watch *watch, struct pd_error *error)
{
    const json_t *period = json_object_get(json, "period_s"), *on = json_object_get(json, "on");
    double period_s = json_number_value(period);

    if (period && on) {
        return pd_fail(error, -PD_E_VALUE, "on: either period_s or on");
    }
    if (on && (!json_is_string(on) || strcmp(json_string_value(on), "alarm") != 0)) {
        return pd_fail(error, -PD_E_VALUE, "on: expects \"alarm\"");
    }
    if (on && !watch->ops->triggers) {
        return pd_fail(error, -PD_E_VALUE, "on: no alarm starts %s; give a period_s",
                       watch->ops->name);
    }
    if (period && (!json_is_number(period) || !isfinite(period_s) ||
                   period_s < PD_WATCHES_PERIOD_MIN || period_s > PD_WATCHES_PERIOD_MAX)) {
        return pd_fail(error, -PD_E_VALUE, "period_s: expects seconds from %g to %g",
                       PD_WATCHES_PERIOD_MIN, PD_WATCHES_PERIOD_MAX);
    }
    watch->period_s = period ? period_s : on ? 0 : watch->ops->period_s;
    if (!on && !watch->period_s && !watch->ops->triggers) {
        return pd_fail(error, -PD_E_VALUE, "period_s: is missing: %s has no period of its own",
                       watch->ops->name);
    }
    return 0;
}

static int read_args(const json_t *json, const struct pd_topology *topology, struct pd_watch *watch,
                     struct pd_error *error)
{
    const json_t *given = json_object_get(json, "args");
    int err = pd_app_args_read(watch->ops, topology, given, &watch->read_args, error);

    if (err) {
        return pd_fail_within(error, "args");
    }
    watch->args = given ? json_deep_copy(given) : json_object();
    return watch->args ? 0 : pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
}

static int read_watch(const json_t *json, const struct pd_topology *topology,
                      struct pd_watch *watch, struct pd_error *error)
{
    const json_t *id = json_object_get(json, "id");
    int err = check_members(json, error);

    if (!err) {
        err = read_app(json, &watch->ops, error);
    }
    if (!err) {
        err = read_args(json, topology, watch, error);
    }
    if (!err) {
        err = read_when(json, watch, error);
    }
    if (!err && id &&
        (!json_is_integer(id) || json_integer_value(id) < 1 ||
         (uint64_t)json_integer_value(id) > ID_MAX)) {
        err = pd_fail(error, -PD_E_VALUE, "id: expects a number from 1 on");
    }
    if (!err) {
        watch->id = (uint64_t)json_integer_value(id);
    }
    return err;
}

int pd_app_watch_parse(const json_t *json, const struct pd_topology *topology,
                       struct pd_watch **ret_watch, struct pd_error *error)
{
    struct pd_watch *watch = calloc(1, sizeof *watch);
    int err;

    if (!watch) {
        pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
        return -ENOMEM;
    }
    err = read_watch(json, topology, watch, error);
    if (err) {
        pd_app_watch_free(watch);
        return err;
    }
    *ret_watch = watch;
    return 0;
}

json_t *pd_app_watch_json(const struct pd_watch *watch)
{
    json_t *json = json_pack("{s:I, s:s, s:o}", "id", (json_int_t)watch->id, "app",
                             watch->ops->name, "args", json_deep_copy(watch->args));
    int failed = !json;

    if (!failed) {
        failed = watch->period_s ? json_object_set_new(json, "period_s", json_real(watch->period_s))
                                 : json_object_set_new(json, "on", json_string("alarm"));
    }
    if (!failed) {
        return json;
    }
    json_decref(json);
    return NULL;
}

/* ---- the list ---- */

size_t pd_app_watches_find(const struct pd_watches *watches, uint64_t id)
{
    for (size_t i = 0; i < watches->len; i++) {
        if (watches->items[i]->id == id) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* IDs only grow: in their order, but for a file that somebody wrote. */
int pd_app_watches_insert(struct pd_watches *watches, struct pd_watch *watch,
                          struct pd_error *error)
{
    if (watches->len == PD_WATCHES_MAX) {
        return pd_fail(error, -PD_E_TOO_MANY, "%d applications are watched already",
                       PD_WATCHES_MAX);
    }
    if (!watch->id) {
        watch->id = watches->next_id;
    }
    if (watch->id >= watches->next_id) {
        watches->next_id = watch->id + 1;
    }
    watches->items[watches->len++] = watch;
    pthread_cond_broadcast(&watches->wake);
    return 0;
}

struct pd_watch *pd_app_watches_take_out(struct pd_watches *watches, size_t at)
{
    struct pd_watch *watch = watches->items[at];

    memmove(&watches->items[at], &watches->items[at + 1], (watches->len - at - 1) * sizeof(void *));
    watches->len--;
    return watch;
}

void pd_apps_reports(struct pd_controller *controller,
                     void (*take)(void *context, const json_t *report), void *context)
{
    struct pd_watches *watches = controller->apps->watches;

    pthread_mutex_lock(&watches->lock);
    for (size_t i = 0; i < watches->len; i++) {
        if (watches->items[i]->report) {
            take(context, watches->items[i]->report);
        }
    }
    pthread_mutex_unlock(&watches->lock);
}

/* ---- the file ---- */

int pd_app_watches_save(struct pd_watches *watches, struct pd_error *error)
{
    json_t *list = json_array(), *document;
    int err = 0;

    pthread_mutex_lock(&watches->lock);
    for (size_t i = 0; i < watches->len && !err; i++) {
        err = json_array_append_new(list, pd_app_watch_json(watches->items[i]));
    }
    document = json_pack("{s:i, s:I, s:o}", "version", VERSION, "next_id",
                         (json_int_t)watches->next_id, "watches", list);
    pthread_mutex_unlock(&watches->lock);
    if (err || !document) {
        err = pd_fail(error, -ENOMEM, "%.200s: no memory", watches->file);
    } else {
        err = pd_daemon_state_write(watches->file, document, error);
    }
    json_decref(document);
    return err;
}

static int load_one(struct pd_watches *watches, const json_t *item, struct pd_error *error)
{
    struct pd_watch *watch = NULL;
    int err;

    if (!json_is_object(item)) {
        pd_fail(error, -PD_E_VALUE, "expected an object");
        return -PD_E_VALUE;
    }
    err = pd_app_watch_parse(item, NULL, &watch, error);
    if (err || !watch) {
        return err;
    }
    if (!watch->id || pd_app_watches_find(watches, watch->id) != SIZE_MAX) {
        err = pd_fail(error, -PD_E_VALUE, "no ID of its own");
    }
    if (!err) {
        err = pd_app_watches_insert(watches, watch, error);
    }
    if (err) {
        pd_app_watch_free(watch);
    }
    return err;
}

static void load_all(struct pd_watches *watches, const json_t *document)
{
    json_int_t next_id = json_integer_value(json_object_get(document, "next_id"));
    json_t *item;
    size_t i;

    json_array_foreach(json_object_get(document, "watches"), i, item)
    {
        struct pd_error error = {0};

        if (load_one(watches, item, &error)) {
            pd_log(PD_LOG_ERROR, MODULE, NULL, "%s: watches[%zu] is left out: %s", watches->file, i,
                   error.text);
        }
    }
    if (next_id > 0 && (uint64_t)next_id > watches->next_id && (uint64_t)next_id <= ID_MAX) {
        watches->next_id = (uint64_t)next_id;
    }
}

static int load(struct pd_watches *watches, struct pd_error *error)
{
    json_t *document = NULL;
    int err = pd_daemon_state_read(watches->file, VERSION, FILE_MAX_BYTES, &document, error);

    if (err == -PD_E_CORRUPT) {
        pd_log(PD_LOG_ERROR, MODULE, NULL, "no application is watched: %s", error->text);
        *error = (struct pd_error){0};
        return 0;
    }
    if (document) {
        load_all(watches, document);
    }
    json_decref(document);
    return err;
}

/* ---- life ---- */

static void init_locks(struct pd_watches *watches)
{
    pthread_mutex_init(&watches->change, NULL);
    pthread_mutex_init(&watches->lock, NULL);
    pd_wait_init(&watches->wake);
}

int pd_app_watches_open(struct pd_controller *controller, struct pd_watches **ret_watches,
                        struct pd_error *error)
{
    struct pd_watches *watches = calloc(1, sizeof *watches);
    int err;

    if (!watches) {
        return pd_fail(error, -ENOMEM, "no memory for watches");
    }
    init_locks(watches);
    *ret_watches = watches;
    watches->controller = controller;
    watches->next_id = 1;
    if (asprintf(&watches->file, "%s/watches.json", controller->state.path) < 0) {
        watches->file = NULL;
        return pd_fail(error, -ENOMEM, "no memory for watches");
    }
    err = load(watches, error);
    if (err) {
        return err;
    }
    pd_alarm_store_listen(controller->alarms, pd_app_watches_hear, watches);
    watches->listens = true;
    err = pd_apps_thread(&watches->thread, pd_app_watches_work, watches);
    watches->started = !err;
    return err ? pd_fail(error, err, "watches: %s", pd_error_text(err)) : 0;
}

void pd_app_watches_stop(struct pd_watches *watches)
{
    pthread_mutex_lock(&watches->lock);
    watches->stopping = true;
    pthread_cond_broadcast(&watches->wake);
    pthread_mutex_unlock(&watches->lock);
    if (watches->started && !watches->stopped) {
        pthread_join(watches->thread, NULL);
    }
    watches->stopped = true;
}

void pd_app_watches_close(struct pd_watches *watches)
{
    if (!watches) {
        return;
    }
    if (watches->listens) {
        pd_alarm_store_deafen(watches->controller->alarms, watches);
    }
    while (watches->len) {
        pd_app_watch_free(pd_app_watches_take_out(watches, watches->len - 1));
    }
    pthread_cond_destroy(&watches->wake);
    pthread_mutex_destroy(&watches->lock);
    pthread_mutex_destroy(&watches->change);
    free(watches->file);
    free(watches);
}
