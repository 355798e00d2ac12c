/* SPDX-License-Identifier: Apache-2.0 */
/* From a draft to a topology: compact arrays, ports, racks, and the checks that need the graph. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/draft.h"
#include "topology/lookup.h"
#include "topology/shape.h"

/* One end of a link, seen from a switch. Sorted, they are the neighbours of all switches. */
struct link_end {
    uint32_t sw;
    uint32_t node; /* the other end: index of a switch or host */
    uint32_t link; /* place in the file */
    uint16_t port; /* 0: the neighbour's rank */
    bool is_host;
    bool is_target; /* `sw` is the link's target */
};

struct build {
    struct pd_draft *draft;
    struct pd_findings *findings;
    struct pd_topology *topology;
    struct pd_topology_storage *storage;
    struct link_end *ends;
    size_t ends_len;
    uint32_t *host_links; /* how many links each host has */
};

static bool is_host(const struct pd_draft_node *node)
{
    return node->role == PD_ROLE_HOST;
}

/* Puts switches in front of hosts and gives each its index. */
static int number_nodes(struct build *b)
{
    struct pd_draft *draft = b->draft;
    uint32_t *order = malloc((draft->nodes_len + 1) * sizeof *order);
    if (!order) {
        return -ENOMEM;
    }
    uint32_t switches = 0, hosts = 0;
    for (size_t i = 0; i < draft->nodes_len; i++) {
        switches += !is_host(&draft->nodes[i]);
    }
    b->topology->switches_len = switches;
    b->topology->hosts_len = (uint32_t)draft->nodes_len - switches;
    for (size_t i = 0; i < draft->nodes_len; i++) {
        struct pd_draft_node *node = &draft->nodes[draft->by_id[i]];
        node->index = is_host(node) ? hosts++ : (uint32_t)i - hosts;
        order[is_host(node) ? switches + node->index : node->index] = draft->by_id[i];
    }
    free(draft->by_id);
    draft->by_id = order;
    if (!switches) {
        pd_findings_add(b->findings, "nodes: there is no switch");
    }
    return 0;
}

static int allocate(struct build *b)
{
    const struct pd_draft *draft = b->draft;
    struct pd_topology_storage *storage = calloc(1, sizeof *storage);
    if (!storage) {
        return -ENOMEM;
    }
    b->topology->storage = b->storage = storage;
    size_t prefixes = 0;
    for (size_t i = 0; i < draft->nodes_len; i++) {
        prefixes += is_host(&draft->nodes[i]) ? 0 : draft->nodes[i].addrs_len;
    }
    size_t addrs = draft->addrs_len - prefixes;
    storage->switches = calloc(b->topology->switches_len + 1, sizeof *storage->switches);
    storage->hosts = calloc(b->topology->hosts_len + 1, sizeof *storage->hosts);
    storage->prefixes = calloc(prefixes + 1, sizeof *storage->prefixes);
    storage->addrs = calloc(addrs + 1, sizeof *storage->addrs);
    storage->ip_versions = calloc(addrs + 1, sizeof *storage->ip_versions);
    storage->strings = malloc(draft->strings_bytes);
    b->ends = malloc((2 * draft->links_len + 1) * sizeof *b->ends);
    b->host_links = calloc(b->topology->hosts_len + 1, sizeof *b->host_links);
    if (!storage->switches || !storage->hosts || !storage->prefixes || !storage->addrs ||
        !storage->ip_versions || !storage->strings || !b->ends || !b->host_links) {
        return -ENOMEM;
    }
    memcpy(storage->strings, draft->strings, draft->strings_bytes);
    return 0;
}

static void fill_nodes(struct build *b)
{
    const struct pd_draft *draft = b->draft;
    struct pd_topology_storage *storage = b->storage;
    struct pd_prefix *prefix = storage->prefixes;
    for (uint32_t i = 0; i < b->topology->switches_len; i++) {
        const struct pd_draft_node *node = &draft->nodes[draft->by_id[i]];
        storage->switches[i] = (struct pd_switch){.id = node->id,
                                                  .role = node->role,
                                                  .pod = node->pod,
                                                  .name = storage->strings + node->name,
                                                  .prefixes = prefix,
                                                  .prefixes_len = node->addrs_len};
        for (uint32_t nth = 0; nth < node->addrs_len; nth++) {
            *prefix++ = draft->addrs[node->addrs + nth];
        }
    }
    size_t addr = 0;
    for (uint32_t i = 0; i < b->topology->hosts_len; i++) {
        const struct pd_draft_node *node =
            &draft->nodes[draft->by_id[b->topology->switches_len + i]];
        storage->hosts[i] = (struct pd_host){.id = node->id,
                                             .name = storage->strings + node->name,
                                             .addrs = storage->addrs + addr,
                                             .ip_versions = storage->ip_versions + addr,
                                             .addrs_len = node->addrs_len};
        for (uint32_t nth = 0; nth < node->addrs_len; nth++, addr++) {
            storage->addrs[addr] = draft->addrs[node->addrs + nth].addr;
            storage->ip_versions[addr] = draft->addrs[node->addrs + nth].ip_version;
        }
    }
    b->topology->name = storage->strings + draft->name;
    b->topology->codec = storage->strings + draft->codec;
    b->topology->switches = storage->switches;
    b->topology->hosts = storage->hosts;
}

/* ---- neighbours and ports */

static int compare_ends(const void *a, const void *b)
{
    const struct link_end *x = a, *y = b;
    if (x->sw != y->sw) {
        return x->sw < y->sw ? -1 : 1;
    }
    if (x->is_host != y->is_host) {
        return x->is_host ? 1 : -1;
    }
    return x->node < y->node ? -1 : 1;
}

static void collect_ends(struct build *b)
{
    const struct pd_draft *draft = b->draft;
    for (size_t i = 0; i < draft->links_len; i++) {
        for (int end = 0; end < 2; end++) {
            const struct pd_draft_link *link = &draft->links[i];
            const struct pd_draft_node *at = &draft->nodes[link->nodes[end]];
            const struct pd_draft_node *other = &draft->nodes[link->nodes[!end]];
            if (is_host(at)) {
                b->host_links[at->index]++;
                b->storage->hosts[at->index].tor = other->index;
            } else {
                b->ends[b->ends_len++] =
                    (struct link_end){at->index,        other->index,   (uint32_t)i,
                                      link->ports[end], is_host(other), end == 1};
            }
        }
    }
    qsort(b->ends, b->ends_len, sizeof *b->ends, compare_ends);
}

static int compare_ports(const void *a, const void *b)
{
    const struct link_end *x = a, *y = b;
    return x->port != y->port ? (x->port < y->port ? -1 : 1)
                              : (x->link > y->link) - (x->link < y->link);
}

/* Ports of one switch are different. */
static int check_ports(const struct build *b, const struct link_end *ends, size_t len)
{
    struct link_end *sorted = malloc((len + 1) * sizeof *sorted);
    if (!sorted) {
        return -ENOMEM;
    }
    memcpy(sorted, ends, len * sizeof *sorted);
    qsort(sorted, len, sizeof *sorted, compare_ports);
    for (size_t i = 1; i < len; i++) {
        if (sorted[i].port == sorted[i - 1].port) {
            pd_findings_add(
                b->findings, "links[%u].%s: port %u of switch %u is also that of links[%u]",
                sorted[i].link, sorted[i].is_target ? "target_port" : "source_port", sorted[i].port,
                b->topology->switches[sorted[i].sw].id, sorted[i - 1].link);
        }
    }
    free(sorted);
    return 0;
}

static int fill_switch(struct build *b, uint32_t sw, struct link_end *ends, size_t len,
                       size_t first)
{
    struct pd_switch *entry = &b->storage->switches[sw];
    struct pd_neighbour *neighbours = b->storage->neighbours + first;
    bool given = false;
    if (len > PD_NEIGHBOURS_MAX) {
        pd_findings_switch(b->findings, sw, "switch %u has %zu links, expected at most %d",
                           entry->id, len, PD_NEIGHBOURS_MAX);
    }
    for (size_t i = 0; i < len && len <= PD_NEIGHBOURS_MAX; i++) {
        given |= ends[i].port != 0;
        if (!ends[i].port) {
            ends[i].port = (uint16_t)(i + 1);
        }
        neighbours[i] = (struct pd_neighbour){ends[i].node, ends[i].port,
                                              b->draft->links[ends[i].link].tag, ends[i].is_host};
        entry->switch_neighbours += !ends[i].is_host;
    }
    entry->neighbours = neighbours;
    entry->neighbours_len = (uint32_t)len;
    return given ? check_ports(b, ends, len) : 0;
}

static int fill_neighbours(struct build *b)
{
    collect_ends(b);
    b->storage->neighbours = calloc(b->ends_len + 1, sizeof *b->storage->neighbours);
    if (!b->storage->neighbours) {
        return -ENOMEM;
    }
    size_t first = 0;
    for (uint32_t sw = 0; sw < b->topology->switches_len; sw++) {
        size_t end = first;
        while (end < b->ends_len && b->ends[end].sw == sw) {
            end++;
        }
        if (fill_switch(b, sw, b->ends + first, end - first, first)) {
            return -ENOMEM;
        }
        first = end;
    }
    return 0;
}

/* ---- checks of the whole */

static void check_hosts(const struct build *b)
{
    const struct pd_topology *topology = b->topology;
    for (uint32_t i = 0; i < topology->hosts_len; i++) {
        const struct pd_host *host = &topology->hosts[i];
        uint32_t place = b->draft->by_id[topology->switches_len + i];
        if (b->host_links[i] != 1) {
            pd_findings_add(b->findings, "nodes[%u]: host %u has %u links, expected 1", place,
                            host->id, b->host_links[i]);
            continue;
        }
        for (uint32_t nth = 0; nth < host->addrs_len; nth++) {
            char text[PD_ADDR_TEXT_BYTES];
            if (pd_topology_tor_of(topology, &host->addrs[nth], host->ip_versions[nth]) !=
                host->tor) {
                pd_findings_add(
                    b->findings,
                    "nodes[%u].addrs[%u]: %s lies outside the prefixes of its rack, switch %u",
                    place, nth, pd_addr_format(&host->addrs[nth], host->ip_versions[nth], text),
                    topology->switches[host->tor].id);
            }
        }
    }
}

/* Marks what is reachable from `from` with `mark`; returns how many switches that are. */
static uint32_t flood(const struct pd_topology *topology, uint32_t from, uint32_t mark,
                      uint32_t *marks, uint32_t *queue)
{
    uint32_t head = 0, tail = 0;
    queue[tail++] = from;
    marks[from] = mark;
    while (head < tail) {
        const struct pd_switch *sw = &topology->switches[queue[head++]];
        for (uint32_t i = 0; i < sw->switch_neighbours; i++) {
            if (!marks[sw->neighbours[i].node]) {
                marks[sw->neighbours[i].node] = mark;
                queue[tail++] = sw->neighbours[i].node;
            }
        }
    }
    return tail;
}

/* Every switch outside the largest connected part is a finding. */
static int check_reachable(const struct build *b)
{
    const struct pd_topology *topology = b->topology;
    uint32_t *marks = calloc(2 * (size_t)topology->switches_len + 1, sizeof *marks);
    if (!marks) {
        return -ENOMEM;
    }
    uint32_t main_part = 0, largest = 0;
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        uint32_t reached =
            marks[i] ? 0 : flood(topology, i, i + 1, marks, marks + topology->switches_len);
        if (reached > largest) {
            largest = reached;
            main_part = i;
        }
    }
    for (uint32_t i = 0; i < topology->switches_len; i++) {
        if (marks[i] != main_part + 1) {
            pd_findings_switch(b->findings, i, "switch %u cannot be reached from switch %u",
                               topology->switches[i].id, topology->switches[main_part].id);
        }
    }
    free(marks);
    return 0;
}

static int build(struct build *b)
{
    int error = pd_draft_check(b->draft, b->findings);
    if (error || b->findings->len) {
        return error;
    }
    error = number_nodes(b);
    if (!error) {
        error = allocate(b);
    }
    if (error || b->findings->len) {
        return error;
    }
    fill_nodes(b);
    error = fill_neighbours(b);
    if (!error) {
        error = pd_rack_table_init(&b->storage->racks, b->topology);
    }
    if (error) {
        return error;
    }
    check_hosts(b);
    error = check_reachable(b);
    if (error || b->findings->len) {
        return error;
    }
    return pd_shape_check(b->topology, b->findings);
}

int pd_topology_build(struct pd_draft *draft, struct pd_findings *findings,
                      struct pd_topology **ret_topology)
{
    struct build b = {.draft = draft, .findings = findings};
    b.topology = calloc(1, sizeof *b.topology);
    int error = b.topology ? build(&b) : -ENOMEM;
    free(b.ends);
    free(b.host_links);
    if (error || findings->len) {
        pd_topology_free(b.topology);
    } else {
        *ret_topology = b.topology;
    }
    return error;
}
