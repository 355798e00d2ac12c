/* SPDX-License-Identifier: Apache-2.0 */
/* Signs of life of servers that are silent: asked for, waited for, judged. */
#include <stdio.h>

#include "base/clock.h"
#include "fleet/transfer.h"
#include "http/client.h"

/* A sign of life is one whatever it says: nothing of it is kept. */
static size_t drop(char *bytes, size_t one, size_t len, void *context)
{
    (void)bytes, (void)one, (void)context;
    return len;
}

static bool set_up(struct pd_transfer *transfer, CURL *curl)
{
    const struct pd_asking *asking = transfer->asking;
    uint64_t ns = transfer->due_by_ns - pd_clock_monotonic_ns();
    struct pd_error unheard = {0};
    char url[1024];

    if (pd_http_client_url(transfer->peer.url, PD_PULSE_ROUTE, url, sizeof url) ||
        pd_http_client_set_up(curl, transfer->peer.url, url, asking->credentials, &unheard)) {
        return false;
    }
    bool failed = curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, 1L);
    failed |= curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L);
    failed |= curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, drop);
    failed |= curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(ns / PD_NS_PER_MS) + 1000);
    failed |= curl_easy_setopt(curl, CURLOPT_PRIVATE, transfer);
    return !failed && !curl_multi_add_handle(asking->multi, curl);
}

/* Where there is no memory for it, the answer is waited for to its deadline. */
static void begin(struct pd_transfer *transfer, uint64_t now_ns)
{
    uint64_t ns =
        transfer->patience_ns > PD_PULSE_LEAST_NS ? transfer->patience_ns : PD_PULSE_LEAST_NS;

    transfer->due_ns = now_ns + ns;
    transfer->due_by_ns = now_ns + PD_PULSE_STRETCH * ns;
    transfer->pulse = curl_easy_init();
    if (transfer->pulse && !set_up(transfer, transfer->pulse)) {
        curl_easy_cleanup(transfer->pulse);
        transfer->pulse = NULL;
    }
    transfer->suspect = transfer->pulse;
    if (!transfer->pulse) {
        transfer->heard_ns = now_ns;
    }
}

void pd_fleet_pulse_stop(struct pd_transfer *transfer)
{
    if (transfer->pulse) {
        curl_multi_remove_handle(transfer->asking->multi, transfer->pulse);
        curl_easy_cleanup(transfer->pulse);
        transfer->pulse = NULL;
    }
}

static void give_up(struct pd_transfer *transfer, uint64_t now_ns)
{
    struct pd_error error = {0};

    pd_fail(&error, -PD_E_SILENT, PD_FANOUT_SILENT "no sign of life for %llu ms",
            (unsigned long long)((now_ns - transfer->heard_ns) / PD_NS_PER_MS));
    pd_fleet_transfer_abandon(transfer, &error);
}

size_t pd_fleet_pulse_end(struct pd_transfer *transfer, CURLcode result)
{
    struct pd_error error = {0};
    char words[CURL_ERROR_SIZE] = "";
    long status = 0;

    curl_easy_getinfo(transfer->pulse, CURLINFO_RESPONSE_CODE, &status);
    if (!transfer->suspect) {
        pd_fleet_pulse_stop(transfer);
        return 0;
    }
    if (status) {
        pd_fleet_pulse_stop(transfer);
        transfer->heard_ns = pd_clock_monotonic_ns();
        transfer->patience_ns = 2 * transfer->patience_ns < PD_PACE_MOST_NS
                                    ? 2 * transfer->patience_ns
                                    : PD_PACE_MOST_NS;
        return 0;
    }
    pd_fleet_pulse_stop(transfer);
    if (result == CURLE_OPERATION_TIMEDOUT) {
        give_up(transfer, pd_clock_monotonic_ns());
        return 1;
    }
    pd_fail(&error, -PD_E_UNREACHABLE, "%.200s", pd_http_client_reason(result, words));
    pd_fleet_transfer_abandon(transfer, &error);
    return 1;
}

/* When this transfer is to be looked at again: there is nothing to do before. */
static uint64_t next_ns(const struct pd_transfer *transfer)
{
    uint64_t due_ns = transfer->due_ns, busy_ns = transfer->asking->heard_ns + PD_PACE_LEAST_NS;

    if (!transfer->pulse) {
        return transfer->heard_ns + transfer->patience_ns;
    }
    due_ns = due_ns > busy_ns ? due_ns : busy_ns;
    return due_ns < transfer->due_by_ns ? due_ns : transfer->due_by_ns;
}

/* Those that were heard meanwhile: not at once, for the library tells of bytes in a callback, where
 * no handle may be taken away from it. */
static void stop_needless(struct pd_asking *asking)
{
    for (struct pd_transfer *t = asking->open; t; t = t->next) {
        if (!t->suspect) {
            pd_fleet_pulse_stop(t);
        }
    }
}

size_t pd_fleet_pulse_look(struct pd_asking *asking, uint64_t *ret_wait_ns)
{
    const uint64_t now_ns = pd_clock_monotonic_ns();
    struct pd_transfer *transfer = asking->open, *next;
    size_t ended = 0;

    if (!asking->request->asks_signs) {
        return 0;
    }
    stop_needless(asking);
    for (; transfer; transfer = next) {
        next = transfer->next;
        if (now_ns < next_ns(transfer)) {
            continue;
        }
        if (transfer->pulse) {
            give_up(transfer, now_ns);
            ended++;
        } else {
            begin(transfer, now_ns);
        }
    }
    for (transfer = asking->open; transfer; transfer = transfer->next) {
        uint64_t at_ns = next_ns(transfer), left_ns = at_ns > now_ns ? at_ns - now_ns : 0;

        *ret_wait_ns = left_ns < *ret_wait_ns ? left_ns : *ret_wait_ns;
    }
    return ended;
}
