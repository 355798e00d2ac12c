/* SPDX-License-Identifier: Apache-2.0 */
/* The controller that a command asks. */
#include "cli/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int pd_cli_url_check(const char *flag, const char *url, struct pd_error *error)
{
    if (pd_cli_base_check(url)) {
        return pd_fail(
            error, -PD_E_VALUE,
            "%s: expects http://HOST:PORT, https://HOST:PORT or unix:/SOCKET, not \"%.100s\"", flag,
            url);
    }
    return 0;
}

int pd_cli_server_check(struct pd_cli_server *server, struct pd_error *error)
{
    const char *flag = "--controller", *url = getenv("PATHDUMP_CONTROLLER");
    if (!server->url && url && *url) {
        flag = "PATHDUMP_CONTROLLER";
        server->url = url;
    }
    if (!server->url) {
        return pd_fail(error, -PD_E_VALUE,
                       "--controller URL is missing, and PATHDUMP_CONTROLLER is not set");
    }
    return pd_cli_url_check(flag, server->url, error);
}

int pd_cli_sink_fail(int code, struct pd_error *error)
{
    if (code == -PD_E_TOO_LARGE) {
        return pd_fail(error, code,
                       "the answer is larger than a table of %zu MiB: narrow it by link, flow or "
                       "time range, or use --json",
                       PD_CLI_MEMORY_MAX_BYTES >> 20);
    }
    return pd_fail(error, code, "standard output: %s", pd_error_text(code));
}

/* An error without words is one of the sink. */
static int ask(const struct pd_cli_request *request, const struct pd_query_sink *sink,
               struct pd_error *error)
{
    struct pd_error inner = {0};
    int code = pd_cli_ask(request, sink, &inner);
    if (code && !*inner.text) {
        pd_cli_sink_fail(code, &inner);
    }
    if (code) {
        *error = inner;
    }
    return code;
}

int pd_cli_server_ask(const struct pd_cli_server *server, struct pd_cli_request request,
                      struct pd_cli_memory *ret_text, json_t **ret_json, struct pd_error *error)
{
    struct pd_cli_memory text = {0};
    const struct pd_query_sink sink = pd_cli_memory_sink(&text);
    json_t *json = NULL;
    request.base = server->url;
    request.timeout_s = server->timeout_s;
    request.access = &server->access;
    int code = ask(&request, &sink, error);
    if (!code) {
        code = pd_cli_memory_json(&text, &json, error);
        if (!code && !json_is_object(json)) {
            code = pd_fail(error, -PD_E_SYNTAX, "the answer is no object");
        }
        if (code) {
            pd_fail_within(error, server->url);
        }
    }
    if (code) {
        json_decref(json);
        free(text.bytes);
        return code;
    }
    *ret_json = json;
    if (ret_text) {
        *ret_text = text;
    } else {
        free(text.bytes);
    }
    return 0;
}

int pd_cli_print_text(const struct pd_cli_memory *text, struct pd_error *error)
{
    struct pd_cli_stream stream;
    pd_cli_stream_begin(&stream);
    const struct pd_query_sink sink = pd_cli_stream_sink(&stream);
    int code = sink.write(sink.context, text->bytes, text->len);
    if (code) {
        return pd_cli_sink_fail(code, error);
    }
    (void)pd_cli_stream_end(&stream); /* it was read as JSON: it is whole */
    return 0;
}
