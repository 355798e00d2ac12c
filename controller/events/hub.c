/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of each thing, and who waits for more. */
#include "controller/events/hub.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/wait.h"

#define BUCKETS 8192u /* a power of two */

struct kept {
    TAILQ_ENTRY(kept) link; /* of all, by `number` */
    LIST_ENTRY(kept) chain; /* of a bucket */
    unsigned type;
    uint64_t key, number;
    char *json;
    size_t len;
};

struct pd_events {
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t grown;
    bool stopping;
    uint64_t turn, number;
    unsigned followers[PD_EVENT_TYPES_MAX];
    TAILQ_HEAD(kept_list, kept) kept;
    LIST_HEAD(hub_bucket, kept) buckets[BUCKETS];
    unsigned kept_len;
    struct pd_events_stat stat;
};

struct pd_events *pd_events_new(void)
{
    struct pd_events *hub = calloc(1, sizeof *hub);

    if (!hub) {
        return NULL;
    }
    pthread_mutex_init(&hub->lock, NULL);
    pd_wait_init(&hub->grown);
    TAILQ_INIT(&hub->kept);
    return hub;
}

static void drop(struct pd_events *hub, struct kept *kept)
{
    TAILQ_REMOVE(&hub->kept, kept, link);
    LIST_REMOVE(kept, chain);
    hub->kept_len--;
    free(kept->json);
    free(kept);
}

static void drop_all(struct pd_events *hub)
{
    while (!TAILQ_EMPTY(&hub->kept)) {
        drop(hub, TAILQ_FIRST(&hub->kept));
    }
}

void pd_events_free(struct pd_events *hub)
{
    if (!hub) {
        return;
    }
    drop_all(hub);
    pthread_cond_destroy(&hub->grown);
    pthread_mutex_destroy(&hub->lock);
    free(hub);
}

void pd_events_stop(struct pd_events *hub)
{
    pthread_mutex_lock(&hub->lock);
    hub->stopping = true;
    pthread_cond_broadcast(&hub->grown);
    pthread_mutex_unlock(&hub->lock);
}

/* ---- for parts ---- */

static unsigned index_of(const struct pd_event_type *type)
{
    unsigned i = 0;

    while (pd_event_types[i] != type) {
        i++;
    }
    return i;
}

bool pd_events_wanted(struct pd_events *hub, const struct pd_event_type *type)
{
    bool wanted = false;

    if (hub) {
        pthread_mutex_lock(&hub->lock);
        wanted = hub->followers[index_of(type)];
        pthread_mutex_unlock(&hub->lock);
    }
    return wanted;
}

/* The one of this thing, out of its place in the order; or a new one. NULL: no memory. */
static struct kept *take_place(struct pd_events *hub, unsigned type, uint64_t key)
{
    unsigned bucket = (unsigned)pd_hash_mix(key * PD_EVENT_TYPES_MAX + type) & (BUCKETS - 1);
    struct kept *kept;

    LIST_FOREACH(kept, &hub->buckets[bucket], chain)
    {
        /* cppcheck-suppress uninitvar ; the loop sets it */
        if (kept->type == type && kept->key == key) {
            TAILQ_REMOVE(&hub->kept, kept, link);
            free(kept->json);
            hub->stat.replaced++;
            return kept;
        }
    }
    kept = calloc(1, sizeof *kept);
    if (kept) {
        kept->type = type;
        kept->key = key;
        LIST_INSERT_HEAD(&hub->buckets[bucket], kept, chain);
        hub->kept_len++;
    }
    return kept;
}

/* With the lock held; takes the text over. */
static void keep(struct pd_events *hub, unsigned type, uint64_t key, char *json)
{
    struct kept *kept = json ? take_place(hub, type, key) : NULL;

    if (!kept) {
        hub->stat.lost++;
        free(json);
        return;
    }
    kept->json = json;
    kept->len = strlen(json);
    kept->number = ++hub->number;
    TAILQ_INSERT_TAIL(&hub->kept, kept, link);
    hub->stat.published++;
    if (hub->kept_len > PD_EVENTS_KEPT_MAX) {
        drop(hub, TAILQ_FIRST(&hub->kept));
        hub->stat.lost++;
    }
    hub->turn++;
    pthread_cond_broadcast(&hub->grown);
}

void pd_events_publish(struct pd_events *hub, const struct pd_event_type *type, uint64_t key,
                       json_t *data)
{
    char *json = hub && data ? json_dumps(data, JSON_COMPACT) : NULL;
    unsigned i = index_of(type);

    json_decref(data);
    if (!hub) {
        return;
    }
    pthread_mutex_lock(&hub->lock);
    if (hub->followers[i]) {
        keep(hub, i, key, json);
        json = NULL;
    }
    pthread_mutex_unlock(&hub->lock);
    free(json);
}

void pd_events_wake(struct pd_events *hub)
{
    if (!hub) {
        return;
    }
    pthread_mutex_lock(&hub->lock);
    hub->turn++;
    pthread_cond_broadcast(&hub->grown);
    pthread_mutex_unlock(&hub->lock);
}

/* ---- for streams ---- */

void pd_events_follow(struct pd_events *hub, struct pd_events_follower *follower)
{
    pthread_mutex_lock(&hub->lock);
    for (unsigned i = 0; pd_event_types[i]; i++) {
        hub->followers[i] += follower->types[i];
    }
    hub->stat.streams++;
    follower->seen = hub->number;
    pthread_mutex_unlock(&hub->lock);
}

void pd_events_unfollow(struct pd_events *hub, const struct pd_events_follower *follower)
{
    pthread_mutex_lock(&hub->lock);
    for (unsigned i = 0; pd_event_types[i]; i++) {
        hub->followers[i] -= follower->types[i];
    }
    if (!--hub->stat.streams) {
        drop_all(hub);
    }
    pthread_mutex_unlock(&hub->lock);
}

/* The first that it has not seen. Whoever keeps up finds it near the end. */
static struct kept *first_new(struct pd_events *hub, uint64_t seen)
{
    struct kept *kept = TAILQ_LAST(&hub->kept, kept_list), *first = NULL;

    while (kept && kept->number > seen) {
        first = kept;
        kept = TAILQ_PREV(kept, kept_list, link);
    }
    return first;
}

int pd_events_read(struct pd_events *hub, struct pd_events_follower *follower,
                   struct pd_event_out *out)
{
    int err = 0;

    pthread_mutex_lock(&hub->lock);
    for (struct kept *kept = first_new(hub, follower->seen);
         kept && out->len < PD_EVENT_BATCH_BYTES && !err; kept = TAILQ_NEXT(kept, link)) {
        if (follower->types[kept->type]) {
            err = pd_event_put(out, pd_event_types[kept->type]->name, 0, kept->json, kept->len);
        }
        if (!err) {
            follower->seen = kept->number;
        }
    }
    pthread_mutex_unlock(&hub->lock);
    return err;
}

uint64_t pd_events_turn(struct pd_events *hub)
{
    uint64_t turn;

    pthread_mutex_lock(&hub->lock);
    turn = hub->turn;
    pthread_mutex_unlock(&hub->lock);
    return turn;
}

bool pd_events_wait(struct pd_events *hub, uint64_t turn, uint64_t until_ns)
{
    bool on;

    pthread_mutex_lock(&hub->lock);
    while (!hub->stopping && hub->turn == turn && pd_clock_monotonic_ns() < until_ns) {
        pd_wait_until(&hub->grown, &hub->lock, until_ns);
    }
    on = !hub->stopping;
    pthread_mutex_unlock(&hub->lock);
    return on;
}

void pd_events_stat(struct pd_events *hub, struct pd_events_stat *ret_stat)
{
    pthread_mutex_lock(&hub->lock);
    *ret_stat = hub->stat;
    pthread_mutex_unlock(&hub->lock);
}
