/* SPDX-License-Identifier: Apache-2.0 */
/* The thread of rounds: what hosts have is compared with what they shall have. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/wait.h"
#include "controller/installed/list.h"
#include "http/body.h"

#define MODULE      "installed"
#define HOSTS_MAX   1024              /* of one round */
#define HEAR_AGE_NS (PD_NS_PER_S / 2) /* numbers that are so fresh are told again */
#define HEAR_NS     PD_NS_PER_S       /* for all hosts to tell theirs */

/* ---- one host's list against ours; with the list's lock held ---- */

static bool same_document(const json_t *item, const json_t *document)
{
    static const char *const members[] = {"query",     "program", "args",
                                          "period_ms", "on",      "deadline_ms"};

    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        const json_t *there = json_object_get(item, members[i]),
                     *here = json_object_get(document, members[i]);

        if ((there || here) && !json_equal(there, here)) {
            return false;
        }
    }
    return true;
}

static uint64_t number(const json_t *item, const char *name)
{
    json_int_t value = json_integer_value(json_object_get(item, name));

    return value > 0 ? (uint64_t)value : 0;
}

static void note_target(struct pd_install_host *target, const json_t *item)
{
    const char *state = json_string_value(json_object_get(item, "state")),
               *error = json_string_value(json_object_get(item, "error"));
    bool stopped = state && !strcmp(state, "stopped");

    target->state = stopped ? PD_TARGET_STOPPED : PD_TARGET_INSTALLED;
    snprintf(target->reason, sizeof target->reason, "%.110s", stopped && error ? error : "");
#define X(name) target->numbers.name = number(item, #name);
    PD_INSTALLS_NUMBERS(X)
#undef X
}

static const json_t *find_item(const json_t *list, uint64_t id)
{
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        if (number(item, "id") == id) {
            return item;
        }
    }
    return NULL;
}

/* What a host lacks, and what it has and shall not. */
struct plan {
    struct pd_installed_push install, uninstall;
    int error;
};

static void plan_installs(struct pd_installs *installs, uint32_t host, const json_t *list,
                          struct plan *plan)
{
    for (size_t i = 0; i < installs->installs_len; i++) {
        struct pd_install *install = installs->installs[i];
        struct pd_install_host *target = pd_installed_install_target(install, host);
        const json_t *item = target ? find_item(list, install->id) : NULL;

        if (item && same_document(item, install->what.json)) {
            note_target(target, item);
        } else if (target && plan && !plan->error) {
            plan->error =
                pd_installed_push_add(installs, &plan->install, host, install->id, install);
        }
    }
}

static void plan_uninstalls(struct pd_installs *installs, uint32_t host, const json_t *list,
                            struct plan *plan)
{
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        uint64_t id = number(item, "id");
        struct pd_install *install = pd_installed_installs_find(installs, id);

        if (!id || id >= PD_INSTALLATION_OWN_IDS ||
            (install && pd_installed_install_target(install, host))) {
            continue;
        }
        if (!plan->error) {
            plan->error = pd_installed_push_add(installs, &plan->uninstall, host, id, NULL);
        }
    }
}

/* Whether its queries are at work there nobody knows. */
static void note_nonsense(struct pd_installs *installs, uint32_t host)
{
    for (size_t i = 0; i < installs->installs_len; i++) {
        struct pd_install_host *target = pd_installed_install_target(installs->installs[i], host);

        if (!target) {
            continue;
        }
        target->state = PD_TARGET_PENDING;
        snprintf(target->reason, sizeof target->reason, "its list of queries cannot be read");
    }
    pd_installed_installs_hurry(installs, host);
}

/* `plan` may be NULL: then only states and numbers are taken over. */
static void compare(struct pd_installs *installs, const struct pd_installed_push_item *item,
                    struct plan *plan)
{
    json_t *document = NULL;
    const json_t *list;

    if (pd_http_body_json(item->answer ? item->answer : "", item->answer_len, &document, NULL)) {
        document = NULL;
    }
    list = json_object_get(document, "installed");
    pthread_mutex_lock(&installs->lock);
    if (json_is_array(list)) {
        plan_installs(installs, item->host, list, plan);
        if (plan) {
            plan_uninstalls(installs, item->host, list, plan);
        }
    } else {
        note_nonsense(installs, item->host);
    }
    pthread_mutex_unlock(&installs->lock);
    json_decref(document);
}

/* ---- rounds ---- */

static void note_away(struct pd_installs *installs, const struct pd_installed_push_item *item)
{
    size_t at;

    pthread_mutex_lock(&installs->lock);
    at = pd_controller_inventory_find(installs->inventory, item->host);
    if (at != SIZE_MAX && installs->hosts[at].wait_ns < PD_INSTALLS_WAIT_MAX_NS) {
        installs->hosts[at].wait_ns *= 2;
    }
    for (size_t i = 0; i < installs->installs_len; i++) {
        struct pd_install_host *target =
            pd_installed_install_target(installs->installs[i], item->host);

        if (target && target->state == PD_TARGET_PENDING) {
            snprintf(target->reason, sizeof target->reason, "%.110s", item->error.text);
        }
    }
    pthread_mutex_unlock(&installs->lock);
}

static void note_here(struct pd_installs *installs, uint32_t host)
{
    size_t at;

    pthread_mutex_lock(&installs->lock);
    at = pd_controller_inventory_find(installs->inventory, host);
    if (at != SIZE_MAX) {
        installs->hosts[at].wait_ns = PD_INSTALLS_WAIT_NS;
    }
    pthread_mutex_unlock(&installs->lock);
}

static void work(struct pd_installs *installs, struct pd_installed_push *look)
{
    struct plan plan = {.install.method = "POST", .uninstall.method = "DELETE"};

    pd_installed_push_run(installs, look, pd_clock_monotonic_ns() + PD_INSTALLS_ATTEMPT_NS);
    for (size_t i = 0; i < look->len; i++) {
        if (look->items[i].error.code) {
            note_away(installs, &look->items[i]);
            continue;
        }
        note_here(installs, look->items[i].host);
        compare(installs, &look->items[i], &plan);
    }
    if (plan.error) {
        pd_log(PD_LOG_ERROR, MODULE, NULL, "hosts do not get what they shall have: %s",
               pd_error_text(plan.error));
    }
    pd_installed_push_run(installs, &plan.install,
                          pd_clock_monotonic_ns() + PD_INSTALLS_ATTEMPT_NS);
    pd_installed_push_run(installs, &plan.uninstall,
                          pd_clock_monotonic_ns() + PD_INSTALLS_ATTEMPT_NS);
    pd_installed_push_done(&plan.install);
    pd_installed_push_done(&plan.uninstall);
}

/* Hosts whose time has come; whoever hurries one from now on has it looked at again. Returns when
 * to come back. */
static uint64_t choose(struct pd_installs *installs, struct pd_installed_push *look)
{
    const uint64_t now_ns = pd_clock_monotonic_ns();
    uint64_t next_ns = now_ns + PD_INSTALLS_ROUND_NS;

    for (size_t i = 0; i < installs->inventory->hosts_len; i++) {
        struct pd_round_host *host = &installs->hosts[i];

        if (host->next_ns <= now_ns && look->len < HOSTS_MAX &&
            !pd_installed_push_add(installs, look, host->id, 0, NULL)) {
            host->next_ns = now_ns + PD_INSTALLS_ROUND_NS;
        }
        if (host->next_ns < next_ns) {
            next_ns = host->next_ns;
        }
    }
    return next_ns;
}

void *pd_installed_installs_rounds(void *context)
{
    struct pd_installs *installs = context;

    pthread_mutex_lock(&installs->lock);
    while (!installs->stopping) {
        struct pd_installed_push look = {.method = "GET"};
        uint64_t next_ns = choose(installs, &look);

        if (!look.len) {
            pd_wait_until(&installs->wake, &installs->lock, next_ns);
            continue;
        }
        pthread_mutex_unlock(&installs->lock);
        work(installs, &look);
        pd_installed_push_done(&look);
        pthread_mutex_lock(&installs->lock);
    }
    pthread_mutex_unlock(&installs->lock);
    return NULL;
}

/* ---- numbers ---- */

/* Every host that some query is meant for, once. */
static void choose_targets(struct pd_installs *installs, struct pd_installed_push *look)
{
    for (size_t i = 0; i < installs->inventory->hosts_len; i++) {
        uint32_t host = installs->hosts[i].id;
        bool wanted = false;

        for (size_t k = 0; k < installs->installs_len && !wanted; k++) {
            wanted = pd_installed_install_target(installs->installs[k], host) != NULL;
        }
        if (wanted && pd_installed_push_add(installs, look, host, 0, NULL)) {
            return;
        }
    }
}

void pd_installed_installs_hear(struct pd_installs *installs)
{
    const uint64_t now_ns = pd_clock_monotonic_ns();
    struct pd_installed_push look = {.method = "GET"};

    pthread_mutex_lock(&installs->lock);
    if (!installs->heard_ns || now_ns - installs->heard_ns > HEAR_AGE_NS) {
        installs->heard_ns = now_ns;
        choose_targets(installs, &look);
    }
    pthread_mutex_unlock(&installs->lock);
    pd_installed_push_run(installs, &look, now_ns + HEAR_NS);
    for (size_t i = 0; i < look.len; i++) {
        if (!look.items[i].error.code) {
            compare(installs, &look.items[i], NULL);
        }
    }
    pd_installed_push_done(&look);
}
