/* SPDX-License-Identifier: Apache-2.0 */
/* Flows over TCP, both ends. */
#include "generator.h"

#include <endian.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEADER_BYTES 8
#define BACKLOG      1024
#define WINDOW_BYTES (256 << 10) /* a flow does not fill a queue by itself */
#define READS_A_TURN 4

static void end_flow(struct flow *flow)
{
    struct generator *generator = flow->generator;

    close(flow->source.fd);
    TAILQ_REMOVE(&generator->flows, flow, next);
    generator->len -= flow->sends;
    free(flow);
}

static void fail_flow(struct flow *flow)
{
    flow->generator->totals.failed += flow->sends;
    end_flow(flow);
}

static bool comes_later(void)
{
    return errno == EAGAIN || errno == EINTR || errno == EINPROGRESS;
}

/* The list stands in the order of progress. */
static void touch(struct flow *flow)
{
    struct generator *generator = flow->generator;

    flow->progress_ns = generator->now_ns;
    TAILQ_REMOVE(&generator->flows, flow, next);
    TAILQ_INSERT_TAIL(&generator->flows, flow, next);
}

static struct flow *add_flow(struct generator *generator, int fd,
                             void (*ready)(struct source *source, uint32_t events), uint32_t events)
{
    struct flow *flow = calloc(1, sizeof(*flow));

    if (!flow) {
        close(fd);
        return NULL;
    }
    flow->source = (struct source){.ready = ready, .fd = fd};
    flow->generator = generator;
    flow->progress_ns = generator->now_ns;
    TAILQ_INSERT_TAIL(&generator->flows, flow, next);
    if (!watch(generator, &flow->source, events)) {
        end_flow(flow);
        return NULL;
    }
    return flow;
}

/* ---- receiving ------------------------------------------------------------------------------ */

static ssize_t take_header(struct flow *flow, const uint8_t *data, ssize_t bytes)
{
    ssize_t used = 0;

    for (; used < bytes && flow->header < HEADER_BYTES; used++, flow->header++) {
        flow->size = flow->size << 8 | data[used];
    }
    return used;
}

static void take_payload(struct flow *flow, const uint8_t *data, size_t bytes)
{
    flow->wrong |= bytes > flow->size - flow->at ||
                   memcmp(data, pattern_at(flow->generator, flow->at), bytes) != 0;
    flow->at += bytes;
    flow->generator->totals.received_bytes += bytes;
}

static void answer(struct flow *flow)
{
    const char right = flow->wrong ? 'x' : 'k';

    flow->answered = true;
    flow->generator->totals.wrong += flow->wrong;
    if (send(flow->source.fd, &right, 1, MSG_NOSIGNAL) != 1) {
        flow->wrong = true;
    }
}

static void serve_ready(struct source *source, uint32_t events)
{
    struct flow *flow = (struct flow *)source;
    uint8_t data[PATTERN_BYTES];

    (void)events;
    for (int turn = 0; turn < READS_A_TURN; turn++) {
        const ssize_t got = recv(source->fd, data, sizeof(data), 0);
        ssize_t used;

        if (got <= 0) {
            if (!got || !comes_later()) {
                fail_flow(flow);
            }
            return;
        }
        touch(flow);
        used = take_header(flow, data, got);
        take_payload(flow, data + used, (size_t)(got - used));
        if (flow->header == HEADER_BYTES && flow->at >= flow->size && !flow->answered) {
            answer(flow);
        }
    }
}

/* ---- listening ------------------------------------------------------------------------------ */

struct listener {
    struct source source; /* the first member */
    struct generator *generator;
};

static void accept_ready(struct source *source, uint32_t events)
{
    struct generator *generator = ((struct listener *)source)->generator;
    const int fd = accept4(source->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    (void)events;
    if (fd >= 0) {
        add_flow(generator, fd, serve_ready, EPOLLIN);
    }
}

bool tcp_listen(struct generator *generator, uint16_t port)
{
    const struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    const int one = 1, zero = 0, window = WINDOW_BYTES;
    struct listener *listener = calloc(1, sizeof(*listener));

    if (!listener) {
        return false;
    }
    listener->generator = generator;
    listener->source.ready = accept_ready;
    listener->source.fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(listener->source.fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    setsockopt(listener->source.fd, SOL_SOCKET, SO_RCVBUF, &window, sizeof(window));
    setsockopt(listener->source.fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
    return !bind(listener->source.fd, (const struct sockaddr *)&any, sizeof(any)) &&
           !listen(listener->source.fd, BACKLOG) && watch(generator, &listener->source, EPOLLIN);
}

/* ---- sending -------------------------------------------------------------------------------- */

static void hear_answer(struct flow *flow)
{
    char right = 0;
    const ssize_t got = recv(flow->source.fd, &right, 1, 0);

    if (got < 0 && comes_later()) {
        return;
    }
    if (got == 1 && right == 'k' && flow->at == flow->size) {
        flow->generator->totals.done++;
        end_flow(flow);
    } else {
        fail_flow(flow);
    }
}

/* False when no more can be sent for now, or ever. */
static bool send_some(struct flow *flow)
{
    const uint64_t size = htobe64(flow->size), left = flow->size - flow->at;
    const bool head = flow->header < HEADER_BYTES;
    const uint8_t *data =
        head ? (const uint8_t *)&size + flow->header : pattern_at(flow->generator, flow->at);
    const size_t bytes = head                   ? HEADER_BYTES - flow->header
                         : left < PATTERN_BYTES ? left
                                                : PATTERN_BYTES;
    const ssize_t sent = send(flow->source.fd, data, bytes, MSG_NOSIGNAL | (head ? MSG_MORE : 0));

    if (sent < 0) {
        return false;
    }
    flow->header += head ? (unsigned)sent : 0;
    flow->at += head ? 0 : (uint64_t)sent;
    flow->generator->totals.sent_bytes += head ? 0 : (uint64_t)sent;
    touch(flow);
    return true;
}

static void send_ready(struct source *source, uint32_t events)
{
    struct flow *flow = (struct flow *)source;
    struct epoll_event wait = {.events = EPOLLIN, .data.ptr = source};

    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
        hear_answer(flow);
        return;
    }
    while (flow->at < flow->size) {
        if (!send_some(flow)) {
            if (!comes_later()) {
                fail_flow(flow);
            }
            return;
        }
    }
    epoll_ctl(flow->generator->epoll, EPOLL_CTL_MOD, source->fd, &wait);
}

void tcp_start(struct generator *generator, const struct sockaddr_in6 *to, uint64_t size)
{
    const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const uint64_t pace = (uint64_t)(generator->flow_mbit * 125000);
    const int window = WINDOW_BYTES, one = 1;
    struct flow *flow;

    generator->totals.started++;
    setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &pace, sizeof(pace));
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &window, sizeof(window));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (fd < 0 || (connect(fd, (const struct sockaddr *)to, sizeof(*to)) < 0 && !comes_later())) {
        generator->totals.failed++;
        if (fd >= 0) {
            close(fd);
        }
        return;
    }
    flow = add_flow(generator, fd, send_ready, EPOLLOUT);
    generator->totals.failed += !flow;
    if (flow) {
        flow->sends = true;
        flow->size = size;
        generator->len++;
    }
}

void tcp_sweep(struct generator *generator)
{
    struct flow *flow;

    while ((flow = TAILQ_FIRST(&generator->flows)) &&
           generator->now_ns - flow->progress_ns > PATIENCE_NS) {
        fail_flow(flow);
    }
}
