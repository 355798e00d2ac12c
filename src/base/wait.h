/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions that are waited for until a time of the monotonic clock. */
#ifndef PD_BASE_WAIT_H
#define PD_BASE_WAIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

void pd_wait_init(pthread_cond_t *ret_cond);

/* With the mutex held, and a condition of pd_wait_init(). False: `until_ns`
 * (pd_clock_monotonic_ns()) has come. As with any condition, true may mean nothing. */
bool pd_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t until_ns);

#endif
