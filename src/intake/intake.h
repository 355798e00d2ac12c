/* SPDX-License-Identifier: Apache-2.0 */
/* An intake: where trajectory records come from (a capture file, a live interface, later Open
 * vSwitch). */
#ifndef PD_INTAKE_INTAKE_H
#define PD_INTAKE_INTAKE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/options.h"
#include "packet/packet.h"
#include "trajectory/record.h"
#include "trajectory/trajectory.h"

/* Pull style: the owner thread calls pd_intake_poll in a loop and does its other work between
 * calls; records come out of the sink inside poll, sweep and flush. Between two calls nothing
 * moves, so a walk over the live records together with what the sink was given is an exact
 * snapshot; times in records are nanoseconds since the epoch; a walk may give records to the sink
 * itself. Each kind lives in a folder of its own and is listed in src/intake/registry.c.
 *
 * Thread safety: one thread owns an intake; the counters may be read by others through
 * pd_intake_status (a copy taken by the owner is the owner's business). */

/* Somebody who wants to see frames that were counted for a flow, as they came: called in the
 * owner's thread, time since the epoch. Intakes that see no frames (ovs) call nobody. */
struct pd_intake_tap {
    void *context;
    const atomic_bool *wanted; /* relaxed: false, and nobody is called */
    void (*frame)(void *context, const struct pd_packet *packet, const uint8_t *frame,
                  size_t captured, size_t wire, uint64_t time_ns);
};

/* Somebody whom frames to one UDP port are for: those that it takes (true) count for no flow.
 * Called like a tap, before it. */
struct pd_intake_taker {
    void *context;
    const atomic_bool *wanted; /* relaxed */
    uint16_t udp_port;
    bool (*take)(void *context, const struct pd_packet *packet, const uint8_t *frame,
                 size_t captured);
};

/* Somebody who wants to hear what switches say of packets by themselves. Called in the owner's
 * thread; `flow` is NULL where the packet cannot be read, and `detail` a sentence. */
enum pd_intake_complaint { PD_INTAKE_DROPPED, PD_INTAKE_QUEUED };
struct pd_intake_complaints {
    void *context;
    void (*tell)(void *context, enum pd_intake_complaint what, const struct pd_flow_id *flow,
                 uint32_t node, const char *detail);
};

struct pd_intake_config {
    struct pd_trajectory_config trajectory;
    pd_packet_mark_reader *read_mark; /* how marks stand on frames; NULL: as link tags */
    uint16_t tpid;       /* of link tags, where they have their own; 0: all tags are link tags */
    uint16_t aside_tpid; /* of tags that are no link tags, wherever they stand; 0: none */
    bool use_dscp;       /* the codec writes the DSCP: part of the key, cleared when stripping */
    bool no_marks;       /* records are of flows alone: marks are told apart by the tap */
    const void *options; /* the kind's own (ops->options); NULL: all zero */
    /* How far a source's records are stored already, 0 or -PD_E_NOT_FOUND; asked when the source is
     * opened. NULL: never. */
    int (*stored)(void *context, uint64_t key, uint64_t *ret_position);
    void *stored_context;
    const struct pd_intake_tap *tap;               /* NULL: nobody */
    const struct pd_intake_taker *taker;           /* likewise */
    const struct pd_intake_complaints *complaints; /* likewise */
    int wake_fd; /* poll returns early when this is readable (eventfd; not read here); -1: none */
};

/* WAITING: live, the interface is down or was removed, or the switch is not there; detail says
 * which, and it goes on when that comes back. FINISHED: the end of a file, cut or not. FAILED: the
 * file is corrupt or cannot be read any further. What was counted before has gone to the sink. */
enum pd_intake_state { PD_INTAKE_WAITING, PD_INTAKE_RUNNING, PD_INTAKE_FINISHED, PD_INTAKE_FAILED };

/* What a kind can do beside giving records. */
#define PD_INTAKE_FRAMES 1u /* it sees frames: packets can be logged */

#define PD_INTAKE_COUNTERS(X)                                                          \
    X(frames, "frames read")                                                           \
    X(frame_bytes, "bytes of these frames on the wire")                                \
    X(kernel_drops, "frames or reports that the kernel dropped before they were read") \
    X(other_direction, "frames not counted: sent by this host (Linux before 4.20)")    \
    X(ring_full, "evictions that waited: the switch's ring was full")                  \
    X(ring_unheard, "new flows not announced: the switch's ring was half full")        \
    X(probes, "probes for this host: they count for no flow")                          \
    X(torn_records, "records lost: the switch died while it wrote them")               \
    X(malformed_reports, "reports of switches that are none, or whose lengths lie")

struct pd_intake_status {
    const char *kind; /* "pcap", "live", "ovs" */
    unsigned can;     /* PD_INTAKE_FRAMES … */
    enum pd_intake_state state;
    char detail[200]; /* "" or a sentence: what failed, where the file was cut */
    uint64_t verdicts[PD_PACKET_VERDICT_COUNT]; /* frames by parse verdict */
    struct pd_trajectory_counters trajectory;
    uint64_t live_records;
    uint64_t ring_events; /* in the rings of the switch, not stored yet */
#define X(name, text) uint64_t name;
    PD_INTAKE_COUNTERS(X)
#undef X
};

struct pd_intake;

struct pd_intake_ops {
    const char *kind;     /* the word before the colon: "pcap" */
    const char *argument; /* what stands behind it, for help: "FILE" */
    const char *source;   /* what that is, in an error: "file" */
    unsigned can;         /* PD_INTAKE_FRAMES … */
    /* Options that only this kind has, and the size of the struct that their offsets are in: a
     * pathdumpd has them all, whatever its intakes. NULL: none. */
    const struct pd_option *options;
    size_t options_bytes;
    /* Whether two arguments name the same source, which cannot be opened twice. NULL: when they
     * are the same words. */
    bool (*same)(const char *a, const char *b);
    /* Opens what `argument` names. On failure nothing is left behind and `error` says what and why
     * in one line. */
    int (*open)(const char *argument, const struct pd_intake_config *config,
                const struct pd_trajectory_sink *sink, struct pd_intake **ret_intake,
                struct pd_error *error);
    void (*close)(struct pd_intake *intake); /* does not flush */
    /* Works for a bounded time (about 10 ms of work, or sleeps up to timeout_ms for something to
     * do). 0: go on; -PD_E_EOF: finished, all records are flushed to the sink; -PD_E_TRUNCATED: the
     * same, but the input was cut (detail says where); other (-PD_E_CORRUPT, -EIO): failed (detail
     * says why), what was counted is flushed. While the sink refuses records a file is not read on;
     * the end is told when it has taken all. Asked again, the answer is the same. A live intake
     * never ends. */
    int (*poll)(struct pd_intake *intake, int timeout_ms);
    size_t (*flush)(struct pd_intake *intake); /* as pd_trajectory_flush */
    void (*walk)(struct pd_intake *intake,
                 void (*visit)(void *context, const struct pd_trajectory_record *record),
                 void *context);
    void (*status)(const struct pd_intake *intake, struct pd_intake_status *ret_status);
    /* Both NULL unless the source keeps records until they are stored.
     * positions: tells `visit` up to where each source has given its records to the sink, where
     * that changed since the last call; may be called from inside the sink, and then includes the
     * record that it was given. committed: records up to this position are stored. From any thread.
     */
    void (*positions)(struct pd_intake *intake,
                      void (*visit)(void *context, uint64_t key, uint64_t position), void *context);
    void (*committed)(struct pd_intake *intake, uint64_t key, uint64_t position);
};

/* Common head of every intake's own struct. */
struct pd_intake {
    const struct pd_intake_ops *ops;
};

/* The kind of "KIND:ARGUMENT", and what stands behind the colon (may be NULL). -PD_E_VALUE when
 * there is no such kind (the error lists those that there are), or nothing behind it. */
int pd_intake_find(const char *spec, const struct pd_intake_ops **ret_ops,
                   const char **ret_argument, struct pd_error *error);

/* Opens "KIND:ARGUMENT". -PD_E_VALUE when the kind is unknown (the error lists those that there
 * are), or why open failed. */
int pd_intake_open(const char *spec, const struct pd_intake_config *config,
                   const struct pd_trajectory_sink *sink, struct pd_intake **ret_intake,
                   struct pd_error *error);
int pd_intake_poll(struct pd_intake *intake, int timeout_ms);
size_t pd_intake_flush(struct pd_intake *intake);
void pd_intake_walk(struct pd_intake *intake,
                    void (*visit)(void *context, const struct pd_trajectory_record *record),
                    void *context);
void pd_intake_status(const struct pd_intake *intake, struct pd_intake_status *ret_status);
void pd_intake_positions(struct pd_intake *intake,
                         void (*visit)(void *context, uint64_t key, uint64_t position),
                         void *context);
void pd_intake_committed(struct pd_intake *intake, uint64_t key, uint64_t position);
bool pd_intake_keeps(const struct pd_intake *intake);       /* records until they are stored */
void pd_intake_close(struct pd_intake *intake);             /* NULL is fine */
extern const struct pd_intake_ops *const pd_intakes[];      /* NULL-terminated */
const char *pd_intake_state_id(enum pd_intake_state state); /* "running" … */

#endif
