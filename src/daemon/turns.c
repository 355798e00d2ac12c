/* SPDX-License-Identifier: Apache-2.0 */
/* The fair queue: few places, so lists that are gone through are all it takes. */
#include "daemon/turns.h"

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
    char client[PD_TURNS_CLIENT_BYTES];
    bool called;
    pthread_cond_t turn;
};

/* A client that is at work, or was lately. */
struct client {
    char name[PD_TURNS_CLIENT_BYTES];
    unsigned working;
    uint64_t served; /* when it last got a turn, counted in turns; 0: never */
};

struct pd_turns {
    pthread_mutex_t lock;
    struct pd_turns_limits limits;
    struct pd_turns_counters counters;
    uint64_t served; /* turns so far */
    struct waiter *first;
    size_t clients_len;
    struct client clients[]; /* who is forgotten counts as never served */
};

int pd_turns_new(const struct pd_turns_limits *limits, struct pd_turns **ret_turns)
{
    size_t clients_len = 2 * (size_t)limits->working + limits->waiting;
    struct pd_turns *turns = calloc(1, sizeof *turns + clients_len * sizeof *turns->clients);

    if (!turns) {
        return -ENOMEM;
    }
    turns->limits = *limits;
    turns->clients_len = clients_len;
    pthread_mutex_init(&turns->lock, NULL);
    *ret_turns = turns;
    return 0;
}

void pd_turns_free(struct pd_turns *turns)
{
    if (!turns) {
        return;
    }
    pthread_mutex_destroy(&turns->lock);
    free(turns);
}

static const struct client *find_client(const struct pd_turns *turns, const char *name)
{
    static const struct client unknown = {.working = 0};

    for (size_t i = 0; i < turns->clients_len; i++) {
        if (turns->clients[i].served && !strcmp(turns->clients[i].name, name)) {
            return &turns->clients[i];
        }
    }
    return &unknown;
}

/* The client's own entry; else the one that was at work longest ago. Those at work keep theirs:
 * there are more than can be at work. */
static struct client *make_client(struct pd_turns *turns, const char *name)
{
    struct client *oldest = NULL;

    for (struct client *client = turns->clients; client < turns->clients + turns->clients_len;
         client++) {
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

static void begin_turn(struct pd_turns *turns, const char *name)
{
    struct client *client = make_client(turns, name);

    client->working++;
    client->served = ++turns->served;
    turns->counters.working++;
    turns->counters.taken++;
}

static void leave_queue(struct pd_turns *turns, const struct waiter *waiter)
{
    struct waiter **at = &turns->first;

    while (*at != waiter) {
        at = &(*at)->next;
    }
    *at = waiter->next;
    turns->counters.waiting--;
}

/* Whose client has the fewest at work, then was served longest ago; of one client the first that
 * came. */
static struct waiter *choose(const struct pd_turns *turns)
{
    const struct client *best_client = NULL;
    struct waiter *best = NULL;

    for (struct waiter *waiter = turns->first; waiter; waiter = waiter->next) {
        const struct client *client = find_client(turns, waiter->client);

        if (!best || client->working < best_client->working ||
            (client->working == best_client->working && client->served < best_client->served)) {
            best = waiter;
            best_client = client;
        }
    }
    return best;
}

static void call_next(struct pd_turns *turns)
{
    while (turns->first && turns->counters.working < turns->limits.working) {
        struct waiter *waiter = choose(turns);

        leave_queue(turns, waiter);
        begin_turn(turns, waiter->client);
        waiter->called = true;
        pthread_cond_signal(&waiter->turn);
    }
}

static bool is_full(const struct pd_turns *turns, const char *client)
{
    unsigned own = 0;

    for (const struct waiter *waiter = turns->first; waiter; waiter = waiter->next) {
        own += !strcmp(waiter->client, client);
    }
    return turns->counters.waiting >= turns->limits.waiting ||
           own >= turns->limits.waiting_per_client;
}

static void enter_queue(struct pd_turns *turns, struct waiter *waiter)
{
    struct waiter **at = &turns->first;

    while (*at) {
        at = &(*at)->next;
    }
    *at = waiter;
    turns->counters.waiting++;
}

/* With the lock held. */
static int wait_for_turn(struct pd_turns *turns, struct waiter *waiter, uint64_t deadline_ns)
{
    uint64_t begun_ns = pd_clock_monotonic_ns();
    struct timespec until = {.tv_sec = (time_t)(deadline_ns / PD_NS_PER_S),
                             .tv_nsec = (long)(deadline_ns % PD_NS_PER_S)};
    int e = 0;

    enter_queue(turns, waiter);
    while (!waiter->called && e != ETIMEDOUT) {
        e = pthread_cond_clockwait(&waiter->turn, &turns->lock, CLOCK_MONOTONIC, &until);
    }
    if (!waiter->called) {
        leave_queue(turns, waiter);
        turns->counters.late++;
        return -PD_E_DEADLINE;
    }
    turns->counters.waited++;
    turns->counters.wait_us += (pd_clock_monotonic_ns() - begun_ns) / PD_NS_PER_US;
    return 0;
}

int pd_turns_take(struct pd_turns *turns, const char *client, uint64_t deadline_ns)
{
    struct waiter waiter = {.turn = PTHREAD_COND_INITIALIZER};
    int e = 0;

    snprintf(waiter.client, sizeof waiter.client, "%s", client);
    pthread_mutex_lock(&turns->lock);
    if (turns->counters.working < turns->limits.working) {
        begin_turn(turns, waiter.client);
    } else if (is_full(turns, waiter.client)) {
        turns->counters.refused++;
        e = -PD_E_BUSY;
    } else {
        e = wait_for_turn(turns, &waiter, deadline_ns);
    }
    pthread_mutex_unlock(&turns->lock);
    pthread_cond_destroy(&waiter.turn);
    return e;
}

void pd_turns_give(struct pd_turns *turns, const char *client)
{
    char name[PD_TURNS_CLIENT_BYTES];

    snprintf(name, sizeof name, "%s", client);
    pthread_mutex_lock(&turns->lock);
    make_client(turns, name)->working--;
    turns->counters.working--;
    call_next(turns);
    pthread_mutex_unlock(&turns->lock);
}

void pd_turns_counters(struct pd_turns *turns, struct pd_turns_counters *ret_counters)
{
    pthread_mutex_lock(&turns->lock);
    *ret_counters = turns->counters;
    pthread_mutex_unlock(&turns->lock);
}

#define SET(object, name, value) \
    json_object_set_new(object, name, json_integer((json_int_t)(value)))

json_t *pd_turns_json(struct pd_turns *turns)
{
    json_t *object = json_object();
    struct pd_turns_counters counters;

    pd_turns_counters(turns, &counters);
    SET(object, "working", counters.working);
    SET(object, "waiting", counters.waiting);
    SET(object, "taken", counters.taken);
    SET(object, "waited", counters.waited);
    SET(object, "wait_us", counters.wait_us);
    SET(object, "late", counters.late);
    SET(object, "refused", counters.refused);
    return object;
}
