/* SPDX-License-Identifier: Apache-2.0 */
/* Signals of a daemon as something to read: SIGHUP reloads, SIGTERM and SIGINT end. */
#ifndef PD_DAEMON_SIGNALS_H
#define PD_DAEMON_SIGNALS_H

#include <stdbool.h>

#include "base/error.h"

/* No handler, no interrupted system call. Threads started afterwards inherit the mask.
 *
 * Thread safety: the main thread only. */

/* A reload that is asked for before all is open waits; what ends the daemon does so at once until
 * pd_daemon_signals_open. */
void pd_daemon_signals_hold(void);

/* The descriptor that gets readable, or -errno in words. SIGPIPE is ignored from here on. */
int pd_daemon_signals_open(int *ret_fd, struct pd_error *error);

struct pd_signals_taken {
    bool reload;
    bool end;
};

/* Reads all that came; does not wait. */
struct pd_signals_taken pd_daemon_signals_take(int fd);

#endif
