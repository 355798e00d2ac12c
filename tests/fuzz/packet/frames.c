/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: frames of any bytes through parse, strip and the trajectory memory.
 *
 * An input is a list of: 1 byte of options (bit 0 clear the DSCP, bit 1 it is part of the key, bits
 * 2-7 bytes of 32 that were on the wire beyond those captured), 1 byte of time (seconds since the
 * frame before, from 128 on back), 2 bytes length, the frame. The last frame may be shorter than it
 * says. Seeds: test_packet_parse
 * --write-corpus FOLDER. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "packet/filter.h"
#include "trajectory/trajectory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct totals {
    uint64_t pkts, bytes;
};

static bool add(void *context, const struct pd_trajectory_record *record)
{
    struct totals *totals = context;
    assert(record->pkts > 0 && record->first_ns <= record->last_ns);
    assert(pd_tags_len(record->mark) <= PD_PACKET_TAGS_MAX);
    totals->pkts += record->pkts;
    totals->bytes += record->bytes;
    return true;
}

static void check_packet(const struct pd_packet *packet, size_t captured, size_t wire)
{
    size_t header_bytes = packet->flow.ip_version == 4 ? 20 : 40;
    assert(packet->flow.ip_version == 4 || packet->flow.ip_version == 6);
    assert(packet->tags_len <= PD_PACKET_TAGS_MAX);
    assert(packet->ip_offset == 14 + 4 * packet->tags_len);
    assert(packet->ip_offset + header_bytes <= captured);
    assert(packet->ip_bytes >= header_bytes && packet->ip_bytes <= wire - packet->ip_offset);
    assert(packet->flow.zero[0] == 0 && packet->flow.zero[1] == 0);
    assert(pd_tags_len(packet->mark) == packet->tags_len);
    assert(packet->mark >> PD_TAGS_VID_AT(packet->tags_len) == 0);
}

/* Whatever stands there, a filter is no more than 32 bits and two that say what it is. */
static void check_filters(const uint8_t *frame, size_t captured, const struct pd_packet *packet)
{
    assert(!(pd_packet_filter_read_vxlan(frame, captured, packet) & ~PD_FILTER_BITS));
    assert(!(pd_packet_filter_read_vlan(frame, captured, packet) & ~PD_FILTER_BITS));
    assert(!(pd_packet_filter_read_vlan2(frame, captured, packet) & ~PD_FILTER_BITS));
}

/* What is left after strip is the same packet without tags. */
static void check_strip(uint8_t *frame, size_t captured, size_t wire, bool clear_dscp,
                        const struct pd_packet *packet)
{
    struct pd_packet again;
    size_t removed = pd_packet_strip(frame, packet, clear_dscp);
    assert(removed == 4U * packet->tags_len);
    assert(pd_packet_parse(frame + removed, captured - removed, wire - removed, &again) ==
           PD_PACKET_OK);
    assert(memcmp(&again.flow, &packet->flow, sizeof again.flow) == 0);
    assert(again.tags_len == 0 && again.ip_bytes == packet->ip_bytes);
    assert(again.tcp_flags == packet->tcp_flags);
    assert(again.later_fragment == packet->later_fragment);
    assert(pd_tags_dscp(again.mark) == (clear_dscp ? 0 : pd_tags_dscp(packet->mark)));
}

/* Returns the bytes of the input that are used up. */
static size_t run_frame(const uint8_t *data, size_t size, struct pd_trajectory *trajectory,
                        uint64_t *now_ns, struct totals *in)
{
    size_t captured = (size_t)data[2] << 8 | data[3];
    captured = captured < size - 4 ? captured : size - 4;
    size_t wire = captured + (size_t)(data[0] >> 2) * 32;
    uint8_t *frame = malloc(captured ? captured : 1); /* no byte more: reading beyond is seen */
    struct pd_packet packet;
    assert(frame);
    memcpy(frame, data + 4, captured);
    *now_ns += (uint64_t)(int64_t)(int8_t)data[1] * UINT64_C(1000000000);
    if (pd_packet_parse(frame, captured, wire, &packet) == PD_PACKET_OK) {
        check_packet(&packet, captured, wire);
        check_filters(frame, captured, &packet);
        pd_trajectory_update(trajectory, &packet, NULL, now_ns, 1, pd_tags_bits(data[0] & 2));
        in->pkts++;
        in->bytes += packet.ip_bytes;
        check_strip(frame, captured, wire, data[0] & 1, &packet);
    }
    pd_trajectory_sweep(trajectory, *now_ns);
    free(frame);
    return 4 + captured;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct totals in = {0}, out = {0};
    struct pd_trajectory_config config = PD_TRAJECTORY_DEFAULTS;
    struct pd_trajectory_sink sink = {&out, add, NULL};
    struct pd_trajectory *trajectory;
    uint64_t now_ns = UINT64_C(1000000000000);
    config.max_records = 8;
    config.hash_seed = 1;
    if (pd_trajectory_new(&config, &sink, &trajectory)) {
        abort();
    }
    while (size > 4) {
        size_t used = run_frame(data, size, trajectory, &now_ns, &in);
        data += used;
        size -= used;
    }
    assert(pd_trajectory_flush(trajectory) == 0);
    const struct pd_trajectory_counters *counters = pd_trajectory_counters(trajectory);
    assert(in.pkts == out.pkts + counters->lost_full_pkts);
    assert(in.bytes == out.bytes + counters->lost_full_bytes);
    pd_trajectory_free(trajectory);
    return 0;
}
