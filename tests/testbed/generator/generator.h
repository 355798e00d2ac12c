/* SPDX-License-Identifier: Apache-2.0 */
/* The traffic of one host of a test bed: many flows in one process, and what was carried. */
#ifndef TESTBED_GENERATOR_GENERATOR_H
#define TESTBED_GENERATOR_GENERATOR_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/queue.h>

#include "sim/sizes.h"

/* A flow's bytes are those of one pattern from their offset on, so that the receiver checks each of
 * them. Over TCP: a size of 8 bytes, the bytes, and one byte back that says whether they were
 * right. Over UDP: datagrams that begin with their offset; nothing comes back.
 *
 * One thread; epoll. Flows are in lists, oldest first. */

#define PATTERN_BYTES  65536
#define PATIENCE_NS    (10 * UINT64_C(1000000000)) /* without any progress */
#define DATAGRAM_BYTES 1200
#define LARGE_BYTES    50000 /* what is larger goes to the next port: a bad hash knows it by that */

struct totals {
    uint64_t started, done, failed, wrong, late;
    uint64_t sent_bytes, received_bytes; /* of payload */
    uint64_t datagrams_sent, datagrams_received;
};

/* What epoll gives back: what to do, and with what. */
struct source {
    void (*ready)(struct source *source, uint32_t events);
    int fd;
};

struct flow {
    struct source source; /* the first member */
    TAILQ_ENTRY(flow) next;
    struct generator *generator;
    uint64_t size, at; /* bytes of it, and how many are through */
    uint64_t progress_ns;
    unsigned header; /* bytes of the size that are through */
    bool sends, wrong, answered;
};
TAILQ_HEAD(flows, flow);

struct generator {
    struct sockaddr_in6 *targets; /* IPv4 mapped */
    uint32_t targets_len;
    double mbit, flow_mbit, udp_share;
    uint32_t flows_max;
    uint16_t port;
    struct pd_sim_sizes sizes;
    struct pd_sim_random random;
    struct totals totals;
    int epoll;
    struct flows flows, datagrams; /* connections; what is sent over UDP */
    uint32_t len;                  /* of those that this host has started */
    uint64_t now_ns, start_ns, next_ns;
    uint8_t pattern[2 * PATTERN_BYTES];
};

/* pattern.c */
void pattern_fill(struct generator *generator);
/* Bytes from this offset of a flow on; PATTERN_BYTES of them can be read there. */
const uint8_t *pattern_at(const struct generator *generator, uint64_t offset);

/* tcp.c */
bool tcp_listen(struct generator *generator, uint16_t port);
void tcp_start(struct generator *generator, const struct sockaddr_in6 *to, uint64_t size);
void tcp_sweep(struct generator *generator); /* ends those that stand still */

/* udp.c */
bool udp_listen(struct generator *generator, uint16_t port);
void udp_start(struct generator *generator, const struct sockaddr_in6 *to, uint64_t size);
void udp_send(struct generator *generator); /* what each flow may send by now */

static inline bool watch(struct generator *generator, struct source *source, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = source};

    return !epoll_ctl(generator->epoll, EPOLL_CTL_ADD, source->fd, &event);
}

#endif
