/* SPDX-License-Identifier: Apache-2.0 */
/* Connections: how many there may be, and which have to go when somebody else comes. */
#ifndef PD_HTTP_SLOTS_H
#define PD_HTTP_SLOTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "http/principal.h"

/* A connection that has not brought a whole request costs some memory and no thread, so there may
 * be thousands. When there are as many as may be, and somebody else comes, the oldest goes that
 * brings or rests: of the newcomer's own address where this has its share already, of any other
 * address else, and of clients with good certificates last. So a crowd displaces itself, at once,
 * and whoever has something to say is served before it is the oldest. Requests at work are never
 * displaced, answers only when they are taken too slowly.
 *
 * What is shut down here is closed by the thread that watches over all of them: it keeps its slot
 * until then, hence twice as many slots as connections.
 *
 * Thread safety: all functions may be called from any thread. What a slot says about its
 * connection's client belongs to the server's thread. */

enum pd_http_phase {
    PD_HTTP_COMING,  /* in the handshake, or in a request */
    PD_HTTP_AT_WORK, /* the service is asked */
    PD_HTTP_TAKING,  /* its answer */
    PD_HTTP_HOLDING, /* the same, and the answer counts in the budget; begins anew with each part */
    PD_HTTP_RESTING, /* after that */
};

/* What a client has shown. */
struct pd_http_client {
    struct pd_credentials_set *set; /* whose certificate it was shown; NULL: none */
    gnutls_x509_crt_t leaf;         /* its own; NULL: none so far */
    struct pd_http_principal_cache principal;
};

#define PD_HTTP_ADDRESS_BYTES 16

struct pd_http_slot {
    bool taken;
    bool ended; /* shut down by us: its thread is about to find out */
    bool known; /* its client has shown a good certificate */
    enum pd_http_phase phase;
    int fd;
    uint64_t serial;                              /* of the connection, among all */
    uint64_t since_ns;                            /* monotonic; when the phase began */
    uint64_t until_ns;                            /* TAKING, HOLDING: it stays until then */
    unsigned char address[PD_HTTP_ADDRESS_BYTES]; /* zeros: a unix socket */
    struct pd_http_client *client;
};

struct pd_http_slots;

/* NULL without memory. */
struct pd_http_slots *pd_http_slots_new(unsigned connections_max);
void pd_http_slots_free(struct pd_http_slots *slots); /* NULL is fine */
unsigned pd_http_slots_len(const struct pd_http_slots *slots);

/* Is there room for one more from there? Shuts another one down if need be; *ret_ended says whether
 * it did. */
bool pd_http_slots_admit(struct pd_http_slots *slots, const struct sockaddr *peer, bool *ret_ended);

/* There is a free one when the number of connections is at most pd_http_slots_len(). NULL without
 * memory. */
struct pd_http_slot *pd_http_slots_take(struct pd_http_slots *slots, int fd,
                                        const struct sockaddr *peer);

/* Before the socket is closed: what is shut down is never somebody else's. */
void pd_http_slots_give(struct pd_http_slots *slots, struct pd_http_slot *slot);

/* `until_ns` is for PD_HTTP_TAKING. */
void pd_http_slots_phase(struct pd_http_slots *slots, struct pd_http_slot *slot,
                         enum pd_http_phase phase, uint64_t until_ns);

/* How many requests are at work, of whom of this name (NULL: of all). */
unsigned pd_http_slots_at_work(struct pd_http_slots *slots, const char *name);

/* The certificate of the connection's client becomes the slot's. */
void pd_http_slots_show(struct pd_http_slots *slots, struct pd_http_slot *slot,
                        gnutls_x509_crt_t leaf);

/* It is good: where its owner has more than a quarter of all connections, the oldest of those that
 * rest is shut down. Returns how many were. */
unsigned pd_http_slots_know(struct pd_http_slots *slots, struct pd_http_slot *slot);

/* Of those that hold the budget without having taken anything for `idle_ns`, shuts down the one
 * whose last part is the longest ago. False: there is none. */
bool pd_http_slots_end_slowest(struct pd_http_slots *slots, uint64_t idle_ns);

/* Shuts down the connection with this serial number, if the slot still has it. */
void pd_http_slots_end(struct pd_http_slots *slots, struct pd_http_slot *slot, uint64_t serial);

/* Shuts down the connections of whoever has shown a revoked certificate; returns how many. */
unsigned pd_http_slots_revoke(struct pd_http_slots *slots, const struct pd_tls *tls);

#endif
