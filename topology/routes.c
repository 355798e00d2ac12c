/* SPDX-License-Identifier: Apache-2.0 */
/* Routes by all shortest paths, as tables. */
#include "topology/routes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/links.h"
#include "topology/paths.h"

#define MAPPED_IPV4 UINT64_C(0xffff00000000)
#define PORTS_MAX   256u
#define SPREAD      8u /* slots for each port at least, where they do not come out even */

struct ports {
    uint16_t len;
    uint16_t ports[PORTS_MAX];
};

struct maker {
    const struct pd_topology *topology;
    uint32_t sw;
    struct pd_tables *tables;
    struct ports *groups; /* those that have entries: group n is at n - 1 */
    size_t groups_len;
};

/* ---- destinations */

static uint64_t number(const uint8_t *bytes, unsigned len)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < len; i++) {
        value = value << 8 | bytes[i];
    }
    return value;
}

static uint64_t mask_of(unsigned bits)
{
    return bits ? UINT64_MAX << (64 - bits) : 0;
}

static void match_destination(struct pd_tables_row *row, const struct pd_prefix *prefix)
{
    if (prefix->ip_version == 4) {
        pd_tables_match(row, "dst_hi", 0, PD_TABLES_EXACT);
        pd_tables_match(row, "dst_lo", MAPPED_IPV4 | number(prefix->addr.bytes, 4),
                        mask_of(32 + prefix->bits));
        return;
    }
    pd_tables_match(row, "dst_hi", number(prefix->addr.bytes, 8),
                    mask_of(prefix->bits < 64 ? prefix->bits : 64));
    pd_tables_match(row, "dst_lo", number(prefix->addr.bytes + 8, 8),
                    mask_of(prefix->bits < 64 ? 0 : prefix->bits - 64));
}

static uint32_t priority_of(const struct pd_prefix *prefix)
{
    return prefix->bits + (prefix->ip_version == 4 ? 97 : 1);
}

/* ---- groups */

static uint32_t slots_of(uint32_t ports)
{
    uint32_t slots = 1;
    while (slots < ports) {
        slots *= 2;
    }
    while (slots != ports && slots < SPREAD * ports) {
        slots *= 2;
    }
    return slots;
}

static uint32_t group_of(struct maker *m, const struct ports *ports)
{
    for (size_t i = 0; i < m->groups_len; i++) {
        if (m->groups[i].len == ports->len &&
            !memcmp(m->groups[i].ports, ports->ports, ports->len * sizeof *ports->ports)) {
            return (uint32_t)i + 1;
        }
    }
    m->groups[m->groups_len++] = *ports;
    for (uint32_t slot = 0; slot < slots_of(ports->len); slot++) {
        struct pd_tables_row *row = pd_tables_add(m->tables, "groups", 0, "member");
        pd_tables_match(row, "group", m->groups_len, PD_TABLES_EXACT);
        pd_tables_match(row, "slot", slot, PD_TABLES_EXACT);
        pd_tables_argument(row, "port", ports->ports[slot % ports->len]);
    }
    return (uint32_t)m->groups_len;
}

static uint32_t shift_of(enum pd_switch_role role)
{
    switch (role) {
    case PD_ROLE_TOR: return 0;
    case PD_ROLE_AGG:
    case PD_ROLE_LEAF: return 8;
    default: return 16;
    }
}

static void add_route(struct maker *m, const struct pd_prefix *prefix, const struct ports *ports)
{
    if (!ports->len) {
        return;
    }
    const uint32_t group = ports->len > 1 ? group_of(m, ports) : 0;
    struct pd_tables_row *row =
        pd_tables_add(m->tables, "routes", priority_of(prefix), group ? "to_group" : "to_port");
    match_destination(row, prefix);
    if (group) {
        pd_tables_argument(row, "group", group);
        pd_tables_argument(row, "mask", slots_of(ports->len) - 1);
        pd_tables_argument(row, "shift", shift_of(m->topology->switches[m->sw].role));
    } else {
        pd_tables_argument(row, "port", ports->ports[0]);
    }
}

/* ---- routes */

static void add_ports(const struct maker *m, const struct pd_neighbour *to, struct ports *ports)
{
    for (uint32_t nth = 0; nth < to->parallel && ports->len < PORTS_MAX; nth++) {
        ports->ports[ports->len++] = pd_links_port(m->topology, to->link + 2 * nth);
    }
}

static int add_rack(struct maker *m, uint32_t rack)
{
    const struct pd_switch *here = &m->topology->switches[m->sw];
    const struct pd_switch *there = &m->topology->switches[rack];
    struct ports ports = {.len = 0};
    uint32_t *steps;
    int err = pd_topology_steps(m->topology, rack, &steps);
    if (err) {
        return err;
    }
    for (uint32_t i = 0; i < here->switch_neighbours && steps[m->sw] != PD_NONE; i++) {
        if (steps[here->neighbours[i].node] + 1 == steps[m->sw]) {
            add_ports(m, &here->neighbours[i], &ports);
        }
    }
    free(steps);
    for (uint32_t i = 0; i < there->prefixes_len; i++) {
        add_route(m, &there->prefixes[i], &ports);
    }
    return 0;
}

static void add_hosts(struct maker *m)
{
    const struct pd_switch *here = &m->topology->switches[m->sw];
    for (uint32_t i = here->switch_neighbours; i < here->neighbours_len; i++) {
        const struct pd_host *host = &m->topology->hosts[here->neighbours[i].node];
        struct ports ports = {.len = 0};
        add_ports(m, &here->neighbours[i], &ports);
        for (uint32_t a = 0; a < host->addrs_len; a++) {
            struct pd_prefix prefix = {.addr = host->addrs[a],
                                       .ip_version = host->ip_versions[a],
                                       .bits = host->ip_versions[a] == 4 ? 32 : 128};
            add_route(m, &prefix, &ports);
        }
    }
}

int pd_topology_tables_routes(const struct pd_topology *topology, uint32_t sw,
                              struct pd_tables *tables)
{
    struct maker m = {.topology = topology, .sw = sw, .tables = tables};
    int err = 0;
    m.groups = calloc(topology->switches_len + topology->hosts_len + 1, sizeof *m.groups);
    if (!m.groups) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < topology->switches_len && !err; i++) {
        if (i != sw && topology->switches[i].prefixes_len) {
            err = add_rack(&m, i);
        }
    }
    add_hosts(&m);
    free(m.groups);
    return err ? err : pd_tables_error(tables);
}

/* ---- ports and their addresses */

void pd_topology_ports(const struct pd_topology *topology, uint32_t sw,
                       void (*visit)(void *context, uint16_t port, const struct pd_neighbour *to),
                       void *context)
{
    const struct pd_switch *here = &topology->switches[sw];
    for (uint32_t i = 0; i < here->neighbours_len; i++) {
        const struct pd_neighbour *to = &here->neighbours[i];
        for (uint32_t nth = 0; nth < to->parallel; nth++) {
            visit(context, pd_links_port(topology, to->link + 2 * nth), to);
        }
    }
}

static const struct pd_prefix *find_version(const struct pd_prefix *addrs, uint32_t len,
                                            uint8_t ip_version)
{
    for (uint32_t i = 0; i < len; i++) {
        if (addrs[i].ip_version == ip_version) {
            return &addrs[i];
        }
    }
    return NULL;
}

static const struct pd_prefix *address_of(const struct maker *m, uint16_t port, uint8_t ip_version)
{
    const struct pd_switch *here = &m->topology->switches[m->sw];
    const uint32_t link = pd_topology_links_by_port(m->topology, m->sw, port);
    uint32_t len = 0;
    const struct pd_prefix *found = NULL;
    if (link != PD_NONE) {
        const struct pd_prefix *addrs =
            pd_topology_links_addrs(m->topology, link / 2, link & 1, &len);
        found = find_version(addrs, len, ip_version);
    }
    return found ? found : find_version(here->addrs, here->addrs_len, ip_version);
}

static void add_interface(void *context, uint16_t port, const struct pd_neighbour *to)
{
    struct maker *m = context;
    const struct pd_prefix *v4 = address_of(m, port, 4), *v6 = address_of(m, port, 6);
    (void)to;
    if (v4 || v6) {
        struct pd_tables_row *row = pd_tables_add(m->tables, "interfaces", 0, "address");
        pd_tables_match(row, "port", port, PD_TABLES_EXACT);
        pd_tables_argument(row, "v4", v4 ? number(v4->addr.bytes, 4) : 0);
        pd_tables_argument(row, "v6_hi", v6 ? number(v6->addr.bytes, 8) : 0);
        pd_tables_argument(row, "v6_lo", v6 ? number(v6->addr.bytes + 8, 8) : 0);
    }
}

int pd_topology_tables_interfaces(const struct pd_topology *topology, uint32_t sw,
                                  struct pd_tables *tables)
{
    struct maker m = {.topology = topology, .sw = sw, .tables = tables};
    pd_topology_ports(topology, sw, add_interface, &m);
    return pd_tables_error(tables);
}
