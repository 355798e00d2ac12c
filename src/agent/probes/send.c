/* SPDX-License-Identifier: Apache-2.0 */
/* A packet socket and one for packets that are routed, and probes made one by one. */
#include "agent/probes/send.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/if_packet.h>
#include <net/if.h>

int pd_agent_probe_socket_open(struct pd_agent_probe_socket *to, const char *interface,
                               struct pd_error *error)
{
    to->fd = to->routed = -1;
    if (strlen(interface) >= sizeof to->interface) {
        return pd_fail(error, -ENODEV, "%.40s: no such interface", interface);
    }
    memcpy(to->interface, interface, strlen(interface) + 1);
    to->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (to->fd < 0) {
        return pd_fail(error, -errno, "probes: %s", strerror(errno));
    }
    to->routed = socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
    return 0;
}

void pd_agent_probe_socket_close(struct pd_agent_probe_socket *to)
{
    if (to->fd >= 0) {
        close(to->fd);
    }
    if (to->routed >= 0) {
        close(to->routed);
    }
    to->fd = to->routed = -1;
}

/* The name is looked up each time: an interface may go and come back. */
static int send_frame(const struct pd_agent_probe_socket *to, const uint8_t *frame, size_t bytes)
{
    struct sockaddr_ll where = {.sll_family = AF_PACKET,
                                .sll_ifindex = (int)if_nametoindex(to->interface)};
    ssize_t done = where.sll_ifindex ? sendto(to->fd, frame, bytes, MSG_DONTWAIT,
                                              (const struct sockaddr *)&where, sizeof where)
                                     : -1;

    return done == (ssize_t)bytes ? 0 : done < 0 ? -errno : -EIO;
}

/* By the route to the first segment. What goes back to this host has no route but the one inside
 * it. */
static int send_routed(const struct pd_agent_probe_socket *to, const struct pd_probe_order_way *way,
                       const uint8_t *frame, size_t bytes)
{
    const uint8_t *packet = frame + PD_PROBE_CARRIER_ETHERNET_BYTES;
    const size_t len = bytes - PD_PROBE_CARRIER_ETHERNET_BYTES;
    struct sockaddr_in6 where = {.sin6_family = AF_INET6};

    if (to->routed < 0 || way->from_host == way->to_host) {
        return -EHOSTUNREACH;
    }
    memcpy(&where.sin6_addr, packet + 24, sizeof where.sin6_addr);
    ssize_t done = sendto(to->routed, packet, len, MSG_DONTWAIT, (const struct sockaddr *)&where,
                          sizeof where);
    return done == (ssize_t)len ? 0 : done < 0 ? -errno : -EIO;
}

int pd_agent_probe_send(struct pd_agent_probe_socket *to, const struct pd_agent_probe_part *part,
                        struct pd_agent_probe_way *way, uint64_t wall_ns)
{
    const struct pd_probe_carrier_request request =
        pd_probe_order_request(&part->order, way->way, part->topology, way->next, wall_ns);
    uint8_t frame[PD_PROBE_CARRIER_FRAME_MAX];
    size_t bytes = 0;
    struct pd_error error = {0};
    int err = part->order.carrier->encode(&request, frame, &bytes, &error);

    if (!err) {
        err = part->order.carrier->routed ? send_routed(to, way->way, frame, bytes)
                                          : send_frame(to, frame, bytes);
    }
    way->next += !err;
    return err;
}
