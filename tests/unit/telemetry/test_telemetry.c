/* SPDX-License-Identifier: Apache-2.0 */
/* Telemetry read back as it was written, for each format; and what is cut, lies or is malformed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "probe/carrier.h"
#include "telemetry/bytes.h"
#include "telemetry/ioam/ioam.h"
#include "telemetry/sr_int/sr_int.h"
#include "tests/shared/random.h"

/* 1 - 2 - 3 in a line, a host at each end; switch 2 has an IOAM ID of its own. */
static const char line[] =
    "{\"nodes\":["
    "{\"id\":1,\"role\":\"switch\",\"prefixes\":[\"fd00:0:0:1::/64\",\"10.0.1.0/24\"],"
    "\"sid\":\"fd01:0:0:1::/64\"},"
    "{\"id\":2,\"role\":\"switch\",\"ioam_id\":77,\"sid\":\"fd01:0:0:2::/64\"},"
    "{\"id\":3,\"role\":\"switch\",\"prefixes\":[\"fd00:0:0:3::/64\",\"10.0.3.0/24\"],"
    "\"sid\":\"fd01:0:0:3::/64\"},"
    "{\"id\":4,\"role\":\"host\",\"addrs\":[\"fd00:0:0:1::2\",\"10.0.1.2\"]},"
    "{\"id\":5,\"role\":\"host\",\"addrs\":[\"fd00:0:0:3::2\",\"10.0.3.2\"]}],"
    "\"links\":[{\"source\":1,\"target\":2},{\"source\":2,\"target\":3},{\"source\":1,\"target\":4}"
    ","
    "{\"source\":3,\"target\":5}]}";

static struct pd_topology *topology;

static int read_topology(void **state)
{
    (void)state;
    return pd_topology_parse(line, sizeof line - 1, "line", &topology, NULL);
}

static int free_topology(void **state)
{
    (void)state;
    pd_topology_free(topology);
    return 0;
}

/* ---- frames */

struct frame {
    uint8_t bytes[1500];
    size_t len;
};

static void encode(const struct pd_probe_carrier *carrier, uint8_t ip_version, struct frame *frame)
{
    static const uint32_t path[] = {0, 1, 2};
    struct pd_probe_carrier_request request = {
        .topology = topology,
        .switches = path,
        .switches_len = 3,
        .ip_version = ip_version,
        .head = {.plan = 7, .number = 3, .seq = 99, .sent_ns = 1234567890123}};
    uint8_t version;
    memset(request.key, 5, sizeof request.key);
    assert_int_equal(
        pd_addr_parse(ip_version == 4 ? "10.0.1.2" : "fd00:0:0:1::2", &request.src, &version), 0);
    assert_int_equal(
        pd_addr_parse(ip_version == 4 ? "10.0.3.2" : "fd00:0:0:3::2", &request.dst, &version), 0);
    assert_int_equal(carrier->encode(&request, frame->bytes, &frame->len, NULL), 0);
}

static int read_frame(const struct frame *frame, struct pd_packet *packet,
                      struct pd_telemetry *found)
{
    if (pd_packet_parse(frame->bytes, frame->len, frame->len, packet) != PD_PACKET_OK) {
        return -PD_E_TRUNCATED;
    }
    return pd_telemetry_read(frame->bytes, frame->len, packet, PD_TELEMETRY_DSCP, found);
}

static bool prove(const struct pd_packet *packet, const struct pd_telemetry *found)
{
    uint32_t switches[PD_TELEMETRY_HOPS_MAX];
    return pd_telemetry_prove(found, topology, &packet->flow, switches);
}

/* Puts an entry of 22 bytes in front of those that are there, as a switch does. */
static void add_entry(struct frame *frame, size_t payload, uint32_t sw, uint8_t in, uint8_t out)
{
    uint8_t *at = frame->bytes + payload + PD_SR_INT_ENTRIES_AT;
    memmove(at + PD_SR_INT_ENTRY_BYTES, at, frame->len - payload - PD_SR_INT_ENTRIES_AT);
    pd_bytes_put(at, 4, sw);
    at[4] = in;
    at[5] = out;
    pd_bytes_put(at + 6, 6, 0x123456789abcULL + sw);
    pd_bytes_put(at + 12, 4, 1000 + sw);
    pd_bytes_put(at + 16, 4, 2000 + sw);
    frame->len += PD_SR_INT_ENTRY_BYTES;
    pd_bytes_put(frame->bytes + 16, 2, pd_bytes_number(frame->bytes + 16, 2) + 22);
    pd_bytes_put(frame->bytes + 38, 2, pd_bytes_number(frame->bytes + 38, 2) + 22);
}

static void a_probe_is_read_as_switches_wrote_it(void **state)
{
    struct frame frame;
    struct pd_packet packet;
    struct pd_telemetry found;
    const size_t payload = 42;
    (void)state;
    encode(&pd_probe_carrier_sr_int, 4, &frame);
    assert_int_equal(frame.len, payload + PD_SR_INT_ENTRIES_AT);
    assert_int_equal(read_frame(&frame, &packet, &found), 0);
    assert_int_equal(found.hops_len, 0);
    assert_false(prove(&packet, &found));
    for (uint32_t sw = 1; sw <= 3; sw++) {
        add_entry(&frame, payload, sw, (uint8_t)(sw + 10), (uint8_t)(sw + 20));
    }
    assert_int_equal(read_frame(&frame, &packet, &found), 0);
    assert_int_equal(found.kind, PD_TELEMETRY_SR_INT);
    assert_int_equal(found.hops_len, 3);
    for (uint32_t n = 0; n < 3; n++) {
        assert_int_equal(found.hops[n].node, n + 1);
        assert_int_equal(found.hops[n].in_port, n + 11);
        assert_int_equal(found.hops[n].out_port, n + 21);
        assert_int_equal(found.hops[n].ingress_ns, 0x123456789abcULL + n + 1);
        assert_int_equal(found.hops[n].residence_ns, 1001 + n);
        assert_int_equal(found.hops[n].queue_bytes, 2001 + n);
    }
    assert_true(prove(&packet, &found));
    assert_int_equal(found.head.seq, 99);
    add_entry(&frame, payload, 1, 1, 1); /* 3 - 1 is no link */
    assert_int_equal(read_frame(&frame, &packet, &found), 0);
    assert_false(prove(&packet, &found));
}

static void a_head_is_genuine_under_its_key_alone(void **state)
{
    uint8_t key[PD_SIPHASH_KEY_BYTES] = {1, 2, 3}, head[PD_SR_INT_HEAD_BYTES];
    struct pd_telemetry_probe probe = {.plan = 1, .number = 2, .seq = 3, .sent_ns = 4}, again;
    (void)state;
    pd_sr_int_write_head(&probe, key, head);
    assert_true(pd_sr_int_is_genuine(head, key));
    assert_true(pd_sr_int_read_head(head, sizeof head, &again));
    assert_int_equal(again.sent_ns, 4);
    for (size_t n = 0; n < sizeof head * 8; n++) {
        head[n / 8] ^= (uint8_t)(1 << n % 8);
        assert_false(pd_sr_int_is_genuine(head, key));
        head[n / 8] ^= (uint8_t)(1 << n % 8);
    }
    key[15] ^= 1;
    assert_false(pd_sr_int_is_genuine(head, key));
}

/* ---- IOAM */

/* Where the trace's header of 8 bytes stands in a frame of srv6-ioam. */
enum { TRACE = 14 + 40 + 8, ROOM = 3 };

/* Writes the next switch's data, as a router does. */
static void write_hop(struct frame *frame, uint32_t node, uint16_t in, uint16_t out)
{
    uint8_t *trace = frame->bytes + TRACE;
    size_t left = trace[3] & 127;
    uint8_t *at = trace + 8 + (left - 4) * 4;
    pd_bytes_put(at, 4, 64U << 24 | node);
    pd_bytes_put(at + 4, 2, in);
    pd_bytes_put(at + 6, 2, out);
    pd_bytes_put(at + 8, 4, 5000 + node);
    pd_bytes_put(at + 12, 4, node == 3 ? UINT32_MAX : 6000 + node);
    trace[3] = (uint8_t)((trace[3] & 128) | (left - 4));
}

/* At the last switch the destination is the last segment. */
static void arrive(struct frame *frame)
{
    memcpy(frame->bytes + 14 + 24, frame->bytes + 14 + 40 + 16 + ROOM * 16 + 8, 16);
}

static void a_trace_is_read_as_routers_wrote_it(void **state)
{
    static const uint32_t nodes[] = {1, 77, 3};
    struct frame frame;
    struct pd_packet packet;
    struct pd_telemetry found;
    (void)state;
    encode(&pd_probe_carrier_srv6_ioam, 6, &frame);
    arrive(&frame);
    for (uint32_t n = 0; n < ROOM; n++) {
        assert_int_equal(read_frame(&frame, &packet, &found), 0);
        assert_int_equal(found.hops_len, n);
        assert_false(prove(&packet, &found));
        write_hop(&frame, nodes[n], (uint16_t)(n + 1), (uint16_t)(n + 2));
    }
    assert_int_equal(read_frame(&frame, &packet, &found), 0);
    assert_int_equal(found.kind, PD_TELEMETRY_IOAM);
    assert_true(found.probe);
    assert_int_equal(found.head.number, 3);
    for (uint32_t n = 0; n < ROOM; n++) {
        assert_int_equal(found.hops[n].node, nodes[n]);
        assert_int_equal(found.hops[n].in_port, n + 1);
        assert_int_equal(found.hops[n].ingress_ns, 5000 + nodes[n]);
        assert_int_equal(found.hops[n].known & PD_TELEMETRY_RESIDENCE, 0);
    }
    assert_int_equal(found.hops[2].known & PD_TELEMETRY_QUEUE, 0);
    assert_true(prove(&packet, &found));
    frame.bytes[TRACE + 2] |= 8 >> 1; /* overflow */
    assert_int_equal(read_frame(&frame, &packet, &found), 0);
    assert_false(prove(&packet, &found));
}

/* Wide IDs, a time in seconds, opaque data: a header on its own. */
static void an_incremental_trace_with_wide_ids_is_read(void **state)
{
    static const uint8_t header[] = {
        59,   7,  1,      0,                      /* 64 bytes in all, PadN */
        0x31, 58, 0,      1,                      /* incremental */
        0,    1,  5 << 3, 0, 0x20, 0xc0, 0x02, 0, /* bits 2, 8, 9, 22 */
        0,    0,  0,      9, 63,   0,    0,    0, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 0,
        0,    0,  0,      8, 64,   0,    0,    0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0};
    struct pd_telemetry found = {0};
    (void)state;
    assert_int_equal(pd_ioam_read((struct pd_bytes){header, sizeof header}, &found), 0);
    assert_int_equal(found.hops_len, 2);
    assert_int_equal(found.hops[0].node, 1);
    assert_int_equal(found.hops[1].node, 3);
    assert_int_equal(found.hops[1].in_port, 4);
    assert_int_equal(found.hops[1].out_port, 5);
}

/* ---- INT-MD */

static void int_metadata_behind_udp_is_read(void **state)
{
    static const uint8_t behind[] = {
        1 << 4, 9, 0, 0,                              /* shim: 9 words follow */
        2 << 4, 0, 3, 6, 0xb0, 0, 0, 0,  0, 0, 0, 0,  /* node, latency, queue: 3 words */
        0,      0, 0, 3, 0,    0, 0, 30, 1, 0, 0, 33, /* the newest */
        0,      0, 0, 2, 0,    0, 0, 20, 1, 0, 0, 22};
    struct frame frame;
    struct pd_packet packet;
    struct pd_telemetry found;
    (void)state;
    encode(&pd_probe_carrier_sr_int, 4, &frame);
    frame.bytes[15] = PD_TELEMETRY_DSCP << 2;
    frame.bytes[36] = 0; /* another port */
    memcpy(frame.bytes + 42, behind, sizeof behind);
    assert_int_equal(read_frame(&frame, &packet, &found), 0);
    assert_int_equal(found.kind, PD_TELEMETRY_INT_MD);
    assert_int_equal(found.hops_len, 2);
    assert_int_equal(found.hops[0].node, 2);
    assert_int_equal(found.hops[0].residence_ns, 20);
    assert_int_equal(found.hops[1].queue_bytes, 33);
    assert_false(found.hops[1].known & PD_TELEMETRY_IN_PORT);
    frame.bytes[42 + 6] = 2; /* fewer words than the instructions take */
    assert_int_equal(read_frame(&frame, &packet, &found), -PD_E_SYNTAX);
    frame.bytes[15] = 0;
    assert_int_equal(read_frame(&frame, &packet, &found), -PD_E_NOT_FOUND);
}

/* ---- noise */

static void whatever_the_bytes_nothing_is_read_beyond_them(void **state)
{
    struct random random = {test_seed()};
    (void)state;
    for (int round = 0; round < 20000; round++) {
        struct frame frame;
        struct pd_packet packet;
        struct pd_telemetry found;
        encode(round % 2 ? &pd_probe_carrier_sr_int : &pd_probe_carrier_srv6_ioam,
               round % 2 ? 4 : 6, &frame);
        for (uint64_t n = random_below(&random, 8); n > 0; n--) {
            frame.bytes[random_below(&random, frame.len)] = (uint8_t)random_next(&random);
        }
        frame.len = 1 + random_below(&random, frame.len);
        uint8_t *exact = malloc(frame.len); /* so that a sanitizer sees its end */
        memcpy(exact, frame.bytes, frame.len);
        if (pd_packet_parse(exact, frame.len, frame.len, &packet) == PD_PACKET_OK &&
            !pd_telemetry_read(exact, frame.len, &packet, PD_TELEMETRY_DSCP, &found)) {
            prove(&packet, &found);
        }
        free(exact);
    }
}

static void what_cannot_be_carried_is_refused(void **state)
{
    static const uint32_t no_link[] = {0, 2};
    uint8_t bytes[PD_PROBE_CARRIER_FRAME_MAX], version;
    size_t len;
    struct pd_error error;
    struct pd_probe_carrier_request request = {
        .topology = topology, .switches = no_link, .switches_len = 2, .ip_version = 4};
    (void)state;
    assert_int_equal(pd_probe_carrier_sr_int.encode(&request, bytes, &len, &error), -PD_E_VALUE);
    assert_non_null(strstr(error.text, "1-3"));
    assert_int_equal(pd_probe_carrier_srv6_ioam.encode(&request, bytes, &len, &error), -PD_E_VALUE);
    request.switches_len = 1;
    assert_int_equal(pd_addr_parse("10.0.9.9", &request.dst, &version), 0);
    assert_int_equal(pd_probe_carrier_sr_int.encode(&request, bytes, &len, &error), -PD_E_VALUE);
    assert_non_null(strstr(error.text, "no host"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_probe_is_read_as_switches_wrote_it),
        cmocka_unit_test(a_head_is_genuine_under_its_key_alone),
        cmocka_unit_test(a_trace_is_read_as_routers_wrote_it),
        cmocka_unit_test(an_incremental_trace_with_wide_ids_is_read),
        cmocka_unit_test(int_metadata_behind_udp_is_read),
        cmocka_unit_test(whatever_the_bytes_nothing_is_read_beyond_them),
        cmocka_unit_test(what_cannot_be_carried_is_refused),
    };
    return cmocka_run_group_tests(tests, read_topology, free_topology);
}
