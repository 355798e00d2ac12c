/* SPDX-License-Identifier: Apache-2.0 */
/* Flows over UDP: each from a port of its own, at the pace of a flow. */
#include "generator.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READS_A_TURN 64
#define BUFFER_BYTES (4 << 20)

struct receiver {
    struct source source; /* the first member */
    struct generator *generator;
};

static void receive_ready(struct source *source, uint32_t events)
{
    struct generator *generator = ((struct receiver *)source)->generator;
    uint8_t data[2 * DATAGRAM_BYTES];
    uint64_t offset;

    (void)events;
    for (int turn = 0; turn < READS_A_TURN; turn++) {
        const ssize_t got = recv(source->fd, data, sizeof(data), 0);

        if (got < (ssize_t)sizeof(offset)) {
            return;
        }
        memcpy(&offset, data, sizeof(offset));
        generator->totals.datagrams_received++;
        generator->totals.received_bytes += (uint64_t)got - sizeof(offset);
        generator->totals.wrong +=
            memcmp(data + sizeof(offset), pattern_at(generator, be64toh(offset)),
                   (size_t)got - sizeof(offset)) != 0;
    }
}

bool udp_listen(struct generator *generator, uint16_t port)
{
    const struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    const int zero = 0, buffer = BUFFER_BYTES;
    struct receiver *receiver = calloc(1, sizeof(*receiver));

    if (!receiver) {
        return false;
    }
    receiver->generator = generator;
    receiver->source.ready = receive_ready;
    receiver->source.fd = socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(receiver->source.fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof(buffer));
    setsockopt(receiver->source.fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
    return !bind(receiver->source.fd, (const struct sockaddr *)&any, sizeof(any)) &&
           watch(generator, &receiver->source, EPOLLIN);
}

/* Nothing comes in by its socket: epoll does not have it. */
void udp_start(struct generator *generator, const struct sockaddr_in6 *to, uint64_t size)
{
    struct flow *flow = calloc(1, sizeof(*flow));
    const int fd = flow ? socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0) : -1;

    generator->totals.started++;
    if (fd < 0 || connect(fd, (const struct sockaddr *)to, sizeof(*to)) < 0) {
        generator->totals.failed++;
        free(flow);
        if (fd >= 0) {
            close(fd);
        }
        return;
    }
    flow->source.fd = fd;
    flow->size = size;
    flow->progress_ns = generator->now_ns;
    generator->len++;
    TAILQ_INSERT_TAIL(&generator->datagrams, flow, next);
}

static void send_datagram(struct generator *generator, struct flow *flow)
{
    uint8_t data[DATAGRAM_BYTES];
    const uint64_t offset = htobe64(flow->at), left = flow->size - flow->at;
    const size_t room = sizeof(data) - sizeof(offset), bytes = left < room ? left : room;

    memcpy(data, &offset, sizeof(offset));
    memcpy(data + sizeof(offset), pattern_at(generator, flow->at), bytes);
    if (send(flow->source.fd, data, sizeof(offset) + bytes, MSG_NOSIGNAL) > 0) {
        generator->totals.datagrams_sent++;
        generator->totals.sent_bytes += bytes;
    }
    flow->at += bytes;
}

void udp_send(struct generator *generator)
{
    struct flow *flow, *next;

    for (flow = TAILQ_FIRST(&generator->datagrams); flow; flow = next) {
        const double due =
            (double)(generator->now_ns - flow->progress_ns) * generator->flow_mbit / 8e3;

        next = TAILQ_NEXT(flow, next);
        while (flow->at < flow->size && (double)flow->at <= due) {
            send_datagram(generator, flow);
        }
        if (flow->at >= flow->size) {
            TAILQ_REMOVE(&generator->datagrams, flow, next);
            close(flow->source.fd);
            free(flow);
            generator->len--;
            generator->totals.done++;
        }
    }
}
