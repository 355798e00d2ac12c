/* SPDX-License-Identifier: Apache-2.0 */
/* From a draft to a topology: compact arrays, racks, and the checks that need the graph. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/draft.h"
#include "topology/lookup.h"
#include "topology/shape.h"

struct build {
    struct pd_draft *draft;
    struct pd_findings *findings;
    struct pd_topology *topology;
    struct pd_topology_storage *storage;
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
        pd_topology_findings_add(b->findings, "nodes: there is no switch");
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
    size_t prefixes = 0, addrs = 0, interfaces = 0;
    for (size_t i = 0; i < draft->nodes_len; i++) {
        *(is_host(&draft->nodes[i]) ? &addrs : &prefixes) += draft->nodes[i].addrs_len;
        interfaces += draft->nodes[i].interfaces_len;
    }
    storage->switches = calloc(b->topology->switches_len + 1, sizeof *storage->switches);
    storage->hosts = calloc(b->topology->hosts_len + 1, sizeof *storage->hosts);
    storage->prefixes = calloc(prefixes + 1, sizeof *storage->prefixes);
    storage->addrs = calloc(addrs + 1, sizeof *storage->addrs);
    storage->ip_versions = calloc(addrs + 1, sizeof *storage->ip_versions);
    storage->strings = malloc(draft->strings_bytes);
    storage->codecs = calloc(draft->codecs_len + 1, sizeof *storage->codecs);
    storage->switch_addrs = calloc(interfaces + 1, sizeof *storage->switch_addrs);
    if (!storage->switches || !storage->hosts || !storage->prefixes || !storage->addrs ||
        !storage->ip_versions || !storage->strings || !storage->codecs || !storage->switch_addrs) {
        return -ENOMEM;
    }
    memcpy(storage->strings, draft->strings, draft->strings_bytes);
    return 0;
}

static void fill_switches(struct build *b)
{
    const struct pd_draft *draft = b->draft;
    struct pd_topology_storage *storage = b->storage;
    struct pd_prefix *prefix = storage->prefixes, *addr = storage->switch_addrs;
    for (uint32_t i = 0; i < b->topology->switches_len; i++) {
        const struct pd_draft_node *node = &draft->nodes[draft->by_id[i]];
        storage->switches[i] =
            (struct pd_switch){.id = node->id,
                               .role = node->role,
                               .pod = node->pod,
                               .position = node->position,
                               .name = storage->strings + node->name,
                               .prefixes = prefix,
                               .prefixes_len = node->addrs_len,
                               .addrs = addr,
                               .addrs_len = node->interfaces_len,
                               .x = node->x,
                               .y = node->y,
                               .ioam_id = node->ioam_id ? node->ioam_id : node->id,
                               .dpid = node->dpid ? node->dpid : node->id,
                               .path_id = node->path_id ? node->path_id : node->id,
                               .sid = node->sid};
        for (uint32_t nth = 0; nth < node->addrs_len; nth++) {
            *prefix++ = draft->addrs[node->addrs + nth];
        }
        for (uint32_t nth = 0; nth < node->interfaces_len; nth++) {
            *addr++ = draft->addrs[node->addrs + node->addrs_len + nth];
        }
    }
}

static void fill_hosts(struct build *b)
{
    const struct pd_draft *draft = b->draft;
    struct pd_topology_storage *storage = b->storage;
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
}

static void fill_nodes(struct build *b)
{
    const struct pd_draft *draft = b->draft;
    struct pd_topology_storage *storage = b->storage;
    fill_switches(b);
    fill_hosts(b);
    for (uint32_t i = 0; i < draft->codecs_len; i++) {
        const struct pd_draft_codec *codec = &draft->codecs[i];
        storage->codecs[i] = (struct pd_codec_choice){.name = storage->strings + codec->name,
                                                      .options = storage->strings + codec->options,
                                                      .tpid = codec->tpid,
                                                      .max_hops = codec->max_hops,
                                                      .edge = codec->edge};
    }
    b->topology->name = storage->strings + draft->name;
    b->topology->codecs = storage->codecs;
    b->topology->codecs_len = draft->codecs_len;
    b->topology->codec = draft->codecs_len ? storage->codecs[0].name : "";
    b->topology->switches = storage->switches;
    b->topology->hosts = storage->hosts;
}

/* ---- checks of the whole */

/* One of the host's switches has the address in its prefixes. */
static bool in_rack(const struct pd_topology *topology, const struct pd_host *host, uint32_t nth)
{
    struct pd_prefix addr = {.addr = host->addrs[nth],
                             .ip_version = host->ip_versions[nth],
                             .bits = host->ip_versions[nth] == 4 ? 32 : 128};
    for (uint32_t i = 0; i < host->tors_len; i++) {
        const struct pd_switch *tor = &topology->switches[host->tors[i]];
        for (uint32_t p = 0; p < tor->prefixes_len; p++) {
            if (pd_prefix_within(&tor->prefixes[p], &addr)) {
                return true;
            }
        }
    }
    return false;
}

static void check_hosts(const struct build *b)
{
    const struct pd_topology *topology = b->topology;
    for (uint32_t i = 0; i < topology->hosts_len; i++) {
        const struct pd_host *host = &topology->hosts[i];
        uint32_t place = b->draft->by_id[topology->switches_len + i];
        if (host->tors_len < 1 || host->tors_len > PD_HOMES_MAX) {
            pd_topology_findings_add(b->findings,
                                     "nodes[%u]: host %u hangs at %u switches, expected 1 to %d",
                                     place, host->id, host->tors_len, PD_HOMES_MAX);
            continue;
        }
        for (uint32_t nth = 0; nth < host->addrs_len; nth++) {
            char text[PD_ADDR_TEXT_BYTES];
            if (!in_rack(topology, host, nth)) {
                pd_topology_findings_add(
                    b->findings,
                    "nodes[%u].addrs[%u]: %s lies outside the prefixes of its rack, switch %u",
                    place, nth, pd_addr_format(&host->addrs[nth], host->ip_versions[nth], text),
                    topology->switches[host->tor].id);
            }
        }
    }
}

/* Marks what is reachable from `from`. */
static void flood(const struct pd_topology *topology, uint32_t from, bool *marks, uint32_t *queue)
{
    uint32_t head = 0, tail = 0;
    queue[tail++] = from;
    marks[from] = true;
    while (head < tail) {
        const struct pd_switch *sw = &topology->switches[queue[head++]];
        for (uint32_t i = 0; i < sw->switch_neighbours; i++) {
            if (!marks[sw->neighbours[i].node]) {
                marks[sw->neighbours[i].node] = true;
                queue[tail++] = sw->neighbours[i].node;
            }
        }
    }
}

static int count_components(struct pd_topology *topology)
{
    bool *marks = calloc((size_t)topology->switches_len + 1, sizeof *marks);
    uint32_t *queue = malloc(((size_t)topology->switches_len + 1) * sizeof *queue);
    for (uint32_t i = 0; marks && queue && i < topology->switches_len; i++) {
        if (!marks[i]) {
            flood(topology, i, marks, queue);
            topology->components++;
        }
    }
    bool done = marks && queue;
    free(marks);
    free(queue);
    return done ? 0 : -ENOMEM;
}

static int build(struct build *b)
{
    int error = pd_topology_draft_check(b->draft, b->findings);
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
    error = pd_topology_build_links(b->draft, b->findings, b->topology);
    if (!error) {
        error = pd_topology_rack_table_init(&b->storage->racks, b->topology);
    }
    if (error) {
        return error;
    }
    check_hosts(b);
    if (b->findings->len) {
        return 0;
    }
    error = pd_topology_address_tables_init(b->storage, b->topology);
    if (!error) {
        error = pd_topology_other_ids_init(b->storage, b->topology, b->findings);
    }
    if (!error) {
        error = count_components(b->topology);
    }
    return error ? error : pd_topology_shape_check(b->topology, b->findings);
}

int pd_topology_build(struct pd_draft *draft, struct pd_findings *findings,
                      struct pd_topology **ret_topology)
{
    struct build b = {.draft = draft, .findings = findings};
    b.topology = calloc(1, sizeof *b.topology);
    int error = b.topology ? build(&b) : -ENOMEM;
    if (error || findings->len) {
        pd_topology_free(b.topology);
    } else {
        *ret_topology = b.topology;
    }
    return error;
}
