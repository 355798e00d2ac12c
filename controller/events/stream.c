/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/events: what is new, as server-sent events; and the hub as a part of the controller. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "controller/events/events.h"
#include "controller/events/hub.h"
#include "controller/routes.h"
#include "http/text.h"

/* How often a connection is tried when there is nothing to tell. */
#define BEAT_NS (10 * PD_NS_PER_S)
#define WAIT_NS PD_NS_PER_S

struct stream {
    struct pd_events *hub;
    struct pd_events_follower follower;
    bool follows;
    void *sources[PD_EVENT_TYPES_MAX]; /* of types that have them */
    struct pd_event_out out;           /* what is to be sent, from `sent` on */
    size_t sent;
    uint64_t beat_ns; /* 0: nothing was sent yet */
};

/* ---- the stream ---- */

static int gather(struct stream *stream)
{
    int err = pd_events_read(stream->hub, &stream->follower, &stream->out);

    for (unsigned i = 0; pd_event_types[i] && !err; i++) {
        if (stream->sources[i]) {
            err = pd_event_types[i]->read(stream->sources[i], &stream->out);
        }
    }
    return err;
}

/* A comment at first, so that the client sees that it is connected, and then as signs of life. */
static int beat(struct stream *stream)
{
    if (!stream->beat_ns) {
        return pd_event_comment(&stream->out, " events from now on\nretry: 1000");
    }
    return pd_clock_monotonic_ns() >= stream->beat_ns ? pd_event_comment(&stream->out, "") : 0;
}

static int refill(struct stream *stream)
{
    uint64_t turn = pd_events_turn(stream->hub);
    int err;

    stream->sent = stream->out.len = 0;
    err = beat(stream);
    if (!err) {
        err = gather(stream);
    }
    if (err || stream->out.len) {
        stream->beat_ns = pd_clock_monotonic_ns() + BEAT_NS;
        return err;
    }
    return pd_events_wait(stream->hub, turn, pd_clock_monotonic_ns() + WAIT_NS) ? 0 : -PD_E_EOF;
}

static ssize_t read_events(void *context, char *buffer, size_t size)
{
    struct stream *stream = context;
    size_t left;
    int err = stream->sent < stream->out.len ? 0 : refill(stream);

    if (err) {
        return err;
    }
    left = stream->out.len - stream->sent;
    left = left < size ? left : size;
    if (left) {
        memcpy(buffer, stream->out.bytes + stream->sent, left);
    }
    stream->sent += left;
    return (ssize_t)left;
}

static void close_stream(void *context)
{
    struct stream *stream = context;

    for (unsigned i = 0; pd_event_types[i]; i++) {
        if (stream->sources[i]) {
            pd_event_types[i]->close(stream->sources[i]);
        }
    }
    if (stream->follows) {
        pd_events_unfollow(stream->hub, &stream->follower);
    }
    free(stream->out.bytes);
    free(stream);
}

/* ---- the request ---- */

struct wanted {
    bool types[PD_EVENT_TYPES_MAX];
    char *parameters[PD_EVENT_TYPES_MAX]; /* of types that take one; NULL: not given */
};

/* "alarm,host". */
static int read_types(char *list, struct wanted *wanted, struct pd_error *error)
{
    char *rest = NULL;

    for (char *name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        unsigned i = 0;

        while (pd_event_types[i] && strcmp(pd_event_types[i]->name, name) != 0) {
            i++;
        }
        if (!pd_event_types[i]) {
            pd_fail(error, -PD_E_VALUE, "types: there are no events \"%.40s\"", name);
            pd_printable(error->text);
            return -PD_E_VALUE;
        }
        wanted->types[i] = true;
    }
    return 0;
}

static int read_parameter(struct wanted *wanted, const char *name, char *value,
                          struct pd_error *error)
{
    for (unsigned i = 0; pd_event_types[i]; i++) {
        if (!pd_event_types[i]->parameter || strcmp(pd_event_types[i]->parameter, name) != 0) {
            continue;
        }
        if (wanted->parameters[i]) {
            return pd_fail(error, -PD_E_VALUE, "%s: given twice", name);
        }
        wanted->parameters[i] = strdup(value);
        return wanted->parameters[i] ? 0 : -ENOMEM;
    }
    pd_fail(error, -PD_E_UNKNOWN_KEY, "%s: unknown parameter", name);
    pd_printable(error->text);
    return -PD_E_UNKNOWN_KEY;
}

static int read_wanted(struct pd_call *call, struct wanted *wanted, struct pd_problem *problem)
{
    char value[PD_TARGET_MAX_BYTES];
    bool seen = false;
    int more, err = 0;

    while (!err && (more = pd_http_target_next(&call->parameters, problem->parameter,
                                               sizeof problem->parameter, value, sizeof value,
                                               &problem->error)) > 0) {
        if (strcmp(problem->parameter, "types") != 0) {
            err = read_parameter(wanted, problem->parameter, value, &problem->error);
        } else if (seen) {
            err = pd_fail(&problem->error, -PD_E_VALUE, "types: given twice");
        } else {
            seen = true;
            err = value[strspn(value, ",")]
                      ? read_types(value, wanted, &problem->error)
                      : pd_fail(&problem->error, -PD_E_VALUE, "types: names none");
        }
    }
    if (err || more < 0) {
        return err ? err : more;
    }
    problem->parameter[0] = '\0';
    for (unsigned i = 0; pd_event_types[i] && !seen; i++) {
        wanted->types[i] = !pd_event_types[i]->by_name;
    }
    return 0;
}

static int open_sources(struct pd_controller *controller, const struct pd_call *call,
                        const struct wanted *wanted, struct stream *stream,
                        struct pd_problem *problem)
{
    int err = 0;

    for (unsigned i = 0; pd_event_types[i] && !err; i++) {
        const struct pd_event_request request = {call->http->last_event_id, wanted->parameters[i]};

        if (wanted->types[i] && pd_event_types[i]->open) {
            err = pd_event_types[i]->open(controller, &request, &stream->sources[i], problem);
        }
    }
    return err;
}

static int open_stream(struct pd_controller *controller, const struct pd_call *call,
                       const struct wanted *wanted, struct stream **ret_stream,
                       struct pd_problem *problem)
{
    struct stream *stream = calloc(1, sizeof *stream);
    int err;

    if (!stream) {
        return -ENOMEM;
    }
    stream->hub = controller->events;
    memcpy(stream->follower.types, wanted->types, sizeof wanted->types);
    pd_events_follow(stream->hub, &stream->follower);
    stream->follows = true;
    err = open_sources(controller, call, wanted, stream, problem);
    if (err) {
        close_stream(stream);
        return err;
    }
    *ret_stream = stream;
    return 0;
}

int pd_events_answer(struct pd_controller *controller, struct pd_call *call,
                     struct pd_answer *answer, struct pd_problem *problem)
{
    struct wanted wanted = {0};
    struct stream *stream = NULL;
    int err = read_wanted(call, &wanted, problem);

    if (!err) {
        err = open_stream(controller, call, &wanted, &stream, problem);
    }
    for (unsigned i = 0; pd_event_types[i]; i++) {
        free(wanted.parameters[i]);
    }
    if (!err) {
        const struct pd_answer_stream source = {stream, read_events, close_stream};

        pd_http_answer_stream(answer, "text/event-stream", &source);
    }
    return err;
}

/* ---- the part ---- */

static int open_events(void *daemon, const void *options, struct pd_error *error)
{
    struct pd_controller *controller = daemon;

    (void)options;
    controller->events = pd_events_new();
    if (!controller->events) {
        return pd_fail(error, -ENOMEM, "events: %s", pd_error_text(-ENOMEM));
    }
    pd_controller_hosts_publish(controller->hosts, controller->events);
    return 0;
}

void pd_events_reloaded(struct pd_controller *controller)
{
    struct pd_inventory *inventory;

    if (!pd_events_wanted(controller->events, &pd_event_reload)) {
        return;
    }
    inventory = pd_controller_hosts_inventory(controller->hosts);
    pd_events_publish(controller->events, &pd_event_reload, 0,
                      json_pack("{s:I, s:o, s:I, s:I}", "time_us", (json_int_t)pd_clock_wall_us(),
                                "topology", pd_http_text_json(inventory->topology->name),
                                "switches", (json_int_t)inventory->topology->switches_len, "hosts",
                                (json_int_t)inventory->hosts_len));
    pd_controller_inventory_free(inventory);
}

static void stop_events(void *daemon)
{
    const struct pd_controller *controller = daemon;

    pd_events_stop(controller->events);
}

static void close_events(void *daemon)
{
    struct pd_controller *controller = daemon;

    pd_events_free(controller->events);
    controller->events = NULL;
}

static json_t *tell_status(void *daemon)
{
    const struct pd_controller *controller = daemon;
    struct pd_events_stat stat;

    pd_events_stat(controller->events, &stat);
    return json_pack("{s:I, s:I, s:I, s:I}", "streams", (json_int_t)stat.streams, "published",
                     (json_int_t)stat.published, "replaced", (json_int_t)stat.replaced, "lost",
                     (json_int_t)stat.lost);
}

const struct pd_part pd_events_part = {.name = "events",
                                       .open = open_events,
                                       .stop = stop_events,
                                       .close = close_events,
                                       .status = tell_status};
