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

int pd_cli_sink_fail(int err, struct pd_error *error)
{
    if (err == -PD_E_TOO_LARGE) {
        return pd_fail(error, err,
                       "the answer is larger than a table of %zu MiB: narrow it by link, flow or "
                       "time range, or use --json",
                       PD_CLI_MEMORY_MAX_BYTES >> 20);
    }
    return pd_fail(error, err, "standard output: %s", pd_error_text(err));
}

/* An error without words is one of the sink. */
static int ask(const struct pd_cli_request *request, const struct pd_query_sink *sink,
               struct pd_error *error)
{
    struct pd_error inner = {0};
    int err = pd_cli_ask(request, sink, &inner);
    if (err && !*inner.text) {
        pd_cli_sink_fail(err, &inner);
    }
    if (err) {
        *error = inner;
    }
    return err;
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
    int err = ask(&request, &sink, error);
    if (!err) {
        err = pd_cli_memory_json(&text, &json, error);
        if (!err && json_is_array(json)) {
            json = json_pack("{s:o}", "items", json);
        }
        if (!err && !json_is_object(json)) {
            err = pd_fail(error, -PD_E_SYNTAX, "the answer is no object");
        }
        if (err) {
            pd_fail_within(error, server->url);
        }
    }
    if (err) {
        json_decref(json);
        free(text.bytes);
        return err;
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
    int err = sink.write(sink.context, text->bytes, text->len);
    if (err) {
        return pd_cli_sink_fail(err, error);
    }
    (void)pd_cli_stream_end(&stream); /* it was read as JSON: it is whole */
    return 0;
}
