/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups in a topology: by ID, by link, by address. */
#include "topology/lookup.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "topology/draft.h"

static const char *const role_names[] = {
    [PD_ROLE_TOR] = "tor",       [PD_ROLE_AGG] = "agg",
    [PD_ROLE_CORE] = "core",     [PD_ROLE_INTERMEDIATE] = "intermediate",
    [PD_ROLE_LEAF] = "leaf",     [PD_ROLE_SPINE] = "spine",
    [PD_ROLE_SWITCH] = "switch", [PD_ROLE_HOST] = "host",
};

const char *pd_topology_role_name(enum pd_switch_role role)
{
    return role_names[role];
}

bool pd_topology_role_is_tor(enum pd_switch_role role)
{
    return role == PD_ROLE_TOR || role == PD_ROLE_LEAF;
}

bool pd_topology_switch_has_rack(const struct pd_switch *sw)
{
    return pd_topology_role_is_tor(sw->role) || sw->prefixes_len ||
           sw->neighbours_len > sw->switch_neighbours;
}

const struct pd_codec_choice *pd_topology_codec(const struct pd_topology *topology,
                                                const char *name)
{
    uint32_t i = 0;
    while (i < topology->codecs_len && strcmp(topology->codecs[i].name, name) != 0) {
        i++;
    }
    return i < topology->codecs_len ? &topology->codecs[i] : NULL;
}

/* ---- by ID: IDs are ascending and mostly without gaps, so the first guess is mostly right */

uint32_t pd_topology_switch(const struct pd_topology *topology, uint32_t id)
{
    uint32_t low = 0, high = topology->switches_len;
    uint32_t guess = id - topology->switches[0].id;
    if (guess < high && topology->switches[guess].id == id) {
        return guess;
    }
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (topology->switches[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < topology->switches_len && topology->switches[low].id == id ? low : PD_NONE;
}

uint32_t pd_topology_host(const struct pd_topology *topology, uint32_t id)
{
    uint32_t low = 0, high = topology->hosts_len;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (topology->hosts[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < topology->hosts_len && topology->hosts[low].id == id ? low : PD_NONE;
}

const struct pd_neighbour *pd_topology_link(const struct pd_topology *topology, uint32_t from,
                                            uint32_t to)
{
    const struct pd_neighbour *neighbours = topology->switches[from].neighbours;
    uint32_t low = 0, high = topology->switches[from].switch_neighbours;
    if (!high || to < neighbours[0].node || to > neighbours[high - 1].node) {
        return NULL;
    }
    /* neighbours mostly come in runs without gaps: one from the first on, one up to the last */
    uint32_t after = to - neighbours[0].node, before = neighbours[high - 1].node - to;
    if (after < high && neighbours[after].node == to) {
        return &neighbours[after];
    }
    if (before < high && neighbours[high - 1 - before].node == to) {
        return &neighbours[high - 1 - before];
    }
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (neighbours[middle].node == to) {
            return &neighbours[middle];
        }
        if (neighbours[middle].node < to) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

/* ---- by address */

static uint64_t load64(const uint8_t *bytes)
{
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    return be64toh(value);
}

/* The first n bits of 64, n from 0 to 64. */
static uint64_t leading(unsigned n)
{
    return n ? UINT64_MAX << (64 - n) : 0;
}

static struct pd_rack_slot4 *find_slot4(const struct pd_rack_table *racks, uint32_t addr,
                                        unsigned bits)
{
    uint32_t at = (uint32_t)pd_hash_mix((uint64_t)addr << 8 | bits);
    for (;; at++) {
        struct pd_rack_slot4 *slot = &racks->slots4[at & racks->mask4];
        if (slot->owner == PD_NONE || (slot->addr == addr && (slot->owner & 0xff) == bits)) {
            return slot;
        }
    }
}

static struct pd_rack_slot6 *find_slot6(const struct pd_rack_table *racks, uint64_t high,
                                        uint64_t low, unsigned bits)
{
    uint32_t at = (uint32_t)pd_hash_mix(high ^ low * UINT64_C(0x9e3779b97f4a7c15) ^ bits);
    for (;; at++) {
        struct pd_rack_slot6 *slot = &racks->slots6[at & racks->mask6];
        if (slot->owner == PD_NONE ||
            (slot->high == high && slot->low == low && (slot->owner & 0xff) == bits)) {
            return slot;
        }
    }
}

/* What the first `bits` bits of the address own. */
static uint32_t owner_of(const struct pd_rack_table *racks, uint64_t high, uint64_t low,
                         unsigned family, unsigned bits)
{
    high &= leading(bits < 64 ? bits : 64);
    if (family == 0) {
        return find_slot4(racks, (uint32_t)(high >> 32), bits)->owner;
    }
    return find_slot6(racks, high, low & leading(bits > 64 ? bits - 64 : 0), bits)->owner;
}

uint32_t pd_topology_tor_of(const struct pd_topology *topology, const struct pd_addr *addr,
                            uint8_t ip_version)
{
    const struct pd_rack_table *racks = &((struct pd_topology_storage *)topology->storage)->racks;
    uint64_t high = load64(addr->bytes), low = load64(addr->bytes + 8);
    unsigned family = ip_version == 6;
    if (!family && ip_version != 4) {
        return PD_NONE;
    }
    for (unsigned i = 0; i < racks->lengths_len[family]; i++) {
        uint32_t owner = owner_of(racks, high, low, family, racks->lengths[family][i]);
        if (owner != PD_NONE) {
            return owner >> 8;
        }
    }
    return PD_NONE;
}

static void add_length(struct pd_rack_table *racks, unsigned family, uint8_t bits)
{
    for (unsigned i = 0; i < racks->lengths_len[family]; i++) {
        if (racks->lengths[family][i] == bits) {
            return;
        }
    }
    racks->lengths[family][racks->lengths_len[family]++] = bits;
}

/* A power of 2 that is at least twice as much. */
static uint32_t room_for(uint32_t len)
{
    uint32_t room = 2;
    while (room < 2 * len + 1) {
        room *= 2;
    }
    return room;
}

static int allocate_racks(struct pd_rack_table *racks, const struct pd_topology *topology)
{
    uint32_t lens[2] = {0};
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        for (uint32_t j = 0; j < topology->switches[i].prefixes_len; j++) {
            lens[topology->switches[i].prefixes[j].ip_version == 6]++;
        }
    }
    uint32_t room4 = room_for(lens[0]), room6 = room_for(lens[1]);
    racks->slots4 = malloc(room4 * sizeof *racks->slots4);
    racks->slots6 = malloc(room6 * sizeof *racks->slots6);
    if (!racks->slots4 || !racks->slots6) {
        return -ENOMEM;
    }
    racks->mask4 = room4 - 1;
    racks->mask6 = room6 - 1;
    for (uint32_t i = 0; i < room4; i++) {
        racks->slots4[i] = (struct pd_rack_slot4){.owner = PD_NONE};
    }
    for (uint32_t i = 0; i < room6; i++) {
        racks->slots6[i] = (struct pd_rack_slot6){.owner = PD_NONE};
    }
    return 0;
}

static void add_prefix(struct pd_rack_table *racks, uint32_t tor, const struct pd_prefix *prefix)
{
    uint64_t high = load64(prefix->addr.bytes), low = load64(prefix->addr.bytes + 8);
    uint32_t addr = (uint32_t)(high >> 32), owner = tor << 8 | prefix->bits;
    if (prefix->ip_version == 6) {
        struct pd_rack_slot6 *slot = find_slot6(racks, high, low, prefix->bits);
        *slot = slot->owner == PD_NONE ? (struct pd_rack_slot6){high, low, owner} : *slot;
    } else { /* the first of those that share it owns it */
        struct pd_rack_slot4 *slot = find_slot4(racks, addr, prefix->bits);
        *slot = slot->owner == PD_NONE ? (struct pd_rack_slot4){addr, owner} : *slot;
    }
    add_length(racks, prefix->ip_version == 6, prefix->bits);
}

int pd_topology_rack_table_init(struct pd_rack_table *racks, const struct pd_topology *topology)
{
    _Static_assert(PD_NODES_MAX < UINT32_MAX >> 8, "an index and a length fit into 32 bits");
    int error = allocate_racks(racks, topology);
    for (uint32_t i = 0; i < topology->switches_len && !error; i++) {
        for (uint32_t j = 0; j < topology->switches[i].prefixes_len; j++) {
            add_prefix(racks, i, &topology->switches[i].prefixes[j]);
        }
    }
    return error;
}

void pd_topology_free(struct pd_topology *topology)
{
    if (!topology) {
        return;
    }
    struct pd_topology_storage *storage = topology->storage;
    if (storage) {
        free(storage->switches);
        free(storage->hosts);
        free(storage->neighbours);
        free(storage->prefixes);
        free(storage->addrs);
        free(storage->ip_versions);
        free(storage->strings);
        free(storage->codecs);
        free(storage->links);
        free(storage->switch_addrs);
        free(storage->link_addrs);
        free(storage->homes);
        pd_topology_address_tables_done(storage);
        free(storage->by_other_id[PD_OTHER_IOAM]);
        free(storage->by_other_id[PD_OTHER_DPID]);
        free(storage->racks.slots4);
        free(storage->racks.slots6);
        free(storage);
    }
    free(topology);
}
