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
#include "daemon/admission.h"
#include "daemon/part.h"
#include "fleet/fanout.h"
#include "http/credentials.h"
#include "http/sessions.h"
#include "program/program.h"

/* main.c makes all parts before the first thread starts and unmakes them after the last one has
 * ended; in between the pointers do not change. What they point to says itself how it is shared. A
 * new part is a pointer here and a line in parts.c. */

struct pd_controller {
    /* Whom questions go to instead of hosts; any thread may ask it. NULL: to hosts. */
    const struct pd_app_world *simulated;
    const struct pd_controller_settings *settings; /* for `open` of parts: as it was at start */
    struct pd_state state;                         /* the state directory */
    struct pd_hosts *hosts;                        /* topology and hosts */
    struct pd_credentials *credentials;            /* of clients, and for whom it asks */
    struct pd_fanout *fanout;                      /* connections to agents */
    struct pd_pulse *pulse;                        /* signs of life of silent hosts */
    struct pd_daemon_admission *admission;         /* of queries */
    struct pd_programs *programs;                  /* for merge() of programs */
    struct pd_events *events;                      /* never NULL while requests are answered */
    struct pd_audit *audit;                        /* never NULL while requests are answered */
    struct pd_alarm_store *alarms;                 /* never NULL while requests are answered */
    char openflow[PD_CONTROLLER_OPENFLOW_BYTES];   /* where switches come to; "": nowhere */
    struct pd_switch_service *switches;            /* never NULL while requests are answered */
    /* by whose topology they are programmed; main thread */
    struct pd_inventory *switches_inventory;
    struct pd_installs *installs; /* queries that run on hosts */
    struct pd_sessions *sessions; /* of pages; never NULL while requests are answered */
    struct pd_links *links;       /* never NULL while requests are answered */
    struct pd_apps *apps;         /* never NULL while requests are answered */
    struct pd_controller_counters counters;
    uint64_t started_ns; /* monotonic */
    char host[65];
    atomic_bool stopping; /* set once: answers are cut short; relaxed */
};

/* The list of parts (parts.c), in the order in which they are opened. Ends with NULL. */
extern const struct pd_part *const pd_controller_parts[];

#endif
