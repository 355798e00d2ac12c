/* SPDX-License-Identifier: Apache-2.0 */
/* States of hosts beside the inventory that they belong to. */
#include "controller/hosts.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "controller/events/hub.h"
#include "controller/routes.h"
#include "fleet/fanout.h"
#include "http/text.h"

enum state { UNKNOWN, UP, MISSING };

static const char *const state_ids[] = {"unknown", "up", "missing"};

struct host {
    enum state state;
    uint64_t seen_us, error_us; /* wall time, 0: never */
    uint64_t silent_us;         /* likewise: since when; 0: it is not silent */
    char error[160];
};

struct pd_hosts {
    pthread_mutex_t mutex;  /* over all below */
    pthread_cond_t silence; /* a host has become silent, or somebody wakes */
    size_t silent_len;
    struct pd_inventory *inventory;
    struct host *states;      /* by index in the inventory */
    struct pd_events *events; /* NULL: nobody is told */
};

int pd_controller_hosts_new(struct pd_inventory *inventory, struct pd_hosts **ret_hosts)
{
    struct pd_hosts *hosts = calloc(1, sizeof *hosts);
    struct host *states = calloc(inventory->hosts_len + 1, sizeof *states);

    if (!hosts || !states) {
        free(hosts);
        free(states);
        return -ENOMEM;
    }
    pthread_mutex_init(&hosts->mutex, NULL);
    pthread_cond_init(&hosts->silence, NULL);
    hosts->inventory = inventory;
    hosts->states = states;
    *ret_hosts = hosts;
    return 0;
}

void pd_controller_hosts_free(struct pd_hosts *hosts)
{
    if (!hosts) {
        return;
    }
    pthread_cond_destroy(&hosts->silence);
    pthread_mutex_destroy(&hosts->mutex);
    pd_controller_inventory_free(hosts->inventory);
    free(hosts->states);
    free(hosts);
}

struct pd_inventory *pd_controller_hosts_inventory(struct pd_hosts *hosts)
{
    struct pd_inventory *inventory;

    pthread_mutex_lock(&hosts->mutex);
    inventory = pd_controller_inventory_hold(hosts->inventory);
    pthread_mutex_unlock(&hosts->mutex);
    return inventory;
}

/* A host that is asked at another place is another one. */
static void carry_over(const struct pd_hosts *hosts, const struct pd_inventory *inventory,
                       struct host *states)
{
    for (size_t i = 0; i < inventory->hosts_len; i++) {
        size_t old = pd_controller_inventory_find(hosts->inventory, inventory->hosts[i].id);

        if (old != SIZE_MAX && !strcmp(hosts->inventory->hosts[old].url, inventory->hosts[i].url)) {
            states[i] = hosts->states[old];
        }
    }
}

static size_t count_silent(const struct pd_hosts *hosts)
{
    size_t len = 0;

    for (size_t i = 0; i < hosts->inventory->hosts_len; i++) {
        len += hosts->states[i].silent_us != 0;
    }
    return len;
}

int pd_controller_hosts_replace(struct pd_hosts *hosts, struct pd_inventory *inventory)
{
    struct host *states = calloc(inventory->hosts_len + 1, sizeof *states), *old_states;
    struct pd_inventory *old;

    if (!states) {
        return -ENOMEM;
    }
    pthread_mutex_lock(&hosts->mutex);
    carry_over(hosts, inventory, states);
    old = hosts->inventory;
    old_states = hosts->states;
    hosts->inventory = inventory;
    hosts->states = states;
    hosts->silent_len = count_silent(hosts);
    pthread_mutex_unlock(&hosts->mutex);
    pd_controller_inventory_free(old);
    free(old_states);
    return 0;
}

void pd_controller_hosts_publish(struct pd_hosts *hosts, struct pd_events *events)
{
    hosts->events = events;
}

/* ---- what people see ---- */

static json_t *time_json(uint64_t us)
{
    return us ? json_integer((json_int_t)us) : json_null();
}

static json_t *host_json(const struct pd_inventory *inventory, const struct pd_inventory_host *host,
                         const struct host *state)
{
    const struct pd_topology *topology = inventory->topology;
    const struct pd_switch *rack = &topology->switches[topology->hosts[host->index].tor];

    return json_pack("{s:I, s:o, s:s, s:I, s:s, s:o, s:o, s:o}", "id", (json_int_t)host->id, "name",
                     pd_http_text_json(host->name), "url", host->url, "rack", (json_int_t)rack->id,
                     "state", state_ids[state->state], "last_seen_us", time_json(state->seen_us),
                     "error", pd_http_text_json(state->error), "error_us",
                     time_json(state->error_us));
}

json_t *pd_controller_hosts_json(struct pd_hosts *hosts, const char *state)
{
    json_t *list = json_array();
    json_int_t all;

    pthread_mutex_lock(&hosts->mutex);
    all = (json_int_t)hosts->inventory->hosts_len;
    for (size_t i = 0; i < hosts->inventory->hosts_len; i++) {
        if (!state || !strcmp(state, state_ids[hosts->states[i].state])) {
            json_array_append_new(
                list, host_json(hosts->inventory, &hosts->inventory->hosts[i], &hosts->states[i]));
        }
    }
    pthread_mutex_unlock(&hosts->mutex);
    return json_pack("{s:o, s:I}", "hosts", list, "all", all);
}

/* Silence lasts from the first question that met it. */
static void note_silence(struct pd_hosts *hosts, struct host *host, const char *reason,
                         uint64_t now_us)
{
    bool silent = reason && !strncmp(reason, PD_FANOUT_SILENT, strlen(PD_FANOUT_SILENT));

    if (silent == (host->silent_us != 0)) {
        return;
    }
    host->silent_us = silent ? now_us : 0;
    hosts->silent_len += silent ? 1 : (size_t)-1;
    pthread_cond_signal(&hosts->silence);
}

/* True when its state is another one than before. */
static bool note(struct host *host, const char *reason)
{
    enum state before = host->state;
    uint64_t now_us = pd_clock_wall_us();

    if (reason && *reason) {
        host->state = MISSING;
        host->error_us = now_us;
        snprintf(host->error, sizeof host->error, "%s", reason);
    } else {
        host->state = UP;
        host->seen_us = now_us;
    }
    return host->state != before;
}

void pd_controller_hosts_asked(struct pd_hosts *hosts, uint32_t id, const char *reason)
{
    size_t i;

    pthread_mutex_lock(&hosts->mutex);
    i = pd_controller_inventory_find(hosts->inventory, id);
    if (i != SIZE_MAX) {
        note_silence(hosts, &hosts->states[i], reason, pd_clock_wall_us());
    }
    if (i != SIZE_MAX && note(&hosts->states[i], reason) &&
        pd_events_wanted(hosts->events, &pd_event_host)) {
        pd_events_publish(
            hosts->events, &pd_event_host, id,
            host_json(hosts->inventory, &hosts->inventory->hosts[i], &hosts->states[i]));
    }
    pthread_mutex_unlock(&hosts->mutex);
}

/* ---- silent ones ---- */

uint64_t pd_controller_hosts_silent_since(struct pd_hosts *hosts, uint32_t id)
{
    uint64_t since_us = 0;
    size_t i;

    pthread_mutex_lock(&hosts->mutex);
    i = pd_controller_inventory_find(hosts->inventory, id);
    if (i != SIZE_MAX) {
        since_us = hosts->states[i].silent_us;
    }
    pthread_mutex_unlock(&hosts->mutex);
    return since_us;
}

uint32_t pd_controller_hosts_next_silent(struct pd_hosts *hosts, uint32_t after, char **ret_url)
{
    uint32_t id = 0;
    char *url = NULL;

    pthread_mutex_lock(&hosts->mutex);
    for (size_t i = 0; i < hosts->inventory->hosts_len && !id && hosts->silent_len; i++) {
        const struct pd_inventory_host *host = &hosts->inventory->hosts[i];

        if (host->id > after && hosts->states[i].silent_us) {
            url = strdup(host->url);
            id = url ? host->id : 0;
        }
    }
    pthread_mutex_unlock(&hosts->mutex);
    *ret_url = url;
    return id;
}

void pd_controller_hosts_wait_silent(struct pd_hosts *hosts, const atomic_bool *stopping)
{
    pthread_mutex_lock(&hosts->mutex);
    while (!hosts->silent_len && !atomic_load_explicit(stopping, memory_order_relaxed)) {
        pthread_cond_wait(&hosts->silence, &hosts->mutex);
    }
    pthread_mutex_unlock(&hosts->mutex);
}

void pd_controller_hosts_wake(struct pd_hosts *hosts)
{
    pthread_mutex_lock(&hosts->mutex);
    pthread_cond_broadcast(&hosts->silence);
    pthread_mutex_unlock(&hosts->mutex);
}

struct pd_hosts_numbers pd_controller_hosts_count(struct pd_hosts *hosts)
{
    struct pd_hosts_numbers numbers = {0};

    pthread_mutex_lock(&hosts->mutex);
    numbers.all = hosts->inventory->hosts_len;
    for (size_t i = 0; i < numbers.all; i++) {
        numbers.up += hosts->states[i].state == UP;
        numbers.missing += hosts->states[i].state == MISSING;
    }
    pthread_mutex_unlock(&hosts->mutex);
    return numbers;
}

/* The state that is asked for, or NULL. */
static int read_state(struct pd_call *call, const char **ret_state, struct pd_problem *problem)
{
    char value[PD_TARGET_MAX_BYTES];
    int more;

    *ret_state = NULL;
    while ((more = pd_http_target_next(&call->parameters, problem->parameter,
                                       sizeof problem->parameter, value, sizeof value,
                                       &problem->error)) > 0) {
        if (strcmp(problem->parameter, "state") != 0) {
            return pd_fail(&problem->error, -PD_E_UNKNOWN_KEY, "%s: unknown parameter",
                           problem->parameter);
        }
        *ret_state = NULL;
        for (size_t i = 0; i < sizeof state_ids / sizeof *state_ids; i++) {
            *ret_state = strcmp(value, state_ids[i]) ? *ret_state : state_ids[i];
        }
        if (!*ret_state) {
            return pd_fail(&problem->error, -PD_E_VALUE, "state: expects unknown, up or missing");
        }
    }
    return more;
}

int pd_controller_hosts_answer(struct pd_controller *controller, struct pd_call *call,
                               struct pd_answer *answer, struct pd_problem *problem)
{
    const char *state;
    int err = read_state(call, &state, problem);

    if (err) {
        return err;
    }
    pd_http_answer_json(answer, 200, answer->type,
                        pd_controller_hosts_json(controller->hosts, state));
    return 0;
}
