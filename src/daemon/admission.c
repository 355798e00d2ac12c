/* SPDX-License-Identifier: Apache-2.0 */
/* The fair queue: few places, so lists that are gone through are all it takes. */
#include "daemon/admission.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"

/* Somebody who waits, on the stack of its thread. */
struct waiter {
    struct waiter *next; /* who came after it */
    char client[PD_DAEMON_ADMISSION_CLIENT_BYTES];
    bool called;
    pthread_cond_t turn;
};

/* A client that is at work, or was lately. */
struct client {
    char name[PD_DAEMON_ADMISSION_CLIENT_BYTES];
    unsigned working;
    uint64_t served; /* when it last got a turn, counted in turns; 0: never */
};

struct pd_daemon_admission {
    pthread_mutex_t lock;
    struct pd_daemon_admission_limits limits;
    struct pd_daemon_admission_counters counters;
    uint64_t served; /* turns so far */
    struct waiter *first;
    size_t clients_len;
    struct client clients[]; /* who is forgotten counts as never served */
};

int pd_daemon_admission_new(const struct pd_daemon_admission_limits *limits,
                            struct pd_daemon_admission **ret_admission)
{
    size_t clients_len = 2 * (size_t)limits->working + limits->waiting;
    struct pd_daemon_admission *admission =
        calloc(1, sizeof *admission + clients_len * sizeof *admission->clients);

    if (!admission) {
        return -ENOMEM;
    }
    admission->limits = *limits;
    admission->clients_len = clients_len;
    pthread_mutex_init(&admission->lock, NULL);
    *ret_admission = admission;
    return 0;
}

void pd_daemon_admission_free(struct pd_daemon_admission *admission)
{
    if (!admission) {
        return;
    }
    pthread_mutex_destroy(&admission->lock);
    free(admission);
}

static const struct client *find_client(const struct pd_daemon_admission *admission,
                                        const char *name)
{
    static const struct client unknown = {.working = 0};

    for (size_t i = 0; i < admission->clients_len; i++) {
        if (admission->clients[i].served && !strcmp(admission->clients[i].name, name)) {
            return &admission->clients[i];
        }
    }
    return &unknown;
}

/* The client's own entry; else the one that was at work longest ago. Those at work keep theirs:
 * there are more than can be at work. */
static struct client *make_client(struct pd_daemon_admission *admission, const char *name)
{
    struct client *oldest = NULL;

    for (struct client *client = admission->clients;
         client < admission->clients + admission->clients_len; client++) {
        if (client->served && !strcmp(client->name, name)) {
            return client;
        }
        if (!client->working && (!oldest || client->served < oldest->served)) {
            oldest = client;
        }
    }
    assert(oldest);
    *oldest = (struct client){.working = 0};
    snprintf(oldest->name, sizeof oldest->name, "%s", name);
    return oldest;
}

static void begin_turn(struct pd_daemon_admission *admission, const char *name)
{
    struct client *client = make_client(admission, name);

    client->working++;
    client->served = ++admission->served;
    admission->counters.working++;
    admission->counters.taken++;
}

static void leave_queue(struct pd_daemon_admission *admission, const struct waiter *waiter)
{
    struct waiter **at = &admission->first;

    while (*at != waiter) {
        at = &(*at)->next;
    }
    *at = waiter->next;
    admission->counters.waiting--;
}

/* Whose client has the fewest at work, then was served longest ago; of one client the first that
 * came. */
static struct waiter *choose(const struct pd_daemon_admission *admission)
{
    const struct client *best_client = NULL;
    struct waiter *best = NULL;

    for (struct waiter *waiter = admission->first; waiter; waiter = waiter->next) {
        const struct client *client = find_client(admission, waiter->client);

        if (!best || client->working < best_client->working ||
            (client->working == best_client->working && client->served < best_client->served)) {
            best = waiter;
            best_client = client;
        }
    }
    return best;
}

static void call_next(struct pd_daemon_admission *admission)
{
    while (admission->first && admission->counters.working < admission->limits.working) {
        struct waiter *waiter = choose(admission);

        leave_queue(admission, waiter);
        begin_turn(admission, waiter->client);
        waiter->called = true;
        pthread_cond_signal(&waiter->turn);
    }
}

static bool is_full(const struct pd_daemon_admission *admission, const char *client)
{
    unsigned own = 0;

    for (const struct waiter *waiter = admission->first; waiter; waiter = waiter->next) {
        own += !strcmp(waiter->client, client);
    }
    return admission->counters.waiting >= admission->limits.waiting ||
           own >= admission->limits.waiting_per_client;
}

static void enter_queue(struct pd_daemon_admission *admission, struct waiter *waiter)
{
    struct waiter **at = &admission->first;

    while (*at) {
        at = &(*at)->next;
    }
    *at = waiter;
    admission->counters.waiting++;
}

/* With the lock held. */
static int wait_for_turn(struct pd_daemon_admission *admission, struct waiter *waiter,
                         uint64_t deadline_ns)
{
    uint64_t begun_ns = pd_clock_monotonic_ns();
    struct timespec until = {.tv_sec = (time_t)(deadline_ns / PD_NS_PER_S),
                             .tv_nsec = (long)(deadline_ns % PD_NS_PER_S)};
    int err = 0;

    enter_queue(admission, waiter);
    while (!waiter->called && err != ETIMEDOUT) {
        err = pthread_cond_clockwait(&waiter->turn, &admission->lock, CLOCK_MONOTONIC, &until);
    }
    if (!waiter->called) {
        leave_queue(admission, waiter);
        admission->counters.late++;
        return -PD_E_DEADLINE;
    }
    admission->counters.waited++;
    admission->counters.wait_us += (pd_clock_monotonic_ns() - begun_ns) / PD_NS_PER_US;
    return 0;
}

int pd_daemon_admission_take(struct pd_daemon_admission *admission, const char *client,
                             uint64_t deadline_ns)
{
    struct waiter waiter = {.turn = PTHREAD_COND_INITIALIZER};
    int err = 0;

    snprintf(waiter.client, sizeof waiter.client, "%s", client);
    pthread_mutex_lock(&admission->lock);
    if (admission->counters.working < admission->limits.working) {
        begin_turn(admission, waiter.client);
    } else if (is_full(admission, waiter.client)) {
        admission->counters.refused++;
        err = -PD_E_BUSY;
    } else {
        err = wait_for_turn(admission, &waiter, deadline_ns);
    }
    pthread_mutex_unlock(&admission->lock);
    pthread_cond_destroy(&waiter.turn);
    return err;
}

void pd_daemon_admission_give(struct pd_daemon_admission *admission, const char *client)
{
    char name[PD_DAEMON_ADMISSION_CLIENT_BYTES];

    snprintf(name, sizeof name, "%s", client);
    pthread_mutex_lock(&admission->lock);
    make_client(admission, name)->working--;
    admission->counters.working--;
    call_next(admission);
    pthread_mutex_unlock(&admission->lock);
}

void pd_daemon_admission_counters(struct pd_daemon_admission *admission,
                                  struct pd_daemon_admission_counters *ret_counters)
{
    pthread_mutex_lock(&admission->lock);
    *ret_counters = admission->counters;
    pthread_mutex_unlock(&admission->lock);
}

#define SET(object, name, value) \
    json_object_set_new(object, name, json_integer((json_int_t)(value)))

json_t *pd_daemon_admission_json(struct pd_daemon_admission *admission)
{
    json_t *object = json_object();
    struct pd_daemon_admission_counters counters;

    pd_daemon_admission_counters(admission, &counters);
    SET(object, "working", counters.working);
    SET(object, "waiting", counters.waiting);
    SET(object, "taken", counters.taken);
    SET(object, "waited", counters.waited);
    SET(object, "wait_us", counters.wait_us);
    SET(object, "late", counters.late);
    SET(object, "refused", counters.refused);
    return object;
}
