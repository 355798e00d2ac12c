/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of probes: paths that cross every link, or every direction of every link, once. */
#ifndef PD_PROBE_PLAN_PLAN_H
#define PD_PROBE_PLAN_PLAN_H

#include <jansson.h>

#include "probe/plan/graph.h"
#include "probe/plan/paths.h"

/* Paper 001 plans paths over undirected links; each then reads one queue of each link. What is
 * deployed is the mode `directions`: every link once in each direction, from a switch that has a
 * host to one that has a host, at most max_hops long, as few paths as possible, even. Each switch
 * has as many directions in as out, so one circuit covers a component; it is cut where hosts are.
 *
 * A component without a host is not covered, and listed. A part without hosts that is too large for
 * max_hops makes directions be crossed again, and listed.
 *
 * Functions return 0 or a negative error; plans are the caller's, and no thread is needed. */

enum pd_plan_mode { PD_PLAN_DIRECTIONS, PD_PLAN_LINKS };
enum pd_plan_algorithm { PD_PLAN_EULER, PD_PLAN_EULER_UNBALANCED, PD_PLAN_DFS };

#define PD_PLAN_HOPS_DEFAULT 60 /* as many labels as a probe carries, less a host's at each end */
#define PD_PLAN_HOPS_MAX     (1U << 20)

struct pd_plan_request {
    const struct pd_topology *topology;
    enum pd_plan_mode mode;
    enum pd_plan_algorithm algorithm; /* of mode links */
    uint32_t max_hops;
    const bool *hosts; /* of each switch, whether it has one; NULL: as the topology says */
    const struct pd_plan_cable *without; /* failed, both directions */
    uint32_t without_len;
    const struct pd_plan_paths *keep; /* of an earlier plan; NULL: there is none */
};

struct pd_plan {
    enum pd_plan_mode mode;
    enum pd_plan_algorithm algorithm;
    uint32_t max_hops;
    uint32_t switches, links, components, odd;
    uint32_t lower_bound; /* no plan has fewer paths */
    struct pd_plan_paths paths;
    struct pd_plan_cable *repeated, *uncovered; /* directions, a to b */
    uint32_t repeated_len, uncovered_len;
    uint32_t repeated_room, uncovered_room;
    uint32_t changed; /* paths that `keep` does not have */
    uint64_t plan_ns; /* all of the above took this long */
};

int pd_plan_make(const struct pd_plan_request *request, struct pd_plan *ret_plan);
void pd_plan_done(struct pd_plan *plan);

/* How long one depth-first walk over the links of the same network takes: what planning is measured
 * against. */
int pd_plan_walk(const struct pd_plan_request *request, uint64_t *ret_ns);

/* Switches with a host of the topology; where it lists no hosts, those with prefixes. `ret_hosts`
 * has room for each switch. */
void pd_plan_hosts(const struct pd_topology *topology, bool *ret_hosts);

/* The document of `pathdump probes plan --json`; NULL: no memory. walk_ns 0: not measured. */
json_t *pd_plan_json(const struct pd_plan *plan, const struct pd_topology *topology,
                     uint64_t walk_ns);

/* Reads "paths" of such a document. Switches that the topology does not have break a path in two;
 * steps without a link do the same when a plan is made that keeps it. -PD_E_SYNTAX with words;
 * `ret_paths` is pd_plan_paths_done()'s to free. */
int pd_plan_read(const json_t *document, const struct pd_topology *topology,
                 struct pd_plan_paths *ret_paths, struct pd_error *error);

const char *pd_plan_mode_name(enum pd_plan_mode mode);
const char *pd_plan_algorithm_name(enum pd_plan_algorithm algorithm);

#endif
