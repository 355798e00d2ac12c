/* SPDX-License-Identifier: Apache-2.0 */
/* HashPipe: no count is too high, and the largest flows are there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/hash.h"
#include "meter/hashpipe.h"
#include "tests/shared/random.h"

enum { FLOWS = 400, LARGE = 8, SLOTS = PD_METER_PIPE_STAGES * PD_METER_PIPE_SLOTS };

static struct pd_flow_id flow_of(unsigned n)
{
    return (struct pd_flow_id){
        .src_port = (uint16_t)n, .dst_port = 80, .protocol = 6, .ip_version = 4};
}

static void large_flows_stand_and_no_count_is_too_high(void **state)
{
    static struct pd_meter_pipe pipe;
    struct pd_meter_pipe_slot slots[SLOTS];
    uint64_t random = test_seed(), sent[FLOWS] = {0};
    unsigned large = 0;

    (void)state;
    pd_meter_pipe_clear(&pipe, 1);
    for (unsigned i = 0; i < 40000; i++) {
        const uint64_t drawn = pd_splitmix64(&random);
        const unsigned n = drawn & 1 ? (unsigned)(drawn >> 8) % LARGE
                                     : LARGE + (unsigned)(drawn >> 8) % (FLOWS - LARGE);
        const struct pd_flow_id flow = flow_of(n);

        sent[n]++;
        pd_meter_pipe_add(&pipe, 1, &flow, n, 1);
    }
    const unsigned len = pd_meter_pipe_read(&pipe, 1, slots);
    assert_in_range(len, LARGE, SLOTS);
    for (unsigned i = 0; i < len; i++) {
        assert_int_equal(slots[i].flow.src_port, slots[i].filter);
        assert_in_range(slots[i].pkts, 1, sent[slots[i].filter]);
        large += slots[i].filter < LARGE && 2 * slots[i].pkts > sent[slots[i].filter];
    }
    assert_int_equal(large, LARGE);
    assert_int_equal(pd_meter_pipe_read(&pipe, 0, slots), 0);
}

static void a_flow_on_two_paths_is_two(void **state)
{
    static struct pd_meter_pipe pipe;
    struct pd_meter_pipe_slot slots[SLOTS];
    const struct pd_flow_id flow = flow_of(1);

    (void)state;
    for (unsigned i = 0; i < 10; i++) {
        pd_meter_pipe_add(&pipe, 0, &flow, 5 + i % 2, 3);
    }
    assert_int_equal(pd_meter_pipe_read(&pipe, 0, slots), 2);
    assert_int_equal(slots[0].pkts, 15);
    assert_int_equal(slots[1].pkts, 15);
    pd_meter_pipe_clear(&pipe, 0);
    assert_int_equal(pd_meter_pipe_read(&pipe, 0, slots), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_flows_stand_and_no_count_is_too_high),
        cmocka_unit_test(a_flow_on_two_paths_is_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
