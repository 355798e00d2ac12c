/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between the agent and a worker: whole ones, in time, and none larger than agreed. */
#include "program/wire.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/error.h"

#define HEAD_BYTES 5u

/* Waits until the socket is ready for `events`. */
static int wait_for(int fd, short events, uint64_t deadline_ns)
{
    for (;;) {
        uint64_t now_ns = pd_clock_monotonic_ns();
        struct pollfd ready = {.fd = fd, .events = events};
        int timeout_ms = -1;
        if (deadline_ns != PD_WIRE_FOREVER) {
            uint64_t left_ms = deadline_ns > now_ns ? (deadline_ns - now_ns) / PD_NS_PER_MS + 1 : 0;
            timeout_ms = left_ms > 60000 ? 60000 : (int)left_ms;
        }
        int n = poll(&ready, 1, timeout_ms);
        if (n > 0) {
            return 0;
        }
        if (n < 0 && errno != EINTR) {
            return -errno;
        }
        if (n == 0 && pd_clock_monotonic_ns() >= deadline_ns) {
            return -ETIMEDOUT;
        }
    }
}

static int send_all(int fd, uint64_t deadline_ns, const void *bytes, size_t len)
{
    const char *at = bytes;
    while (len) {
        ssize_t n = send(fd, at, len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) {
            at += n;
            len -= (size_t)n;
        } else if (errno == EAGAIN) {
            int err = wait_for(fd, POLLOUT, deadline_ns);
            if (err) {
                return err;
            }
        } else if (errno != EINTR) {
            return errno == EPIPE || errno == ECONNRESET ? -PD_E_EOF : -errno;
        }
    }
    return 0;
}

static int receive_all(int fd, uint64_t deadline_ns, void *bytes, size_t len)
{
    char *at = bytes;
    while (len) {
        int err = wait_for(fd, POLLIN, deadline_ns);
        if (err) {
            return err;
        }
        ssize_t n = recv(fd, at, len, MSG_DONTWAIT);
        if (n > 0) {
            at += n;
            len -= (size_t)n;
        } else if (n == 0 || errno == ECONNRESET) {
            return -PD_E_EOF;
        } else if (errno != EAGAIN && errno != EINTR) {
            return -errno;
        }
    }
    return 0;
}

int pd_program_wire_send(int fd, uint64_t deadline_ns, enum pd_program_wire_kind kind,
                         const void *head, size_t head_len, const void *bytes, size_t len)
{
    if (head_len + len > PD_WIRE_MAX_BYTES) {
        return -PD_E_TOO_LARGE;
    }
    uint32_t size = htole32((uint32_t)(head_len + len));
    char start[HEAD_BYTES];
    memcpy(start, &size, sizeof size);
    start[4] = (char)kind;
    int err = send_all(fd, deadline_ns, start, sizeof start);
    err = err || !head_len ? err : send_all(fd, deadline_ns, head, head_len);
    return err || !len ? err : send_all(fd, deadline_ns, bytes, len);
}

int pd_program_wire_receive(int fd, uint64_t deadline_ns,
                            struct pd_program_wire_message *ret_message)
{
    unsigned char start[HEAD_BYTES];
    uint32_t len;
    int err = receive_all(fd, deadline_ns, start, sizeof start);
    if (err) {
        return err;
    }
    memcpy(&len, start, sizeof len);
    len = le32toh(len);
    if (len > PD_WIRE_MAX_BYTES) {
        return -PD_E_TOO_LARGE;
    }
    if (start[4] < PD_WIRE_RUN || start[4] > PD_WIRE_FAILED) {
        return -PD_E_SYNTAX;
    }
    char *bytes = malloc((size_t)len + 1);
    if (!bytes) {
        return -ENOMEM;
    }
    err = receive_all(fd, deadline_ns, bytes, len);
    if (err) {
        free(bytes);
        return err;
    }
    bytes[len] = 0;
    *ret_message =
        (struct pd_program_wire_message){(enum pd_program_wire_kind)start[4], bytes, len};
    return 0;
}
