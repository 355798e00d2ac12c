/* SPDX-License-Identifier: Apache-2.0 */
/* The part: monitors of a file, the thread that waits for epochs. */
#include "controller/meters/meters.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "controller/meters/private.h"
#include "json/cursor.h"

#define MODULE "meters"

struct options {
    const char *monitors;
};

struct pd_meters pd_meters = {.lock = PTHREAD_MUTEX_INITIALIZER};
struct pd_meters_counters pd_meters_counters;

/* ---- monitors ---- */

static int read_monitor(struct pd_meters *meters, const struct pd_json_cursor *at)
{
    static const char *const names[] = {"id", "url", NULL};
    const char *url = NULL;
    uint64_t id = 0;
    int err = pd_json_only(at, names);

    err = err ? err : pd_json_number(at, "id", 1, UINT32_MAX, &id);
    err = err ? err : pd_json_words(at, "url", &url);
    const uint32_t sw = err ? PD_NONE : pd_topology_switch(meters->topology, (uint32_t)id);
    if (!err && (sw == PD_NONE || meters->numbers[sw] != PD_NONE)) {
        return pd_json_wrong(at, "id", "a switch of the topology, once");
    }
    char *copy = err ? NULL : strdup(url);
    if (!err && !copy) {
        return pd_fail(at->error, -ENOMEM, "monitors: %s", pd_error_text(-ENOMEM));
    }
    if (!err) {
        meters->numbers[sw] = meters->monitors_len;
        meters->monitors[meters->monitors_len++] =
            (struct pd_meters_monitor){.id = (uint32_t)id, .sw = sw, .url = copy};
    }
    return err;
}

static int read_monitors(struct pd_meters *meters, const char *file, struct pd_error *error)
{
    json_error_t where;
    json_t *item, *list = json_load_file(file, JSON_REJECT_DUPLICATES, &where);
    const uint32_t switches = meters->topology->switches_len;
    size_t i;
    int err = 0;

    meters->monitors = calloc(json_array_size(list) + 1, sizeof *meters->monitors);
    meters->numbers = malloc(((size_t)switches + 1) * sizeof *meters->numbers);
    if (!json_is_array(list)) {
        err = pd_fail(error, -PD_E_SYNTAX, "%.300s:%d: %s", file, list ? 1 : where.line,
                      list ? "expected a list" : where.text);
    } else if (!meters->monitors || !meters->numbers) {
        err = pd_fail(error, -ENOMEM, "monitors: %s", pd_error_text(-ENOMEM));
    }
    for (uint32_t s = 0; !err && s < switches; s++) {
        meters->numbers[s] = PD_NONE;
    }
    json_array_foreach(list, i, item)
    {
        const struct pd_json_cursor at = {
            .object = item, .file = file, .err = -PD_E_VALUE, .error = error};

        err = err ? err : read_monitor(meters, &at);
    }
    json_decref(list);
    return err;
}

/* ---- life ---- */

static int open_part(void *daemon, const void *options, struct pd_error *error)
{
    struct pd_meters *meters = &pd_meters;
    const struct options *given = options;

    meters->controller = daemon;
    if (!given->monitors) {
        return 0;
    }
    int err = pd_topology_read(meters->controller->settings->topology, &meters->topology, error);
    err = err ? err : pd_codec_new(meters->topology, &meters->codec, error);
    if (!err && pd_codec_carriers(meters->codec) & PD_CARRIER_DSCP) {
        err = pd_fail(error, -PD_E_TOPOLOGY,
                      "--monitors: meters mark packets in the DSCP, and so does the codec %s",
                      meters->codec->ops->name);
    }
    err = err ? err : read_monitors(meters, given->monitors, error);
    if (!err && !(meters->fanout = pd_fleet_fanout_new())) {
        err = pd_fail(error, -ENOMEM, "monitors: %s", pd_error_text(-ENOMEM));
    }
    return err;
}

/* ---- the loop ---- */

static void stop_loop(struct pd_meters *meters)
{
    pd_meters_stretches_done(&meters->stretches);
    pd_meter_loop_free(meters->loop);
    free(meters->alarmed);
    meters->alarmed = NULL;
    meters->alarmed_room = 0;
    meters->leaving_len = 0;
    meters->loop = NULL;
    meters->running = 0;
}

static void change_all(struct pd_meters *meters)
{
    for (uint32_t m = 0; m < meters->monitors_len; m++) {
        meters->monitors[m].version = ++meters->versions;
        meters->monitors[m].dsm_changed = meters->monitors[m].usm_changed = true;
    }
}

/* With the lock held. */
static int start_loop(struct pd_meters *meters)
{
    stop_loop(meters);
    int err = pd_meter_loop_new(&meters->settings, meters->monitors_len, &meters->loop);
    err = err ? err
              : pd_meters_stretches_init(&meters->stretches, meters->topology, meters->codec,
                                         meters->numbers, meters->loop);
    meters->versions = pd_clock_wall_us(); /* others than those of an earlier controller */
    meters->running = meters->generation;
    meters->epoch = 0;
    pd_meters_forget(meters);
    change_all(meters);
    return err;
}

/* Until wall time is `until_us`, or somebody changes something. False: that. */
static bool wait_until(struct pd_meters *meters, uint64_t until_us)
{
    struct timespec at = {.tv_sec = (time_t)(until_us / PD_US_PER_S),
                          .tv_nsec = (long)(until_us % PD_US_PER_S * 1000)};

    while (!meters->stopping && meters->running == meters->generation) {
        if (pthread_cond_timedwait(&meters->wake, &meters->lock, &at) == ETIMEDOUT) {
            return true;
        }
    }
    return false;
}

/* An epoch is read behind its grace time, a quarter of it, and a tenth for clocks. */
static uint64_t due_us(const struct pd_meters *meters, uint64_t epoch)
{
    const uint64_t epoch_us = meters->epoch_ms * 1000;

    return (epoch + 1) * epoch_us + epoch_us / 4 + epoch_us / 10;
}

/* With the lock held; let go of meanwhile. */
static int read_epoch(struct pd_meters *meters, uint64_t epoch)
{
    pthread_mutex_unlock(&meters->lock);
    pd_meters_ask(meters, epoch);
    int err = pd_meters_epoch(meters, epoch);
    pd_meters_push(meters);
    pthread_mutex_lock(&meters->lock);
    return err ? err : pd_meters_keep(meters, epoch);
}

static void run_loop(struct pd_meters *meters)
{
    int err = start_loop(meters);

    pthread_mutex_unlock(&meters->lock);
    pd_meters_push(meters);
    pthread_mutex_lock(&meters->lock);
    uint64_t epoch = pd_clock_wall_us() / (meters->epoch_ms * 1000) + 1;
    while (!err && wait_until(meters, due_us(meters, epoch))) {
        const uint64_t newest = pd_clock_wall_us() / (meters->epoch_ms * 1000);

        err = read_epoch(meters, epoch);
        /* What is overwritten by now is passed over. */
        epoch = newest > epoch + 1 ? newest : epoch + 1;
    }
    if (err) {
        pd_log(PD_LOG_ERROR, MODULE, NULL, "meters are not read any more: %s", pd_error_text(err));
        meters->generation = 0;
    }
}

static void *drive(void *context)
{
    struct pd_meters *meters = context;

    pthread_mutex_lock(&meters->lock);
    while (!meters->stopping) {
        if (meters->generation) {
            run_loop(meters);
            continue;
        }
        if (meters->running) { /* monitors shall count nothing any more */
            stop_loop(meters);
            change_all(meters);
            pthread_mutex_unlock(&meters->lock);
            pd_meters_push(meters);
            pthread_mutex_lock(&meters->lock);
            continue;
        }
        pthread_cond_wait(&meters->wake, &meters->lock);
    }
    pthread_mutex_unlock(&meters->lock);
    return NULL;
}

static int start_part(void *daemon, struct pd_error *error)
{
    struct pd_meters *meters = &pd_meters;

    (void)daemon;
    if (!meters->monitors_len) {
        return 0;
    }
    pd_fleet_fanout_use(meters->fanout, meters->controller->credentials);
    pthread_cond_init(&meters->wake, NULL);
    const int err = -pthread_create(&meters->thread, NULL, drive, meters);
    meters->started = !err;
    return err ? pd_fail(error, err, "meters: %s", pd_error_text(err)) : 0;
}

static void stop_part(void *daemon)
{
    struct pd_meters *meters = &pd_meters;

    (void)daemon;
    pthread_mutex_lock(&meters->lock);
    meters->stopping = true;
    if (meters->started) {
        pthread_cond_signal(&meters->wake);
    }
    pthread_mutex_unlock(&meters->lock);
}

static void end_part(void *daemon)
{
    struct pd_meters *meters = &pd_meters;

    if (meters->started) {
        stop_part(daemon);
        pthread_join(meters->thread, NULL);
        pthread_cond_destroy(&meters->wake);
        meters->started = false;
    }
}

static void close_part(void *daemon)
{
    struct pd_meters *meters = &pd_meters;

    (void)daemon;
    if (meters->loop) {
        stop_loop(meters);
    }
    pd_meters_forget(meters);
    for (uint32_t m = 0; m < meters->monitors_len; m++) {
        free(meters->monitors[m].url);
        json_decref(meters->monitors[m].document);
    }
    if (meters->fanout) {
        pd_fleet_fanout_free(meters->fanout);
    }
    free(meters->monitors);
    free(meters->numbers);
    free(meters->leaving);
    pd_codec_free(meters->codec);
    pd_topology_free(meters->topology);
    meters->monitors = NULL;
    meters->monitors_len = 0;
}

/* ---- the part ---- */

static const struct pd_option rows[] = {
    {.section = "meters",
     .name = "monitors",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct options, monitors),
     .value = "FILE",
     .help = "switches with meters: a list of {\"id\",\"url\"}"},
    {0},
};

static const struct pd_part_counter counters[] = {
#define X(name, text) {#name, text, &pd_meters_counters.name},
    PD_METERS_COUNTERS(X)
#undef X
        {0},
};

const struct pd_part pd_meters_part = {
    .name = "meters",
    .options = rows,
    .options_bytes = sizeof(struct options),
    .counters = counters,
    .routes = pd_meters_routes,
    .open = open_part,
    .start = start_part,
    .stop = stop_part,
    .end = end_part,
    .close = close_part,
};
