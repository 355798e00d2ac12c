/* SPDX-License-Identifier: Apache-2.0 */
/* The endpoint as callers see it: opened, asked, told what to do, closed. */
#include "controller/switches/switches.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "controller/switches/edge.h"
#include "controller/switches/endpoint.h"

/* ---- tables */

static const struct {
    const char *name, *text;
} counter_table[] = {
#define X(id, name, text) {#name, text},
    PD_SWITCHES_COUNTERS(X)
#undef X
};

static const char *const state_names[] = {
#define X(id, name) name,
    PD_SWITCH_STATES(X)
#undef X
};

const char *pd_switches_counter_name(enum pd_switches_counter counter)
{
    return counter_table[counter].name;
}

const char *pd_switches_counter_text(enum pd_switches_counter counter)
{
    return counter_table[counter].text;
}

const char *pd_switch_state_name(enum pd_switch_state state)
{
    return state_names[state];
}

const char *pd_switch_edge_name(enum pd_switch_edge edge)
{
    static const char *const names[] = {
#define X(id, name) name,
        PD_SWITCH_EDGES(X)
#undef X
    };
    return names[edge];
}

/* ---- open and close */

static void default_u64(uint64_t *value, uint64_t fallback)
{
    *value = *value ? *value : fallback;
}

static void default_u32(uint32_t *value, uint32_t fallback)
{
    *value = *value ? *value : fallback;
}

static void fill_defaults(struct pd_switches_settings *settings)
{
    default_u64(&settings->handshake_ms, 5000);
    default_u64(&settings->echo_ms, 5000);
    default_u64(&settings->check_ms, 30000);
    default_u32(&settings->strangers_max, 1024);
    default_u32(&settings->checks_max, 32);
    default_u32(&settings->packet_ins_per_s, 100);
}

static int open_epoll(struct pd_switches *s)
{
    struct epoll_event wake = {.events = EPOLLIN, .data.ptr = NULL};
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->epoll < 0 || s->wake < 0 || epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->wake, &wake)) {
        return -errno;
    }
    for (unsigned i = 0; i < s->listeners_len; i++) {
        struct epoll_event listener = {.events = EPOLLIN, .data.ptr = &s->listeners[i]};
        if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->listeners[i].listener.fd, &listener)) {
            return -errno;
        }
    }
    return 0;
}

static int make_tables(struct pd_switches *s)
{
    const struct pd_topology *topology = s->codec->topology;
    s->by_switch = calloc(topology->switches_len + 1, sizeof(struct pd_connection *));
    s->published = calloc(topology->switches_len + 1, sizeof *s->published);
    if (!s->by_switch || !s->published) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        s->published[i].status.id = topology->switches[i].id;
        s->published[i].status.edge = pd_switch_edge_of(topology, i, NULL);
    }
    return 0;
}

/* Signals are for the program's other threads. */
static int start(struct pd_switches *s)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&s->thread, NULL, pd_switch_endpoint_run, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    s->running = !failed;
    return -failed;
}

static void init(struct pd_switches *s, const struct pd_codec *codec,
                 const struct pd_switches_settings *settings)
{
    s->codec = codec;
    s->settings = *settings;
    fill_defaults(&s->settings);
    s->epoll = s->wake = -1;
    TAILQ_INIT(&s->strangers);
    TAILQ_INIT(&s->waiting);
    TAILQ_INIT(&s->ended);
    STAILQ_INIT(&s->commands);
    pthread_mutex_init(&s->lock, NULL);
}

int pd_switches_open(const struct pd_codec *codec, const struct pd_switches_settings *settings,
                     struct pd_switches **ret_switches, struct pd_error *error)
{
    struct pd_switches *s = calloc(1, sizeof *s);
    if (!s) {
        return pd_fail(error, -ENOMEM, "openflow: no memory");
    }
    init(s, codec, settings);
    int failed = pd_switch_endpoint_listen(s, error);
    if (failed) {
        goto out;
    }
    failed = make_tables(s);
    if (!failed) {
        failed = open_epoll(s);
    }
    if (!failed) {
        failed = start(s);
    }
    if (failed) {
        pd_fail(error, failed, "openflow: %s", pd_error_text(failed));
        goto out;
    }
    *ret_switches = s;
    return 0;
out:
    pd_switches_close(s);
    return failed;
}

static void wake(struct pd_switches *s)
{
    uint64_t one = 1;
    while (write(s->wake, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

static void free_tables(struct pd_switches *s)
{
    struct pd_command *command;
    while ((command = STAILQ_FIRST(&s->commands))) {
        STAILQ_REMOVE_HEAD(&s->commands, next);
        free(command);
    }
    for (uint32_t i = 0; s->published && i < s->codec->topology->switches_len; i++) {
        free(s->published[i].changes);
    }
    free(s->published);
    free(s->by_switch);
}

void pd_switches_close(struct pd_switches *switches)
{
    struct pd_switches *s = switches;
    if (!s) {
        return;
    }
    atomic_store_explicit(&s->stopping, true, memory_order_release);
    if (s->running) {
        wake(s);
        pthread_join(s->thread, NULL);
    }
    if (s->epoll >= 0) {
        close(s->epoll);
    }
    if (s->wake >= 0) {
        close(s->wake);
    }
    for (unsigned i = 0; i < s->listeners_len; i++) {
        pd_http_listen_close(&s->listeners[i].listener);
    }
    free_tables(s);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* ---- questions */

const char *pd_switches_address(const struct pd_switches *switches)
{
    return switches->address;
}

uint64_t pd_switches_counter(const struct pd_switches *switches, enum pd_switches_counter counter)
{
    return atomic_load_explicit(&switches->counters[counter], memory_order_relaxed);
}

void pd_switches_status(struct pd_switches *switches, uint32_t index,
                        struct pd_switch_status *ret_status)
{
    pthread_mutex_lock(&switches->lock);
    *ret_status = switches->published[index].status;
    pthread_mutex_unlock(&switches->lock);
}

int pd_switches_changes(struct pd_switches *switches, uint32_t switch_id, char **ret_text)
{
    uint32_t sw = pd_topology_switch(switches->codec->topology, switch_id);
    if (sw == PD_NONE) {
        return -PD_E_NOT_FOUND;
    }
    pthread_mutex_lock(&switches->lock);
    const char *changes = switches->published[sw].changes;
    char *text = changes ? strdup(changes) : NULL;
    int failed = !changes ? -PD_E_NOT_FOUND : text ? 0 : -ENOMEM;
    pthread_mutex_unlock(&switches->lock);
    if (!failed) {
        *ret_text = text;
    }
    return failed;
}

/* ---- commands */

/* Takes the command. */
static int enqueue(struct pd_switches *s, struct pd_command *command)
{
    size_t bytes = sizeof *command + command->bytes;
    int failed = 0;
    pthread_mutex_lock(&s->lock);
    if (s->published[command->sw].status.state == PD_SWITCH_AWAY) {
        failed = -PD_E_NOT_FOUND;
    } else if (s->commands_bytes + bytes > PD_ENDPOINT_COMMAND_BYTES_MAX) {
        failed = -PD_E_FULL;
    } else {
        STAILQ_INSERT_TAIL(&s->commands, command, next);
        s->commands_bytes += bytes;
    }
    pthread_mutex_unlock(&s->lock);
    if (failed) {
        free(command);
    } else {
        wake(s);
    }
    return failed;
}

static int make_command(struct pd_switches *s, enum pd_command_kind kind, uint32_t switch_id,
                        size_t bytes, struct pd_command **ret_command)
{
    uint32_t sw = pd_topology_switch(s->codec->topology, switch_id);
    if (sw == PD_NONE) {
        return -PD_E_NOT_FOUND;
    }
    struct pd_command *command = calloc(1, sizeof *command + bytes);
    if (!command) {
        return -ENOMEM;
    }
    command->kind = kind;
    command->sw = sw;
    command->bytes = bytes;
    *ret_command = command;
    return 0;
}

int pd_switches_check(struct pd_switches *switches, uint32_t switch_id)
{
    struct pd_command *command;
    int failed = make_command(switches, PD_COMMAND_CHECK, switch_id, 0, &command);
    return failed ? failed : enqueue(switches, command);
}

int pd_switches_packet_out(struct pd_switches *switches, uint32_t switch_id, uint32_t in_port,
                           uint32_t out_port, const uint8_t *data, size_t bytes)
{
    struct pd_command *command;
    if (bytes > PD_SWITCHES_FRAME_MAX) {
        return -PD_E_TOO_LARGE;
    }
    int failed = make_command(switches, PD_COMMAND_PACKET_OUT, switch_id, bytes, &command);
    if (failed) {
        return failed;
    }
    command->in_port = in_port;
    command->out_port = out_port;
    if (bytes) {
        memcpy(command->data, data, bytes);
    }
    return enqueue(switches, command);
}
