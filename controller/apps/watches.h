/* SPDX-License-Identifier: Apache-2.0 */
/* Watches from within: applications that run again and again. */
#ifndef PD_CONTROLLER_APPS_WATCHES_H
#define PD_CONTROLLER_APPS_WATCHES_H

#include "controller/apps/private.h"
#include "fleet/alarm_message.h"

#define PD_WATCHES_MAX        64
#define PD_WATCHES_ALARM_NS   (200 * PD_NS_PER_MS) /* between two runs for alarms */
#define PD_WATCHES_PERIOD_MIN 0.1                  /* seconds */
#define PD_WATCHES_PERIOD_MAX 86400.0

/* An alarm that a run is due for. */
struct pd_watch_alarm {
    uint64_t id;
    uint32_t host;
    struct pd_alarm_message message;
};

struct pd_watch {
    uint64_t id;
    const struct pd_app_ops *ops;
    json_t *args;    /* as given */
    double period_s; /* 0: by alarm */

    /* The thread's own while `running`, else under the lock. */
    struct pd_apps_world *world;
    json_t *read_args;
    void *state;
    bool opened;
    struct pd_apps_memory memory;

    /* Under the lock. */
    bool running, removed;
    bool has_alarm;
    struct pd_watch_alarm alarm; /* the latest */
    uint64_t next_ns;            /* monotonic: not before */
    uint64_t runs, failures, coalesced, last_us;
    char error[200]; /* of the last run; "": it went well */
    json_t *report;  /* of the last that went well; NULL: none yet */
};

struct pd_watches {
    struct pd_controller *controller;
    char *file;
    bool listens;
    pthread_mutex_t change; /* of the order of changes, and of the file */

    pthread_mutex_t lock; /* of all below up to the thread */
    pthread_cond_t wake;
    struct pd_watch *items[PD_WATCHES_MAX]; /* by ID */
    size_t len;
    uint64_t next_id;
    bool stopping;

    bool started, stopped;
    pthread_t thread;
};

/* watches.c: {"app","args","period_s"|"on":"alarm"}, and "id" where it comes from the file. */
int pd_app_watch_parse(const json_t *json, const struct pd_topology *topology,
                       struct pd_watch **ret_watch, struct pd_error *error);
void pd_app_watch_free(struct pd_watch *watch); /* with its state; NULL is fine */
json_t *pd_app_watch_json(
    const struct pd_watch *watch); /* what is parsed above; NULL without memory */
/* With how it went: as GET /v1/watches has it. With the lock held; NULL without memory. */
json_t *pd_app_watch_status_json(const struct pd_watch *watch);
size_t pd_app_watches_find(const struct pd_watches *watches, uint64_t id); /* or SIZE_MAX */
int pd_app_watches_insert(struct pd_watches *watches, struct pd_watch *watch,
                          struct pd_error *error);
struct pd_watch *pd_app_watches_take_out(struct pd_watches *watches, size_t at);
int pd_app_watches_save(struct pd_watches *watches, struct pd_error *error); /* `change` held */

/* watches_run.c */
void *pd_app_watches_work(void *watches);
void pd_app_watches_hear(void *watches, uint64_t id, uint32_t host,
                         const struct pd_alarm_message *message);

#endif
