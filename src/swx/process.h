/* SPDX-License-Identifier: Apache-2.0 */
/* All switches of the process, and the work of its one thread. */
#ifndef PD_SWX_PROCESS_H
#define PD_SWX_PROCESS_H

#include <pthread.h>
#include <stdatomic.h>

#include "swx/config.h"
#include "swx/switch.h"

/* Where all ports are captures, their frames come in in the order of their times, one at a time
 * through all switches, and the process ends with them. Else it forwards
 * behind them until it is told to stop, and sleeps while no port has anything.
 *
 * One thread forwards; others take the lock. */

struct pd_swx_process {
    struct pd_swx_switch *switches;
    uint32_t len;
    bool captures;
    int epoll_fd;
    int stop_fd; /* becomes readable when it is to end; -1: never */
    /* Who holds it may look at switches and change them; the forwarding thread lets go of it when
     * no frame is inside a program, and waits then for those who ask. */
    pthread_mutex_t lock;
    atomic_uint waiting;
};

/* 0 or a negative error in words. */
int pd_swx_process_open(const struct pd_swx_config *config, struct pd_swx_process *ret_process,
                        struct pd_error *error);
void pd_swx_process_close(struct pd_swx_process *process);

/* Until the captures end, or `stop_fd` says so. 0 or -errno. */
int pd_swx_process_run(struct pd_swx_process *process);

/* For other threads. */
void pd_swx_process_lock(struct pd_swx_process *process);
void pd_swx_process_unlock(struct pd_swx_process *process);

#endif
