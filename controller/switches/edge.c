/* SPDX-License-Identifier: Apache-2.0 */
/* Says of a switch whether its edge is held. */
#include "controller/switches/edge.h"

#include "codec/edge.h"

enum pd_switch_edge pd_switch_edge_of(const struct pd_topology *topology, uint32_t sw,
                                      const struct pd_of_differences *compared)
{
    const struct pd_codec_choice *choice = pd_topology_codec(topology, topology->codec);

    if (!pd_codec_edge_ports(topology, sw)) {
        return topology->switches[sw].prefixes_len ? PD_SWITCH_EDGE_UNKNOWN : PD_SWITCH_EDGE_HELD;
    }
    if (choice && choice->edge == PD_EDGE_OPEN) {
        return PD_SWITCH_EDGE_OPEN;
    }
    if (!compared || !compared->rules) {
        return PD_SWITCH_EDGE_UNKNOWN;
    }
    return compared->edge_open ? PD_SWITCH_EDGE_OPEN : PD_SWITCH_EDGE_HELD;
}
