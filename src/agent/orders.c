/* SPDX-License-Identifier: Apache-2.0 */
/* Orders held against this host's clock, place and memory. */
#include "agent/orders.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "http/principal.h"
#include "http/role.h"

#define MODULE "orders"
#define PROBES 16u

/* An order that was used. */
struct used {
    uint64_t until_us; /* wall time; 0: free */
    uint8_t nonce[PD_FLEET_ORDER_NONCE_BYTES];
    uint32_t by; /* host that handed it over; 0: the controller */
};

struct pd_agent_orders {
    struct pd_credentials *credentials;
    uint32_t host;
    uint64_t began_ns;    /* monotonic clock */
    pthread_mutex_t lock; /* of what follows */
    struct used *used;
    struct pd_fleet_order_signer signer;
    uint64_t generation; /* of the credentials that it was verified with */
    struct pd_log_limit refusals;
};

int pd_agent_orders_new(struct pd_credentials *credentials, uint32_t host,
                        struct pd_agent_orders **ret_orders)
{
    struct pd_agent_orders *orders = calloc(1, sizeof *orders);

    if (!orders) {
        return -ENOMEM;
    }
    orders->used = calloc(PD_AGENT_ORDERS_KEPT, sizeof *orders->used);
    if (!orders->used) {
        free(orders);
        return -ENOMEM;
    }
    orders->credentials = credentials;
    orders->host = host;
    orders->began_ns = pd_clock_monotonic_ns();
    pthread_mutex_init(&orders->lock, NULL);
    *ret_orders = orders;
    return 0;
}

void pd_agent_orders_free(struct pd_agent_orders *orders)
{
    if (orders) {
        pthread_mutex_destroy(&orders->lock);
        free(orders->used);
    }
    free(orders);
}

bool pd_agent_orders_needed(const struct pd_agent_orders *orders,
                            const struct pd_http_request *request, bool has_children)
{
    struct pd_credentials_set *set;
    bool needed;

    if (!orders || (request->role != PD_ROLE_AGENT && !has_children)) {
        return false;
    }
    set = pd_http_credentials_hold(orders->credentials);
    needed = !pd_http_credentials_open(set);
    pd_http_credentials_drop(set);
    return needed;
}

/* ---- each once ---- */

/* With the lock. Nonces are random, and who chooses them is trusted: their first bytes are a hash.
 */
static int remember(struct pd_agent_orders *orders, const struct used *now, struct pd_error *error)
{
    struct used *free_one = NULL;
    uint64_t at, now_us = pd_clock_wall_us();

    memcpy(&at, now->nonce, sizeof at);
    for (unsigned i = 0; i < PROBES; i++) {
        struct used *used = &orders->used[(at + i) % PD_AGENT_ORDERS_KEPT];

        if (used->until_us <= now_us) {
            free_one = free_one ? free_one : used;
        } else if (used->by == now->by && !memcmp(used->nonce, now->nonce, sizeof now->nonce)) {
            return pd_fail(error, -PD_E_FORBIDDEN, "%s: it was used already",
                           PD_FLEET_ORDER_HEADER);
        }
    }
    if (!free_one) {
        return pd_fail(error, -PD_E_BUSY, "%s: too many are under way; try again",
                       PD_FLEET_ORDER_HEADER);
    }
    *free_one = *now;
    return 0;
}

/* What an agent took before it was started anew it does not remember: such orders are over. Its
 * start is told by the clock of now, which may have been set since. */
static int check_remembered(const struct pd_agent_orders *orders,
                            const struct pd_fleet_order_terms *terms, struct pd_error *error)
{
    uint64_t up_us = (pd_clock_monotonic_ns() - orders->began_ns) / PD_NS_PER_US;
    uint64_t began_us = pd_clock_wall_us() - up_us;

    return terms->issued_us >= began_us
               ? 0
               : pd_fail(error, -PD_E_FORBIDDEN,
                         "%s: made %.1f s before this agent began, by its clock: it may have been "
                         "used; ask again",
                         PD_FLEET_ORDER_HEADER,
                         (double)(began_us - terms->issued_us) / PD_US_PER_S);
}

/* ---- who handed it over ---- */

static int check_asker(const struct pd_fleet_order *order, const struct pd_http_request *request,
                       uint32_t *ret_by, struct pd_error *error)
{
    *ret_by = 0;
    if (request->role == PD_ROLE_ADMIN) {
        return 0;
    }
    for (unsigned i = 1; i < order->way.len; i++) {
        if (pd_http_role_speaks_for(request, order->way.hosts[i])) {
            *ret_by = order->way.hosts[i];
            return 0;
        }
    }
    return pd_fail(error, -PD_E_FORBIDDEN, "%s: it was not given to %.40s", PD_FLEET_ORDER_HEADER,
                   request->peer ? request->peer : "whoever asks");
}

/* ---- all of it ---- */

static int check_signed(struct pd_agent_orders *orders, const struct pd_fleet_order *order,
                        const struct pd_http_request *request, struct pd_error *error)
{
    const gnutls_datum_t proven = {(unsigned char *)(uintptr_t)request->certificate,
                                   (unsigned)request->certificate_bytes};
    struct pd_credentials_set *set = pd_http_credentials_hold(orders->credentials);
    struct pd_fleet_order_signer signer = {.until_ns = 0};
    int err;

    pthread_mutex_lock(&orders->lock);
    if (orders->generation == set->generation) {
        signer = orders->signer;
    }
    pthread_mutex_unlock(&orders->lock);
    err = pd_fleet_order_signed(order, &set->tls, &signer, request->certificate ? &proven : NULL,
                                error);
    if (!err) {
        pthread_mutex_lock(&orders->lock);
        orders->signer = signer;
        orders->generation = set->generation;
        pthread_mutex_unlock(&orders->lock);
    }
    pd_http_credentials_drop(set);
    return err;
}

static int check(struct pd_agent_orders *orders, const struct pd_http_request *request,
                 const json_t *body, const struct pd_forest *below, struct pd_fleet_order *order,
                 struct pd_error *error)
{
    struct used used = {.until_us = order->terms.deadline_us + PD_FLEET_ORDER_TOLERANCE_US};
    int err =
        pd_fleet_order_prove(order, body, orders->host, below->trees, below->trees_len, error);

    if (!err) {
        err = check_asker(order, request, &used.by, error);
    }
    if (!err) {
        err = pd_fleet_order_timely(&order->terms, pd_clock_wall_us(), error);
    }
    if (!err) {
        err = check_remembered(orders, &order->terms, error);
    }
    if (!err) {
        err = check_signed(orders, order, request, error);
    }
    if (err) {
        return err;
    }
    memcpy(used.nonce, order->terms.nonce, sizeof used.nonce);
    pthread_mutex_lock(&orders->lock);
    err = remember(orders, &used, error);
    pthread_mutex_unlock(&orders->lock);
    return err;
}

static int take(struct pd_agent_orders *orders, const struct pd_http_request *request,
                const json_t *body, const struct pd_forest *below, struct pd_fleet_order *order,
                struct pd_error *error)
{
    int err;

    if (!request->order) {
        return pd_fail(error, -PD_E_FORBIDDEN, "%s%s is needed here: an order of the controller",
                       below->trees_len ? "children: the header " : "the header ",
                       PD_FLEET_ORDER_HEADER);
    }
    if (!orders->host) {
        return pd_fail(error, -PD_E_FORBIDDEN,
                       "%s: this agent does not know whether it is meant (--host-id)",
                       PD_FLEET_ORDER_HEADER);
    }
    err = pd_fleet_order_read(request->order, order, error);
    return err ? err : check(orders, request, body, below, order, error);
}

static void tell(struct pd_agent_orders *orders, const struct pd_http_request *request,
                 const struct pd_error *why)
{
    pthread_mutex_lock(&orders->lock);
    pd_log_limited(&orders->refusals, PD_LOG_WARN, MODULE, "refused a question of %s: %s",
                   request->peer && *request->peer ? request->peer : "somebody", why->text);
    pthread_mutex_unlock(&orders->lock);
}

int pd_agent_orders_take(struct pd_agent_orders *orders, const struct pd_http_request *request,
                         const json_t *body, const struct pd_forest *below,
                         struct pd_fleet_order *ret_order, struct pd_error *error)
{
    struct pd_fleet_order order = {.chain_len = 0};
    struct pd_error unheard = {0};
    struct pd_error *words = error ? error : &unheard;
    int err = take(orders, request, body, below, &order, words);

    if (err) {
        pd_fleet_order_done(&order);
        tell(orders, request, words);
    } else {
        *ret_order = order;
    }
    return err;
}
