/* SPDX-License-Identifier: Apache-2.0 */
/* The loop application's state: packets that are under way again, loops and long paths that were
 * found. */
#ifndef PD_APPS_LOOP_LOOP_H
#define PD_APPS_LOOP_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "apps/apps.h"
#include "apps/loop/reports.h"
#include "codec/tagging/trace.h"
#include "packet/packet.h"

/* Paper 000, section 4.5. Internal to src/apps/loop. Belongs to one thread at a time. */

#define LOOP_ROUNDS_MAX 16  /* times that one packet is sent on */
#define LOOP_PER_S      500 /* packets sent on in a second, all together */
/* A packet that does not come again within this time is out of a loop. */
#define LOOP_AGE_NS      (2 * PD_NS_PER_S)
#define LOOP_WAYS        4
#define LOOP_BUCKETS     128
#define LOOP_FOUND_MAX   64
#define LOOP_FLOWS_MAX   64 /* of a loop */
#define LOOP_LONG_MAX    256
#define LOOP_FRAME_BYTES 9216 /* longer ones are not sent on */

// clang-format off
#define LOOP_COUNTERS(X)                                                                    \
    X(packets, "packets that switches sent here")                                           \
    X(limited, "beyond the rate of their switch: not looked at")                            \
    X(unreadable, "that are no IP packets, or cut off")                                     \
    X(others, "that have room for another tag: some other rule sent them")                  \
    X(unknown_switches, "from switches that the topology does not know")                    \
    X(infeasible, "whose tags fit no walk of the topology")                                 \
    X(sent_on, "sent on without their tags")                                                \
    X(expired, "not sent on: their TTL has run out")                                        \
    X(tired, "not sent on: they were too often")                                            \
    X(beyond_rate, "not sent on: too many in a second")                                     \
    X(unsendable, "not sent on: no port is known, too long, or the switch does not take it") \
    X(looping, "not sent on: they are in a loop")                                           \
    X(crowded_out, "forgotten while under way: too many")
// clang-format on

struct loop_counters {
#define X(name, text) uint64_t name;
    LOOP_COUNTERS(X)
#undef X
};

/* One time that a packet was here. */
struct loop_visit {
    struct pd_tagging_set set;
    uint64_t at_ns; /* monotonic */
    uint64_t at_us; /* wall time */
    bool fits;      /* some walk gets these tags */
};

/* A packet under way. */
struct loop_packet {
    struct pd_flow_id flow;
    uint64_t content; /* hash of what no switch changes */
    uint32_t src_tor, dst_tor;
    uint8_t ttl;         /* with which it was sent on */
    uint32_t visits_len; /* 0: this place is free */
    struct loop_visit visits[LOOP_ROUNDS_MAX + 1];
    struct pd_tagging_trail trail;
    uint32_t first_len; /* of the trail, links that were there at its first visit */
    bool told;          /* its tags spoke of a link twice, whoever wrote them */
};

struct loop_link {
    uint32_t from, to; /* IDs */
};

struct loop_found {
    uint32_t len;
    struct loop_link links[PD_TAGGING_STEPS_MAX]; /* begins with the smallest ID */
    struct loop_link repeated;
    /* its switch indexes may be of a topology that was reloaded: IDs stand beside */
    struct loop_packet proof;
    uint32_t proof_ids[LOOP_ROUNDS_MAX + 1][2];
    uint32_t flows_len;
    struct pd_flow_id flows[LOOP_FLOWS_MAX];
    uint64_t packets, flows_left;
    uint64_t last_ns, last_us;
};

/* A flow whose packets came with too many tags and were in no loop. */
struct loop_long {
    struct pd_flow_id flow;
    uint64_t packets, last_us;
    uint64_t mark;
    struct loop_link last; /* by which it came in; from 0: not known */
    bool undecided;        /* it came again and again, and no link was proven to repeat */
    bool told;             /* the tags spoke of a link twice, once: a suspicion */
};

struct loop_state {
    struct loop_reports *reports; /* of switches, by a telemetry plan */
    const struct pd_topology *topology;
    struct pd_codec *codec;
    struct loop_packet packets[LOOP_BUCKETS][LOOP_WAYS];
    struct loop_found found[LOOP_FOUND_MAX];
    struct loop_long longs[LOOP_LONG_MAX];
    uint32_t found_len, longs_len;
    uint64_t longs_left;
    uint64_t credit_ns, credited_ns;
    struct loop_counters counters;
};

/* One packet of a switch; true when it proves a loop that was not known (packets.c). */
bool pd_loop_take(struct loop_state *state, const struct pd_app_world *world,
                  const struct pd_app_packet *packet);
/* Packets that did not come again were no loop (found.c). */
void pd_loop_expire(struct loop_state *state, uint64_t now_ns);
void pd_loop_forget(struct loop_state *state, struct loop_packet *packet, bool undecided);
/* The trail of `packet` repeats at these steps; true when this loop is new. */
bool pd_loop_note(struct loop_state *state, const struct loop_packet *packet, uint32_t first,
                  uint32_t second);
/* The loop that was proven lately with this link and flow, or NULL. */
struct loop_found *pd_loop_known(struct loop_state *state, const struct pd_flow_id *flow,
                                 const struct pd_tagging_set *set, uint64_t now_ns);
/* Everything that ended at or after `from_us` (report.c). */
void pd_loop_report(const struct loop_state *state, uint64_t from_us, bool edges_held,
                    struct pd_report *report);

#endif
