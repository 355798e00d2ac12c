/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that watches the feed: conformance of single records, and events for the thread of
 * runs. */
#include <stdlib.h>

#include "agent/counters.h"
#include "agent/installed/list.h"
#include "agent/snapshot.h"
#include "base/clock.h"

#define BATCH         128
#define CACHE_ENTRIES 4096          /* trajectories */
#define SLEEP_NS      (PD_NS_PER_S) /* changes of the list wake nobody here */

struct watch {
    struct pd_installed *installed;
    unsigned generation;    /* of the list as it is known here */
    struct pd_model *model; /* held */
    struct pd_resolver *resolver;
    struct pd_installed_query *queries[PD_INSTALLATIONS_MAX]; /* on records; held */
    size_t queries_len;
    struct pd_feed_item items[BATCH];
    struct pd_way ways[BATCH];
    struct pd_tib_record rows[BATCH];
};

/* ---- what is watched for ---- */

static void forget(struct watch *watch)
{
    for (size_t i = 0; i < watch->queries_len; i++) {
        pd_installed_let_go(watch->queries[i]);
    }
    watch->queries_len = 0;
    pd_resolver_free(watch->resolver);
    pd_agent_model_free(watch->model);
    watch->resolver = NULL;
    watch->model = NULL;
}

/* Acquire: pairs with the release of whoever changed the list. */
static void look_up(struct watch *watch)
{
    struct pd_installed *installed = watch->installed;
    unsigned generation = atomic_load_explicit(&installed->generation, memory_order_acquire);

    if (generation == watch->generation && (watch->resolver || !watch->queries_len)) {
        return;
    }
    forget(watch);
    watch->generation = generation;
    pthread_mutex_lock(&installed->lock);
    for (size_t i = 0; i < installed->queries_len; i++) {
        struct pd_installed_query *query = installed->queries[i];

        if (!query->what.period_ms && query->what.on != PD_TRIGGER_ALARM && !query->stopped) {
            watch->queries[watch->queries_len++] = pd_installed_hold(query);
        }
    }
    watch->model = pd_agent_model_hold(installed->model);
    pthread_mutex_unlock(&installed->lock);
    if (watch->queries_len &&
        pd_resolver_new(&watch->model->codecs, CACHE_ENTRIES, &watch->resolver)) {
        watch->resolver = NULL; /* no memory: the next records see to it again */
    }
}

/* ---- records ---- */

static void decode(struct watch *watch, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        pd_agent_snapshot_path(watch->resolver, &watch->items[i].record, &watch->ways[i]);
        watch->rows[i] = pd_agent_snapshot_row(&watch->items[i].record, &watch->ways[i].claim);
    }
}

static bool concerns(const struct watch *watch, const struct pd_installed_query *query, size_t i)
{
    const struct pd_query *records = pd_query_document_query(&query->what.document);

    return watch->items[i].trigger == query->what.on &&
           !atomic_load_explicit(&query->gone, memory_order_relaxed) &&
           (!records || pd_tib_filter_matches(&records->filter, &watch->rows[i]));
}

static unsigned judge(struct watch *watch, struct pd_installed_query *query, size_t i, json_t *list)
{
    unsigned broken = pd_query_conformance_check(pd_query_document_query(&query->what.document),
                                                 &watch->rows[i]),
             alarms = 0;

    for (unsigned rule = 0; broken && rule < PD_CONFORMANCE_RULE_COUNT; rule++) {
        if (broken & 1U << rule) {
            alarms += pd_installed_raise(
                watch->installed, query, &watch->rows[i],
                pd_query_conformance_rule_text((enum pd_conformance_rule)rule), list);
        }
    }
    return alarms;
}

static void check(struct watch *watch, struct pd_installed_query *query, size_t n)
{
    struct pd_installed_outcome outcome = {.runs = 0};
    const uint64_t begun_ns = pd_clock_monotonic_ns();
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++) {
        if (!concerns(watch, query, i)) {
            continue;
        }
        outcome.runs++;
        outcome.alarms += judge(watch, query, i, list);
    }
    outcome.busy_ns = pd_clock_monotonic_ns() - begun_ns;
    if (outcome.alarms) {
        pd_installed_answer(&outcome, json_pack("{s:o}", "violations", list));
    } else {
        json_decref(list);
    }
    if (!outcome.runs) {
        return;
    }
    pthread_mutex_lock(&watch->installed->lock);
    pd_installed_note(query, &outcome);
    pthread_mutex_unlock(&watch->installed->lock);
}

/* Those that do not fit are counted without the lock: a storm costs a number for each. */
static void hand_over(struct watch *watch, struct pd_installed_query *query, size_t i)
{
    struct pd_installed_event event = {.has_flow = true,
                                       .record = watch->rows[i],
                                       .way = watch->ways[i],
                                       .came_ns = pd_clock_monotonic_ns()};

    if (atomic_load_explicit(&query->pending_len, memory_order_relaxed) ==
        PD_INSTALLED_PENDING_MAX) {
        pd_count(&query->counters.skipped, 1);
        return;
    }
    pthread_mutex_lock(&watch->installed->lock);
    pd_installed_pend(watch->installed, query, &event);
    pthread_mutex_unlock(&watch->installed->lock);
}

static void skip(struct watch *watch, size_t n)
{
    for (size_t q = 0; q < watch->queries_len; q++) {
        pd_count(&watch->queries[q]->counters.skipped, n);
    }
}

static void work(struct watch *watch, size_t n)
{
    if (!watch->resolver) {
        skip(watch, n);
        return;
    }
    decode(watch, n);
    for (size_t q = 0; q < watch->queries_len; q++) {
        struct pd_installed_query *query = watch->queries[q];

        if (query->watched) {
            check(watch, query, n);
            continue;
        }
        for (size_t i = 0; i < n; i++) {
            if (concerns(watch, query, i)) {
                hand_over(watch, query, i);
            }
        }
    }
}

void *pd_installed_watch(void *context)
{
    struct watch *watch = calloc(1, sizeof *watch);

    if (!watch) {
        return NULL;
    }
    watch->installed = context;
    while (!atomic_load_explicit(&watch->installed->stopping, memory_order_relaxed)) {
        size_t n = pd_agent_feed_take(&watch->installed->feed, watch->items, BATCH,
                                      pd_clock_monotonic_ns() + SLEEP_NS);

        look_up(watch);
        work(watch, n);
    }
    forget(watch);
    free(watch);
    return NULL;
}
