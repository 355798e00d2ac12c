/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses with a port, read. */
#include "base/endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static int parse_port(const char *text, in_port_t *ret_port)
{
    char *end;

    if (*text < '0' || *text > '9') {
        return -PD_E_VALUE;
    }
    errno = 0;
    const unsigned long port = strtoul(text, &end, 10);
    if (errno || *end || port > UINT16_MAX) {
        return -PD_E_VALUE;
    }
    *ret_port = htons((in_port_t)port);
    return 0;
}

int pd_endpoint_parse(const char *text, union pd_endpoint *ret_endpoint)
{
    const char *colon = strrchr(text, ':');
    const size_t len = colon ? (size_t)(colon - text) : 0;
    union pd_endpoint endpoint = {.in6 = {.sin6_family = AF_INET6}};
    char host[INET6_ADDRSTRLEN + 2];
    in_port_t port;

    if (!len || len >= sizeof host || parse_port(colon + 1, &port)) {
        return -PD_E_VALUE;
    }
    memcpy(host, text, len);
    host[len] = '\0';
    if (host[0] == '[' && host[len - 1] == ']') {
        host[len - 1] = '\0';
        endpoint.in6.sin6_port = port;
        if (inet_pton(AF_INET6, host + 1, &endpoint.in6.sin6_addr) != 1) {
            return -PD_E_VALUE;
        }
    } else {
        endpoint.in = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = port};
        if (inet_pton(AF_INET, host, &endpoint.in.sin_addr) != 1) {
            return -PD_E_VALUE;
        }
    }
    *ret_endpoint = endpoint;
    return 0;
}

in_port_t pd_endpoint_port(const union pd_endpoint *endpoint)
{
    return ntohs(endpoint->any.sa_family == AF_INET ? endpoint->in.sin_port
                                                    : endpoint->in6.sin6_port);
}

socklen_t pd_endpoint_bytes(const union pd_endpoint *endpoint)
{
    return endpoint->any.sa_family == AF_INET ? sizeof endpoint->in : sizeof endpoint->in6;
}
