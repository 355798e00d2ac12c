/* SPDX-License-Identifier: Apache-2.0 */
/* IDs by which others know switches: IOAM node IDs on packets, datapath IDs in OpenFlow. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "topology/lookup.h"

struct table {
    const struct pd_switch *switches;
    enum pd_other_id kind;
};

static const char *const names[] = {[PD_OTHER_IOAM] = "IOAM ID", [PD_OTHER_DPID] = "datapath ID"};

static uint64_t id_of(const struct pd_switch *sw, enum pd_other_id kind)
{
    return kind == PD_OTHER_IOAM ? sw->ioam_id : sw->dpid;
}

static int by_other_id(const void *a, const void *b, void *context)
{
    const struct table *table = context;
    uint64_t x = id_of(&table->switches[*(const uint32_t *)a], table->kind);
    uint64_t y = id_of(&table->switches[*(const uint32_t *)b], table->kind);
    return x < y ? -1 : x > y;
}

/* Nothing is kept where all are the switches' own IDs. */
static int init(struct pd_topology_storage *storage, const struct pd_topology *topology,
                enum pd_other_id kind, struct pd_findings *findings)
{
    struct table table = {topology->switches, kind};
    uint32_t len = topology->switches_len, given = 0;
    uint32_t *order = malloc((len + 1) * sizeof *order);
    if (!order) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < len; i++) {
        order[i] = i;
        given += id_of(&topology->switches[i], kind) != topology->switches[i].id;
    }
    if (!given) {
        free(order);
        return 0;
    }
    qsort_r(order, len, sizeof *order, by_other_id, &table);
    for (uint32_t i = 1; i < len; i++) {
        const struct pd_switch *a = &topology->switches[order[i - 1]],
                               *b = &topology->switches[order[i]];
        if (id_of(a, kind) == id_of(b, kind)) {
            pd_topology_findings_add(findings,
                                     "nodes: switches %u and %u have the %s %" PRIu64 " both",
                                     a->id, b->id, names[kind], id_of(b, kind));
        }
    }
    storage->by_other_id[kind] = order;
    return 0;
}

int pd_topology_other_ids_init(struct pd_topology_storage *storage,
                               const struct pd_topology *topology, struct pd_findings *findings)
{
    int err = init(storage, topology, PD_OTHER_IOAM, findings);
    return err ? err : init(storage, topology, PD_OTHER_DPID, findings);
}

static uint32_t find(const struct pd_topology *topology, enum pd_other_id kind, uint64_t id)
{
    const uint32_t *order = ((struct pd_topology_storage *)topology->storage)->by_other_id[kind];
    uint32_t low = 0, high = topology->switches_len;
    if (!order) {
        return id > UINT32_MAX ? PD_NONE : pd_topology_switch(topology, (uint32_t)id);
    }
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (id_of(&topology->switches[order[middle]], kind) < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found = low < topology->switches_len && id_of(&topology->switches[order[low]], kind) == id;
    return found ? order[low] : PD_NONE;
}

uint32_t pd_topology_ioam(const struct pd_topology *topology, uint32_t ioam_id)
{
    return find(topology, PD_OTHER_IOAM, ioam_id);
}

uint32_t pd_topology_datapath(const struct pd_topology *topology, uint64_t dpid)
{
    return find(topology, PD_OTHER_DPID, dpid);
}
