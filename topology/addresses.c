/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups by address beside the racks': interfaces of switches, hosts and prefixes at several
 * switches. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/links.h"
#include "topology/lookup.h"

void pd_topology_address_tables_done(struct pd_topology_storage *storage)
{
    free(storage->interfaces);
    free(storage->homed);
    free(storage->shared);
}

static int compare_addrs(const struct pd_addr *a, uint8_t a_version, const struct pd_addr *b,
                         uint8_t b_version)
{
    return a_version != b_version ? (int)a_version - (int)b_version : memcmp(a, b, sizeof *a);
}

/* ---- interfaces */

static int compare_interfaces(const void *a, const void *b)
{
    const struct pd_interface *x = a, *y = b;
    return compare_addrs(&x->addr, x->ip_version, &y->addr, y->ip_version);
}

static size_t count_interfaces(const struct pd_topology *topology)
{
    size_t len = 0;
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        len += topology->switches[i].addrs_len;
    }
    for (uint32_t i = 0; i < topology->links_len; i++) {
        len += (size_t)topology->links[i].addrs_len[0] + topology->links[i].addrs_len[1];
    }
    return len;
}

static void add_interfaces(struct pd_topology_storage *storage, const struct pd_prefix *addrs,
                           uint32_t len, uint32_t sw, uint32_t link)
{
    for (uint32_t i = 0; i < len; i++) {
        storage->interfaces[storage->interfaces_len++] = (struct pd_interface){
            .addr = addrs[i].addr, .sw = sw, .link = link, .ip_version = addrs[i].ip_version};
    }
}

static int fill_interfaces(struct pd_topology_storage *storage, const struct pd_topology *topology)
{
    size_t len = count_interfaces(topology);
    storage->interfaces = calloc(len + 1, sizeof *storage->interfaces);
    if (!storage->interfaces) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        const struct pd_switch *sw = &topology->switches[i];
        add_interfaces(storage, sw->addrs, sw->addrs_len, i, PD_NONE);
    }
    for (uint32_t i = 0; i < topology->links_len; i++) {
        for (int end = 0; end < (topology->links[i].is_host ? 1 : 2); end++) {
            uint32_t addrs_len;
            const struct pd_prefix *addrs = pd_topology_links_addrs(topology, i, end, &addrs_len);
            add_interfaces(storage, addrs, addrs_len, topology->links[i].ends[end],
                           2 * i + (uint32_t)end);
        }
    }
    qsort(storage->interfaces, storage->interfaces_len, sizeof *storage->interfaces,
          compare_interfaces);
    return 0;
}

uint32_t pd_topology_interface(const struct pd_topology *topology, const struct pd_addr *addr,
                               uint8_t ip_version, uint32_t *ret_link)
{
    const struct pd_topology_storage *storage = topology->storage;
    struct pd_interface wanted = {.addr = *addr, .ip_version = ip_version};
    const struct pd_interface *found = bsearch(
        &wanted, storage->interfaces, storage->interfaces_len, sizeof wanted, compare_interfaces);
    if (found && ret_link) {
        *ret_link = found->link;
    }
    return found ? found->sw : PD_NONE;
}

/* ---- hosts at several switches */

static int compare_homed(const void *a, const void *b)
{
    const struct pd_homed_addr *x = a, *y = b;
    return compare_addrs(&x->addr, x->ip_version, &y->addr, y->ip_version);
}

static int fill_homed(struct pd_topology_storage *storage, const struct pd_topology *topology)
{
    size_t len = 0;
    for (uint32_t i = 0; i < topology->hosts_len; i++) {
        len += topology->hosts[i].tors_len > 1 ? topology->hosts[i].addrs_len : 0;
    }
    storage->homed = calloc(len + 1, sizeof *storage->homed);
    if (!storage->homed) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < topology->hosts_len; i++) {
        const struct pd_host *host = &topology->hosts[i];
        for (uint32_t nth = 0; host->tors_len > 1 && nth < host->addrs_len; nth++) {
            storage->homed[storage->homed_len++] = (struct pd_homed_addr){
                .addr = host->addrs[nth], .host = i, .ip_version = host->ip_versions[nth]};
        }
    }
    qsort(storage->homed, storage->homed_len, sizeof *storage->homed, compare_homed);
    return 0;
}

/* ---- prefixes that switches share */

static int compare_prefixes(const struct pd_prefix *a, const struct pd_prefix *b)
{
    int order = compare_addrs(&a->addr, a->ip_version, &b->addr, b->ip_version);
    return order ? order : (int)a->bits - (int)b->bits;
}

static int compare_shared(const void *a, const void *b)
{
    const struct pd_shared_prefix *x = a, *y = b;
    int order = compare_prefixes(&x->prefix, &y->prefix);
    return order ? order : (x->sw > y->sw) - (x->sw < y->sw);
}

/* Keeps those that more than one switch has. */
static size_t keep_shared(struct pd_shared_prefix *all, size_t len)
{
    size_t kept = 0;
    for (size_t i = 0; i < len;) {
        size_t end = i + 1;
        while (end < len && !compare_prefixes(&all[i].prefix, &all[end].prefix)) {
            end++;
        }
        for (size_t n = end - i; n > 1 && i < end; i++) {
            all[kept++] = all[i];
        }
        i = end;
    }
    return kept;
}

static int fill_shared(struct pd_topology_storage *storage, const struct pd_topology *topology)
{
    size_t len = 0;
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        len += topology->switches[i].prefixes_len;
    }
    struct pd_shared_prefix *all = calloc(len + 1, sizeof *all), *smaller;
    if (!all) {
        return -ENOMEM;
    }
    len = 0;
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        for (uint32_t p = 0; p < topology->switches[i].prefixes_len; p++) {
            all[len++] = (struct pd_shared_prefix){topology->switches[i].prefixes[p], i};
        }
    }
    qsort(all, len, sizeof *all, compare_shared);
    storage->shared_len = keep_shared(all, len);
    smaller = realloc(all, (storage->shared_len + 1) * sizeof *all);
    storage->shared = smaller ? smaller : all;
    return 0;
}

/* The switches that share the first one's prefix with the address; none: it is alone. */
static uint32_t share(const struct pd_topology *topology, uint32_t first,
                      const struct pd_prefix *addr, uint32_t *ret_tors)
{
    const struct pd_topology_storage *storage = topology->storage;
    const struct pd_switch *sw = &topology->switches[first];
    uint32_t len = 0, p = 0;
    while (p < sw->prefixes_len && !pd_prefix_within(&sw->prefixes[p], addr)) {
        p++;
    }
    struct pd_shared_prefix wanted = {.sw = first};
    if (p == sw->prefixes_len) {
        return 0;
    }
    wanted.prefix = sw->prefixes[p];
    const struct pd_shared_prefix *at =
        bsearch(&wanted, storage->shared, storage->shared_len, sizeof wanted, compare_shared);
    const struct pd_shared_prefix *end = storage->shared + storage->shared_len;
    for (; at && at < end && len < PD_HOMES_MAX && !compare_prefixes(&at->prefix, &wanted.prefix);
         at++) {
        ret_tors[len++] = at->sw;
    }
    return len;
}

uint32_t pd_topology_tors_of(const struct pd_topology *topology, const struct pd_addr *addr,
                             uint8_t ip_version, uint32_t ret_tors[PD_HOMES_MAX])
{
    const struct pd_topology_storage *storage = topology->storage;
    struct pd_homed_addr wanted = {.addr = *addr, .ip_version = ip_version};
    const struct pd_homed_addr *homed =
        storage->homed_len
            ? bsearch(&wanted, storage->homed, storage->homed_len, sizeof wanted, compare_homed)
            : NULL;
    if (homed) {
        const struct pd_host *host = &topology->hosts[homed->host];
        memcpy(ret_tors, host->tors, host->tors_len * sizeof *ret_tors);
        return host->tors_len;
    }
    uint32_t first = pd_topology_tor_of(topology, addr, ip_version);
    if (first == PD_NONE) {
        return 0;
    }
    struct pd_prefix whole = {
        .addr = *addr, .ip_version = ip_version, .bits = ip_version == 4 ? 32 : 128};
    uint32_t len = storage->shared_len ? share(topology, first, &whole, ret_tors) : 0;
    if (!len) {
        ret_tors[len++] = first;
    }
    return len;
}

int pd_topology_address_tables_init(struct pd_topology_storage *storage,
                                    const struct pd_topology *topology)
{
    int error = fill_interfaces(storage, topology);
    if (!error) {
        error = fill_homed(storage, topology);
    }
    return error ? error : fill_shared(storage, topology);
}

uint32_t pd_topology_tor_alone(const struct pd_topology *topology, const struct pd_addr *addr,
                               uint8_t ip_version)
{
    uint32_t tors[PD_HOMES_MAX];

    return pd_topology_tors_of(topology, addr, ip_version, tors) == 1 ? tors[0] : PD_NONE;
}
