/* SPDX-License-Identifier: Apache-2.0 */
/* The header Host: by which name a server was asked. */
#ifndef PD_HTTP_HOST_H
#define PD_HTTP_HOST_H

#include <stdbool.h>

#include "base/error.h"

/* A web page may let its own name point to 127.0.0.1 and then ask whatever is served there as if it
 * came from that server. The browser says in Host which name it was given: so where nobody needs
 * credentials, only names that mean this machine to everybody are answered.
 *
 * Thread safety: pure. */

/* "127.8.9.1", "[::1]" or "localhost", perhaps with a port, or one of `allowed` ("NAME[,…]", NULL:
 * none), whatever the case of its letters. */
bool pd_http_host_known(const char *host, const char *allowed);

/* Is this such a list: names or addresses, without ports? -PD_E_VALUE. */
int pd_http_host_check_list(const char *list, struct pd_error *error);

#endif
