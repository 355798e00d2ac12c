/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of probes onto an interface. */
#ifndef PD_AGENT_PROBES_SEND_H
#define PD_AGENT_PROBES_SEND_H

#include "agent/probes/collect.h"

/* Sockets that receive nothing. One thread. */
struct pd_agent_probe_socket {
    int fd;     /* of frames; -1: closed */
    int routed; /* of IPv6 packets with their headers; -1: this host has no IPv6 */
    char interface[16];
};

/* 0 or -errno in words; the interface may come later. */
int pd_agent_probe_socket_open(struct pd_agent_probe_socket *socket, const char *interface,
                               struct pd_error *error);
void pd_agent_probe_socket_close(struct pd_agent_probe_socket *socket);

/* The next probe of a way. 0, with the sequence counted on; or a negative error: it was not sent.
 */
int pd_agent_probe_send(struct pd_agent_probe_socket *socket,
                        const struct pd_agent_probe_part *part, struct pd_agent_probe_way *way,
                        uint64_t wall_ns);

#endif
