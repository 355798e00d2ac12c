/* SPDX-License-Identifier: Apache-2.0 */
/* One question to many hosts, along the trees given: asked, gathered, merged, answered. */
#ifndef PD_FLEET_EXECUTE_H
#define PD_FLEET_EXECUTE_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "fleet/asker.h"
#include "fleet/fanout.h"
#include "fleet/order.h"
#include "fleet/tree.h"
#include "query/document.h"
#include "query/merge.h"
#include "query/plan.h"

/* The top host of each tree gets the document with the hosts below it, all at once; meanwhile this
 * host's own part runs in a thread of its own. A host's answer is kept until it is whole (in
 * memory, a long one in a file without a name), verified, and only then merged: so what comes late,
 * cut off, hostile or huge costs itself only, and nothing is counted twice. Of a host that fails,
 * the children are asked by us, at once and with what is left of the time; so that something is
 * left, a host with children has to answer some time before our own deadline.
 *
 * Rows that nobody else adds to (pd_query_merge_rows_early) do not wait for the other hosts, where
 * the form and the sink let them go ahead: they are written as their host's answer is found good.
 *
 * Every answer says of each host of the trees whether it answered, and why not. Only when none did
 * and all refuse the question itself (a program that fails, an unknown parameter) there is no
 * answer but that error.
 *
 * Thread safety: any number of threads may execute at once. */

#define PD_EXECUTE_DEADLINE_MS     30000u /* when a document does not say */
#define PD_EXECUTE_DEADLINE_MAX_MS 3600000u
#define PD_EXECUTE_ROWS_NS         UINT64_C(100000000)
#define PD_EXECUTE_PARTIAL_TYPE    "application/vnd.pathdump.partial"
#define PD_EXECUTE_NDJSON_TYPE     "application/x-ndjson"
#define PD_EXECUTE_EVENTS_TYPE     "text/event-stream"

enum pd_execute_form {
    PD_EXECUTE_JSON,
    PD_EXECUTE_NDJSON,  /* queries over records only */
    PD_EXECUTE_PARTIAL, /* queries over records only */
    PD_EXECUTE_EVENTS   /* queries over records only */
};

/* Who asks in the same process gets no text. */
struct pd_execution_within {
    struct pd_items items; /* where the rows of a query over records go; group NULL: nowhere */
    json_t *answer;        /* all the rest, an object: the caller's */
};

struct pd_execution {
    struct pd_fanout *fanout;
    const struct pd_document *document;
    const struct pd_tree *trees; /* may be none */
    size_t trees_len;
    /* Where hosts want orders (fleet/order.h): whose certificate signs one, a controller's; or the
     * one that came and is passed on. Both NULL: nobody wants any. */
    const struct pd_tls *signer;
    const struct pd_fleet_order *order;
    const struct pd_fleet_asker *asker;  /* goes along with programs; NULL: nobody */
    const struct pd_question_host *host; /* the one that executes; NULL: it asks others, no more */
    bool has_part;                       /* it has one of its own: called once, from any thread */
    enum pd_execute_form form;
    uint64_t deadline_ns; /* monotonic; pd_fleet_execute_deadline */
    /* monotonic: what has not answered by then is missing, and the answer is not complete; 0: the
     * deadline */
    uint64_t partial_ns;
    /* Hosts that are not among the trees, since nothing can be had of them: missing from the start.
     */
    const struct pd_partial_missing *left_out;
    size_t left_out_len;
    /* pd_clock_thread_ns of the calling thread when its work on this question began */
    uint64_t begun_ns;
    /* becomes true: over within a second or two, -PD_E_BUSY; may be NULL */
    const atomic_bool *cancelled;
    unsigned at_once; /* most hosts asked at a time; 0: 256 */
    /* How each host of the trees ended, once for each that is known to have: reason NULL where it
     * answered. In the calling thread. May be NULL. */
    void (*told)(void *context, uint32_t host, const char *reason);
    /* Since when a host has been silent, wall time; 0: not known. Asked after `told`. May be NULL.
     */
    uint64_t (*since_us)(void *context, uint32_t host);
    void *told_context;  /* of both */
    const json_t *extra; /* further members of the JSON answer, an object; NULL: none */
    /* Rows that were written PD_EXECUTE_ROWS_NS ago, while others are waited for, should leave: for
     * the sink's context. 0 or an error, which ends all. NULL: rows wait for the last host. */
    int (*pass_on)(void *context);
    struct pd_execution_within *within; /* instead of the sink; NULL: the answer is written */
};

/* What became of it. */
struct pd_execute_summary {
    uint64_t asked, answered; /* hosts; those missing are asked - answered */
    uint64_t bytes;           /* received over all links */
    uint64_t critical_us;     /* longest chain of processor time */
    uint64_t adopted;         /* hosts that were asked instead of the one above them */
    uint64_t refused;         /* answers that were not of the hosts that were asked */
    bool complete;
};

/* Writes the answer: JSON with `extra`, "hosts", "cost" and "complete" besides what the query
 * answers or "result"; NDJSON, the same in its last line; or a partial result. Programs: "result"
 * is what merge() made of all results; without a merge() a list of {"host","result"} by ascending
 * host. Other questions: as they merge it. -PD_E_DEADLINE, -PD_E_TOO_LARGE, -PD_E_VALUE,
 * -PD_E_PROGRAM, -PD_E_LIMIT, -PD_E_UNSUPPORTED, -ENOMEM, what the sink returned, or what all hosts
 * refuse the question with. Nothing was written then, except where the sink failed, and rows that
 * went ahead. */
int pd_fleet_execute(const struct pd_execution *execution, const struct pd_query_sink *sink,
                     struct pd_execute_summary *ret_summary, struct pd_error *error);

/* A document's "deadline_ms" (NULL: not given), from now. -PD_E_VALUE. */
int pd_fleet_execute_deadline(const json_t *deadline_ms, uint64_t *ret_deadline_ns,
                              struct pd_error *error);

#endif
