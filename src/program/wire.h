/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between the agent and the process that runs a program: a length, a kind, bytes. */
#ifndef PD_PROGRAM_WIRE_H
#define PD_PROGRAM_WIRE_H

#include <stddef.h>
#include <stdint.h>

/* Over a stream socket: length of the payload (4 bytes, little-endian), kind (1 byte), payload.
 * Both ends are of one version: they are installed together. The agent takes nothing that the other
 * end says for granted, since a program may have got hold of it.
 *
 * RUN      agent → worker   JSON {"program","args","limits":{"instructions","memory_bytes"}}; or,
 *                           instead of "args", "merge":[a,b], "has":NAME (is there such a
 *                           function?) or "check":true (is it a program? nothing of it is run)
 * CALL     worker → agent   JSON {"name","args"}; the answer is LINES with the first lines
 * MORE     worker → agent   number of a call (4 bytes): further lines, please
 * CLOSE    worker → agent   number of a call (4 bytes): no more of them; has no answer
 * LINES    agent → worker   number of the call (4 bytes), then whole lines of JSON, each with its
 *                           newline; none: that was all
 * REFUSED  agent → worker   words: the call failed
 * RESULT   worker → agent   JSON value
 * FAILED   worker → agent   one of enum pd_program_failure (1 byte), then words
 *
 * Thread safety: functions work on the caller's memory only. */

#define PD_WIRE_MAX_BYTES ((size_t)16 << 20)

enum pd_program_wire_kind {
    PD_WIRE_RUN = 1,
    PD_WIRE_CALL,
    PD_WIRE_MORE,
    PD_WIRE_CLOSE,
    PD_WIRE_LINES,
    PD_WIRE_REFUSED,
    PD_WIRE_RESULT,
    PD_WIRE_FAILED
};

enum pd_program_failure {
    PD_PROGRAM_SYNTAX = 1,   /* not a program, or it has no run() */
    PD_PROGRAM_ERROR,        /* it raised an error */
    PD_PROGRAM_INSTRUCTIONS, /* its budget is used up */
    PD_PROGRAM_MEMORY,
    PD_PROGRAM_RESULT /* not a JSON value, or too large */
};

struct pd_program_wire_message {
    enum pd_program_wire_kind kind;
    char *bytes; /* the receiver frees it; one more byte, which is 0, follows */
    size_t len;
};

#define PD_WIRE_FOREVER UINT64_MAX

/* Both wait until `deadline_ns` (monotonic) at most: -ETIMEDOUT. -PD_E_TOO_LARGE, -PD_E_EOF,
 * -PD_E_SYNTAX (an unknown kind), -ENOMEM or -errno. */
int pd_program_wire_send(int fd, uint64_t deadline_ns, enum pd_program_wire_kind kind,
                         const void *head, size_t head_len, const void *bytes, size_t len);
int pd_program_wire_receive(int fd, uint64_t deadline_ns,
                            struct pd_program_wire_message *ret_message);

#endif
