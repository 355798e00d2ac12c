/* SPDX-License-Identifier: Apache-2.0 */
/* Installed queries: they run by themselves, on a period or on events, until they are uninstalled.
 */
#ifndef PD_AGENT_INSTALLED_INSTALLED_H
#define PD_AGENT_INSTALLED_INSTALLED_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/feed.h"
#include "agent/model.h"
#include "base/error.h"
#include "fleet/installation.h"
#include "tib/record.h"

/* A document as POST /v1/query takes it, and "period_ms" or "on" (paper, Table 1: install(hosts,
 * query, period)). The list lies in a file beside the TIB, which is replaced as a whole before an
 * install or uninstall is answered: it survives a restart and a kill.
 *
 *     intake thread -> feed -> pd-watch: conformance of one record -> PC_FAIL
 *                                  '---> at most PENDING_MAX records wait for each other query
 *     alarms ---------------------------------------------'--> pd-installed: runs, by turns
 *                                                                      <- periods
 *
 * Conformance on events looks at one record, in a thread of its own that touches neither the TIB
 * nor a lock that a query holds: from the first bad packet to the alarm it is a matter of the
 * intake's wake-up. Everything else runs in PD_INSTALLED_WORKERS threads and takes none of the
 * places of those who ask. Queries that are ready take turns, the one that has used the least time
 * first; only one of the workers takes queries whose last run was long, so that programs which run
 * for seconds never keep short queries from their turns. What falls due before its turn is skipped
 * and counted.
 *
 * A query that fails PD_INSTALLED_FAILURES_MAX times in a row is stopped, with an alarm, and stays
 * so over a restart. An alarm that is raised in a run on an alarm starts no run.
 *
 * Locks: `change` (add, remove, the file), inside it the list's. Neither is held while a query runs
 * or an alarm is raised.
 *
 * Thread safety: all functions but new, start, stop and free: any thread. */

#define PD_INSTALLED_FAILURES_MAX 5
#define PD_INSTALLED_PENDING_MAX  64
#define PD_INSTALLED_WORKERS      2
#define PD_INSTALLED_ANSWER_BYTES ((size_t)256 << 10) /* of a last answer that is kept */

/* Numbers of each query, and, added up over all that there ever were, of the agent. */
#define PD_INSTALLED_COUNTERS(X)                                                   \
    X(runs, "runs of installed queries; conformance on events: records looked at") \
    X(busy_us, "microseconds that these runs took")                                \
    X(alarms, "alarms raised by these runs")                                       \
    X(failures, "runs that failed")                                                \
    X(skipped, "runs skipped: due while another one was under way, or too many events waited")

struct pd_installed_counters {
#define X(name, text) _Atomic uint64_t name;
    PD_INSTALLED_COUNTERS(X)
#undef X
};

struct pd_installed_alarm {
    const char *reason;
    const struct pd_flow_id *flow; /* or NULL */
    const struct pd_path *path;    /* or NULL */
    const struct pd_mark *mark;    /* of a trajectory without a path; or NULL */
    const char *detail;
    const char *by; /* who has installed the query; "": not known */
};

/* A violation of a conformance query; `rule` names what does not hold. Non-zero ends the search. */
typedef int pd_installed_found(void *context, const struct pd_tib_record *record, const char *rule);

/* What the agent does for the list; tests have another one. From the list's two threads, never with
 * a lock held. */
struct pd_installed_host {
    void *context;
    /* Runs a query over the TIB (and the trajectory memory when it says live) into the sink. */
    int (*query)(void *context, const struct pd_query *query, const struct pd_query_sink *sink,
                 struct pd_error *error);
    /* run(args); *ret_alarms: how many it raised. */
    int (*program)(void *context, const char *by, const char *source, json_t *args,
                   uint64_t deadline_ns, json_t **ret_result, uint64_t *ret_alarms,
                   struct pd_error *error);
    /* Conformance of what came since query->since (""; all); gives the token for the next time,
     * into PD_QUERY_TOKEN_BYTES. */
    int (*violations)(void *context, const struct pd_query *query, pd_installed_found *found,
                      void *found_context, char *ret_token, struct pd_error *error);
    void (*alarm)(void *context, const struct pd_installed_alarm *alarm);
    /* Records one by one (query/question.h); NULL: there are none. */
    int (*scan)(void *context, const struct pd_question_scan *scan,
                int (*visit)(void *visitor, const struct pd_tib_record *records, size_t n),
                void *visitor, bool *ret_complete, struct pd_error *error);
};

struct pd_installed;

/* `file` is read: what is damaged in it is logged, set aside and not fatal. `model` is held for its
 * codec. 0, -ENOMEM or -errno with words. */
int pd_installed_new(const char *file, const struct pd_installed_host *host, struct pd_model *model,
                     struct pd_installed **ret_installed, struct pd_error *error);
int pd_installed_start(struct pd_installed *installed); /* both threads. 0 or -errno */
void pd_installed_stop(struct pd_installed *installed); /* waits for the run that is under way */
void pd_installed_free(struct pd_installed *installed); /* after stop; NULL is fine */

/* Where the intake's records go; belongs to the list. */
struct pd_feed *pd_installed_feed(struct pd_installed *installed);

/* Another topology: decoding goes on with that one, which is held. */
void pd_installed_model(struct pd_installed *installed, struct pd_model *model);

/* An alarm of this host, for queries on "alarm": its flow ID or NULL, and what programs get to see.
 * Waits for no run, raises nothing. Takes the reference. */
void pd_installed_alarmed(struct pd_installed *installed, const struct pd_flow_id *flow,
                          json_t *alarm);
bool pd_installed_hears(struct pd_installed *installed); /* whether there is such a query */

/* Installs what the body of POST /v1/install says and gives its ID. The same document under the
 * same ID again changes nothing; another one replaces what was there. -PD_E_SYNTAX, -PD_E_VALUE,
 * -PD_E_UNKNOWN_KEY, -PD_E_FULL (too many), -ENOMEM or -errno (the file cannot be written: then
 * nothing was installed). */
int pd_installed_add(struct pd_installed *installed, json_t *body, uint64_t *ret_id,
                     struct pd_error *error);

/* -PD_E_NOT_FOUND, or -errno (the file: then it is still installed). */
int pd_installed_remove(struct pd_installed *installed, uint64_t id, struct pd_error *error);

/* {"installed":[…]}, by ID, without answers; one query with its last answer: -PD_E_NOT_FOUND. New
 * references. */
json_t *pd_installed_list(struct pd_installed *installed);
int pd_installed_get(struct pd_installed *installed, uint64_t id, json_t **ret_query);

/* Sums over all queries, also those that are gone; and how many there are now. */
#define PD_INSTALLED_SUMS(X)                                                          \
    PD_INSTALLED_COUNTERS(X)                                                          \
    X(events, "first packets of flows and finished records fed to installed queries") \
    X(events_dropped, "of these, dropped: too many at once")

struct pd_installed_sums {
#define X(name, text) uint64_t name;
    PD_INSTALLED_SUMS(X)
#undef X
    uint64_t active, stopped;
};
void pd_installed_sums(struct pd_installed *installed,
                       struct pd_installed_sums *ret_sums); /* NULL: zeros */

#endif
