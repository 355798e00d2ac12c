/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of work under one lock, and those who wait for it. */
#include "http/crew.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/wait.h"

#define STACK_BYTES (256 * 1024)
#define IDLE_S      5

struct work {
    void (*work)(void *context);
    void *context;
};

struct pd_http_crew {
    pthread_mutex_t mutex;      /* over what follows */
    pthread_cond_t there, gone; /* work or the end; the last thread */
    unsigned threads_max, threads, idle;
    unsigned first, len, most; /* of the ring */
    bool ending;
    struct work ring[];
};

struct pd_http_crew *pd_http_crew_new(unsigned threads_max)
{
    struct pd_http_crew *crew =
        calloc(1, sizeof *crew + PD_HTTP_CREW_WAITING * threads_max * sizeof *crew->ring);

    if (!crew) {
        return NULL;
    }
    crew->threads_max = threads_max;
    crew->most = PD_HTTP_CREW_WAITING * threads_max;
    pthread_mutex_init(&crew->mutex, NULL);
    pd_wait_init(&crew->there);
    pd_wait_init(&crew->gone);
    return crew;
}

/* False: nothing came, or nothing will. */
static bool wait_for_work(struct pd_http_crew *crew)
{
    const uint64_t until_ns = pd_clock_monotonic_ns() + IDLE_S * PD_NS_PER_S;
    bool late = false;

    crew->idle++;
    while (!crew->len && !crew->ending && !late) {
        late = !pd_wait_until(&crew->there, &crew->mutex, until_ns);
    }
    crew->idle--;
    return crew->len;
}

static void *at_work(void *context)
{
    struct pd_http_crew *crew = context;

    pthread_mutex_lock(&crew->mutex);
    while (crew->len || wait_for_work(crew)) {
        struct work work = crew->ring[crew->first];

        crew->first = (crew->first + 1) % crew->most;
        crew->len--;
        pthread_mutex_unlock(&crew->mutex);
        work.work(work.context);
        pthread_mutex_lock(&crew->mutex);
    }
    if (!--crew->threads) {
        pthread_cond_signal(&crew->gone);
    }
    pthread_mutex_unlock(&crew->mutex);
    return NULL;
}

static void add_thread(struct pd_http_crew *crew)
{
    pthread_attr_t attributes;
    pthread_t thread;

    if (crew->threads == crew->threads_max || crew->ending) {
        return;
    }
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    crew->threads += !pthread_create(&thread, &attributes, at_work, crew);
    pthread_attr_destroy(&attributes);
}

bool pd_http_crew_do(struct pd_http_crew *crew, void (*work)(void *context), void *context)
{
    bool taken;

    pthread_mutex_lock(&crew->mutex);
    if (crew->len >= crew->idle) {
        add_thread(crew);
    }
    taken = !crew->ending && crew->threads && crew->len < crew->most;
    if (taken) {
        crew->ring[(crew->first + crew->len++) % crew->most] = (struct work){work, context};
        pthread_cond_signal(&crew->there);
    }
    pthread_mutex_unlock(&crew->mutex);
    return taken;
}

bool pd_http_crew_busy(struct pd_http_crew *crew)
{
    pthread_mutex_lock(&crew->mutex);
    bool busy = crew->len > crew->idle;
    pthread_mutex_unlock(&crew->mutex);
    return busy;
}

void pd_http_crew_stop(struct pd_http_crew *crew)
{
    if (!crew) {
        return;
    }
    pthread_mutex_lock(&crew->mutex);
    crew->ending = true;
    pthread_cond_broadcast(&crew->there);
    while (crew->threads) {
        pthread_cond_wait(&crew->gone, &crew->mutex);
    }
    pthread_mutex_unlock(&crew->mutex);
}

void pd_http_crew_free(struct pd_http_crew *crew)
{
    if (!crew) {
        return;
    }
    pd_http_crew_stop(crew);
    pthread_cond_destroy(&crew->there);
    pthread_cond_destroy(&crew->gone);
    pthread_mutex_destroy(&crew->mutex);
    free(crew);
}
