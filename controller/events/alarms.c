/* SPDX-License-Identifier: Apache-2.0 */
/* Alarms as events: read from the store, each of them, by their IDs. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/alarms/parameters.h"
#include "controller/alarms/store.h"
#include "controller/events/types.h"

#define STEP 100u

/* As at /v1/alarms/stream, nothing is kept for a reader but the ID of the last one that it got. */
struct source {
    struct pd_alarm_store *store;
    uint64_t since;
};

struct reading {
    struct source *source;
    struct pd_event_out *out;
    int err;
};

static int open_alarms(struct pd_controller *controller, const struct pd_event_request *request,
                       void **ret_source, struct pd_problem *problem)
{
    struct source *source;
    uint64_t since = pd_alarm_store_last(controller->alarms);

    if (request->last_id && *request->last_id && pd_alarm_id_parse(request->last_id, &since)) {
        return pd_fail(&problem->error, -PD_E_VALUE, "Last-Event-ID: expects the ID of an alarm");
    }
    source = malloc(sizeof *source);
    if (!source) {
        return -ENOMEM;
    }
    *source = (struct source){controller->alarms, since};
    *ret_source = source;
    return 0;
}

static int put_alarm(void *context, uint64_t id, const char *json, size_t len)
{
    struct reading *reading = context;
    struct source *source = reading->source;
    char text[PD_ALARM_MESSAGE_MAX_BYTES + 96], words[96];
    int head_len = snprintf(text, sizeof text, "{\"id\":%" PRIu64 ",", id);

    if (reading->out->len >= PD_EVENT_BATCH_BYTES || (size_t)head_len + len > sizeof text) {
        return 1;
    }
    if (id != source->since + 1) {
        snprintf(words, sizeof words, " alarms %" PRIu64 " to %" PRIu64 " are not kept any more",
                 source->since + 1, id - 1);
        reading->err = pd_event_comment(reading->out, words);
    }
    memcpy(text + head_len, json, len);
    if (!reading->err) {
        reading->err = pd_event_put(reading->out, "alarm", id, text, (size_t)head_len + len);
    }
    source->since = reading->err ? source->since : id;
    return reading->err;
}

static int read_alarms(void *context, struct pd_event_out *out)
{
    struct source *source = context;
    struct reading reading = {source, out, 0};
    uint64_t next;
    bool more = true;
    int err = 0;

    while (!err && more && out->len < PD_EVENT_BATCH_BYTES) {
        err = pd_alarm_store_read(source->store, source->since, NULL, STEP, put_alarm, &reading,
                                  &next, &more);
        if (!err) {
            err = reading.err;
        }
    }
    return err;
}

const struct pd_event_type pd_event_alarm = {
    .name = "alarm", .open = open_alarms, .read = read_alarms, .close = free};
