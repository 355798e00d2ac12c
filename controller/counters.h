/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of the controller: one table for the status document and /metrics. */
#ifndef PD_CONTROLLER_COUNTERS_H
#define PD_CONTROLLER_COUNTERS_H

#include <stdint.h>

#include "daemon/count.h"

// clang-format off
#define PD_CONTROLLER_COUNTERS(X)                                                   \
    X(executes, "queries that hosts were asked")                                    \
    X(executes_direct, "of these, each host asked by the controller itself")        \
    X(executes_tree, "of these, along an aggregation tree")                         \
    X(executes_incomplete, "answers that something was missing from")               \
    X(executes_failed, "queries without an answer")                                 \
    X(executes_refused, "queries refused because too many were waiting")            \
    X(hosts_asked, "hosts whose records a query wanted")                            \
    X(hosts_missing, "of these, hosts that are missing from the answer")            \
    X(children_refused, "answers of hosts that spoke of other hosts than were asked") \
    X(fleet_bytes, "bytes of answers over all links of the trees")                  \
    X(audited, "lines of the audit")                                                \
    X(audit_failed, "lines of the audit that could not be written")                 \
    X(http_requests, "requests to the REST interface")                              \
    X(http_problems, "of these, answered with a problem document")                  \
    X(http_ended, "connections ended because others wanted their slots")           \
    X(http_refused, "connections and requests refused: too many at once")           \
    X(http_slow, "answers cut off: their readers took them too slowly")             \
    X(http_unauthorized, "requests without credentials that are good here")         \
    X(http_forbidden, "requests whose role does not allow them")                    \
    X(apps_runs, "applications run by hand")                                        \
    X(apps_refused, "runs by hand refused because too many were waiting")           \
    X(apps_watch_runs, "runs of watched applications")                              \
    X(apps_packet_runs, "runs that packets of switches started")                    \
    X(apps_failed, "of all these runs, without a report")                           \
    X(apps_coalesced, "alarms that came while a watch was to run for another one")  \
    X(apps_packets, "packets of switches given to applications")                    \
    X(apps_packets_lost, "packets for which there was no room")                     \
    X(apps_alarms, "alarms raised because a verdict has changed")                   \
    X(reloads, "configuration, hosts and topology read again")                      \
    X(reloads_failed, "of these, refused: everything stayed as it was")
// clang-format on

struct pd_controller_counters {
#define X(name, text) _Atomic uint64_t name;
    PD_CONTROLLER_COUNTERS(X)
#undef X
};

#endif
