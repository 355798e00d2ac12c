/* SPDX-License-Identifier: Apache-2.0 */
/* Asking an agent or a controller over HTTP. */
#include "cli/http.h"

#include <curl/curl.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/access.h"
#include "http/client.h"

#define CONNECT_TIMEOUT_S 10L
#define PROBLEM_MAX_BYTES (64 * 1024)
#define URL_MAX_BYTES     8192
#define KEEPALIVE_S       30L /* of a server that may be silent: is it still there? */

int pd_cli_base_check(const char *base)
{
    static const char *const schemes[] = {"http://", "https://", "unix:/"};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        size_t len = strlen(schemes[i]);
        if (!strncmp(base, schemes[i], len) && base[len]) {
            return 0;
        }
    }
    return -PD_E_VALUE;
}

struct transfer {
    const struct pd_cli_request *request;
    CURL *curl;
    struct curl_slist *headers;
    const struct pd_query_sink *sink;
    int sink_code; /* what the sink returned when it stopped the transfer */
    char *problem; /* body of an answer whose status is not 2xx */
    size_t problem_len;
    bool problem_cut;
    char words[CURL_ERROR_SIZE];
    struct pd_credentials *credentials; /* live until the transfer is over */
};

/* ---- the address ---- */

static int append(char *url, const char *text)
{
    size_t len = strlen(url);
    if (strlen(text) >= URL_MAX_BYTES - len) {
        return -PD_E_URI_TOO_LONG;
    }
    strcpy(url + len, text);
    return 0;
}

static int append_param(CURL *curl, char *url, bool first, const char *name, const char *value)
{
    char *escaped = curl_easy_escape(curl, value, (int)strnlen(value, URL_MAX_BYTES));
    int err = escaped ? append(url, first ? "?" : "&") : -ENOMEM;
    if (!err) {
        err = append(url, name);
    }
    if (!err) {
        err = append(url, "=");
    }
    if (!err) {
        err = append(url, escaped);
    }
    curl_free(escaped);
    return err;
}

static int make_url(CURL *curl, const struct pd_cli_request *request, char *url)
{
    int err = pd_http_client_url(request->base, request->route, url, URL_MAX_BYTES);
    for (size_t i = 0; !err && request->names && request->names[i]; i++) {
        err = append_param(curl, url, i == 0, request->names[i], request->values[i]);
    }
    return err;
}

/* ---- the answer ---- */

static size_t keep_problem(struct transfer *transfer, const char *bytes, size_t len)
{
    size_t room = PROBLEM_MAX_BYTES - transfer->problem_len;
    size_t kept = len < room ? len : room;
    memcpy(transfer->problem + transfer->problem_len, bytes, kept);
    transfer->problem_len += kept;
    transfer->problem_cut = kept < len;
    return kept;
}

static long status_of(const struct transfer *transfer)
{
    long status = 0;
    curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static bool is_good(long status)
{
    return status >= 200 && status < 300;
}

static size_t on_body(char *bytes, size_t one, size_t len, void *context)
{
    struct transfer *transfer = context;
    (void)one;
    if (!is_good(status_of(transfer))) {
        return keep_problem(transfer, bytes, len);
    }
    transfer->sink_code = transfer->sink->write(transfer->sink->context, bytes, len);
    return transfer->sink_code ? 0 : len;
}

static int on_progress(void *context, curl_off_t all, curl_off_t got, curl_off_t to_send,
                       curl_off_t sent)
{
    const struct pd_cli_request *request = context;
    (void)all;
    (void)to_send;
    (void)sent;
    if (!got && request->waiting) {
        request->waiting(request->waiting_context);
    }
    return request->stop && atomic_load_explicit(request->stop, memory_order_acquire);
}

/* What was asked for by name, and is not there: a slip like a wrong flag. */
static bool is_slip(long status, const json_t *problem)
{
    const char *parameter = json_string_value(json_object_get(problem, "parameter"));

    return status == 400 && parameter &&
           (!strncmp(parameter, "hosts", 5) || !strcmp(parameter, "args.link") ||
            !strcmp(parameter, "args.path"));
}

/* "title: detail" of a problem document, or the status alone. */
static int fail_status(struct transfer *transfer, long status, struct pd_error *error)
{
    json_t *problem = json_loadb(transfer->problem, transfer->problem_len, 0, NULL);
    const char *detail = json_string_value(json_object_get(problem, "detail"));
    const char *title = json_string_value(json_object_get(problem, "title"));
    int err = status == 404 ? -PD_E_NOT_FOUND : status == 413 ? -PD_E_TOO_LARGE : -PD_E_VALUE;
    if (is_slip(status, problem)) {
        err = -PD_E_UNKNOWN_KEY;
    }
    if (title || detail) {
        pd_fail(error, err, "%s: %s%s%s (status %ld)", transfer->request->base, title ? title : "",
                title && detail ? ": " : "", detail ? detail : "", status);
    } else {
        pd_fail(error, err, "%s: answers with status %ld and no reason", transfer->request->base,
                status);
    }
    json_decref(problem);
    if (error) {
        pd_printable(error->text);
    }
    return err;
}

static int fail_transfer(struct transfer *transfer, CURLcode result, struct pd_error *error)
{
    const char *words = pd_http_client_reason(result, transfer->words);
    int err = result == CURLE_OPERATION_TIMEDOUT ? -ETIMEDOUT : -EIO;
    if (result == CURLE_OPERATION_TIMEDOUT) {
        words = "does not answer in time";
    } else if (result == CURLE_PARTIAL_FILE || result == CURLE_RECV_ERROR) {
        words = "breaks off in the middle of the answer";
    }
    pd_fail(error, err, "%s: %s", transfer->request->base, words);
    if (error) {
        pd_printable(error->text);
    }
    return err;
}

/* ---- the transfer ---- */

static int add_header(struct transfer *transfer, const char *name, const char *value)
{
    char line[512];
    struct curl_slist *headers;
    if (!value) {
        return 0;
    }
    if (strpbrk(value, "\r\n") ||
        snprintf(line, sizeof line, "%s: %s", name, value) >= (int)sizeof line) {
        return -PD_E_VALUE;
    }
    headers = curl_slist_append(transfer->headers, line);
    if (!headers) {
        return -ENOMEM;
    }
    transfer->headers = headers;
    return 0;
}

static int set_up_method(struct transfer *transfer)
{
    const struct pd_cli_request *request = transfer->request;
    int err = add_header(transfer, "Accept", request->accept);
    if (!err) {
        err = add_header(transfer, "Last-Event-ID", request->last_event_id);
    }
    if (!err && request->body) {
        err = add_header(transfer, "Content-Type", "application/json");
    }
    if (request->body) {
        curl_easy_setopt(transfer->curl, CURLOPT_POSTFIELDSIZE_LARGE,
                         (curl_off_t)strlen(request->body));
        curl_easy_setopt(transfer->curl, CURLOPT_POSTFIELDS, request->body);
    }
    if (request->method) {
        curl_easy_setopt(transfer->curl, CURLOPT_CUSTOMREQUEST, request->method);
    }
    curl_easy_setopt(transfer->curl, CURLOPT_HTTPHEADER, transfer->headers);
    return err;
}

/* A server that is silent for too long, or has gone without a word. */
static void set_up_patience(struct transfer *transfer)
{
    const struct pd_cli_request *request = transfer->request;
    CURL *curl = transfer->curl;
    long timeout_s = request->timeout_s < 86400 ? (long)request->timeout_s : 86400;
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT,
                     timeout_s && timeout_s < CONNECT_TIMEOUT_S ? timeout_s : CONNECT_TIMEOUT_S);
    curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(curl, CURLOPT_TCP_KEEPIDLE, KEEPALIVE_S);
    if (timeout_s) {
        curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, timeout_s);
    }
    if (request->waiting || request->stop) {
        curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
        curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
        curl_easy_setopt(curl, CURLOPT_XFERINFODATA, request);
    }
}

/* The files are read each time: a command that follows a stream for days then takes new ones. */
static int set_up_access(struct transfer *transfer, const char *url, struct pd_error *error)
{
    const struct pd_cli_request *request = transfer->request;
    static const struct pd_credentials_files none = {0};
    int err = pd_http_credentials_new(request->access ? &request->access->files : &none,
                                      &transfer->credentials, error);
    if (err) {
        return err;
    }
    struct pd_credentials_set *set = pd_http_credentials_hold(transfer->credentials);
    err = pd_http_client_set_up(transfer->curl, request->base, url, set, error);
    pd_http_credentials_drop(set);
    return err ? pd_fail_within(error, request->base) : 0;
}

static int set_up(struct transfer *transfer)
{
    CURL *curl = transfer->curl;
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, transfer->words);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
    set_up_patience(transfer);
    return set_up_method(transfer);
}

static int perform(struct transfer *transfer, struct pd_error *error)
{
    CURLcode result = curl_easy_perform(transfer->curl);
    long status = status_of(transfer);
    if (transfer->sink_code) {
        return transfer->sink_code;
    }
    if (result != CURLE_OK && !transfer->problem_cut) {
        return fail_transfer(transfer, result, error);
    }
    return is_good(status) ? 0 : fail_status(transfer, status, error);
}

int pd_cli_ask(const struct pd_cli_request *request, const struct pd_query_sink *sink,
               struct pd_error *error)
{
    struct transfer transfer = {.request = request, .sink = sink};
    char url[URL_MAX_BYTES] = "";
    int err = -ENOMEM;
    transfer.curl = curl_easy_init();
    transfer.problem = malloc(PROBLEM_MAX_BYTES);
    if (!transfer.curl || !transfer.problem) {
        pd_fail(error, err, "no memory");
        goto out;
    }
    err = make_url(transfer.curl, request, url);
    if (!err) {
        err = set_up(&transfer);
    }
    if (err) {
        pd_fail(error, err, "%.200s: %s", request->base, pd_error_text(err));
        goto out;
    }
    err = set_up_access(&transfer, url, error);
    if (err) {
        goto out;
    }
    err = perform(&transfer, error);
out:
    free(transfer.problem);
    curl_slist_free_all(transfer.headers);
    curl_easy_cleanup(transfer.curl);
    pd_http_credentials_free(transfer.credentials);
    return err;
}
