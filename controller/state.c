/* SPDX-License-Identifier: Apache-2.0 */
/* The state directory and its lock. */
#include "controller/state.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_directory(const char *path, int *ret_fd, struct pd_error *error)
{
    if (mkdir(path, 0750) && errno != EEXIST) {
        return pd_fail(error, -errno, "state: %.200s cannot be made: %s", path, strerror(errno));
    }
    *ret_fd = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    if (*ret_fd < 0) {
        return pd_fail(error, -errno, "state: %.200s: %s", path, strerror(errno));
    }
    return 0;
}

static int take_lock(struct pd_state *state, struct pd_error *error)
{
    state->lock_fd = openat(state->fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (state->lock_fd < 0) {
        return pd_fail(error, -errno, "state: nothing can be written in %.200s: %s", state->path,
                       strerror(errno));
    }
    if (!flock(state->lock_fd, LOCK_EX | LOCK_NB)) {
        return 0;
    }
    if (errno == EWOULDBLOCK) {
        return pd_fail(error, -PD_E_BUSY, "state: another controller works with %.200s",
                       state->path);
    }
    return pd_fail(error, -errno, "state: %.200s/lock: %s", state->path, strerror(errno));
}

int pd_controller_state_open(const char *path, struct pd_state *ret_state, struct pd_error *error)
{
    struct pd_state state = {.path = path, .fd = -1, .lock_fd = -1};
    int err = open_directory(path, &state.fd, error);

    if (!err) {
        err = take_lock(&state, error);
    }
    if (err) {
        pd_controller_state_close(&state);
    } else {
        *ret_state = state;
    }
    return err;
}

void pd_controller_state_close(struct pd_state *state)
{
    if (state->lock_fd >= 0) {
        close(state->lock_fd);
    }
    if (state->fd >= 0) {
        close(state->fd);
    }
    state->fd = state->lock_fd = -1;
}
