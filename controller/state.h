/* SPDX-License-Identifier: Apache-2.0 */
/* The state directory: what the controller must still know after a restart. */
#ifndef PD_CONTROLLER_STATE_H
#define PD_CONTROLLER_STATE_H

#include "base/error.h"

/* One controller for a directory: it holds a lock on the file `lock` in it while it runs. Each part
 * keeps files of its own there, opened relative to `fd`.
 *
 * Thread safety: opened and closed by the main thread; the descriptor may be used by all. */

struct pd_state {
    const char *path;
    int fd;      /* of the directory, -1: not open */
    int lock_fd; /* -1: not open */
};

/* Makes the directory (not those above it) when it is not there. -PD_E_BUSY when another controller
 * has it, -errno in words when nothing can be written there. `path` must outlive the state. */
int pd_controller_state_open(const char *path, struct pd_state *ret_state, struct pd_error *error);

void pd_controller_state_close(struct pd_state *state); /* half-open is fine */

#endif
