/* SPDX-License-Identifier: Apache-2.0 */
/* IOAM node IDs: what switches write on packets, and which switch that is. */
#include <errno.h>
#include <stdlib.h>

#include "topology/lookup.h"

static int by_ioam_id(const void *a, const void *b, void *context)
{
    const struct pd_switch *switches = context;
    uint32_t x = switches[*(const uint32_t *)a].ioam_id, y = switches[*(const uint32_t *)b].ioam_id;
    return x < y ? -1 : x > y;
}

int pd_ioam_ids_init(struct pd_topology_storage *storage, const struct pd_topology *topology,
                     struct pd_findings *findings)
{
    uint32_t len = topology->switches_len, given = 0;
    uint32_t *order = malloc((len + 1) * sizeof *order);
    if (!order) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < len; i++) {
        order[i] = i;
        given += topology->switches[i].ioam_id != topology->switches[i].id;
    }
    if (!given) {
        free(order);
        return 0;
    }
    qsort_r(order, len, sizeof *order, by_ioam_id, storage->switches);
    for (uint32_t i = 1; i < len; i++) {
        const struct pd_switch *a = &topology->switches[order[i - 1]],
                               *b = &topology->switches[order[i]];
        if (a->ioam_id == b->ioam_id) {
            pd_findings_add(findings, "nodes: switches %u and %u have the IOAM ID %u both", a->id,
                            b->id, a->ioam_id);
        }
    }
    storage->by_ioam_id = order;
    return 0;
}

uint32_t pd_topology_ioam(const struct pd_topology *topology, uint32_t ioam_id)
{
    const uint32_t *order = ((struct pd_topology_storage *)topology->storage)->by_ioam_id;
    uint32_t low = 0, high = topology->switches_len;
    if (!order) {
        return pd_topology_switch(topology, ioam_id);
    }
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (topology->switches[order[middle]].ioam_id < ioam_id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found = low < topology->switches_len && topology->switches[order[low]].ioam_id == ioam_id;
    return found ? order[low] : PD_NONE;
}
