/* SPDX-License-Identifier: Apache-2.0 */
/* The list of installed queries: who is in it, and its life. */
#include "agent/installed/installed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/counters.h"
#include "agent/installed/list.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/wait.h"

#define MODULE "installed"

/* ---- the list; all with its lock held ---- */

/* Index of the first query with this ID or a greater one. */
static size_t place(const struct pd_installed *installed, uint64_t id)
{
    size_t i = 0;

    while (i < installed->queries_len && installed->queries[i]->id < id) {
        i++;
    }
    return i;
}

struct pd_installed_query *pd_installed_find(const struct pd_installed *installed, uint64_t id)
{
    size_t i = place(installed, id);

    return i < installed->queries_len && installed->queries[i]->id == id ? installed->queries[i]
                                                                         : NULL;
}

/* What the feed has to bring, and whether alarms are of interest. Release: pairs with the watcher's
 * acquire. */
static void changed(struct pd_installed *installed)
{
    unsigned wanted = 0, hearing = 0;

    for (size_t i = 0; i < installed->queries_len; i++) {
        const struct pd_installed_query *query = installed->queries[i];

        if (query->what.period_ms || query->stopped) {
            continue;
        }
        if (query->what.on == PD_TRIGGER_ALARM) {
            hearing++;
        } else {
            wanted |= 1U << query->what.on;
        }
    }
    pd_agent_feed_want(&installed->feed, wanted);
    atomic_store_explicit(&installed->hearing, hearing, memory_order_relaxed);
    atomic_fetch_add_explicit(&installed->generation, 1, memory_order_release);
    pthread_cond_broadcast(&installed->ready);
}

void pd_installed_insert(struct pd_installed *installed, struct pd_installed_query *query)
{
    size_t at = place(installed, query->id);

    memmove(&installed->queries[at + 1], &installed->queries[at],
            (installed->queries_len - at) * sizeof(void *));
    installed->queries[at] = query;
    installed->queries_len++;
    installed->bytes += query->what.json_bytes;
    query->schedule =
        pd_schedule_begin(query->what.period_ms * PD_NS_PER_MS, pd_clock_monotonic_ns());
    changed(installed);
}

/* The list's hold goes to the caller. Its numbers stay in the sums. */
static void take_out(struct pd_installed *installed, struct pd_installed_query *query)
{
    size_t at = place(installed, query->id);

    memmove(&installed->queries[at], &installed->queries[at + 1],
            (installed->queries_len - at - 1) * sizeof(void *));
    installed->queries_len--;
    installed->bytes -= query->what.json_bytes;
    atomic_store_explicit(&query->gone, true, memory_order_relaxed);
    changed(installed);
}

static void keep_sums(struct pd_installed *installed, const struct pd_installed_query *query)
{
#define X(name, text) installed->before.name += pd_counted(&query->counters.name);
    PD_INSTALLED_COUNTERS(X)
#undef X
}

/* ---- install and uninstall ---- */

/* None that was used lately, so that nobody uninstalls what is not his. */
static uint64_t choose_id(struct pd_installed *installed)
{
    uint64_t id = installed->next_id;

    do {
        if (id < PD_INSTALLATION_OWN_IDS || id > PD_INSTALLATION_ID_MAX) {
            id = PD_INSTALLATION_OWN_IDS;
        }
        installed->next_id = id + 1;
    } while (pd_installed_find(installed, id) && ++id);
    return id;
}

/* Makes room for the query: *ret_old is the one that it replaces, out of the list; *ret_same: it is
 * there already. */
static int make_room(struct pd_installed *installed, struct pd_installed_query *query,
                     struct pd_installed_query **ret_old, bool *ret_same, struct pd_error *error)
{
    struct pd_installed_query *old = query->id ? pd_installed_find(installed, query->id) : NULL;
    size_t len = installed->queries_len - (old ? 1 : 0);
    size_t bytes = installed->bytes - (old ? old->what.json_bytes : 0);

    *ret_same = old && json_equal(old->what.json, query->what.json);
    if (*ret_same) {
        return 0;
    }
    if (len >= PD_INSTALLATIONS_MAX) {
        return pd_fail(error, -PD_E_FULL, "%d queries are installed already", PD_INSTALLATIONS_MAX);
    }
    if (bytes + query->what.json_bytes > PD_INSTALLATIONS_BYTES_MAX) {
        return pd_fail(error, -PD_E_FULL, "installed queries may have %zu bytes together",
                       PD_INSTALLATIONS_BYTES_MAX);
    }
    if (!query->id) {
        query->id = choose_id(installed);
    }
    if (old) {
        take_out(installed, old);
    }
    *ret_old = old;
    return 0;
}

/* The file could not be written: all is as it was. */
static void undo(struct pd_installed *installed, struct pd_installed_query *query,
                 struct pd_installed_query *old)
{
    pthread_mutex_lock(&installed->lock);
    take_out(installed, query);
    if (old) {
        atomic_store_explicit(&old->gone, old->stopped, memory_order_relaxed);
        pd_installed_insert(installed, old);
    }
    pthread_mutex_unlock(&installed->lock);
}

/* With `change` held. Takes over the caller's hold where it returns 0 and *ret_same is false. */
static int install(struct pd_installed *installed, struct pd_installed_query *query, bool *ret_same,
                   struct pd_error *error)
{
    struct pd_installed_query *old = NULL;
    int err;

    pthread_mutex_lock(&installed->lock);
    err = make_room(installed, query, &old, ret_same, error);
    if (!err && !*ret_same) {
        pd_installed_insert(installed, query);
    }
    pthread_mutex_unlock(&installed->lock);
    if (err || *ret_same) {
        return err;
    }
    err = pd_installed_save(installed, error);
    if (err) {
        undo(installed, query, old);
        return err;
    }
    if (old) {
        pthread_mutex_lock(&installed->lock);
        keep_sums(installed, old);
        pthread_mutex_unlock(&installed->lock);
        pd_installed_let_go(old);
    }
    return 0;
}

int pd_installed_add(struct pd_installed *installed, json_t *body, uint64_t *ret_id,
                     struct pd_error *error)
{
    struct pd_installed_query *query;
    bool same = false;
    int err = pd_installed_parse(body, &query, error);

    if (err) {
        return err;
    }
    pthread_mutex_lock(&installed->change);
    err = install(installed, query, &same, error);
    const uint64_t id = query->id;
    pthread_mutex_unlock(&installed->change);
    if (err || same) {
        pd_installed_let_go(query);
    }
    if (!err) {
        *ret_id = id;
    }
    return err;
}

static int uninstall(struct pd_installed *installed, uint64_t id, struct pd_error *error)
{
    struct pd_installed_query *query;
    int err;

    pthread_mutex_lock(&installed->lock);
    query = pd_installed_find(installed, id);
    if (query) {
        take_out(installed, query);
    }
    pthread_mutex_unlock(&installed->lock);
    if (!query) {
        return pd_fail(error, -PD_E_NOT_FOUND, "no query %llu is installed",
                       (unsigned long long)id);
    }
    err = pd_installed_save(installed, error);
    pthread_mutex_lock(&installed->lock);
    if (err) {
        atomic_store_explicit(&query->gone, query->stopped, memory_order_relaxed);
        pd_installed_insert(installed, query);
    } else {
        keep_sums(installed, query);
    }
    pthread_mutex_unlock(&installed->lock);
    if (!err) {
        pd_installed_let_go(query);
    }
    return err;
}

int pd_installed_remove(struct pd_installed *installed, uint64_t id, struct pd_error *error)
{
    int err;

    pthread_mutex_lock(&installed->change);
    err = uninstall(installed, id, error);
    pthread_mutex_unlock(&installed->change);
    return err;
}

void pd_installed_give_up(struct pd_installed *installed, struct pd_installed_query *query)
{
    char detail[200];
    struct pd_installed_alarm alarm = {
        .reason = "QUERY_STOPPED", .detail = detail, .by = query->what.by};
    struct pd_error error = {0};

    pthread_mutex_lock(&installed->change);
    pthread_mutex_lock(&installed->lock);
    query->stopped = true;
    atomic_store_explicit(&query->gone, true, memory_order_relaxed);
    snprintf(detail, sizeof detail, "installed query %llu failed %d times in a row: %.120s",
             (unsigned long long)query->id, PD_INSTALLED_FAILURES_MAX, query->error);
    changed(installed);
    pthread_mutex_unlock(&installed->lock);
    if (pd_installed_save(installed, &error)) {
        pd_log(PD_LOG_ERROR, MODULE, NULL, "%s", error.text);
    }
    pthread_mutex_unlock(&installed->change);
    pd_log(PD_LOG_WARN, MODULE, NULL, "%s; it is stopped", detail);
    installed->host.alarm(installed->host.context, &alarm);
}

/* ---- alarms, in and out ---- */

bool pd_installed_hears(struct pd_installed *installed)
{
    return atomic_load_explicit(&installed->hearing, memory_order_relaxed) > 0;
}

/* A run on an alarm that raises one would go round for ever: what this thread raises in such a run
 * is not heard. */
static bool own_echo(const struct pd_installed *installed)
{
    for (size_t i = 0; i < PD_INSTALLED_WORKERS; i++) {
        const struct pd_installed_query *query = installed->workers[i].query;

        if (query && !query->what.period_ms && query->what.on == PD_TRIGGER_ALARM &&
            pthread_equal(pthread_self(), installed->workers[i].thread)) {
            return true;
        }
    }
    return false;
}

void pd_installed_alarmed(struct pd_installed *installed, const struct pd_flow_id *flow,
                          json_t *alarm)
{
    struct pd_installed_event event = {.has_flow = flow != NULL,
                                       .came_ns = pd_clock_monotonic_ns()};

    if (flow) {
        event.record.flow = *flow;
    }
    pthread_mutex_lock(&installed->lock);
    for (size_t i = 0; alarm && i < installed->queries_len && !own_echo(installed); i++) {
        struct pd_installed_query *query = installed->queries[i];

        if (query->what.period_ms || query->what.on != PD_TRIGGER_ALARM || query->stopped) {
            continue;
        }
        event.alarm = json_deep_copy(alarm); /* each thread its own */
        pd_installed_pend(installed, query, &event);
    }
    pthread_mutex_unlock(&installed->lock);
    json_decref(alarm);
}

/* ---- life ---- */

static int init(struct pd_installed *installed, const char *file, struct pd_model *model,
                struct pd_error *error)
{
    int err;

    pthread_mutex_init(&installed->change, NULL);
    pthread_mutex_init(&installed->lock, NULL);
    pd_wait_init(&installed->ready);
    installed->model = pd_agent_model_hold(model);
    installed->next_id = PD_INSTALLATION_OWN_IDS;
    err = pd_agent_feed_init(&installed->feed);
    installed->file = strdup(file);
    if (!err && !installed->file) {
        err = -ENOMEM;
    }
    return err ? pd_fail(error, err, "installed queries: %s", pd_error_text(err))
               : pd_installed_load(installed, error);
}

int pd_installed_new(const char *file, const struct pd_installed_host *host, struct pd_model *model,
                     struct pd_installed **ret_installed, struct pd_error *error)
{
    struct pd_installed *installed = calloc(1, sizeof *installed);
    int err;

    if (!installed) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    installed->host = *host;
    err = init(installed, file, model, error);
    if (err) {
        pd_installed_free(installed);
        return err;
    }
    pthread_mutex_lock(&installed->lock);
    changed(installed);
    pthread_mutex_unlock(&installed->lock);
    *ret_installed = installed;
    return 0;
}

/* Wakes and waits for the first so many workers. */
static void join_workers(struct pd_installed *installed, size_t len)
{
    pthread_mutex_lock(&installed->lock);
    atomic_store_explicit(&installed->stopping, true, memory_order_relaxed);
    pthread_cond_broadcast(&installed->ready);
    pthread_mutex_unlock(&installed->lock);
    for (size_t i = 0; i < len; i++) {
        pthread_join(installed->workers[i].thread, NULL);
    }
}

/* With the lock held: a worker looks at its `thread` only after that. */
static int start_worker(struct pd_installed *installed, size_t i)
{
    struct pd_installed_worker *worker = &installed->workers[i];
    int err;

    *worker = (struct pd_installed_worker){.installed = installed, .takes_long = i == 0};
    err = pthread_create(&worker->thread, NULL, pd_installed_run, worker);
    if (!err) {
        pthread_setname_np(worker->thread, "pd-installed");
    }
    return -err;
}

int pd_installed_start(struct pd_installed *installed)
{
    size_t started = 0;
    int err = 0;

    pthread_mutex_lock(&installed->lock);
    while (!err && started < PD_INSTALLED_WORKERS) {
        err = start_worker(installed, started);
        started += !err;
    }
    pthread_mutex_unlock(&installed->lock);
    if (!err) {
        err = -pthread_create(&installed->watcher, NULL, pd_installed_watch, installed);
    }
    if (err) {
        join_workers(installed, started);
        return err;
    }
    pthread_setname_np(installed->watcher, "pd-watch");
    installed->started = true;
    return 0;
}

void pd_installed_stop(struct pd_installed *installed)
{
    if (!installed || !installed->started) {
        return;
    }
    join_workers(installed, PD_INSTALLED_WORKERS);
    pd_agent_feed_wake(&installed->feed);
    pthread_join(installed->watcher, NULL);
    installed->started = false;
}

void pd_installed_free(struct pd_installed *installed)
{
    if (!installed) {
        return;
    }
    for (size_t i = 0; i < installed->queries_len; i++) {
        pd_installed_let_go(installed->queries[i]);
    }
    pd_agent_feed_done(&installed->feed);
    pd_agent_model_free(installed->model);
    pthread_cond_destroy(&installed->ready);
    pthread_mutex_destroy(&installed->lock);
    pthread_mutex_destroy(&installed->change);
    free(installed->file);
    free(installed);
}

struct pd_feed *pd_installed_feed(struct pd_installed *installed)
{
    return &installed->feed;
}

void pd_installed_model(struct pd_installed *installed, struct pd_model *model)
{
    struct pd_model *old;

    pthread_mutex_lock(&installed->lock);
    old = installed->model;
    installed->model = pd_agent_model_hold(model);
    changed(installed);
    pthread_mutex_unlock(&installed->lock);
    pd_agent_model_free(old);
}
