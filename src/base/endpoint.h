/* SPDX-License-Identifier: Apache-2.0 */
/* An address and a port as people write them, without DNS. */
#ifndef PD_BASE_ENDPOINT_H
#define PD_BASE_ENDPOINT_H

#include <netinet/in.h>
#include <sys/socket.h>

/* What a socket is bound to. Thread safety: pure functions. */
union pd_endpoint {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
};

/* "127.0.0.1:8000" or "[::1]:8000", with a port from 0 to 65535. 0 or -PD_E_VALUE. */
int pd_endpoint_parse(const char *text, union pd_endpoint *ret_endpoint);

in_port_t pd_endpoint_port(const union pd_endpoint *endpoint); /* in the host's order */
socklen_t pd_endpoint_bytes(const union pd_endpoint *endpoint);

#endif
