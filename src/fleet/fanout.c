/* SPDX-License-Identifier: Apache-2.0 */
/* Fan-out over libcurl's multi interface: connections that are kept, and the turn of all transfers.
 */
#include "fleet/fanout.h"

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "fleet/transfer.h"

#define WAIT_NS          PD_NS_PER_S
#define MULTIS_KEPT      8u
#define CONNECTIONS_KEPT 256L /* of a multi handle */

/* Connections belong to a multi handle, and that to one thread at a time: each asker takes one. */
struct pd_fanout {
    pthread_mutex_t lock;
    CURLM *idle[MULTIS_KEPT];
    unsigned idle_len;
    bool ready; /* the library is */
    struct pd_pace pace;
    struct pd_credentials *credentials; /* NULL: none; set before there are threads */
};

struct pd_fanout *pd_fleet_fanout_new(void)
{
    struct pd_fanout *fanout = calloc(1, sizeof *fanout);
    if (!fanout) {
        return NULL;
    }
    pthread_mutex_init(&fanout->lock, NULL);
    return fanout;
}

void pd_fleet_fanout_free(struct pd_fanout *fanout)
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

void pd_fleet_fanout_use(struct pd_fanout *fanout, struct pd_credentials *credentials)
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

uint64_t pd_fleet_fanout_patience_ns(struct pd_fanout *fanout, const char *url)
{
    pthread_mutex_lock(&fanout->lock);
    uint64_t ns = pd_fleet_pace_patience_ns(&fanout->pace, url);
    pthread_mutex_unlock(&fanout->lock);
    return ns;
}

void pd_fleet_fanout_note(struct pd_fanout *fanout, const char *url, uint64_t first_byte_ns)
{
    pthread_mutex_lock(&fanout->lock);
    pd_fleet_pace_note(&fanout->pace, url, first_byte_ns);
    pthread_mutex_unlock(&fanout->lock);
}

/* ---- all of them ---- */

/* A handle of the library is a transfer's own, or asks for its sign of life. */
static size_t finish(const CURLMsg *message)
{
    struct pd_transfer *transfer = NULL;
    CURLcode result = message->data.result;
    CURL *curl = message->easy_handle;

    curl_easy_getinfo(curl, CURLINFO_PRIVATE, (char **)&transfer);
    if (curl == transfer->pulse) {
        return pd_fleet_pulse_end(transfer, result);
    }
    pd_fleet_transfer_end(transfer, result);
    return 1;
}

static size_t finish_some(CURLM *multi)
{
    CURLMsg *message;
    size_t finished = 0;
    int left;
    while ((message = curl_multi_info_read(multi, &left))) {
        finished += message->msg == CURLMSG_DONE ? finish(message) : 0;
    }
    return finished;
}

static void wait_for_some(const struct pd_asking *asking, uint64_t wait_ns)
{
    const struct pd_fanout_sink *sink = asking->sink;
    uint64_t idle_ns = sink->idle ? sink->idle(sink->context) : 0;

    wait_ns = idle_ns && idle_ns < wait_ns ? idle_ns : wait_ns;
    curl_multi_poll(asking->multi, NULL, 0, (int)(wait_ns / PD_NS_PER_MS) + 1, NULL);
}

static void run(struct pd_asking *asking)
{
    const struct pd_fanout_source *source = asking->source;
    size_t at_once = asking->request->at_once ? asking->request->at_once : SIZE_MAX;
    size_t i = 0, open = 0;
    bool more = true;
    while (more || open) {
        struct pd_fanout_peer peer = {0};
        uint64_t wait_ns = WAIT_NS;
        int running;
        more = open < at_once && source->next(source->context, &peer);
        if (more) {
            open += pd_fleet_transfer_begin(asking, i++, &peer);
            continue;
        }
        curl_multi_perform(asking->multi, &running);
        size_t finished = finish_some(asking->multi);
        finished += pd_fleet_pulse_look(asking, &wait_ns);
        open -= finished;
        if (finished) {
            more = true; /* there is room, or something new to ask */
        } else if (open) {
            wait_for_some(asking, wait_ns);
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

static int add_headers(struct pd_asking *asking)
{
    int err = add_header(&asking->headers, "Content-Type", asking->request->type);
    err = err ? err : add_header(&asking->headers, "Accept", asking->request->accept);
    return err ? err : add_header(&asking->headers, "Expect", "");
}

int pd_fleet_fanout_run(struct pd_fanout *fanout, const struct pd_fanout_request *request,
                        const struct pd_fanout_source *source, const struct pd_fanout_sink *sink)
{
    struct pd_asking asking = {.fanout = fanout,
                               .request = request,
                               .source = source,
                               .sink = sink,
                               .credentials = pd_http_credentials_hold(fanout->credentials),
                               .multi = multi_take(fanout)};
    int err = asking.multi ? add_headers(&asking) : -ENOMEM;
    if (!err) {
        run(&asking);
    }
    if (asking.multi) {
        multi_give(fanout, asking.multi);
    }
    curl_slist_free_all(asking.headers);
    pd_http_credentials_drop(asking.credentials);
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

int pd_fleet_fanout_ask(struct pd_fanout *fanout, const struct pd_fanout_request *request,
                        const struct pd_fanout_peer *peers, size_t peers_len,
                        const struct pd_fanout_sink *sink)
{
    struct list list = {peers, peers + peers_len};
    struct pd_fanout_source source = {&list, next_of_list};
    return pd_fleet_fanout_run(fanout, request, &source, sink);
}
