/* SPDX-License-Identifier: Apache-2.0 */
/* The list of installed queries from within: what its files share. */
#ifndef PD_CONTROLLER_INSTALLED_LIST_H
#define PD_CONTROLLER_INSTALLED_LIST_H

#include "base/clock.h"
#include "controller/controller.h"
#include "controller/inventory.h"
#include "fleet/installation.h"
#include <pthread.h>

/* Numbers that agents give; sums over hosts are told. */
#define PD_INSTALLS_NUMBERS(X) X(runs) X(busy_us) X(alarms) X(failures) X(skipped)

struct pd_install_numbers {
#define X(name) uint64_t name;
    PD_INSTALLS_NUMBERS(X)
#undef X
};

enum pd_install_state {
    PD_TARGET_PENDING,
    PD_TARGET_INSTALLED,
    PD_TARGET_STOPPED,
    PD_TARGET_FAILED
};

/* A query on one of its hosts, as it was when the host was last heard. */
struct pd_install_host {
    uint32_t host; /* ID */
    enum pd_install_state state;
    char reason[120]; /* why it is not at work, or "" */
    struct pd_install_numbers numbers;
};

struct pd_install {
    uint64_t id;
    json_t *hosts; /* as given; NULL: all */
    struct pd_installation what;
    struct pd_install_host *targets; /* by ID of the host */
    size_t targets_len;
};

/* A host as the thread of rounds knows it. */
struct pd_round_host {
    uint32_t id;
    uint64_t next_ns; /* monotonic: when to look at it again */
    uint64_t wait_ns; /* after the next failure */
};

/* How long until a host that was away is asked again, at first. */
#define PD_INSTALLS_WAIT_NS     (2 * PD_NS_PER_S)
#define PD_INSTALLS_WAIT_MAX_NS (16 * PD_NS_PER_S) /* and in the end */
#define PD_INSTALLS_ROUND_NS    (30 * PD_NS_PER_S) /* between two looks at a host */
#define PD_INSTALLS_ATTEMPT_NS  (2 * PD_NS_PER_S)  /* of one attempt at all hosts */

/* Locks: `change`, inside it `lock`. Neither is held while a host is asked. */
struct pd_installs {
    struct pd_controller *controller;
    char *file;
    pthread_mutex_t change; /* of the order of changes, and of the file */

    pthread_mutex_t lock; /* of all below up to the thread */
    pthread_cond_t wake;
    struct pd_install *installs[PD_INSTALLATIONS_MAX]; /* by ID */
    size_t installs_len;
    size_t bytes;
    uint64_t next_id;
    struct pd_inventory *inventory; /* held; that of hosts and targets */
    struct pd_round_host *hosts;    /* by index in the inventory */
    uint64_t heard_ns;              /* monotonic: when all were last asked for their numbers */
    bool stopping;

    bool started;
    pthread_t thread;
};

/* ---- installed.c ---- */

/* `body` as in POST /v1/install. Owned by nobody yet; aimed at no host. */
int pd_installed_install_parse(const json_t *body, struct pd_install **ret_install,
                               struct pd_error *error);
void pd_installed_install_free(struct pd_install *install); /* NULL is fine */

/* Its hosts by this inventory. What pd_controller_select returns; then its targets stay. */
int pd_installed_install_aim(struct pd_install *install, const struct pd_inventory *inventory,
                             struct pd_error *error);

/* {"id", "hosts", document …}, a copy: counts of references are not for several threads. NULL
 * without memory. With the list's lock held. */
json_t *pd_installed_install_json(const struct pd_install *install);

int pd_installed_installs_save(struct pd_installs *installs,
                               struct pd_error *error); /* `change` held */

/* The rest with the list's lock held. Insert chooses an ID where there is none, and owns the query
 * from then on; -PD_E_FULL. */
int pd_installed_installs_insert(struct pd_installs *installs, struct pd_install *install,
                                 struct pd_error *error);
void pd_installed_installs_take_out(struct pd_installs *installs, const struct pd_install *install);
struct pd_install *pd_installed_installs_find(struct pd_installs *installs, uint64_t id);
struct pd_install_host *pd_installed_install_target(struct pd_install *install, uint32_t host);

/* Looks at this host again soon. */
void pd_installed_installs_hurry(struct pd_installs *installs, uint32_t host);

/* ---- sync.c ---- */

/* One thing to be done at one host, and how it ended. */
struct pd_installed_push_item {
    uint32_t host; /* ID */
    const char *url;
    uint64_t id; /* of the query */
    char *body;  /* of an install; owned */
    char route[48];
    struct pd_error error;
    char *answer; /* of a list; owned */
    size_t answer_len;
};

/* Errands of one method, together. `inventory` is held for their URLs. */
struct pd_installed_push {
    const char *method; /* "POST": install, "DELETE": uninstall, "GET": list */
    struct pd_inventory *inventory;
    struct pd_installed_push_item *items;
    size_t len, size;
};

/* The inventory in force is taken with the first item; a host that it does not know is passed
 * over. With the list's lock held. 0 or -ENOMEM. `install`: what POST sends, else NULL. */
int pd_installed_push_add(struct pd_installs *installs, struct pd_installed_push *push,
                          uint32_t host, uint64_t id, const struct pd_install *install);

/* Does them all by the deadline; how each ended goes into it, and into the states of targets and
 * hosts. Without a lock. */
void pd_installed_push_run(struct pd_installs *installs, struct pd_installed_push *push,
                           uint64_t deadline_ns);
void pd_installed_push_done(struct pd_installed_push *push);

/* Asks all hosts that have queries what they have, for their numbers, unless that was done just
 * now. */
void pd_installed_installs_hear(struct pd_installs *installs);

void *pd_installed_installs_rounds(void *installs);

#endif
