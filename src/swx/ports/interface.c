/* SPDX-License-Identifier: Apache-2.0 */
/* A port that is an interface: a packet socket, with the outer tag put back into frames. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "swx/ports/port.h"

#define MACS_BYTES 12u
#define TAG_BYTES  4u
#define QUEUE      (2 << 20) /* bytes of the socket each way */

struct interface {
    struct pd_swx_port port;
    int index;
};

/* The kernel takes the outer tag off and tells it beside the frame. */
static bool find_tag(struct msghdr *message, uint16_t ret_tag[2])
{
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        struct tpacket_auxdata aux;
        if (part->cmsg_level != SOL_PACKET || part->cmsg_type != PACKET_AUXDATA ||
            part->cmsg_len < CMSG_LEN(sizeof aux)) {
            continue;
        }
        memcpy(&aux, CMSG_DATA(part), sizeof aux);
        if (aux.tp_status & TP_STATUS_VLAN_VALID) {
            bool known = aux.tp_status & TP_STATUS_VLAN_TPID_VALID;
            ret_tag[0] = htons(known ? aux.tp_vlan_tpid : ETHERTYPE_VLAN);
            ret_tag[1] = htons(aux.tp_vlan_tci);
            return true;
        }
    }
    return false;
}

static void put_tag(struct pd_swx_frame *frame, const uint16_t tag[2])
{
    uint8_t *data = pd_swx_frame_data(frame) - TAG_BYTES;
    memmove(data, data + TAG_BYTES, MACS_BYTES);
    memcpy(data + MACS_BYTES, tag, TAG_BYTES);
    frame->offset -= TAG_BYTES;
    frame->bytes += TAG_BYTES;
}

/* A link that is down may come up again; an interface that is no more leaves its socket unbound. */
static bool vanished(int fd)
{
    struct sockaddr_ll address = {.sll_ifindex = -1};
    socklen_t bytes = sizeof address;
    return getsockname(fd, (struct sockaddr *)&address, &bytes) || address.sll_ifindex <= 0;
}

static enum pd_swx_received receive(struct pd_swx_port *port, struct pd_swx_frame *frame)
{
    struct iovec part = {.iov_base = pd_swx_frame_data(frame),
                         .iov_len = PD_SWX_FRAME_MAX - TAG_BYTES};
    char control[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    uint16_t tag[2];
    ssize_t got = recvmsg(port->fd, &message, MSG_DONTWAIT | MSG_TRUNC);
    if (got < 0) {
        port->gone = errno == ENETDOWN ? vanished(port->fd)
                                       : errno != EAGAIN && errno != EINTR && errno != ENOBUFS;
        return port->gone ? PD_SWX_ENDED : PD_SWX_NOTHING;
    }
    if (message.msg_flags & MSG_TRUNC) {
        return PD_SWX_DISCARDED;
    }
    frame->bytes = (uint32_t)got;
    if (got >= (ssize_t)MACS_BYTES && find_tag(&message, tag)) {
        put_tag(frame, tag);
    }
    frame->time_ns = pd_clock_wall_ns();
    return PD_SWX_FRAME;
}

/* By the interface's queue, not around it: faults of a test bed are filters there. */
static int send_frame(struct pd_swx_port *port, struct pd_swx_frame **frame)
{
    ssize_t sent = send(port->fd, pd_swx_frame_data(*frame), (*frame)->bytes, MSG_DONTWAIT);
    if (sent >= 0) {
        return 0;
    }
    return errno == EMSGSIZE                                       ? PD_SWX_TOO_LONG
           : errno == EAGAIN || errno == ENOBUFS || errno == EINTR ? PD_SWX_PORT_BUSY
                                                                   : PD_SWX_PORT_GONE;
}

static uint64_t queue(const struct pd_swx_port *port, uint32_t *ret_frames)
{
    int bytes = 0;
    *ret_frames = 0;
    return ioctl(port->fd, SIOCOUTQ, &bytes) || bytes < 0 ? 0 : (uint64_t)bytes;
}

static void close_interface(struct pd_swx_port *port)
{
    if (port->fd >= 0) {
        close(port->fd);
    }
    free(port);
}

static const struct pd_swx_port_ops interface_ops = {
    .send = send_frame, .receive = receive, .queue = queue, .close = close_interface};

/* Nothing is heard before the socket is bound to its one interface. */
static int bind_to(struct interface *interface)
{
    const int on = 1, room = QUEUE;
    struct packet_mreq all = {.mr_ifindex = interface->index, .mr_type = PACKET_MR_PROMISC};
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = interface->index};
    interface->port.fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    int fd = interface->port.fd;
    if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &on, sizeof on) ||
        setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on) ||
        setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof all) ||
        bind(fd, (const struct sockaddr *)&address, sizeof address)) {
        return -errno;
    }
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room)) {
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    }
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room)) {
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    }
    return 0;
}

int pd_swx_interface_open(const char *name, struct pd_swx_port **ret_port, struct pd_error *error)
{
    struct interface *interface = calloc(1, sizeof *interface);
    if (!interface) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    interface->port.ops = &interface_ops;
    interface->port.fd = -1;
    interface->index = (int)if_nametoindex(name);
    int err = interface->index ? bind_to(interface) : -ENODEV;
    if (err) {
        close_interface(&interface->port);
        return pd_fail(error, err, "interface %.100s: %s", name, pd_error_text(err));
    }
    *ret_port = &interface->port;
    return 0;
}
