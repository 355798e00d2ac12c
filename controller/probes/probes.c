/* SPDX-License-Identifier: Apache-2.0 */
/* The part of probes: plans, the thread, and what people ask. */
#include "controller/probes/probes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/wait.h"
#include "controller/probes/private.h"
#include "daemon/count.h"
#include "daemon/state_file.h"
#include "topology/links.h"
#include "json/cursor.h"

#define MODULE       "probes"
#define FILE_VERSION 1
#define FILE_BYTES   4096u
#define FRAME_BYTES  160 /* of a probe without entries, and what wires add */

struct pd_probes pd_probes = {.lock = PTHREAD_MUTEX_INITIALIZER};
struct pd_probes_counts pd_probes_counts;

struct options {
    uint64_t ppm;
    bool synchronised;
};

static const struct pd_option rows[] = {
    {.section = "probes",
     .name = "probe-share-ppm",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct options, ppm),
     .min = 1,
     .max = 1000000,
     .value = "N",
     .fallback = "1000",
     .help = "millionths of a link's speed that probes may take"},
    {.section = "probes",
     .name = "synchronised-switches",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct options, synchronised),
     .help = "clocks of switches are synchronised: latency of links is not estimated"},
    {0},
};

/* ---- what is wanted, kept over a restart ---- */

int pd_probes_save(struct pd_error *error)
{
    json_t *document =
        json_pack("{s:i, s:I, s:b, s:s, s:I, s:I}", "version", FILE_VERSION, "plan",
                  (json_int_t)pd_probes.plan, "on", pd_probes.on, "carrier",
                  pd_probes.carrier ? pd_probes.carrier->name : "sr-int", "rate_hz",
                  (json_int_t)pd_probes.wanted_hz, "max_hops", (json_int_t)pd_probes.max_hops);
    int err = document ? pd_daemon_state_write(pd_probes.file, document, error)
                       : pd_fail(error, -ENOMEM, "no memory for the plan of probes");

    json_decref(document);
    return err;
}

int pd_probes_read_wish(const struct pd_json_cursor *at)
{
    uint64_t rate = 100, hops = 0;
    const char *name = "sr-int";
    int err = json_object_get(at->object, "carrier") ? pd_json_words(at, "carrier", &name) : 0;
    const struct pd_probe_carrier *carrier = err ? NULL : pd_probe_carrier_find(name);

    if (!err && !carrier) {
        return pd_json_wrong(at, "carrier", "sr-int or srv6-ioam");
    }
    err = err ? err : pd_json_number_or(at, "rate_hz", 1, PD_PROBE_ORDER_RATE_MAX, &rate);
    hops = err ? 0 : carrier->hops_max;
    err = err ? err : pd_json_number_or(at, "max_hops", 1, carrier->hops_max, &hops);
    if (!err) {
        pd_probes.carrier = carrier;
        pd_probes.wanted_hz = (uint32_t)rate;
        pd_probes.max_hops = (uint32_t)hops;
    }
    return err;
}

static int load(struct pd_error *error)
{
    json_t *document = NULL;
    struct pd_json_cursor at = {.file = pd_probes.file, .err = -PD_E_VALUE, .error = error};
    uint64_t plan = 0;
    bool on = false;
    int err = pd_daemon_state_read(pd_probes.file, FILE_VERSION, FILE_BYTES, &document, error);

    at.object = document;
    if (!err && document) {
        err = pd_json_number(&at, "plan", 0, UINT32_MAX, &plan);
        err = err ? err : pd_json_flag_or(&at, "on", &on);
        err = err ? err : pd_probes_read_wish(&at);
        pd_probes.plan = (uint32_t)plan;
        pd_probes.on = pd_probes.replan = on && !err;
    }
    json_decref(document);
    if (err == -PD_E_CORRUPT || err == -PD_E_VALUE || err == -PD_E_SYNTAX) {
        pd_log(PD_LOG_ERROR, MODULE, NULL, "no probes: %s", error->text);
        return 0;
    }
    return err;
}

/* ---- planning, with the lock ---- */

void pd_probes_drop_plan(void)
{
    pd_probe_watch_free(pd_probes.watch);
    pd_probes.watch = NULL;
    free(pd_probes.links);
    pd_probes.links = NULL;
    pd_probes.links_len = 0;
}

static void drop_inventory(void)
{
    free(pd_probes.hosts);
    pd_probes.hosts = NULL;
    pd_probes.hosts_len = 0;
    pd_controller_inventory_free(pd_probes.inventory);
    pd_probes.inventory = NULL;
}

/* True: it is another one. */
static bool take_inventory(struct pd_inventory *inventory)
{
    if (inventory == pd_probes.inventory) {
        pd_controller_inventory_free(inventory);
        return false;
    }
    pd_probes_drop_plan();
    drop_inventory();
    pd_probes.inventory = inventory;
    pd_probes.hosts = calloc(inventory->hosts_len + 1, sizeof *pd_probes.hosts);
    for (size_t i = 0; pd_probes.hosts && i < inventory->hosts_len; i++) {
        uint32_t index = pd_topology_host(inventory->topology, inventory->hosts[i].id);

        if (index != PD_NONE) {
            pd_probes.hosts[pd_probes.hosts_len++] = (struct pd_probes_host){
                .id = inventory->hosts[i].id, .index = index, .url = inventory->hosts[i].url};
        }
    }
    return true;
}

/* Of the slowest link: each direction carries one probe of the plan at a time. */
static uint32_t rate_within(uint32_t wanted)
{
    const struct pd_topology *topology = pd_probes.inventory->topology;
    const uint64_t other = pd_probes.controller->settings->link_mbps;
    const double bits = 8.0 * (FRAME_BYTES + 22.0 * (pd_probes.max_hops + 1));

    for (uint32_t i = 0; i < topology->fabric_links_len; i++) {
        uint64_t mbps = topology->links[i].mbps ? topology->links[i].mbps : other;
        double most = pd_probes.share * (double)mbps * 1e6 / bits;

        if (mbps && most < wanted) {
            wanted = most < 1 ? 1 : (uint32_t)most;
        }
    }
    return wanted;
}

/* A plan's number is higher than all before, also those of another controller whose clock is right.
 */
static int number_plan(struct pd_error *error)
{
    const uint32_t now_s = (uint32_t)(pd_clock_wall_us() / PD_US_PER_S);

    pd_probes.plan = pd_probes.plan >= now_s ? pd_probes.plan + 1 : now_s;
    pd_probes.order = pd_probes.ordered = 0;
    return getrandom(pd_probes.key, sizeof pd_probes.key, 0) == (ssize_t)sizeof pd_probes.key
               ? 0
               : pd_fail(error, -EIO, "no random numbers for the key of probes");
}

static int make_plan(struct pd_error *error)
{
    const struct pd_topology *topology = pd_probes.inventory->topology;
    bool *hosts = calloc((size_t)topology->hosts_len + 1, sizeof *hosts);
    struct pd_probe_watch_config config = {
        .topology = topology, .hosts = hosts, .max_hops = pd_probes.max_hops, .doubts = true};
    int err = hosts ? 0 : -ENOMEM;

    pd_probes_drop_plan();
    err = err ? pd_fail(error, err, "no memory for the plan of probes") : number_plan(error);
    for (size_t i = 0; i < pd_probes.hosts_len && !err; i++) {
        hosts[pd_probes.hosts[i].index] = pd_probes.hosts[i].able;
        pd_probes.hosts[i].told = 0;
    }
    pd_probes.rate_hz = rate_within(pd_probes.wanted_hz);
    config.rate_hz = pd_probes.rate_hz;
    pd_probes.links = calloc(2 * (size_t)topology->fabric_links_len + 1, sizeof *pd_probes.links);
    if (!err && !pd_probes.links) {
        err = pd_fail(error, -ENOMEM, "no memory for the plan of probes");
    }
    err = err ? err : pd_probe_watch_new(&config, &pd_probes.watch, error);
    free(hosts);
    pd_probes.links_len = err ? 0 : 2 * topology->fabric_links_len;
    pd_probes.period_us = pd_clock_wall_us();
    pd_count(&pd_probes_counts.plans, 1);
    return err;
}

/* ---- the thread ---- */

/* With the lock. */
static void find_dead(uint64_t now_ns)
{
    for (size_t i = 0; i < pd_probes.hosts_len; i++) {
        struct pd_probes_host *host = &pd_probes.hosts[i];

        if (host->able && host->told && now_ns - host->heard_ns > PD_PROBES_DEAD_NS) {
            snprintf(host->reason, sizeof host->reason, "it does not report");
            host->able = false;
            pd_probes.replan = true;
            pd_log(PD_LOG_WARN, MODULE, NULL, "host %u does not report: its ways go to others",
                   host->id);
        }
    }
}

static void plan_anew(void)
{
    struct pd_error error = {0};
    bool changed;

    pd_probes_ask_hosts(pd_probes.plan == 0 || !pd_probes.watch, &changed);
    pthread_mutex_lock(&pd_probes.lock);
    pd_probes.replan = false;
    if (pd_probes.on && make_plan(&error)) {
        pd_log(PD_LOG_WARN, MODULE, NULL, "no probes are sent: %s", error.text);
    }
    if (pd_probes.on && pd_probes_save(&error)) {
        pd_log(PD_LOG_WARN, MODULE, NULL, "%s", error.text);
    }
    pd_probes.orders = pd_probes.watch != NULL;
    pthread_mutex_unlock(&pd_probes.lock);
}

/* Another controller has a higher plan on some hosts: it goes on, this one ends. */
static void give_way(void)
{
    struct pd_error error = {0};

    pd_log(PD_LOG_ERROR, MODULE, NULL, "another controller has a higher plan: probes end here");
    pd_probes.on = false;
    pd_probes_drop_plan();
    pd_probes_save(&error);
}

/* With the lock; what has to be done without it. */
struct work {
    bool on, replan, orders, renew, ask;
};

static struct work look(uint64_t *renewed_ns, uint64_t *asked_ns)
{
    const uint64_t now_ns = pd_clock_monotonic_ns();
    struct work work = {.on = pd_probes.on};

    if (!work.on) {
        return work;
    }
    if (take_inventory(pd_controller_hosts_inventory(pd_probes.controller->hosts))) {
        pd_probes.replan = true;
    }
    if (pd_probes.watch) {
        pd_probes.orders |= pd_probe_watch_forget(pd_probes.watch);
        pd_probes_close_period();
        find_dead(now_ns);
    }
    work.ask = now_ns - *asked_ns > PD_PROBES_AGAIN_NS;
    work.renew = pd_probes.watch && now_ns - *renewed_ns > PD_PROBES_RENEW_NS;
    work.replan = pd_probes.replan;
    work.orders = pd_probes.orders;
    pd_probes.orders = false;
    *asked_ns = work.ask || work.replan ? now_ns : *asked_ns;
    *renewed_ns = work.renew || work.replan ? now_ns : *renewed_ns;
    return work;
}

static void do_work(const struct work *work)
{
    bool changed = false;

    if (work->replan) {
        plan_anew();
    } else if (work->ask) {
        pd_probes_ask_hosts(false, &changed);
    }
    if (work->replan || work->orders || work->renew) {
        pd_probes_give_orders(work->renew);
    }
    pthread_mutex_lock(&pd_probes.lock);
    pd_probes.replan |= changed;
    if (pd_probes.overruled && pd_probes.on) {
        give_way();
    }
    pthread_mutex_unlock(&pd_probes.lock);
}

/* With the lock; false at the end. */
static bool wait_for_work(uint64_t ns)
{
    const uint64_t until_ns = pd_clock_monotonic_ns() + ns;

    while (!pd_probes.stopping && !pd_probes.orders && !pd_probes.replan &&
           pd_wait_until(&pd_probes.wake, &pd_probes.lock, until_ns)) {
        continue;
    }
    return !pd_probes.stopping;
}

static void *work_thread(void *context)
{
    uint64_t renewed_ns = pd_clock_monotonic_ns(), asked_ns = renewed_ns;

    (void)context;
    pthread_mutex_lock(&pd_probes.lock);
    while (wait_for_work(PD_PROBES_PERIOD_NS)) {
        const struct work work = look(&renewed_ns, &asked_ns);

        pthread_mutex_unlock(&pd_probes.lock);
        if (work.on) {
            do_work(&work);
        }
        pthread_mutex_lock(&pd_probes.lock);
    }
    pthread_mutex_unlock(&pd_probes.lock);
    return NULL;
}

/* ---- life ---- */

static int open_part(void *daemon, const void *options, struct pd_error *error)
{
    const struct options *set = options;

    pd_probes.controller = daemon;
    pd_probes.share = (double)set->ppm / 1e6;
    pd_probes.synchronised = set->synchronised;
    if (asprintf(&pd_probes.file, "%s/probes.json", pd_probes.controller->state.path) < 0) {
        pd_probes.file = NULL;
        return pd_fail(error, -ENOMEM, "no memory for probes");
    }
    return load(error);
}

static int start_part(void *daemon, struct pd_error *error)
{
    int err = (pd_probes.fanout = pd_fleet_fanout_new()) ? 0 : -ENOMEM;

    (void)daemon;
    pd_wait_init(&pd_probes.wake);
    if (!err) {
        pd_fleet_fanout_use(pd_probes.fanout, pd_probes.controller->credentials);
        err = -pthread_create(&pd_probes.thread, NULL, work_thread, NULL);
    }
    pd_probes.started = !err;
    return err ? pd_fail(error, err, "probes: %s", pd_error_text(err)) : 0;
}

static void stop_part(void *daemon)
{
    (void)daemon;
    pthread_mutex_lock(&pd_probes.lock);
    pd_probes.stopping = true;
    if (pd_probes.started) {
        pthread_cond_signal(&pd_probes.wake);
    }
    pthread_mutex_unlock(&pd_probes.lock);
    atomic_store_explicit(&pd_probes.cancelled, true, memory_order_relaxed);
}

static void end_part(void *daemon)
{
    if (pd_probes.started) {
        stop_part(daemon);
        pthread_join(pd_probes.thread, NULL);
        pthread_cond_destroy(&pd_probes.wake);
        pd_probes.started = false;
    }
}

static void close_part(void *daemon)
{
    (void)daemon;
    if (pd_probes.fanout) {
        pd_fleet_fanout_free(pd_probes.fanout);
    }
    pd_probes_forget_periods();
    pd_probes_drop_plan();
    drop_inventory();
    free(pd_probes.file);
    pd_probes.fanout = NULL;
    pd_probes.file = NULL;
    pd_probes.on = pd_probes.stopping = false;
    atomic_store(&pd_probes.cancelled, false);
}

static const struct pd_part_counter counters[] = {
    {.name = "reports", .help = "reports of probes taken", .value = &pd_probes_counts.reports},
    {.name = "reports_stale",
     .help = "reports of a plan that is not in force",
     .value = &pd_probes_counts.reports_stale},
    {.name = "reports_refused",
     .help = "reports that are malformed or another host's",
     .value = &pd_probes_counts.reports_refused},
    {.name = "orders", .help = "orders that hosts took", .value = &pd_probes_counts.orders},
    {.name = "orders_failed",
     .help = "orders that hosts did not take",
     .value = &pd_probes_counts.orders_failed},
    {.name = "plans", .help = "plans made", .value = &pd_probes_counts.plans},
    {.name = "isolations",
     .help = "times that further ways were laid to find a fault",
     .value = &pd_probes_counts.isolations},
    {.name = "rows_dropped",
     .help = "rows of evidence left out: no room",
     .value = &pd_probes_counts.rows_dropped},
    {.name = "claims_refused",
     .help = "words of hosts that say to have sent more than the rate allows",
     .value = &pd_probes_counts.claims_refused},
    {.name = "unknown",
     .help = "probes of which nobody can say what became of them",
     .value = &pd_probes_counts.unknown},
    {.name = NULL},
};

const struct pd_part pd_controller_probes_part = {
    .name = "probes",
    .options = rows,
    .options_bytes = sizeof(struct options),
    .counters = counters,
    .routes = pd_probes_routes,
    .open = open_part,
    .start = start_part,
    .stop = stop_part,
    .end = end_part,
    .close = close_part,
};
