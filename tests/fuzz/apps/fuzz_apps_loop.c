/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: packets that switches send to the application loop, any frames from any ports, in
 * any order and time.
 *
 * An input is a list of: 1 byte switch, 1 byte port, 1 byte (bits 0-6: milliseconds that pass; bit
 * 7: the frame that was sent on comes back instead of the next), 1 byte length, the frame. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "apps/apps.h"
#include "base/clock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

extern const struct pd_app_ops pd_app_loop;

#define FRAME_MAX 1024

struct network {
    uint8_t frame[FRAME_MAX]; /* that was sent on */
    size_t bytes;
    unsigned taken, sent;
};

static uint64_t now_us(void *context)
{
    (void)context;
    return 1;
}

static int packet_out(void *context, uint32_t switch_id, uint32_t in_port, const uint8_t *data,
                      size_t bytes)
{
    struct network *network = context;

    assert(switch_id && in_port && bytes <= FRAME_MAX);
    network->sent++;
    network->bytes = bytes;
    memcpy(network->frame, data, bytes);
    return 0;
}

static const struct pd_app_world_ops ops = {.now_us = now_us, .packet_out = packet_out};

/* In a copy as long as it is, so that reads beyond its end are seen. */
static void send_here(void *state, struct pd_app_world *world, struct pd_app_packet packet)
{
    struct network *network = world->context;
    uint8_t *copy = malloc(packet.bytes + 1);

    assert(copy);
    if (packet.bytes) {
        memcpy(copy, packet.data, packet.bytes);
    }
    packet.data = copy;
    pd_app_loop.packet_in(state, world, &packet);
    assert(network->sent <= ++network->taken); /* never more than came in */
    free(copy);
}

static void read_report(void *state, struct pd_app_world *world)
{
    struct pd_app_call call = {.world = world, .args = json_object()};
    struct pd_report report;

    pd_app_report_init(&report);
    assert(!pd_app_loop.run(state, &call, &report, NULL));
    json_decref(pd_app_report_json(&report, "loop"));
    pd_app_report_done(&report);
    json_decref((json_t *)(uintptr_t)call.args);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct pd_topology *topology;
    struct network network = {.bytes = 0};
    struct pd_app_world world = {.ops = &ops, .context = &network};
    struct pd_app_call call = {.world = &world};
    struct pd_app_packet packet = {.received_ns = 100 * PD_NS_PER_S};
    void *state;

    if (!topology && pd_topology_fat_tree(4, &topology, NULL)) {
        abort();
    }
    world.topology = topology;
    if (pd_app_loop.open(&call, &state, NULL)) {
        abort();
    }
    while (size >= 4) {
        size_t bytes = data[3] < size - 4 ? data[3] : size - 4;
        bool back = data[2] & 0x80;

        packet.switch_id = data[0];
        packet.in_port = data[1];
        packet.received_ns += (data[2] & 0x7f) * PD_NS_PER_MS;
        packet.data = back ? network.frame : data + 4;
        packet.bytes = back ? network.bytes : bytes;
        send_here(state, &world, packet);
        data += 4 + bytes;
        size -= 4 + bytes;
    }
    read_report(state, &world);
    pd_app_loop.close(state);
    return 0;
}
