/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's meters inside: what the thread, the routes and applications share. */
#ifndef PD_CONTROLLER_METERS_PRIVATE_H
#define PD_CONTROLLER_METERS_PRIVATE_H

#include <pthread.h>

#include "controller/controller.h"
#include "controller/meters/meters.h"
#include "controller/meters/stretches.h"
#include "evidence/meters.h"

#define PD_METERS_KEPT_MAX 1024u /* epochs whose rows are kept */

struct pd_meters_monitor {
    uint32_t id, sw; /* of the topology */
    char *url;
    /* Of the epoch at hand; the thread's. */
    json_t *document; /* NULL: it did not answer, or not well */
    uint64_t version; /* of the rules that it shall have */
    bool dsm_changed, usm_changed;
    /* With the lock. */
    uint64_t heard_epoch;                  /* the newest that it answered for */
    char reason[120];                      /* why it did not answer for the last one; "": it did */
    uint64_t late, strays, disagree, full; /* as it says */
};

/* What a segment lost in one epoch. */
struct pd_meters_row {
    const struct pd_path *path;
    uint64_t sent, lost;
};

struct pd_meters_kept {
    uint64_t from_us, to_us, read_us;
    struct pd_meters_row *rows;
    size_t len;
};

struct pd_meters_segment_view {
    const struct pd_path *path;
    struct pd_meter_segment segment;
};

struct pd_meters {
    struct pd_controller *controller;
    struct pd_fanout *fanout;
    struct pd_topology *topology; /* as it was at the start */
    struct pd_codec *codec;
    struct pd_meters_monitor *monitors;
    uint32_t monitors_len;
    uint32_t *numbers; /* by switch: of its monitor; PD_NONE: none */
    pthread_t thread;
    bool started;
    /* The thread's. */
    struct pd_meter_loop *loop;
    struct pd_meters_stretches stretches;
    uint64_t running; /* generation of the settings that the loop has; 0: it is stopped */
    uint64_t versions;
    bool *alarmed; /* by segment: its loss has been told */
    size_t alarmed_room;
    /* Removed with the last epoch: their packets may be on the way. */
    struct pd_meter_rule *leaving;
    size_t leaving_len, leaving_room;

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t wake;
    bool stopping;
    uint64_t generation; /* of the settings, from 1; 0: there are none */
    struct pd_meter_loop_settings settings;
    uint64_t epoch_ms, epoch;
    struct pd_meter_loop_counters loop_counters;
    struct pd_meters_segment_view *views;
    size_t views_len;
    struct pd_meters_kept kept[PD_METERS_KEPT_MAX]; /* a ring */
    size_t kept_next;
};

extern struct pd_meters pd_meters;

/* Counters of the part. */
#define PD_METERS_COUNTERS(X)                                                  \
    X(epochs, "epochs that were read")                                         \
    X(unread, "answers of monitors that did not come, or were not understood") \
    X(measured, "packets of flows whose losses are known")                     \
    X(lost, "of them, lost")                                                   \
    X(undetermined, "flows of an epoch whose losses could not be told")        \
    X(more_received, "flows of an epoch of which more came than was sent")     \
    X(untold, "filters that tell no segment, or several")                      \
    X(alarms, "alarms SEGMENT_LOSS that were raised")
struct pd_meters_counters {
#define X(name, text) _Atomic uint64_t name;
    PD_METERS_COUNTERS(X)
#undef X
};
extern struct pd_meters_counters pd_meters_counters;

/* ask.c: answers for an epoch into the monitors' documents. */
void pd_meters_ask(struct pd_meters *meters, uint64_t epoch);
/* Rules to those for which they have changed: downstream first, then upstream. */
void pd_meters_push(struct pd_meters *meters);

/* epoch.c: what an epoch says. 0 or -ENOMEM. */
int pd_meters_epoch(struct pd_meters *meters, uint64_t epoch);

/* kept.c: rows and views of the epoch that has ended. With the lock. */
int pd_meters_keep(struct pd_meters *meters, uint64_t epoch);
void pd_meters_forget(struct pd_meters *meters);

extern const struct pd_part_route pd_meters_routes[];

#endif
