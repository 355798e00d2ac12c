/* SPDX-License-Identifier: Apache-2.0 */
/* signalfd and the mask around it. */
#include "daemon/signals.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

void pd_daemon_signals_hold(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

int pd_daemon_signals_open(int *ret_fd, struct pd_error *error)
{
    sigset_t set;
    int fd;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0) {
        return pd_fail(error, -errno, "signalfd: %s", strerror(errno));
    }
    *ret_fd = fd;
    return 0;
}

struct pd_signals_taken pd_daemon_signals_take(int fd)
{
    struct pd_signals_taken taken = {0};
    struct signalfd_siginfo info;

    while (read(fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGHUP) {
            taken.reload = true;
        } else {
            taken.end = true;
        }
    }
    return taken;
}
