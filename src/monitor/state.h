/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the monitor, shared by its thread (monitor.c) and by those who ask (list.c). */
#ifndef PD_MONITOR_STATE_H
#define PD_MONITOR_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "monitor/flow_table.h"
#include "monitor/inet_diag/diag.h"
#include "monitor/monitor.h"
#include "monitor/source.h"

struct pd_monitor {
    struct pd_monitor_config config;
    const struct pd_monitor_source_ops *ops; /* NULL: none */
    void *source;                            /* its work under the lock, its descriptor without */
    int wake_fd;
    bool started;
    pthread_t thread;

    pthread_mutex_t subscribers_lock; /* of these; inside `lock` */
    struct pd_monitor_subscriber {
        pd_monitor_hear *alarm;     /* NULL: … */
        pd_monitor_hear_loss *loss; /* … it hears of these */
        void *context;
    } subscribers[PD_MONITOR_SUBSCRIBERS_MAX];
    unsigned subscribers_len;

    pthread_mutex_t lock; /* of all below */
    struct pd_diag *diag;
    struct pd_flow_table *table;
    struct pd_monitor_stat stat;
    bool dump_due;      /* … since the last one */
    bool resync_due;    /* it is for events that were lost */
    uint64_t dumped_ns; /* when the last one ended */
    uint64_t dump_cost_ns;
    uint64_t second; /* in which alarms were repeated so often */
    uint32_t repeats;
};

/* ---- times: monotonic inside, wall time in answers ---- */

struct pd_edge {
    uint64_t wall_us, monotonic_ns; /* of the same moment */
};

struct pd_edge pd_monitor_edge_now(void);
uint64_t pd_monitor_edge_wall_us(const struct pd_edge *edge,
                                 uint64_t time_ns); /* 0 stays 0: never */
uint64_t pd_monitor_edge_monotonic_ns(const struct pd_edge *edge, uint64_t wall_us);

/* ---- all with the lock held ---- */

/* A reading into the table, and alarms out of it. `monitor`: a struct pd_monitor. */
void pd_monitor_take(void *monitor, const struct pd_monitor_reading *reading);

/* What the source has to say, and a dump when one is due. */
void pd_monitor_work(struct pd_monitor *monitor);

/* Reads all sockets. 0 or -errno. */
int pd_monitor_dump(struct pd_monitor *monitor, pd_diag_take *taker, void *context);

void pd_monitor_note_diag(struct pd_monitor *monitor, struct pd_diag_counters before);
void pd_monitor_stat_locked(struct pd_monitor *monitor, struct pd_monitor_stat *ret_stat);

void pd_monitor_put_figures(const struct pd_monitor_reading *reading, struct pd_monitor_flow *flow);
struct pd_monitor_flow pd_monitor_flow_of(const struct pd_flow_entry *entry,
                                          const struct pd_edge *edge, uint32_t recent);

#endif
