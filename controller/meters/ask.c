/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to all monitors at once. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "controller/meters/private.h"
#include "fleet/collect.h"
#include "query/members.h"

#define ANSWER_BYTES_MAX ((size_t)64 << 20)
#define AT_ONCE          64
#define RULES_BYTES_MAX  4096u /* of the answer to rules */

/* Whom an errand goes to. */
struct errand {
    struct pd_meters *meters;
    uint32_t *numbers; /* of peers */
    size_t len;
    uint64_t epoch;
    bool reads;
};

static uint64_t count_of(const json_t *document, const char *name)
{
    const json_int_t count = json_integer_value(json_object_get(document, name));

    return count > 0 ? (uint64_t)count : 0;
}

/* With the lock held. */
static void note_counters(struct pd_meters_monitor *monitor, const json_t *document)
{
    const json_t *counters = json_object_get(document, "counters");

    monitor->late = count_of(counters, "late");
    monitor->strays = count_of(counters, "strays");
    monitor->disagree = count_of(counters, "disagree");
    monitor->full = count_of(counters, "full");
}

static bool is_of(const json_t *document, const struct pd_meters_monitor *monitor, uint64_t epoch)
{
    return count_of(document, "monitor") == monitor->id && count_of(document, "epoch") == epoch &&
           json_is_array(json_object_get(document, "meters"));
}

static void take_answer(void *context, size_t i, const struct pd_collected *peer)
{
    const struct errand *errand = context;
    const struct pd_error *error = &peer->error;
    struct pd_meters_monitor *monitor = &errand->meters->monitors[errand->numbers[i]];
    json_t *document = error->code || !errand->reads || !peer->len
                           ? NULL
                           : json_loadb(peer->answer, peer->len, 0, NULL);
    const bool good = document && is_of(document, monitor, errand->epoch);

    pthread_mutex_lock(&errand->meters->lock);
    if (error->code || (errand->reads && !good)) {
        snprintf(monitor->reason, sizeof monitor->reason, "%.110s",
                 error->code ? error->text : "its answer is not that of a monitor, of this epoch");
    } else if (errand->reads) {
        monitor->reason[0] = '\0';
        monitor->heard_epoch = errand->epoch;
        note_counters(monitor, document);
    }
    pthread_mutex_unlock(&errand->meters->lock);
    if (!errand->reads) {
        monitor->dsm_changed |= error->code != 0; /* again with the next epoch */
        monitor->usm_changed |= error->code != 0;
    }
    if (errand->reads && good) {
        monitor->document = document;
    } else {
        json_decref(document);
    }
}

static void run(struct errand *errand, const struct pd_fanout_request *request, char **bodies)
{
    struct pd_collected *peers = calloc(errand->len + 1, sizeof *peers);

    for (size_t i = 0; peers && i < errand->len; i++) {
        peers[i] = (struct pd_collected){.url = errand->meters->monitors[errand->numbers[i]].url,
                                         .body = bodies ? bodies[i] : NULL};
    }
    if (peers) {
        pd_fleet_collect(errand->meters->fanout, request, peers, errand->len, take_answer, errand);
    }
    free(peers);
}

/* Within half an epoch, or the next ones would be late; one second at least. */
static uint64_t deadline_ns(const struct pd_meters *meters)
{
    const uint64_t half_ns = meters->epoch_ms * UINT64_C(500000);

    return pd_clock_monotonic_ns() + (half_ns > PD_NS_PER_S ? half_ns : PD_NS_PER_S);
}

void pd_meters_ask(struct pd_meters *meters, uint64_t epoch)
{
    char route[64];
    struct errand errand = {.meters = meters, .epoch = epoch, .reads = true};
    struct pd_fanout_request request = {.method = "GET",
                                        .route = route,
                                        .accept = "application/json",
                                        .deadline_ns = deadline_ns(meters),
                                        .max_bytes = ANSWER_BYTES_MAX,
                                        .at_once = AT_ONCE,
                                        .cancelled = &meters->controller->stopping};

    snprintf(route, sizeof route, "/v1/meters?epoch=%" PRIu64, epoch);
    errand.numbers = calloc((size_t)meters->monitors_len + 1, sizeof *errand.numbers);
    for (uint32_t m = 0; m < meters->monitors_len; m++) {
        json_decref(meters->monitors[m].document);
        meters->monitors[m].document = NULL;
        if (errand.numbers) {
            errand.numbers[errand.len++] = m;
        }
    }
    run(&errand, &request, NULL);
    free(errand.numbers);
}

/* ---- rules ---- */

struct listing {
    const struct pd_meters *meters;
    uint32_t number; /* of the monitor */
    bool down;
    json_t *list;
};

static int list_rule(void *context, const struct pd_meter_rule *rule)
{
    const struct listing *listing = context;
    const struct pd_meter_segment *segment =
        pd_meter_loop_segment(listing->meters->loop, rule->segment);

    return (listing->down ? segment->down : segment->up) == listing->number &&
                   json_array_append_new(listing->list, pd_query_flow_id_json(&rule->flow))
               ? -ENOMEM
               : 0;
}

/* {"version","epoch_ms","dsm":[…]} or with "usm"; NULL without memory. */
static char *rules_of(struct pd_meters *meters, uint32_t number, bool down)
{
    struct listing listing = {meters, number, down, json_array()};
    int err = meters->loop && meters->running
                  ? pd_meter_loop_rules(meters->loop, list_rule, &listing)
                  : 0;

    for (size_t i = 0; down && meters->running && i < meters->leaving_len; i++) {
        err = err ? err : list_rule(&listing, &meters->leaving[i]);
    }
    json_t *document =
        json_pack("{s:I,s:I,s:o}", "version", (json_int_t)meters->monitors[number].version,
                  "epoch_ms", (json_int_t)meters->epoch_ms, down ? "dsm" : "usm", listing.list);
    char *text = err || !document ? NULL : json_dumps(document, JSON_COMPACT);
    json_decref(document);
    return text;
}

static void push(struct pd_meters *meters, bool down)
{
    struct errand errand = {.meters = meters};
    const struct pd_fanout_request request = {.method = "PUT",
                                              .route = "/v1/meters/rules",
                                              .type = "application/json",
                                              .accept = "application/json",
                                              .deadline_ns = deadline_ns(meters),
                                              .max_bytes = RULES_BYTES_MAX,
                                              .at_once = AT_ONCE};
    char **bodies = calloc((size_t)meters->monitors_len + 1, sizeof *bodies);

    errand.numbers = calloc((size_t)meters->monitors_len + 1, sizeof *errand.numbers);
    for (uint32_t m = 0; bodies && errand.numbers && m < meters->monitors_len; m++) {
        bool *changed = down ? &meters->monitors[m].dsm_changed : &meters->monitors[m].usm_changed;

        bodies[errand.len] = *changed ? rules_of(meters, m, down) : NULL;
        if (bodies[errand.len]) {
            *changed = false;
            errand.numbers[errand.len++] = m;
        }
    }
    run(&errand, &request, bodies);
    for (size_t i = 0; bodies && i < errand.len; i++) {
        free(bodies[i]);
    }
    free(bodies);
    free(errand.numbers);
}

void pd_meters_push(struct pd_meters *meters)
{
    push(meters, true);
    push(meters, false);
}
