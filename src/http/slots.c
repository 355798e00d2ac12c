/* SPDX-License-Identifier: Apache-2.0 */
/* An array of slots under one lock. */
#include "http/slots.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "base/clock.h"

struct pd_http_slots {
    pthread_mutex_t mutex; /* over what follows */
    unsigned connections_max, len;
    struct pd_http_slot items[];
};

struct pd_http_slots *pd_http_slots_new(unsigned connections_max)
{
    unsigned len = 2 * connections_max;
    struct pd_http_slots *slots = calloc(1, sizeof *slots + len * sizeof *slots->items);

    if (!slots) {
        return NULL;
    }
    slots->connections_max = connections_max;
    slots->len = len;
    pthread_mutex_init(&slots->mutex, NULL);
    return slots;
}

void pd_http_slots_free(struct pd_http_slots *slots)
{
    if (!slots) {
        return;
    }
    pthread_mutex_destroy(&slots->mutex);
    free(slots);
}

unsigned pd_http_slots_len(const struct pd_http_slots *slots)
{
    return slots->len;
}

static unsigned count(const struct pd_http_slots *slots)
{
    unsigned taken = 0;

    for (unsigned i = 0; i < slots->len; i++) {
        taken += slots->items[i].taken && !slots->items[i].ended;
    }
    return taken;
}

/* Ends the connections whose time is over; returns how many. */
static unsigned make_room(struct pd_http_slots *slots)
{
    uint64_t now_ns = pd_clock_monotonic_ns();
    unsigned ended = 0;

    for (struct pd_http_slot *slot = slots->items; slot < slots->items + slots->len; slot++) {
        if (!slot->taken || slot->ended || slot->until_ns > now_ns) {
            continue;
        }
        slot->ended = true;
        shutdown(slot->fd, SHUT_RDWR);
        ended++;
    }
    return ended;
}

bool pd_http_slots_admit(struct pd_http_slots *slots, unsigned *ret_ended)
{
    unsigned taken, ended = 0;

    pthread_mutex_lock(&slots->mutex);
    taken = count(slots);
    if (taken >= slots->connections_max) {
        ended = make_room(slots);
    }
    pthread_mutex_unlock(&slots->mutex);
    *ret_ended = ended;
    return taken - ended < slots->connections_max;
}

struct pd_http_slot *pd_http_slots_take(struct pd_http_slots *slots, int fd, uint64_t until_ns)
{
    struct pd_http_slot *slot = slots->items;

    pthread_mutex_lock(&slots->mutex);
    while (slot->taken) {
        slot++;
    }
    *slot = (struct pd_http_slot){.taken = true, .fd = fd, .until_ns = until_ns};
    pthread_mutex_unlock(&slots->mutex);
    return slot;
}

void pd_http_slots_give(struct pd_http_slots *slots, struct pd_http_slot *slot)
{
    pthread_mutex_lock(&slots->mutex);
    slot->taken = false;
    pthread_mutex_unlock(&slots->mutex);
}

void pd_http_slots_keep(struct pd_http_slots *slots, struct pd_http_slot *slot, uint64_t until_ns)
{
    pthread_mutex_lock(&slots->mutex);
    slot->until_ns = until_ns;
    pthread_mutex_unlock(&slots->mutex);
}
