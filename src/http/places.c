/* SPDX-License-Identifier: Apache-2.0 */
/* An array of places under one lock. */
#include "http/places.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "base/clock.h"

struct pd_places {
    pthread_mutex_t mutex; /* over what follows */
    unsigned connections_max, len;
    struct pd_place items[];
};

struct pd_places *pd_places_new(unsigned connections_max)
{
    unsigned len = 2 * connections_max;
    struct pd_places *places = calloc(1, sizeof *places + len * sizeof *places->items);

    if (!places) {
        return NULL;
    }
    places->connections_max = connections_max;
    places->len = len;
    pthread_mutex_init(&places->mutex, NULL);
    return places;
}

void pd_places_free(struct pd_places *places)
{
    if (!places) {
        return;
    }
    pthread_mutex_destroy(&places->mutex);
    free(places);
}

unsigned pd_places_len(const struct pd_places *places)
{
    return places->len;
}

static unsigned count(const struct pd_places *places)
{
    unsigned taken = 0;

    for (unsigned i = 0; i < places->len; i++) {
        taken += places->items[i].taken && !places->items[i].ended;
    }
    return taken;
}

/* Ends the connections whose time is over; returns how many. */
static unsigned make_room(struct pd_places *places)
{
    uint64_t now_ns = pd_clock_monotonic_ns();
    unsigned ended = 0;

    for (struct pd_place *place = places->items; place < places->items + places->len; place++) {
        if (!place->taken || place->ended || place->until_ns > now_ns) {
            continue;
        }
        place->ended = true;
        shutdown(place->fd, SHUT_RDWR);
        ended++;
    }
    return ended;
}

bool pd_places_admit(struct pd_places *places, unsigned *ret_ended)
{
    unsigned taken, ended = 0;

    pthread_mutex_lock(&places->mutex);
    taken = count(places);
    if (taken >= places->connections_max) {
        ended = make_room(places);
    }
    pthread_mutex_unlock(&places->mutex);
    *ret_ended = ended;
    return taken - ended < places->connections_max;
}

struct pd_place *pd_places_take(struct pd_places *places, int fd, uint64_t until_ns)
{
    struct pd_place *place = places->items;

    pthread_mutex_lock(&places->mutex);
    while (place->taken) {
        place++;
    }
    *place = (struct pd_place){.taken = true, .fd = fd, .until_ns = until_ns};
    pthread_mutex_unlock(&places->mutex);
    return place;
}

void pd_places_give(struct pd_places *places, struct pd_place *place)
{
    pthread_mutex_lock(&places->mutex);
    place->taken = false;
    pthread_mutex_unlock(&places->mutex);
}

void pd_places_keep(struct pd_places *places, struct pd_place *place, uint64_t until_ns)
{
    pthread_mutex_lock(&places->mutex);
    place->until_ns = until_ns;
    pthread_mutex_unlock(&places->mutex);
}
