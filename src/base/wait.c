/* SPDX-License-Identifier: Apache-2.0 */
/* pthread conditions on the monotonic clock. */
#include "base/wait.h"

#include <time.h>

#include "base/clock.h"

void pd_wait_init(pthread_cond_t *ret_cond)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(ret_cond, &attr);
    pthread_condattr_destroy(&attr);
}

bool pd_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t until_ns)
{
    const struct timespec until = {.tv_sec = (time_t)(until_ns / PD_NS_PER_S),
                                   .tv_nsec = (long)(until_ns % PD_NS_PER_S)};

    return !pthread_cond_timedwait(cond, mutex, &until);
}
