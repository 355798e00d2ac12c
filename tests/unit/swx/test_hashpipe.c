/* SPDX-License-Identifier: Apache-2.0 */
/* HashPipe of the program `meters` against HashPipe in C: slots, epochs and flows that are told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "memory_switch.h"
#include "meter/hashpipe.h"
#include "meter/meter.h"
#include "random.h"

enum { FLOWS = 10000, EPOCHS = 4, BURSTS = 600, BURST = 32, FRAME_BYTES = 80 };
enum { RACK = 1, FROM_SWITCH = 1, ETHERNET = 14, THRESHOLD = 4 };
enum { SLOTS = PD_METER_PIPE_SLOTS, STAGES = PD_METER_PIPE_STAGES };

static const uint64_t EPOCH_NS = UINT64_C(100000000);

struct world {
    struct pd_swx_switch sw;
    struct pd_meter_pipe pipe;
    struct random random;
    uint64_t told;
};

/* From another pod to the first host, of both families and protocols. */
static struct pd_flow_id make_flow(unsigned n)
{
    struct pd_flow_id flow = {.src_port = (uint16_t)(n + 1),
                              .dst_port = 80,
                              .protocol = n & 2 ? 6 : 17,
                              .ip_version = n & 1 ? 6 : 4};
    uint8_t version;
    assert_int_equal(pd_addr_parse(n & 1 ? "fd00:0:2:1::2" : "10.2.1.2", &flow.src, &version), 0);
    assert_int_equal(pd_addr_parse(n & 1 ? "fd00:0:1:1::2" : "10.1.1.2", &flow.dst, &version), 0);
    return flow;
}

static void put_ports(uint8_t *at, const struct pd_flow_id *flow)
{
    at[0] = (uint8_t)(flow->src_port >> 8);
    at[1] = (uint8_t)flow->src_port;
    at[3] = (uint8_t)flow->dst_port;
    if (flow->protocol == 6) {
        at[12] = 0x50;
    }
}

static void make_frame(uint8_t *frame, const struct pd_flow_id *flow)
{
    uint8_t *ip = frame + ETHERNET;
    memset(frame, 0, FRAME_BYTES);
    frame[0] = frame[6] = 2;
    if (flow->ip_version == 4) {
        frame[12] = 8;
        ip[0] = 0x45;
        ip[3] = FRAME_BYTES - ETHERNET;
        ip[8] = 60;
        ip[9] = flow->protocol;
        memcpy(ip + 12, &flow->src, 4);
        memcpy(ip + 16, &flow->dst, 4);
        put_ports(ip + 20, flow);
    } else {
        frame[12] = 0x86;
        frame[13] = 0xdd;
        ip[0] = 0x60;
        ip[5] = FRAME_BYTES - ETHERNET - 40;
        ip[6] = flow->protocol;
        ip[7] = 60;
        memcpy(ip + 8, &flow->src, 16);
        memcpy(ip + 24, &flow->dst, 16);
        put_ports(ip + 40, flow);
    }
}

/* Few flows are large. */
static unsigned draw(struct random *random)
{
    uint64_t limit = FLOWS;
    for (unsigned i = 0; i < 5; i++) {
        limit = 1 + random_below(random, limit);
    }
    return (unsigned)limit - 1;
}

static void in_c(struct world *world, unsigned instance, const struct pd_flow_id *flow)
{
    pd_meter_pipe_add(&world->pipe, instance, flow, 0, 1);
    uint32_t place = pd_meter_place(flow, 0, SLOTS);
    world->told += world->pipe.slots[instance][0][place].pkts == THRESHOLD + 1;
}

static void run_burst(struct world *world, uint64_t now_ns)
{
    for (unsigned i = 0; i < BURST; i++) {
        const struct pd_flow_id flow = make_flow(draw(&world->random));
        struct pd_swx_frame *frame = pd_swx_frame_new();
        assert_non_null(frame);
        make_frame(pd_swx_frame_data(frame), &flow);
        frame->bytes = FRAME_BYTES;
        frame->time_ns = now_ns;
        pd_swx_switch_arrives(&world->sw, frame, FROM_SWITCH);
        in_c(world, now_ns / EPOCH_NS & 1, &flow);
    }
    pd_swx_switch_run(&world->sw, now_ns);
}

static uint64_t number(struct world *world, const char *array, uint32_t at)
{
    char name[64];
    assert_true(pd_swx_pipeline_array(world->sw.pipeline, array, name) > at);
    return pd_swx_pipeline_read(world->sw.pipeline, name, at);
}

static uint64_t low_word(const struct pd_addr *addr, uint8_t ip_version)
{
    const uint8_t *bytes = addr->bytes + (ip_version == 4 ? 0 : 8);
    uint64_t word = 0;
    for (unsigned i = 0; i < (ip_version == 4 ? 4 : 8); i++) {
        word = word << 8 | bytes[i];
    }
    return ip_version == 4 ? word | UINT64_C(0xffff00000000) : word;
}

static void check_slot(struct world *world, uint32_t at, const struct pd_meter_pipe_slot *slot,
                       uint64_t epoch)
{
    bool in_use = number(world, "pipe_epoch", at) == epoch + 1;
    assert_int_equal(in_use, slot->pkts > 0);
    if (in_use) {
        const struct pd_flow_id *flow = &slot->flow;
        assert_int_equal(number(world, "pipe_count", at), slot->pkts);
        assert_int_equal(number(world, "pipe_flow", at), (uint64_t)flow->src_port << 24 |
                                                             (uint64_t)flow->dst_port << 8 |
                                                             flow->protocol);
        assert_int_equal(number(world, "pipe_src_lo", at), low_word(&flow->src, flow->ip_version));
        assert_int_equal(number(world, "pipe_dst_lo", at), low_word(&flow->dst, flow->ip_version));
        assert_int_equal(number(world, "pipe_filter", at), slot->filter);
    }
}

static void check_epoch(struct world *world, uint64_t epoch)
{
    for (uint32_t i = 0; i < STAGES * SLOTS; i++) {
        check_slot(world, (uint32_t)(epoch & 1) << 7 | i,
                   &world->pipe.slots[epoch & 1][i / SLOTS][i % SLOTS], epoch);
    }
}

/* Flows of the only segment there is without path filters are wanted. */
static void want_flows(struct pd_swx_switch *sw)
{
    char spec[4096], row[64];
    struct pd_error error = {.code = 0};
    struct pd_p4_shape shape;
    memory_must(pd_p4_program_file("meters", "pna", spec, sizeof spec, &error), &error);
    memory_must(pd_p4_shape_read(spec, &shape, &error), &error);
    const struct pd_p4_table *table = pd_p4_shape_table(&shape, "heavy");
    snprintf(row, sizeof row, "match 0x0 action %s threshold %d",
             pd_p4_shape_action(&shape, table, "wanted")->name, THRESHOLD);
    memory_must(pd_swx_pipeline_add(sw->pipeline,
                                    pd_swx_pipeline_find_table(sw->pipeline, table->name), row),
                &error);
    memory_must(pd_swx_pipeline_commit(sw->pipeline), &error);
    pd_p4_shape_done(&shape);
}

static void slots_and_reports_are_those_of_c(void **state)
{
    static struct world world;
    struct pd_error error = {.code = 0};
    uint64_t begin_ns = UINT64_C(17000000000) * EPOCH_NS;
    (void)state;
    world.random.state = test_seed();
    memory_must(pd_swx_frames_open(1, &error), &error);
    memory_switch_open("meters", RACK, NULL, &world.sw);
    want_flows(&world.sw);
    for (unsigned epoch = 0; epoch < EPOCHS; epoch++) {
        uint64_t now_ns = begin_ns + epoch * EPOCH_NS;
        pd_meter_pipe_clear(&world.pipe, epoch & 1);
        for (unsigned burst = 0; burst < BURSTS; burst++) {
            run_burst(&world, now_ns + burst * (EPOCH_NS / BURSTS));
        }
        check_epoch(&world, now_ns / EPOCH_NS);
    }
    assert_int_equal(world.sw.forwarded, EPOCHS * BURSTS * BURST);
    assert_true(world.told > 0);
    assert_int_equal(world.sw.mirrored, world.told);
    pd_swx_switch_close(&world.sw);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(slots_and_reports_are_those_of_c)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
