/* SPDX-License-Identifier: Apache-2.0 */
/* The inventory in force, and what is known of each host from having been asked. */
#ifndef PD_CONTROLLER_HOSTS_H
#define PD_CONTROLLER_HOSTS_H

#include <jansson.h>
#include <stdatomic.h>

#include "controller/inventory.h"

/* A host is "unknown" until it was asked, then "up" or "missing" by how the last question ended.
 * What is known survives a reload for hosts that stay.
 *
 * A host that gave no sign of life (PD_FANOUT_SILENT in the reason) is silent: questions leave it
 * out, until it answers the part `pulse` (controller/pulse.c), which asks it in the background.
 *
 * Thread safety: everything may be called from any thread; one mutex inside, under which nothing
 * but that of the event hub is taken. */

struct pd_hosts;

/* The inventory is theirs from then on. 0 or -ENOMEM. */
int pd_controller_hosts_new(struct pd_inventory *inventory, struct pd_hosts **ret_hosts);
void pd_controller_hosts_free(struct pd_hosts *hosts); /* NULL is fine */

/* The one in force, held for the caller: pd_controller_inventory_free lets it go. */
struct pd_inventory *pd_controller_hosts_inventory(struct pd_hosts *hosts);

/* Puts another one into force; takes it over. 0; or -ENOMEM, then all stays as it was and the new
 * one is the caller's. */
int pd_controller_hosts_replace(struct pd_hosts *hosts, struct pd_inventory *inventory);

/* From now on each change of a host's state is published (controller/events): what
 * pd_controller_hosts_json says of it. Before other threads know of the hosts. */
struct pd_events;
void pd_controller_hosts_publish(struct pd_hosts *hosts, struct pd_events *events);

/* How a question to a host ended: `reason` NULL or "" for an answer. IDs that the inventory does
 * not know (any more) are passed over. */
void pd_controller_hosts_asked(struct pd_hosts *hosts, uint32_t id, const char *reason);

/* Since when a host has been silent, wall time; 0: it is not. */
uint64_t pd_controller_hosts_silent_since(struct pd_hosts *hosts, uint32_t id);

/* Some silent host: the first whose ID is greater than `after`, with its URL, which the caller
 * frees. Its ID; 0: there is none, or no memory. */
uint32_t pd_controller_hosts_next_silent(struct pd_hosts *hosts, uint32_t after, char **ret_url);

/* Waits until a host is silent, or `stopping`, looked at when pd_controller_hosts_wake is called.
 */
void pd_controller_hosts_wait_silent(struct pd_hosts *hosts, const atomic_bool *stopping);
void pd_controller_hosts_wake(struct pd_hosts *hosts);

/* {"hosts":[{"id","name","url","rack","state","last_seen_us","error","error_us"}],"all"}: those in
 * this state, "unknown", "up" or "missing", or all (NULL), and how many there are of any; NULL
 * without memory. Times are wall time, null: never. */
json_t *pd_controller_hosts_json(struct pd_hosts *hosts, const char *state);

struct pd_hosts_numbers {
    size_t all, up, missing;
};
struct pd_hosts_numbers pd_controller_hosts_count(struct pd_hosts *hosts);

#endif
