/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of struct pd_message, with descriptors, over SOCK_SEQPACKET. */
#include "intake/ovs/socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static int pid_fd_of_peer(int fd)
{
    struct ucred peer = {0};
    socklen_t len = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 || peer.pid <= 0) {
        return -1;
    }
    return (int)syscall(SYS_pidfd_open, peer.pid, 0);
}

int pd_ovs_socket_connect(const char *path, int *ret_pid_fd, struct pd_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd;

    if (strlen(path) >= sizeof(address.sun_path)) {
        return pd_fail(error, -ENAMETOOLONG, "%.150s: too long for the path of a socket", path);
    }
    memcpy(address.sun_path, path, strlen(path));
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return pd_fail(error, -errno, "socket: %s", strerror(errno));
    }
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        const int r = -errno;

        close(fd);
        return pd_fail(error, r, "%.120s: %s; waiting for the switch", path, strerror(-r));
    }
    *ret_pid_fd = pid_fd_of_peer(fd);
    return fd;
}

static void take_fds(struct msghdr *message, int ret_fds[2])
{
    for (struct cmsghdr *control = CMSG_FIRSTHDR(message); control;
         control = CMSG_NXTHDR(message, control)) {
        if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        const size_t n = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        for (size_t i = 0; i < n; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(control) + i * sizeof(int), sizeof(fd));
            if (i < 2 && ret_fds[i] < 0) {
                ret_fds[i] = fd;
            } else {
                close(fd);
            }
        }
    }
}

int pd_ovs_socket_receive(int fd, struct pd_message *ret_message, int ret_fds[2])
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(8 * sizeof(int))];
    } control;
    struct iovec bytes = {ret_message, sizeof(*ret_message)};
    struct msghdr message = {.msg_iov = &bytes,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    const ssize_t n = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    ret_fds[0] = ret_fds[1] = -1;
    if (n < 0) {
        return errno == EAGAIN || errno == EINTR ? 0 : -PD_E_EOF;
    }
    take_fds(&message, ret_fds);
    if (n == 0) {
        return -PD_E_EOF;
    }
    return n == (ssize_t)sizeof(*ret_message) && !(message.msg_flags & MSG_TRUNC) ? 1
                                                                                  : -PD_E_CORRUPT;
}

int pd_ovs_socket_send(int fd, enum pd_message_type type)
{
    const struct pd_message message = {.type = type, .version = PD_REGION_VERSION};

    return send(fd, &message, sizeof(message), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}
