/* SPDX-License-Identifier: Apache-2.0 */
/* What the daemon itself counts, beside the counters of the stages. */
#ifndef PD_AGENT_COUNTERS_H
#define PD_AGENT_COUNTERS_H

#include <stdint.h>

#include "daemon/count.h"

/* Any thread adds, any thread reads. Relaxed: each is a number of its own, no other memory hangs on
 * it. */

#define PD_AGENT_COUNTERS(X)                                                                      \
    X(records, "trajectory records taken over from the trajectory memory")                        \
    X(new_flows, "first packets of a new flow and list of tags")                                  \
    X(digests, "packets with a telemetry digest")                                                 \
    X(digests_missing, "packets without one, where there is a telemetry plan")                    \
    X(digests_aside, "digests left aside: there is no plan, or it has just changed")              \
    X(digests_lost, "digests left out: no room for their flow")                                   \
    X(values_lost, "values of hops left out: no room")                                            \
    X(values_without_path, "values of hops left out: their flow ended before its path was known") \
    X(samples, "samples of packets taken in: many of a flow tell its path")                       \
    X(samples_full, "samples lost: the ring to the store was full")                               \
    X(samples_unread, "samples left out: no codec's, no rack's, or no memory")                    \
    X(samples_replaced, "flows whose samples made room for another flow's")                       \
    X(queue_waits, "times that the intake waited for the store")                                  \
    X(snapshots, "exact snapshots taken for live queries")                                        \
    X(snapshots_late, "live queries given up: intake and store did not answer in time")           \
    X(queries, "queries and programs asked for")                                                  \
    X(queries_refused, "queries and programs refused: too many were waiting")                     \
    X(queries_again, "queries answered with the bytes of the answer before: nothing had changed") \
    X(queries_incomplete, "query answers that could not be complete")                             \
    X(programs, "programs run")                                                                   \
    X(programs_failed, "programs that failed or reached a limit")                                 \
    X(hosts_asked, "hosts below that were asked by this one or for it")                           \
    X(hosts_missing, "of these: did not answer")                                                  \
    X(hosts_adopted, "of these: asked instead of a host that failed")                             \
    X(children_refused, "answers of hosts below that spoke of other hosts than were asked")       \
    X(orders_refused, "questions without an order of the controller's that is good here")         \
    X(http_requests, "HTTP requests answered")                                                    \
    X(http_problems, "HTTP requests answered with a problem document")                            \
    X(http_ended, "HTTP connections ended: too slow or idle, and another one came")               \
    X(http_refused, "HTTP connections and requests refused: too many at once")                    \
    X(http_slow, "HTTP answers cut off: their readers took them too slowly")                      \
    X(http_unauthorized, "HTTP requests without credentials that are good here")                  \
    X(http_forbidden, "HTTP requests whose role does not allow them")                             \
    X(reloads, "reloads of the configuration, successful ones")                                   \
    X(reloads_failed, "reloads of the configuration that were refused")

struct pd_agent_counters {
#define X(name, text) _Atomic uint64_t name;
    PD_AGENT_COUNTERS(X)
#undef X
};

#endif
