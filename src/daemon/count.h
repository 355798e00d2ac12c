/* SPDX-License-Identifier: Apache-2.0 */
/* Counters that any thread adds to and any thread reads. */
#ifndef PD_DAEMON_COUNT_H
#define PD_DAEMON_COUNT_H

#include <stdatomic.h>
#include <stdint.h>

/* Relaxed: numbers for people, nothing else hangs on them. */

static inline void pd_count(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static inline uint64_t pd_counted(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

#endif
