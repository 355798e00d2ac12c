/* SPDX-License-Identifier: Apache-2.0 */
/* Installing, uninstalling and listing at hosts, many at once. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "controller/installed/list.h"
#include "fleet/fanout.h"

#define AT_ONCE          64
#define LIST_MAX_BYTES   (2 * (uint64_t)PD_INSTALLATIONS_BYTES_MAX) /* with what others installed */
#define ANSWER_MAX_BYTES 65536

int pd_errands_add(struct pd_installs *installs, struct pd_errands *errands, uint32_t host,
                   uint64_t id, const struct pd_install *install)
{
    size_t at = pd_inventory_find(installs->inventory, host);
    struct pd_errand errand = {.host = host, .id = id};

    if (at == SIZE_MAX) {
        return 0;
    }
    if (errands->len == errands->size) {
        size_t size = errands->size ? 2 * errands->size : 64;
        void *grown = reallocarray(errands->items, size, sizeof *errands->items);

        if (!grown) {
            return -ENOMEM;
        }
        errands->items = grown;
        errands->size = size;
    }
    if (!errands->inventory) {
        errands->inventory = pd_inventory_hold(installs->inventory);
    }
    errand.url = installs->inventory->hosts[at].url;
    if (install) {
        json_t *json = pd_install_json(install);

        json_object_del(json, "hosts");
        errand.body = json ? json_dumps(json, JSON_COMPACT) : NULL;
        json_decref(json);
        if (!errand.body) {
            return -ENOMEM;
        }
    }
    if (id && !install) {
        snprintf(errand.route, sizeof errand.route, "/v1/installed/%llu", (unsigned long long)id);
    } else {
        snprintf(errand.route, sizeof errand.route, install ? "/v1/install" : "/v1/installed");
    }
    errands->items[errands->len++] = errand;
    return 0;
}

void pd_errands_done(struct pd_errands *errands)
{
    for (size_t i = 0; i < errands->len; i++) {
        free(errands->items[i].body);
        free(errands->items[i].answer);
    }
    free(errands->items);
    pd_inventory_free(errands->inventory);
    *errands = (struct pd_errands){0};
}

/* ---- asking ---- */

static int take(void *context, size_t i, const char *bytes, size_t len)
{
    struct pd_errands *errands = context;
    struct pd_errand *errand = &errands->items[i];

    if (strcmp(errands->method, "GET") != 0) {
        return 0;
    }
    if (errand->answer_len + len > errand->answer_size) {
        size_t size = 2 * (errand->answer_len + len);
        char *grown = realloc(errand->answer, size);

        if (!grown) {
            return -ENOMEM;
        }
        errand->answer = grown;
        errand->answer_size = size;
    }
    memcpy(errand->answer + errand->answer_len, bytes, len);
    errand->answer_len += len;
    return 0;
}

static void end(void *context, size_t i, const struct pd_error *error)
{
    struct pd_errands *errands = context;

    errands->items[i].error = *error;
}

static void ask(struct pd_installs *installs, struct pd_errands *errands, uint64_t deadline_ns)
{
    struct pd_fanout_peer *peers = calloc(errands->len + 1, sizeof *peers);
    const struct pd_fanout_sink sink = {errands, take, end};
    const struct pd_fanout_request request = {
        .method = errands->method,
        .route = "/v1/installed",
        .type = "application/json",
        .accept = "application/json",
        .deadline_ns = deadline_ns,
        .max_bytes = strcmp(errands->method, "GET") ? ANSWER_MAX_BYTES : LIST_MAX_BYTES,
        .at_once = AT_ONCE,
    };
    int e = peers ? 0 : -ENOMEM;

    for (size_t i = 0; peers && i < errands->len; i++) {
        const struct pd_errand *errand = &errands->items[i];

        peers[i] = (struct pd_fanout_peer){.url = errand->url,
                                           .body = errand->body,
                                           .body_bytes = errand->body ? strlen(errand->body) : 0,
                                           .route = errand->route};
    }
    if (!e) {
        e = pd_fanout_ask(installs->controller->fanout, &request, peers, errands->len, &sink);
    }
    for (size_t i = 0; e && i < errands->len; i++) {
        pd_fail(&errands->items[i].error, -PD_E_BUSY, "%s", pd_error_text(e));
    }
    free(peers);
}

/* ---- what came of it ---- */

/* It may well work the next time. */
static bool is_away(int code)
{
    return code == -PD_E_UNREACHABLE || code == -PD_E_DEADLINE || code == -PD_E_BUSY ||
           code == -ENOMEM;
}

/* Uninstalled while it was on its way: the next look at the host finds it there and takes it away.
 */
static void settle_install(struct pd_installs *installs, const struct pd_errand *errand)
{
    struct pd_install *install = pd_installs_find(installs, errand->id);
    struct pd_install_host *target = install ? pd_install_target(install, errand->host) : NULL;
    int code = errand->error.code;

    if (!target || is_away(code)) {
        pd_installs_hurry(installs, errand->host);
    }
    if (!target) {
        return;
    }
    target->state = !code           ? PD_TARGET_INSTALLED
                    : is_away(code) ? PD_TARGET_PENDING
                                    : PD_TARGET_FAILED;
    snprintf(target->reason, sizeof target->reason, "%.110s", code ? errand->error.text : "");
}

void pd_errands_do(struct pd_installs *installs, struct pd_errands *errands, uint64_t deadline_ns)
{
    const bool posted = !strcmp(errands->method, "POST");

    if (!errands->len) {
        return;
    }
    ask(installs, errands, deadline_ns);
    for (size_t i = 0; i < errands->len; i++) {
        const struct pd_errand *errand = &errands->items[i];

        pd_hosts_asked(installs->controller->hosts, errand->host,
                       is_away(errand->error.code) ? errand->error.text : NULL);
    }
    pthread_mutex_lock(&installs->lock);
    for (size_t i = 0; i < errands->len; i++) {
        const struct pd_errand *errand = &errands->items[i];

        if (posted) {
            settle_install(installs, errand);
        } else if (errand->error.code && errand->error.code != -PD_E_NOT_FOUND) {
            pd_installs_hurry(installs, errand->host);
        }
    }
    pthread_mutex_unlock(&installs->lock);
}
