/* SPDX-License-Identifier: Apache-2.0 */
/* The event hub: parts publish, streams follow. */
#ifndef PD_CONTROLLER_EVENTS_HUB_H
#define PD_CONTROLLER_EVENTS_HUB_H

#include <jansson.h>
#include <stdbool.h>

#include "controller/events/types.h"

/* An event is the state of one thing (a host, by its ID) at the moment it changed. The hub keeps
 * the last one of each thing, in the order of their changes, as long as anybody follows: a stream
 * that is slow passes over what was replaced meanwhile and gets the newest. Bounded by the number
 * of things; beyond PD_EVENTS_KEPT_MAX the oldest goes, counted.
 *
 *     if (pd_events_wanted(hub, &pd_event_host)) {
 *         pd_events_publish(hub, &pd_event_host, id, host_json(…));
 *     }
 *
 * Thread safety: all functions but new and free from any thread. One lock, under which nothing else
 * is taken: whoever publishes may hold locks of its own. */

#define PD_EVENTS_KEPT_MAX 200000u

struct pd_events;

struct pd_events *pd_events_new(void); /* NULL: no memory */
void pd_events_free(struct pd_events *hub);
void pd_events_stop(struct pd_events *hub); /* streams end */

/* ---- for parts ---- */

/* Whether anybody follows events of this type; if not, publishing one costs nothing and does
 * nothing. `hub` may be NULL: a controller without. */
bool pd_events_wanted(struct pd_events *hub, const struct pd_event_type *type);

/* Takes the reference. `key`: which thing it is. Without memory the event is lost, counted. */
void pd_events_publish(struct pd_events *hub, const struct pd_event_type *type, uint64_t key,
                       json_t *data);

/* A source has something new. */
void pd_events_wake(struct pd_events *hub);

/* ---- for streams ---- */

struct pd_events_follower {
    bool types[PD_EVENT_TYPES_MAX]; /* by index in pd_event_types */
    uint64_t seen;                  /* up to this number everything was read */
};

/* From now on; `types` are the caller's. */
void pd_events_follow(struct pd_events *hub, struct pd_events_follower *follower);
void pd_events_unfollow(struct pd_events *hub, const struct pd_events_follower *follower);

/* Appends what was published since, about a batch at most. 0 or -ENOMEM. */
int pd_events_read(struct pd_events *hub, struct pd_events_follower *follower,
                   struct pd_event_out *out);

/* A number that grows with all that is new; and waiting until it is another one than this, or the
 * time (monotonic) is over. False: stopped. */
uint64_t pd_events_turn(struct pd_events *hub);
bool pd_events_wait(struct pd_events *hub, uint64_t turn, uint64_t until_ns);

struct pd_events_stat {
    uint64_t published, replaced, lost;
    unsigned streams;
};
void pd_events_stat(struct pd_events *hub, struct pd_events_stat *ret_stat);

#endif
