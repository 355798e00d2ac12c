/* SPDX-License-Identifier: Apache-2.0 */
/* The newest sample: one question a period, however many look; none when nobody does. */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/wait.h"
#include "controller/apps/private.h"
#include "controller/events/hub.h"
#include "controller/links/private.h"

#define MODULE   "links"
#define LOOK_NS  (200 * PD_NS_PER_MS) /* how often the clock is looked at */
#define RETRY_NS PD_NS_PER_S

_Atomic uint64_t pd_links_samples, pd_links_asked;

uint64_t pd_links_now_us(struct pd_controller *controller)
{
    struct pd_apps_world *world;
    uint64_t now_us;

    if (pd_apps_world_open(controller, "map", &world)) {
        return pd_clock_wall_us();
    }
    now_us = world->world.ops->now_us(world->world.context);
    pd_apps_world_close(world);
    return now_us;
}

uint64_t pd_links_mbps(struct pd_controller *controller)
{
    return controller->settings->link_mbps;
}

/* ---- taking one ---- */

/* With the lock held; takes the reference over. */
static void install(struct pd_links *links, struct pd_link_sample *sample)
{
    sample->number = ++links->number;
    pd_link_sample_drop(links->newest);
    links->newest = sample;
    pd_link_history_push(&links->history, sample);
    pd_count(&pd_links_samples, 1);
    pd_count(&pd_links_asked,
             (uint64_t)json_integer_value(json_object_get(sample->hosts, "asked")));
}

/* With the lock held, which is let go meanwhile. */
static int take(struct pd_links *links, uint64_t to_us)
{
    struct pd_link_wish wish = {
        .from_us = to_us - links->period_us, .to_us = to_us, .newest = true, .only = PD_NONE};
    struct pd_link_sample *sample;
    int err;

    for (unsigned m = 0; pd_link_metrics[m]; m++) {
        wish.metrics[m] = true;
    }
    links->taking = true;
    pthread_mutex_unlock(&links->lock);
    err = pd_link_sample_take(links->controller, &wish, &sample);
    pthread_mutex_lock(&links->lock);
    links->taking = false;
    if (!err) {
        install(links, sample);
    }
    pthread_cond_broadcast(&links->changed);
    return err;
}

/* The end of the last whole period. */
static uint64_t last_period_us(struct pd_links *links)
{
    uint64_t now_us = pd_links_now_us(links->controller);
    uint64_t to_us = now_us - now_us % links->period_us;

    return to_us < links->period_us ? links->period_us : to_us; /* time has just begun */
}

/* Of what was asked for or newer. A clock that was set back makes a sample of the future worthless.
 */
static bool is_newest(const struct pd_links *links, uint64_t to_us, uint64_t now_us)
{
    return links->newest && links->newest->to_us >= to_us &&
           links->newest->to_us <= now_us + links->period_us;
}

/* With the lock held, which is let go meanwhile: until another has taken one, or by taking it. Who
 * has waited long takes that of now: with as many ends as there are waiting each would ask again.
 */
static int take_or_wait(struct pd_links *links, uint64_t now_us, bool *ret_taken)
{
    int err = 0;

    if (links->taking) {
        pthread_cond_wait(&links->changed, &links->lock);
    } else {
        err = take(links, now_us);
        *ret_taken |= !err;
    }
    return err;
}

int pd_links_newest(struct pd_links *links, struct pd_link_sample **ret_sample)
{
    uint64_t now_us = last_period_us(links), to_us = now_us;
    bool taken = false;
    int err = 0;

    pthread_mutex_lock(&links->lock);
    while (!is_newest(links, to_us, now_us) && !err) {
        err = take_or_wait(links, now_us, &taken);
        pthread_mutex_unlock(&links->lock);
        now_us = last_period_us(links);
        to_us = to_us < now_us ? to_us : now_us;
        pthread_mutex_lock(&links->lock);
    }
    if (!err) {
        *ret_sample = pd_link_sample_hold(links->newest);
    }
    pthread_mutex_unlock(&links->lock);
    if (taken) {
        pd_events_wake(links->controller->events);
    }
    return err;
}

/* ---- the thread ---- */

/* With the lock held. */
static void wait_some(struct pd_links *links, uint64_t ns)
{
    uint64_t until_ns = pd_clock_monotonic_ns() + ns;

    pd_wait_until(&links->changed, &links->lock, until_ns);
}

void *pd_links_work(void *context)
{
    struct pd_links *links = context;

    pthread_mutex_lock(&links->lock);
    while (!links->stopping) {
        struct pd_link_sample *sample;
        int err;

        if (!links->streams) {
            pthread_cond_wait(&links->changed, &links->lock);
            continue;
        }
        pthread_mutex_unlock(&links->lock);
        err = pd_links_newest(links, &sample);
        if (!err) {
            pd_link_sample_drop(sample);
        }
        pthread_mutex_lock(&links->lock);
        if (!links->stopping) {
            wait_some(links, err ? RETRY_NS : LOOK_NS);
        }
    }
    pthread_mutex_unlock(&links->lock);
    return NULL;
}

/* ---- who looks ---- */

void pd_links_forget(struct pd_links *links)
{
    pthread_mutex_lock(&links->lock);
    pd_link_sample_drop(links->newest);
    links->newest = NULL;
    pthread_cond_broadcast(&links->changed);
    pthread_mutex_unlock(&links->lock);
}

void pd_links_follow(struct pd_links *links)
{
    pthread_mutex_lock(&links->lock);
    if (!links->streams++) {
        pd_link_sample_drop(links->newest); /* nobody has looked since: it may be of long ago */
        links->newest = NULL;
    }
    pthread_cond_broadcast(&links->changed);
    pthread_mutex_unlock(&links->lock);
}

void pd_links_unfollow(struct pd_links *links)
{
    pthread_mutex_lock(&links->lock);
    links->streams--;
    pthread_mutex_unlock(&links->lock);
}

void pd_links_done(struct pd_links *links)
{
    pd_link_sample_drop(links->newest);
    pd_link_history_done(&links->history);
    pd_links_texts_done(links);
    pthread_cond_destroy(&links->changed);
    pthread_mutex_destroy(&links->lock);
}
