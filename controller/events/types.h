/* SPDX-License-Identifier: Apache-2.0 */
/* The types of events that a stream can follow: one table. */
#ifndef PD_CONTROLLER_EVENTS_TYPES_H
#define PD_CONTROLLER_EVENTS_TYPES_H

#include "controller/controller.h"
#include "http/answer.h"

/* Most types are published: a part says what the state of one of its things is now
 * (pd_events_publish), and `open` is NULL. A type of which each stream is told something else (from
 * where on, of which metrics) has a source for each stream instead, and wakes streams with
 * pd_events_wake when there is something new.
 *
 * A new type is a line in types.c; docs/api/controller.json names it. */

/* What a stream sends next; grows as needed. */
struct pd_event_out {
    char *bytes;
    size_t len, size;
};

/* A source that has more goes on at the next read when there is as much as this. */
#define PD_EVENT_BATCH_BYTES ((size_t)64 << 10)

/* Appends an event; `id` 0: none. -ENOMEM. */
int pd_event_put(struct pd_event_out *out, const char *type, uint64_t id, const char *json,
                 size_t len);
/* A comment: a line of words. */
int pd_event_comment(struct pd_event_out *out, const char *words);

struct pd_event_request {
    const char *last_id;   /* header Last-Event-ID; NULL: none */
    const char *parameter; /* value of the type's own parameter; NULL: not given */
};

struct pd_event_type {
    const char *name;
    const char *parameter; /* of the request, which this type takes; NULL: none */
    bool by_name;          /* only streams that name it follow it: it costs something */
    /* 0, or a negative error in words: the request is refused. NULL: published. */
    int (*open)(struct pd_controller *controller, const struct pd_event_request *request,
                void **ret_source, struct pd_problem *problem);
    /* Appends what is new, if anything; does not wait. A negative error ends the stream. */
    int (*read)(void *source, struct pd_event_out *out);
    void (*close)(void *source);
};

extern const struct pd_event_type pd_event_alarm, pd_event_host, pd_event_switch, pd_event_verdict,
    pd_event_reload, pd_link_event_link;

#define PD_EVENT_TYPES_MAX 16u

extern const struct pd_event_type *const pd_event_types[]; /* ends with NULL */

#endif
