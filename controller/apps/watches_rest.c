/* SPDX-License-Identifier: Apache-2.0 */
/* POST and GET /v1/watches, DELETE /v1/watches/{id}. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "controller/apps/watches.h"
#include "controller/routes.h"
#include "http/text.h"

/* ---- POST ---- */

/* With `change` held. The list owns it when 0 is returned. */
static int keep(struct pd_watches *watches, struct pd_watch *watch, struct pd_error *error)
{
    int err;

    pthread_mutex_lock(&watches->lock);
    err = pd_app_watches_insert(watches, watch, error);
    pthread_mutex_unlock(&watches->lock);
    return err ? err : pd_app_watches_save(watches, error);
}

/* With `change` held. A run that is under way ends by itself, and with it the watch. */
static void remove_watch(struct pd_watches *watches, uint64_t id)
{
    struct pd_watch *watch;
    bool running;
    size_t at;

    pthread_mutex_lock(&watches->lock);
    at = pd_app_watches_find(watches, id);
    watch = at == SIZE_MAX ? NULL : pd_app_watches_take_out(watches, at);
    running = watch && watch->running;
    if (watch) {
        watch->removed = true;
    }
    pthread_mutex_unlock(&watches->lock);
    if (!running) {
        pd_app_watch_free(watch);
    }
}

int pd_apps_watch(struct pd_controller *controller, const json_t *json, struct pd_error *error)
{
    struct pd_watches *watches = controller->apps->watches;
    struct pd_inventory *inventory = pd_controller_hosts_inventory(controller->hosts);
    struct pd_watch *watch = NULL;
    int err = pd_app_watch_parse(json, inventory->topology, &watch, error);

    pd_controller_inventory_free(inventory);
    if (err) {
        return err;
    }
    pthread_mutex_lock(&watches->lock);
    err = pd_app_watches_insert(watches, watch, error);
    pthread_mutex_unlock(&watches->lock);
    if (err) {
        pd_app_watch_free(watch);
    }
    return err;
}

int pd_app_watch_answer(struct pd_controller *controller, struct pd_call *call,
                        struct pd_answer *answer, struct pd_problem *problem)
{
    struct pd_watches *watches = controller->apps->watches;
    struct pd_inventory *inventory = pd_controller_hosts_inventory(controller->hosts);
    struct pd_watch *watch = NULL;
    uint64_t id = 0;
    int err;

    if (json_object_get(call->body, "id")) {
        pd_fail(&problem->error, -PD_E_UNKNOWN_KEY, "id: the controller chooses it");
        err = -PD_E_UNKNOWN_KEY;
    } else {
        err = pd_app_watch_parse(call->body, inventory->topology, &watch, &problem->error);
    }
    pd_controller_inventory_free(inventory);
    if (err || !watch) {
        return err;
    }
    pthread_mutex_lock(&watches->change);
    err = keep(watches, watch, &problem->error);
    if (err && watch->id) {
        remove_watch(watches, watch->id);
    } else if (err) {
        pd_app_watch_free(watch);
    } else {
        id = watches->next_id - 1;
    }
    pthread_mutex_unlock(&watches->change);
    if (!err) {
        pd_http_answer_json(answer, 200, answer->type, json_pack("{s:I}", "id", (json_int_t)id));
    }
    return err;
}

/* ---- GET ---- */

/* With the lock held: a copy, since the thread goes on with the report. */
json_t *pd_app_watch_status_json(const struct pd_watch *watch)
{
    json_t *json = pd_app_watch_json(watch);
    json_t *report = watch->report ? json_deep_copy(watch->report) : json_null();
    json_t *more =
        json_pack("{s:I, s:I, s:I, s:o, s:o, s:o}", "runs", (json_int_t)watch->runs, "failures",
                  (json_int_t)watch->failures, "coalesced", (json_int_t)watch->coalesced, "last_us",
                  watch->last_us ? json_integer((json_int_t)watch->last_us) : json_null(), "error",
                  *watch->error ? pd_http_text_json(watch->error) : json_null(), "report", report);

    if (!json || !more || json_object_update(json, more)) {
        json_decref(json);
        json = NULL;
    }
    json_decref(more);
    return json;
}

int pd_app_watches_answer(struct pd_controller *controller, struct pd_call *call,
                          struct pd_answer *answer, struct pd_problem *problem)
{
    struct pd_watches *watches = controller->apps->watches;
    json_t *list = json_array();
    int failed = !list;

    (void)call;
    pthread_mutex_lock(&watches->lock);
    for (size_t i = 0; i < watches->len && !failed; i++) {
        failed = json_array_append_new(list, pd_app_watch_status_json(watches->items[i]));
    }
    pthread_mutex_unlock(&watches->lock);
    if (failed) {
        json_decref(list);
        return pd_fail(&problem->error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    pd_http_answer_json(answer, 200, answer->type, json_pack("{s:o}", "watches", list));
    return 0;
}

/* ---- DELETE ---- */

static uint64_t id_of(const char *text)
{
    size_t len = strlen(text);

    return len && len <= 16 && strspn(text, "0123456789") == len ? strtoull(text, NULL, 10) : 0;
}

/* First out of the file: what is still in the list after a failure is still watched. */
static int save_without(struct pd_watches *watches, uint64_t id, struct pd_error *error)
{
    struct pd_watch *watch;
    size_t at;
    int err;

    pthread_mutex_lock(&watches->lock);
    at = pd_app_watches_find(watches, id);
    watch = at == SIZE_MAX ? NULL : pd_app_watches_take_out(watches, at);
    pthread_mutex_unlock(&watches->lock);
    if (!watch) {
        return pd_fail(error, -PD_E_NOT_FOUND, "there is no watch %llu", (unsigned long long)id);
    }
    err = pd_app_watches_save(watches, error);
    pthread_mutex_lock(&watches->lock);
    watches->items[watches->len++] = watch; /* it had its place */
    pthread_mutex_unlock(&watches->lock);
    if (!err) {
        remove_watch(watches, id);
    }
    return err;
}

int pd_app_unwatch_answer(struct pd_controller *controller, struct pd_call *call,
                          struct pd_answer *answer, struct pd_problem *problem)
{
    struct pd_watches *watches = controller->apps->watches;
    uint64_t id = id_of(call->id);
    int err;

    if (!id) {
        return pd_fail(&problem->error, -PD_E_NOT_FOUND, "there is no watch %.40s", call->id);
    }
    pthread_mutex_lock(&watches->change);
    err = save_without(watches, id, &problem->error);
    pthread_mutex_unlock(&watches->change);
    if (!err) {
        pd_http_answer_json(answer, 200, answer->type, json_pack("{s:I}", "id", (json_int_t)id));
    }
    return err;
}
