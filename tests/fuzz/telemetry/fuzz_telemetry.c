/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a frame: telemetry is read and proven against a fat-tree. */
#include <stdlib.h>

#include "telemetry/telemetry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct pd_topology *topology;
    struct pd_packet packet;
    struct pd_telemetry found;
    uint32_t switches[PD_TELEMETRY_HOPS_MAX];
    if (!topology && pd_topology_fat_tree(4, &topology, NULL)) {
        abort();
    }
    if (pd_packet_parse(data, size, size, &packet) != PD_PACKET_OK ||
        pd_telemetry_read(data, size, &packet, PD_TELEMETRY_DSCP, &found)) {
        return 0;
    }
    if (found.hops_len > PD_TELEMETRY_HOPS_MAX || found.kind == PD_TELEMETRY_NONE) {
        abort();
    }
    pd_telemetry_prove(&found, topology, &packet.flow, switches);
    return 0;
}
