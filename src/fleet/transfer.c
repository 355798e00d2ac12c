/* SPDX-License-Identifier: Apache-2.0 */
/* One request to one server, from its options to its end. */
#include "fleet/transfer.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fleet/order.h"
#include "http/client.h"

#define CONNECT_MIN_MS 1000L

void pd_fleet_transfer_heard(struct pd_transfer *transfer)
{
    struct pd_asking *asking = transfer->asking;

    transfer->heard_ns = asking->heard_ns = pd_clock_monotonic_ns();
    if (!transfer->answered) {
        transfer->answered = true;
        pd_fleet_fanout_note(asking->fanout, transfer->peer.url,
                             transfer->heard_ns - transfer->begun_ns);
    }
    transfer->suspect = false;
}

static size_t keep_problem(struct pd_transfer *transfer, const char *bytes, size_t len)
{
    size_t room = PD_TRANSFER_PROBLEM_BYTES - transfer->problem_len, kept = len < room ? len : room;
    memcpy(transfer->problem + transfer->problem_len, bytes, kept);
    transfer->problem_len += kept;
    return kept; /* less than came ends the transfer: enough was read */
}

static size_t on_bytes(char *bytes, size_t one, size_t len, void *context)
{
    struct pd_transfer *transfer = context;
    const struct pd_asking *asking = transfer->asking;
    long status = 0;
    (void)one;
    pd_fleet_transfer_heard(transfer);
    curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) {
        return keep_problem(transfer, bytes, len);
    }
    transfer->taken_bytes += len;
    transfer->refused = transfer->taken_bytes > asking->request->max_bytes
                            ? -PD_E_TOO_LARGE
                            : asking->sink->take(asking->sink->context, transfer->i, bytes, len);
    return transfer->refused ? 0 : len;
}

/* Asked by the library every second or so. */
static int is_cancelled(void *context, curl_off_t down_all, curl_off_t down, curl_off_t up_all,
                        curl_off_t up)
{
    const struct pd_transfer *transfer = context;
    (void)down_all, (void)down, (void)up_all, (void)up;
    return atomic_load_explicit(transfer->asking->request->cancelled, memory_order_relaxed);
}

static bool set_cancel(struct pd_transfer *transfer)
{
    CURL *curl = transfer->curl;
    return transfer->asking->request->cancelled &&
           (curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L) ||
            curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, is_cancelled) ||
            curl_easy_setopt(curl, CURLOPT_XFERINFODATA, transfer));
}

/* POST unless the request says otherwise; what is neither POST nor PUT has no body. */
static bool set_method(CURL *curl, const char *method, const struct pd_fanout_peer *peer)
{
    const bool posts = !method || !strcmp(method, "POST");
    bool failed = !posts && curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);

    if (posts || !strcmp(method, "PUT")) {
        failed |= curl_easy_setopt(curl, CURLOPT_POSTFIELDS, peer->body);
        failed |= curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)peer->body_bytes);
    }
    return failed;
}

/* URLs come from others: any server with a certificate that the system trusts could be named to us
 * to be shown the token. */
static int check_token(const struct pd_credentials_set *set, const char *url,
                       struct pd_error *error)
{
    return set && set->token_out && !set->ca && !strncmp(url, "https://", 8)
               ? pd_fail(error, -PD_E_FORBIDDEN,
                         "not shown our token, for there is no CA (--tls-ca) to know it by")
               : 0;
}

static bool add_header(struct curl_slist **headers, const char *line)
{
    struct curl_slist *grown = curl_slist_append(*headers, line);

    *headers = grown ? grown : *headers;
    return grown != NULL;
}

/* With an order: those of all, and this one. */
static int set_headers(struct pd_transfer *transfer)
{
    struct curl_slist *headers = transfer->asking->headers;
    const char *order = transfer->peer.order;
    char *line = NULL;
    bool whole = true;

    if (order) {
        whole = asprintf(&line, PD_FLEET_ORDER_HEADER ": %s", order) >= 0;
        for (const struct curl_slist *at = headers; at && whole; at = at->next) {
            whole = add_header(&transfer->headers, at->data);
        }
        whole = whole && add_header(&transfer->headers, line);
        headers = transfer->headers;
        free(line);
    }
    return !whole || curl_easy_setopt(transfer->curl, CURLOPT_HTTPHEADER, headers) ? -ENOMEM : 0;
}

static int set_up(struct pd_transfer *transfer, struct pd_error *error)
{
    const struct pd_asking *asking = transfer->asking;
    const struct pd_fanout_peer *peer = &transfer->peer;
    CURL *curl = transfer->curl;
    char url[1024];
    int err = pd_http_client_url(peer->url, peer->route ? peer->route : asking->request->route, url,
                                 sizeof url);
    if (!err) {
        err = check_token(asking->credentials, peer->url, error);
    }
    if (!err) {
        err = pd_http_client_set_up(curl, peer->url, url, asking->credentials, error);
    }
    if (err) {
        return err;
    }
    bool failed = set_method(curl, asking->request->method, peer);
    failed |= set_cancel(transfer);
    failed |= set_headers(transfer) != 0;
    failed |= curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_bytes);
    failed |= curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
    failed |= curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, transfer->words);
    failed |= curl_easy_setopt(curl, CURLOPT_PRIVATE, transfer);
    return failed ? -ENOMEM : 0;
}

/* At the deadline at the latest, from now; where nobody takes the connection there is to be time
 * left for another way. */
static int limit_time(struct pd_transfer *transfer)
{
    uint64_t deadline_ns = transfer->asking->request->deadline_ns, now_ns = pd_clock_monotonic_ns();
    if (transfer->peer.deadline_ns && transfer->peer.deadline_ns < deadline_ns) {
        deadline_ns = transfer->peer.deadline_ns;
    }
    if (now_ns >= deadline_ns) {
        return -PD_E_DEADLINE;
    }
    long left_ms = (long)((deadline_ns - now_ns) / PD_NS_PER_MS) + 1;
    long connect_ms = left_ms / 3 > CONNECT_MIN_MS ? left_ms / 3 : CONNECT_MIN_MS;
    bool failed = curl_easy_setopt(transfer->curl, CURLOPT_TIMEOUT_MS, left_ms);
    failed |= curl_easy_setopt(transfer->curl, CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
    return failed ? -ENOMEM : 0;
}

static int code_of(long status)
{
    switch (status) {
    case 401: return -PD_E_UNAUTHORIZED;
    case 403: return -PD_E_FORBIDDEN;
    case 404: return -PD_E_NOT_FOUND;
    case 405: return -PD_E_METHOD;
    case 409: return -PD_E_CONFLICT;
    case 413: return -PD_E_TOO_LARGE;
    case 422: return -PD_E_PROGRAM;
    case 501: return -PD_E_UNSUPPORTED;
    case 503: return -PD_E_BUSY;
    case 504: return -PD_E_DEADLINE;
    default: return status >= 400 && status < 500 ? -PD_E_VALUE : -PD_E_UNREACHABLE;
    }
}

/* A problem document's words, or the status alone. */
static void fail_status(const struct pd_transfer *transfer, long status, struct pd_error *error)
{
    json_t *problem = json_loadb(transfer->problem, transfer->problem_len, 0, NULL);
    const char *detail = json_string_value(json_object_get(problem, "detail"));
    int err = code_of(status);
    if (detail) {
        pd_fail(error, err, "%.300s (status %ld)", detail, status);
    } else {
        pd_fail(error, err, "answered with status %ld", status);
    }
    json_decref(problem);
    pd_printable(error->text);
}

static void judge(struct pd_transfer *transfer, CURLcode result, struct pd_error *error)
{
    long status = 0;
    curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &status);
    if (transfer->refused) {
        pd_fail(error, transfer->refused, "%s", pd_error_text(transfer->refused));
    } else if (result == CURLE_ABORTED_BY_CALLBACK) {
        pd_fail(error, -PD_E_BUSY, "cancelled");
    } else if (result == CURLE_OPERATION_TIMEDOUT) {
        pd_fail(error, -PD_E_DEADLINE, "no whole answer before the deadline");
    } else if (status && status != 200) {
        fail_status(transfer, status, error);
    } else if (result) {
        pd_fail(error, -PD_E_UNREACHABLE, "%.200s", pd_http_client_reason(result, transfer->words));
    }
}

/* ---- begin and end ---- */

static void link_in(struct pd_transfer *transfer)
{
    struct pd_asking *asking = transfer->asking;

    transfer->next = asking->open;
    if (asking->open) {
        asking->open->prev = transfer;
    }
    asking->open = transfer;
}

static void free_transfer(struct pd_transfer *transfer)
{
    struct pd_asking *asking = transfer->asking;

    pd_fleet_pulse_stop(transfer);
    if (transfer->next) {
        transfer->next->prev = transfer->prev;
    }
    if (transfer->prev) {
        transfer->prev->next = transfer->next;
    } else {
        asking->open = transfer->next;
    }
    curl_easy_cleanup(transfer->curl);
    curl_slist_free_all(transfer->headers);
    free(transfer);
}

static int start(struct pd_transfer *transfer, struct pd_error *error)
{
    transfer->curl = curl_easy_init();
    int err = transfer->curl ? set_up(transfer, error) : -ENOMEM;
    err = err ? err : limit_time(transfer);
    return !err && curl_multi_add_handle(transfer->asking->multi, transfer->curl) ? -ENOMEM : err;
}

bool pd_fleet_transfer_begin(struct pd_asking *asking, size_t i, const struct pd_fanout_peer *peer)
{
    struct pd_transfer *transfer = calloc(1, sizeof *transfer);
    struct pd_error error = {0};
    int err = -ENOMEM;
    if (transfer) {
        transfer->asking = asking;
        transfer->peer = *peer;
        transfer->i = i;
        transfer->begun_ns = transfer->heard_ns = pd_clock_monotonic_ns();
        transfer->patience_ns = pd_fleet_fanout_patience_ns(asking->fanout, peer->url);
        link_in(transfer);
        err = start(transfer, &error);
        if (!err) {
            return true;
        }
        free_transfer(transfer);
    }
    if (!error.code) {
        pd_fail(&error, err, "%s", pd_error_text(err));
    }
    asking->sink->end(asking->sink->context, i, &error);
    return false;
}

void pd_fleet_transfer_abandon(struct pd_transfer *transfer, const struct pd_error *error)
{
    const struct pd_fanout_sink *sink = transfer->asking->sink;
    size_t i = transfer->i;

    curl_multi_remove_handle(transfer->asking->multi, transfer->curl);
    free_transfer(transfer);
    sink->end(sink->context, i, error);
}

void pd_fleet_transfer_end(struct pd_transfer *transfer, CURLcode result)
{
    struct pd_error error = {0};

    judge(transfer, result, &error);
    pd_fleet_transfer_abandon(transfer, &error);
}
