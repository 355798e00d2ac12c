/* SPDX-License-Identifier: Apache-2.0 */
/* sd_notify's protocol, as sd_notify(3) describes it. */
#include "daemon/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"

int pd_daemon_notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = path ? strlen(path) : 0;
    int fd, err = 1;

    if (!len) {
        return 0;
    }
    if ((path[0] != '/' && path[0] != '@') || len >= sizeof address.sun_path) {
        return -EINVAL;
    }
    memcpy(address.sun_path, path, len);
    if (path[0] == '@') { /* an abstract socket */
        address.sun_path[0] = '\0';
    }
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -errno;
    }
    if (sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address,
               (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0) {
        err = -errno;
    }
    close(fd);
    return err;
}

int pd_daemon_notify_reloading(void)
{
    char state[80];

    snprintf(state, sizeof state, "RELOADING=1\nMONOTONIC_USEC=%llu",
             (unsigned long long)(pd_clock_monotonic_ns() / PD_NS_PER_US));
    return pd_daemon_notify(state);
}

uint64_t pd_daemon_notify_watchdog_ns(void)
{
    const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

    if (!usec || (pid && strtol(pid, NULL, 10) != (long)getpid())) {
        return 0;
    }
    return strtoull(usec, NULL, 10) * PD_NS_PER_US / 2;
}
