/* SPDX-License-Identifier: Apache-2.0 */
/* Gathering: a document goes to the top host of each tree, whole answers come back one after the
 * other, and nobody below a dead host is forgotten. */
#ifndef PD_FLEET_GATHER_H
#define PD_FLEET_GATHER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "fleet/fanout.h"
#include "fleet/order.h"
#include "fleet/tree.h"
#include "http/answer.h"

/* An answer is kept until it is whole: in memory, a long one in a file without a name, all that are
 * under way together at most PD_GATHER_HELD_MAX_BYTES.
 *
 * Deadlines: a host gets what remains of ours but for a margin; one with children three quarters of
 * it, so that time is left to ask them ourselves should it fail.
 *
 * Thread safety: pd_fleet_gather_run works on the caller's memory; its functions are called in the
 * caller's thread. */

#define PD_GATHER_HELD_MAX_BYTES (UINT64_C(1) << 30)
#define PD_GATHER_AT_ONCE        256u

/* A host's answer. */
struct pd_gathered {
    const struct pd_tree *tree;
    uint64_t took_us;        /* from our question to the end of its answer */
    uint64_t bytes;          /* of the answer */
    struct pd_answer answer; /* the sink may take it: then it puts a fresh one in its place */
};

struct pd_gather_sink {
    void *context;
    /* An answer of status 200, whole. 0: it counts; else an error with words: then the host has
     * failed as if it had not answered. */
    int (*take)(void *context, struct pd_gathered *gathered, struct pd_error *error);
    /* This host has failed; those below it are asked by us. */
    void (*missing)(void *context, const struct pd_tree *tree, const struct pd_error *error);
    /* Nothing further makes sense. May be NULL. */
    bool (*is_over)(void *context);
    /* As in struct pd_fanout_sink. May be NULL. */
    uint64_t (*idle)(void *context);
};

struct pd_gather {
    struct pd_fanout *fanout;
    const char *document; /* JSON object, without "deadline_ms" and "children" */
    const char *accept;   /* media type of the answers */
    /* of these trees; NULL: nobody wants any (struct pd_execution) */
    const struct pd_fleet_orders *orders;
    const struct pd_tree *trees;
    size_t trees_len;
    uint64_t deadline_ns;         /* monotonic */
    unsigned at_once;             /* 0: PD_GATHER_AT_ONCE */
    uint64_t max_bytes;           /* of an answer */
    const atomic_bool *cancelled; /* as in struct pd_fanout_request */
    const struct pd_gather_sink *sink;
};

/* 0 when each host was heard of, or -ENOMEM when nothing was asked. *ret_adopted: hosts that we
 * asked instead of the one above them. */
int pd_fleet_gather_run(const struct pd_gather *gather, uint64_t *ret_adopted);

/* Reads an answer from the beginning; `at` is where the next byte comes from. > 0 bytes read, 0 at
 * the end, or -errno. */
struct pd_gathered_reader {
    const struct pd_answer *answer;
    uint64_t at;
};
ssize_t pd_fleet_gathered_read(void *reader, void *buffer, size_t size);

#endif
