/* SPDX-License-Identifier: Apache-2.0 */
/* Where a daemon serves: "127.0.0.1:PORT", "[::1]:PORT", "localhost:PORT" or "unix:/PATH" to a
 * listening socket. */
#ifndef PD_HTTP_LISTEN_H
#define PD_HTTP_LISTEN_H

#include "base/error.h"

/* Loopback and unix sockets only: the answers are for whoever may log in to this host. Anything
 * beyond is refused; but not by those whose name ends with _tls, for servers that speak TLS there
 * (http/credentials.h).
 *
 * Thread safety: pure, or on the caller's memory only. */

struct pd_listener {
    int fd;
    char name[160]; /* where it really listens: port 0 resolved */
    char path[108]; /* unix: to be removed at the end; else "" */
};

/* -PD_E_VALUE with what is expected. */
int pd_http_listen_check(const char *address, struct pd_error *error);
int pd_http_listen_check_tls(const char *address, struct pd_error *error);

/* -PD_E_VALUE, or -errno with one line that names the address. A unix socket that nobody serves any
 * more is replaced. */
int pd_http_listen_open(const char *address, struct pd_listener *ret_listener,
                        struct pd_error *error);
int pd_http_listen_open_tls(const char *address, struct pd_listener *ret_listener,
                            struct pd_error *error);

/* Closes (fd -1: somebody else did) and removes the unix socket. */
void pd_http_listen_close(struct pd_listener *listener);

#endif
