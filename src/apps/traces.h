/* SPDX-License-Identifier: Apache-2.0 */
/* Ways of flows that suffered, as their senders' traces tell: for networks that tag nothing. */
#ifndef PD_APPS_TRACES_H
#define PD_APPS_TRACES_H

#include "apps/apps.h"
#include "base/flow_id.h"
#include "base/path.h"

/* Paper 003: a host traces the flows of its own that lose packets (trace/tracer.h), and keeps the
 * traces in its TIB. What is here reads answers of getTraces, and looks ways up by flow.
 *
 * One thread at a time. Zeroed memory is empty. */

struct pd_app_trace {
    struct pd_flow_id flow; /* as its sender's socket has it */
    struct pd_flow_id wire; /* to the server itself */
    uint32_t host;          /* that sent it; 0: not known */
    uint64_t time_us;       /* when it was traced, by its sender's clock */
    uint64_t retransmissions;
    bool reached;
    struct pd_path path; /* with gaps (0); empty: none */
};

/* A row of getTraces. False: it makes no sense. */
bool pd_app_trace_read(const struct pd_topology *topology, const json_t *row,
                       struct pd_app_trace *ret_trace);

struct pd_app_traces {
    struct pd_app_trace *list; /* ascending by flow: the latest of each that has a path */
    size_t len;
    bool asked;
};

/* Asks all hosts for what they traced in [from, to), once: later calls do nothing. An epoch's first
 * loss is what is traced, so `from` lies before that of what is looked at. 0, or a negative error
 * in words. */
int pd_app_traces_ask(struct pd_app_traces *traces, const struct pd_app_call *call,
                      uint64_t from_us, uint64_t to_us, struct pd_report *report,
                      struct pd_error *error);
/* NULL: nobody traced it. */
const struct pd_app_trace *pd_app_traces_find(const struct pd_app_traces *traces,
                                              const struct pd_flow_id *flow);
void pd_app_traces_done(struct pd_app_traces *traces);

#endif
