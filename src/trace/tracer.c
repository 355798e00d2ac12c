/* SPDX-License-Identifier: Apache-2.0 */
/* The tracer's life, its thread, epochs, and those who ask. */
#include "trace/tracer.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/wait.h"
#include "trace/budget.h"
#include "trace/tracer_state.h"

#define IDLE_MS  1000        /* epochs end by themselves */
#define GRACE_US PD_US_PER_S /* of an epoch: reports of what was no loss are on their way */
#define HAND_NS  PD_NS_PER_S /* longest wait of who asks by hand */

struct pd_tracer_counters pd_tracer_counters;

uint64_t pd_tracer_epoch(const struct pd_tracer *tracer, uint64_t wall_us)
{
    return wall_us / (tracer->config.epoch_s * PD_US_PER_S);
}

/* ---- what the monitor tells ---- */

void pd_tracer_hear(void *context, const struct pd_monitor_loss *loss)
{
    struct pd_tracer *tracer = context;
    bool full;

    pthread_mutex_lock(&tracer->queue_lock);
    full = tracer->queue_len == PD_TRACER_QUEUE_MAX;
    if (!full) {
        tracer->queue[tracer->queue_len++] = (struct pd_trace_event){*loss->flow, *loss};
    }
    pthread_mutex_unlock(&tracer->queue_lock);
    if (full) {
        atomic_fetch_add_explicit(&pd_tracer_counters.limited, 1, memory_order_relaxed);
    } else {
        (void)eventfd_write(tracer->wake_fd, 1);
    }
}

static void take_event(struct pd_tracer *tracer, struct pd_trace_event *event)
{
    const struct pd_trace_header header = {.flow = event->flow,
                                           .flow_label = event->loss.flow_label,
                                           .traffic_class = event->loss.traffic_class};
    struct pd_trace_flow *flow;

    event->loss.flow = &event->flow;
    (void)pd_tracer_begin(tracer, &header, &event->loss, &flow); /* what failed is counted */
}

/* Returns whether to go on. `room`: for as many events as the queue holds. */
static bool take_events(struct pd_tracer *tracer, struct pd_trace_event *room)
{
    uint32_t len;
    bool stopping;

    pthread_mutex_lock(&tracer->queue_lock);
    len = tracer->queue_len;
    memcpy(room, tracer->queue, len * sizeof *room);
    tracer->queue_len = 0;
    stopping = tracer->stopping;
    pthread_mutex_unlock(&tracer->queue_lock);
    for (uint32_t i = 0; i < len; i++) {
        take_event(tracer, &room[i]);
    }
    return !stopping;
}

/* ---- epochs ---- */

/* What receivers have reported since, so that a flow which lost nothing casts no vote. */
static void refresh(struct pd_tracer *tracer, uint64_t epoch)
{
    const struct pd_monitor_request request = {.from_us =
                                                   epoch * tracer->config.epoch_s * PD_US_PER_S};
    struct pd_monitor_list list;

    if (!tracer->config.monitor || !tracer->flows.len ||
        pd_monitor_list(tracer->config.monitor, &request, &list)) {
        return;
    }
    for (size_t i = 0; i < list.len; i++) {
        struct pd_trace_flow *flow =
            pd_trace_flows_find(&tracer->flows, PD_TRACE_BY_FLOW, &list.flows[i].flow, epoch);
        if (flow && list.flows[i].duplicates > flow->duplicates) {
            flow->duplicates = list.flows[i].duplicates;
        }
    }
    pd_monitor_list_done(&list);
}

static void give_away(struct pd_tracer *tracer, const struct pd_trace_flow *flow)
{
    struct pd_trace trace;

    if (flow->state == PD_TRACE_REFUSED) {
        return;
    }
    pd_trace_flow_tell(flow, tracer->config.topology, tracer->config.epoch_s, &trace);
    if (flow->lost && !trace.retransmissions) {
        atomic_fetch_add_explicit(&pd_tracer_counters.withdrawn, 1, memory_order_relaxed);
    }
    tracer->config.keep(tracer->config.context, &trace);
}

/* Flows of the epochs before this one, in the order in which they came. */
static void give_away_before(struct pd_tracer *tracer, uint64_t epoch)
{
    uint64_t refreshed = UINT64_MAX;

    while (tracer->flows.first && tracer->flows.first->epoch < epoch) {
        if (tracer->flows.first->epoch != refreshed) {
            refreshed = tracer->flows.first->epoch;
            refresh(tracer, refreshed);
        }
        give_away(tracer, tracer->flows.first);
        pd_trace_flows_drop_first(&tracer->flows);
    }
}

/* ---- the thread ---- */

static int wait_ms(struct pd_tracer *tracer)
{
    uint64_t now_ns = pd_clock_monotonic_ns(), due_ns;

    pthread_mutex_lock(&tracer->lock);
    due_ns = tracer->due_ns;
    pthread_mutex_unlock(&tracer->lock);
    if (due_ns <= now_ns) {
        return 0;
    }
    return due_ns - now_ns > IDLE_MS * PD_NS_PER_MS
               ? IDLE_MS
               : (int)((due_ns - now_ns + PD_NS_PER_MS - 1) / PD_NS_PER_MS);
}

static void sleep_until_work(struct pd_tracer *tracer)
{
    struct pollfd fds[3] = {{.fd = tracer->wake_fd, .events = POLLIN},
                            {.fd = tracer->wire.icmp_fds[0], .events = POLLIN},
                            {.fd = tracer->wire.icmp_fds[1], .events = POLLIN}};
    eventfd_t wakes;

    if (poll(fds, 3, wait_ms(tracer)) > 0 && fds[0].revents) {
        (void)eventfd_read(tracer->wake_fd, &wakes);
    }
}

static void *run(void *context)
{
    struct pd_tracer *tracer = context;
    struct pd_trace_event *room = calloc(PD_TRACER_QUEUE_MAX, sizeof *room);
    bool go_on = room != NULL;

    while (go_on) {
        sleep_until_work(tracer);
        pthread_mutex_lock(&tracer->lock);
        go_on = take_events(tracer, room);
        pd_tracer_take_answers(tracer);
        pd_tracer_work_due(tracer, pd_clock_monotonic_ns());
        give_away_before(tracer, pd_tracer_epoch(tracer, pd_clock_wall_us() - GRACE_US));
        pthread_mutex_unlock(&tracer->lock);
    }
    free(room);
    return NULL;
}

/* ---- who asks ---- */

/* What routers hash is that of its connection, if the monitor knows it. */
static void find_header(struct pd_tracer *tracer, struct pd_trace_header *header)
{
    const struct pd_monitor_request all = {0};
    struct pd_monitor_list list;

    if (!tracer->config.monitor || pd_monitor_list(tracer->config.monitor, &all, &list)) {
        return;
    }
    for (size_t i = 0; i < list.len; i++) {
        if (pd_flow_id_equal(&list.flows[i].flow, &header->flow)) {
            header->flow_label = list.flows[i].flow_label;
            header->traffic_class = list.flows[i].traffic_class;
        }
    }
    pd_monitor_list_done(&list);
}

static int await(struct pd_tracer *tracer, const struct pd_flow_id *flow, uint64_t epoch,
                 struct pd_trace_flow **ret_flow)
{
    const uint64_t deadline_ns = pd_clock_monotonic_ns() + HAND_NS;
    struct pd_trace_flow *found;

    while ((found = pd_trace_flows_find(&tracer->flows, PD_TRACE_BY_FLOW, flow, epoch)) &&
           found->state == PD_TRACE_ASKING) {
        if (!pd_wait_until(&tracer->done, &tracer->lock, deadline_ns)) {
            return -PD_E_DEADLINE;
        }
    }
    *ret_flow = found;
    return found ? 0 : -PD_E_DEADLINE;
}

static int trace_locked(struct pd_tracer *tracer, const struct pd_trace_header *header,
                        struct pd_trace *ret_trace, struct pd_error *error)
{
    struct pd_trace_flow *flow;
    int err = pd_tracer_begin(tracer, header, NULL, &flow);

    (void)eventfd_write(tracer->wake_fd, 1);
    if (!err) {
        err = await(tracer, &header->flow, flow->epoch, &flow);
    }
    if (!err) {
        pd_trace_flow_tell(flow, tracer->config.topology, tracer->config.epoch_s, ret_trace);
    } else if (err == -PD_E_UNKNOWN_HOST) {
        pd_fail(error, err, "no rack of the topology has the server of this flow");
    } else if (err == -PD_E_TOO_MANY) {
        pd_fail(error, err, "this host traces %.3g flows a second, and has done so", tracer->rate);
    } else {
        pd_fail(error, err, "the trace has not ended: %s", pd_error_text(err));
    }
    return err;
}

int pd_tracer_trace(struct pd_tracer *tracer, const struct pd_flow_id *flow,
                    struct pd_trace *ret_trace, struct pd_error *error)
{
    struct pd_trace_header header = {.flow = *flow};
    int err;

    find_header(tracer, &header);
    pthread_mutex_lock(&tracer->lock);
    err = trace_locked(tracer, &header, ret_trace, error);
    pthread_mutex_unlock(&tracer->lock);
    return err;
}

void pd_tracer_hold(struct pd_tracer *tracer)
{
    pthread_mutex_lock(&tracer->lock);
}

void pd_tracer_let_go(struct pd_tracer *tracer)
{
    pthread_mutex_unlock(&tracer->lock);
}

void pd_tracer_visit(struct pd_tracer *tracer, const struct pd_flow_match *match, uint64_t from_us,
                     uint64_t to_us, void (*visit)(void *context, const struct pd_trace *trace),
                     void *context)
{
    struct pd_trace trace;

    refresh(tracer, pd_tracer_epoch(tracer, pd_clock_wall_us()));
    for (const struct pd_trace_flow *at = tracer->flows.first; at; at = at->next) {
        if (at->state == PD_TRACE_DONE && at->time_us <= to_us && at->last_us >= from_us &&
            pd_flow_matches(match, &at->flow)) {
            pd_trace_flow_tell(at, tracer->config.topology, tracer->config.epoch_s, &trace);
            visit(context, &trace);
        }
    }
}

double pd_tracer_rate(struct pd_tracer *tracer)
{
    double rate;

    pthread_mutex_lock(&tracer->lock);
    rate = tracer->rate;
    pthread_mutex_unlock(&tracer->lock);
    return rate;
}

/* ---- life ---- */

/* Where there are no two racks, no router of another one could be asked too often. */
static int find_rate(const struct pd_tracer_config *config, double *ret_rate,
                     struct pd_error *error)
{
    const struct pd_budget_ask ask = {.t_max = config->t_max};
    struct pd_budget budget = {.held = config->t_max};
    int err =
        config->rate > 0 ? 0 : pd_trace_budget_work_out(config->topology, &ask, &budget, error);

    if (err && err != -PD_E_TOPOLOGY) {
        return err;
    }
    *ret_rate = config->rate > 0 ? config->rate : budget.held;
    return 0;
}

int pd_tracer_topology(struct pd_tracer *tracer, const struct pd_topology *topology,
                       struct pd_error *error)
{
    struct pd_tracer_config config = tracer->config;
    struct pd_trace_bucket bucket = {0};
    double rate;
    unsigned ttl_max = pd_trace_ttl_max(topology);

    config.topology = topology;
    int err = find_rate(&config, &rate, error);
    if (!err && (err = pd_trace_bucket_init(&bucket, rate))) {
        pd_fail(error, err, "no memory");
    }
    pthread_mutex_lock(&tracer->lock);
    tracer->config.topology = topology;
    if (!err) {
        pd_trace_bucket_done(&tracer->bucket);
        tracer->bucket = bucket;
        tracer->rate = rate;
        tracer->ttl_max = ttl_max;
    }
    pthread_mutex_unlock(&tracer->lock);
    return err;
}

static void init_locks(struct pd_tracer *tracer)
{
    pd_wait_init(&tracer->done);
    pthread_mutex_init(&tracer->lock, NULL);
    pthread_mutex_init(&tracer->queue_lock, NULL);
}

/* With the resolver "none" no virtual address is traced. */
static bool resolves(const struct pd_tracer *tracer)
{
    return tracer->resolver.ops->value || tracer->resolver.ops->open;
}

static int set_up(struct pd_tracer *tracer, struct pd_error *error)
{
    int err = pd_trace_flows_init(&tracer->flows);

    tracer->queue = calloc(PD_TRACER_QUEUE_MAX, sizeof *tracer->queue);
    if (err || !tracer->queue) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    tracer->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (tracer->wake_fd < 0 ||
        getrandom(tracer->key, sizeof tracer->key, 0) != sizeof tracer->key) {
        return pd_fail(error, -errno, "%s", strerror(errno));
    }
    err = pd_trace_resolver_open(tracer->config.resolver, &tracer->resolver, error);
    if (err) {
        pd_fail_within(error, "trace-resolver");
        return err;
    }
    err = pd_tracer_topology(tracer, tracer->config.topology, error);
    return err ? err : pd_trace_wire_open(resolves(tracer), &tracer->wire, error);
}

int pd_tracer_new(const struct pd_tracer_config *config, struct pd_tracer **ret_tracer,
                  struct pd_error *error)
{
    struct pd_tracer *tracer = calloc(1, sizeof *tracer);

    if (!tracer) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    init_locks(tracer);
    tracer->config = *config;
    tracer->wake_fd = -1;
    tracer->due_ns = UINT64_MAX;
    tracer->wire = (struct pd_trace_wire){{-1, -1}, {-1, -1}, false};
    int err = set_up(tracer, error);
    if (err) {
        pd_tracer_free(tracer);
    } else {
        *ret_tracer = tracer;
    }
    return err;
}

int pd_tracer_start(struct pd_tracer *tracer)
{
    int err = pthread_create(&tracer->thread, NULL, run, tracer);

    if (err) {
        return -err;
    }
    tracer->started = true;
    pthread_setname_np(tracer->thread, "pd-trace");
    if (!tracer->config.monitor) {
        return 0;
    }
    return pd_monitor_follow(tracer->config.monitor, pd_tracer_hear, tracer);
}

void pd_tracer_stop(struct pd_tracer *tracer)
{
    if (!tracer->started) {
        return;
    }
    if (tracer->config.monitor) {
        pd_monitor_unsubscribe(tracer->config.monitor, tracer);
    }
    pthread_mutex_lock(&tracer->queue_lock);
    tracer->stopping = true;
    pthread_mutex_unlock(&tracer->queue_lock);
    (void)eventfd_write(tracer->wake_fd, 1);
    pthread_join(tracer->thread, NULL);
    tracer->started = false;
    pthread_mutex_lock(&tracer->lock);
    give_away_before(tracer, UINT64_MAX);
    pthread_mutex_unlock(&tracer->lock);
}

void pd_tracer_free(struct pd_tracer *tracer)
{
    if (!tracer) {
        return;
    }
    pd_tracer_stop(tracer);
    pd_trace_wire_close(&tracer->wire);
    pd_trace_resolver_close(&tracer->resolver);
    pd_trace_bucket_done(&tracer->bucket);
    pd_trace_flows_done(&tracer->flows);
    free(tracer->queue);
    if (tracer->wake_fd >= 0) {
        close(tracer->wake_fd);
    }
    pthread_cond_destroy(&tracer->done);
    pthread_mutex_destroy(&tracer->queue_lock);
    pthread_mutex_destroy(&tracer->lock);
    free(tracer);
}
