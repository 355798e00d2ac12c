/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses to serve on, parsed without DNS, and the sockets behind them. */
#include "http/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/endpoint.h"

#define BACKLOG 4096

union address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    struct sockaddr_un un;
    union pd_endpoint inet;
};

static int fail_syntax(const char *text, struct pd_error *error)
{
    return pd_fail(
        error, -PD_E_VALUE,
        "listen: expects 127.0.0.1:PORT, [::1]:PORT, localhost:PORT or unix:/PATH, not \"%.100s\"",
        text);
}

static int parse_unix(const char *text, union address *ret_address, struct pd_error *error)
{
    const char *path = text + strlen("unix:");
    union address address = {.un = {.sun_family = AF_UNIX}};

    if (path[0] != '/' || strlen(path) >= sizeof address.un.sun_path) {
        return pd_fail(
            error, -PD_E_VALUE,
            "listen: expects unix: with an absolute path of at most %zu bytes, not \"%.120s\"",
            sizeof address.un.sun_path - 1, text);
    }
    memcpy(address.un.sun_path, path, strlen(path) + 1);
    *ret_address = address;
    return 0;
}

/* "localhost" is that of IPv4. */
static int parse_numbers(const char *text, union pd_endpoint *ret_endpoint)
{
    static const char name[] = "localhost:";
    const bool is_name = !strncmp(text, name, sizeof name - 1);
    char numbers[80];
    int len = snprintf(numbers, sizeof numbers, "%s%s", is_name ? "127.0.0.1:" : "",
                       is_name ? text + sizeof name - 1 : text);

    return len < (int)sizeof numbers ? pd_endpoint_parse(numbers, ret_endpoint) : -PD_E_VALUE;
}

static bool is_loopback(const union pd_endpoint *endpoint)
{
    return endpoint->any.sa_family == AF_INET
               ? ntohl(endpoint->in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET
               : IN6_IS_ADDR_LOOPBACK(&endpoint->in6.sin6_addr);
}

static int parse_inet(const char *text, bool anywhere, union address *ret_address,
                      struct pd_error *error)
{
    union address address = {0};

    if (parse_numbers(text, &address.inet)) {
        return fail_syntax(text, error);
    }
    if (!anywhere && !is_loopback(&address.inet)) {
        return pd_fail(error, -PD_E_VALUE,
                       "listen: %.100s is not on loopback: without TLS the daemon serves "
                       "127.0.0.1, [::1] and unix sockets only",
                       text);
    }
    *ret_address = address;
    return 0;
}

static int parse(const char *text, bool anywhere, union address *ret_address,
                 struct pd_error *error)
{
    return strncmp(text, "unix:", 5) ? parse_inet(text, anywhere, ret_address, error)
                                     : parse_unix(text, ret_address, error);
}

int pd_http_listen_check(const char *text, struct pd_error *error)
{
    union address address;

    return parse(text, false, &address, error);
}

int pd_http_listen_check_tls(const char *text, struct pd_error *error)
{
    union address address;

    return parse(text, true, &address, error);
}

static socklen_t address_bytes(const union address *address)
{
    return address->any.sa_family == AF_UNIX ? sizeof address->un
                                             : pd_endpoint_bytes(&address->inet);
}

/* Removes a unix socket that nobody serves any more; one that is served stays, and bind says so. */
static void remove_stale(const union address *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct stat stat_now;

    if (fd < 0) {
        return;
    }
    if (connect(fd, &address->any, sizeof address->un) && errno == ECONNREFUSED &&
        !lstat(address->un.sun_path, &stat_now) && S_ISSOCK(stat_now.st_mode)) {
        unlink(address->un.sun_path);
    }
    close(fd);
}

static void name_listener(const char *text, struct pd_listener *listener)
{
    union address address = {0};
    socklen_t bytes = sizeof address;
    char host[INET6_ADDRSTRLEN] = "";

    snprintf(listener->name, sizeof listener->name, "%s", text);
    if (getsockname(listener->fd, &address.any, &bytes)) {
        return;
    }
    if (address.any.sa_family == AF_INET) {
        snprintf(listener->name, sizeof listener->name, "%s:%u",
                 inet_ntop(AF_INET, &address.in.sin_addr, host, sizeof host),
                 ntohs(address.in.sin_port));
    } else if (address.any.sa_family == AF_INET6) {
        snprintf(listener->name, sizeof listener->name, "[%s]:%u",
                 inet_ntop(AF_INET6, &address.in6.sin6_addr, host, sizeof host),
                 ntohs(address.in6.sin6_port));
    }
}

static int bind_listen(int fd, const union address *address)
{
    int one = 1;

    if (address->any.sa_family != AF_UNIX) {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    }
    if (bind(fd, &address->any, address_bytes(address))) {
        return -errno;
    }
    if (address->any.sa_family == AF_UNIX && chmod(address->un.sun_path, 0660)) {
        return -errno;
    }
    return listen(fd, BACKLOG) ? -errno : 0;
}

static int open_listener(const char *text, bool anywhere, struct pd_listener *ret_listener,
                         struct pd_error *error)
{
    struct pd_listener listener = {.fd = -1};
    union address address = {0};
    int err = parse(text, anywhere, &address, error);

    if (err) {
        return err;
    }
    if (address.any.sa_family == AF_UNIX) {
        remove_stale(&address);
    }
    listener.fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener.fd < 0) {
        return pd_fail(error, -errno, "listen: %.120s: %s", text, strerror(errno));
    }
    err = bind_listen(listener.fd, &address);
    if (err) {
        close(listener.fd);
        return pd_fail(error, err, "listen: %.120s: %s", text, strerror(-err));
    }
    name_listener(text, &listener);
    if (address.any.sa_family == AF_UNIX) {
        memcpy(listener.path, address.un.sun_path, sizeof listener.path);
    }
    *ret_listener = listener;
    return 0;
}

int pd_http_listen_open(const char *text, struct pd_listener *ret_listener, struct pd_error *error)
{
    return open_listener(text, false, ret_listener, error);
}

int pd_http_listen_open_tls(const char *text, struct pd_listener *ret_listener,
                            struct pd_error *error)
{
    return open_listener(text, true, ret_listener, error);
}

void pd_http_listen_close(struct pd_listener *listener)
{
    if (listener->path[0]) {
        unlink(listener->path);
    }
    if (listener->fd >= 0) {
        close(listener->fd);
    }
    listener->fd = -1;
    listener->path[0] = '\0';
}
