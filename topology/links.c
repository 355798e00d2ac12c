/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups of links: by ends, by port, as text. */
#include "topology/links.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "topology/lookup.h"

static uint32_t id_of(const struct pd_topology *topology, uint32_t number, bool second)
{
    const struct pd_link *link = pd_links_of(topology, number);
    uint32_t end = link->ends[second];
    return link->is_host && second ? topology->hosts[end].id : topology->switches[end].id;
}

uint32_t pd_topology_links_from_id(const struct pd_topology *topology, uint32_t number)
{
    return id_of(topology, number, number & 1);
}

uint32_t pd_topology_links_to_id(const struct pd_topology *topology, uint32_t number)
{
    return id_of(topology, number, !(number & 1));
}

static bool parallel(const struct pd_link *a, const struct pd_link *b)
{
    return a->ends[0] == b->ends[0] && a->ends[1] == b->ends[1] && a->is_host == b->is_host;
}

uint32_t pd_topology_links_pair(const struct pd_topology *topology, uint32_t number)
{
    while (number >= 2 &&
           parallel(pd_links_of(topology, number), pd_links_of(topology, number - 2))) {
        number -= 2;
    }
    return number;
}

/* ---- by ends */

static uint32_t found(const struct pd_neighbour *neighbour, uint32_t *ret_parallel)
{
    if (neighbour && ret_parallel) {
        *ret_parallel = neighbour->parallel;
    }
    return neighbour ? neighbour->link : PD_NONE;
}

uint32_t pd_topology_links_between(const struct pd_topology *topology, uint32_t from, uint32_t to,
                                   uint32_t *ret_parallel)
{
    return found(pd_topology_link(topology, from, to), ret_parallel);
}

uint32_t pd_topology_links_to_host(const struct pd_topology *topology, uint32_t sw, uint32_t host,
                                   uint32_t *ret_parallel)
{
    const struct pd_switch *entry = &topology->switches[sw];
    uint32_t low = entry->switch_neighbours, high = entry->neighbours_len;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (entry->neighbours[middle].node < host) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool there = low < entry->neighbours_len && entry->neighbours[low].node == host;
    return found(there ? &entry->neighbours[low] : NULL, ret_parallel);
}

uint32_t pd_topology_links_by_ids(const struct pd_topology *topology, uint32_t from_id,
                                  uint32_t to_id, uint32_t *ret_parallel)
{
    uint32_t from = pd_topology_switch(topology, from_id);
    uint32_t to = pd_topology_switch(topology, to_id);
    if (from != PD_NONE && to != PD_NONE) {
        return pd_topology_links_between(topology, from, to, ret_parallel);
    }
    uint32_t host = PD_NONE;
    if (from != PD_NONE || to != PD_NONE) {
        host = pd_topology_host(topology, from == PD_NONE ? from_id : to_id);
    }
    if (host == PD_NONE) {
        return PD_NONE;
    }
    uint32_t down =
        pd_topology_links_to_host(topology, from == PD_NONE ? to : from, host, ret_parallel);
    return down == PD_NONE || from != PD_NONE ? down : pd_links_reverse(down);
}

uint32_t pd_topology_links_by_port(const struct pd_topology *topology, uint32_t sw, uint16_t port)
{
    const struct pd_switch *entry = &topology->switches[sw];
    for (uint32_t i = 0; i < entry->neighbours_len; i++) {
        for (uint32_t nth = 0; nth < entry->neighbours[i].parallel; nth++) {
            uint32_t number = entry->neighbours[i].link + 2 * nth;
            if (pd_links_port(topology, number) == port) {
                return number;
            }
        }
    }
    return PD_NONE;
}

const struct pd_prefix *pd_topology_links_addrs(const struct pd_topology *topology, uint32_t i,
                                                int end, uint32_t *ret_len)
{
    const struct pd_topology_storage *storage = topology->storage;
    const struct pd_link *link = &topology->links[i];
    *ret_len = link->addrs_len[end];
    return storage->link_addrs + link->addrs + (end ? link->addrs_len[0] : 0);
}

/* ---- as text */

const char *pd_topology_links_format(const struct pd_topology *topology, uint32_t number,
                                     char text[PD_LINKS_TEXT_BYTES])
{
    uint32_t from = pd_topology_links_from_id(topology, number),
             to = pd_topology_links_to_id(topology, number);
    const struct pd_link *link = pd_links_of(topology, number);
    size_t i = number / 2;
    bool several = (i > 0 && parallel(link, link - 1)) ||
                   (i + 1 < topology->links_len && parallel(link, link + 1));
    unsigned ports[] = {pd_links_port(topology, number),
                        pd_links_port(topology, pd_links_reverse(number))};
    char sides[2][8] = {"", ""};
    for (int side = 0; several && side < 2; side++) {
        if (ports[side]) {
            snprintf(sides[side], sizeof *sides, ":%u", ports[side]);
        }
    }
    snprintf(text, PD_LINKS_TEXT_BYTES, "%u%s-%u%s", from, sides[0], to, sides[1]);
    return text;
}

/* Digits only, 1 to max; false otherwise. */
static bool take_number(const char **text, uint32_t max, uint32_t *ret_number)
{
    uint64_t value = 0;
    const char *at = *text;
    for (; isdigit((unsigned char)*at) && value <= max; at++) {
        value = value * 10 + (uint64_t)(*at - '0');
    }
    if (at == *text || value < 1 || value > max) {
        return false;
    }
    *text = at;
    *ret_number = (uint32_t)value;
    return true;
}

/* "9" or "9:3". */
static bool take_end(const char **text, uint32_t *ret_id, uint32_t *ret_port)
{
    *ret_port = 0;
    if (!take_number(text, UINT32_MAX, ret_id)) {
        return false;
    }
    if (**text != ':') {
        return true;
    }
    ++*text;
    return take_number(text, UINT16_MAX, ret_port);
}

int pd_topology_links_parse(const struct pd_topology *topology, const char *text,
                            uint32_t *ret_first, uint32_t *ret_len)
{
    uint32_t ids[2], ports[2], len;
    if (!take_end(&text, &ids[0], &ports[0]) || *text++ != '-' ||
        !take_end(&text, &ids[1], &ports[1]) || *text) {
        return -PD_E_SYNTAX;
    }
    uint32_t first = pd_topology_links_by_ids(topology, ids[0], ids[1], &len);
    if (first == PD_NONE) {
        return -PD_E_VALUE;
    }
    if (!ports[0] && !ports[1]) {
        *ret_first = first;
        *ret_len = len;
        return 0;
    }
    for (uint32_t at = first; at < first + 2 * len; at += 2) {
        if ((!ports[0] || pd_links_port(topology, at) == ports[0]) &&
            (!ports[1] || pd_links_port(topology, pd_links_reverse(at)) == ports[1])) {
            *ret_first = at;
            *ret_len = 1;
            return 0;
        }
    }
    return -PD_E_VALUE;
}
