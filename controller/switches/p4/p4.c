/* SPDX-License-Identifier: Apache-2.0 */
/* Switches that run compiled P4 programs (pathdump-switch) as a provider of switches. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/wait.h"
#include "controller/switches/edge.h"
#include "controller/switches/p4/private.h"

/* The tables of the schemes are compared every CHECK_NS, and put again where they differ. What the
 * switches punt is read as soon as their counter tells of it. */

#define POLL_NS  (PD_NS_PER_S / 10)
#define CHECK_NS (2 * PD_NS_PER_S)

struct options {
    const char *controls;
};

static const struct pd_option options[] = {
    {.section = "switches",
     .name = "p4-switches",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct options, controls),
     .value = "URL[,URL...]",
     .help = "controls of pathdump-switch: unix:PATH or http://ADDRESS:PORT"},
    {0},
};

static bool wanted(const struct pd_switch_provider_config *config)
{
    const struct options *own = config->options;

    return own && own->controls;
}

/* ---- what is known of a switch ---- */

static void enter(struct pd_p4_provider *p4, struct pd_p4_seat *seat,
                  const struct pd_switch_status *found)
{
    pthread_mutex_lock(&p4->lock);
    bool has_changed = seat->status.state != found->state;
    uint64_t packets = seat->status.packet_ins, limited = seat->status.packet_ins_limited;
    seat->status = *found;
    seat->status.packet_ins = packets;
    seat->status.packet_ins_limited = limited;
    seat->status.changed_us = has_changed ? pd_clock_wall_us() : found->changed_us;
    struct pd_switch_status now = seat->status;
    pthread_mutex_unlock(&p4->lock);
    if (has_changed) {
        p4->config.events.state(p4->config.events.context, &now);
    }
}

static void leave(struct pd_p4_provider *p4, uint32_t index, const char *why)
{
    struct pd_p4_seat *seat = &p4->seats[index];
    struct pd_switch_status away = {.id = seat->status.id,
                                    .state = PD_SWITCH_AWAY,
                                    .edge = pd_switch_edge_of(p4->config.topology, index, NULL),
                                    .connects = seat->status.connects,
                                    .changed_us = seat->status.changed_us};

    snprintf(away.last_error, sizeof away.last_error, "%s", why);
    seat->control = 0;
    seat->checked_ns = 0;
    enter(p4, seat, &away);
}

static void look_at(struct pd_p4_provider *p4, uint32_t index)
{
    struct pd_p4_seat *seat = &p4->seats[index];
    struct pd_switch_status status = seat->status;
    struct pd_error error = {.code = 0};
    int err = pd_switch_p4_check(p4, index, &status, &error);

    seat->checked_ns = pd_clock_monotonic_ns();
    status.state =
        err || status.missing || status.surplus ? PD_SWITCH_DIFFERING : PD_SWITCH_INSTALLED;
    snprintf(status.last_error, sizeof status.last_error, "%s", err ? error.text : "");
    enter(p4, seat, &status);
}

/* ---- what a control says ---- */

static void meet(struct pd_p4_provider *p4, struct pd_p4_seat *seat, uint32_t control,
                 uint64_t punted, const char *program)
{
    bool is_new = seat->control != control + 1 || punted < seat->punted;

    if (is_new) {
        struct pd_switch_status status = seat->status;

        status.state = PD_SWITCH_CHECKING;
        status.connects++;
        seat->control = control + 1;
        seat->offset = seat->checked_ns = 0;
        seat->caught_up = false;
        seat->punted = 0;
        enter(p4, seat, &status);
    }
    snprintf(seat->program, sizeof seat->program, "%s", program);
    seat->listed = true;
}

static void take(struct pd_p4_provider *p4, uint32_t control, const json_t *one)
{
    const char *program = json_string_value(json_object_get(one, "program"));
    json_int_t id = json_integer_value(json_object_get(one, "switch"));
    json_int_t punted = json_integer_value(json_object_get(one, "punted"));
    uint32_t index = id > 0 && id <= UINT32_MAX
                         ? pd_topology_switch(p4->config.topology, (uint32_t)id)
                         : PD_NONE;
    struct pd_error error;

    if (index == PD_NONE || !program || punted < 0) {
        p4->config.events.unknown(p4->config.events.context, (uint64_t)id, p4->controls[control]);
        return;
    }
    struct pd_p4_seat *seat = &p4->seats[index];
    meet(p4, seat, control, (uint64_t)punted, program);
    if ((!seat->caught_up || (uint64_t)punted > seat->punted) &&
        !pd_switch_p4_punts(p4, index, &error)) {
        seat->punted = (uint64_t)punted;
    }
    if (!seat->checked_ns || pd_clock_monotonic_ns() >= seat->checked_ns + CHECK_NS) {
        look_at(p4, index);
    }
}

static void ask(struct pd_p4_provider *p4, uint32_t control)
{
    struct pd_error error = {.code = 0};
    json_t *answer = NULL;
    const json_t *one;
    size_t i;
    int err = pd_switch_p4_ask_json(p4, control, "/v1/switches", NULL, &answer, &error);

    json_array_foreach(json_object_get(answer, "switches"), i, one)
    {
        take(p4, control, one);
    }
    json_decref(answer);
    for (uint32_t s = 0; s < p4->config.topology->switches_len; s++) {
        if (p4->seats[s].control == control + 1 && !p4->seats[s].listed) {
            leave(p4, s, err ? error.text : "its control does not list it any more");
        }
        p4->seats[s].listed = false;
    }
}

static void *run(void *argument)
{
    struct pd_p4_provider *p4 = argument;

    while (!atomic_load_explicit(&p4->stopped, memory_order_relaxed)) {
        for (uint32_t c = 0; c < p4->controls_len; c++) {
            ask(p4, c);
        }
        pthread_mutex_lock(&p4->lock);
        pd_wait_until(&p4->ended, &p4->lock, pd_clock_monotonic_ns() + POLL_NS);
        pthread_mutex_unlock(&p4->lock);
    }
    return NULL;
}

/* ---- begin and end ---- */

static int read_controls(struct pd_p4_provider *p4, const char *list, struct pd_error *error)
{
    int err = 0;

    for (const char *at = list; !err && *at;) {
        size_t len = strcspn(at, ",");

        if (p4->controls_len == PD_P4_CONTROLS_MAX || len >= PD_HTTP_URL_BYTES) {
            return pd_fail(error, -PD_E_VALUE, "p4-switches: at most %u addresses of %u bytes",
                           PD_P4_CONTROLS_MAX, PD_HTTP_URL_BYTES - 1);
        }
        memcpy(p4->controls[p4->controls_len], at, len);
        err = pd_http_url_check(p4->controls[p4->controls_len++], error);
        at += len + (at[len] == ',');
    }
    return err;
}

static void free_provider(struct pd_p4_provider *p4)
{
    pd_fleet_fanout_free(p4->fanout);
    pthread_cond_destroy(&p4->ended);
    pthread_mutex_destroy(&p4->lock);
    free(p4->seats);
    free(p4);
}

static void close_switches(void *provider)
{
    struct pd_p4_provider *p4 = provider;

    pthread_mutex_lock(&p4->lock);
    atomic_store_explicit(&p4->stopped, true, memory_order_relaxed);
    pthread_cond_signal(&p4->ended);
    pthread_mutex_unlock(&p4->lock);
    pthread_join(p4->thread, NULL);
    free_provider(p4);
}

static int prepare(struct pd_p4_provider *p4)
{
    const struct pd_topology *topology = p4->config.topology;

    p4->seats = calloc((size_t)topology->switches_len + 1, sizeof *p4->seats);
    p4->fanout = pd_fleet_fanout_new();
    if (!p4->seats || !p4->fanout) {
        return -ENOMEM;
    }
    pd_fleet_fanout_use(p4->fanout, p4->config.credentials);
    for (uint32_t s = 0; s < topology->switches_len; s++) {
        p4->seats[s].status.id = topology->switches[s].id;
        p4->seats[s].status.edge = pd_switch_edge_of(topology, s, NULL);
    }
    return 0;
}

static int open_switches(const struct pd_switch_provider_config *config, void **ret_provider,
                         struct pd_error *error)
{
    const struct options *own = config->options;
    struct pd_p4_provider *p4 = calloc(1, sizeof *p4);

    if (!p4) {
        return pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    p4->config = *config;
    pthread_mutex_init(&p4->lock, NULL);
    pd_wait_init(&p4->ended);
    int err = read_controls(p4, own->controls, error);
    if (!err && (prepare(p4) || pthread_create(&p4->thread, NULL, run, p4))) {
        err = pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    if (err) {
        free_provider(p4);
        return err;
    }
    *ret_provider = p4;
    return 0;
}

/* ---- what others ask ---- */

static const char *address(const void *provider)
{
    return ((const struct pd_p4_provider *)provider)->controls[0];
}

static void status(void *provider, uint32_t index, struct pd_switch_status *ret_status)
{
    struct pd_p4_provider *p4 = provider;

    pthread_mutex_lock(&p4->lock);
    *ret_status = p4->seats[index].status;
    pthread_mutex_unlock(&p4->lock);
}

/* The control of a switch takes no frames. */
static int packet_out(void *provider, uint32_t switch_id, uint32_t in_port, const uint8_t *data,
                      size_t bytes)
{
    (void)provider;
    (void)switch_id;
    (void)in_port;
    (void)data;
    (void)bytes;
    return -PD_E_NOT_FOUND;
}

const struct pd_switch_provider_ops pd_switch_p4 = {
    .name = "p4",
    .options = options,
    .options_bytes = sizeof(struct options),
    .prompt = true,
    .wanted = wanted,
    .open = open_switches,
    .close = close_switches,
    .address = address,
    .status = status,
    .packet_out = packet_out,
};
