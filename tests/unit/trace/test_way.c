/* SPDX-License-Identifier: Apache-2.0 */
/* Hops → path: gaps, early ends, paths that cannot be, what is unreachable; and the token bucket.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "trace/bucket.h"
#include "trace/trace.h"
#include "trace/way.h"

static struct pd_topology *topology; /* fat-tree(4): ToRs 1–8, aggregates 9–16, cores 17–20 */

static int set_up(void **state)
{
    (void)state;
    return pd_topology_fat_tree(4, &topology, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    pd_topology_free(topology);
    return 0;
}

/* From a host of ToR 1 to one of ToR 3. */
static struct pd_flow_id flow_of(void)
{
    struct pd_flow_id flow = {.protocol = 6, .ip_version = 4};
    const struct pd_host *hosts = topology->hosts;

    for (uint32_t i = 0; i < topology->hosts_len; i++) {
        if (topology->switches[hosts[i].tor].id == 1) {
            flow.src = hosts[i].addrs[0];
        }
        if (topology->switches[hosts[i].tor].id == 3) {
            flow.dst = hosts[i].addrs[0];
        }
    }
    return flow;
}

#define SILENT UINT32_MAX
#define DEAD   (1u << 16) /* answers "unreachable" */

static struct pd_trace_way way_of(const uint32_t *ids, unsigned len)
{
    struct pd_trace_hop hops[PD_PATH_MAX] = {0};
    const struct pd_flow_id flow = flow_of();
    struct pd_trace_way way;

    for (unsigned i = 0; i < len; i++) {
        hops[i].answered = ids[i] != SILENT;
        hops[i].switch_id = ids[i] == SILENT ? 0 : ids[i] & ~DEAD;
        hops[i].unreachable = ids[i] != SILENT && ids[i] & DEAD;
    }
    pd_trace_way_find(topology, &flow, hops, len, &way);
    return way;
}

static void expect(const struct pd_trace_way *way, const char *path, bool reached, bool gaps)
{
    char text[200] = "", *at = text;

    for (uint32_t i = 0; i < way->path.len; i++) {
        at += sprintf(at, "%s%u", i ? "," : "", way->path.switches[i]);
    }
    assert_string_equal(text, path);
    assert_int_equal(way->reached, reached);
    assert_int_equal(way->gaps, gaps);
}

#define WAY(...)                            \
    way_of((const uint32_t[]){__VA_ARGS__}, \
           sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void whole_paths_and_their_ends(void **state)
{
    struct pd_trace_way way = WAY(1, 9, 17, 11, 3, SILENT, SILENT);

    (void)state;
    expect(&way, "1,9,17,11,3", true, false);
    way = WAY(1, 9, 17, SILENT, SILENT, SILENT, SILENT);
    expect(&way, "1,9,17", false, false);
    assert_true(way.consistent);
    way = WAY(SILENT, SILENT, SILENT);
    expect(&way, "", false, false);
    assert_true(way.consistent);
}

static void gaps_are_not_guessed(void **state)
{
    struct pd_trace_way way = WAY(1, SILENT, 17, 11, 3);

    (void)state;
    expect(&way, "1,0,17,11,3", true, true);
    way = WAY(SILENT, 9, 17, 11, 3);
    expect(&way, "0,9,17,11,3", true, true);
    way = WAY(1, 9, 0, 0, SILENT); /* somebody whom nobody knows */
    expect(&way, "1,9", false, false);
}

static void what_cannot_be_one_path(void **state)
{
    struct pd_trace_way way = WAY(1, 9, 19, 11, 3); /* 19 is of the other plane */

    (void)state;
    assert_false(way.consistent);
    expect(&way, "", false, false);
    way = WAY(1, 9, 9, 11, 3);
    assert_false(way.consistent);
    way = WAY(2, 9, 17, 11, 3); /* not the source's rack */
    assert_false(way.consistent);
}

static void who_knows_no_way_ends_it(void **state)
{
    struct pd_trace_way way = WAY(1, 9, 17, 17 | DEAD, 17 | DEAD, 17 | DEAD);

    (void)state;
    expect(&way, "1,9,17", false, false);
    assert_true(way.consistent);
    way = WAY(1, 9, 17 | DEAD, 17 | DEAD, 17 | DEAD);
    expect(&way, "1,9,17", false, false);
}

static void ttls_reach_two_hops_farther(void **state)
{
    (void)state;
    assert_int_equal(pd_trace_ttl_max(topology), 7);
}

static void extra_comes_back(void **state)
{
    uint8_t bytes[PD_TRACE_EXTRA_BYTES_MAX];
    struct pd_trace trace = {.dip_port = 80,
                             .traffic_class = 0x28,
                             .flow_label = 0x12345,
                             .time_us = UINT64_C(1) << 52,
                             .epoch_us = 7,
                             .last_us = 9,
                             .hops_len = 2},
                    back = {0};
    size_t len;

    (void)state;
    trace.way.consistent = true;
    trace.hops[0] = (struct pd_trace_hop){.answered = true, .switch_id = 9, .rtt_us = 11};
    trace.hops[1].unreachable = true;
    len = pd_trace_extra_write(&trace, bytes);
    assert_int_equal(len, 6 + 56 + 2 * 26);
    assert_int_equal(pd_trace_extra_read(bytes + 6, len - 6, &back), 0);
    assert_memory_equal(&back, &trace, sizeof back);
    for (size_t cut = 0; cut < len - 6; cut++) {
        assert_int_equal(pd_trace_extra_read(bytes + 6, cut, &back), -PD_E_CORRUPT);
    }
    bytes[6] = 2;
    assert_int_equal(pd_trace_extra_read(bytes + 6, len - 6, &back), -PD_E_CORRUPT);
}

/* No second, however it lies, sees more than the rate; and in the long run nothing is given away.
 */
static void buckets_bound_each_second(void **state)
{
    static const double rates[] = {0.3, 1, 2.7, 50};

    (void)state;
    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
        const uint64_t step_ns = 1000003, end_ns = UINT64_C(20000000000);
        static uint64_t taken[4096];
        struct pd_trace_bucket bucket;
        size_t len = 0, first = 0;

        assert_int_equal(pd_trace_bucket_init(&bucket, rates[r]), 0);
        for (uint64_t now = 1; now < end_ns; now += step_ns) {
            if (pd_trace_bucket_take(&bucket, now)) {
                taken[len++] = now;
            }
            while (first < len && taken[first] + 999999999 < now) {
                first++;
            }
            assert_true((double)(len - first) <= (rates[r] < 1 ? 1 : rates[r]));
        }
        assert_true((double)len >= 19 * (rates[r] < 1 ? rates[r] : (double)(int)rates[r]));
        pd_trace_bucket_done(&bucket);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_paths_and_their_ends),  cmocka_unit_test(gaps_are_not_guessed),
        cmocka_unit_test(what_cannot_be_one_path),     cmocka_unit_test(who_knows_no_way_ends_it),
        cmocka_unit_test(ttls_reach_two_hops_farther), cmocka_unit_test(extra_comes_back),
        cmocka_unit_test(buckets_bound_each_second)};

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
