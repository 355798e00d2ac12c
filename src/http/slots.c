/* SPDX-License-Identifier: Apache-2.0 */
/* An array of slots under one lock. */
#include "http/slots.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

struct pd_http_slots {
    pthread_mutex_t mutex; /* over what follows */
    unsigned connections_max, address_max, principal_max;
    unsigned live;     /* taken, not ended */
    unsigned at_work;  /* in that phase */
    unsigned free_len; /* slots that are not taken, by index, in `free_list` */
    uint64_t serial;
    unsigned len;
    unsigned *free_list;
    struct pd_http_slot items[];
};

struct pd_http_slots *pd_http_slots_new(unsigned connections_max)
{
    unsigned len = 2 * connections_max;
    struct pd_http_slots *slots = calloc(1, sizeof *slots + len * sizeof *slots->items);

    if (!slots || !(slots->free_list = calloc(len, sizeof *slots->free_list))) {
        free(slots);
        return NULL;
    }
    slots->connections_max = connections_max;
    slots->address_max = connections_max - connections_max / 4;
    slots->principal_max = connections_max / 4;
    slots->len = slots->free_len = len;
    for (unsigned i = 0; i < len; i++) {
        slots->free_list[i] = len - 1 - i;
    }
    pthread_mutex_init(&slots->mutex, NULL);
    return slots;
}

void pd_http_slots_free(struct pd_http_slots *slots)
{
    if (!slots) {
        return;
    }
    pthread_mutex_destroy(&slots->mutex);
    free(slots->free_list);
    free(slots);
}

unsigned pd_http_slots_len(const struct pd_http_slots *slots)
{
    return slots->len;
}

/* ---- who goes ---- */

static void read_address(const struct sockaddr *peer, unsigned char address[PD_HTTP_ADDRESS_BYTES])
{
    memset(address, 0, PD_HTTP_ADDRESS_BYTES);
    if (peer && peer->sa_family == AF_INET) {
        address[0] = 4;
        memcpy(address + 12, &((const struct sockaddr_in *)(const void *)peer)->sin_addr, 4);
    } else if (peer && peer->sa_family == AF_INET6) {
        memcpy(address, &((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr, 16);
    }
}

/* Shuts it down; false: there is none. */
static bool end(struct pd_http_slots *slots, struct pd_http_slot *slot)
{
    if (!slot) {
        return false;
    }
    slot->ended = true;
    slots->live--;
    shutdown(slot->fd, SHUT_RDWR);
    return true;
}

static bool is_live(const struct pd_http_slot *slot)
{
    return slot->taken && !slot->ended;
}

static bool may_go(const struct pd_http_slot *slot, uint64_t now_ns)
{
    return slot->phase == PD_HTTP_COMING || slot->phase == PD_HTTP_RESTING ||
           ((slot->phase == PD_HTTP_TAKING || slot->phase == PD_HTTP_HOLDING) &&
            slot->until_ns <= now_ns);
}

/* Of those that may go; `address` NULL: any. *ret_len: how many there are from there, whether they
 * may go or not. */
static struct pd_http_slot *oldest(struct pd_http_slots *slots, const unsigned char *address,
                                   bool known, unsigned *ret_len)
{
    uint64_t now_ns = pd_clock_monotonic_ns();
    struct pd_http_slot *first = NULL;

    *ret_len = 0;
    for (struct pd_http_slot *slot = slots->items; slot < slots->items + slots->len; slot++) {
        if (!is_live(slot) || slot->known != known ||
            (address && memcmp(slot->address, address, PD_HTTP_ADDRESS_BYTES) != 0)) {
            continue;
        }
        ++*ret_len;
        if (may_go(slot, now_ns) && (!first || slot->since_ns < first->since_ns)) {
            first = slot;
        }
    }
    return first;
}

/* Whether there is room. */
static bool make_room(struct pd_http_slots *slots, const unsigned char *address, bool *ret_ended)
{
    unsigned len;
    struct pd_http_slot *own = oldest(slots, address, false, &len), *other;

    if (len >= slots->address_max) {
        return *ret_ended = end(slots, own);
    }
    if (slots->live < slots->connections_max) {
        return true;
    }
    other = oldest(slots, NULL, false, &len);
    return *ret_ended = end(slots, other ? other : oldest(slots, NULL, true, &len));
}

bool pd_http_slots_admit(struct pd_http_slots *slots, const struct sockaddr *peer, bool *ret_ended)
{
    unsigned char address[PD_HTTP_ADDRESS_BYTES];
    bool room;

    *ret_ended = false;
    read_address(peer, address);
    pthread_mutex_lock(&slots->mutex);
    room = slots->live < slots->address_max || make_room(slots, address, ret_ended);
    pthread_mutex_unlock(&slots->mutex);
    return room;
}

/* ---- who comes and goes ---- */

struct pd_http_slot *pd_http_slots_take(struct pd_http_slots *slots, int fd,
                                        const struct sockaddr *peer)
{
    struct pd_http_client *client = calloc(1, sizeof *client);
    struct pd_http_slot *slot;

    if (!client) {
        return NULL;
    }
    pthread_mutex_lock(&slots->mutex);
    slot = &slots->items[slots->free_list[--slots->free_len]];
    *slot = (struct pd_http_slot){.taken = true,
                                  .fd = fd,
                                  .serial = ++slots->serial,
                                  .since_ns = pd_clock_monotonic_ns(),
                                  .client = client};
    read_address(peer, slot->address);
    slots->live++;
    pthread_mutex_unlock(&slots->mutex);
    return slot;
}

void pd_http_slots_give(struct pd_http_slots *slots, struct pd_http_slot *slot)
{
    struct pd_http_client *client = slot->client;

    pthread_mutex_lock(&slots->mutex);
    slots->live -= !slot->ended;
    slots->at_work -= slot->phase == PD_HTTP_AT_WORK;
    slot->taken = false;
    slot->client = NULL;
    slots->free_list[slots->free_len++] = (unsigned)(slot - slots->items);
    pthread_mutex_unlock(&slots->mutex);
    pd_http_credentials_drop(client->set);
    if (client->leaf) {
        gnutls_x509_crt_deinit(client->leaf);
    }
    free(client);
}

void pd_http_slots_phase(struct pd_http_slots *slots, struct pd_http_slot *slot,
                         enum pd_http_phase phase, uint64_t until_ns)
{
    pthread_mutex_lock(&slots->mutex);
    slots->at_work -= slot->phase == PD_HTTP_AT_WORK;
    slots->at_work += phase == PD_HTTP_AT_WORK;
    slot->phase = phase;
    slot->since_ns = pd_clock_monotonic_ns();
    slot->until_ns = until_ns;
    pthread_mutex_unlock(&slots->mutex);
}

static bool is_named(const struct pd_http_slot *slot, const char *name)
{
    return slot->known && !strcmp(slot->client->principal.principal.name, name);
}

unsigned pd_http_slots_at_work(struct pd_http_slots *slots, const char *name)
{
    unsigned len = 0;

    pthread_mutex_lock(&slots->mutex);
    for (unsigned i = 0; name && i < slots->len; i++) {
        const struct pd_http_slot *slot = &slots->items[i];

        len += is_live(slot) && slot->phase == PD_HTTP_AT_WORK && is_named(slot, name);
    }
    len = name ? len : slots->at_work;
    pthread_mutex_unlock(&slots->mutex);
    return len;
}

/* ---- who is who ---- */

void pd_http_slots_show(struct pd_http_slots *slots, struct pd_http_slot *slot,
                        gnutls_x509_crt_t leaf)
{
    pthread_mutex_lock(&slots->mutex);
    slot->client->leaf = leaf;
    pthread_mutex_unlock(&slots->mutex);
}

static unsigned end_beyond_share(struct pd_http_slots *slots, const char *name)
{
    struct pd_http_slot *first = NULL;
    unsigned len = 0;

    for (struct pd_http_slot *slot = slots->items; slot < slots->items + slots->len; slot++) {
        if (!is_live(slot) || !is_named(slot, name)) {
            continue;
        }
        len++;
        if (slot->phase == PD_HTTP_RESTING && (!first || slot->since_ns < first->since_ns)) {
            first = slot;
        }
    }
    return len > slots->principal_max && end(slots, first);
}

unsigned pd_http_slots_know(struct pd_http_slots *slots, struct pd_http_slot *slot)
{
    unsigned ended = 0;

    pthread_mutex_lock(&slots->mutex);
    if (!slot->known) {
        slot->known = true;
        if (slots->live > slots->principal_max) {
            ended = end_beyond_share(slots, slot->client->principal.principal.name);
        }
    }
    pthread_mutex_unlock(&slots->mutex);
    return ended;
}

bool pd_http_slots_end_slowest(struct pd_http_slots *slots, uint64_t idle_ns)
{
    uint64_t before_ns = pd_clock_monotonic_ns() - idle_ns;
    struct pd_http_slot *slowest = NULL;

    pthread_mutex_lock(&slots->mutex);
    for (struct pd_http_slot *slot = slots->items; slot < slots->items + slots->len; slot++) {
        if (is_live(slot) && slot->phase == PD_HTTP_HOLDING && slot->since_ns <= before_ns) {
            slowest = slowest && slowest->since_ns <= slot->since_ns ? slowest : slot;
        }
    }
    bool ended = end(slots, slowest);
    pthread_mutex_unlock(&slots->mutex);
    return ended;
}

void pd_http_slots_end(struct pd_http_slots *slots, struct pd_http_slot *slot, uint64_t serial)
{
    pthread_mutex_lock(&slots->mutex);
    if (is_live(slot) && slot->serial == serial) {
        end(slots, slot);
    }
    pthread_mutex_unlock(&slots->mutex);
}

unsigned pd_http_slots_revoke(struct pd_http_slots *slots, const struct pd_tls *tls)
{
    unsigned ended = 0;

    pthread_mutex_lock(&slots->mutex);
    for (struct pd_http_slot *slot = slots->items; slot < slots->items + slots->len; slot++) {
        if (is_live(slot) && slot->client->leaf && pd_http_tls_revoked(tls, slot->client->leaf)) {
            ended += end(slots, slot);
        }
    }
    pthread_mutex_unlock(&slots->mutex);
    return ended;
}
