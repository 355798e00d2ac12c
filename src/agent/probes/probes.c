/* SPDX-License-Identifier: Apache-2.0 */
/* The part of probes: its threads and its routes. */
#include "agent/probes/probes.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/model.h"
#include "agent/probes/send.h"
#include "agent/settings.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/wait.h"

#define MODULE       "probes"
#define TICK_NS      (5 * PD_NS_PER_MS) /* of the reports' thread */
#define SHORT_NS     (2 * PD_NS_PER_MS) /* of both threads, while faults are isolated */
#define FIRST_PROBES 3u                 /* on a way that isolates */
#define POST_NS      (2 * PD_NS_PER_S)
#define ANSWER_BYTES 1024u
#define IDLE_NS      (100 * PD_NS_PER_MS)
#define INTAKE       "live:"

/* Counted since the start. */
static struct {
#define X(name, text) _Atomic uint64_t name;
    PD_AGENT_PROBE_VERDICTS(X)
#undef X
    _Atomic uint64_t sent, unsent, reports, reports_lost, orders, orders_refused;
} counts;

static struct {
    struct pd_agent *agent;
    struct pd_model *model; /* held; NULL: there are no probes here */
    const char *controller; /* NULL: nobody is told */
    struct pd_agent_probe_socket socket;
    struct pd_intake_taker taker;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    struct pd_agent_probe_part part;
    uint64_t orders; /* taken */
    bool told_first; /* of the first probes on ways that isolate */
    bool stopping;
    atomic_bool cancelled;
    atomic_bool wanted; /* relaxed: there is or was a part */
    pthread_t sender, reporter;
    unsigned threads;
} own = {.lock = PTHREAD_MUTEX_INITIALIZER, .socket = {.fd = -1, .routed = -1}};

/* ---- frames that come ---- */

static void count_verdict(enum pd_agent_probe_verdict verdict)
{
    _Atomic uint64_t *const of[] = {
#define X(name, text) &counts.name,
        PD_AGENT_PROBE_VERDICTS(X)
#undef X
    };

    pd_count(of[verdict], 1);
}

/* Those of no plan of ours are packets like others. */
static bool take_frame(void *context, const struct pd_packet *packet, const uint8_t *frame,
                       size_t captured)
{
    struct pd_telemetry telemetry;
    enum pd_agent_probe_verdict verdict = PD_AGENT_PROBE_no_probe;

    (void)context;
    if (!pd_telemetry_read(frame, captured, packet, PD_TELEMETRY_DSCP, &telemetry) &&
        telemetry.probe) {
        pthread_mutex_lock(&own.lock);
        verdict = pd_agent_probe_collect(&own.part, &telemetry, pd_clock_monotonic_ns());
        pthread_mutex_unlock(&own.lock);
    }
    count_verdict(verdict);
    return pd_agent_probe_is_ours(verdict);
}

const struct pd_intake_taker *pd_agent_probes_taker(void)
{
    return own.model ? &own.taker : NULL;
}

/* ---- waiting ---- */

/* With the lock; false at the end. */
static bool wait_until(uint64_t until_ns)
{
    while (!own.stopping && pd_wait_until(&own.changed, &own.lock, until_ns)) {
        continue;
    }
    return !own.stopping;
}

/* The same, and at once when there is an order. */
static bool wait_until_ordered(uint64_t until_ns)
{
    const uint64_t orders = own.orders;

    while (!own.stopping && own.orders == orders &&
           pd_wait_until(&own.changed, &own.lock, until_ns)) {
        continue;
    }
    return !own.stopping;
}

/* ---- the sender ---- */

static void end_lease(uint64_t now_ns)
{
    if (own.part.order.plan && now_ns > own.part.until_ns) {
        pd_log(PD_LOG_WARN, MODULE, NULL, "the controller is silent: its probes end");
        pd_agent_probe_part_done(&own.part);
    }
}

/* On a way that isolates nothing can be said before some probes were sent. */
static bool is_urgent(const struct pd_agent_probe_way *way)
{
    return way->sends && way->way->isolates && way->tried < FIRST_PROBES;
}

static bool is_any_urgent(void)
{
    bool any = false;

    for (size_t i = 0; i < own.part.ways_len && !any; i++) {
        any = is_urgent(&own.part.ways[i]);
    }
    return any;
}

static void send_round(bool all)
{
    for (size_t i = 0; i < own.part.ways_len; i++) {
        struct pd_agent_probe_way *way = &own.part.ways[i];

        if (way->sends && (all || is_urgent(way))) {
            way->tried += way->tried < FIRST_PROBES;
            int err =
                pd_agent_probe_send(&own.socket, &own.part, way, pd_clock_wall_us() * PD_NS_PER_US);
            pd_count(err ? &counts.unsent : &counts.sent, 1);
        }
    }
}

/* After a break rounds are left out: nothing is sent in bursts. */
static uint64_t next_round(uint64_t next_ns, uint64_t now_ns)
{
    const uint32_t rate = own.part.order.plan ? own.part.order.rate_hz : 0;
    const uint64_t period_ns = rate ? PD_NS_PER_S / rate : IDLE_NS;

    next_ns = next_ns + period_ns > now_ns ? next_ns + period_ns : now_ns + period_ns;
    return next_ns > now_ns + period_ns ? now_ns + period_ns : next_ns;
}

static void *send_thread(void *context)
{
    uint64_t next_ns = pd_clock_monotonic_ns(), wake_ns = 0;

    (void)context;
    pthread_mutex_lock(&own.lock);
    do {
        const uint64_t now_ns = pd_clock_monotonic_ns();
        const bool all = now_ns >= next_ns;

        end_lease(now_ns);
        send_round(all);
        next_ns = all ? next_round(next_ns, now_ns) : next_ns;
        wake_ns = is_any_urgent() && now_ns + SHORT_NS < next_ns ? now_ns + SHORT_NS : next_ns;
    } while (wait_until_ordered(wake_ns));
    pthread_mutex_unlock(&own.lock);
    return NULL;
}

/* ---- reports ---- */

static int take_answer(void *context, size_t i, const char *bytes, size_t len)
{
    (void)context;
    (void)i;
    (void)bytes;
    (void)len;
    return 0;
}

static void end_answer(void *context, size_t i, const struct pd_error *error)
{
    (void)i;
    *(int *)context = error->code;
}

static void post(const struct pd_probe_report_out *out)
{
    struct pd_fanout_peer peer = {
        .url = own.controller, .body = (const char *)out->bytes, .body_bytes = out->len};
    const struct pd_fanout_request request = {.route = "/v1/probes/reports",
                                              .type = "application/octet-stream",
                                              .accept = "application/json",
                                              .deadline_ns = pd_clock_monotonic_ns() + POST_NS,
                                              .max_bytes = ANSWER_BYTES,
                                              .cancelled = &own.cancelled};
    int answered = 0;
    const struct pd_fanout_sink sink = {
        .context = &answered, .take = take_answer, .end = end_answer};
    int err =
        out->err ? out->err : pd_fleet_fanout_ask(own.agent->fanout, &request, &peer, 1, &sink);

    pd_count(err || answered ? &counts.reports_lost : &counts.reports, 1);
}

/* With the lock. A way on which as many are missing as make it silent, and nobody was told. */
static bool falls_silent(uint64_t now_ns)
{
    const uint64_t period_ns = PD_NS_PER_S / own.part.order.rate_hz;
    bool any = false;

    for (size_t i = 0; i < own.part.ways_len; i++) {
        struct pd_agent_probe_way *way = &own.part.ways[i];

        if (way->collects && !way->silent && now_ns - way->came_ns > period_ns * 7 / 2) {
            way->silent = any = true;
        }
    }
    return any;
}

static bool is_in_a_hurry(void)
{
    bool any = false;

    for (size_t i = 0; i < own.part.ways_len && !any; i++) {
        any = own.part.ways[i].way->isolates || own.part.ways[i].silent;
    }
    return any;
}

/* With the lock. */
static bool is_due(uint64_t now_ns, uint64_t told_ns)
{
    const uint64_t ms = is_in_a_hurry() ? PD_AGENT_PROBES_HURRY_MS : PD_AGENT_PROBES_REPORT_MS;
    const bool first = !own.told_first && !is_any_urgent();

    own.told_first |= first;
    return own.part.order.plan && own.controller &&
           (falls_silent(now_ns) || first || now_ns - told_ns >= ms * PD_NS_PER_MS);
}

static uint64_t tick(void)
{
    return !own.part.order.plan ? IDLE_NS : is_in_a_hurry() ? SHORT_NS : TICK_NS;
}

static void *report_thread(void *context)
{
    struct pd_probe_report_out out = {0};
    uint64_t told_ns = 0;

    (void)context;
    pthread_mutex_lock(&own.lock);
    while (wait_until(pd_clock_monotonic_ns() + tick())) {
        const uint64_t now_ns = pd_clock_monotonic_ns();

        if (is_due(now_ns, told_ns)) {
            told_ns = now_ns;
            pd_agent_probe_report(&own.part, own.agent->host_id, &out);
            pthread_mutex_unlock(&own.lock);
            post(&out);
            pthread_mutex_lock(&own.lock);
        }
    }
    pthread_mutex_unlock(&own.lock);
    free(out.bytes);
    return NULL;
}

/* ---- life ---- */

/* The interface that the host's first live intake listens on; NULL: it has none. */
static const char *interface_of(const struct pd_settings *settings)
{
    for (unsigned i = 0; i < settings->intakes.len; i++) {
        if (!strncmp(settings->intakes.items[i], INTAKE, strlen(INTAKE))) {
            return settings->intakes.items[i] + strlen(INTAKE);
        }
    }
    return NULL;
}

static int open_probes(void *daemon, const void *options, struct pd_error *error)
{
    struct pd_agent *agent = daemon;
    const char *interface = interface_of(agent->settings);

    (void)options;
    own.agent = agent;
    own.controller = agent->settings->controller;
    own.socket.fd = own.socket.routed = -1;
    pd_wait_init(&own.changed);
    if (!interface || !agent->host_id || !agent->fanout) {
        return 0;
    }
    int err = pd_agent_probe_socket_open(&own.socket, interface, error);
    if (!err) {
        own.model = pd_agent_model_hold(agent->model);
        own.taker = (struct pd_intake_taker){NULL, &own.wanted, PD_TELEMETRY_PORT, take_frame};
        own.part.epoch = (uint32_t)pd_clock_wall_us();
        own.part.topology = own.model->topology;
    }
    return err;
}

static int start_probes(void *daemon, struct pd_error *error)
{
    int err = 0;

    (void)daemon;
    if (own.model) {
        err = -pthread_create(&own.sender, NULL, send_thread, NULL);
        own.threads += !err;
        err = err ? err : -pthread_create(&own.reporter, NULL, report_thread, NULL);
        own.threads += !err;
    }
    return err ? pd_fail(error, err, "probes: %s", pd_error_text(err)) : 0;
}

static void stop_probes(void *daemon)
{
    (void)daemon;
    pthread_mutex_lock(&own.lock);
    own.stopping = true;
    pthread_cond_broadcast(&own.changed);
    pthread_mutex_unlock(&own.lock);
    atomic_store_explicit(&own.cancelled, true, memory_order_relaxed);
}

static void end_probes(void *daemon)
{
    stop_probes(daemon);
    if (own.threads > 0) {
        pthread_join(own.sender, NULL);
    }
    if (own.threads > 1) {
        pthread_join(own.reporter, NULL);
    }
    own.threads = 0;
}

static void close_probes(void *daemon)
{
    (void)daemon;
    pd_agent_probe_socket_close(&own.socket);
    pd_agent_probe_part_done(&own.part);
    pd_agent_model_free(own.model);
    own.model = NULL;
    own.stopping = false;
    atomic_store(&own.cancelled, false);
}

/* ---- routes ---- */

static json_t *path_json(const struct pd_probe_order_way *way)
{
    json_t *path = json_array();

    for (uint32_t i = 0; i < way->switches_len; i++) {
        json_array_append_new(path, json_integer(own.part.topology->switches[way->switches[i]].id));
    }
    return path;
}

static json_t *way_json(const struct pd_agent_probe_way *way)
{
    return json_pack("{s:I, s:o, s:I, s:I, s:b, s:I, s:I}", "number", (json_int_t)way->way->number,
                     "path", path_json(way->way), "from_host", (json_int_t)way->way->from_host,
                     "to_host", (json_int_t)way->way->to_host, "isolates", way->way->isolates,
                     "sent", (json_int_t)(way->next - way->first), "received",
                     (json_int_t)way->received);
}

/* With the lock. */
static json_t *part_json(void)
{
    const struct pd_probe_order *order = &own.part.order;
    json_t *ways = json_array();

    for (size_t i = 0; i < own.part.ways_len; i++) {
        json_array_append_new(ways, way_json(&own.part.ways[i]));
    }
    return json_pack("{s:b, s:I, s:I, s:s?, s:I, s:o}", "able", own.model != NULL, "plan",
                     (json_int_t)order->plan, "order", (json_int_t)order->order, "carrier",
                     order->plan ? order->carrier->name : NULL, "rate_hz",
                     (json_int_t)order->rate_hz, "ways", ways);
}

static int get_probes(void *daemon, struct pd_call *call, struct pd_answer *answer,
                      struct pd_problem *problem)
{
    (void)daemon;
    (void)call;
    pthread_mutex_lock(&own.lock);
    json_t *document = part_json();
    pthread_mutex_unlock(&own.lock);
    if (!document) {
        return pd_fail(&problem->error, -ENOMEM, "no memory for the answer");
    }
    pd_http_answer_json(answer, 200, answer->type, document);
    return 0;
}

/* With the lock: whether another controller's plan, or a later order, is in force. */
static int check_newer(const struct pd_probe_order *order, struct pd_error *error)
{
    const struct pd_probe_order *now = &own.part.order;

    if (order->plan < now->plan) {
        return pd_fail(error, -PD_E_CONFLICT, "plan: %u is in force here", now->plan);
    }
    if (order->plan == now->plan && order->order < now->order) {
        return pd_fail(error, -PD_E_CONFLICT, "order: %u is in force here", now->order);
    }
    return 0;
}

static int take_order(struct pd_probe_order *order, struct pd_error *error)
{
    /* Ahead of all before, also when this process began again and the wall's clock was set back. */
    const uint32_t begin = (uint32_t)(pd_clock_monotonic_ns() / PD_NS_PER_MS);
    int err;

    pthread_mutex_lock(&own.lock);
    err = check_newer(order, error);
    if (!err && pd_agent_probe_part_take(&own.part, order, own.agent->host_id, begin,
                                         pd_clock_monotonic_ns())) {
        err = pd_fail(error, -ENOMEM, "no memory for the ways");
    }
    if (!err) {
        own.orders++;
        own.told_first = false;
        atomic_store_explicit(&own.wanted, true, memory_order_relaxed);
        pthread_cond_broadcast(&own.changed);
    }
    pthread_mutex_unlock(&own.lock);
    return err;
}

/* An agent may change its own host's part alone; who may do everything, any. */
static int check_role(const struct pd_call *call, struct pd_error *error)
{
    return pd_http_role_speaks_for(call->http, own.agent->host_id)
               ? 0
               : pd_fail(error, -PD_E_FORBIDDEN, "these credentials are not those of this host");
}

static int post_probes(void *daemon, struct pd_call *call, struct pd_answer *answer,
                       struct pd_problem *problem)
{
    struct pd_probe_order order = {.plan = 0};
    int err = check_role(call, &problem->error);

    if (!err && !own.model) {
        err = pd_fail(&problem->error, -PD_E_CONFLICT,
                      "carrier: probes need a live intake and --host-id, which are not here");
    }
    err = err ? err : pd_probe_order_read(call->body, own.model->topology, &order, &problem->error);
    err = err ? err : take_order(&order, &problem->error);
    pd_probe_order_done(&order);
    pd_count(err ? &counts.orders_refused : &counts.orders, 1);
    return err ? err : get_probes(daemon, call, answer, problem);
}

static int delete_probes(void *daemon, struct pd_call *call, struct pd_answer *answer,
                         struct pd_problem *problem)
{
    int err = check_role(call, &problem->error);

    if (err) {
        return err;
    }
    pthread_mutex_lock(&own.lock);
    pd_agent_probe_part_done(&own.part);
    pthread_mutex_unlock(&own.lock);
    return get_probes(daemon, call, answer, problem);
}

static const struct pd_part_route routes[] = {
    {.route = {"GET", "/v1/probes", PD_ROLE_AGENT, "this host's part of the plan of probes"},
     .handler = get_probes},
    {.route = {"POST", "/v1/probes", PD_ROLE_AGENT, "another part of it"}, .handler = post_probes},
    {.route = {"DELETE", "/v1/probes", PD_ROLE_AGENT, "no probes any more"},
     .handler = delete_probes},
    {.handler = NULL},
};

static const struct pd_part_counter counters[] = {
    {.name = "sent", .help = "probes sent", .value = &counts.sent},
    {.name = "unsent", .help = "probes that the interface did not take", .value = &counts.unsent},
#define X(name_, text) {.name = #name_, .help = (text), .value = &counts.name_},
    PD_AGENT_PROBE_VERDICTS(X)
#undef X
        {.name = "reports",
         .help = "reports of probes that the controller took",
         .value = &counts.reports},
    {.name = "reports_lost",
     .help = "reports of probes that it did not take",
     .value = &counts.reports_lost},
    {.name = "orders", .help = "orders of probes taken over", .value = &counts.orders},
    {.name = "orders_refused",
     .help = "orders of probes that are not good here",
     .value = &counts.orders_refused},
    {.name = NULL},
};

const struct pd_part pd_agent_probes = {
    .name = "probes",
    .counters = counters,
    .routes = routes,
    .open = open_probes,
    .start = start_probes,
    .stop = stop_probes,
    .end = end_probes,
    .close = close_probes,
};
