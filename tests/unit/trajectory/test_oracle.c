/* SPDX-License-Identifier: Apache-2.0 */
/* Trajectory memory against a naive oracle on random packets: the same records, and exact sums. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/shared/random.h"
#include "trajectory/trajectory.h"

#define KEY_BITS  pd_tags_bits(false) /* of marks, here: all but the DSCP */
#define NS_PER_S  UINT64_C(1000000000)
#define BURST_MAX 70

/* ---- randomness: one printed seed per run ---------------------------------------------------- */

static struct random rnd;

static uint64_t below(uint64_t limit)
{
    return random_below(&rnd, limit);
}

static bool one_in(uint64_t n)
{
    return below(n) == 0;
}

static int seed(void **state)
{
    (void)state;
    rnd.state = test_seed();
    return 0;
}

/* ---- lists of records ------------------------------------------------------------------------ */

struct records {
    struct pd_trajectory_record *items;
    size_t len, room;
};

static void append(struct records *records, const struct pd_trajectory_record *record)
{
    if (records->len == records->room) {
        records->room = records->room ? 2 * records->room : 1024;
        records->items = realloc(records->items, records->room * sizeof *records->items);
        assert_non_null(records->items);
    }
    records->items[records->len++] = *record;
}

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct pd_trajectory_record));
}

static void assert_same(struct records *a, struct records *b)
{
    assert_int_equal(a->len, b->len);
    qsort(a->items, a->len, sizeof *a->items, compare);
    qsort(b->items, b->len, sizeof *b->items, compare);
    for (size_t i = 0; i < a->len; i++) {
        assert_memory_equal(&a->items[i], &b->items[i], sizeof a->items[i]);
    }
}

static void sum(const struct records *records, uint64_t *pkts, uint64_t *bytes)
{
    for (size_t i = 0; i < records->len; i++) {
        *pkts += records->items[i].pkts;
        *bytes += records->items[i].bytes;
    }
}

/* ---- the oracle: one array of live records, indexed by the number of the flow ---------------- */

struct oracle {
    struct pd_trajectory_config config;
    struct pd_trajectory_record *live; /* pkts 0: none */
    uint64_t *closes_ns;               /* 0: open */
    size_t flows;
    struct records out, new_flows;
};

static void oracle_init(struct oracle *oracle, const struct pd_trajectory_config *config,
                        size_t flows)
{
    *oracle = (struct oracle){.config = *config, .flows = flows};
    oracle->live = calloc(flows, sizeof *oracle->live);
    oracle->closes_ns = calloc(flows, sizeof *oracle->closes_ns);
    assert_non_null(oracle->live);
    assert_non_null(oracle->closes_ns);
}

static void oracle_done(struct oracle *oracle)
{
    free(oracle->live);
    free(oracle->closes_ns);
    free(oracle->out.items);
    free(oracle->new_flows.items);
}

static void oracle_end(struct oracle *oracle, size_t flow, enum pd_eviction eviction)
{
    oracle->live[flow].eviction = (uint8_t)eviction;
    append(&oracle->out, &oracle->live[flow]);
    oracle->live[flow].pkts = 0;
    oracle->closes_ns[flow] = 0;
}

static enum pd_eviction oracle_expiry(const struct oracle *oracle, size_t flow, uint64_t now_ns)
{
    const struct pd_trajectory_record *live = &oracle->live[flow];
    if (oracle->closes_ns[flow] && now_ns > oracle->closes_ns[flow]) {
        return PD_EVICTION_FIN;
    }
    uint64_t apart = now_ns > live->last_ns ? now_ns - live->last_ns : live->last_ns - now_ns;
    if (apart > oracle->config.idle_ns) {
        return PD_EVICTION_IDLE;
    }
    bool old = now_ns > live->first_ns && now_ns - live->first_ns > oracle->config.active_ns;
    return old && !oracle->closes_ns[flow] ? PD_EVICTION_ACTIVE : PD_EVICTION_NONE;
}

static void oracle_count(struct oracle *oracle, size_t flow, const struct pd_packet *packet,
                         struct pd_packet_weight weight, uint64_t now_ns)
{
    struct pd_trajectory_record *live = &oracle->live[flow];
    enum pd_eviction eviction = PD_EVICTION_NONE;
    if (live->pkts) {
        eviction = oracle_expiry(oracle, flow, now_ns);
        if (eviction) {
            oracle_end(oracle, flow, eviction);
        }
    }
    bool begins = live->pkts == 0;
    if (begins) {
        *live = (struct pd_trajectory_record){
            .flow = packet->flow, .mark = packet->mark & KEY_BITS, .first_ns = now_ns};
    }
    live->pkts += weight.pkts;
    live->bytes += weight.bytes;
    live->tcp_flags |= packet->tcp_flags;
    live->first_ns = now_ns < live->first_ns ? now_ns : live->first_ns;
    live->last_ns = now_ns > live->last_ns ? now_ns : live->last_ns;
    if ((packet->tcp_flags & 0x05) && !oracle->closes_ns[flow]) {
        uint64_t closes_ns = now_ns + oracle->config.fin_linger_ns;
        oracle->closes_ns[flow] = closes_ns > live->last_ns ? closes_ns : live->last_ns;
    }
    if (begins && eviction != PD_EVICTION_ACTIVE) {
        append(&oracle->new_flows, live);
    }
}

static void oracle_flush(struct oracle *oracle, bool timed_out)
{
    for (size_t i = 0; i < oracle->flows; i++) {
        enum pd_eviction eviction = oracle->closes_ns[i] ? PD_EVICTION_FIN : PD_EVICTION_IDLE;
        if (oracle->live[i].pkts) {
            oracle_end(oracle, i, timed_out ? eviction : PD_EVICTION_FLUSH);
        }
    }
}

/* ---- a sink that keeps all, and may refuse --------------------------------------------------- */

struct sink {
    struct records out, new_flows;
    uint64_t refuse_one_in; /* 0: never */
    uint64_t refused;
};

static bool take(void *context, const struct pd_trajectory_record *record)
{
    struct sink *sink = context;
    if (sink->refuse_one_in && one_in(sink->refuse_one_in)) {
        sink->refused++;
        return false;
    }
    append(&sink->out, record);
    return true;
}

static void announce(void *context, const struct pd_trajectory_record *record)
{
    struct sink *sink = context;
    append(&sink->new_flows, record);
}

static struct pd_trajectory *trajectory_of(const struct pd_trajectory_config *config,
                                           struct sink *sink)
{
    struct pd_trajectory_sink to = {sink, take, announce};
    struct pd_trajectory *trajectory;
    assert_int_equal(pd_trajectory_new(config, &to, &trajectory), 0);
    return trajectory;
}

static void sink_done(struct sink *sink)
{
    free(sink->out.items);
    free(sink->new_flows.items);
}

/* ---- traffic --------------------------------------------------------------------------------- */

/* Flow `number`, the same each time; flows differ in any one part of the key. */
static struct pd_packet packet_of(size_t number)
{
    static const uint8_t protocols[] = {6, 17, 132, 1};
    struct pd_packet packet = {.flow = {.ip_version = number & 1 ? 6 : 4}};
    size_t rest = number >> 1;
    packet.tags_len = (uint8_t)(rest % 5);
    rest /= 5;
    for (unsigned i = 0; i < packet.tags_len; i++) {
        packet.mark = pd_tags_push(packet.mark, (uint16_t)(rest % 2 * 0xfff));
    }
    packet.flow.dst.bytes[2] = packet.tags_len ? 0 : rest % 2;
    packet.flow.protocol = protocols[rest / 2 % 4];
    rest /= 8;
    packet.flow.src_port = (uint16_t)(rest % 3);
    packet.flow.dst_port = (uint16_t)(rest / 3 % 7);
    rest /= 21;
    unsigned last = packet.flow.ip_version == 4 ? 3 : 15;
    packet.flow.src.bytes[0] = (uint8_t)(rest % 5);
    packet.flow.src.bytes[last] = (uint8_t)(rest / 5 % 3);
    packet.flow.dst.bytes[1] = (uint8_t)(rest / 15);
    packet.flow.dst.bytes[last] = (uint8_t)(rest / 15 >> 8);
    return packet;
}

struct burst {
    size_t flows[BURST_MAX];
    struct pd_packet packets[BURST_MAX];
    struct pd_packet_weight weights[BURST_MAX];
    uint64_t now_ns[BURST_MAX];
    size_t len;
};

static void fill(struct burst *burst, size_t flows, uint64_t *now_ns, uint64_t step_ns,
                 uint64_t jump_ns, bool weighted)
{
    burst->len = 1 + below(BURST_MAX);
    for (size_t i = 0; i < burst->len; i++) {
        size_t flow = one_in(4) ? below(1 + flows / 50) : below(flows);
        burst->flows[i] = flow;
        burst->packets[i] = packet_of(flow);
        struct pd_packet *packet = &burst->packets[i];
        packet->ip_bytes = 40 + (uint32_t)below(65496);
        packet->mark = pd_tags_set_dscp(packet->mark, (uint8_t)below(64)); /* not in the key */
        if (packet->flow.protocol == 6) {
            packet->tcp_flags = one_in(20) ? (one_in(2) ? 0x11 : 0x04) : 0x10;
        }
        burst->weights[i] = (struct pd_packet_weight){1, packet->ip_bytes};
        if (weighted) {
            burst->weights[i].pkts = 1 + (uint32_t)below(45);
            burst->weights[i].bytes = (uint32_t)random_next(&rnd);
        }
        *now_ns += below(step_ns);
        burst->now_ns[i] = *now_ns;
        if (jump_ns && one_in(10)) {
            uint64_t back = below(2 * jump_ns);
            burst->now_ns[i] = *now_ns + jump_ns - (back < *now_ns ? back : *now_ns);
        }
    }
}

static void feed(struct pd_trajectory *trajectory, struct oracle *oracle, const struct burst *burst,
                 bool weighted)
{
    pd_trajectory_update(trajectory, burst->packets, weighted ? burst->weights : NULL,
                         burst->now_ns, burst->len, KEY_BITS);
    for (size_t i = 0; oracle && i < burst->len; i++) {
        oracle_count(oracle, burst->flows[i], &burst->packets[i], burst->weights[i],
                     burst->now_ns[i]);
    }
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* With times in order, records do not depend on when the sweep runs: the oracle has none. */
static void compare_with_sweeps(size_t flows, size_t bursts, uint64_t step_ns, bool weighted)
{
    struct pd_trajectory_config config = PD_TRAJECTORY_DEFAULTS;
    struct sink sink = {0};
    struct oracle oracle;
    struct burst burst;
    uint64_t now_ns = below(1000) * NS_PER_S;
    oracle_init(&oracle, &config, flows);
    struct pd_trajectory *trajectory = trajectory_of(&config, &sink);
    for (size_t i = 0; i < bursts; i++) {
        fill(&burst, flows, &now_ns, step_ns, 0, weighted);
        feed(trajectory, &oracle, &burst, weighted);
        if (one_in(5)) {
            pd_trajectory_sweep(trajectory, now_ns);
        }
    }
    while (pd_trajectory_len(trajectory) > 0) {
        pd_trajectory_sweep(trajectory, now_ns += 6 * NS_PER_S);
    }
    oracle_flush(&oracle, true);
    assert_same(&sink.out, &oracle.out);
    assert_same(&sink.new_flows, &oracle.new_flows);
    pd_trajectory_free(trajectory);
    oracle_done(&oracle);
    sink_done(&sink);
}

static void few_flows(void **state)
{
    (void)state;
    compare_with_sweeps(20, 3000, NS_PER_S, false);     /* idle and active timeouts */
    compare_with_sweeps(20, 3000, NS_PER_S / 50, true); /* closing */
}

static void many_flows_that_make_the_table_grow(void **state)
{
    (void)state;
    compare_with_sweeps(60000, 8000, NS_PER_S / 10000, false);
    compare_with_sweeps(60000, 8000, NS_PER_S / 1000, true);
}

static void times_in_any_order(void **state)
{
    (void)state;
    struct pd_trajectory_config config = PD_TRAJECTORY_DEFAULTS;
    for (uint64_t jump_ns = NS_PER_S / 10; jump_ns < 1000 * NS_PER_S; jump_ns *= 10) {
        struct sink sink = {0};
        struct oracle oracle;
        struct burst burst;
        uint64_t now_ns = 100 * NS_PER_S;
        oracle_init(&oracle, &config, 300);
        struct pd_trajectory *trajectory = trajectory_of(&config, &sink);
        for (unsigned i = 0; i < 2000; i++) {
            fill(&burst, 300, &now_ns, NS_PER_S / 200, jump_ns, true);
            feed(trajectory, &oracle, &burst, true);
        }
        assert_int_equal(pd_trajectory_flush(trajectory), 0);
        oracle_flush(&oracle, false);
        assert_same(&sink.out, &oracle.out);
        assert_same(&sink.new_flows, &oracle.new_flows);
        pd_trajectory_free(trajectory);
        oracle_done(&oracle);
        sink_done(&sink);
    }
}

static void keep(void *context, const struct pd_trajectory_record *record)
{
    append(context, record);
}

static void assert_balance(const struct pd_trajectory *trajectory, const struct sink *sink,
                           uint64_t pkts_in, uint64_t bytes_in)
{
    const struct pd_trajectory_counters *counters = pd_trajectory_counters(trajectory);
    struct records live = {0};
    uint64_t pkts = counters->lost_full_pkts, bytes = counters->lost_full_bytes;
    pd_trajectory_walk(trajectory, keep, &live);
    assert_int_equal(live.len, pd_trajectory_len(trajectory));
    sum(&live, &pkts, &bytes);
    sum(&sink->out, &pkts, &bytes);
    assert_int_equal(pkts, pkts_in);
    assert_int_equal(bytes, bytes_in);
    assert_int_equal(counters->updates + counters->lost_full_pkts, pkts_in);
    assert_int_equal(counters->refused, sink->refused);
    assert_int_equal(counters->evicted_fin + counters->evicted_idle + counters->evicted_active +
                         counters->evicted_flush,
                     sink->out.len);
    assert_int_equal(counters->inserts, sink->out.len + live.len);
    if (live.len > 0) {
        qsort(live.items, live.len, sizeof *live.items, compare);
    }
    for (size_t i = 1; i < live.len; i++) { /* no flow has two live records */
        const struct pd_trajectory_record *a = &live.items[i - 1], *b = &live.items[i];
        assert_memory_not_equal(a, b, offsetof(struct pd_trajectory_record, tcp_flags));
    }
    free(live.items);
}

/* Wild times, refusing sinks, full tables, sweeps and flushes: nothing is lost or doubled. */
static void sums_are_exact(uint32_t max_records, size_t flows, uint64_t refuse_one_in,
                           unsigned bursts)
{
    struct pd_trajectory_config config = PD_TRAJECTORY_DEFAULTS;
    struct sink sink = {.refuse_one_in = refuse_one_in};
    struct burst burst;
    uint64_t now_ns = 0, pkts = 0, bytes = 0;
    config.max_records = max_records;
    struct pd_trajectory *trajectory = trajectory_of(&config, &sink);
    for (unsigned i = 0; i < bursts; i++) {
        fill(&burst, flows, &now_ns, NS_PER_S / 300, one_in(20) ? UINT64_MAX / 4 : 0, true);
        feed(trajectory, NULL, &burst, true);
        for (size_t at = 0; at < burst.len; at++) {
            pkts += burst.weights[at].pkts;
            bytes += burst.weights[at].bytes;
        }
        if (one_in(3)) {
            pd_trajectory_sweep(trajectory, one_in(50) ? random_next(&rnd) : now_ns);
        }
        if (one_in(1000)) {
            size_t left = pd_trajectory_flush(trajectory);
            assert_int_equal(left, pd_trajectory_len(trajectory));
        }
        assert_true(pd_trajectory_len(trajectory) <= max_records);
        if (one_in(200)) {
            assert_balance(trajectory, &sink, pkts, bytes);
        }
    }
    sink.refuse_one_in = 0;
    assert_int_equal(pd_trajectory_flush(trajectory), 0);
    assert_balance(trajectory, &sink, pkts, bytes);
    pd_trajectory_free(trajectory);
    sink_done(&sink);
}

static void sums_hold_in_a_full_table(void **state)
{
    (void)state;
    sums_are_exact(1, 3, 0, 2000);
    sums_are_exact(50, 200, 3, 5000);
    sums_are_exact(9000, 20000, 0, 5000);
}

static void sums_hold_when_the_sink_refuses(void **state)
{
    (void)state;
    sums_are_exact(1 << 20, 100, 2, 5000);
    sums_are_exact(1 << 20, 30000, 10, 5000);
    sums_are_exact(1 << 20, 30000, 1, 2000); /* always */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_flows),
        cmocka_unit_test(many_flows_that_make_the_table_grow),
        cmocka_unit_test(times_in_any_order),
        cmocka_unit_test(sums_hold_in_a_full_table),
        cmocka_unit_test(sums_hold_when_the_sink_refuses),
    };
    return cmocka_run_group_tests_name("trajectory/oracle", tests, seed, NULL);
}
