/* SPDX-License-Identifier: Apache-2.0 */
/* Worker processes: started when one is needed, a few kept for the next run. */
#ifndef PD_PROGRAM_WORKERS_H
#define PD_PROGRAM_WORKERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* A worker belongs to whoever took it, until it is given back or ended. Starting one takes about a
 * millisecond.
 *
 * Thread safety: all functions may be called from any thread. */

#define PD_WORKERS_IDLE_MAX 4u

struct pd_worker {
    pid_t pid;
    int fd; /* a stream socket to it */
};

struct pd_program_workers;

int pd_program_workers_new(
    const char *path, struct pd_program_workers **ret_workers); /* path: as for pd_programs_new */
void pd_program_workers_free(struct pd_program_workers *workers);

/* *ret_fresh: it was started just now. -PD_E_UNSUPPORTED when there is no such program, or -errno.
 */
int pd_program_workers_take(struct pd_program_workers *workers, struct pd_worker *ret_worker,
                            bool *ret_fresh, struct pd_error *error);
void pd_program_workers_give(struct pd_program_workers *workers, struct pd_worker *worker);
void pd_program_workers_end(struct pd_worker *worker); /* kills it and waits for it */
uint64_t pd_program_workers_started(struct pd_program_workers *workers);

#endif
