/* SPDX-License-Identifier: Apache-2.0 */
/* Where the monitor's knowledge comes from: what each source implements. */
#ifndef PD_MONITOR_SOURCE_H
#define PD_MONITOR_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "monitor/monitor.h"
#include "monitor/reading.h"

/* One thread calls `work` when the descriptor is readable and when a period has gone by. The source
 * hands on what it was told, and says when all sockets have to be read, because it was told too
 * little; the monitor does that, not more often than its cost allows. */

struct pd_monitor_told {
    uint64_t events;  /* handed on */
    uint64_t refused; /* made no sense */
    uint64_t lost;    /* since the call before */
    bool dump;        /* all sockets have to be read */
};

struct pd_monitor_source_ops {
    enum pd_monitor_source id;

    /* In the caller's network namespace. -PD_E_UNSUPPORTED, -EPERM … with words; nothing is left
     * behind. */
    int (*open)(const struct pd_monitor_config *config, void **ret_source, struct pd_error *error);

    /* Readable when there is work; -1: it has to be asked once a period. */
    int (*fd)(const void *source);

    /* Hands on what there is, a bounded number; does not wait. */
    void (*work)(void *source, void (*take)(void *context, const struct pd_monitor_reading *),
                 void *context, struct pd_monitor_told *ret_told);

    void (*close)(void *source); /* NULL is fine */
};

extern const struct pd_monitor_source_ops pd_monitor_bpf, pd_monitor_inet_diag;

#endif
