/* SPDX-License-Identifier: Apache-2.0 */
/* The list of installed queries from within: what its files share. */
#ifndef PD_AGENT_INSTALLED_LIST_H
#define PD_AGENT_INSTALLED_LIST_H

#include <pthread.h>
#include <stdatomic.h>

#include "agent/installed/installed.h"
#include "agent/installed/raised.h"
#include "agent/installed/schedule.h"
#include "agent/snapshot.h"

/* What happened, for queries that do not run on a period. */
struct pd_installed_event {
    bool has_flow;
    struct pd_tib_record record; /* of an alarm only the flow ID; its path and claim are `way` */
    struct pd_way way;
    json_t *alarm;    /* of an alarm; owned by who holds the event */
    uint64_t came_ns; /* monotonic */
};

/* One query. Whoever works with it outside the list's lock holds it; what nothing else is said of
 * does not change. */
struct pd_installed_query {
    uint64_t id;
    struct pd_installation what; /* its JSON is listed and stored */
    bool watched;                /* conformance of single records */
    struct pd_installed_counters counters;
    atomic_uint held;
    atomic_bool gone; /* uninstalled, or stopped: no further run; relaxed */

    /* The list's lock. */
    bool stopped;
    unsigned failures_in_row;
    struct pd_schedule schedule;
    bool running;     /* in one of the workers: a query never runs twice at once */
    uint64_t used_ns; /* its clock of turns, see pick() */
    uint64_t took_ns; /* its last run */
    uint64_t last_us; /* wall clock: end of the last run; 0: none yet */
    /* a circle of PD_INSTALLED_PENDING_MAX; NULL: none wait here */
    struct pd_installed_event *pending;
    unsigned pending_first;
    atomic_uint pending_len; /* written under the lock; relaxed */
    char *answer; /* of the last run that gave one, as JSON; NULL: none, or too large to keep */
    size_t answer_bytes; /* as it is or would have been */
    char error[300];     /* of the last run that failed, or "" */

    /* The thread's that runs it. */
    struct pd_raised *raised; /* of conformance */
    char *token;              /* up to where periodic conformance has looked; NULL: nothing yet */
};

/* A thread of runs, and what it works on. */
struct pd_installed_worker {
    struct pd_installed *installed;
    bool takes_long; /* also queries whose last run was a long one */
    pthread_t thread;
    const struct pd_installed_query *query; /* the list's lock; NULL: nothing */
};

struct pd_installed {
    struct pd_installed_host host;
    char *file;
    struct pd_feed feed;
    pthread_mutex_t change; /* of the order of changes, and of the file; outside `lock` */

    pthread_mutex_t lock; /* of everything up to the threads, and of the queries as said there */
    pthread_cond_t ready; /* something to run, or to stop */
    struct pd_installed_query *queries[PD_INSTALLATIONS_MAX]; /* by ID */
    size_t queries_len;
    size_t bytes; /* of all documents */
    uint64_t next_id;
    struct pd_model *model;
    struct pd_installed_worker workers[PD_INSTALLED_WORKERS];
    uint64_t turns_ns; /* the clock of turns of whoever began last: nobody is behind it */
    struct pd_installed_sums before; /* of queries that are gone */

    atomic_uint generation; /* of list and model; release, pairs with the watcher's acquire */
    atomic_bool stopping;   /* relaxed */
    atomic_uint hearing;    /* queries on "alarm"; relaxed */
    bool started;
    pthread_t watcher;
};

/* ---- installed.c; "locked": with the list's lock held ---- */

struct pd_installed_query *pd_installed_hold(struct pd_installed_query *query);
void pd_installed_let_go(struct pd_installed_query *query); /* NULL is fine */

/* NULL when there is none. Locked. */
struct pd_installed_query *pd_installed_find(const struct pd_installed *installed, uint64_t id);

/* The members of its document, as copies: counts of references are not for several threads. 0 or
 * -1. */
int pd_installed_copy_members(json_t *object, const struct pd_installed_query *query);

/* Room, or skipped and counted; takes over event->alarm. Locked. */
void pd_installed_pend(struct pd_installed *installed, struct pd_installed_query *query,
                       const struct pd_installed_event *event);

/* Stops a query that failed too often: marks it, tells, and writes the file. Not locked. */
void pd_installed_give_up(struct pd_installed *installed, struct pd_installed_query *query);

/* Puts a query into the list, where there is room; the list holds it from then on. Locked. */
void pd_installed_insert(struct pd_installed *installed, struct pd_installed_query *query);

/* ---- query.c ---- */

/* A query that nobody holds yet but the caller; its ID is 0 when `body` says none. */
int pd_installed_parse(const json_t *body, struct pd_installed_query **ret_query,
                       struct pd_error *error);

/* ---- run.c ---- */

/* What came of a run, or of a piece of work on events. */
struct pd_installed_outcome {
    uint64_t runs, busy_ns, alarms;
    int err; /* 0; -PD_E_BUSY: it could not run now */
    const char *words;
    char *answer;        /* JSON, taken over; NULL: none, or too large */
    size_t answer_bytes; /* 0: no answer, the last one stays */
};

/* Returns whether the query has now failed too often. Locked. */
bool pd_installed_note(struct pd_installed_query *query,
                       const struct pd_installed_outcome *outcome);

/* The text of a small document as an answer; takes the reference. */
void pd_installed_answer(struct pd_installed_outcome *outcome, json_t *document);

/* ---- violation.c ---- */

/* The alarm of a violation that is new to the query, and {"flow_id":…,"path":…,"rule":…} at the end
 * of `list`, while that is short. Returns how many alarms were raised: 0 or 1. In the query's
 * thread. */
unsigned pd_installed_raise(struct pd_installed *installed, struct pd_installed_query *query,
                            const struct pd_tib_record *record, const char *rule, json_t *list);

/* A record as JSON, as a row of getFlows; NULL without memory. */
json_t *pd_installed_record_json(const struct pd_tib_record *record);

/* ---- file.c ---- */

int pd_installed_load(struct pd_installed *installed, struct pd_error *error);
int pd_installed_save(struct pd_installed *installed, struct pd_error *error); /* `change` held */

/* ---- the threads: run.c, watch.c ---- */

void *pd_installed_run(void *worker); /* a struct pd_installed_worker */
void *pd_installed_watch(void *installed);

#endif
