/* SPDX-License-Identifier: Apache-2.0 */
/* The tracer under storms: flows that suffer by the thousand, to servers that it knows and does
 * not. Each retransmission is counted once, and no probe leaves for an address of no rack. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "trace/flows.h"
#include "trace/tracer.h"

enum { STORM = 20000, RATE = 50, WAITS = 500 };

static struct pd_topology *topology;
static unsigned kept; /* traces that were given away */

/* A network namespace of its own, without a route: probes are made, and go nowhere. */
static int set_up(void **state)
{
    (void)state;
    if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET)) {
        topology = NULL;
        return 0;
    }
    return pd_topology_fat_tree(4, &topology, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    pd_topology_free(topology);
    return 0;
}

static void keep(void *context, const struct pd_trace *trace)
{
    (void)context;
    assert_true(trace->retransmissions > 0);
    kept++;
}

static struct pd_tracer *start(void)
{
    const struct pd_tracer_config config = {.topology = topology,
                                            .resolver = "none",
                                            .rate = RATE,
                                            .t_max = 100,
                                            .epoch_s = 3600,
                                            .keep = keep};
    struct pd_tracer *tracer = NULL;
    struct pd_error error;

    if (!topology || pd_tracer_new(&config, &tracer, &error)) {
        skip(); /* no namespaces, or no raw sockets in them */
    }
    assert_int_equal(pd_tracer_start(tracer), 0);
    return tracer;
}

static struct pd_flow_id flow_of(unsigned n, bool inside)
{
    const struct pd_host *hosts = topology->hosts;
    struct pd_flow_id flow = {.src = hosts[0].addrs[0],
                              .dst = hosts[topology->hosts_len - 1].addrs[0],
                              .src_port = (uint16_t)(1024 + n),
                              .dst_port = (uint16_t)(80 + n / 60000),
                              .protocol = 6,
                              .ip_version = hosts[0].ip_versions[0]};

    if (!inside) {
        flow.dst.bytes[0] = 192; /* 192.2.… is in no rack */
    }
    return flow;
}

static void lose(struct pd_tracer *tracer, unsigned n, bool inside)
{
    const struct pd_flow_id flow = flow_of(n, inside);

    pd_tracer_hear(tracer,
                   &(struct pd_monitor_loss){.flow = &flow, .retransmissions = 1, .total = 1});
}

static uint64_t counted(void)
{
    return pd_tracer_counters.traces + pd_tracer_counters.limited + pd_tracer_counters.unresolved +
           pd_tracer_counters.cached;
}

static void wait_for(uint64_t wanted)
{
    for (unsigned i = 0; i < WAITS && counted() < wanted; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    assert_int_equal(counted(), wanted);
}

static void each_loss_is_counted_once(void **state)
{
    struct pd_tracer *tracer = start();
    uint64_t before = counted(), traces = pd_tracer_counters.traces;

    (void)state;
    for (unsigned n = 0; n < STORM; n++) {
        lose(tracer, n, true);
    }
    wait_for(before + STORM);
    assert_in_range(pd_tracer_counters.traces - traces, 1, STORM / 10);
    kept = 0;
    pd_tracer_stop(tracer);
    assert_int_equal(kept, pd_tracer_counters.traces - traces);
    pd_tracer_free(tracer);
}

/* More of them than there is room for flows, over some time; then one that can be traced. */
static void the_internet_takes_no_room(void **state)
{
    struct pd_tracer *tracer = start();
    uint64_t sent = pd_tracer_counters.sent + pd_tracer_counters.unsent;
    uint64_t before = counted(), traces = pd_tracer_counters.traces;
    const unsigned most = 2 * PD_TRACE_FLOWS_MAX;

    (void)state;
    for (unsigned n = 0; n < most; n++) {
        lose(tracer, n, false);
        if (n % 256 == 255) {
            wait_for(before + n + 1);
        }
    }
    assert_int_equal(pd_tracer_counters.sent + pd_tracer_counters.unsent, sent);
    assert_int_equal(pd_tracer_counters.traces, traces);
    lose(tracer, 0, true);
    wait_for(before + most + 1);
    assert_int_equal(pd_tracer_counters.traces, traces + 1);
    pd_tracer_stop(tracer);
    pd_tracer_free(tracer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_loss_is_counted_once),
                                       cmocka_unit_test(the_internet_takes_no_room)};

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
