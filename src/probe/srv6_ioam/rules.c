/* SPDX-License-Identifier: Apache-2.0 */
/* srv6-ioam on a Linux router: the commands of ip and sysctl. */
#include <inttypes.h>
#include <string.h>

#include "probe/rules.h"
#include "telemetry/ioam/ioam.h"

/* Next hops are link-local addresses of the neighbour, made of its ID and port, so that nothing has
 * to be asked for: each router gives itself its own. */

static void print_neighbour(const struct pd_topology *topology, const struct pd_switch *sw,
                            const struct pd_neighbour *to, uint32_t here, FILE *out)
{
    const struct pd_neighbour *back = pd_topology_link(topology, to->node, here);
    struct pd_addr segment = sw->sid;
    char text[PD_ADDR_TEXT_BYTES];
    segment.bytes[14] = (uint8_t)(to->port >> 8);
    segment.bytes[15] = (uint8_t)to->port;
    fprintf(out, "ip -6 addr add fe80::%x:%x:%x/64 dev eth%u nodad\n", sw->id >> 16,
            sw->id & 0xffff, to->port, to->port);
    fprintf(out,
            "ip -6 route add %s/128 encap seg6local action End.X nh6 fe80::%x:%x:%x dev eth%u\n",
            pd_addr_format(&segment, 6, text), topology->switches[to->node].id >> 16,
            topology->switches[to->node].id & 0xffff, back->port, to->port);
}

int pd_probe_rules_srv6_ioam(const struct pd_topology *topology, uint32_t sw, FILE *out,
                             struct pd_error *error)
{
    const struct pd_switch *here = &topology->switches[sw];
    static const struct pd_addr none;
    if (!memcmp(&here->sid, &none, sizeof none)) {
        return pd_fail(error, -PD_E_VALUE, "switch %u has no \"sid\" in the topology", here->id);
    }
    fprintf(out, "sysctl -w net.ipv6.conf.all.forwarding=1\n"
                 "sysctl -w net.ipv6.conf.all.seg6_enabled=1\n");
    fprintf(out, "sysctl -w net.ipv6.ioam6_id=%u\nip ioam namespace add %d\n", here->ioam_id,
            PD_IOAM_NAMESPACE);
    for (uint32_t i = 0; i < here->neighbours_len; i++) {
        const struct pd_neighbour *to = &here->neighbours[i];
        fprintf(out,
                "sysctl -w net.ipv6.conf.eth%u.seg6_enabled=1\n"
                "sysctl -w net.ipv6.conf.eth%u.ioam6_enabled=1\n"
                "sysctl -w net.ipv6.conf.eth%u.ioam6_id=%u\n",
                to->port, to->port, to->port, to->port);
        if (!to->is_host) {
            print_neighbour(topology, here, to, sw, out);
        }
    }
    return 0;
}
