/* SPDX-License-Identifier: Apache-2.0 */
/* Where a server of the fleet is asked: "http://HOST:PORT", "https://HOST:PORT" or "unix:/SOCKET".
 */
#ifndef PD_HTTP_URL_H
#define PD_HTTP_URL_H

#include <stddef.h>

#include "base/error.h"

#define PD_HTTP_URL_BYTES 256 /* with the final NUL */

/* Such a URL and nothing beyond: no user, no path but "/", no query, no bytes that do not print.
 * They come from files and from other servers. 0, or -PD_E_VALUE with what is expected. Thread
 * safety: pure. */
int pd_http_url_check(const char *url, struct pd_error *error);

/* The host's name or address in a URL that is one, without brackets. -PD_E_NOT_FOUND for a unix
 * socket. */
int pd_http_url_host(const char *url, char *ret_host, size_t size);

#endif
