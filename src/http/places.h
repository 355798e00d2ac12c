/* SPDX-License-Identifier: Apache-2.0 */
/* Places of connections: how many there may be, and who has to go when somebody else comes. */
#ifndef PD_HTTP_PLACES_H
#define PD_HTTP_PLACES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/who.h"

/* A place is kept until its time is over, whoever else wants one; after that its connection is shut
 * down when somebody does. Its thread finds out and gives the place back: those that are being
 * ended keep theirs until then, hence twice as many places as connections.
 *
 * Thread safety: all functions may be called from any thread. What a place says about its
 * connection's client belongs to the connection's thread. */

struct pd_place {
    bool taken;
    bool ended; /* shut down by us: its thread is about to find out */
    int fd;
    uint64_t until_ns;              /* monotonic; UINT64_MAX: it stays */
    struct pd_credentials_set *set; /* whose certificate the client was shown; NULL: none */
    struct pd_who_cache who;
};

struct pd_places;

/* NULL without memory. */
struct pd_places *pd_places_new(unsigned connections_max);
void pd_places_free(struct pd_places *places); /* NULL is fine */
unsigned pd_places_len(const struct pd_places *places);

/* Is there room for one more? Shuts connections down whose time is over if need be; `ret_ended`
 * says how many. */
bool pd_places_admit(struct pd_places *places, unsigned *ret_ended);

/* There is a free one when the number of connections is at most pd_places_len(). Stays until
 * `until_ns`. */
struct pd_place *pd_places_take(struct pd_places *places, int fd, uint64_t until_ns);

/* Before the socket is closed: what pd_places_admit() shuts down is never somebody else's. */
void pd_places_give(struct pd_places *places, struct pd_place *place);

void pd_places_keep(struct pd_places *places, struct pd_place *place, uint64_t until_ns);

#endif
