/* SPDX-License-Identifier: Apache-2.0 */
/* The table of link metrics. */
#include <string.h>

#include "controller/links/metric.h"

extern const struct pd_link_metric pd_link_load, pd_link_use, pd_link_alarms, pd_link_suspicion,
    pd_link_latency_ns, pd_link_latency_error_ns, pd_link_hop_latency_ns, pd_link_residence_ns,
    pd_link_queue_bytes, pd_link_queue_max_bytes, pd_link_probe_loss, pd_link_probe_age_ms,
    pd_link_probe_state;

/* One that is made of another stands behind it. */
const struct pd_link_metric *const pd_link_metrics[] = {
    &pd_link_load,           &pd_link_use,
    &pd_link_alarms,         &pd_link_suspicion,
    &pd_link_latency_ns,     &pd_link_latency_error_ns,
    &pd_link_hop_latency_ns, &pd_link_residence_ns,
    &pd_link_queue_bytes,    &pd_link_queue_max_bytes,
    &pd_link_probe_loss,     &pd_link_probe_age_ms,
    &pd_link_probe_state,    NULL,
};
_Static_assert(sizeof pd_link_metrics / sizeof(void *) <= PD_LINK_METRICS_MAX + 1,
               "a sample has room for each");

unsigned pd_link_metrics_len(void)
{
    return sizeof pd_link_metrics / sizeof(void *) - 1;
}

uint32_t pd_link_metric_find(const char *name)
{
    for (uint32_t i = 0; pd_link_metrics[i]; i++) {
        if (!strcmp(pd_link_metrics[i]->name, name)) {
            return i;
        }
    }
    return PD_NONE;
}

double pd_link_bps(const struct pd_app_world *world, uint32_t link)
{
    const struct pd_link *entry = pd_links_of(world->topology, link);
    uint32_t parallel;

    if (!entry->mbps) {
        pd_topology_links_between(world->topology, pd_links_from(world->topology, link),
                                  pd_links_to(world->topology, link), &parallel);
        return 1e6 * (double)world->link_mbps * parallel;
    }
    double mbps = 0;
    uint32_t first =
        pd_topology_links_between(world->topology, pd_links_from(world->topology, link),
                                  pd_links_to(world->topology, link), &parallel);

    for (uint32_t i = 0; i < parallel; i++) {
        mbps += pd_links_of(world->topology, first + 2 * i)->mbps;
    }
    return 1e6 * mbps;
}
