/* SPDX-License-Identifier: Apache-2.0 */
/* Installing, uninstalling and listing at hosts, many at once. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "controller/installed/list.h"
#include "fleet/collect.h"

#define AT_ONCE          64
#define LIST_MAX_BYTES   (2 * (uint64_t)PD_INSTALLATIONS_BYTES_MAX) /* with what others installed */
#define ANSWER_MAX_BYTES 65536

int pd_installed_push_add(struct pd_installs *installs, struct pd_installed_push *push,
                          uint32_t host, uint64_t id, const struct pd_install *install)
{
    size_t at = pd_controller_inventory_find(installs->inventory, host);
    struct pd_installed_push_item item = {.host = host, .id = id};

    if (at == SIZE_MAX) {
        return 0;
    }
    if (PD_GROW(push->items, push->size, push->len + 1)) {
        return -ENOMEM;
    }
    if (!push->inventory) {
        push->inventory = pd_controller_inventory_hold(installs->inventory);
    }
    item.url = installs->inventory->hosts[at].url;
    if (install) {
        json_t *json = pd_installed_install_json(install);

        json_object_del(json, "hosts");
        item.body = json ? json_dumps(json, JSON_COMPACT) : NULL;
        json_decref(json);
        if (!item.body) {
            return -ENOMEM;
        }
    }
    if (id && !install) {
        snprintf(item.route, sizeof item.route, "/v1/installed/%llu", (unsigned long long)id);
    } else {
        snprintf(item.route, sizeof item.route, install ? "/v1/install" : "/v1/installed");
    }
    push->items[push->len++] = item;
    return 0;
}

void pd_installed_push_done(struct pd_installed_push *push)
{
    for (size_t i = 0; i < push->len; i++) {
        free(push->items[i].body);
        free(push->items[i].answer);
    }
    free(push->items);
    pd_controller_inventory_free(push->inventory);
    *push = (struct pd_installed_push){0};
}

/* ---- asking ---- */

/* Of installing and uninstalling only how it ended. */
static void note_end(void *context, size_t i, const struct pd_collected *peer)
{
    ((struct pd_installed_push *)context)->items[i].error = peer->error;
}

/* 0 or -ENOMEM. */
static int ask_all(struct pd_installs *installs, struct pd_installed_push *push,
                   struct pd_collected *peers, uint64_t deadline_ns)
{
    const bool lists = !strcmp(push->method, "GET");
    const struct pd_fanout_request request = {
        .method = push->method,
        .route = "/v1/installed",
        .type = "application/json",
        .accept = "application/json",
        .deadline_ns = deadline_ns,
        .max_bytes = lists ? LIST_MAX_BYTES : ANSWER_MAX_BYTES,
        .at_once = AT_ONCE,
    };

    return pd_fleet_collect(installs->controller->fanout, &request, peers, push->len,
                            lists ? NULL : note_end, push);
}

static void ask(struct pd_installs *installs, struct pd_installed_push *push, uint64_t deadline_ns)
{
    struct pd_collected *peers = calloc(push->len + 1, sizeof *peers);

    for (size_t i = 0; peers && i < push->len; i++) {
        const struct pd_installed_push_item *item = &push->items[i];

        peers[i] =
            (struct pd_collected){.url = item->url, .body = item->body, .route = item->route};
    }
    int err = peers ? ask_all(installs, push, peers, deadline_ns) : -ENOMEM;
    for (size_t i = 0; i < push->len; i++) {
        struct pd_installed_push_item *item = &push->items[i];

        if (err) {
            pd_fail(&item->error, -PD_E_BUSY, "%s", pd_error_text(err));
        } else if (!strcmp(push->method, "GET")) {
            item->error = peers[i].error;
            item->answer = peers[i].answer;
            item->answer_len = peers[i].len;
        }
    }
    free(peers);
}

/* ---- what came of it ---- */

/* It may well work the next time. */
static bool is_away(int err)
{
    return err == -PD_E_UNREACHABLE || err == -PD_E_DEADLINE || err == -PD_E_BUSY || err == -ENOMEM;
}

/* Uninstalled while it was on its way: the next look at the host finds it there and takes it away.
 */
static void settle_install(struct pd_installs *installs, const struct pd_installed_push_item *item)
{
    struct pd_install *install = pd_installed_installs_find(installs, item->id);
    struct pd_install_host *target =
        install ? pd_installed_install_target(install, item->host) : NULL;
    int err = item->error.code;

    if (!target || is_away(err)) {
        pd_installed_installs_hurry(installs, item->host);
    }
    if (!target) {
        return;
    }
    target->state = !err           ? PD_TARGET_INSTALLED
                    : is_away(err) ? PD_TARGET_PENDING
                                   : PD_TARGET_FAILED;
    snprintf(target->reason, sizeof target->reason, "%.110s", err ? item->error.text : "");
}

void pd_installed_push_run(struct pd_installs *installs, struct pd_installed_push *push,
                           uint64_t deadline_ns)
{
    const bool posted = !strcmp(push->method, "POST");

    if (!push->len) {
        return;
    }
    ask(installs, push, deadline_ns);
    for (size_t i = 0; i < push->len; i++) {
        const struct pd_installed_push_item *item = &push->items[i];

        pd_controller_hosts_asked(installs->controller->hosts, item->host,
                                  is_away(item->error.code) ? item->error.text : NULL);
    }
    pthread_mutex_lock(&installs->lock);
    for (size_t i = 0; i < push->len; i++) {
        const struct pd_installed_push_item *item = &push->items[i];

        if (posted) {
            settle_install(installs, item);
        } else if (item->error.code && item->error.code != -PD_E_NOT_FOUND) {
            pd_installed_installs_hurry(installs, item->host);
        }
    }
    pthread_mutex_unlock(&installs->lock);
}
