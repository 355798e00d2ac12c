/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: queries in Lua 5.4 that people write themselves, run where they can do no harm. */
#ifndef PD_PROGRAM_PROGRAM_H
#define PD_PROGRAM_PROGRAM_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "query/document.h" /* PD_PROGRAM_SOURCE_MAX_BYTES */

/* A program defines run(args) and, for aggregation trees, merge(a, b); what they return is a JSON
 * value. It asks this host's records through get_flows{}, get_paths{}, get_count{}, get_duration{},
 * get_poor_tcp_flows{} and alarm{} (docs/programs.md).
 *
 * Each run has a process of its own, `pathdump-program`, because limits have to hold inside library
 * calls too: matching a pattern can take for ever in C, where no count of instructions reaches. The
 * worker can only read and write the socket to this process (seccomp); its interpreter has neither
 * files nor processes, modules, debugging or bytecode; when the deadline has passed it is killed. A
 * worker that has done its work is kept for the next run: the interpreter is made anew each time.
 *
 * Thread safety: any number of threads may run programs at once; each run takes one worker. */

struct pd_program_limits {
    uint64_t instructions; /* of the virtual machine */
    uint64_t memory_bytes; /* of the interpreter */
    uint64_t deadline_ns;  /* monotonic */
};
#define PD_PROGRAM_INSTRUCTIONS_DEFAULT UINT64_C(200000000) /* one to two seconds */
#define PD_PROGRAM_MEMORY_DEFAULT_BYTES (UINT64_C(64) << 20)

/* What a program may ask. */
struct pd_program_host {
    void *context;
    /* Answers call `name` ("get_flows" …) in lines of JSON, one for each row: get_flows: objects as
     * in getFlows, get_paths: arrays of switches, get_count: [bytes, pkts], get_duration:
     * [duration_us, stime_us, etime_us], get_poor_tcp_flows: flow IDs, alarm: nothing. `args` is an
     * object, unchecked. Runs in the thread that called pd_programs_run. An error ends the program,
     * with these words. */
    int (*call)(void *context, const char *name, const json_t *args, FILE *lines,
                struct pd_error *error);
};

struct pd_program_counters {
    uint64_t runs;
    uint64_t failed;  /* by their own fault or a limit */
    uint64_t killed;  /* workers that ended: deadline, instructions, nonsense on the socket */
    uint64_t started; /* workers */
};

struct pd_programs;

/* `worker`: path of pathdump-program; NULL: beside this program, or where it was installed.
 * -ENOMEM; the worker is looked for with the first run. */
int pd_programs_new(const char *worker, struct pd_programs **ret_programs);
void pd_programs_free(
    struct pd_programs *programs); /* ends idle workers; no run may be under way; NULL is fine */

/* run(args), and merge(a, b). *ret_result is the caller's. -PD_E_PROGRAM (the program is wrong or
 * failed), -PD_E_LIMIT (one of its limits; the words name it), -PD_E_DEADLINE, -PD_E_UNSUPPORTED
 * (no worker here), -PD_E_TOO_LARGE, -ENOMEM or -errno. */
int pd_programs_run(struct pd_programs *programs, const char *source, json_t *args,
                    const struct pd_program_limits *limits, const struct pd_program_host *host,
                    json_t **ret_result, struct pd_error *error);
int pd_programs_merge(struct pd_programs *programs, const char *source, json_t *a, json_t *b,
                      const struct pd_program_limits *limits, json_t **ret_result,
                      struct pd_error *error);

/* Whether the program has a merge(); so one that is none at all is found out. Errors as of a run.
 */
int pd_programs_can_merge(struct pd_programs *programs, const char *source,
                          const struct pd_program_limits *limits, bool *ret_can_merge,
                          struct pd_error *error);

/* Whether the source is a program at all; none of it is run. -PD_E_VALUE with Lua's words, which
 * name the line; other errors as of a run. */
int pd_programs_check(struct pd_programs *programs, const char *source, struct pd_error *error);

/* The same for the "program" of a document, if it has one that can be looked at here: whatever else
 * is wrong with the document is found by who reads it. `programs` may be NULL. */
int pd_programs_check_document(struct pd_programs *programs, const json_t *document,
                               struct pd_error *error);

void pd_programs_counters(struct pd_programs *programs, struct pd_program_counters *ret_counters);

#endif
