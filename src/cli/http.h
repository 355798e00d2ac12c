/* SPDX-License-Identifier: Apache-2.0 */
/* Asking an agent or a controller over HTTP, answers streamed (libcurl is used in this file's
 * source only). */
#ifndef PD_CLI_HTTP_H
#define PD_CLI_HTTP_H

#include <stddef.h>
#include <stdint.h>

#include <stdatomic.h>

#include "base/error.h"
#include "query/query.h"

struct pd_cli_access;

/* What is asked and how. What is not set is NULL or 0. */
struct pd_cli_request {
    const char *base;   /* "http://HOST:PORT", "https://…" or "unix:/path/of/socket" */
    const char *method; /* NULL: GET, or POST with a body */
    const char *route;
    const char *const *names; /* parameters, NULL-terminated; escaped here; NULL: none */
    const char *const *values;
    const char *body;          /* JSON */
    const char *accept;        /* media type of the answer */
    const char *last_event_id; /* of a stream that broke off: where it is to go on */
    uint64_t timeout_s;        /* longest silence of the server; 0: it may be silent for ever */
    const struct pd_cli_access *access;
    /* Called every now and then while nothing has come, for a line that shows it. May be NULL. */
    void (*waiting)(void *context);
    void *waiting_context;
    const atomic_bool *stop; /* the transfer ends within a second once it is true; may be NULL */
};

/* Passes the body of an answer with a status of 2xx to `sink` as it comes. Any other status is an
 * error: its problem document (of at most 64 KiB) becomes one line. No redirect is followed and no
 * proxy is asked. -PD_E_UNKNOWN_KEY: hosts, a link or a path that the server does not have. Control
 * characters of the server's words are replaced. Returns 0, a negative
 * error with words, or what the sink returned. */
int pd_cli_ask(const struct pd_cli_request *request, const struct pd_query_sink *sink,
               struct pd_error *error);

/* Is this an address that pd_cli_ask takes? 0 or -PD_E_VALUE. */
int pd_cli_base_check(const char *base);

#endif
