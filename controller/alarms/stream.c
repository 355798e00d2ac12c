/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/alarms/stream: alarms as server-sent events. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "controller/alarms/parameters.h"
#include "controller/alarms/store.h"
#include "controller/routes.h"

/* Nothing is kept for a reader but the ID of the last alarm that it got: what follows is read from
 * the store when the reader has taken all before. One that does not take what there is in time is
 * cut off by the server (src/http), and may resume where it was with Last-Event-ID. */

/* How often a connection is tried when there is nothing to tell. */
#define BEAT_NS   (10 * PD_NS_PER_S)
#define WAIT_NS   PD_NS_PER_S
#define STEP      100u
#define MORE_ROOM 200u /* beside an alarm's JSON: its ID twice, or a comment */

struct stream {
    struct pd_alarm_store *store;
    struct pd_alarm_parameters wanted;
    uint64_t beat_ns; /* 0: nothing was sent yet */
};

/* What fits of the next events. */
struct events {
    struct stream *stream;
    char *buffer;
    size_t len, size;
};

static int put_event(void *context, uint64_t id, const char *json, size_t len)
{
    struct events *events = context;
    struct stream *stream = events->stream;
    char *at = events->buffer + events->len;
    size_t room = events->size - events->len, n = 0;

    if (room < len + MORE_ROOM) {
        return 1;
    }
    if (!*stream->wanted.reason && id != stream->wanted.since + 1) {
        n = (size_t)snprintf(at, room,
                             ": alarms %" PRIu64 " to %" PRIu64 " are not kept any more\n\n",
                             stream->wanted.since + 1, id - 1);
    }
    n += (size_t)snprintf(at + n, room - n, "id: %" PRIu64 "\ndata: {\"id\":%" PRIu64 ",", id, id);
    memcpy(at + n, json, len);
    n += len;
    memcpy(at + n, "\n\n", 2);
    events->len += n + 2;
    stream->wanted.since = id;
    return 0;
}

/* Comments: at first, so that the client sees that it is connected, and then as signs of life. */
static size_t put_comment(struct stream *stream, char *buffer, size_t size)
{
    if (!stream->beat_ns) {
        return (size_t)snprintf(buffer, size, "retry: 1000\n: alarms after %" PRIu64 "\n\n",
                                stream->wanted.since);
    }
    return pd_clock_monotonic_ns() >= stream->beat_ns ? (size_t)snprintf(buffer, size, ":\n\n") : 0;
}

static ssize_t read_events(void *context, char *buffer, size_t size)
{
    struct stream *stream = context;
    struct events events = {stream, buffer, put_comment(stream, buffer, size), size};
    uint64_t known = pd_alarm_store_last(stream->store), next;
    bool more = false;
    int err = pd_alarm_store_read(stream->store, stream->wanted.since,
                                  *stream->wanted.reason ? stream->wanted.reason : NULL, STEP,
                                  put_event, &events, &next, &more);

    if (err) {
        return err;
    }
    if (!more && known > stream->wanted.since) {
        stream->wanted.since = known; /* the others have other reasons */
    }
    if (events.len) {
        stream->beat_ns = pd_clock_monotonic_ns() + BEAT_NS;
        return (ssize_t)events.len;
    }
    return pd_alarm_store_wait(stream->store, stream->wanted.since,
                               pd_clock_monotonic_ns() + WAIT_NS)
               ? 0
               : -PD_E_EOF;
}

static void close_stream(void *context)
{
    free(context);
}

int pd_alarms_stream(struct pd_controller *controller, struct pd_call *call,
                     struct pd_answer *answer, struct pd_problem *problem)
{
    struct pd_alarm_parameters wanted = {0};
    int err = pd_alarm_parameters_read(call, false, &wanted, problem);
    struct stream *stream;

    if (err) {
        return err;
    }
    if (call->http->last_event_id && *call->http->last_event_id) {
        if (pd_alarm_id_parse(call->http->last_event_id, &wanted.since)) {
            return pd_fail(&problem->error, -PD_E_VALUE,
                           "Last-Event-ID: expects the ID of an alarm");
        }
        wanted.has_since = true;
    }
    if (!wanted.has_since) {
        wanted.since = pd_alarm_store_last(controller->alarms);
    }
    stream = malloc(sizeof *stream);
    if (!stream) {
        return -ENOMEM;
    }
    *stream = (struct stream){controller->alarms, wanted, 0};
    struct pd_answer_stream source = {stream, read_events, close_stream};
    pd_http_answer_stream(answer, "text/event-stream", &source);
    /* cppcheck-suppress memleak ; it is the answer's now */
    return 0;
}
