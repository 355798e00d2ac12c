/* SPDX-License-Identifier: Apache-2.0 */
/* Questions that are no sums over the TIB: one interface, one table. */
#ifndef PD_QUERY_QUESTION_H
#define PD_QUERY_QUESTION_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "query/query.h"

/* What query.h has is asked of records and merged as sums. Everything else that can be asked by a
 * name is an entry here: its parameters, its part on a host, how the answers of hosts become one,
 * what is written. An answer is a JSON object. REST routes (/v1/NAME, GET and POST), documents,
 * trees, the cost model, the command line, the simulator and the check of openapi.json read the
 * table; an entry names nothing of them.
 *
 * Thread safety: entries have no state; any number of threads. */

struct pd_poor_question;

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
};

/* Of whom an answer may speak. */
struct pd_question_hosts {
    uint32_t host; /* that answered */
    bool alone;    /* it asked nobody else */
    bool (*knows)(void *context, uint32_t host);
    void *context;
};

struct pd_question_param {
    const char *name;  /* "threshold"; NULL ends the list */
    const char *value; /* placeholder in help: "N" */
    const char *help;
};

#define PD_QUESTION_ARGS_BYTES 256

struct pd_question {
    const char *name; /* "getPoorTCPFlows" */
    const char *help;
    const struct pd_question_param *params; /* NULL: none */
    uint32_t groups; /* rows that a host answers with, about: for the cost of trees */

    /* Reads parameters, each as JSON or as its text, into at most PD_QUESTION_ARGS_BYTES (zeroed).
     * `args`: an object. -PD_E_VALUE, -PD_E_UNKNOWN_KEY; the words begin with the parameter's name.
     */
    int (*read)(const json_t *args, void *ret_args, struct pd_error *error);
    /* This host's own part. 0, or a negative error in words. */
    int (*local)(const void *args, const struct pd_question_host *host, json_t **ret_answer,
                 struct pd_error *error);
    /* What another host says may be anything: is it an answer, and of these hosts? Words: "no list
     * of flows", as in "its answer has …". -PD_E_VALUE. */
    int (*check)(const json_t *answer, const struct pd_question_hosts *hosts,
                 struct pd_error *error);
    /* Adds an answer to that of all (an object, empty at first); `host` gave it. 0 or -ENOMEM. */
    int (*merge)(json_t *all, uint32_t host, json_t *answer, struct pd_error *error);
    /* After the last one, perhaps after none: what is written. "complete" false: it is not. */
    int (*finish)(json_t *all, struct pd_error *error);
};

extern const struct pd_question *const pd_questions[]; /* ends with NULL */
/* So many of them, the first ones, are described in docs/api; the others come from extensions. */
extern const size_t pd_questions_own;

/* NULL when there is none of this name. */
const struct pd_question *pd_question_find(const char *name);

/* "its answer has WHAT": for check. */
int pd_question_wrong(struct pd_error *error, const char *what);
/* A number from 0 to PD_TIB_SUM_MAX. -PD_E_VALUE. */
int pd_question_number(const json_t *object, const char *name, uint64_t *ret_number);

#endif
