/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP GET from an agent, streamed (libcurl is used in this file's source only). */
#ifndef PD_CLI_HTTP_H
#define PD_CLI_HTTP_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "query/query.h"

/* What is asked and how. */
struct pd_http_request {
    const char *base; /* "http://HOST:PORT", "https://…" or "unix:/path/of/socket" */
    const char *route;
    const char *const *names; /* parameters, NULL-terminated; escaped here */
    const char *const *values;
    uint64_t timeout_s; /* longest silence of the agent */
};

/* Passes the body of a 200 answer to `sink` as it comes. Any other status is an error: its problem document (of at most
 * 64 KiB) becomes one line. No redirect is followed and no proxy is asked. Control characters of the agent's words are
 * replaced. Returns 0, a negative error with words, or what the sink returned. */
int pd_http_get(const struct pd_http_request *request, const struct pd_query_sink *sink,
                struct pd_error *error);

/* Is this an address that pd_http_get takes? 0 or -PD_E_VALUE. */
int pd_http_base_check(const char *base);

#endif
