/* SPDX-License-Identifier: Apache-2.0 */
/* A host's part of a plan at work: what it has sent on each way, and what came of others. */
#ifndef PD_AGENT_PROBES_COLLECT_H
#define PD_AGENT_PROBES_COLLECT_H

#include "probe/order.h"
#include "probe/report.h"

/* A probe counts when it carries the plan's number and a hash made with the plan's key, is on a way
 * that ends here, and has crossed the switches of that way; anything else is counted and never
 * used. What switches wrote on it is summed up until the next report.
 *
 * Thread safety: none; the part has a lock (probes.c). */

/* One measure of the probes since the last report. Of at most 199 values the second greatest is
 * no less than the 99th of a hundred: these two are enough. */
struct pd_agent_probe_measure {
    uint64_t count;
    int64_t least, sum, most, second;
};

struct pd_agent_probe_hop {
    struct pd_agent_probe_measure hop_latency, residence, queue;
};

struct pd_agent_probe_way {
    const struct pd_probe_order_way *way; /* of the order */
    bool sends, collects;
    uint32_t first, next; /* sequences sent: [first, next) */
    uint32_t tried;       /* sends, also those that failed; no further than the first few */
    uint64_t received;
    struct pd_probe_join_came came;
    uint64_t came_ns; /* monotonic, the newest one; or when it began to be collected */
    bool silent;      /* several are missing by the clock */
    uint32_t count;   /* of the hops' sums */
    struct pd_agent_probe_hop *hops; /* way->switches_len of them */
};

struct pd_agent_probe_part {
    uint32_t plan_before; /* probes of it may be under way; 0: none */
    uint8_t key_before[PD_SIPHASH_KEY_BYTES];
    struct pd_probe_order order;
    const struct pd_topology *topology;
    uint32_t epoch;    /* of collecting: another one after each start */
    uint64_t until_ns; /* monotonic: the lease's end */
    struct pd_agent_probe_way *ways;
    size_t ways_len;
};

/* What may become of a frame that is sent to the probes' port. */
#define PD_AGENT_PROBE_VERDICTS(X)                              \
    X(received, "probes collected")                             \
    X(no_probe, "frames to the probes' port that are none")     \
    X(other_plan, "probes of a plan that is not in force here") \
    X(late, "probes of the plan before")                        \
    X(forged, "probes with a wrong hash")                       \
    X(other_way, "probes on a way that does not end here")      \
    X(past, "probes with a sequence that was there before")     \
    X(astray, "probes that crossed other switches than those of their way")

enum pd_agent_probe_verdict {
#define X(name, text) PD_AGENT_PROBE_##name,
    PD_AGENT_PROBE_VERDICTS(X)
#undef X
        PD_AGENT_PROBE_VERDICTS_LEN
};

/* Takes the order over: it is empty afterwards. What is known of ways that stay in a plan is kept.
 * `host`: whose part it is. `begin`: the first sequence of ways that begin. 0 or -ENOMEM, the part
 * then as it was. */
int pd_agent_probe_part_take(struct pd_agent_probe_part *part, struct pd_probe_order *order,
                             uint32_t host, uint32_t begin, uint64_t now_ns);
void pd_agent_probe_part_done(struct pd_agent_probe_part *part); /* works on zeroed memory */

struct pd_agent_probe_way *pd_agent_probe_part_find(const struct pd_agent_probe_part *part,
                                                    uint32_t number);

/* Is it one of ours, used or not? Then it counts for no flow. */
bool pd_agent_probe_is_ours(enum pd_agent_probe_verdict verdict);

/* One that came. */
enum pd_agent_probe_verdict pd_agent_probe_collect(struct pd_agent_probe_part *part,
                                                   const struct pd_telemetry *telemetry,
                                                   uint64_t now_ns);

/* All that is to be told, and the sums begin anew. */
void pd_agent_probe_report(struct pd_agent_probe_part *part, uint32_t host,
                           struct pd_probe_report_out *out);

#endif
