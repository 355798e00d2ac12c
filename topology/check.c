/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of a draft that need no graph: IDs, ends of links, prefixes and addresses. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/draft.h"

#define PREFIX_TEXT_BYTES (PD_ADDR_TEXT_BYTES + 4)

static const char *format_prefix(const struct pd_prefix *prefix, char text[PREFIX_TEXT_BYTES])
{
    pd_addr_format(&prefix->addr, prefix->ip_version, text);
    snprintf(text + strlen(text), 5, "/%u", prefix->bits);
    return text;
}

static bool is_switch(const struct pd_draft_node *node)
{
    return node->role != PD_ROLE_HOST;
}

/* ---- IDs */

static int compare_ids(const void *a, const void *b, void *context)
{
    const struct pd_draft *draft = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    uint32_t x_id = draft->nodes[x].id, y_id = draft->nodes[y].id;
    return x_id != y_id ? (x_id < y_id ? -1 : 1) : (x > y) - (x < y);
}

static int check_ids(struct pd_draft *draft, struct pd_findings *findings)
{
    draft->by_id = malloc((draft->nodes_len + 1) * sizeof *draft->by_id);
    if (!draft->by_id) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < draft->nodes_len; i++) {
        draft->by_id[i] = i;
    }
    qsort_r(draft->by_id, draft->nodes_len, sizeof *draft->by_id, compare_ids, draft);
    uint32_t first = 0;
    for (size_t i = 1; i < draft->nodes_len; i++) {
        uint32_t node = draft->by_id[i], id = draft->nodes[node].id;
        if (draft->nodes[draft->by_id[first]].id == id) {
            pd_topology_findings_add(findings, "nodes[%u].id: %u is also the ID of nodes[%u]", node,
                                     id, draft->by_id[first]);
        } else {
            first = (uint32_t)i;
        }
    }
    return 0;
}

/* Place of the node with this ID, or PD_NONE. */
static uint32_t find_node(const struct pd_draft *draft, uint32_t id)
{
    size_t low = 0, high = draft->nodes_len;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (draft->nodes[draft->by_id[middle]].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found = low < draft->nodes_len && draft->nodes[draft->by_id[low]].id == id;
    return found ? draft->by_id[low] : PD_NONE;
}

/* ---- links */

static void check_roles(const struct pd_draft *draft, size_t at, struct pd_findings *findings)
{
    const struct pd_draft_link *link = &draft->links[at];
    const struct pd_draft_node *a = &draft->nodes[link->nodes[0]];
    const struct pd_draft_node *b = &draft->nodes[link->nodes[1]];
    if (!is_switch(a) && !is_switch(b)) {
        pd_topology_findings_add(
            findings, "links[%zu]: joins host %u and host %u, expected a switch at one end", at,
            a->id, b->id);
    }
}

static void check_ends(struct pd_draft *draft, struct pd_findings *findings)
{
    static const char *const keys[] = {"source", "target"};
    for (size_t i = 0; i < draft->links_len; i++) {
        struct pd_draft_link *link = &draft->links[i];
        for (int end = 0; end < 2; end++) {
            link->nodes[end] = find_node(draft, link->ids[end]);
            if (link->nodes[end] == PD_NONE) {
                pd_topology_findings_add(findings, "links[%zu].%s: no node has the ID %u", i,
                                         keys[end], link->ids[end]);
            }
        }
        if (link->ids[0] == link->ids[1]) {
            pd_topology_findings_add(findings, "links[%zu]: joins node %u with itself", i,
                                     link->ids[0]);
        } else if (link->nodes[0] != PD_NONE && link->nodes[1] != PD_NONE) {
            check_roles(draft, i, findings);
        }
    }
}

static int compare_links(const void *a, const void *b, void *context)
{
    const struct pd_draft *draft = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    uint64_t keys[2];
    for (int i = 0; i < 2; i++) {
        const uint32_t *ids = draft->links[i ? y : x].ids;
        keys[i] =
            ids[0] < ids[1] ? (uint64_t)ids[0] << 32 | ids[1] : (uint64_t)ids[1] << 32 | ids[0];
    }
    return keys[0] != keys[1] ? (keys[0] < keys[1] ? -1 : 1) : (x > y) - (x < y);
}

static bool same_ends(const struct pd_draft_link *a, const struct pd_draft_link *b)
{
    return (a->ids[0] == b->ids[0] && a->ids[1] == b->ids[1]) ||
           (a->ids[0] == b->ids[1] && a->ids[1] == b->ids[0]);
}

/* A parallel link is told apart by its ports, at the switches that it joins. */
static bool has_ports(const struct pd_draft *draft, const struct pd_draft_link *link)
{
    for (int end = 0; end < 2; end++) {
        if (link->nodes[end] == PD_NONE ||
            (is_switch(&draft->nodes[link->nodes[end]]) && !link->ports[end])) {
            return false;
        }
    }
    return true;
}

static int check_twice(struct pd_draft *draft, struct pd_findings *findings)
{
    uint32_t *order = malloc((draft->links_len + 1) * sizeof *order);
    if (!order) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < draft->links_len; i++) {
        order[i] = i;
    }
    qsort_r(order, draft->links_len, sizeof *order, compare_links, draft);
    size_t first = 0;
    for (size_t i = 1; i < draft->links_len; i++) {
        const struct pd_draft_link *link = &draft->links[order[i]];
        if (!same_ends(&draft->links[order[first]], link)) {
            first = i;
        } else if (!has_ports(draft, link) || !has_ports(draft, &draft->links[order[first]])) {
            pd_topology_findings_add(
                findings,
                "links[%u]: %u – %u is given already as links[%u], and parallel links "
                "need ports",
                order[i], link->ids[0], link->ids[1], order[first]);
        }
    }
    free(order);
    return 0;
}

/* ---- prefixes and addresses */

struct owned_prefix {
    struct pd_prefix prefix;
    uint32_t node;
    uint32_t nth; /* among the node's */
};

static int compare_prefixes(const void *a, const void *b)
{
    const struct owned_prefix *x = a, *y = b;
    int order = (int)x->prefix.ip_version - (int)y->prefix.ip_version;
    if (!order) {
        order = memcmp(&x->prefix.addr, &y->prefix.addr, sizeof x->prefix.addr);
    }
    if (!order) {
        order = (int)x->prefix.bits - (int)y->prefix.bits;
    }
    if (!order) {
        order = x->node != y->node ? (x->node < y->node ? -1 : 1)
                                   : (x->nth > y->nth) - (x->nth < y->nth);
    }
    return order;
}

static bool later(const struct owned_prefix *a, const struct owned_prefix *b)
{
    return a->node > b->node || (a->node == b->node && a->nth > b->nth);
}

/* ---- prefixes: of racks; the same one at two switches is that of hosts that hang at both */

/* A host and a switch that it hangs at, as places of nodes. */
struct home {
    uint32_t sw, host;
};

struct homes {
    struct home *all; /* by switch, then by host */
    size_t len;
};

static int compare_homes(const void *a, const void *b)
{
    const struct home *x = a, *y = b;
    if (x->sw != y->sw) {
        return x->sw < y->sw ? -1 : 1;
    }
    return (x->host > y->host) - (x->host < y->host);
}

static int collect_homes(const struct pd_draft *draft, struct homes *homes)
{
    homes->all = malloc((draft->links_len + 1) * sizeof *homes->all);
    if (!homes->all) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < draft->links_len; i++) {
        const uint32_t *nodes = draft->links[i].nodes;
        for (int end = 0; end < 2; end++) {
            if (nodes[0] != PD_NONE && nodes[1] != PD_NONE &&
                is_switch(&draft->nodes[nodes[end]]) && !is_switch(&draft->nodes[nodes[!end]])) {
                homes->all[homes->len++] = (struct home){nodes[end], nodes[!end]};
            }
        }
    }
    qsort(homes->all, homes->len, sizeof *homes->all, compare_homes);
    return 0;
}

/* The first of the switch's hosts; *ret_len: how many it has. */
static size_t hosts_of(const struct homes *homes, uint32_t sw, size_t *ret_len)
{
    size_t ends[2] = {0};
    for (uint32_t side = 0; side < 2; side++) {
        size_t low = 0, high = homes->len;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if ((uint64_t)homes->all[middle].sw < (uint64_t)sw + side) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        ends[side] = low;
    }
    *ret_len = ends[1] - ends[0];
    return ends[0];
}

static bool share_host(const struct homes *homes, uint32_t a, uint32_t b)
{
    size_t a_len, b_len, a_first = hosts_of(homes, a, &a_len), b_first = hosts_of(homes, b, &b_len);
    if (a_len < b_len) { /* looks for those of the switch with fewer */
        size_t swap = a_first;
        a_first = b_first;
        b_first = swap;
        b_len = a_len;
        a = b;
    }
    for (size_t i = 0; i < b_len; i++) {
        struct home wanted = {a, homes->all[b_first + i].host};
        if (bsearch(&wanted, homes->all + a_first, homes->len - a_first, sizeof wanted,
                    compare_homes)) {
            return true;
        }
    }
    return false;
}

static void check_overlap(const struct owned_prefix *outer, const struct owned_prefix *inner,
                          const struct homes *homes, struct pd_findings *findings)
{
    char a[PREFIX_TEXT_BYTES], b[PREFIX_TEXT_BYTES];
    const struct owned_prefix *at = later(inner, outer) ? inner : outer;
    const struct owned_prefix *other = at == inner ? outer : inner;
    if (outer->prefix.bits == inner->prefix.bits && outer->node != inner->node &&
        share_host(homes, outer->node, inner->node)) {
        return;
    }
    pd_topology_findings_add(findings,
                             "nodes[%u].prefixes[%u]: %s overlaps %s, nodes[%u].prefixes[%u]",
                             at->node, at->nth, format_prefix(&at->prefix, a),
                             format_prefix(&other->prefix, b), other->node, other->nth);
}

/* In order of their first address, one that overlaps an earlier one lies inside it, and so inside
 * the last one that is not inside another. */
static int check_prefixes(const struct pd_draft *draft, struct pd_findings *findings)
{
    size_t len = 0;
    struct homes homes = {0};
    struct owned_prefix *all = malloc((draft->addrs_len + 1) * sizeof *all);
    if (!all || collect_homes(draft, &homes)) {
        free(all);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < draft->nodes_len; i++) {
        const struct pd_draft_node *node = &draft->nodes[i];
        for (uint32_t nth = 0; is_switch(node) && nth < node->addrs_len; nth++) {
            all[len++] = (struct owned_prefix){draft->addrs[node->addrs + nth], i, nth};
        }
    }
    qsort(all, len, sizeof *all, compare_prefixes);
    size_t outer = 0;
    for (size_t i = 1; i < len; i++) {
        if (pd_prefix_within(&all[outer].prefix, &all[i].prefix)) {
            check_overlap(&all[outer], &all[i], &homes, findings);
        } else {
            outer = i;
        }
    }
    free(homes.all);
    free(all);
    return 0;
}

/* ---- addresses: of hosts and of the interfaces of switches; each is there once */

/* `node` of an end of a link: behind all nodes, source and target in turn. */
static size_t collect_addrs(const struct pd_draft *draft, struct owned_prefix *all)
{
    size_t len = 0;
    for (uint32_t i = 0; i < draft->nodes_len; i++) {
        const struct pd_draft_node *node = &draft->nodes[i];
        uint32_t first = is_switch(node) ? node->addrs_len : 0;
        uint32_t addrs_len = is_switch(node) ? node->interfaces_len : node->addrs_len;
        for (uint32_t nth = 0; nth < addrs_len; nth++) {
            all[len++] = (struct owned_prefix){draft->addrs[node->addrs + first + nth], i, nth};
        }
    }
    for (uint32_t i = 0; i < draft->links_len; i++) {
        const struct pd_draft_link *link = &draft->links[i];
        uint32_t at = (uint32_t)link->addrs;
        for (uint32_t end = 0; end < 2; at += link->addrs_len[end++]) {
            bool host = link->nodes[end] != PD_NONE && !is_switch(&draft->nodes[link->nodes[end]]);
            uint32_t place = (uint32_t)draft->nodes_len + 2 * i + end;
            for (uint32_t nth = 0; !host && nth < link->addrs_len[end]; nth++) {
                all[len++] = (struct owned_prefix){draft->addrs[at + nth], place, nth};
            }
        }
    }
    return len;
}

static const char *format_place(const struct pd_draft *draft, const struct owned_prefix *addr,
                                char text[64])
{
    static const char *const keys[] = {"source_addrs", "target_addrs"};
    if (addr->node < draft->nodes_len) {
        snprintf(text, 64, "nodes[%u].addrs[%u]", addr->node, addr->nth);
    } else {
        uint32_t end = addr->node - (uint32_t)draft->nodes_len;
        snprintf(text, 64, "links[%u].%s[%u]", end / 2, keys[end % 2], addr->nth);
    }
    return text;
}

static int check_addrs(const struct pd_draft *draft, struct pd_findings *findings)
{
    struct owned_prefix *all = malloc((draft->addrs_len + 1) * sizeof *all);
    if (!all) {
        return -ENOMEM;
    }
    size_t len = collect_addrs(draft, all), first = 0;
    qsort(all, len, sizeof *all, compare_prefixes);
    for (size_t i = 1; i < len; i++) {
        char text[PREFIX_TEXT_BYTES], places[2][64];
        if (!pd_prefix_within(&all[first].prefix, &all[i].prefix)) {
            first = i;
            continue;
        }
        pd_topology_findings_add(
            findings, "%s: %s is also %s", format_place(draft, &all[i], places[0]),
            pd_addr_format(&all[i].prefix.addr, all[i].prefix.ip_version, text),
            format_place(draft, &all[first], places[1]));
    }
    free(all);
    return 0;
}

int pd_topology_draft_check(struct pd_draft *draft, struct pd_findings *findings)
{
    int error = check_ids(draft, findings);
    if (!error) {
        check_ends(draft, findings);
        error = check_twice(draft, findings);
    }
    if (!error) {
        error = check_prefixes(draft, findings);
    }
    if (!error) {
        error = check_addrs(draft, findings);
    }
    return error;
}
