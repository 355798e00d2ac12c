/* SPDX-License-Identifier: Apache-2.0 */
/* srv6-ioam: the route is a list of segments, the data an IOAM trace; all of it standards. */
#include <string.h>

#include "probe/carrier.h"
#include "telemetry/ioam/ioam.h"
#include "telemetry/sr_int/sr_int.h"

/* IPv6, a hop-by-hop header with a pre-allocated trace that has room for each switch (RFC 9197,
 * 9486), a segment routing header whose list is not reduced (RFC 8754; one End.X, RFC 8986, for
 * each link, last the host), UDP with the head of the probe. The list stands last segment first. */

enum {
    UDP = 17,
    ROUTING = 43,
    PADN = 1,
    SEGMENTS = 4,
    TRACE_AT = 16, /* bytes of the hop-by-hop header before the data */
    SEGMENT_BYTES = 16,
    LIST_AT = 8,
};

static void write_trace(uint32_t switches, uint8_t *header, size_t bytes)
{
    memset(header, 0, bytes);
    header[0] = ROUTING;
    header[1] = (uint8_t)(bytes / 8 - 1);
    header[2] = PADN; /* with no bytes in it: the trace begins at a multiple of four */
    header[4] = PD_IOAM_OPTION;
    header[5] = (uint8_t)(bytes - 6);
    header[7] = PD_IOAM_PREALLOCATED;
    pd_bytes_put(header + 8, 2, PD_IOAM_NAMESPACE);
    pd_bytes_put(header + 10, 2,
                 PD_IOAM_TRACE_BYTES / 4 << 11 | switches * PD_IOAM_TRACE_BYTES / 4);
    pd_bytes_put(header + 12, 3, PD_IOAM_TRACE);
}

/* End.X of the port towards the next switch. */
static int find_segment(const struct pd_probe_carrier_request *request, uint32_t n,
                        uint8_t *segment, struct pd_error *error)
{
    const struct pd_switch *sw = &request->topology->switches[request->switches[n]];
    static const struct pd_addr none;
    uint16_t port = 0;
    int err = pd_probe_carrier_step(request->topology, request->switches[n],
                                    request->switches[n + 1], &port, error);
    if (!err && !memcmp(&sw->sid, &none, sizeof none)) {
        err = pd_fail(error, -PD_E_VALUE, "switch %u has no \"sid\" in the topology", sw->id);
    }
    if (!err) {
        memcpy(segment, &sw->sid, SEGMENT_BYTES);
        pd_bytes_put(segment + SEGMENT_BYTES - 2, 2, port);
    }
    return err;
}

static int write_segments(const struct pd_probe_carrier_request *request, uint8_t *header,
                          size_t bytes, struct pd_error *error)
{
    uint32_t last = request->switches_len - 1;
    memset(header, 0, bytes);
    header[0] = UDP;
    header[1] = (uint8_t)(bytes / 8 - 1);
    header[2] = SEGMENTS;
    header[3] = header[4] = (uint8_t)last;
    memcpy(header + LIST_AT, &request->dst, SEGMENT_BYTES);
    for (uint32_t n = 0; n < last; n++) {
        int err = find_segment(request, n, header + LIST_AT + (last - n) * SEGMENT_BYTES, error);
        if (err) {
            return err;
        }
    }
    return 0;
}

/* The checksum is over the last destination (RFC 8200, section 8.1). */
static void write_probe(const struct pd_probe_carrier_request *request, uint8_t *udp, size_t bytes)
{
    pd_bytes_put(udp, 2, pd_probe_carrier_port(request->head.number));
    pd_bytes_put(udp + 2, 2, PD_TELEMETRY_PORT);
    pd_bytes_put(udp + 4, 2, bytes);
    pd_bytes_put(udp + 6, 2, 0);
    pd_sr_int_write_head(&request->head, request->key, udp + PD_PROBE_CARRIER_UDP_BYTES);
    uint32_t sum = pd_probe_carrier_sum((uint32_t)bytes + UDP, request->src.bytes, SEGMENT_BYTES);
    sum = pd_probe_carrier_sum(sum, request->dst.bytes, SEGMENT_BYTES);
    uint16_t checksum = pd_probe_carrier_fold(pd_probe_carrier_sum(sum, udp, bytes));
    pd_bytes_put(udp + 6, 2, checksum ? checksum : UINT16_MAX);
}

static int encode(const struct pd_probe_carrier_request *request, uint8_t *ret_frame,
                  size_t *ret_bytes, struct pd_error *error)
{
    uint32_t len = request->switches_len;
    const size_t trace = TRACE_AT + (size_t)len * PD_IOAM_TRACE_BYTES,
                 segments = LIST_AT + (size_t)len * SEGMENT_BYTES,
                 probe = PD_PROBE_CARRIER_UDP_BYTES + PD_SR_INT_HEAD_BYTES;
    if (request->ip_version != 6) {
        return pd_fail(error, -PD_E_VALUE, "srv6-ioam needs IPv6 addresses");
    }
    if (len > PD_IOAM_TRACE_SWITCHES) {
        return pd_fail(error, -PD_E_VALUE, "%u switches, a trace has room for %d", len,
                       PD_IOAM_TRACE_SWITCHES);
    }
    uint8_t *at = ret_frame + PD_PROBE_CARRIER_ETHERNET_BYTES + PD_PROBE_CARRIER_IPV6_BYTES;
    int err = write_segments(request, at + trace, segments, error);
    if (err) {
        return err;
    }
    struct pd_addr first;
    memcpy(&first, at + trace + LIST_AT + (len - 1) * SEGMENT_BYTES, sizeof first);
    pd_probe_carrier_headers(request, &first, 0, trace + segments + probe, ret_frame);
    write_trace(len, at, trace);
    write_probe(request, at + trace + segments, probe);
    *ret_bytes = (size_t)(at - ret_frame) + trace + segments + probe;
    return 0;
}

/* A trace of 244 bytes has room for 15 switches. */
const struct pd_probe_carrier pd_probe_carrier_srv6_ioam = {
    .name = "srv6-ioam", .hops_max = 14, .routed = true, .encode = encode};
