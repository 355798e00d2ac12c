/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a running controller, as its routes see them. */
#ifndef PD_CONTROLLER_CONTROLLER_H
#define PD_CONTROLLER_CONTROLLER_H

#include <stdatomic.h>
#include <stdint.h>

#include "controller/alarms/store.h"
#include "controller/counters.h"
#include "controller/hosts.h"
#include "controller/settings.h"
#include "controller/state.h"
#include "controller/switches/service.h"
#include "daemon/turns.h"
#include "fleet/fanout.h"
#include "http/credentials.h"
#include "program/program.h"

/* main.c makes all parts before the first thread starts and unmakes them after the last one has
 * ended; in between the pointers do not change. What they point to says itself how it is shared. A
 * new part is a pointer here and a line in main.c's table of parts. */

struct pd_controller {
    const struct pd_controller_settings *settings; /* for `open` of parts: as it was at start */
    struct pd_state state;                         /* the state directory */
    struct pd_hosts *hosts;                        /* topology and hosts */
    struct pd_credentials *credentials;            /* of clients, and for whom it asks */
    struct pd_fanout *fanout;                      /* connections to agents */
    struct pd_turns *turns;                        /* of queries */
    struct pd_programs *programs;                  /* for merge() of programs */
    struct pd_events *events;                      /* never NULL while requests are answered */
    struct pd_alarm_store *alarms;                 /* never NULL while requests are answered */
    struct pd_switch_service *switches;            /* never NULL while requests are answered */
    /* by whose topology they are programmed; main thread */
    struct pd_inventory *switches_inventory;
    struct pd_installs *installs; /* queries that run on hosts */
    struct pd_apps *apps;         /* never NULL while requests are answered */
    struct pd_controller_counters counters;
    uint64_t started_ns; /* monotonic */
    char host[65];
    atomic_bool stopping; /* set once: answers are cut short; relaxed */
};

/* One part of a controller. Functions may be NULL. */
struct pd_controller_part {
    const char *name;
    /* Before any request is answered. 0, or a negative error in words: then the controller does not
     * start. */
    int (*open)(struct pd_controller *controller, struct pd_error *error);
    /* After the inventory was replaced at a reload; main thread, while requests are answered. */
    void (*reload)(struct pd_controller *controller);
    /* Requests that are being answered shall end soon. Only of a part that was opened. */
    void (*stop)(struct pd_controller *controller);
    /* After the last request; also for a part that was not opened or only half. */
    void (*close)(struct pd_controller *controller);
};

#endif
