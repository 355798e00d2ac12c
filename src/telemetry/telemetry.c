/* SPDX-License-Identifier: Apache-2.0 */
/* Which format a frame carries, and whether what it says is a path of the topology. */
#include <string.h>

#include "packet/tags.h"
#include "telemetry/int_md/int_md.h"
#include "telemetry/ioam/ioam.h"
#include "telemetry/sr_int/sr_int.h"
#include "telemetry/telemetry.h"

enum { TCP = 6, UDP = 17, UDP_BYTES = 8, TCP_BYTES = 20 };

const char *pd_telemetry_kind_name(enum pd_telemetry_kind kind)
{
    static const char *const names[] = {[PD_TELEMETRY_NONE] = "none",
                                        [PD_TELEMETRY_SR_INT] = "sr-int",
                                        [PD_TELEMETRY_IOAM] = "ioam",
                                        [PD_TELEMETRY_INT_MD] = "int-md",
                                        [PD_TELEMETRY_INT_XD] = "int-xd"};
    return names[kind];
}

/* What is there of the IP packet from `offset` on. */
static struct pd_bytes rest_of(const uint8_t *frame, size_t captured,
                               const struct pd_packet *packet, size_t offset)
{
    size_t end = (size_t)packet->ip_offset + packet->ip_bytes;
    end = end < captured ? end : captured;
    return offset < end ? (struct pd_bytes){.at = frame + offset, .left = end - offset}
                        : (struct pd_bytes){0};
}

/* What lies behind the transport header; nothing when that is cut. */
static struct pd_bytes behind_transport(const uint8_t *frame, size_t captured,
                                        const struct pd_packet *packet)
{
    struct pd_bytes rest = rest_of(frame, captured, packet, packet->transport_offset);
    if (packet->later_fragment) {
        return (struct pd_bytes){0};
    }
    if (packet->flow.protocol == UDP && pd_bytes_take(&rest, UDP_BYTES)) {
        return rest;
    }
    if (packet->flow.protocol == TCP && rest.left >= TCP_BYTES &&
        pd_bytes_take(&rest, (size_t)(rest.at[12] >> 4) * 4)) {
        return rest;
    }
    return (struct pd_bytes){0};
}

static bool is_probe(const struct pd_packet *packet)
{
    return packet->flow.protocol == UDP && packet->flow.dst_port == PD_TELEMETRY_PORT;
}

static int read_formats(const uint8_t *frame, size_t captured, const struct pd_packet *packet,
                        uint8_t int_dscp, struct pd_telemetry *telemetry)
{
    struct pd_bytes payload = behind_transport(frame, captured, packet);
    if (packet->options_offset) {
        int err = pd_ioam_read(rest_of(frame, captured, packet, packet->options_offset), telemetry);
        if (err != -PD_E_NOT_FOUND) {
            telemetry->probe =
                is_probe(packet) && pd_sr_int_read_head(payload.at, payload.left, &telemetry->head);
            return err;
        }
    }
    if (is_probe(packet) && pd_sr_int_read_head(payload.at, payload.left, &telemetry->head)) {
        return pd_sr_int_read(payload, telemetry);
    }
    return pd_tags_dscp(packet->mark) == int_dscp && payload.left
               ? pd_int_md_read(payload, telemetry)
               : -PD_E_NOT_FOUND;
}

int pd_telemetry_read(const uint8_t *frame, size_t captured, const struct pd_packet *packet,
                      uint8_t int_dscp, struct pd_telemetry *ret_telemetry)
{
    ret_telemetry->kind = PD_TELEMETRY_NONE;
    ret_telemetry->cut = ret_telemetry->probe = false;
    ret_telemetry->hops_len = 0;
    return read_formats(frame, captured, packet, int_dscp, ret_telemetry);
}

/* ---- the topology */

/* Only IOAM has IDs of its own. */
static uint32_t find_switch(const struct pd_topology *topology, enum pd_telemetry_kind kind,
                            uint32_t id)
{
    return kind == PD_TELEMETRY_IOAM ? pd_topology_ioam(topology, id)
                                     : pd_topology_switch(topology, id);
}

static bool is_at(const struct pd_topology *topology, uint32_t sw, const struct pd_addr *addr,
                  uint8_t ip_version)
{
    uint32_t tors[PD_HOMES_MAX], len = pd_topology_tors_of(topology, addr, ip_version, tors);
    for (uint32_t i = 0; i < len; i++) {
        if (tors[i] == sw) {
            return true;
        }
    }
    return false;
}

bool pd_telemetry_prove(const struct pd_telemetry *telemetry, const struct pd_topology *topology,
                        const struct pd_flow_id *flow, uint32_t ret_switches[PD_TELEMETRY_HOPS_MAX])
{
    bool whole = telemetry->hops_len && !telemetry->cut;
    for (uint32_t n = 0; n < telemetry->hops_len; n++) {
        const struct pd_telemetry_hop *hop = &telemetry->hops[n];
        ret_switches[n] = hop->known & PD_TELEMETRY_NODE
                              ? find_switch(topology, telemetry->kind, hop->node)
                              : PD_NONE;
        whole = whole && ret_switches[n] != PD_NONE &&
                (!n || pd_topology_link(topology, ret_switches[n - 1], ret_switches[n]));
    }
    return whole && is_at(topology, ret_switches[0], &flow->src, flow->ip_version) &&
           is_at(topology, ret_switches[telemetry->hops_len - 1], &flow->dst, flow->ip_version);
}
