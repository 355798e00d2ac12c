/* SPDX-License-Identifier: Apache-2.0 */
/* The list: its file, its life, and for which hosts each query is meant. */
#include "controller/installed/installed.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/wait.h"
#include "controller/installed/list.h"
#include "controller/select.h"
#include "daemon/state_file.h"

#define MODULE         "installed"
#define VERSION        1
#define FILE_MAX_BYTES (8 * PD_INSTALLATIONS_BYTES_MAX)

/* ---- queries ---- */

void pd_installed_install_free(struct pd_install *install)
{
    if (!install) {
        return;
    }
    pd_fleet_installation_done(&install->what);
    json_decref(install->hosts);
    free(install->targets);
    free(install);
}

int pd_installed_install_parse(const json_t *body, struct pd_install **ret_install,
                               struct pd_error *error)
{
    struct pd_install *install = calloc(1, sizeof *install);
    json_t *rest = json_copy((json_t *)body);
    int err;

    if (!install || !rest) {
        free(install);
        json_decref(rest);
        pd_fail(error, -ENOMEM, "no memory for one more query");
        return -ENOMEM;
    }
    install->hosts = json_incref(json_object_get(rest, "hosts"));
    json_object_del(rest, "hosts");
    err = pd_fleet_installation_parse(rest, &install->what, error);
    json_decref(rest);
    if (err) {
        pd_installed_install_free(install);
        return err;
    }
    install->id = install->what.id;
    *ret_install = install;
    return 0;
}

struct pd_install_host *pd_installed_install_target(struct pd_install *install, uint32_t host)
{
    size_t low = 0, high = install->targets_len;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (install->targets[middle].host < host) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < install->targets_len && install->targets[low].host == host ? &install->targets[low]
                                                                            : NULL;
}

/* Hosts that it was meant for before keep their states. Inventories are in the order of IDs, and so
 * are targets. */
int pd_installed_install_aim(struct pd_install *install, const struct pd_inventory *inventory,
                             struct pd_error *error)
{
    struct pd_selection selection = {0};
    struct pd_install_host *targets;
    int err = pd_controller_select(inventory, install->hosts, &selection, error);

    if (err) {
        return err;
    }
    targets = calloc(selection.len, sizeof *targets);
    if (!targets) {
        err = pd_fail(error, -ENOMEM, "no memory for %zu hosts", selection.len);
    }
    for (size_t i = 0; targets && i < selection.len; i++) {
        uint32_t id = inventory->hosts[selection.hosts[i]].id;
        const struct pd_install_host *before = pd_installed_install_target(install, id);

        targets[i] = before ? *before : (struct pd_install_host){.host = id};
    }
    if (targets) {
        free(install->targets);
        install->targets = targets;
        install->targets_len = selection.len;
    }
    pd_controller_selection_done(&selection);
    return err;
}

/* ---- the list ---- */

static size_t place(const struct pd_installs *installs, uint64_t id)
{
    size_t i = 0;

    while (i < installs->installs_len && installs->installs[i]->id < id) {
        i++;
    }
    return i;
}

struct pd_install *pd_installed_installs_find(struct pd_installs *installs, uint64_t id)
{
    size_t i = place(installs, id);

    return i < installs->installs_len && installs->installs[i]->id == id ? installs->installs[i]
                                                                         : NULL;
}

void pd_installed_installs_hurry(struct pd_installs *installs, uint32_t host)
{
    size_t i = pd_controller_inventory_find(installs->inventory, host);

    if (i == SIZE_MAX) {
        return;
    }
    uint64_t soon_ns = pd_clock_monotonic_ns() + installs->hosts[i].wait_ns;

    if (installs->hosts[i].next_ns > soon_ns) {
        installs->hosts[i].next_ns = soon_ns;
    }
    pthread_cond_signal(&installs->wake);
}

int pd_installed_installs_insert(struct pd_installs *installs, struct pd_install *install,
                                 struct pd_error *error)
{
    size_t at;

    if (installs->installs_len == PD_INSTALLATIONS_MAX) {
        return pd_fail(error, -PD_E_FULL, "%d queries are installed already", PD_INSTALLATIONS_MAX);
    }
    if (installs->bytes + install->what.json_bytes > PD_INSTALLATIONS_BYTES_MAX) {
        return pd_fail(error, -PD_E_FULL, "installed queries may have %zu bytes together",
                       PD_INSTALLATIONS_BYTES_MAX);
    }
    if (!install->id) {
        install->id = installs->next_id++;
    }
    at = place(installs, install->id);
    memmove(&installs->installs[at + 1], &installs->installs[at],
            (installs->installs_len - at) * sizeof(void *));
    installs->installs[at] = install;
    installs->installs_len++;
    installs->bytes += install->what.json_bytes;
    return 0;
}

void pd_installed_installs_take_out(struct pd_installs *installs, const struct pd_install *install)
{
    size_t at = place(installs, install->id);

    memmove(&installs->installs[at], &installs->installs[at + 1],
            (installs->installs_len - at - 1) * sizeof(void *));
    installs->installs_len--;
    installs->bytes -= install->what.json_bytes;
}

/* ---- the file ---- */

json_t *pd_installed_install_json(const struct pd_install *install)
{
    json_t *document = json_deep_copy(install->what.json),
           *item = json_pack("{s:I}", "id", (json_int_t)install->id);
    int err = document && item ? json_object_update(item, document) : -1;

    if (!err && install->hosts) {
        err = json_object_set_new(item, "hosts", json_deep_copy(install->hosts));
    }
    json_decref(document);
    if (!err) {
        return item;
    }
    json_decref(item);
    return NULL;
}

int pd_installed_installs_save(struct pd_installs *installs, struct pd_error *error)
{
    json_t *list = json_array(), *document;
    int err = 0;

    pthread_mutex_lock(&installs->lock);
    for (size_t i = 0; i < installs->installs_len && !err; i++) {
        err = json_array_append_new(list, pd_installed_install_json(installs->installs[i]));
    }
    document = json_pack("{s:i, s:I, s:o}", "version", VERSION, "next_id",
                         (json_int_t)installs->next_id, "installed", list);
    pthread_mutex_unlock(&installs->lock);
    if (err || !document) {
        err = pd_fail(error, -ENOMEM, "%.200s: no memory", installs->file);
    } else {
        err = pd_daemon_state_write(installs->file, document, error);
    }
    json_decref(document);
    return err;
}

static int load_one(struct pd_installs *installs, const json_t *item, struct pd_error *error)
{
    struct pd_install *install = NULL;
    int err;

    if (!json_is_object(item)) {
        return pd_fail(error, -PD_E_VALUE, "expected an object");
    }
    err = pd_installed_install_parse(item, &install, error);
    if (err) {
        return err;
    }
    if (!install->id || install->id >= PD_INSTALLATION_OWN_IDS ||
        pd_installed_installs_find(installs, install->id)) {
        err = pd_fail(error, -PD_E_VALUE, "no ID of its own");
    }
    if (!err) {
        err = pd_installed_installs_insert(installs, install, error);
    }
    if (err) {
        pd_installed_install_free(install);
    } else if (install->id >= installs->next_id) {
        installs->next_id = install->id + 1;
    }
    return err;
}

static void load_all(struct pd_installs *installs, const json_t *document)
{
    const json_int_t next_id = json_integer_value(json_object_get(document, "next_id"));
    json_t *item;
    size_t i;

    if (next_id > 0 && next_id < (json_int_t)PD_INSTALLATION_OWN_IDS) {
        installs->next_id = (uint64_t)next_id;
    }
    json_array_foreach(json_object_get(document, "installed"), i, item)
    {
        struct pd_error error = {0};

        if (load_one(installs, item, &error)) {
            pd_log(PD_LOG_ERROR, MODULE, NULL, "%s: installed[%zu] is left out: %s", installs->file,
                   i, error.text);
        }
    }
}

static int load(struct pd_installs *installs, struct pd_error *error)
{
    json_t *document = NULL;
    int err = pd_daemon_state_read(installs->file, VERSION, FILE_MAX_BYTES, &document, error);

    if (err == -PD_E_CORRUPT) {
        pd_log(PD_LOG_ERROR, MODULE, NULL, "no query is installed: %s", error->text);
        *error = (struct pd_error){0};
        return 0;
    }
    if (document) {
        load_all(installs, document);
    }
    json_decref(document);
    return err;
}

/* ---- life ---- */

/* All hosts are looked at soon. With the lock held. */
static int take_inventory(struct pd_installs *installs)
{
    struct pd_inventory *inventory = pd_controller_hosts_inventory(installs->controller->hosts);
    struct pd_round_host *hosts = calloc(inventory->hosts_len + 1, sizeof *hosts);

    if (!hosts) {
        pd_controller_inventory_free(inventory);
        return -ENOMEM;
    }
    for (size_t i = 0; i < inventory->hosts_len; i++) {
        hosts[i] =
            (struct pd_round_host){.id = inventory->hosts[i].id, .wait_ns = PD_INSTALLS_WAIT_NS};
    }
    free(installs->hosts);
    pd_controller_inventory_free(installs->inventory);
    installs->hosts = hosts;
    installs->inventory = inventory;
    for (size_t i = 0; i < installs->installs_len; i++) {
        struct pd_error error = {0};

        if (pd_installed_install_aim(installs->installs[i], inventory, &error)) {
            pd_log(PD_LOG_WARN, MODULE, NULL, "installed query %llu keeps the hosts it had: %s",
                   (unsigned long long)installs->installs[i]->id, error.text);
        }
    }
    pthread_cond_signal(&installs->wake);
    return 0;
}

static void init_locks(struct pd_installs *installs)
{
    pthread_mutex_init(&installs->change, NULL);
    pthread_mutex_init(&installs->lock, NULL);
    pd_wait_init(&installs->wake);
}

static int open_installs(void *daemon, const void *options, struct pd_error *error)
{
    struct pd_controller *controller = daemon;
    struct pd_installs *installs = calloc(1, sizeof *installs);
    int err;

    (void)options;
    if (!installs) {
        return pd_fail(error, -ENOMEM, "no memory for installed queries");
    }
    init_locks(installs);
    controller->installs = installs;
    installs->controller = controller;
    installs->next_id = 1;
    if (asprintf(&installs->file, "%s/installed.json", controller->state.path) < 0) {
        installs->file = NULL;
        return pd_fail(error, -ENOMEM, "no memory for installed queries");
    }
    err = load(installs, error);
    if (err) {
        return err;
    }
    err = take_inventory(installs);
    if (!err && controller->simulated) {
        return 0; /* nobody is there to have any */
    }
    if (!err) {
        err = -pthread_create(&installs->thread, NULL, pd_installed_installs_rounds, installs);
    }
    installs->started = !err;
    return err ? pd_fail(error, err, "installed queries: %s", pd_error_text(err)) : 0;
}

static void reload_installs(void *daemon)
{
    struct pd_controller *controller = daemon;
    struct pd_installs *installs = controller->installs;
    int err;

    pthread_mutex_lock(&installs->lock);
    err = take_inventory(installs);
    pthread_mutex_unlock(&installs->lock);
    if (err) {
        pd_log(PD_LOG_ERROR, MODULE, NULL, "installed queries keep the hosts they had: %s",
               pd_error_text(err));
    }
}

static void stop_installs(void *daemon)
{
    struct pd_controller *controller = daemon;
    struct pd_installs *installs = controller->installs;

    pthread_mutex_lock(&installs->lock);
    installs->stopping = true;
    pthread_cond_signal(&installs->wake);
    pthread_mutex_unlock(&installs->lock);
}

static void close_installs(void *daemon)
{
    struct pd_controller *controller = daemon;
    struct pd_installs *installs = controller->installs;

    if (!installs) {
        return;
    }
    if (installs->started) {
        stop_installs(controller);
        pthread_join(installs->thread, NULL);
    }
    for (size_t i = 0; i < installs->installs_len; i++) {
        pd_installed_install_free(installs->installs[i]);
    }
    pd_controller_inventory_free(installs->inventory);
    pthread_cond_destroy(&installs->wake);
    pthread_mutex_destroy(&installs->lock);
    pthread_mutex_destroy(&installs->change);
    free(installs->hosts);
    free(installs->file);
    free(installs);
    controller->installs = NULL;
}

const struct pd_part pd_installed_part = {
    .name = "installed queries",
    .open = open_installs,
    .reload = reload_installs,
    .stop = stop_installs,
    .close = close_installs,
};
