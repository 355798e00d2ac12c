/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's alarms: kept in LMDB, each exactly once, and handed on to whoever wants to hear
 * of them. */
#ifndef PD_CONTROLLER_ALARMS_STORE_H
#define PD_CONTROLLER_ALARMS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "fleet/alarm_message.h"

/* Agents send each alarm at least once, numbered without gaps within a spool. The store keeps with
 * the alarms how far each spool was taken, in the same transaction, and passes over what is not
 * beyond that: so each alarm is there once, and an agent is told so only when it is on the disk.
 * Deliveries that come at the same time share a transaction, and the flush that makes it durable:
 * the first one commits for all that wait.
 *
 * Readers never hold a snapshot for long: they go through the alarms in steps, by their ID, which
 * grows by 1. So a reader that is slow costs nobody anything; what retention removed meanwhile it
 * does not see any more.
 *
 * The same alarm of a flow that comes again within a minute becomes one with a count; listeners
 * hear of it all the same.
 *
 * Bounded in number and age; the oldest go first. Where there are too many, those of the host go
 * that has the most: whatever one host tells, it takes nothing of what another one has within its
 * share of the store.
 *
 * Thread safety: all functions may be called from any thread, but for open, listen and close.
 * Locks: two mutexes, neither inside the other; LMDB's own. One thread of its own, the store
 * writer: retention by age, alarms of the controller's own, listeners. Format:
 * docs/formats/alarms.md. */

#define PD_ALARM_DELIVERY_MAX 256u /* alarms of one request */
/* Spools of a host that are remembered: one for each start of its agent; the latest stay. */
#define PD_ALARM_SPOOLS_MAX 64u
/* Numbers of a spool go on: no spool can have lost so many in between. */
#define PD_ALARM_AHEAD_MAX     (UINT64_C(1) << 20)
#define PD_ALARM_OWN_MAX       1024u /* of the controller that wait for the store writer */
#define PD_ALARM_LISTENERS_MAX 8u

#define PD_ALARM_STORE_COUNTERS(X)                                              \
    X(accepted, "alarms that were stored")                                      \
    X(merged, "alarms of a flow that were told again within a minute: counted") \
    X(repeated, "alarms that were sent again, and passed over")                 \
    X(missing, "alarms that agents never sent, by their numbers")               \
    X(removed, "alarms that retention removed")                                 \
    X(forgotten, "spools of agents that are not remembered any more")           \
    X(lost, "alarms of the controller's own that could not be stored")          \
    X(commits, "transactions that made alarms durable")                         \
    X(commits_failed, "transactions that failed: their alarms are sent again")

struct pd_alarm_store_stat {
#define X(name, text) uint64_t name;
    PD_ALARM_STORE_COUNTERS(X)
#undef X
    uint64_t kept;
    uint64_t first_id, last_id; /* last_id: the newest ever given; 0: none */
};

struct pd_alarm_store_config {
    const char *directory;
    uint64_t max_alarms;
    uint64_t max_age_s; /* 0: any */
    uint64_t map_bytes; /* 0: by max_alarms */
    /* New alarms are durable: called by whoever committed them, without a lock; NULL: nobody. */
    void (*grown)(void *context);
    void *context;
};

struct pd_alarm_store;

/* -errno, -PD_E_CORRUPT, -PD_E_VERSION, … in words. */
int pd_alarm_store_open(const struct pd_alarm_store_config *config,
                        struct pd_alarm_store **ret_store, struct pd_error *error);
/* Before close, and before those who wait can end: nobody waits any more. */
void pd_alarm_store_stop(struct pd_alarm_store *store);
void pd_alarm_store_close(struct pd_alarm_store *store); /* NULL is fine */

/* ---- writing ---- */

/* What one request brings. */
struct pd_alarm_delivery {
    uint32_t host;
    uint64_t spool;
    size_t len;
    const struct pd_alarm_message *messages;
    const uint64_t *seqs; /* ascending */
};

/* Waits until they are durable. 0; -PD_E_FULL, -EIO, …: none of them is there; -PD_E_VALUE: seqs
 * are not ascending, or do not go on from those of before. */
int pd_alarm_store_add(struct pd_alarm_store *store, const struct pd_alarm_delivery *delivery,
                       uint64_t *ret_last);

/* An alarm of the controller itself: host 0. Does not wait: the store writer stores it. */
void pd_alarm_store_raise(struct pd_alarm_store *store, const struct pd_alarm_message *message);

/* ---- reading ---- */

/* One alarm: its JSON without the ID and the opening brace, "host":21,…}. Non-zero ends the reading
 * before this one. */
typedef int pd_alarm_visit(void *context, uint64_t id, const char *json, size_t len);

/* Alarms after `since`, with this reason or (NULL) any, at most `most`. `ret_next`: what to go on
 * after; `ret_more`: there are more. `visit` must be quick: a snapshot is held. */
int pd_alarm_store_read(struct pd_alarm_store *store, uint64_t since, const char *reason,
                        size_t most, pd_alarm_visit *visit, void *context, uint64_t *ret_next,
                        bool *ret_more);

/* The ID after which there are `n` alarms with this reason (NULL: any), or all where there are
 * fewer. 0 or a negative error. */
int pd_alarm_store_newest(struct pd_alarm_store *store, const char *reason, size_t n,
                          uint64_t *ret_since);

/* Until there is an alarm after `since`, somebody stops the store, or the time is over. False only
 * when it is stopped. */
bool pd_alarm_store_wait(struct pd_alarm_store *store, uint64_t since, uint64_t until_ns);

/* `hear` gets each alarm that comes from now on, in order, in the store writer's thread; when it is
 * slow it hears of them later. Before the first one comes. */
void pd_alarm_store_listen(struct pd_alarm_store *store,
                           void (*hear)(void *context, uint64_t id, uint32_t host,
                                        const struct pd_alarm_message *message),
                           void *context);

/* Takes those with this context off the list; when it returns none of them is being told. Not from
 * a listener. */
void pd_alarm_store_deafen(struct pd_alarm_store *store, const void *context);

/* The ID before the first alarm that came here at `received_us` (wall time) or later: what to read
 * on from. 0 or a negative error. */
int pd_alarm_store_find(struct pd_alarm_store *store, uint64_t received_us, uint64_t *ret_since);

uint64_t pd_alarm_store_last(struct pd_alarm_store *store); /* the newest ID ever given; 0: none */
void pd_alarm_store_stat(struct pd_alarm_store *store, struct pd_alarm_store_stat *ret_stat);

#endif
