/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps asking in the background. */
#include "cli/top/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/events.h"

#define EVENT_TYPES  "alarm,host,switch,verdict,reload,link"
#define EVENT_GAP_MS 250 /* events that come faster are one */
#define RETRY_MS     1000
#define LINK_BYTES   32

struct pd_top_feed {
    struct pd_top_source source;
    uint64_t period_ms;
    atomic_bool stop;
    pthread_t asker, listener;
    bool listens;
    int news[2], wake[2]; /* pipes: to the screen, to the asker */
    pthread_mutex_t lock; /* guards what is below */
    const struct pd_top_table *table;
    char link[LINK_BYTES];
    struct pd_top_snapshot newest; /* table NULL: taken already */
    struct pd_error error;
};

static void tell(int fd)
{
    ssize_t written = write(fd, "", 1); /* a full pipe tells enough */

    (void)written;
}

static void drain(int fd)
{
    char bytes[64];

    while (read(fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes) {
    }
}

/* ---- the thread that asks ---- */

static int ask(struct pd_top_feed *feed, const struct pd_top_table *table, const char *link,
               struct pd_top_snapshot *ret, struct pd_error *error)
{
    json_t *rows;
    int err = pd_top_snapshot_take(&feed->source, table, ret, error);

    if (!err && *link) {
        err = pd_top_flows_over(&feed->source, link, &rows, error);
        if (err) {
            pd_top_snapshot_done(ret);
        } else {
            json_decref(ret->rows);
            ret->rows = rows;
        }
    }
    return err;
}

static void once(struct pd_top_feed *feed)
{
    struct pd_top_snapshot snapshot = {0};
    struct pd_error error = {0};
    char link[LINK_BYTES];

    pthread_mutex_lock(&feed->lock);
    const struct pd_top_table *table = feed->table;
    memcpy(link, feed->link, sizeof link);
    pthread_mutex_unlock(&feed->lock);
    int err = ask(feed, table, link, &snapshot, &error);
    pthread_mutex_lock(&feed->lock);
    if (!err && table == feed->table && !strcmp(link, feed->link)) {
        pd_top_snapshot_done(&feed->newest);
        feed->newest = snapshot;
        snapshot = (struct pd_top_snapshot){0};
    }
    feed->error = error;
    pthread_mutex_unlock(&feed->lock);
    pd_top_snapshot_done(&snapshot);
    tell(feed->news[1]);
}

static void *run_asker(void *context)
{
    struct pd_top_feed *feed = context;

    while (!atomic_load_explicit(&feed->stop, memory_order_acquire)) {
        struct pollfd wake = {.fd = feed->wake[0], .events = POLLIN};

        once(feed);
        if (poll(&wake, 1, (int)feed->period_ms) > 0) {
            drain(feed->wake[0]);
        }
    }
    return NULL;
}

/* ---- the thread that listens ---- */

struct listening {
    struct pd_top_feed *feed;
    uint64_t told_ns;
};

static int take_event(void *context, const char *data, size_t len)
{
    struct listening *listening = context;
    uint64_t now_ns = pd_clock_monotonic_ns();

    (void)data;
    (void)len;
    if (now_ns - listening->told_ns >= EVENT_GAP_MS * PD_NS_PER_MS) {
        listening->told_ns = now_ns;
        tell(listening->feed->wake[1]);
    }
    return 0;
}

static void *run_listener(void *context)
{
    static const char *const names[] = {"types", "metrics", NULL}, *const values[] = {EVENT_TYPES,
                                                                                      "load_bps"};
    struct pd_top_feed *feed = context;
    struct listening listening = {.feed = feed};
    struct pd_cli_events events;

    pd_cli_events_begin(&events, take_event, &listening);
    while (!atomic_load_explicit(&feed->stop, memory_order_acquire)) {
        const struct pd_query_sink sink = pd_cli_events_sink(&events);
        const struct pd_cli_request request = {.base = feed->source.server->url,
                                               .access = &feed->source.server->access,
                                               .route = "/v1/events",
                                               .names = names,
                                               .values = values,
                                               .accept = "text/event-stream",
                                               .stop = &feed->stop};
        (void)pd_cli_ask(&request, &sink, NULL); /* the asker says what is wrong */
        pd_cli_events_restart(&events);
        poll(NULL, 0, RETRY_MS);
    }
    pd_cli_events_done(&events);
    return NULL;
}

/* ---- life ---- */

static int open_pipes(struct pd_top_feed *feed)
{
    return pipe2(feed->news, O_CLOEXEC | O_NONBLOCK) || pipe2(feed->wake, O_CLOEXEC | O_NONBLOCK)
               ? -errno
               : 0;
}

static void close_pipe(int pipe[2])
{
    for (int i = 0; i < 2; i++) {
        if (pipe[i] >= 0) {
            close(pipe[i]);
        }
    }
}

static void free_feed(struct pd_top_feed *feed)
{
    close_pipe(feed->news);
    close_pipe(feed->wake);
    pd_top_snapshot_done(&feed->newest);
    pthread_mutex_destroy(&feed->lock);
    free(feed);
}

int pd_top_feed_start(const struct pd_top_source *source, const struct pd_top_table *table,
                      uint64_t period_ms, struct pd_top_feed **ret_feed, struct pd_error *error)
{
    struct pd_top_feed *feed = calloc(1, sizeof *feed);
    int err;

    if (!feed) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    feed->source = *source;
    feed->source.stop = &feed->stop;
    feed->table = table;
    feed->period_ms = period_ms;
    feed->news[0] = feed->news[1] = feed->wake[0] = feed->wake[1] = -1;
    pthread_mutex_init(&feed->lock, NULL);
    err = open_pipes(feed);
    if (!err) {
        err = -pthread_create(&feed->asker, NULL, run_asker, feed);
    }
    if (err) {
        free_feed(feed);
        return pd_fail(error, err, "%s", pd_error_text(err));
    }
    feed->listens = !source->agent && !pthread_create(&feed->listener, NULL, run_listener, feed);
    *ret_feed = feed;
    return 0;
}

void pd_top_feed_stop(struct pd_top_feed *feed)
{
    atomic_store_explicit(&feed->stop, true, memory_order_release);
    tell(feed->wake[1]);
    pthread_join(feed->asker, NULL);
    if (feed->listens) {
        pthread_join(feed->listener, NULL);
    }
    free_feed(feed);
}

int pd_top_feed_fd(const struct pd_top_feed *feed)
{
    return feed->news[0];
}

bool pd_top_feed_take(struct pd_top_feed *feed, struct pd_top_snapshot *ret,
                      struct pd_error *ret_error)
{
    bool there;

    drain(feed->news[0]);
    pthread_mutex_lock(&feed->lock);
    there = feed->newest.table;
    if (there) {
        *ret = feed->newest;
        feed->newest = (struct pd_top_snapshot){0};
    }
    *ret_error = feed->error;
    pthread_mutex_unlock(&feed->lock);
    return there;
}

void pd_top_feed_want(struct pd_top_feed *feed, const struct pd_top_table *table, const char *link)
{
    pthread_mutex_lock(&feed->lock);
    feed->table = table;
    snprintf(feed->link, sizeof feed->link, "%s", link ? link : "");
    pthread_mutex_unlock(&feed->lock);
    tell(feed->wake[1]);
}
