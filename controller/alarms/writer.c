/* SPDX-License-Identifier: Apache-2.0 */
/* The store's own thread: the controller's alarms, listeners, retention by age. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/wait.h"
#include "controller/alarms/private.h"

#define MODULE    "alarms"
#define AGE_NS    (10 * PD_NS_PER_S)
#define HEAR_STEP 32u
#define OWN_STEP  64u

/* ---- alarms of the controller's own ---- */

static size_t take_own(struct pd_alarm_store *store, struct pd_alarm_message *messages)
{
    size_t len = 0;

    pthread_mutex_lock(&store->lock);
    while (store->own_first && len < OWN_STEP) {
        struct own *own = store->own_first;

        messages[len++] = own->message;
        store->own_first = own->next;
        if (!own->next) {
            store->own_last = NULL;
        }
        store->own_len--;
        free(own);
    }
    pthread_mutex_unlock(&store->lock);
    return len;
}

static void store_own(struct pd_alarm_store *store)
{
    struct pd_alarm_message *messages = calloc(OWN_STEP, sizeof *messages);
    struct pd_alarm_delivery delivery = {.messages = messages};
    uint64_t last;
    int err;

    while (messages && (delivery.len = take_own(store, messages))) {
        err = pd_alarm_store_add(store, &delivery, &last);
        if (!err) {
            continue;
        }
        pd_log(PD_LOG_ERROR, MODULE, NULL, "alarms of the controller's own cannot be stored: %s",
               pd_error_text(err));
        pthread_mutex_lock(&store->lock);
        store->stat.lost += delivery.len;
        pthread_mutex_unlock(&store->lock);
    }
    free(messages);
}

/* ---- listeners ---- */

/* Some alarms, taken out of the store before anybody is told: that may take long. */
struct hearing {
    size_t len;
    struct heard {
        uint64_t id;
        uint32_t host;
        struct pd_alarm_message message;
    } heard[HEAR_STEP];
};

/* What is in the store was checked when it came. */
static int take_one(void *context, uint64_t id, const char *json, size_t len)
{
    struct hearing *hearing = context;
    struct heard *heard = &hearing->heard[hearing->len];
    char text[PD_ALARM_MESSAGE_MAX_BYTES + 64] = "{";
    json_t *object;

    if (len >= sizeof text - 1) {
        return 0;
    }
    memcpy(text + 1, json, len);
    object = json_loadb(text, len + 1, 0, NULL);
    heard->id = id;
    heard->host = (uint32_t)json_integer_value(json_object_get(object, "host"));
    json_object_del(object, "host");
    hearing->len += !pd_fleet_alarm_message_read(object, NULL, &heard->message, NULL, NULL);
    json_decref(object);
    return 0;
}

static unsigned copy_listeners(struct pd_alarm_store *store, struct listener *listeners)
{
    unsigned len;

    pthread_mutex_lock(&store->lock);
    len = store->listeners_len;
    memcpy(listeners, store->listeners, len * sizeof *listeners);
    store->telling = len;
    pthread_mutex_unlock(&store->lock);
    return len;
}

/* Some of what they have not heard; false when that was all, or the store is stopped. */
static bool tell_some(struct pd_alarm_store *store, const struct listener *listeners, unsigned len,
                      struct hearing *hearing)
{
    bool more = false;

    hearing->len = 0;
    if (pd_alarm_store_read(store, store->heard, NULL, HEAR_STEP, take_one, hearing, &store->heard,
                            &more)) {
        pd_alarm_store_wait(store, UINT64_MAX, pd_clock_monotonic_ns() + PD_NS_PER_S);
        return false;
    }
    for (size_t i = 0; i < hearing->len; i++) {
        for (unsigned k = 0; k < len; k++) {
            listeners[k].hear(listeners[k].context, hearing->heard[i].id, hearing->heard[i].host,
                              &hearing->heard[i].message);
        }
    }
    return more && pd_alarm_store_wait(store, 0, 0);
}

/* What is there already, and was told again. */
static void tell_again(struct pd_alarm_store *store, const struct listener *listeners, unsigned len)
{
    struct pd_alarm_retold *retold;

    pthread_mutex_lock(&store->lock);
    retold = store->to_retell;
    store->to_retell = NULL;
    pthread_mutex_unlock(&store->lock);
    for (const struct pd_alarm_retold *at = retold; at; at = at->next) {
        for (unsigned i = 0; i < len; i++) {
            listeners[i].hear(listeners[i].context, at->id, at->host, &at->message);
        }
    }
    pd_alarm_retold_free(retold);
}

static void tell_listeners(struct pd_alarm_store *store)
{
    struct listener listeners[PD_ALARM_LISTENERS_MAX];
    unsigned len = copy_listeners(store, listeners);
    struct hearing *hearing = len ? malloc(sizeof *hearing) : NULL;

    while (hearing && tell_some(store, listeners, len, hearing))
        ;
    free(hearing);
    tell_again(store, listeners, len);
    pthread_mutex_lock(&store->lock);
    store->telling = false;
    pthread_cond_broadcast(&store->grown);
    pthread_mutex_unlock(&store->lock);
}

/* ---- the thread ---- */

/* True while it goes on; then there is something to do, or the time is over. */
static bool wait_for_work(struct pd_alarm_store *store, uint64_t until_ns)
{
    bool on;

    pthread_mutex_lock(&store->lock);
    while (!store->stopping && !store->own_first && !store->to_retell &&
           !(store->listeners_len && store->stat.last_id > store->heard) &&
           pd_clock_monotonic_ns() < until_ns) {
        pd_wait_until(&store->grown, &store->lock, until_ns);
    }
    on = !store->stopping;
    pthread_mutex_unlock(&store->lock);
    return on;
}

static void *keep(void *context)
{
    struct pd_alarm_store *store = context;
    uint64_t next_ns = pd_clock_monotonic_ns() + AGE_NS;

    while (wait_for_work(store, next_ns)) {
        store_own(store);
        tell_listeners(store);
        if (pd_clock_monotonic_ns() < next_ns) {
            continue;
        }
        pd_alarm_store_age(store);
        next_ns = pd_clock_monotonic_ns() + AGE_NS;
    }
    store_own(store);
    return NULL;
}

int pd_alarm_writer_start(struct pd_alarm_store *store)
{
    int err = pthread_create(&store->writer, NULL, keep, store);

    store->writer_runs = !err;
    return -err;
}

void pd_alarm_store_listen(struct pd_alarm_store *store,
                           void (*listener)(void *context, uint64_t id, uint32_t host,
                                            const struct pd_alarm_message *message),
                           void *context)
{
    pthread_mutex_lock(&store->lock);
    if (store->listeners_len < PD_ALARM_LISTENERS_MAX) {
        store->listeners[store->listeners_len].hear = listener;
        store->listeners[store->listeners_len++].context = context;
    }
    pthread_mutex_unlock(&store->lock);
}

void pd_alarm_store_deafen(struct pd_alarm_store *store, const void *context)
{
    pthread_mutex_lock(&store->lock);
    for (unsigned i = 0; i < store->listeners_len; i++) {
        if (store->listeners[i].context == context) {
            store->listeners[i--] = store->listeners[--store->listeners_len];
        }
    }
    while (store->telling) {
        pthread_cond_wait(&store->grown, &store->lock);
    }
    pthread_mutex_unlock(&store->lock);
}
