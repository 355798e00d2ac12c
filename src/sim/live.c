/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that simulates at a pace, and a world behind a lock. */
#include "sim/live.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/wait.h"
#include "sim/world.h"

#define ALARMS_MOST 256u /* of a period */
#define STOPPED     1    /* what the visitor returns to end the simulation */

struct pd_sim_live {
    struct pd_sim_live_config config;
    struct pd_app_world app; /* its context is this */
    pthread_t thread;
    bool started;

    pthread_mutex_t lock; /* of all below; the start does not change once the thread runs */
    pthread_cond_t wake;
    uint64_t start_us, start_ns;
    bool stopping, ended;
    char error[200]; /* "": none */
    struct pd_sim_app_world world;
    struct pd_kept_period kept; /* what the world points to */
    struct pd_sim_sender *senders;
    struct pd_sim_totals totals;
    uint64_t kept_to_us; /* records were thrown away then */
};

/* ---- the world, behind the lock ---- */

static uint64_t now_us(void *context)
{
    struct pd_sim_live *live = context;

    pthread_mutex_lock(&live->lock);
    uint64_t now = live->world.app.ops->now_us(&live->world);
    now = now ? now : live->start_us;
    pthread_mutex_unlock(&live->lock);
    return now;
}

static int rows(void *context, json_t *document, const struct pd_items *items, json_t **ret_answer,
                struct pd_error *error)
{
    struct pd_sim_live *live = context;

    pthread_mutex_lock(&live->lock);
    int err = live->world.app.ops->rows(&live->world, document, items, ret_answer, error);
    pthread_mutex_unlock(&live->lock);
    return err;
}

static int ask(void *context, json_t *document, json_t **ret_answer, struct pd_error *error)
{
    struct pd_sim_live *live = context;

    pthread_mutex_lock(&live->lock);
    int err = live->world.app.ops->ask(&live->world, document, ret_answer, error);
    pthread_mutex_unlock(&live->lock);
    return err;
}

static int alarms(void *context, const char *reason, uint64_t from_us, uint64_t to_us, size_t most,
                  json_t **ret_alarms, struct pd_error *error)
{
    struct pd_sim_live *live = context;

    pthread_mutex_lock(&live->lock);
    int err =
        live->world.app.ops->alarms(&live->world, reason, from_us, to_us, most, ret_alarms, error);
    pthread_mutex_unlock(&live->lock);
    return err;
}

static int observe(void *context, uint64_t from_us, uint64_t to_us, unsigned wanted,
                   const struct pd_evidence_sink *sink, struct pd_report *report,
                   struct pd_error *error)
{
    struct pd_sim_live *live = context;

    pthread_mutex_lock(&live->lock);
    int err =
        live->world.app.ops->observe(&live->world, from_us, to_us, wanted, sink, report, error);
    pthread_mutex_unlock(&live->lock);
    return err;
}

static const struct pd_app_world_ops ops = {
    .now_us = now_us,
    .ask = ask,
    .rows = rows,
    .alarms = alarms,
    .observe = observe,
};

/* ---- a period ---- */

/* The period by wall time, in memory of its own. */
struct copied {
    struct pd_kept_period kept;
    struct pd_sim_sender *senders;
    struct pd_sim_period period;
};

static int copy(const struct pd_sim_live *live, const struct pd_sim_period *period,
                const struct pd_sim_totals *totals, struct copied *copied)
{
    *copied = (struct copied){.period = *period};
    copied->senders = calloc(period->flows_len + 1, sizeof *copied->senders);
    if (!copied->senders || pd_sim_kept_copy(&copied->kept, period)) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < period->flows_len; i++) {
        copied->senders[i] = period->senders[i];
        copied->senders[i].opened_us += live->start_us;
    }
    copied->period.from_us += live->start_us;
    copied->period.to_us += live->start_us;
    copied->period.flows = copied->kept.flows;
    copied->period.senders = copied->senders;
    copied->period.totals = totals;
    return 0;
}

static void copied_done(struct copied *copied)
{
    pd_sim_kept_done(&copied->kept);
    free(copied->senders);
}

/* With the lock held: once a minute of its time, records beyond the limit go. */
static void retain(struct pd_sim_live *live, uint64_t to_us)
{
    struct pd_tib *tib = live->world.records.tib;

    if (tib && to_us >= live->kept_to_us + 60 * PD_US_PER_S) {
        pd_tib_retain(tib, PD_SIM_LIVE_BYTES, 0);
        pd_tib_maintain(tib, to_us);
        live->kept_to_us = to_us;
    }
}

/* The world gets it, and lets go of the one before. */
static int give(struct pd_sim_live *live, struct copied *copied, struct pd_error *error)
{
    struct copied old;
    int err;

    pthread_mutex_lock(&live->lock);
    live->totals = *copied->period.totals;
    copied->period.totals = &live->totals;
    err = pd_sim_app_world_take(&live->world, &copied->period, error);
    old = (struct copied){.kept = live->kept, .senders = live->senders};
    live->kept = copied->kept;
    live->senders = copied->senders;
    retain(live, copied->period.to_us);
    pthread_mutex_unlock(&live->lock);
    copied_done(&old);
    return err;
}

static void tell_alarms(struct pd_sim_live *live, uint64_t from_us, uint64_t to_us)
{
    json_t *list = NULL;

    if (live->config.alarms && !alarms(live, NULL, from_us + 1, to_us, ALARMS_MOST, &list, NULL)) {
        live->config.alarms(live->config.context, list);
    }
    json_decref(list);
}

/* Until the clock has come as far; true: it shall end. */
static bool wait_for_clock(struct pd_sim_live *live, uint64_t simulated_us)
{
    uint64_t until_ns =
        live->start_ns + (uint64_t)((double)simulated_us * 1e3 / live->config.speed);
    bool stopping;

    pthread_mutex_lock(&live->lock);
    while (!live->stopping && pd_clock_monotonic_ns() < until_ns) {
        pd_wait_until(&live->wake, &live->lock, until_ns);
    }
    stopping = live->stopping;
    pthread_mutex_unlock(&live->lock);
    return stopping;
}

static int visit(void *context, const struct pd_sim_period *period)
{
    struct pd_sim_live *live = context;
    struct pd_error error = {0};
    struct copied copied;
    int err;

    if (wait_for_clock(live, period->to_us)) {
        return STOPPED;
    }
    err = copy(live, period, period->totals, &copied);
    if (err) {
        copied_done(&copied);
        return err;
    }
    err = give(live, &copied, &error);
    if (!err) {
        tell_alarms(live, copied.period.from_us, copied.period.to_us);
    }
    return err;
}

/* ---- life ---- */

static void *run(void *context)
{
    struct pd_sim_live *live = context;
    struct pd_sim_totals totals;
    struct pd_error error = {0};
    int err = pd_sim_run(live->config.scenario, live->config.seed, visit, live, &totals, &error);

    pthread_mutex_lock(&live->lock);
    live->ended = true;
    if (err < 0) {
        snprintf(live->error, sizeof live->error, "%s",
                 error.text[0] ? error.text : pd_error_text(err));
    }
    pthread_mutex_unlock(&live->lock);
    return NULL;
}

int pd_sim_live_new(const struct pd_sim_live_config *config, struct pd_sim_live **ret_live)
{
    struct pd_sim_live *live = calloc(1, sizeof *live);

    if (!live) {
        return -ENOMEM;
    }
    live->config = *config;
    live->start_us = pd_clock_wall_us();
    pd_sim_app_world_init(&live->world, config->scenario);
    live->app = live->world.app;
    live->app.ops = &ops;
    live->app.context = live;
    pthread_mutex_init(&live->lock, NULL);
    pd_wait_init(&live->wake);
    *ret_live = live;
    return 0;
}

int pd_sim_live_start(struct pd_sim_live *live, struct pd_error *error)
{
    int err;

    pthread_mutex_lock(&live->lock);
    live->start_us = pd_clock_wall_us();
    live->start_ns = pd_clock_monotonic_ns();
    pthread_mutex_unlock(&live->lock);
    err = -pthread_create(&live->thread, NULL, run, live);
    if (err) {
        return pd_fail(error, err, "simulation: %s", pd_error_text(err));
    }
    pthread_setname_np(live->thread, "pd-simulate");
    live->started = true;
    return 0;
}

void pd_sim_live_stop(struct pd_sim_live *live)
{
    pthread_mutex_lock(&live->lock);
    live->stopping = true;
    pthread_cond_broadcast(&live->wake);
    pthread_mutex_unlock(&live->lock);
    if (live->started) {
        pthread_join(live->thread, NULL);
        live->started = false;
    }
}

void pd_sim_live_free(struct pd_sim_live *live)
{
    if (!live) {
        return;
    }
    pd_sim_live_stop(live);
    pd_sim_app_world_done(&live->world);
    pd_sim_kept_done(&live->kept);
    free(live->senders);
    pthread_cond_destroy(&live->wake);
    pthread_mutex_destroy(&live->lock);
    free(live);
}

const struct pd_app_world *pd_sim_live_world(const struct pd_sim_live *live)
{
    return &live->app;
}

void pd_sim_live_stat(struct pd_sim_live *live, struct pd_sim_live_stat *ret_stat)
{
    pthread_mutex_lock(&live->lock);
    uint64_t clock_ns = live->start_ns ? pd_clock_monotonic_ns() - live->start_ns : 0;
    double lag_s = (double)clock_ns / 1e9 * live->config.speed - live->totals.now_s;

    *ret_stat = (struct pd_sim_live_stat){.now_s = live->totals.now_s,
                                          .lag_s = live->ended || lag_s < 0 ? 0 : lag_s,
                                          .ended = live->ended};
    memcpy(ret_stat->error, live->error, sizeof ret_stat->error);
    pthread_mutex_unlock(&live->lock);
}
