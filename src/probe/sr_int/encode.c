/* SPDX-License-Identifier: Apache-2.0 */
/* sr-int: the route is a stack of port numbers; each switch takes its own and adds an entry. */
#include <string.h>

#include "probe/carrier.h"
#include "telemetry/sr_int/sr_int.h"

enum { UDP = 17, LABEL_MAX = UINT8_MAX };

static bool has_addr(const struct pd_host *host, const struct pd_probe_carrier_request *request)
{
    for (uint32_t i = 0; i < host->addrs_len; i++) {
        if (host->ip_versions[i] == request->ip_version &&
            !memcmp(&host->addrs[i], &request->dst, request->ip_version == 4 ? 4 : 16)) {
            return true;
        }
    }
    return false;
}

/* The last switch sends to the port of the host that collects. */
static int find_host_port(const struct pd_probe_carrier_request *request, uint16_t *ret_port,
                          struct pd_error *error)
{
    const struct pd_switch *sw =
        &request->topology->switches[request->switches[request->switches_len - 1]];
    for (uint32_t i = sw->switch_neighbours; i < sw->neighbours_len; i++) {
        const struct pd_neighbour *neighbour = &sw->neighbours[i];
        if (neighbour->is_host && has_addr(&request->topology->hosts[neighbour->node], request)) {
            *ret_port = neighbour->port;
            return 0;
        }
    }
    return pd_fail(error, -PD_E_VALUE, "switch %u has no host with the destination's address",
                   sw->id);
}

static int write_labels(const struct pd_probe_carrier_request *request, uint8_t *labels,
                        struct pd_error *error)
{
    uint32_t last = request->switches_len - 1;
    for (uint32_t n = 0; n <= last; n++) {
        uint16_t port = 0;
        int err = n < last ? pd_probe_carrier_step(request->topology, request->switches[n],
                                                   request->switches[n + 1], &port, error)
                           : find_host_port(request, &port, error);
        if (err) {
            return err;
        }
        if (port > LABEL_MAX) {
            return pd_fail(error, -PD_E_VALUE, "port %u of switch %u does not fit into a label",
                           port, request->topology->switches[request->switches[n]].id);
        }
        labels[n] = (uint8_t)port;
    }
    return 0;
}

static int encode(const struct pd_probe_carrier_request *request, uint8_t *ret_frame,
                  size_t *ret_bytes, struct pd_error *error)
{
    uint8_t labels[PD_SR_INT_LABELS] = {0};
    const size_t bytes = PD_PROBE_CARRIER_UDP_BYTES + PD_SR_INT_ENTRIES_AT;
    if (request->switches_len > PD_SR_INT_LABELS) {
        return pd_fail(error, -PD_E_VALUE, "%u switches, a probe has %d labels",
                       request->switches_len, PD_SR_INT_LABELS);
    }
    int err = write_labels(request, labels, error);
    if (err) {
        return err;
    }
    uint8_t *udp =
        ret_frame + pd_probe_carrier_headers(request, &request->dst, UDP, bytes, ret_frame);
    pd_bytes_put(udp, 2, pd_probe_carrier_port(request->head.number));
    pd_bytes_put(udp + 2, 2, PD_TELEMETRY_PORT);
    pd_bytes_put(udp + 4, 2, bytes);
    pd_bytes_put(udp + 6, 2, 0); /* no checksum: each switch adds bytes */
    pd_sr_int_write_head(&request->head, request->key, udp + PD_PROBE_CARRIER_UDP_BYTES);
    memcpy(udp + PD_PROBE_CARRIER_UDP_BYTES + PD_SR_INT_HEAD_BYTES, labels, sizeof labels);
    *ret_bytes = (size_t)(udp - ret_frame) + bytes;
    return 0;
}

/* A frame of 1500 bytes takes no more entries. */
const struct pd_probe_carrier pd_probe_carrier_sr_int = {
    .name = "sr-int", .hops_max = PD_TELEMETRY_HOPS_MAX - 4, .encode = encode};
