/* SPDX-License-Identifier: Apache-2.0 */
/* Events of the kernel as readings. */
#ifndef PD_MONITOR_BPF_BPF_H
#define PD_MONITOR_BPF_BPF_H

#include <stdbool.h>
#include <stddef.h>

#include "monitor/reading.h"

/* How this network namespace labels flows by itself. */
struct pd_flow_labels {
    bool automatic; /* from a hash of the connection, which a timeout draws anew */
    bool stateless; /* such labels have their first bit set */
};

/* A piece of the ring, checked. false: it makes no sense. Thread safety: pure. */
bool pd_monitor_event_read(const void *bytes, size_t len, const struct pd_flow_labels *labels,
                           struct pd_monitor_reading *ret_reading);

#endif
