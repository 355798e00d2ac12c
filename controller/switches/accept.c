/* SPDX-License-Identifier: Apache-2.0 */
/* Where the endpoint listens, and the sockets of who comes. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "controller/switches/endpoint.h"

#define ITEM_BYTES 256

/* ---- listening */

/* Where the next address of a list begins; commas may stand in paths, too. */
static const char *next_item(const char *text)
{
    while ((text = strchr(text, ','))) {
        text++;
        if (!strncmp(text, "tcp:", 4) || !strncmp(text, "tls:", 4) || !strncmp(text, "unix:", 5)) {
            return text;
        }
    }
    return NULL;
}

static int fail_address(const char *item, struct pd_error *error)
{
    return pd_fail(error, -PD_E_VALUE,
                   "openflow: expects tcp:ADDRESS:PORT on loopback, tls:ADDRESS:PORT or "
                   "unix:/PATH, not \"%.100s\"",
                   item);
}

/* `ret_listener` NULL: only looks at it. */
static int open_item(const char *item, struct pd_endpoint_listener *ret_listener,
                     struct pd_error *error)
{
    bool tls = !strncmp(item, "tls:", 4), tcp = tls || !strncmp(item, "tcp:", 4);
    struct pd_endpoint_listener listener = {.tls = tls};
    const char *address = tcp ? item + 4 : item;
    int err;

    if (!tcp && strncmp(item, "unix:", 5) != 0) {
        return fail_address(item, error);
    }
    if (tcp && !strncmp(address, "unix:", 5)) {
        return fail_address(item, error);
    }
    if (!ret_listener) {
        err = tls ? pd_http_listen_check_tls(address, error) : pd_http_listen_check(address, error);
        return err ? pd_fail_within(error, "openflow") : 0;
    }
    err = tls ? pd_http_listen_open_tls(address, &listener.listener, error)
              : pd_http_listen_open(address, &listener.listener, error);
    if (!err &&
        fcntl(listener.listener.fd, F_SETFL, fcntl(listener.listener.fd, F_GETFL) | O_NONBLOCK)) {
        err = -errno;
        pd_http_listen_close(&listener.listener);
    }
    if (!err) {
        *ret_listener = listener;
    }
    return err ? pd_fail_within(error, "openflow") : 0;
}

static int open_all(const char *text, struct pd_endpoint_listener *listeners, unsigned *len,
                    bool *ret_tls, struct pd_error *error)
{
    char item[ITEM_BYTES];
    int err = 0;

    *ret_tls = false;
    for (const char *next; text && !err; text = next) {
        next = next_item(text);
        size_t bytes = next ? (size_t)(next - 1 - text) : strlen(text);

        if (bytes >= sizeof item || *len == PD_ENDPOINT_LISTENERS_MAX) {
            return pd_fail(error, -PD_E_VALUE, "openflow: expects at most %d addresses",
                           PD_ENDPOINT_LISTENERS_MAX);
        }
        memcpy(item, text, bytes);
        item[bytes] = '\0';
        *ret_tls |= !strncmp(item, "tls:", 4);
        err = open_item(item, listeners ? &listeners[*len] : NULL, error);
        *len += !err;
    }
    return err;
}

int pd_switch_endpoint_check(const char *listen, bool *ret_tls, struct pd_error *error)
{
    unsigned len = 0;

    return open_all(listen, NULL, &len, ret_tls, error);
}

int pd_switch_endpoint_listen(struct pd_switches *s, struct pd_error *error)
{
    size_t at = 0;
    bool tls;
    int err = open_all(s->settings.listen, s->listeners, &s->listeners_len, &tls, error);

    if (!err && tls) {
        err = pd_switch_tls_check(s->settings.credentials, error);
    }
    for (unsigned i = 0; i < s->listeners_len && at < sizeof s->address; i++) {
        at += (size_t)snprintf(s->address + at, sizeof s->address - at, "%s%s%s", i ? "," : "",
                               s->listeners[i].tls ? "tls:" : "", s->listeners[i].listener.name);
    }
    return err;
}

/* ---- who comes */

union peer_address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    struct sockaddr_storage room;
};

static void name_peer(struct pd_connection *c, const union peer_address *address)
{
    char host[INET6_ADDRSTRLEN] = "";
    if (address->any.sa_family == AF_INET) {
        snprintf(c->peer, sizeof c->peer, "%s:%u",
                 inet_ntop(AF_INET, &address->in.sin_addr, host, sizeof host),
                 ntohs(address->in.sin_port));
    } else if (address->any.sa_family == AF_INET6) {
        snprintf(c->peer, sizeof c->peer, "[%s]:%u",
                 inet_ntop(AF_INET6, &address->in6.sin6_addr, host, sizeof host),
                 ntohs(address->in6.sin6_port));
    } else {
        snprintf(c->peer, sizeof c->peer, "unix");
    }
}

int pd_switch_endpoint_accept(struct pd_switches *s, const struct pd_endpoint_listener *listener,
                              struct pd_connection **ret_connection)
{
    union peer_address address = {0};
    socklen_t bytes = sizeof address;
    int one = 1, err = 0;
    int fd = accept4(listener->listener.fd, &address.any, &bytes, SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct pd_connection *c;

    if (fd < 0) {
        return -errno;
    }
    c = calloc(1, sizeof *c);
    if (c && listener->tls) {
        err = pd_switch_tls_open(s->settings.credentials, fd, &c->tls);
    }
    if (!c || err) {
        free(c);
        close(fd);
        return -ENOMEM;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); /* fails on unix sockets: fine */
    c->owner = s;
    c->fd = fd;
    c->sw = PD_NONE;
    c->shaking = listener->tls;
    name_peer(c, &address);
    *ret_connection = c;
    return 0;
}

/* ---- bytes */

ssize_t pd_switch_endpoint_recv(struct pd_connection *c, uint8_t *room, size_t bytes)
{
    ssize_t got =
        c->tls ? pd_switch_tls_recv(c->tls, room, bytes) : recv(c->fd, room, bytes, MSG_DONTWAIT);

    return c->tls || got >= 0 ? got : errno == EINTR ? -EAGAIN : -errno;
}

ssize_t pd_switch_endpoint_send(struct pd_connection *c, const uint8_t *data, size_t bytes)
{
    ssize_t sent;

    if (c->tls) {
        return pd_switch_tls_send(c->tls, data, bytes);
    }
    do {
        sent = send(c->fd, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : sent;
}
