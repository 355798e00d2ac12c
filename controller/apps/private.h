/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share. */
#ifndef PD_CONTROLLER_APPS_PRIVATE_H
#define PD_CONTROLLER_APPS_PRIVATE_H

#include <pthread.h>
#include <stdio.h>

#include "apps/apps.h"
#include "apps/join.h"
#include "controller/apps/apps.h"
#include "controller/inventory.h"
#include "daemon/admission.h"

/* Locks, none taken inside another but as said: a resident's `lock` (a run may hold it for
 * seconds); the packets' `lock`; the watches' `change`, and inside it `lock`. No lock of this
 * folder is held by whoever feeds it: the alarm store's writer and the switches' thread take the
 * last two kinds for a moment. */

#define PD_APPS_AT_ONCE     4u /* runs by hand */
#define PD_APPS_WAITING     16u
#define PD_APPS_WAIT_NS     (30 * PD_NS_PER_S) /* for a turn */
#define PD_APPS_DEADLINE_MS 5000               /* of a question that says nothing else */
#define PD_APPS_STACK_BYTES ((size_t)2 << 20)  /* of threads in which applications run */
#define PD_APPS_ALARMS_MAX  100000u            /* that one question may have */

/* ---- world.c ---- */

struct pd_apps_world {
    struct pd_app_world world; /* its context is this */
    struct pd_controller *controller;
    struct pd_inventory *inventory; /* held: its topology is the world's */
    char client[PD_DAEMON_ADMISSION_CLIENT_BYTES];
    struct pd_app_join join;
};

/* `client`: whose turn its questions take. 0 or -ENOMEM. */
int pd_apps_world_open(struct pd_controller *controller, const char *client,
                       struct pd_apps_world **ret_world);
void pd_apps_world_close(struct pd_apps_world *world); /* NULL is fine */
/* Whether the inventory in force is still the one that it holds. */
bool pd_apps_world_holds(const struct pd_apps_world *world);

/* Requests to agents: agents.c. */
int pd_apps_request(void *world, const char *method, const char *route, const json_t *body,
                    const json_t *hosts, json_t **ret_answers, struct pd_error *error);

/* ---- run.c ---- */

/* One run of an open state. The report's JSON is the caller's. */
int pd_apps_run(const struct pd_app_ops *ops, void *state, const struct pd_app_call *call,
                json_t **ret_report, struct pd_error *error);

/* Opened, run once, and kept for the next run or closed; an application that has packets runs in
 * the state that they go to. In a thread with a stack of its own. `evidence`: the report says what
 * was judged, too. */
int pd_apps_by_hand(struct pd_controller *controller, const struct pd_app_ops *ops,
                    const char *client, const json_t *args, bool evidence, json_t **ret_report,
                    struct pd_error *error);

/* What was found last: only what has changed since is an alarm. Zeroed at first. */
struct pd_apps_memory {
    json_t *found; /* NULL: nothing yet */
    bool found_something;
};
/* Raises APP_… when this report finds something else than the one before, and one of them finds
 * anything. */
void pd_apps_remember(struct pd_controller *controller, const struct pd_app_ops *ops,
                      struct pd_apps_memory *memory, const json_t *report);

/* ---- kept.c: states of runs by hand; any thread ---- */

/* A run by hand: the state of an application, and what it goes with. */
struct pd_apps_hand {
    const struct pd_app_ops *ops;
    struct pd_apps_world *world;
    json_t *args;
    void *state;
    bool opened;
    uint64_t ended_ns; /* monotonic */
};

struct pd_apps_kept;

int pd_apps_kept_open(struct pd_apps_kept **ret_kept);
void pd_apps_kept_close(struct pd_apps_kept *kept); /* NULL is fine */
/* One that the run may go on from, the caller's now; NULL: there is none. */
struct pd_apps_hand *pd_apps_kept_take(struct pd_apps_kept *kept, const struct pd_app_ops *ops,
                                       const json_t *args);
void pd_apps_kept_put(struct pd_apps_kept *kept, struct pd_apps_hand *hand);
void pd_apps_hand_free(struct pd_apps_hand *hand); /* NULL is fine */

/* ---- resident.c, packets.c ---- */

struct pd_apps_resident {
    const struct pd_app_ops *ops;
    pthread_mutex_t lock; /* of all below */
    struct pd_apps_world *world;
    json_t *args;
    void *state;
    bool opened, complained;
    struct pd_apps_memory memory;
};

struct pd_apps_residents;
struct pd_apps_packets;
struct pd_watches;

int pd_apps_residents_open(struct pd_controller *controller, struct pd_apps_residents **ret_list);
void pd_apps_residents_close(struct pd_apps_residents *list);
bool pd_apps_residents_any(const struct pd_apps_residents *list);
/* By hand. */
int pd_apps_resident_run(struct pd_apps_residents *list, const struct pd_app_ops *ops,
                         const json_t *args, json_t **ret_report, struct pd_error *error);
void pd_apps_residents_packet(struct pd_apps_residents *list, const struct pd_app_packet *packet);

int pd_apps_packets_open(struct pd_controller *controller, struct pd_apps_packets **ret_packets);
void pd_apps_packets_stop(struct pd_apps_packets *packets);
void pd_apps_packets_close(struct pd_apps_packets *packets); /* after stop; NULL is fine */

/* ---- watches.c ---- */

int pd_app_watches_open(struct pd_controller *controller, struct pd_watches **ret_watches,
                        struct pd_error *error);
void pd_app_watches_stop(struct pd_watches *watches);
void pd_app_watches_close(struct pd_watches *watches); /* after stop; NULL is fine */

/* Starts threads whose stacks do for applications. 0 or a negative error. */
int pd_apps_thread(pthread_t *thread, void *(*run)(void *context), void *context);

struct pd_apps {
    struct pd_daemon_admission *admission; /* of runs by hand */
    struct pd_apps_kept *kept;
    struct pd_apps_residents *residents;
    struct pd_apps_packets *packets;
    struct pd_watches *watches;
};

#endif
