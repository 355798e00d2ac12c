/* SPDX-License-Identifier: Apache-2.0 */
/* Links of a topology: their numbers, then the neighbours and ports of every switch. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/draft.h"
#include "topology/links.h"
#include "topology/lookup.h"

/* A link of the draft, turned forward. Sorted, they are the topology's links. */
struct cable {
    uint32_t ends[2]; /* indexes; of a switch and a host, the switch is the first */
    uint32_t place;   /* in the file */
    bool is_host;
    bool turned; /* ends[0] is the file's target */
};

/* One end of a link, seen from a switch. Sorted, they are the neighbours of all switches. */
struct link_end {
    uint32_t sw;
    uint32_t node; /* the other end: index of a switch or host */
    uint32_t link; /* directed */
    uint16_t port; /* 0: the neighbour's rank */
    bool is_host;
};

struct build_links {
    struct pd_draft *draft;
    struct pd_findings *findings;
    struct pd_topology *topology;
    struct pd_topology_storage *storage;
    struct cable *cables;
    struct link_end *ends;
    size_t ends_len;
};

static uint16_t given_port(const struct build_links *b, const struct cable *cable, int end)
{
    return b->draft->links[cable->place].ports[end != (int)cable->turned];
}

/* ---- numbers */

static struct cable turn(const struct pd_draft *draft, uint32_t place)
{
    const struct pd_draft_link *link = &draft->links[place];
    const struct pd_draft_node *a = &draft->nodes[link->nodes[0]];
    const struct pd_draft_node *b = &draft->nodes[link->nodes[1]];
    bool host = a->role == PD_ROLE_HOST || b->role == PD_ROLE_HOST;
    bool turned = host ? a->role == PD_ROLE_HOST : a->index > b->index;
    return (struct cable){.ends = {turned ? b->index : a->index, turned ? a->index : b->index},
                          .place = place,
                          .is_host = host,
                          .turned = turned};
}

static int compare_cables(const void *a, const void *b, void *context)
{
    const struct build_links *build = context;
    const struct cable *x = a, *y = b;
    if (x->is_host != y->is_host) {
        return x->is_host ? 1 : -1;
    }
    for (int end = 0; end < 2; end++) {
        if (x->ends[end] != y->ends[end]) {
            return x->ends[end] < y->ends[end] ? -1 : 1;
        }
    }
    for (int end = 0; end < 2; end++) {
        int order = (int)given_port(build, x, end) - (int)given_port(build, y, end);
        if (order) {
            return order;
        }
    }
    return (x->place > y->place) - (x->place < y->place);
}

static void fill_link(struct build_links *b, uint32_t i, struct pd_prefix **addrs)
{
    const struct cable *cable = &b->cables[i];
    const struct pd_draft_link *given = &b->draft->links[cable->place];
    struct pd_link *link = &b->storage->links[i];
    *link = (struct pd_link){.ends = {cable->ends[0], cable->ends[1]},
                             .mbps = given->mbps,
                             .addrs = (uint32_t)(*addrs - b->storage->link_addrs),
                             .tag = given->tag,
                             .is_host = cable->is_host};
    for (int end = 0; end < 2; end++) {
        int side = end != (int)cable->turned;
        link->ports[end] = given->ports[side];
        link->cards[end] = given->cards[side];
        link->addrs_len[end] = given->addrs_len[side];
        uint32_t own = given->addrs + (side ? given->addrs_len[0] : 0);
        for (uint32_t nth = 0; nth < given->addrs_len[side]; nth++) {
            *(*addrs)++ = b->draft->addrs[own + nth];
        }
    }
}

static int number_links(struct build_links *b)
{
    const struct pd_draft *draft = b->draft;
    size_t addrs = 0;
    for (uint32_t i = 0; i < draft->links_len; i++) {
        b->cables[i] = turn(draft, i);
        b->topology->fabric_links_len += !b->cables[i].is_host;
        addrs += (size_t)draft->links[i].addrs_len[0] + draft->links[i].addrs_len[1];
    }
    qsort_r(b->cables, draft->links_len, sizeof *b->cables, compare_cables, b);
    b->storage->links = calloc(draft->links_len + 1, sizeof *b->storage->links);
    b->storage->link_addrs = calloc(addrs + 1, sizeof *b->storage->link_addrs);
    if (!b->storage->links || !b->storage->link_addrs) {
        return -ENOMEM;
    }
    struct pd_prefix *at = b->storage->link_addrs;
    for (uint32_t i = 0; i < draft->links_len; i++) {
        fill_link(b, i, &at);
    }
    b->topology->links = b->storage->links;
    b->topology->links_len = (uint32_t)draft->links_len;
    return 0;
}

/* ---- hosts: at which switches */

static int collect_homes(struct build_links *b)
{
    struct pd_topology *topology = b->topology;
    uint32_t host_links = topology->links_len - topology->fabric_links_len;
    uint32_t *homes = b->storage->homes = calloc((size_t)host_links + 1, sizeof *homes);
    uint32_t *room = calloc((size_t)topology->hosts_len + 1, sizeof *room);
    if (!homes || !room) {
        free(room);
        return -ENOMEM;
    }
    for (uint32_t i = topology->fabric_links_len; i < topology->links_len; i++) {
        room[topology->links[i].ends[1]]++;
    }
    for (uint32_t i = 0; i < topology->hosts_len; i++) {
        b->storage->hosts[i].tors = homes;
        homes += room[i];
    }
    free(room);
    /* by switch, so that each host's come in ascending order, parallel ones in a row */
    for (uint32_t i = topology->fabric_links_len; i < topology->links_len; i++) {
        struct pd_host *host = &b->storage->hosts[topology->links[i].ends[1]];
        uint32_t *own = b->storage->homes + (host->tors - b->storage->homes);
        uint32_t sw = topology->links[i].ends[0];
        if (!host->tors_len || own[host->tors_len - 1] != sw) {
            own[host->tors_len++] = sw;
        }
        host->tor = own[0];
    }
    return 0;
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
    if (x->node != y->node) {
        return x->node < y->node ? -1 : 1;
    }
    return (x->link > y->link) - (x->link < y->link);
}

static void collect_ends(struct build_links *b)
{
    for (uint32_t i = 0; i < b->topology->links_len; i++) {
        const struct pd_link *link = &b->topology->links[i];
        for (int end = 0; end < (link->is_host ? 1 : 2); end++) {
            b->ends[b->ends_len++] = (struct link_end){.sw = link->ends[end],
                                                       .node = link->ends[!end],
                                                       .link = 2 * i + (uint32_t)end,
                                                       .port = link->ports[end],
                                                       .is_host = link->is_host};
        }
    }
    qsort(b->ends, b->ends_len, sizeof *b->ends, compare_ends);
}

static uint32_t place_of(const struct build_links *b, const struct link_end *end)
{
    return b->cables[end->link / 2].place;
}

/* As the file calls the port of this end. */
static const char *port_key(const struct build_links *b, const struct link_end *end)
{
    return (end->link & 1) != b->cables[end->link / 2].turned ? "target_port" : "source_port";
}

static int compare_ports(const void *a, const void *b, void *context)
{
    const struct build_links *build = context;
    const struct link_end *x = a, *y = b;
    if (x->port != y->port) {
        return x->port < y->port ? -1 : 1;
    }
    uint32_t first = place_of(build, x), second = place_of(build, y);
    return (first > second) - (first < second);
}

/* Ports of one switch are different. */
static int check_ports(struct build_links *b, const struct link_end *ends, size_t len)
{
    struct link_end *sorted = malloc((len + 1) * sizeof *sorted);
    if (!sorted) {
        return -ENOMEM;
    }
    memcpy(sorted, ends, len * sizeof *sorted);
    qsort_r(sorted, len, sizeof *sorted, compare_ports, b);
    for (size_t i = 1; i < len; i++) {
        if (sorted[i].port == sorted[i - 1].port) {
            pd_topology_findings_add(
                b->findings, "links[%u].%s: port %u of switch %u is also that of links[%u]",
                place_of(b, &sorted[i]), port_key(b, &sorted[i]), sorted[i].port,
                b->topology->switches[sorted[i].sw].id, place_of(b, &sorted[i - 1]));
        }
    }
    free(sorted);
    return 0;
}

/* Parallel links have the same tag, if any: codecs tell only pairs of switches apart. */
static void check_tags(struct build_links *b, const struct link_end *end,
                       const struct pd_neighbour *neighbour)
{
    uint16_t tag = pd_links_of(b->topology, end->link)->tag;
    if (tag && neighbour->link_tag && tag != neighbour->link_tag && !(end->link & 1)) {
        pd_topology_findings_add(b->findings, "links[%u].tag: %u, but a parallel link has %u",
                                 place_of(b, end), tag, neighbour->link_tag);
    }
}

/* Ends of links to one neighbour, in a row; returns how many. */
static size_t fill_neighbour(struct build_links *b, struct link_end *ends, size_t len,
                             uint32_t rank, struct pd_neighbour *ret_neighbour)
{
    size_t n = 0;
    for (; n < len && ends[n].node == ends->node && ends[n].is_host == ends->is_host; n++) {
        struct pd_link *link = &b->storage->links[ends[n].link / 2];
        if (!ends[n].port) {
            ends[n].port = link->ports[ends[n].link & 1] = (uint16_t)rank;
        }
        if (!n) {
            *ret_neighbour = (struct pd_neighbour){.node = ends->node,
                                                   .link = ends->link,
                                                   .port = ends->port,
                                                   .link_tag = link->tag,
                                                   .is_host = ends->is_host};
        }
        check_tags(b, &ends[n], ret_neighbour);
        ret_neighbour->link_tag = ret_neighbour->link_tag ? ret_neighbour->link_tag : link->tag;
        ret_neighbour->parallel++;
    }
    return n;
}

static int fill_switch(struct build_links *b, uint32_t sw, struct link_end *ends, size_t len,
                       struct pd_neighbour **at)
{
    struct pd_switch *entry = &b->storage->switches[sw];
    bool given = false;
    entry->neighbours = *at;
    if (len > PD_NEIGHBOURS_MAX) {
        pd_topology_findings_switch(b->findings, sw, "switch %u has %zu links, expected at most %d",
                                    entry->id, len, PD_NEIGHBOURS_MAX);
        return 0;
    }
    for (size_t i = 0; i < len; i++) {
        given |= ends[i].port != 0;
    }
    for (size_t i = 0; i < len;) {
        i += fill_neighbour(b, ends + i, len - i, ++entry->neighbours_len, *at);
        entry->switch_neighbours += !(*at)->is_host;
        ++*at;
    }
    return given ? check_ports(b, ends, len) : 0;
}

static int fill_neighbours(struct build_links *b)
{
    collect_ends(b);
    struct pd_neighbour *at = b->storage->neighbours =
        calloc(b->ends_len + 1, sizeof *b->storage->neighbours);
    if (!at) {
        return -ENOMEM;
    }
    size_t first = 0;
    for (uint32_t sw = 0; sw < b->topology->switches_len; sw++) {
        size_t end = first;
        while (end < b->ends_len && b->ends[end].sw == sw) {
            end++;
        }
        if (fill_switch(b, sw, b->ends + first, end - first, &at)) {
            return -ENOMEM;
        }
        first = end;
    }
    return 0;
}

int pd_topology_build_links(struct pd_draft *draft, struct pd_findings *findings,
                            struct pd_topology *topology)
{
    struct build_links b = {
        .draft = draft, .findings = findings, .topology = topology, .storage = topology->storage};
    b.cables = malloc((draft->links_len + 1) * sizeof *b.cables);
    b.ends = malloc((2 * draft->links_len + 1) * sizeof *b.ends);
    int error = b.cables && b.ends ? number_links(&b) : -ENOMEM;
    if (!error) {
        error = collect_homes(&b);
    }
    if (!error) {
        error = fill_neighbours(&b);
    }
    free(b.cables);
    free(b.ends);
    return error;
}
