/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of probes on planned paths: which paths lose some, and which further ways tell
 * where. */
#ifndef PD_PROBE_WATCH_H
#define PD_PROBE_WATCH_H

#include "base/flow_id.h"
#include "probe/join.h"
#include "probe/plan/plan.h"

/* Paper 001 plans paths and tells that a probe is missing. Here each path of the plan is a way from
 * a host to a host. Where PD_PROBE_WATCH_SILENT probes in a row are missing, or
 * PD_PROBE_WATCH_LOSSY within a second, further ways are laid (isolate.h): prefixes of the path,
 * and each of its directions alone. They are there until the path has been well for a second.
 *
 * Ways that are laid together are a round: all of their probes are sent after the path fell silent,
 * and it is over when a probe of the path arrives. So what they say is of one moment. A direction
 * of a silent path is dead when nothing crossed it in the round, while a way from another host to
 * another one is silent that has no other direction for which that may be. Where two directions of
 * the path are left, each needs two such ways, of different hosts.
 *
 * The simulator and the controller both feed it and send on the ways it has; neither knows of
 * suspicion. Whoever uses it has one thread at a time. */

#define PD_PROBE_WATCH_SILENT 3u
#define PD_PROBE_WATCH_LOSSY  3u

/* A way of probes. Its numbers of packets are the owner's to read and, but `total` and `recent`, to
 * set to 0. */
struct pd_probe_way {
    uint32_t number; /* given once; ways of the plan have 0, 1, … */
    bool isolates;   /* it is none of the plan */
    uint32_t *nodes; /* IDs, hosts at both ends */
    uint32_t *links; /* directed numbers (topology/links.h), one fewer */
    uint32_t nodes_len;
    uint32_t src, dst; /* indexes of the hosts */
    struct pd_flow_id flow;
    uint64_t sent, lost;
    uint64_t total, total_lost; /* since it is a way */
    uint32_t recent;            /* a bit a probe, the newest lowest: it was lost */
    struct pd_probe_join join;  /* the owner's: zeroed at first */
};

struct pd_probe_watch_config {
    const struct pd_topology *topology; /* outlives it */
    const bool *hosts;                  /* that send and collect; NULL: all */
    double rate_hz;                     /* probes a second on each way */
    uint32_t max_hops;
    /* Whoever says what became of probes may lie: that the network has changed is believed only
     * when hosts at both ends of two ways say so. */
    bool doubts;
};

struct pd_probe_watch;

/* Plans, and lays a way for each path. 0, -ENOMEM, or -PD_E_TOPOLOGY: no host. In words. */
int pd_probe_watch_new(const struct pd_probe_watch_config *config,
                       struct pd_probe_watch **ret_watch, struct pd_error *error);
void pd_probe_watch_free(struct pd_probe_watch *watch); /* NULL is nothing */

const struct pd_plan *pd_probe_watch_plan(const struct pd_probe_watch *watch);

/* All ways, those of a path behind it; from 0 on, NULL behind the last. Valid until a step. */
struct pd_probe_way *pd_probe_watch_way(const struct pd_probe_watch *watch, size_t n);
/* The way with this number; NULL: there is none. */
struct pd_probe_way *pd_probe_watch_find(const struct pd_probe_watch *watch, uint32_t number);
size_t pd_probe_watch_ways_len(const struct pd_probe_watch *watch);

/* Somebody says that nothing comes any more, before that can be counted: a path gets its further
 * ways at the next step, and loses them soon unless it is true. */
void pd_probe_watch_suspect(struct pd_probe_watch *watch, const struct pd_probe_way *way);

/* The next probe of a way came to its end, or did not. */
void pd_probe_watch_result(struct pd_probe_watch *watch, struct pd_probe_way *way, bool arrived);

/* Paths that lose probes get further ways. *ret_laid: there are new ones. 0 or -ENOMEM. */
int pd_probe_watch_step(struct pd_probe_watch *watch, bool *ret_laid);
/* Paths that are well again lose theirs. Whether any did. */
bool pd_probe_watch_forget(struct pd_probe_watch *watch);

/* Whether a path of the plan is silent or lossy by its newest probes. */
enum pd_probe_state { PD_PROBE_OK, PD_PROBE_SILENT, PD_PROBE_LOSSY };
enum pd_probe_state pd_probe_watch_state(const struct pd_probe_watch *watch, uint32_t path);

/* Does a directed link not work, for certain? By the newest step. */
bool pd_probe_watch_is_dead(const struct pd_probe_watch *watch, uint32_t link);

/* A path fell silent or came back since the last call: what was sent before that has been left out
 * of the ways' numbers. */
bool pd_probe_watch_anew(struct pd_probe_watch *watch);

#endif
