/* SPDX-License-Identifier: Apache-2.0 */
/* One execution at work, and how answers travel: as partial results or as JSON objects. */
#ifndef PD_FLEET_EXEC_H
#define PD_FLEET_EXEC_H

#include <pthread.h>
#include <stdatomic.h>

#include "fleet/coverage.h"
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
    json_t *object; /* of those that travel as objects */
};

struct pd_exec;

/* How answers travel from host to host. */
struct pd_exec_carrier {
    const char *accept;
    uint64_t (*max_bytes)(const struct pd_exec *exec); /* of an answer */
    int (*begin)(struct pd_exec *exec, struct pd_error *error);
    /* This host's own part, perhaps in a thread of its own. */
    int (*local)(struct pd_exec *exec, struct pd_error *error);
    /* Is an answer whole, of this question, and does it speak of these hosts only? Fills what it
     * says of them. An error is that host's. */
    int (*check)(struct pd_exec *exec, struct pd_exec_ready *ready, struct pd_roster *roster,
                 struct pd_fleet_coverage *host, struct pd_error *error);
    /* After the own part. An error is the end of all. */
    int (*merge)(struct pd_exec *exec, struct pd_exec_ready *ready, struct pd_error *error);
    int (*write)(struct pd_exec *exec, const struct pd_query_sink *sink, bool *ret_complete,
                 struct pd_error *error);
    void (*done)(struct pd_exec *exec);
};
extern const struct pd_exec_carrier pd_fleet_exec_partials, pd_fleet_exec_objects;

struct pd_exec {
    const struct pd_execution *given;
    const struct pd_query_sink *sink;
    uint64_t rows_since_ns; /* rows have gone to the sink and not further; 0: none */
    const struct pd_exec_carrier *carrier;
    const struct pd_question *question;
    struct pd_question_run run;
    struct pd_fleet_coverage coverage;
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
    /* of either carrier */
    struct pd_query_merge *merge;
    json_t *own; /* this host's own answer, until it is merged */
};

/* The members "hosts", "cost" and "complete", and those of `extra`. 0 or -1. */
int pd_fleet_exec_members(struct pd_exec *exec, json_t *answer, bool complete);

/* The longest of what goes on side by side: this host's own part, and each tree's. */
uint64_t pd_fleet_exec_beside_us(const struct pd_exec *exec);

/* The longest chain so far: the calling thread's work, and what it waited for. */
uint64_t pd_fleet_exec_critical_us(const struct pd_exec *exec);

#endif
