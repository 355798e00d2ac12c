/* SPDX-License-Identifier: Apache-2.0 */
/* The monitor's thread: readings -> table -> alarms; and dumps, when the source asks for one and no
 * more often than they may cost. */
#include "monitor/monitor.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "monitor/state.h"

#define IDLE_MS                                                                      \
    1000 /* at least so often: old connections go, losses without events are noticed \
          */
/* Between two looks at events that come one after another: 500 wake-ups a second at most. */
#define REST_MS 2
/* Dumps take at most one part in so many of a core, while retransmissions go on. */
#define DUMP_SHARE 20
#define AGAIN_NS   PD_NS_PER_S

/* ---- times ---- */

struct pd_edge pd_monitor_edge_now(void)
{
    return (struct pd_edge){pd_clock_wall_us(), pd_clock_monotonic_ns()};
}

/* 0 stays 0: never. */
uint64_t pd_monitor_edge_wall_us(const struct pd_edge *edge, uint64_t time_ns)
{
    uint64_t age_us;

    if (!time_ns) {
        return 0;
    }
    if (time_ns > edge->monotonic_ns) {
        return edge->wall_us + (time_ns - edge->monotonic_ns) / PD_NS_PER_US;
    }
    age_us = (edge->monotonic_ns - time_ns) / PD_NS_PER_US;
    return age_us < edge->wall_us ? edge->wall_us - age_us : 1;
}

/* The time may lie before the machine was started, or in the future. */
uint64_t pd_monitor_edge_monotonic_ns(const struct pd_edge *edge, uint64_t wall_us)
{
    uint64_t age_us = edge->wall_us > wall_us ? edge->wall_us - wall_us : 0;

    if (wall_us > edge->wall_us) {
        return edge->monotonic_ns + (wall_us - edge->wall_us) * PD_NS_PER_US;
    }
    return age_us >= edge->monotonic_ns / PD_NS_PER_US ? 0
                                                       : edge->monotonic_ns - age_us * PD_NS_PER_US;
}

/* ---- flows and alarms ---- */

void pd_monitor_put_figures(const struct pd_monitor_reading *reading, struct pd_monitor_flow *flow)
{
    flow->flow = reading->flow;
    flow->state = reading->state;
    flow->closed = reading->closed;
    flow->retransmissions = reading->retransmissions;
    flow->duplicates = reading->duplicates;
    flow->flow_label = reading->flow_label;
    flow->traffic_class = reading->traffic_class;
    flow->timeouts = reading->timeouts == UINT32_MAX ? 0 : reading->timeouts;
    flow->backoff = reading->backoff;
    flow->srtt_us = reading->srtt_us;
    flow->rto_us = reading->rto_us;
    flow->cwnd_pkts = reading->cwnd_pkts;
    flow->mss_bytes = reading->mss_bytes;
    flow->pkts_out = reading->pkts_out;
    flow->bytes_acked = reading->bytes_acked;
    flow->throughput_bps = reading->throughput_bps;
}

struct pd_monitor_flow pd_monitor_flow_of(const struct pd_flow_entry *entry,
                                          const struct pd_edge *edge, uint32_t recent)
{
    struct pd_monitor_flow flow = {.consecutive = entry->consecutive,
                                   .empty = entry->empty,
                                   .recent = recent,
                                   .first_us = pd_monitor_edge_wall_us(edge, entry->first_ns),
                                   .last_us = pd_monitor_edge_wall_us(edge, entry->last_ns),
                                   .last_retransmission_us =
                                       pd_monitor_edge_wall_us(edge, entry->retransmission_ns),
                                   .opened_us = pd_monitor_edge_wall_us(edge, entry->opened_ns),
                                   .closed_us = pd_monitor_edge_wall_us(edge, entry->closed_ns)};

    pd_monitor_put_figures(&entry->last, &flow);
    return flow;
}

static int add_subscriber(struct pd_monitor *monitor, struct pd_monitor_subscriber subscriber)
{
    int err = 0;

    pthread_mutex_lock(&monitor->subscribers_lock);
    if (monitor->subscribers_len == PD_MONITOR_SUBSCRIBERS_MAX) {
        err = -PD_E_FULL;
    } else {
        monitor->subscribers[monitor->subscribers_len++] = subscriber;
    }
    pthread_mutex_unlock(&monitor->subscribers_lock);
    return err;
}

int pd_monitor_subscribe(struct pd_monitor *monitor, pd_monitor_hear *alarm, void *context)
{
    return add_subscriber(monitor,
                          (struct pd_monitor_subscriber){.alarm = alarm, .context = context});
}

int pd_monitor_follow(struct pd_monitor *monitor, pd_monitor_hear_loss *loss, void *context)
{
    return add_subscriber(monitor,
                          (struct pd_monitor_subscriber){.loss = loss, .context = context});
}

void pd_monitor_unsubscribe(struct pd_monitor *monitor, const void *context)
{
    unsigned kept = 0;

    pthread_mutex_lock(&monitor->subscribers_lock);
    for (unsigned i = 0; i < monitor->subscribers_len; i++) {
        if (monitor->subscribers[i].context != context) {
            monitor->subscribers[kept++] = monitor->subscribers[i];
        }
    }
    monitor->subscribers_len = kept;
    pthread_mutex_unlock(&monitor->subscribers_lock);
}

static void tell_subscribers(struct pd_monitor *monitor, const struct pd_monitor_alarm *alarm)
{
    pthread_mutex_lock(&monitor->subscribers_lock);
    for (unsigned i = 0; i < monitor->subscribers_len; i++) {
        if (monitor->subscribers[i].alarm) {
            monitor->subscribers[i].alarm(monitor->subscribers[i].context, alarm);
        }
    }
    pthread_mutex_unlock(&monitor->subscribers_lock);
}

static void tell_loss(struct pd_monitor *monitor, const struct pd_monitor_loss *loss)
{
    pthread_mutex_lock(&monitor->subscribers_lock);
    for (unsigned i = 0; i < monitor->subscribers_len; i++) {
        if (monitor->subscribers[i].loss) {
            monitor->subscribers[i].loss(monitor->subscribers[i].context, loss);
        }
    }
    pthread_mutex_unlock(&monitor->subscribers_lock);
}

static void raise_alarm(struct pd_monitor *monitor, struct pd_flow_entry *entry, uint64_t now_ns)
{
    const struct pd_edge edge = pd_monitor_edge_now();
    struct pd_monitor_flow flow = pd_monitor_flow_of(entry, &edge, entry->window_count);

    entry->alarm_ns = now_ns;
    monitor->stat.alarms++;
    tell_subscribers(monitor, &(struct pd_monitor_alarm){&flow, monitor->config.period_ms});
}

/* Connections that go on suffering must not take the room of those that begin to. */
static bool may_repeat(struct pd_monitor *monitor, uint64_t time_ns)
{
    uint64_t second = time_ns / PD_NS_PER_S;

    if (second != monitor->second) {
        monitor->second = second;
        monitor->repeats = 0;
    }
    return monitor->repeats++ < PD_MONITOR_REPEATS_PER_S;
}

static bool is_alarm_due(struct pd_monitor *monitor, const struct pd_flow_entry *entry,
                         uint64_t time_ns)
{
    const uint32_t limit = monitor->config.alarm_retransmissions;

    if (!limit || entry->window_count < limit) {
        return false;
    }
    return !entry->alarm_ns ||
           (time_ns >= entry->alarm_ns + AGAIN_NS && may_repeat(monitor, time_ns));
}

/* A period begins with the first retransmission after the one before. */
static void count_alarm(struct pd_monitor *monitor, struct pd_flow_entry *entry, uint64_t time_ns,
                        uint32_t fresh)
{
    const uint64_t period_ns = monitor->config.period_ms * PD_NS_PER_MS;

    if (!entry->window_ns || time_ns >= entry->window_ns + period_ns) {
        entry->window_ns = time_ns;
        entry->window_count = 0;
    }
    entry->window_count += fresh;
    if (is_alarm_due(monitor, entry, time_ns)) {
        raise_alarm(monitor, entry, time_ns);
    }
}

/* After a timeout packets have another label: that of the lost one is what was known before. */
static struct pd_monitor_loss loss_of(struct pd_monitor *monitor,
                                      const struct pd_monitor_reading *reading)
{
    const struct pd_flow_entry *known =
        pd_monitor_flow_table_find(monitor->table, &reading->flow, reading->cookie);
    bool older = reading->unanswered && known && known->last.has_label;

    return (struct pd_monitor_loss){
        .flow = &reading->flow,
        .time_ns = reading->time_ns,
        .total = reading->retransmissions,
        .duplicates = reading->duplicates,
        .srtt_us = reading->srtt_us,
        .flow_label = older ? known->last.flow_label : reading->flow_label,
        .has_label = older || reading->has_label,
        .half_open = reading->state == PD_MONITOR_SYN_SENT || reading->state == PD_MONITOR_SYN_RECV,
        .traffic_class = reading->traffic_class,
    };
}

void pd_monitor_take(void *context, const struct pd_monitor_reading *reading)
{
    struct pd_monitor *monitor = context;
    struct pd_monitor_loss loss = loss_of(monitor, reading);
    uint32_t fresh;
    struct pd_flow_entry *entry = pd_monitor_flow_table_take(monitor->table, reading, &fresh);

    if (!entry || !fresh) {
        return;
    }
    monitor->stat.retransmissions += fresh;
    loss.retransmissions = fresh;
    tell_loss(monitor, &loss);
    count_alarm(monitor, entry, reading->time_ns, fresh);
}

/* ---- dumps ---- */

void pd_monitor_note_diag(struct pd_monitor *monitor, struct pd_diag_counters before)
{
    struct pd_diag_counters now = pd_inet_diag_counters(monitor->diag);

    monitor->stat.sockets_read += now.read - before.read;
    monitor->stat.events_refused += now.refused - before.refused;
}

int pd_monitor_dump(struct pd_monitor *monitor, pd_diag_take *taker, void *context)
{
    struct pd_diag_counters before = pd_inet_diag_counters(monitor->diag);
    uint64_t begun_ns = pd_clock_monotonic_ns(), cost_ns = pd_clock_thread_ns();
    int err;

    pd_monitor_flow_table_dump_begin(monitor->table);
    err = pd_inet_diag_dump(monitor->diag, taker, context);
    pd_monitor_note_diag(monitor, before);
    monitor->stat.dumps++;
    monitor->stat.dumps_failed += err != 0;
    if (!err) {
        pd_monitor_flow_table_dump_end(monitor->table, begun_ns);
    }
    monitor->dumped_ns = pd_clock_monotonic_ns();
    monitor->dump_cost_ns = pd_clock_thread_ns() - cost_ns;
    return err;
}

/* What the source asked for, when it may cost that again. Before events that were lost are made
 * good, nobody can say that all was seen. */
static void dump_if_due(struct pd_monitor *monitor)
{
    if (!monitor->dump_due ||
        pd_clock_monotonic_ns() < monitor->dumped_ns + DUMP_SHARE * monitor->dump_cost_ns) {
        return;
    }
    if (pd_monitor_dump(monitor, pd_monitor_take, monitor)) {
        return;
    }
    monitor->dump_due = false;
    if (!monitor->resync_due) {
        return;
    }
    monitor->resync_due = false;
    monitor->stat.resyncs++;
    monitor->stat.since_us = pd_clock_wall_us();
}

/* ---- the thread ---- */

void pd_monitor_work(struct pd_monitor *monitor)
{
    struct pd_monitor_told told;

    monitor->ops->work(monitor->source, pd_monitor_take, monitor, &told);
    monitor->stat.events += told.events;
    monitor->stat.events_refused += told.refused;
    monitor->stat.events_lost += told.lost;
    monitor->dump_due |= told.dump;
    monitor->resync_due |= told.lost > 0;
    dump_if_due(monitor);
    pd_monitor_flow_table_expire(monitor->table, pd_clock_monotonic_ns());
}

/* Whether to go on. `due`: a dump waits until it may cost that again. */
static bool wait_for_work(const struct pd_monitor *monitor, bool due)
{
    struct pollfd fds[2] = {{.fd = monitor->wake_fd, .events = POLLIN},
                            {.fd = monitor->ops->fd(monitor->source), .events = POLLIN}};
    int wait_ms = fds[1].fd < 0 || due ? (int)monitor->config.period_ms : IDLE_MS;

    if (poll(fds, 1, REST_MS) <= 0 || !fds[0].revents) {
        (void)poll(fds, 2, wait_ms);
    }
    return !fds[0].revents;
}

static void *run(void *context)
{
    struct pd_monitor *monitor = context;
    bool due = false;

    while (wait_for_work(monitor, due)) {
        pthread_mutex_lock(&monitor->lock);
        pd_monitor_work(monitor);
        due = monitor->dump_due;
        pthread_mutex_unlock(&monitor->lock);
    }
    return NULL;
}

/* ---- figures ---- */

void pd_monitor_stat_locked(struct pd_monitor *monitor, struct pd_monitor_stat *ret_stat)
{
    *ret_stat = monitor->stat;
    if (!monitor->table) {
        return;
    }
    ret_stat->flows = pd_monitor_flow_table_len(monitor->table);
    ret_stat->flows_forgotten = pd_monitor_flow_table_forgotten(monitor->table);
}

void pd_monitor_stat(struct pd_monitor *monitor, struct pd_monitor_stat *ret_stat)
{
    pthread_mutex_lock(&monitor->lock);
    pd_monitor_stat_locked(monitor, ret_stat);
    pthread_mutex_unlock(&monitor->lock);
}

/* ---- names ---- */

static const char *const source_ids[] = {[PD_MONITOR_NONE] = "none",
                                         [PD_MONITOR_BPF] = "bpf",
                                         [PD_MONITOR_INET_DIAG] = "inet_diag",
                                         [PD_MONITOR_AUTO] = "auto"};

const char *pd_monitor_source_id(enum pd_monitor_source source)
{
    return source_ids[source];
}

int pd_monitor_source_parse(const char *text, enum pd_monitor_source *ret_source)
{
    for (size_t i = 0; i < sizeof source_ids / sizeof *source_ids; i++) {
        if (!strcmp(text, source_ids[i])) {
            *ret_source = (enum pd_monitor_source)i;
            return 0;
        }
    }
    return -PD_E_VALUE;
}

const char *pd_monitor_state_id(enum pd_monitor_state state)
{
    switch (state) {
#define X(name, number, text) \
    case PD_MONITOR_##name: return text;
        PD_MONITOR_STATES(X)
#undef X
    }
    return NULL;
}

/* ---- life ---- */

static void note_reason(struct pd_monitor *monitor, enum pd_monitor_source source,
                        const char *words)
{
    char *reason = monitor->stat.reason;
    size_t used = strlen(reason);

    snprintf(reason + used, sizeof monitor->stat.reason - used, "%s%s: %s", used ? "; " : "",
             pd_monitor_source_id(source), words);
}

/* What is known of the sockets that are there is not news. */
static int open_source(struct pd_monitor *monitor, const struct pd_monitor_source_ops *ops,
                       struct pd_error *error)
{
    int err = ops->open(&monitor->config, &monitor->source, error);

    if (err) {
        return err;
    }
    err = monitor->diag ? 0 : pd_inet_diag_open(&monitor->diag, error);
    if (!err && (err = pd_monitor_dump(monitor, pd_monitor_take, monitor))) {
        pd_fail(error, err, "sockets cannot be read: %s", pd_error_text(err));
    }
    if (err) {
        ops->close(monitor->source);
        monitor->source = NULL;
        return err;
    }
    pd_monitor_flow_table_ready(monitor->table);
    monitor->ops = ops;
    monitor->stat.source = ops->id;
    monitor->stat.since_us = pd_clock_wall_us();
    return 0;
}

static int open_any(struct pd_monitor *monitor, struct pd_error *error)
{
    static const struct pd_monitor_source_ops *const all[] = {&pd_monitor_bpf,
                                                              &pd_monitor_inet_diag, NULL};
    const enum pd_monitor_source wanted = monitor->config.source;
    int err = 0;

    for (size_t i = 0; all[i] && !monitor->ops; i++) {
        struct pd_error words = {0};
        if (wanted != PD_MONITOR_AUTO && wanted != all[i]->id) {
            continue;
        }
        err = open_source(monitor, all[i], &words);
        if (err && wanted != PD_MONITOR_AUTO) {
            return pd_fail(error, err, "%s: %s", pd_monitor_source_id(wanted), words.text);
        }
        if (err) {
            note_reason(monitor, all[i]->id, words.text);
        }
    }
    return 0;
}

static int start(struct pd_monitor *monitor)
{
    int err;

    if (!monitor->ops) {
        return 0;
    }
    err = pthread_create(&monitor->thread, NULL, run, monitor);
    if (err) {
        return -err;
    }
    monitor->started = true;
    pthread_setname_np(monitor->thread, "pd-tcp");
    return 0;
}

int pd_monitor_open(const struct pd_monitor_config *config, struct pd_monitor **ret_monitor,
                    struct pd_error *error)
{
    struct pd_monitor *monitor = calloc(1, sizeof *monitor);
    int err;

    if (!monitor) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    pthread_mutex_init(&monitor->lock, NULL);
    pthread_mutex_init(&monitor->subscribers_lock, NULL);
    monitor->config = *config;
    if (config->alarm) {
        (void)pd_monitor_subscribe(monitor, config->alarm, config->context);
    }
    if (!config->period_ms) {
        monitor->config.period_ms = PD_MONITOR_PERIOD_MS;
    }
    monitor->wake_fd = eventfd(0, EFD_CLOEXEC);
    err = monitor->wake_fd < 0 ? -errno
                               : pd_monitor_flow_table_new(config->flows_max, &monitor->table);
    if (err) {
        pd_fail(error, err, "%s", pd_error_text(err));
    }
    if (!err) {
        err = open_any(monitor, error);
    }
    if (!err && (err = start(monitor))) {
        pd_fail(error, err, "threads: %s", pd_error_text(err));
    }
    if (err) {
        pd_monitor_close(monitor);
        return err;
    }
    *ret_monitor = monitor;
    return 0;
}

void pd_monitor_close(struct pd_monitor *monitor)
{
    if (!monitor) {
        return;
    }
    if (monitor->started) {
        (void)eventfd_write(monitor->wake_fd, 1);
        pthread_join(monitor->thread, NULL);
    }
    if (monitor->ops) {
        monitor->ops->close(monitor->source);
    }
    pd_inet_diag_close(monitor->diag);
    pd_monitor_flow_table_free(monitor->table);
    if (monitor->wake_fd >= 0) {
        close(monitor->wake_fd);
    }
    pthread_mutex_destroy(&monitor->subscribers_lock);
    pthread_mutex_destroy(&monitor->lock);
    free(monitor);
}
