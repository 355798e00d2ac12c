/* SPDX-License-Identifier: Apache-2.0 */
/* Fan-out over libcurl's multi interface; the what it asks with is in client.c. */
#include "fleet/fanout.h"

#include <curl/curl.h>
#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fleet/client.h"
#include "http/who.h"

#define PROBLEM_MAX_BYTES 4096u
#define WAIT_MS           1000
#define MULTIS_KEPT       8u
#define CONNECTIONS_KEPT  256L /* of a multi handle */
#define CONNECT_MIN_MS    1000L

/* Connections belong to a multi handle, and that to one thread at a time: each asker takes one. */
struct pd_fanout {
    pthread_mutex_t lock;
    CURLM *idle[MULTIS_KEPT];
    unsigned idle_len;
    bool ready;                         /* the library is */
    struct pd_credentials *credentials; /* NULL: none; set before there are threads */
};

/* All of one question. */
struct asking {
    const struct pd_fanout_request *request;
    const struct pd_fanout_source *source;
    const struct pd_fanout_sink *sink;
    struct pd_credentials_set *credentials;
    struct curl_slist *headers;
};

struct transfer {
    struct asking *asking;
    struct pd_fanout_peer peer;
    size_t i;
    CURL *curl;
    uint64_t taken_bytes;
    int refused; /* by the sink, or as too large */
    size_t problem_len;
    char problem[PROBLEM_MAX_BYTES];
    char words[CURL_ERROR_SIZE];
};

struct pd_fanout *pd_fanout_new(void)
{
    struct pd_fanout *fanout = calloc(1, sizeof *fanout);
    if (!fanout) {
        return NULL;
    }
    pthread_mutex_init(&fanout->lock, NULL);
    return fanout;
}

void pd_fanout_free(struct pd_fanout *fanout)
{
    if (!fanout) {
        return;
    }
    for (unsigned i = 0; i < fanout->idle_len; i++) {
        curl_multi_cleanup(fanout->idle[i]);
    }
    pthread_mutex_destroy(&fanout->lock);
    if (fanout->ready) {
        curl_global_cleanup();
    }
    free(fanout);
}

void pd_fanout_use(struct pd_fanout *fanout, struct pd_credentials *credentials)
{
    fanout->credentials = credentials;
}

/* The library is made ready by the first question: with its cryptography it takes 3 MB, which an
 * agent that asks nobody does without. */
static CURLM *multi_take(struct pd_fanout *fanout)
{
    pthread_mutex_lock(&fanout->lock);
    fanout->ready = fanout->ready || !curl_global_init(CURL_GLOBAL_DEFAULT);
    bool ready = fanout->ready;
    CURLM *multi = fanout->idle_len ? fanout->idle[--fanout->idle_len] : NULL;
    pthread_mutex_unlock(&fanout->lock);
    if (ready && !multi && (multi = curl_multi_init())) {
        curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, CONNECTIONS_KEPT);
    }
    return multi;
}

static void multi_give(struct pd_fanout *fanout, CURLM *multi)
{
    pthread_mutex_lock(&fanout->lock);
    bool kept = fanout->idle_len < MULTIS_KEPT;
    if (kept) {
        fanout->idle[fanout->idle_len++] = multi;
    }
    pthread_mutex_unlock(&fanout->lock);
    if (!kept) {
        curl_multi_cleanup(multi);
    }
}

/* ---- one transfer ---- */

static size_t keep_problem(struct transfer *transfer, const char *bytes, size_t len)
{
    size_t room = PROBLEM_MAX_BYTES - transfer->problem_len, kept = len < room ? len : room;
    memcpy(transfer->problem + transfer->problem_len, bytes, kept);
    transfer->problem_len += kept;
    return kept; /* less than came ends the transfer: enough was read */
}

static size_t on_bytes(char *bytes, size_t one, size_t len, void *context)
{
    struct transfer *transfer = context;
    const struct asking *asking = transfer->asking;
    long status = 0;
    (void)one;
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
    const struct transfer *transfer = context;
    (void)down_all, (void)down, (void)up_all, (void)up;
    return atomic_load_explicit(transfer->asking->request->cancelled, memory_order_relaxed);
}

static bool set_cancel(struct transfer *transfer)
{
    CURL *curl = transfer->curl;
    return transfer->asking->request->cancelled &&
           (curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L) ||
            curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, is_cancelled) ||
            curl_easy_setopt(curl, CURLOPT_XFERINFODATA, transfer));
}

/* POST unless the request says otherwise; what is no POST has no body. */
static bool set_method(CURL *curl, const char *method, const struct pd_fanout_peer *peer)
{
    if (method && strcmp(method, "POST") != 0) {
        return curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    }
    return curl_easy_setopt(curl, CURLOPT_POSTFIELDS, peer->body) ||
           curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)peer->body_bytes);
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

static int set_up(struct transfer *transfer, struct pd_error *error)
{
    const struct asking *asking = transfer->asking;
    const struct pd_fanout_peer *peer = &transfer->peer;
    CURL *curl = transfer->curl;
    char url[1024];
    int e = pd_client_url(peer->url, peer->route ? peer->route : asking->request->route, url,
                          sizeof url);
    if (!e) {
        e = check_token(asking->credentials, peer->url, error);
    }
    if (!e) {
        e = pd_client_set_up(curl, peer->url, url, asking->credentials, error);
    }
    if (e) {
        return e;
    }
    bool failed = set_method(curl, asking->request->method, peer);
    failed |= set_cancel(transfer);
    failed |= curl_easy_setopt(curl, CURLOPT_HTTPHEADER, asking->headers);
    failed |= curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_bytes);
    failed |= curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
    failed |= curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, transfer->words);
    failed |= curl_easy_setopt(curl, CURLOPT_PRIVATE, transfer);
    return failed ? -ENOMEM : 0;
}

/* At the deadline at the latest, from now; where nobody takes the connection there is to be time
 * left for another way. */
static int limit_time(struct transfer *transfer)
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
    case 413: return -PD_E_TOO_LARGE;
    case 422: return -PD_E_PROGRAM;
    case 501: return -PD_E_UNSUPPORTED;
    case 503: return -PD_E_BUSY;
    case 504: return -PD_E_DEADLINE;
    default: return status >= 400 && status < 500 ? -PD_E_VALUE : -PD_E_UNREACHABLE;
    }
}

/* A problem document's words, or the status alone. */
static void fail_status(const struct transfer *transfer, long status, struct pd_error *error)
{
    json_t *problem = json_loadb(transfer->problem, transfer->problem_len, 0, NULL);
    const char *detail = json_string_value(json_object_get(problem, "detail"));
    int code = code_of(status);
    if (detail) {
        pd_fail(error, code, "%.300s (status %ld)", detail, status);
    } else {
        pd_fail(error, code, "answered with status %ld", status);
    }
    json_decref(problem);
    pd_printable(error->text);
}

static void judge(struct transfer *transfer, CURLcode result, struct pd_error *error)
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
        pd_fail(error, -PD_E_UNREACHABLE, "%.200s", pd_client_reason(result, transfer->words));
    }
}

/* ---- all of them ---- */

static void transfer_free(struct transfer *transfer)
{
    curl_easy_cleanup(transfer->curl);
    free(transfer);
}

static int start(CURLM *multi, struct transfer *transfer, struct pd_error *error)
{
    transfer->curl = curl_easy_init();
    int code = transfer->curl ? set_up(transfer, error) : -ENOMEM;
    code = code ? code : limit_time(transfer);
    return !code && curl_multi_add_handle(multi, transfer->curl) ? -ENOMEM : code;
}

/* An error ends the transfer before it has begun. */
static bool begin(CURLM *multi, struct asking *asking, size_t i, const struct pd_fanout_peer *peer)
{
    struct transfer *transfer = calloc(1, sizeof *transfer);
    struct pd_error error = {0};
    int code = -ENOMEM;
    if (transfer) {
        transfer->asking = asking;
        transfer->peer = *peer;
        transfer->i = i;
        code = start(multi, transfer, &error);
        if (!code) {
            return true;
        }
        transfer_free(transfer);
    }
    if (!error.code) {
        pd_fail(&error, code, "%s", pd_error_text(code));
    }
    asking->sink->end(asking->sink->context, i, &error);
    return false;
}

static size_t finish_some(CURLM *multi)
{
    CURLMsg *message;
    size_t finished = 0;
    int left;
    while ((message = curl_multi_info_read(multi, &left))) {
        struct transfer *transfer = NULL;
        struct pd_error error = {0};
        if (message->msg != CURLMSG_DONE) {
            continue;
        }
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
        judge(transfer, message->data.result, &error);
        curl_multi_remove_handle(multi, transfer->curl);
        transfer->asking->sink->end(transfer->asking->sink->context, transfer->i, &error);
        transfer_free(transfer);
        finished++;
    }
    return finished;
}

static void run(CURLM *multi, struct asking *asking)
{
    const struct pd_fanout_source *source = asking->source;
    size_t at_once = asking->request->at_once ? asking->request->at_once : SIZE_MAX;
    size_t i = 0, open = 0;
    bool more = true;
    while (more || open) {
        struct pd_fanout_peer peer = {0};
        int running;
        more = open < at_once && source->next(source->context, &peer);
        if (more) {
            open += begin(multi, asking, i++, &peer);
            continue;
        }
        curl_multi_perform(multi, &running);
        size_t finished = finish_some(multi);
        open -= finished;
        if (finished) {
            more = true; /* there is room, or something new to ask */
        } else if (open) {
            curl_multi_poll(multi, NULL, 0, WAIT_MS, NULL);
        }
    }
}

static int add_header(struct curl_slist **headers, const char *name, const char *value)
{
    char line[1100];
    if (!value) {
        return 0;
    }
    snprintf(line, sizeof line, "%s: %s", name, value);
    struct curl_slist *grown = curl_slist_append(*headers, line);
    if (!grown) {
        return -ENOMEM;
    }
    *headers = grown;
    return 0;
}

static int add_headers(struct asking *asking)
{
    int err = add_header(&asking->headers, "Content-Type", asking->request->type);
    err = err ? err : add_header(&asking->headers, "Accept", asking->request->accept);
    return err ? err : add_header(&asking->headers, "Expect", "");
}

int pd_fanout_run(struct pd_fanout *fanout, const struct pd_fanout_request *request,
                  const struct pd_fanout_source *source, const struct pd_fanout_sink *sink)
{
    struct asking asking = {.request = request,
                            .source = source,
                            .sink = sink,
                            .credentials = pd_credentials_hold(fanout->credentials)};
    CURLM *multi = multi_take(fanout);
    int err = multi ? add_headers(&asking) : -ENOMEM;
    if (!err) {
        run(multi, &asking);
    }
    if (multi) {
        multi_give(fanout, multi);
    }
    curl_slist_free_all(asking.headers);
    pd_credentials_drop(asking.credentials);
    return err;
}

struct list {
    const struct pd_fanout_peer *next, *end;
};

static bool next_of_list(void *context, struct pd_fanout_peer *ret_peer)
{
    struct list *list = context;
    if (list->next == list->end) {
        return false;
    }
    *ret_peer = *list->next++;
    return true;
}

int pd_fanout_ask(struct pd_fanout *fanout, const struct pd_fanout_request *request,
                  const struct pd_fanout_peer *peers, size_t peers_len,
                  const struct pd_fanout_sink *sink)
{
    struct list list = {peers, peers + peers_len};
    struct pd_fanout_source source = {&list, next_of_list};
    return pd_fanout_run(fanout, request, &source, sink);
}
