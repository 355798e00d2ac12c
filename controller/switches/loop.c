/* SPDX-License-Identifier: Apache-2.0 */
/* The endpoint's thread: accepts, reads, writes, ticks, and gives each switch its check in turn. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "controller/switches/edge.h"
#include "controller/switches/endpoint.h"

#define EVENTS      64    /* of one turn; also connections accepted in one */
#define READ_BYTES  65536 /* from one connection in one turn */
#define TICK_MS     250
#define BUFFER_KEPT 65536 /* of an output buffer that has run empty */

static void count(struct pd_switches *s, enum pd_switches_counter counter)
{
    atomic_fetch_add_explicit(&s->counters[counter], 1, memory_order_relaxed);
}

/* ---- what others see of a switch */

/* While it is looked at, what was known before stands. */
static enum pd_switch_edge edge_of(const struct pd_connection *c, enum pd_switch_state state,
                                   enum pd_switch_edge before)
{
    bool compared = state == PD_SWITCH_INSTALLED || state == PD_SWITCH_DIFFERING;
    return state == PD_SWITCH_CHECKING
               ? before
               : pd_switch_edge_of(c->owner->codec->topology, c->sw,
                                   compared ? &c->session.differences : NULL);
}

/* Changes the published state; `changes` replaces the list if it is not NULL. */
static void publish(struct pd_connection *c, enum pd_switch_state state, char *changes,
                    const char *error)
{
    struct pd_switches *s = c->owner;
    struct pd_published *published = &s->published[c->sw];
    const struct pd_of_differences *d = &c->session.differences;
    pthread_mutex_lock(&s->lock);
    struct pd_switch_status *status = &published->status;
    if (status->state != state) {
        status->changed_us = pd_clock_wall_us();
    }
    status->edge = edge_of(c, state, status->edge);
    status->state = state;
    status->rules = d->rules;
    status->missing = d->missing;
    status->differing = d->differing;
    status->surplus = d->surplus;
    status->blocked = d->blocked;
    status->foreign = d->foreign;
    snprintf(status->last_error, sizeof status->last_error, "%s", error);
    if (changes) {
        free(published->changes);
        published->changes = changes;
    }
    struct pd_switch_status copy = *status;
    pthread_mutex_unlock(&s->lock);
    if (s->settings.on_state) {
        s->settings.on_state(s->settings.context, &copy);
    }
}

static void publish_connected(struct pd_connection *c)
{
    struct pd_switches *s = c->owner;
    pthread_mutex_lock(&s->lock);
    s->published[c->sw].status.connects++;
    free(s->published[c->sw].changes);
    s->published[c->sw].changes = NULL;
    pthread_mutex_unlock(&s->lock);
    publish(c, PD_SWITCH_WAITING, NULL, "");
}

/* ---- lists and ends */

static struct pd_connections *list_of(struct pd_switches *s, enum pd_connection_list list)
{
    switch (list) {
    case PD_LIST_STRANGERS: return &s->strangers;
    case PD_LIST_WAITING: return &s->waiting;
    case PD_LIST_ENDED: return &s->ended;
    default: return NULL;
    }
}

static void move(struct pd_connection *c, enum pd_connection_list to)
{
    struct pd_switches *s = c->owner;
    if (c->list != PD_LIST_NONE) {
        TAILQ_REMOVE(list_of(s, c->list), c, link);
    }
    s->strangers_len -= c->list == PD_LIST_STRANGERS;
    c->list = to;
    s->strangers_len += to == PD_LIST_STRANGERS;
    if (to != PD_LIST_NONE) {
        TAILQ_INSERT_TAIL(list_of(s, to), c, link);
    }
}

static void set_checking(struct pd_connection *c, bool checking)
{
    c->owner->checks_len -= c->checking;
    c->checking = checking;
    c->owner->checks_len += checking;
}

/* The memory stays until the end of the turn: epoll may still name it. */
static void end_connection(struct pd_connection *c, enum pd_switches_counter why)
{
    struct pd_switches *s = c->owner;
    if (c->list == PD_LIST_ENDED) {
        return;
    }
    count(s, why);
    pd_switch_tls_close(c->tls);
    c->tls = NULL;
    close(c->fd);
    set_checking(c, false);
    move(c, PD_LIST_ENDED);
    if (c->sw == PD_NONE || s->by_switch[c->sw] != c) {
        return;
    }
    s->by_switch[c->sw] = NULL;
    publish(c, PD_SWITCH_AWAY, NULL,
            why == PD_SWITCHES_PEER_ENDED || why == PD_SWITCHES_REPLACED
                ? c->session.last_error
                : pd_switches_counter_text(why));
}

static void free_ended(struct pd_switches *s)
{
    struct pd_connection *next;
    for (struct pd_connection *c = TAILQ_FIRST(&s->ended); c; c = next) {
        next = TAILQ_NEXT(c, link);
        pd_switch_session_done(&c->session);
        free(c);
    }
    TAILQ_INIT(&s->ended);
}

/* ---- writing */

static void want_writing(struct pd_connection *c, bool wanted)
{
    struct epoll_event event = {.events = EPOLLIN | (wanted ? EPOLLOUT : 0), .data.ptr = c};
    if (wanted != c->writing && !epoll_ctl(c->owner->epoll, EPOLL_CTL_MOD, c->fd, &event)) {
        c->writing = wanted;
    }
}

static void flush(struct pd_connection *c)
{
    struct of_buffer *out = &c->session.out;
    if (c->list == PD_LIST_ENDED || c->shaking || !out->bytes) {
        return;
    }
    ssize_t sent = pd_switch_endpoint_send(c, out->data, out->bytes);
    if (sent < 0 && sent != -EAGAIN) {
        end_connection(c, PD_SWITCHES_PEER_ENDED);
        return;
    }
    if (sent > 0) {
        out->bytes -= (size_t)sent;
        memmove(out->data, out->data + sent, out->bytes);
    }
    want_writing(c, out->bytes > 0);
    if (!out->bytes && out->room > BUFFER_KEPT) {
        of_buffer_done(out);
    }
}

/* What a session's function said: 0, or -1 when it is over. Its last words are still sent. */
static void after(struct pd_connection *c, int over)
{
    flush(c);
    if (over) {
        end_connection(c, c->session.end);
    }
}

/* ---- checks, as many at once as the settings allow */

static void ask_check(struct pd_connection *c)
{
    if (c->checking) {
        c->wants_check = true;
    } else if (c->list == PD_LIST_NONE) {
        move(c, PD_LIST_WAITING);
    }
}

static void start_check(struct pd_connection *c, uint64_t now_ns)
{
    struct pd_switches *s = c->owner;
    struct pd_of_rules *rules;
    struct pd_error error = {0};
    move(c, PD_LIST_NONE);
    int failed = pd_switch_rules_new(s->codec, c->sw, s->settings.depth, &rules, &error);
    if (failed) {
        publish(c, PD_SWITCH_DIFFERING, NULL, error.code ? error.text : pd_error_text(failed));
        return;
    }
    set_checking(c, true);
    c->session.last_error[0] = '\0';
    publish(c, PD_SWITCH_CHECKING, NULL, "");
    after(c, pd_switch_session_check(&c->session, rules, now_ns));
}

static void start_checks(struct pd_switches *s, uint64_t now_ns)
{
    struct pd_connection *c;
    while (s->checks_len < s->settings.checks_max && (c = TAILQ_FIRST(&s->waiting))) {
        start_check(c, now_ns);
    }
}

/* ---- events of the session */

static struct pd_connection *connection_of(struct pd_of_session *session)
{
    return (struct pd_connection *)(void *)((char *)session -
                                            offsetof(struct pd_connection, session));
}

/* Whether this datapath was not reported within the last minute. */
static bool is_news(struct pd_switches *s, uint64_t datapath_id, uint64_t now_ns)
{
    for (unsigned i = 0; i < PD_ENDPOINT_UNKNOWN_MAX; i++) {
        if (s->unknown[i].datapath_id == datapath_id && s->unknown[i].until_ns > now_ns) {
            return false;
        }
    }
    unsigned at = s->unknown_next++ % PD_ENDPOINT_UNKNOWN_MAX;
    s->unknown[at].datapath_id = datapath_id;
    s->unknown[at].until_ns = now_ns + PD_ENDPOINT_UNKNOWN_NS;
    return true;
}

static int refuse_unknown(struct pd_connection *c, uint64_t datapath_id)
{
    struct pd_switches *s = c->owner;
    c->session.end = PD_SWITCHES_UNKNOWN;
    if (is_news(s, datapath_id, c->session.heard_ns) && s->settings.on_unknown) {
        s->settings.on_unknown(s->settings.context, datapath_id, c->peer);
    }
    return -1;
}

/* Its certificate was good, but it is another's: nothing is installed there. */
static int refuse_certificate(struct pd_connection *c, uint32_t sw, uint64_t datapath_id)
{
    struct pd_switches *s = c->owner;
    c->session.end = PD_SWITCHES_WRONG_CERTIFICATE;
    if (is_news(s, datapath_id, c->session.heard_ns) && s->settings.on_refused) {
        s->settings.on_refused(s->settings.context, s->codec->topology->switches[sw].id, c->peer);
    }
    return -1;
}

/* A switch that comes back may find its old connection still there, half dead: the newer one
 * counts. */
static int identified(struct pd_of_session *session, uint64_t datapath_id)
{
    struct pd_connection *c = connection_of(session);
    struct pd_switches *s = c->owner;
    uint32_t sw = pd_topology_datapath(s->codec->topology, datapath_id);
    if (sw == PD_NONE) {
        return refuse_unknown(c, datapath_id);
    }
    if (c->tls && !pd_switch_tls_names(c->tls, s->codec->topology->switches[sw].name)) {
        return refuse_certificate(c, sw, datapath_id);
    }
    if (s->by_switch[sw]) {
        end_connection(s->by_switch[sw], PD_SWITCHES_REPLACED);
    }
    c->sw = sw;
    s->by_switch[sw] = c;
    count(s, PD_SWITCHES_CONNECTED);
    move(c, PD_LIST_NONE);
    publish_connected(c);
    ask_check(c);
    return 0;
}

static void packet_in(struct pd_of_session *session, const struct pd_switches_packet_in *from)
{
    struct pd_connection *c = connection_of(session);
    struct pd_switches *s = c->owner;
    struct pd_switches_packet_in packet = *from;
    packet.switch_id = s->codec->topology->switches[c->sw].id;
    pthread_mutex_lock(&s->lock);
    s->published[c->sw].status.packet_ins++;
    pthread_mutex_unlock(&s->lock);
    if (s->settings.on_packet_in) {
        s->settings.on_packet_in(s->settings.context, &packet);
    }
}

static void checked(struct pd_of_session *session, uint32_t changes)
{
    struct pd_connection *c = connection_of(session);
    bool fine = !changes && !session->differences.blocked;
    char *text = NULL;
    if (pd_switch_rules_changes(session->rules, &text)) {
        snprintf(session->last_error, sizeof session->last_error, "%s", pd_error_text(-ENOMEM));
    } else if (session->differences.blocked && !session->last_error[0]) {
        snprintf(session->last_error, sizeof session->last_error,
                 "flows of somebody else's stand in the place of %u rules",
                 session->differences.blocked);
    }
    set_checking(c, false);
    publish(c, fine ? PD_SWITCH_INSTALLED : PD_SWITCH_DIFFERING, text, session->last_error);
    if (c->wants_check) {
        c->wants_check = false;
        ask_check(c);
    }
}

/* The status of a switch counts what it sent, the endpoint's counters all of them. */
static void limited(struct pd_of_session *session)
{
    struct pd_connection *c = connection_of(session);
    pthread_mutex_lock(&c->owner->lock);
    c->owner->published[c->sw].status.packet_ins_limited++;
    pthread_mutex_unlock(&c->owner->lock);
}

static const struct pd_of_events events = {
    .identified = identified, .packet_in = packet_in, .limited = limited, .checked = checked};

/* ---- accepting */

static void add_connection(struct pd_switches *s, struct pd_connection *c, uint64_t now_ns)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, c->fd, &event)) {
        count(s, PD_SWITCHES_NO_ROOM);
        pd_switch_tls_close(c->tls);
        close(c->fd);
        free(c);
        return;
    }
    if (s->strangers_len >= s->settings.strangers_max) {
        end_connection(TAILQ_FIRST(&s->strangers), PD_SWITCHES_CROWDED);
    }
    move(c, PD_LIST_STRANGERS);
    pd_switch_session_init(&c->session, &s->settings, &events, s->counters, now_ns);
    flush(c);
}

/* Without descriptors the listener would be ready for ever: it is not asked before the next tick.
 */
static void set_deaf(struct pd_switches *s, bool deaf)
{
    bool changed = s->deaf != deaf;
    for (unsigned i = 0; i < s->listeners_len && changed; i++) {
        struct pd_endpoint_listener *listener = &s->listeners[i];
        struct epoll_event event = {.events = deaf ? 0 : EPOLLIN, .data.ptr = listener};
        if (!epoll_ctl(s->epoll, EPOLL_CTL_MOD, listener->listener.fd, &event)) {
            s->deaf = deaf;
        }
    }
}

static void accept_some(struct pd_switches *s, const struct pd_endpoint_listener *listener,
                        uint64_t now_ns)
{
    for (unsigned i = 0; i < EVENTS; i++) {
        struct pd_connection *c;
        int err = pd_switch_endpoint_accept(s, listener, &c);
        if (!err) {
            count(s, PD_SWITCHES_ACCEPTED);
            add_connection(s, c, now_ns);
        } else if (err == -EMFILE || err == -ENFILE || err == -ENOMEM || err == -ENOBUFS) {
            count(s, PD_SWITCHES_NO_ROOM);
            if (TAILQ_FIRST(&s->strangers)) {
                end_connection(TAILQ_FIRST(&s->strangers), PD_SWITCHES_CROWDED);
            }
            set_deaf(s, true);
            return;
        } else if (err == -EAGAIN) {
            return;
        }
    }
}

/* ---- the turn */

static void read_some(struct pd_connection *c, uint8_t *room, uint64_t now_ns)
{
    ssize_t got;
    do {
        got = pd_switch_endpoint_recv(c, room, READ_BYTES);
        if (got > 0) {
            after(c, pd_switch_session_input(&c->session, room, (size_t)got, now_ns));
        }
    } while (got > 0 && c->list != PD_LIST_ENDED && c->tls && pd_switch_tls_pending(c->tls));
    if (!got || (got < 0 && got != -EAGAIN)) {
        end_connection(c, PD_SWITCHES_PEER_ENDED);
    }
}

/* Strangers at an open address are logged, but not one by one. */
static void shake(struct pd_connection *c)
{
    static struct pd_log_limit limit;
    struct pd_error error = {0};
    int err = pd_switch_tls_shake(c->tls, &error);
    if (err == -EAGAIN) {
        want_writing(c, pd_switch_tls_writes(c->tls));
    } else if (err) {
        pd_log_limited(&limit, PD_LOG_WARN, "switches", "OpenFlow over TLS from %s: %s", c->peer,
                       error.text);
        end_connection(c, PD_SWITCHES_TLS_FAILED);
    } else {
        c->shaking = false;
        want_writing(c, false);
        flush(c);
    }
}

/* A certificate may have been revoked, or its CA changed. */
static void check_trust(struct pd_connection *c)
{
    struct pd_error error = {0};
    if (c->tls && !c->shaking &&
        pd_switch_tls_renew(c->tls, c->owner->settings.credentials, &error)) {
        pd_log(PD_LOG_WARN, "switches", NULL, "OpenFlow over TLS from %s: %s", c->peer, error.text);
        end_connection(c, PD_SWITCHES_TLS_FAILED);
    }
}

static void tick_connection(struct pd_connection *c, uint64_t now_ns)
{
    check_trust(c);
    if (c->list != PD_LIST_ENDED) {
        after(c, pd_switch_session_tick(&c->session, now_ns));
    }
}

static void tick(struct pd_switches *s, uint64_t now_ns)
{
    struct pd_connection *next;
    for (struct pd_connection *c = TAILQ_FIRST(&s->strangers); c; c = next) {
        next = TAILQ_NEXT(c, link);
        tick_connection(c, now_ns);
    }
    for (uint32_t i = 0; i < s->codec->topology->switches_len; i++) {
        if (s->by_switch[i]) {
            tick_connection(s->by_switch[i], now_ns);
        }
    }
    set_deaf(s, false);
}

static void obey(struct pd_switches *s, const struct pd_command *command)
{
    struct pd_connection *c = s->by_switch[command->sw];
    if (c && command->kind == PD_COMMAND_CHECK) {
        ask_check(c);
    }
    if (command->kind != PD_COMMAND_PACKET_OUT) {
        return;
    }
    if (c && !pd_switch_session_packet_out(&c->session, command->in_port, command->out_port,
                                           command->data, command->bytes)) {
        count(s, PD_SWITCHES_PACKET_OUTS);
        flush(c);
    } else {
        count(s, PD_SWITCHES_PACKET_OUTS_DROPPED);
    }
}

static void obey_all(struct pd_switches *s)
{
    struct pd_commands commands = STAILQ_HEAD_INITIALIZER(commands);
    struct pd_command *command;
    uint64_t ignored;
    while (read(s->wake, &ignored, sizeof ignored) < 0 && errno == EINTR)
        ;
    pthread_mutex_lock(&s->lock);
    STAILQ_CONCAT(&commands, &s->commands);
    s->commands_bytes = 0;
    pthread_mutex_unlock(&s->lock);
    while ((command = STAILQ_FIRST(&commands))) {
        STAILQ_REMOVE_HEAD(&commands, next);
        obey(s, command);
        free(command);
    }
}

static bool is_listener(const struct pd_switches *s, const void *pointer)
{
    for (unsigned i = 0; i < s->listeners_len; i++) {
        if (pointer == &s->listeners[i]) {
            return true;
        }
    }
    return false;
}

static void handle(struct pd_switches *s, const struct epoll_event *event, uint8_t *room,
                   uint64_t now_ns)
{
    struct pd_connection *c = event->data.ptr;
    if (is_listener(s, event->data.ptr)) {
        accept_some(s, event->data.ptr, now_ns);
    } else if (!c) {
        obey_all(s);
    } else if (c->list != PD_LIST_ENDED && c->shaking) {
        shake(c);
    } else if (c->list != PD_LIST_ENDED) {
        if (event->events & EPOLLOUT) {
            flush(c);
        }
        if (c->list != PD_LIST_ENDED && event->events & (EPOLLIN | EPOLLERR | EPOLLHUP)) {
            read_some(c, room, now_ns);
        }
    }
}

static void end_all(struct pd_switches *s)
{
    struct pd_connection *c;
    while ((c = TAILQ_FIRST(&s->strangers))) {
        end_connection(c, PD_SWITCHES_PEER_ENDED);
    }
    for (uint32_t i = 0; i < s->codec->topology->switches_len; i++) {
        if (s->by_switch[i]) {
            end_connection(s->by_switch[i], PD_SWITCHES_PEER_ENDED);
        }
    }
    free_ended(s);
}

void *pd_switch_endpoint_run(void *switches)
{
    struct pd_switches *s = switches;
    struct epoll_event ready[EVENTS];
    uint8_t room[READ_BYTES];
    uint64_t next_tick_ns = 0;
    while (!atomic_load_explicit(&s->stopping,
                                 memory_order_acquire)) { /* pairs with pd_switches_close */
        int len = epoll_wait(s->epoll, ready, EVENTS, TICK_MS);
        uint64_t now_ns = pd_clock_monotonic_ns();
        for (int i = 0; i < len; i++) {
            handle(s, &ready[i], room, now_ns);
        }
        if (now_ns >= next_tick_ns) {
            tick(s, now_ns);
            next_tick_ns = now_ns + TICK_MS * PD_NS_PER_MS;
        }
        start_checks(s, now_ns);
        free_ended(s);
    }
    end_all(s);
    return NULL;
}
