/* SPDX-License-Identifier: Apache-2.0 */
/* Events of the kernel as readings. */
#ifndef PD_MONITOR_BPF_BPF_H
#define PD_MONITOR_BPF_BPF_H

#include <stdbool.h>
#include <stddef.h>

#include "monitor/reading.h"

/* A piece of the ring, checked. false: it makes no sense. Thread safety: pure. */
bool pd_monitor_event_read(const void *bytes, size_t len, struct pd_monitor_reading *ret_reading);

#endif
