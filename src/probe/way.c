/* SPDX-License-Identifier: Apache-2.0 */
/* Ways from host to host over the switches of a path. */
#include <errno.h>
#include <stdlib.h>

#include "probe/order.h"
#include "probe/watch_private.h"
#include "telemetry/telemetry.h"
#include "topology/links.h"

enum { UDP = 17 };

void pd_probe_way_done(struct pd_probe_way *way)
{
    free(way->nodes);
    free(way->links);
    *way = (struct pd_probe_way){0};
}

/* One of the hosts of a switch, another one each time, rather one whose link is known to be well;
 * PD_NONE: it has none. */
uint32_t pd_probe_way_host(struct pd_probe_watch *watch, uint32_t sw, const bool *well)
{
    const struct pd_topology *topology = watch->topology;
    uint32_t start = topology->hosts_len ? watch->hosts_given++ % topology->hosts_len : 0;
    uint32_t found = PD_NONE;

    for (uint32_t i = 0; i < topology->hosts_len; i++) {
        uint32_t host = (start + i) % topology->hosts_len;

        if (!watch->able[host] || !pd_host_hangs_at(&topology->hosts[host], sw)) {
            continue;
        }
        if (well[host]) {
            return host;
        }
        found = found == PD_NONE ? host : found;
    }
    return found;
}

static struct pd_flow_id flow_between(const struct pd_host *src, const struct pd_host *dst)
{
    struct pd_flow_id flow = {
        .src_port = PD_TELEMETRY_PORT, .dst_port = PD_TELEMETRY_PORT, .protocol = UDP};

    pd_probe_order_addrs(src, dst, &flow.src, &flow.dst, &flow.ip_version);
    return flow;
}

/* From a host at the first switch to one at the last. */
int pd_probe_way_make(struct pd_probe_watch *watch, uint32_t src, uint32_t dst,
                      const uint32_t *switches, uint32_t hops, struct pd_probe_way *ret_way)
{
    const struct pd_topology *topology = watch->topology;
    uint32_t len = 0;
    struct pd_probe_way way = {.nodes_len = hops + 3, .src = src, .dst = dst};

    if (src == PD_NONE || dst == PD_NONE) {
        return -PD_E_TOPOLOGY;
    }
    way.nodes = calloc(way.nodes_len, sizeof *way.nodes);
    way.links = calloc(way.nodes_len, sizeof *way.links);
    if (!way.nodes || !way.links) {
        pd_probe_way_done(&way);
        return -ENOMEM;
    }
    way.flow = flow_between(&topology->hosts[src], &topology->hosts[dst]);
    way.nodes[len++] = topology->hosts[src].id;
    for (uint32_t i = 0; i <= hops; i++) {
        way.nodes[len++] = topology->switches[switches[i]].id;
    }
    way.nodes[len] = topology->hosts[dst].id;
    for (uint32_t i = 0; i < len; i++) {
        way.links[i] = pd_topology_links_by_ids(topology, way.nodes[i], way.nodes[i + 1], NULL);
    }
    way.number = watch->numbers_given++;
    *ret_way = way;
    return 0;
}
