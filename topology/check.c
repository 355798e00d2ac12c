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
            pd_findings_add(findings, "nodes[%u].id: %u is also the ID of nodes[%u]", node, id,
                            draft->by_id[first]);
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
    if (is_switch(a) && is_switch(b)) {
        return;
    }
    const struct pd_draft_node *host = is_switch(a) ? b : a, *other = is_switch(a) ? a : b;
    if (!pd_role_is_tor(other->role)) {
        pd_findings_add(findings,
                        "links[%zu]: joins host %u and %s %u, expected a ToR or leaf for a host",
                        at, host->id, pd_role_name(other->role), other->id);
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
                pd_findings_add(findings, "links[%zu].%s: no node has the ID %u", i, keys[end],
                                link->ids[end]);
            }
        }
        if (link->ids[0] == link->ids[1]) {
            pd_findings_add(findings, "links[%zu]: joins node %u with itself", i, link->ids[0]);
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
        if (same_ends(&draft->links[order[first]], link)) {
            pd_findings_add(findings, "links[%u]: %u – %u is given already as links[%u]", order[i],
                            link->ids[0], link->ids[1], order[first]);
        } else {
            first = i;
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

static void report_overlap(const struct owned_prefix *outer, const struct owned_prefix *inner,
                           bool hosts, struct pd_findings *findings)
{
    char a[PREFIX_TEXT_BYTES], b[PREFIX_TEXT_BYTES];
    bool later =
        inner->node > outer->node || (inner->node == outer->node && inner->nth > outer->nth);
    const struct owned_prefix *at = later ? inner : outer, *other = later ? outer : inner;
    if (hosts) {
        pd_findings_add(findings, "nodes[%u].addrs[%u]: %s is also nodes[%u].addrs[%u]", at->node,
                        at->nth, pd_addr_format(&at->prefix.addr, at->prefix.ip_version, a),
                        other->node, other->nth);
    } else {
        pd_findings_add(findings, "nodes[%u].prefixes[%u]: %s overlaps %s, nodes[%u].prefixes[%u]",
                        at->node, at->nth, format_prefix(&at->prefix, a),
                        format_prefix(&other->prefix, b), other->node, other->nth);
    }
}

/* Prefixes of racks, or addresses of hosts: in order of their first address, one that overlaps an
 * earlier one lies inside it, and so inside the last one that is not inside another. */
static int check_overlaps(const struct pd_draft *draft, bool hosts, struct pd_findings *findings)
{
    size_t len = 0;
    struct owned_prefix *all = malloc((draft->addrs_len + 1) * sizeof *all);
    if (!all) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < draft->nodes_len; i++) {
        const struct pd_draft_node *node = &draft->nodes[i];
        for (uint32_t nth = 0; is_switch(node) != hosts && nth < node->addrs_len; nth++) {
            all[len++] = (struct owned_prefix){draft->addrs[node->addrs + nth], i, nth};
        }
    }
    qsort(all, len, sizeof *all, compare_prefixes);
    size_t outer = 0;
    for (size_t i = 1; i < len; i++) {
        if (pd_prefix_within(&all[outer].prefix, &all[i].prefix)) {
            report_overlap(&all[outer], &all[i], hosts, findings);
        } else {
            outer = i;
        }
    }
    free(all);
    return 0;
}

int pd_draft_check(struct pd_draft *draft, struct pd_findings *findings)
{
    int error = check_ids(draft, findings);
    if (!error) {
        check_ends(draft, findings);
        error = check_twice(draft, findings);
    }
    if (!error) {
        error = check_overlaps(draft, false, findings);
    }
    if (!error) {
        error = check_overlaps(draft, true, findings);
    }
    return error;
}
