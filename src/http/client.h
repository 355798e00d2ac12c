/* SPDX-License-Identifier: Apache-2.0 */
/* What every libcurl handle of this project has in common: whom it may talk to, how that one is
 * verified, and what is shown to it. */
#ifndef PD_HTTP_CLIENT_H
#define PD_HTTP_CLIENT_H

#include <curl/curl.h>

#include "base/error.h"
#include "http/credentials.h"

/* A server's certificate must come from the CA of the credentials (without one: from those the
 * system trusts) and name the host of the URL; there is no way to turn that off. What is secret
 * leaves this process over https, unix sockets and loopback only: with credentials, plain http://
 * to anywhere else is refused before anything is sent. No proxy is asked and nothing is redirected.
 * A unix socket is shown nothing: its file's permissions decide.
 *
 * Thread safety: as the handle. */

/* `base` as people write it ("http://HOST:PORT", "https://…", "unix:/SOCKET"), `url` all of it for
 * libcurl; `set` may be NULL. 0, -ENOMEM, -PD_E_FORBIDDEN or -PD_E_UNSUPPORTED, in words. */
int pd_http_client_set_up(CURL *curl, const char *base, const char *url,
                          const struct pd_credentials_set *set, struct pd_error *error);

/* base + route, "http://localhost" standing for a unix socket. 0 or -PD_E_URI_TOO_LONG. */
int pd_http_client_url(const char *base, const char *route, char *ret_url, size_t size);

/* Why a transfer failed: the words of its CURLOPT_ERRORBUFFER, which change, without the time that
 * it took, so that one failure has one reason; those of the code where there are none. */
const char *pd_http_client_reason(CURLcode result, char *words);

#endif
