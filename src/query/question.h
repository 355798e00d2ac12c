/* SPDX-License-Identifier: Apache-2.0 */
/* Questions: whatever hosts can be asked, as entries of one table. */
#ifndef PD_QUERY_QUESTION_H
#define PD_QUERY_QUESTION_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/role.h"
#include "query/query.h"

/* An entry has a name, parameters, a role, its part on a host, how the answers of hosts become one,
 * and what is written. REST routes (/v1/NAME), documents, installs, trees, the cost model, the
 * command line, the simulator and the check of openapi.json read the table and know no entry by its
 * name. There are two ways to answer:
 *
 *   - A query over records has `query`: groups and sums (query/plan.h) that travel as partial
 *     results and are written row by row. It needs none of the functions below that.
 *   - Everything else answers with a JSON object: local, check, merge, finish.
 *
 * Thread safety: entries have no state; any number of threads. A run is one thread's at a time. */

struct pd_document;
struct pd_poor_question;
struct pd_query_merge;
struct pd_topology;

/* merge() of a program, which runs wherever answers meet. */
struct pd_question_merger {
    void *context;
    /* Whether this source has one; so what is no program at all is found out. */
    int (*able)(void *context, const char *source, bool *ret_able, struct pd_error *error);
    int (*merge)(void *context, const char *source, json_t *a, json_t *b, json_t **ret_merged,
                 struct pd_error *error);
};

/* Which records a question wants to see, and how. */
struct pd_question_scan {
    const struct pd_tib_filter *filter;
    bool live;        /* those that are not stored yet, too */
    bool columns;     /* live ones with their further columns */
    char **ret_token; /* what was read, for `since`: the caller's; untouched where there is none */
};

/* What a question's own part may ask of the host that it runs on. A function is NULL where that
 * host has no such thing. Answers are the caller's. */
struct pd_question_host {
    void *context;
    uint32_t host; /* its ID; 0: not known */
    /* TCP connections, as getPoorTCPFlows answers. */
    int (*tcp)(void *context, const struct pd_poor_question *question, json_t **ret_answer,
               struct pd_error *error);
    /* A query over its records, finished: the answer in JSON. */
    int (*query)(void *context, const struct pd_query *query, json_t **ret_answer,
                 struct pd_error *error);
    /* Each record that matches, those that are not stored yet among them; `visit` as in
     * pd_tib_scan. `complete`: all of them could be read. */
    int (*records)(void *context, const struct pd_tib_filter *filter,
                   int (*visit)(void *visitor, const struct pd_tib_record *records, size_t n),
                   void *visitor, bool *ret_complete, struct pd_error *error);
    /* The same as told. NULL: `records` does. */
    int (*scan)(void *context, const struct pd_question_scan *scan,
                int (*visit)(void *visitor, const struct pd_tib_record *records, size_t n),
                void *visitor, bool *ret_complete, struct pd_error *error);
    /* A query, not finished: its groups, into a merge. */
    int (*groups)(void *context, const struct pd_query *query, struct pd_query_merge *merge,
                  struct pd_error *error);
    /* run(args) of a program. */
    int (*program)(void *context, const char *source, json_t *args, json_t **ret_result,
                   struct pd_error *error);
    const struct pd_question_merger *merger;
};

/* A question at work on one host or several. */
struct pd_question_run {
    const struct pd_document *document; /* its `asked` is what read() made of the parameters */
    const struct pd_question_host *host;
    json_t *all;           /* answers so far: an object, empty at first */
    void *own;             /* the entry's, from begin() to end() */
    uint64_t elsewhere_ns; /* local() adds the time that others worked for it meanwhile */
};

/* Of whom an answer may speak. */
struct pd_question_hosts {
    uint32_t host;     /* that answered */
    bool alone;        /* it asked nobody else */
    uint64_t answered; /* of it and those below */
    bool (*knows)(void *context, uint32_t host);
    /* Of each that answered once. 0 or -PD_E_VALUE. */
    int (*speak)(void *context, uint32_t host);
    void *context;
};

/* What a program gets of it: a function of this name, "get_flows". */
struct pd_question_call {
    const char *name;
    const char *const *values; /* members of the answer that it returns; NULL: rows */
    const char *list;          /* answers that are objects: their rows … */
    const char *member;        /* … of which it gets this member */
};

/* What its answers are like, for the choice between asking directly and along a tree. */
struct pd_question_size {
    uint64_t groups;     /* from one host */
    uint64_t groups_max; /* from all of them, however many; UINT64_MAX: they add up */
    uint64_t merge_ns;   /* of an answer, beside its groups */
};

struct pd_question {
    const char *name; /* "getPoorTCPFlows" */
    /* "program": documents hold a text in this member instead of the name in "query", and there is
     * no route of its own; NULL: none. */
    const char *member;
    const char *help;
    enum pd_role role;
    const struct pd_question_param *params; /* NULL: none are checked here */
    unsigned place;                         /* among those that share `params` */
    bool posts;                             /* also POST /v1/NAME, parameters in the body */
    bool installs;                          /* may run by itself */
    bool records; /* its part needs records alone, so that a store can be asked */
    bool acts;    /* may raise alarms: hosts hear who asks */
    const struct pd_question_call *call; /* NULL, or without a name: programs cannot ask it */
    size_t args_bytes;                   /* of what read() makes of the parameters */
    uint32_t groups; /* rows that a host answers with, about, where there is no size() */
    void (*size)(const void *asked, const struct pd_topology *topology,
                 struct pd_question_size *size);

    /* Reads parameters, each as JSON or as its text, into args_bytes (zeroed); they may point into
     * `args`, an object, which stays. -PD_E_VALUE, -PD_E_UNKNOWN_KEY; the words begin with the
     * parameter's name. NULL: anything. */
    int (*read)(const struct pd_question *question, const json_t *args, void *ret_asked,
                struct pd_error *error);

    /* The query over records that it is. */
    const struct pd_query *(*query)(const void *asked);

    /* Before anybody is asked; NULL: nothing to do. 0, or a negative error in words. */
    int (*begin)(struct pd_question_run *run, struct pd_error *error);
    /* This host's own part. 0, or a negative error in words. */
    int (*local)(struct pd_question_run *run, json_t **ret_answer, struct pd_error *error);
    /* What another host says may be anything: is it an answer, and of these hosts? Words: "no list
     * of flows", as in "its answer has …". -PD_E_VALUE. */
    int (*check)(const struct pd_question_run *run, const json_t *answer,
                 const struct pd_question_hosts *hosts, struct pd_error *error);
    /* Adds an answer, which it may keep parts of; `host` gave it, of itself `alone`. 0 or a
     * negative error, which is the end of all. */
    int (*merge)(struct pd_question_run *run, uint32_t host, bool alone, json_t *answer,
                 struct pd_error *error);
    /* After the last one, perhaps after none: what is written. "complete" false: it is not. */
    int (*finish)(struct pd_question_run *run, struct pd_error *error);
    void (*end)(struct pd_question_run *run); /* NULL: nothing to do; after begin() failed, too */
};

extern const struct pd_question *const pd_query_questions[]; /* ends with NULL */
/* So many of them, the first ones, are described in docs/api; the others come from extensions. */
extern const size_t pd_questions_own;

/* NULL when there is none of this call. */
const struct pd_question *pd_query_question_called(const char *call);
/* NULL when there is none of this name, or it is not asked by its name. */
const struct pd_question *pd_query_question_find(const char *name);
/* Of these parameters, does this entry take the one of this name? */
bool pd_query_question_takes(const struct pd_question *question, const char *name);

struct pd_question_size pd_query_question_size(const struct pd_document *document,
                                               const struct pd_topology *topology);

/* "its answer has WHAT": for check. */
int pd_query_question_wrong(struct pd_error *error, const char *what);
/* A number from 0 to PD_TIB_SUM_MAX. -PD_E_VALUE. */
int pd_query_question_number(const json_t *object, const char *name, uint64_t *ret_number);

/* The queries over records (queries.c), and programs (program.c). */
extern const struct pd_question pd_query_question_queries[PD_QUERY_COUNT],
    pd_query_question_program;

#endif
