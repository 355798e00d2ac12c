/* SPDX-License-Identifier: Apache-2.0 */
/* What is done to a flow: may it be traced, probes, answers, the end. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "trace/tracer_state.h"

#define ROUNDS      3 /* of probes, for who is silent */
#define ROUND_NS    (20 * PD_NS_PER_MS)
#define ANSWERS_MAX 256 /* taken at once */
#define ECN         3
#define REFUSED_MAX (PD_TRACE_FLOWS_MAX / 2) /* flows, when one that is not traced is kept */

static void count(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* ---- may it be traced? ---- */

/* The server itself, in some rack. A handshake with a VIP that is not over has found no server. */
static int resolve(struct pd_tracer *tracer, const struct pd_monitor_loss *loss,
                   struct pd_trace_header *header)
{
    const struct pd_topology *topology = tracer->config.topology;
    struct pd_flow_id *wire = &header->flow;
    struct pd_trace_end end;
    int err;

    if (pd_trace_knows(topology, &wire->dst, wire->ip_version)) {
        return 0;
    }
    if (loss && loss->half_open) {
        return -PD_E_UNKNOWN_HOST;
    }
    err = tracer->resolver.ops->resolve(tracer->resolver.state, wire, &end);
    if (err || !pd_trace_knows(topology, &end.addr, wire->ip_version)) {
        return -PD_E_UNKNOWN_HOST;
    }
    wire->dst = end.addr;
    wire->dst_port = end.port;
    header->rewritten = true;
    return 0;
}

/* Whom nobody can resolve is asked for once an epoch, and takes no token where nobody is asked. */
static bool costs_nothing(const struct pd_tracer *tracer, const struct pd_flow_id *flow)
{
    return !tracer->resolver.ops->value && !tracer->resolver.ops->open &&
           !pd_trace_knows(tracer->config.topology, &flow->dst, flow->ip_version);
}

/* ---- probes ---- */

/* Whether a hop is still of interest: once the destination's rack has answered, what lies behind it
 * is the host itself, which is silent. */
static unsigned hops_wanted(const struct pd_tracer *tracer, const struct pd_trace_flow *flow)
{
    struct pd_trace_way way;
    unsigned len = flow->hops_len;

    pd_trace_way_find(tracer->config.topology, &flow->header.flow, flow->hops, flow->hops_len,
                      &way);
    if (way.reached) {
        return way.path.len;
    }
    for (unsigned i = 0; i < len; i++) {
        if (flow->hops[i].unreachable) {
            return i + 1;
        }
    }
    return len;
}

static unsigned silent_hops(const struct pd_tracer *tracer, const struct pd_trace_flow *flow,
                            uint8_t ttls[PD_PATH_MAX])
{
    unsigned wanted = hops_wanted(tracer, flow), len = 0;

    for (unsigned i = 0; i < wanted; i++) {
        if (!flow->hops[i].answered) {
            ttls[len++] = (uint8_t)(i + 1);
        }
    }
    return len;
}

static void send_round(struct pd_tracer *tracer, struct pd_trace_flow *flow, const uint8_t *ttls,
                       unsigned len, uint64_t now_ns)
{
    uint32_t cookies[PD_PATH_MAX];
    unsigned sent;

    for (unsigned i = 0; i < len; i++) {
        cookies[i] = pd_trace_cookie(tracer->key, &flow->header.flow, flow->epoch, ttls[i]);
    }
    sent = pd_trace_wire_send(&tracer->wire, &flow->header, ttls, cookies, len);
    count(&pd_tracer_counters.sent, sent);
    count(&pd_tracer_counters.unsent, len - sent);
    flow->rounds++;
    flow->due_ns = now_ns + ROUND_NS;
    if (flow->due_ns < tracer->due_ns) {
        tracer->due_ns = flow->due_ns;
    }
}

static void finish(struct pd_tracer *tracer, struct pd_trace_flow *flow)
{
    struct pd_trace_way way;
    uint64_t unknown = 0;

    pd_trace_way_find(tracer->config.topology, &flow->header.flow, flow->hops, flow->hops_len,
                      &way);
    for (unsigned i = 0; i < flow->hops_len; i++) {
        unknown += flow->hops[i].answered && !flow->hops[i].switch_id;
    }
    flow->state = PD_TRACE_DONE;
    count(&pd_tracer_counters.unknown_addrs, unknown);
    count(&pd_tracer_counters.inconsistent, !way.consistent);
    count(&pd_tracer_counters.early_ends, way.consistent && !way.reached);
    pthread_cond_broadcast(&tracer->done);
}

/* ---- a retransmission ---- */

static void note_loss(struct pd_trace_flow *flow, const struct pd_monitor_loss *loss)
{
    flow->lost += loss->retransmissions;
    flow->last_us = pd_clock_wall_us();
    if (loss->duplicates > flow->duplicates) {
        flow->duplicates = loss->duplicates;
    }
}

static struct pd_trace_flow *add(struct pd_tracer *tracer, const struct pd_flow_id *id,
                                 const struct pd_trace_header *header,
                                 const struct pd_monitor_loss *loss, uint64_t wall_us)
{
    struct pd_trace_flow *flow = pd_trace_flows_add(
        &tracer->flows, id, header, pd_tracer_epoch(tracer, wall_us), tracer->ttl_max);

    if (!flow) {
        count(&pd_tracer_counters.limited, 1);
        return NULL;
    }
    flow->time_us = flow->last_us = wall_us;
    if (loss) {
        flow->duplicates = flow->duplicates_before = loss->duplicates;
        flow->lost = loss->retransmissions;
    }
    return flow;
}

static int begin_new(struct pd_tracer *tracer, const struct pd_trace_header *header,
                     const struct pd_monitor_loss *loss, uint64_t wall_us,
                     struct pd_trace_flow **ret_flow)
{
    const uint64_t now_ns = pd_clock_monotonic_ns();
    struct pd_trace_header wire = *header;
    uint8_t ttls[PD_PATH_MAX];
    struct pd_trace_flow *flow;
    int err;

    if (!costs_nothing(tracer, &header->flow) && !pd_trace_bucket_take(&tracer->bucket, now_ns)) {
        count(&pd_tracer_counters.limited, 1);
        return -PD_E_TOO_MANY;
    }
    wire.traffic_class &= (uint8_t)~ECN;
    err = resolve(tracer, loss, &wire);
    if (err && tracer->flows.len >= REFUSED_MAX) {
        count(&pd_tracer_counters.unresolved, 1);
        return err; /* they leave room for those that can be traced */
    }
    flow = add(tracer, &header->flow, &wire, loss, wall_us);
    if (!flow) {
        return -ENOMEM;
    }
    *ret_flow = flow;
    if (err) {
        flow->state = PD_TRACE_REFUSED;
        count(&pd_tracer_counters.unresolved, 1);
        return err;
    }
    flow->begun_ns = now_ns;
    count(&pd_tracer_counters.traces, 1);
    send_round(tracer, flow, ttls, silent_hops(tracer, flow, ttls), now_ns);
    return 0;
}

int pd_tracer_begin(struct pd_tracer *tracer, const struct pd_trace_header *header,
                    const struct pd_monitor_loss *loss, struct pd_trace_flow **ret_flow)
{
    const uint64_t wall_us = pd_clock_wall_us();
    struct pd_trace_flow *known = pd_trace_flows_find(
        &tracer->flows, PD_TRACE_BY_FLOW, &header->flow, pd_tracer_epoch(tracer, wall_us));

    if (!known) {
        return begin_new(tracer, header, loss, wall_us, ret_flow);
    }
    if (loss) {
        note_loss(known, loss);
    }
    *ret_flow = known;
    if (known->state == PD_TRACE_REFUSED) {
        return -PD_E_UNKNOWN_HOST;
    }
    count(&pd_tracer_counters.cached, 1);
    return 0;
}

/* ---- answers ---- */

/* The TTL whose probe this is; 0: it is none of them. IPv4 says it twice. */
static unsigned ttl_of(const struct pd_tracer *tracer, const struct pd_trace_quote *quote,
                       uint64_t epoch, unsigned most)
{
    for (unsigned ttl = 1; ttl <= most; ttl++) {
        if ((quote->flow.ip_version == 6 || quote->ip_id == ttl) &&
            pd_trace_cookie(tracer->key, &quote->flow, epoch, (uint8_t)ttl) == quote->cookie) {
            return ttl;
        }
    }
    return 0;
}

static void take_hop(struct pd_tracer *tracer, struct pd_trace_flow *flow, unsigned ttl,
                     const struct pd_trace_quote *quote, uint64_t time_ns)
{
    struct pd_trace_hop *hop = &flow->hops[ttl - 1];
    const struct pd_topology *topology = tracer->config.topology;
    uint8_t ttls[PD_PATH_MAX];
    uint32_t sw;

    if (hop->answered || flow->state != PD_TRACE_ASKING) {
        count(hop->answered ? &pd_tracer_counters.doubled : &pd_tracer_counters.late, 1);
        return;
    }
    count(&pd_tracer_counters.answered, 1);
    sw = pd_topology_interface(topology, &quote->from, quote->flow.ip_version, NULL);
    hop->answered = true;
    hop->unreachable = quote->unreachable;
    hop->addr = quote->from;
    hop->switch_id = sw == PD_NONE ? 0 : topology->switches[sw].id;
    hop->rtt_us =
        time_ns > flow->begun_ns ? (uint32_t)((time_ns - flow->begun_ns) / PD_NS_PER_US) : 0;
    if (!silent_hops(tracer, flow, ttls)) {
        finish(tracer, flow);
    }
}

static void take_answer(struct pd_tracer *tracer, const struct pd_trace_quote *quote,
                        uint64_t time_ns)
{
    const uint64_t epoch = pd_tracer_epoch(tracer, pd_clock_wall_us());
    bool known = false;

    /* An epoch may have begun since the probe. */
    for (uint64_t at = epoch; at + 2 > epoch; at--) {
        struct pd_trace_flow *flow =
            pd_trace_flows_find(&tracer->flows, PD_TRACE_BY_WIRE, &quote->flow, at);
        unsigned ttl = ttl_of(tracer, quote, at, flow ? flow->hops_len : tracer->ttl_max);

        known |= flow != NULL;
        if (ttl && flow) {
            take_hop(tracer, flow, ttl, quote, time_ns);
            return;
        }
        if (ttl) {
            count(&pd_tracer_counters.late, 1);
            return;
        }
    }
    count(known ? &pd_tracer_counters.forged : &pd_tracer_counters.foreign, 1);
}

void pd_tracer_take_answers(struct pd_tracer *tracer)
{
    for (unsigned family = 0; family < 2; family++) {
        struct pd_trace_quote quote;
        uint64_t time_ns;
        int got = 0;

        for (unsigned i = 0; i < ANSWERS_MAX && got >= 0; i++) {
            got = pd_trace_wire_next(&tracer->wire, family, &quote, &time_ns);
            if (got > 0) {
                take_answer(tracer, &quote, time_ns);
            } else if (!got) {
                count(&pd_tracer_counters.foreign, 1);
            }
        }
    }
}

/* ---- what is due ---- */

static void work_on(struct pd_tracer *tracer, struct pd_trace_flow *flow, uint64_t now_ns)
{
    uint8_t ttls[PD_PATH_MAX];
    unsigned len = silent_hops(tracer, flow, ttls);

    if (!len || flow->rounds == ROUNDS) {
        finish(tracer, flow);
    } else {
        send_round(tracer, flow, ttls, len, now_ns);
    }
}

void pd_tracer_work_due(struct pd_tracer *tracer, uint64_t now_ns)
{
    if (now_ns < tracer->due_ns) {
        return;
    }
    tracer->due_ns = UINT64_MAX;
    for (struct pd_trace_flow *at = tracer->flows.first; at; at = at->next) {
        if (at->state == PD_TRACE_ASKING && at->due_ns <= now_ns) {
            work_on(tracer, at, now_ns);
        }
        if (at->state == PD_TRACE_ASKING && at->due_ns < tracer->due_ns) {
            tracer->due_ns = at->due_ns;
        }
    }
}
