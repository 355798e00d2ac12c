/* SPDX-License-Identifier: Apache-2.0 */
/* One execution at work: what queries and programs have in common, and the few steps in which they
 * differ. */
#ifndef PD_FLEET_EXEC_H
#define PD_FLEET_EXEC_H

#include <pthread.h>
#include <stdatomic.h>

#include "fleet/census.h"
#include "fleet/execute.h"
#include "fleet/gather.h"

/* The calling thread asks and merges; the thread of this host's own part has what is merged into
 * for itself until it is done. Answers that are whole before that wait, at most PD_EXEC_READY_MAX
 * of them. */

#define PD_EXEC_READY_MAX 16u

/* An answer that was found good. */
struct pd_exec_ready {
    struct pd_exec_ready *next;
    const struct pd_tree *tree;
    struct pd_answer answer;
    json_t *value; /* programs: the "result" in it; questions: all of it */
};

struct pd_exec;

struct pd_exec_kind {
    const char *accept;
    uint64_t (*max_bytes)(const struct pd_exec *exec); /* of an answer */
    int (*begin)(struct pd_exec *exec, struct pd_error *error);
    /* This host's own part, perhaps in a thread of its own. */
    int (*local)(struct pd_exec *exec, struct pd_error *error);
    /* Is an answer whole, of this question, and does it speak of these hosts only? Fills what it
     * says of them. An error is that host's. */
    int (*check)(struct pd_exec *exec, struct pd_exec_ready *ready, struct pd_roster *roster,
                 struct pd_census *host, struct pd_error *error);
    /* After the own part. An error is the end of all. */
    int (*merge)(struct pd_exec *exec, struct pd_exec_ready *ready, struct pd_error *error);
    int (*write)(struct pd_exec *exec, const struct pd_query_sink *sink, bool *ret_complete,
                 struct pd_error *error);
    void (*done)(struct pd_exec *exec);
};
extern const struct pd_exec_kind pd_exec_query, pd_exec_program, pd_exec_question;

struct pd_exec {
    const struct pd_execution *given;
    const struct pd_exec_kind *kind;
    struct pd_census census;
    int fatal; /* the whole has failed; words in `error` */
    struct pd_error *error;
    struct pd_exec_ready *ready; /* newest first */
    unsigned ready_len;
    /* hosts that refuse the question itself */
    uint64_t refusals;
    uint32_t refusing; /* the first of them */
    struct pd_error refusal;
    /* the own part */
    pthread_t thread;
    bool has_thread;
    atomic_bool local_over; /* released by its thread, acquired by the calling one */
    int local_code;
    struct pd_error local_error;
    uint64_t local_ns; /* what it took, where that was not the calling thread */
    /* queries */
    struct pd_query_merge *merge;
    /* programs and questions of the table */
    bool can_merge;
    json_t *own;    /* this host's own result, until it is merged */
    json_t *result; /* of all so far: what merge() gave, or the list */
    uint64_t result_bytes;
};

/* ---- answers that are JSON: exec_json.c ---- */

/* The object that a host answered, whose text is let go. Errors in words of that host. */
int pd_exec_json_load(struct pd_exec_ready *ready, json_t **ret_json, struct pd_error *error);
int pd_exec_json_wrong(struct pd_error *error, const char *what); /* "its answer has …" */
int pd_exec_json_number(const json_t *object, const char *name, uint64_t *ret_number);
/* "hosts" and "cost" of a host that asked others. */
int pd_exec_json_census(const json_t *json, struct pd_roster *roster, struct pd_census *host,
                        struct pd_error *error);
/* The members "hosts", "cost" and "complete", and those of `extra`, into the answer, which is
 * written and let go. */
int pd_exec_json_write(struct pd_exec *exec, json_t *answer, bool complete,
                       const struct pd_query_sink *sink, struct pd_error *error);

/* Lets go of this host's own answer and of the merged one. */
void pd_exec_json_done(struct pd_exec *exec);

/* The longest of what goes on side by side: this host's own part, and each tree's. */
uint64_t pd_exec_beside_us(const struct pd_exec *exec);

/* The longest chain so far: the calling thread's work, and what it waited for. */
uint64_t pd_exec_critical_us(const struct pd_exec *exec);

#endif
