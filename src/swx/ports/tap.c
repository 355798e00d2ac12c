/* SPDX-License-Identifier: Apache-2.0 */
/* A port that is a tap: frames that its interface sends come in, and those it sends come out. */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "swx/ports/port.h"

static enum pd_swx_received receive(struct pd_swx_port *port, struct pd_swx_frame *frame)
{
    ssize_t got = read(port->fd, pd_swx_frame_data(frame), PD_SWX_FRAME_MAX);
    if (got <= 0) {
        port->gone = got < 0 && errno != EAGAIN && errno != EINTR;
        return port->gone ? PD_SWX_ENDED : PD_SWX_NOTHING;
    }
    frame->bytes = (uint32_t)got;
    frame->time_ns = pd_clock_wall_ns();
    return PD_SWX_FRAME;
}

static int send_frame(struct pd_swx_port *port, struct pd_swx_frame **frame)
{
    ssize_t sent = write(port->fd, pd_swx_frame_data(*frame), (*frame)->bytes);
    if (sent >= 0) {
        return 0;
    }
    return errno == EAGAIN || errno == EINTR || errno == ENOBUFS ? PD_SWX_PORT_BUSY
           : errno == EINVAL || errno == EMSGSIZE                ? PD_SWX_TOO_LONG
                                                                 : PD_SWX_PORT_GONE;
}

static void close_tap(struct pd_swx_port *port)
{
    if (port->fd >= 0) {
        close(port->fd);
    }
    free(port);
}

static const struct pd_swx_port_ops tap_ops = {
    .send = send_frame, .receive = receive, .close = close_tap};

static int bring_up(const char *name)
{
    struct ifreq wanted = {.ifr_flags = 0};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;
    snprintf(wanted.ifr_name, sizeof wanted.ifr_name, "%s", name);
    if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &wanted)) {
        err = -errno;
    }
    wanted.ifr_flags |= IFF_UP;
    if (!err && ioctl(fd, SIOCSIFFLAGS, &wanted)) {
        err = -errno;
    }
    if (fd >= 0) {
        close(fd);
    }
    return err;
}

static int make(const char *name, int *ret_fd)
{
    struct ifreq wanted = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    snprintf(wanted.ifr_name, sizeof wanted.ifr_name, "%s", name);
    int err = fd < 0 || ioctl(fd, TUNSETIFF, &wanted) ? -errno : bring_up(name);
    if (err && fd >= 0) {
        close(fd);
    }
    *ret_fd = err ? -1 : fd;
    return err;
}

int pd_swx_tap_open(const char *name, struct pd_swx_port **ret_port, struct pd_error *error)
{
    struct pd_swx_port *port = calloc(1, sizeof *port);
    int fd = -1, err = port ? 0 : -ENOMEM;
    if (!err) {
        err = strlen(name) < IFNAMSIZ ? make(name, &fd) : -ENAMETOOLONG;
    }
    if (err) {
        free(port);
        return pd_fail(error, err, "tap %.100s: %s", name, pd_error_text(err));
    }
    *port = (struct pd_swx_port){.ops = &tap_ops, .fd = fd};
    *ret_port = port;
    return 0;
}
