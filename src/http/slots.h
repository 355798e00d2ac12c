/* SPDX-License-Identifier: Apache-2.0 */
/* Slots of connections: how many there may be, and who has to go when somebody else comes. */
#ifndef PD_HTTP_SLOTS_H
#define PD_HTTP_SLOTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/who.h"

/* A slot is kept until its time is over, whoever else wants one; after that its connection is shut
 * down when somebody does. Its thread finds out and gives the slot back: those that are being
 * ended keep theirs until then, hence twice as many slots as connections.
 *
 * Thread safety: all functions may be called from any thread. What a slot says about its
 * connection's client belongs to the connection's thread. */

struct pd_http_slot {
    bool taken;
    bool ended; /* shut down by us: its thread is about to find out */
    int fd;
    uint64_t until_ns;              /* monotonic; UINT64_MAX: it stays */
    struct pd_credentials_set *set; /* whose certificate the client was shown; NULL: none */
    struct pd_who_cache who;
};

struct pd_http_slots;

/* NULL without memory. */
struct pd_http_slots *pd_http_slots_new(unsigned connections_max);
void pd_http_slots_free(struct pd_http_slots *slots); /* NULL is fine */
unsigned pd_http_slots_len(const struct pd_http_slots *slots);

/* Is there room for one more? Shuts connections down whose time is over if need be; `ret_ended`
 * says how many. */
bool pd_http_slots_admit(struct pd_http_slots *slots, unsigned *ret_ended);

/* There is a free one when the number of connections is at most pd_http_slots_len(). Stays until
 * `until_ns`. */
struct pd_http_slot *pd_http_slots_take(struct pd_http_slots *slots, int fd, uint64_t until_ns);

/* Before the socket is closed: what pd_http_slots_admit() shuts down is never somebody else's. */
void pd_http_slots_give(struct pd_http_slots *slots, struct pd_http_slot *slot);

void pd_http_slots_keep(struct pd_http_slots *slots, struct pd_http_slot *slot, uint64_t until_ns);

#endif
