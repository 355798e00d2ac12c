/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP GET from an agent. */
#include "cli/http.h"

#include <curl/curl.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "pd_version.h"

#define CONNECT_TIMEOUT_S 10L
#define PROBLEM_MAX_BYTES (64 * 1024)
#define URL_MAX_BYTES     8192

static const char unix_scheme[] = "unix:";

int pd_http_base_check(const char *base)
{
    static const char *const schemes[] = {"http://", "https://", "unix:/"};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        size_t len = strlen(schemes[i]);
        if (!strncmp(base, schemes[i], len) && base[len])
            return 0;
    }
    return -PD_E_VALUE;
}

struct transfer {
    const struct pd_http_request *request;
    CURL *curl;
    const struct pd_query_sink *sink;
    int sink_code; /* what the sink returned when it stopped the transfer */
    char *problem; /* body of an answer that is not 200 */
    size_t problem_len;
    bool problem_cut;
    char words[CURL_ERROR_SIZE];
};

/* ---- the address ---- */

static int append(char *url, const char *text)
{
    size_t len = strlen(url);
    if (strlen(text) >= URL_MAX_BYTES - len)
        return -PD_E_URI_TOO_LONG;
    strcpy(url + len, text);
    return 0;
}

static int append_param(CURL *curl, char *url, bool first, const char *name, const char *value)
{
    char *escaped = curl_easy_escape(curl, value, (int)strnlen(value, URL_MAX_BYTES));
    int code = escaped ? append(url, first ? "?" : "&") : -ENOMEM;
    if (!code)
        code = append(url, name);
    if (!code)
        code = append(url, "=");
    if (!code)
        code = append(url, escaped);
    curl_free(escaped);
    return code;
}

static int make_url(CURL *curl, const struct pd_http_request *request, char *url)
{
    bool is_unix = !strncmp(request->base, unix_scheme, strlen(unix_scheme));
    int code = append(url, is_unix ? "http://localhost" : request->base);
    for (size_t len = strlen(url); len && url[len - 1] == '/'; len--)
        url[len - 1] = '\0';
    if (!code)
        code = append(url, request->route);
    for (size_t i = 0; !code && request->names[i]; i++)
        code = append_param(curl, url, i == 0, request->names[i], request->values[i]);
    return code;
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

static size_t on_body(char *bytes, size_t one, size_t len, void *context)
{
    struct transfer *transfer = context;
    long status = 0;
    (void)one;
    curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200)
        return keep_problem(transfer, bytes, len);
    transfer->sink_code = transfer->sink->write(transfer->sink->context, bytes, len);
    return transfer->sink_code ? 0 : len;
}

static void make_printable(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = '?';
    }
}

/* "title: detail" of a problem document, or the status alone. */
static int fail_status(struct transfer *transfer, long status, struct pd_error *error)
{
    json_t *problem = json_loadb(transfer->problem, transfer->problem_len, 0, NULL);
    const char *detail = json_string_value(json_object_get(problem, "detail"));
    const char *title = json_string_value(json_object_get(problem, "title"));
    int code = status == 404 ? -PD_E_NOT_FOUND : status == 413 ? -PD_E_TOO_LARGE : -PD_E_VALUE;
    if (title || detail)
        pd_fail(error, code, "%s: %s%s%s (status %ld)", transfer->request->base, title ? title : "",
                title && detail ? ": " : "", detail ? detail : "", status);
    else
        pd_fail(error, code, "%s: answers with status %ld and no reason", transfer->request->base,
                status);
    json_decref(problem);
    if (error)
        make_printable(error->text);
    return code;
}

static int fail_transfer(struct transfer *transfer, CURLcode result, struct pd_error *error)
{
    const char *words = *transfer->words ? transfer->words : curl_easy_strerror(result);
    int code = result == CURLE_OPERATION_TIMEDOUT ? -ETIMEDOUT : -EIO;
    if (result == CURLE_OPERATION_TIMEDOUT)
        words = "does not answer in time";
    else if (result == CURLE_PARTIAL_FILE || result == CURLE_RECV_ERROR)
        words = "breaks off in the middle of the answer";
    pd_fail(error, code, "%s: %s", transfer->request->base, words);
    if (error)
        make_printable(error->text);
    return code;
}

/* ---- the transfer ---- */

static void set_up(struct transfer *transfer, const char *url)
{
    const struct pd_http_request *request = transfer->request;
    CURL *curl = transfer->curl;
    long timeout_s = request->timeout_s < 86400 ? (long)request->timeout_s : 86400;
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "pathdump/" PD_VERSION);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT,
                     timeout_s < CONNECT_TIMEOUT_S ? timeout_s : CONNECT_TIMEOUT_S);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, timeout_s);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, transfer->words);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
    if (!strncmp(request->base, unix_scheme, strlen(unix_scheme)))
        curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, request->base + strlen(unix_scheme));
}

static int perform(struct transfer *transfer, struct pd_error *error)
{
    long status = 0;
    CURLcode result = curl_easy_perform(transfer->curl);
    curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &status);
    if (transfer->sink_code)
        return transfer->sink_code;
    if (result != CURLE_OK && !transfer->problem_cut)
        return fail_transfer(transfer, result, error);
    return status == 200 ? 0 : fail_status(transfer, status, error);
}

int pd_http_get(const struct pd_http_request *request, const struct pd_query_sink *sink,
                struct pd_error *error)
{
    struct transfer transfer = {.request = request, .sink = sink};
    char url[URL_MAX_BYTES] = "";
    int code = -ENOMEM;
    transfer.curl = curl_easy_init();
    transfer.problem = malloc(PROBLEM_MAX_BYTES);
    if (!transfer.curl || !transfer.problem) {
        pd_fail(error, code, "no memory");
        goto out;
    }
    code = make_url(transfer.curl, request, url);
    if (code) {
        pd_fail(error, code, "%.200s: %s", request->base, pd_error_text(code));
        goto out;
    }
    set_up(&transfer, url);
    code = perform(&transfer, error);
out:
    free(transfer.problem);
    curl_easy_cleanup(transfer.curl);
    return code;
}
