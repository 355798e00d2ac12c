/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/install, GET /v1/installed, GET and DELETE /v1/installed/{id}. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "controller/installed/list.h"
#include "controller/routes.h"
#include "http/text.h"

#define TOLD_MAX 1000 /* hosts by name in one list of an answer */

/* ---- hosts in answers ---- */

static void tell_host(json_t *list, uint32_t host, const char *reason)
{
    if (json_array_size(list) < TOLD_MAX) {
        json_array_append_new(list, json_pack("{s:I, s:o}", "id", (json_int_t)host, "reason",
                                              pd_http_text_json(reason)));
    }
}

/* {"asked","answered","missing":[{"id","reason"}]}: of one attempt. What was not there to be
 * uninstalled is uninstalled. */
static json_t *attempt_json(const struct pd_installed_push *push)
{
    json_t *missing = json_array();
    size_t answered = 0;

    for (size_t i = 0; i < push->len; i++) {
        const struct pd_installed_push_item *item = &push->items[i];
        bool done = !item->error.code ||
                    (strcmp(push->method, "POST") != 0 && item->error.code == -PD_E_NOT_FOUND);

        answered += done;
        if (!done) {
            tell_host(missing, item->host, item->error.text);
        }
    }
    return json_pack("{s:I, s:I, s:o}", "asked", (json_int_t)push->len, "answered",
                     (json_int_t)answered, "missing", missing);
}

static void answer_attempt(struct pd_answer *answer, uint64_t id,
                           const struct pd_installed_push *push)
{
    pd_http_answer_json(answer, 200, answer->type,
                        json_pack("{s:I, s:o}", "id", (json_int_t)id, "hosts", attempt_json(push)));
}

static int plan(struct pd_installs *installs, struct pd_installed_push *push,
                const struct pd_install *install, bool post)
{
    int err = 0;

    for (size_t i = 0; i < install->targets_len && !err; i++) {
        err = pd_installed_push_add(installs, push, install->targets[i].host, install->id,
                                    post ? install : NULL);
    }
    return err;
}

/* ---- install ---- */

/* With `change` held. The list owns it when 0 is returned. */
static int keep(struct pd_installs *installs, struct pd_install *install,
                struct pd_installed_push *push, struct pd_error *error)
{
    int err;

    pthread_mutex_lock(&installs->lock);
    err = pd_installed_install_aim(install, installs->inventory, error);
    if (!err) {
        err = pd_installed_installs_insert(installs, install, error);
    }
    pthread_mutex_unlock(&installs->lock);
    if (err) {
        return err;
    }
    err = pd_installed_installs_save(installs, error);
    pthread_mutex_lock(&installs->lock);
    if (err) {
        pd_installed_installs_take_out(installs, install);
    } else if (plan(installs, push, install, true)) {
        push->len = 0; /* no memory: the rounds see to it */
    }
    pthread_mutex_unlock(&installs->lock);
    return err;
}

int pd_installed_install_answer(struct pd_controller *controller, struct pd_call *call,
                                struct pd_answer *answer, struct pd_problem *problem)
{
    struct pd_installs *installs = controller->installs;
    struct pd_installed_push push = {.method = "POST"};
    struct pd_install *install;
    uint64_t id;
    int err;

    if (json_object_get(call->body, "id")) {
        return pd_fail(&problem->error, -PD_E_UNKNOWN_KEY, "id: the controller chooses it");
    }
    if (json_object_get(call->body, "by")) {
        return pd_fail(&problem->error, -PD_E_UNKNOWN_KEY, "by: the controller notes it");
    }
    err = pd_programs_check_document(controller->programs, call->body, &problem->error);
    if (!err) {
        err = pd_fleet_installation_name(call->body, call->http, &problem->error);
    }
    if (!err) {
        err = pd_installed_install_parse(call->body, &install, &problem->error);
    }
    if (err) {
        return err;
    }
    pthread_mutex_lock(&installs->change);
    err = keep(installs, install, &push, &problem->error);
    id = install->id;
    pthread_mutex_unlock(&installs->change);
    if (err) {
        pd_installed_install_free(install);
    } else {
        pd_installed_push_run(installs, &push, pd_clock_monotonic_ns() + PD_INSTALLS_ATTEMPT_NS);
        answer_attempt(answer, id, &push);
    }
    pd_installed_push_done(&push);
    return err;
}

/* ---- uninstall ---- */

static int parse_id(const char *text, uint64_t *ret_id)
{
    size_t len = strlen(text);

    if (!len || len > 16 || strspn(text, "0123456789") != len) {
        return -PD_E_NOT_FOUND;
    }
    *ret_id = strtoull(text, NULL, 10);
    return 0;
}

/* With `change` held. */
static int drop(struct pd_installs *installs, uint64_t id, struct pd_installed_push *push,
                struct pd_error *error)
{
    struct pd_install *install;
    struct pd_error ignored = {0};
    int err;

    pthread_mutex_lock(&installs->lock);
    install = pd_installed_installs_find(installs, id);
    if (install) {
        pd_installed_installs_take_out(installs, install);
    }
    pthread_mutex_unlock(&installs->lock);
    if (!install) {
        return pd_fail(error, -PD_E_NOT_FOUND, "no query %llu is installed",
                       (unsigned long long)id);
    }
    err = pd_installed_installs_save(installs, error);
    pthread_mutex_lock(&installs->lock);
    if (err) {
        pd_installed_installs_insert(installs, install, &ignored);
    } else if (plan(installs, push, install, false)) {
        push->len = 0;
    }
    pthread_mutex_unlock(&installs->lock);
    if (!err) {
        pd_installed_install_free(install);
    }
    return err;
}

int pd_installed_uninstall_answer(struct pd_controller *controller, struct pd_call *call,
                                  struct pd_answer *answer, struct pd_problem *problem)
{
    struct pd_installs *installs = controller->installs;
    struct pd_installed_push push = {.method = "DELETE"};
    uint64_t id;
    int err;

    if (parse_id(call->id, &id)) {
        return pd_fail(&problem->error, -PD_E_NOT_FOUND, "no query %.40s is installed", call->id);
    }
    pthread_mutex_lock(&installs->change);
    err = drop(installs, id, &push, &problem->error);
    pthread_mutex_unlock(&installs->change);
    if (!err) {
        pd_installed_push_run(installs, &push, pd_clock_monotonic_ns() + PD_INSTALLS_ATTEMPT_NS);
        answer_attempt(answer, id, &push);
    }
    pd_installed_push_done(&push);
    return err;
}

/* ---- what is installed; with the list's lock held ---- */

struct told {
    struct pd_install_numbers sums;
    size_t at[PD_TARGET_FAILED + 1]; /* hosts by state */
    json_t *lists[PD_TARGET_FAILED + 1];
};

static void tell_target(struct told *told, const struct pd_install_host *target)
{
#define X(name) told->sums.name += target->numbers.name;
    PD_INSTALLS_NUMBERS(X)
#undef X
    told->at[target->state]++;
    if (target->state != PD_TARGET_INSTALLED) {
        tell_host(told->lists[target->state], target->host, target->reason);
    }
}

/* The worst that is true of a host. */
static const char *state_of(const struct told *told)
{
    return told->at[PD_TARGET_FAILED]    ? "failed"
           : told->at[PD_TARGET_STOPPED] ? "stopped"
           : told->at[PD_TARGET_PENDING] ? "pending"
                                         : "active";
}

static json_t *install_json(const struct pd_install *install)
{
    struct told told = {.lists = {json_array(), NULL, json_array(), json_array()}};
    json_t *object = pd_installed_install_json(install);

    if (!install->hosts) {
        json_object_set_new(object, "hosts", json_string("all"));
    }
    for (size_t i = 0; i < install->targets_len; i++) {
        tell_target(&told, &install->targets[i]);
    }
    json_object_set_new(object, "state", json_string(state_of(&told)));
#define X(name) json_object_set_new(object, #name, json_integer((json_int_t)told.sums.name));
    PD_INSTALLS_NUMBERS(X)
#undef X
    json_object_set_new(
        object, "on_hosts",
        json_pack("{s:I, s:I, s:o, s:o, s:o}", "wanted", (json_int_t)install->targets_len,
                  "installed", (json_int_t)told.at[PD_TARGET_INSTALLED], "pending",
                  told.lists[PD_TARGET_PENDING], "stopped", told.lists[PD_TARGET_STOPPED], "failed",
                  told.lists[PD_TARGET_FAILED]));
    return object;
}

int pd_controller_installed_answer(struct pd_controller *controller, struct pd_call *call,
                                   struct pd_answer *answer, struct pd_problem *problem)
{
    struct pd_installs *installs = controller->installs;
    json_t *list = json_array();

    (void)call;
    (void)problem;
    pd_installed_installs_hear(installs);
    pthread_mutex_lock(&installs->lock);
    for (size_t i = 0; i < installs->installs_len; i++) {
        json_array_append_new(list, install_json(installs->installs[i]));
    }
    pthread_mutex_unlock(&installs->lock);
    pd_http_answer_json(answer, 200, answer->type, json_pack("{s:o}", "installed", list));
    return 0;
}

int pd_installed_one_answer(struct pd_controller *controller, struct pd_call *call,
                            struct pd_answer *answer, struct pd_problem *problem)
{
    struct pd_installs *installs = controller->installs;
    const struct pd_install *install;
    json_t *object = NULL;
    uint64_t id;

    if (!parse_id(call->id, &id)) {
        pd_installed_installs_hear(installs);
        pthread_mutex_lock(&installs->lock);
        install = pd_installed_installs_find(installs, id);
        object = install ? install_json(install) : NULL;
        pthread_mutex_unlock(&installs->lock);
    }
    if (!object) {
        return pd_fail(&problem->error, -PD_E_NOT_FOUND, "no query %.40s is installed", call->id);
    }
    pd_http_answer_json(answer, 200, answer->type, object);
    return 0;
}
