/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated probes: planned paths, and prefixes of those that lose. */
#include "sim/probes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "probe/isolate.h"
#include "probe/plan/plan.h"

enum { PROBE_PORT = 2222, UDP = 17, AGAIN = 5, DEAD = 20 };

/* More ways are looked for after AGAIN probes. A path on which DEAD in a row are missing has not
 * lost them at random: when one arrives, it has come back. */

/* A path from host to host, and its probes since rows were made. */
struct way {
    uint32_t *nodes; /* IDs, hosts at both ends */
    uint32_t *links; /* directed numbers, one fewer */
    uint32_t nodes_len;
    struct pd_flow_id flow;
    uint64_t sent, lost;
    uint64_t total;  /* sent since it is a way */
    uint32_t recent; /* a bit a probe, the newest lowest: it was lost */
};

/* A path of the plan. */
struct planned {
    struct way way;
    uint32_t src;      /* its host */
    uint32_t missing;  /* on end */
    uint64_t *lost_at; /* ticks of the newest PD_SIM_PROBES_LOSSY losses, a ring */
    uint32_t lost_len;
    bool fell_silent, came_back; /* with its last probe */
    struct way *prefixes;        /* while it is isolated */
    size_t prefixes_len, prefixes_room;
    uint64_t isolated; /* tick of the last time that ways were looked for */
};

struct pd_sim_probes {
    const struct pd_topology *topology;
    double rate_hz;
    uint64_t ticks; /* probes that each path has sent */
    struct pd_sim_random random;
    struct pd_plan_graph graph;
    struct pd_plan plan;
    struct planned *planned;
    bool *well;                    /* of each direction of the graph */
    bool *begins_well, *ends_well; /* of each host: with probes that are well */
    bool anew;
    uint32_t hosts_given;
    struct pd_evidence_row *rows;
    struct pd_evidence_way *row_ways;
    size_t rows_room, ways_room;
};

/* ---- ways ---- */

static void way_done(struct way *way)
{
    free(way->nodes);
    free(way->links);
    *way = (struct way){0};
}

/* One of the hosts of a switch, another one each time, rather one whose link is known to be well;
 * PD_NONE: it has none. */
static uint32_t host_at(struct pd_sim_probes *probes, uint32_t sw, const bool *well)
{
    const struct pd_topology *topology = probes->topology;
    uint32_t start = topology->hosts_len ? probes->hosts_given++ % topology->hosts_len : 0;
    uint32_t found = PD_NONE;

    for (uint32_t i = 0; i < topology->hosts_len; i++) {
        uint32_t host = (start + i) % topology->hosts_len;

        if (!pd_host_hangs_at(&topology->hosts[host], sw)) {
            continue;
        }
        if (well[host]) {
            return host;
        }
        found = found == PD_NONE ? host : found;
    }
    return found;
}

static struct pd_flow_id flow_between(const struct pd_host *src, const struct pd_host *dst)
{
    struct pd_flow_id flow = {.src_port = PROBE_PORT, .dst_port = PROBE_PORT, .protocol = UDP};

    if (src->addrs_len && dst->addrs_len) {
        flow.src = src->addrs[0];
        flow.dst = dst->addrs[0];
        flow.ip_version = src->ip_versions[0];
    }
    return flow;
}

/* From a host at the first switch to one at the last. */
static int make_way(const struct pd_sim_probes *probes, uint32_t src, uint32_t dst,
                    const uint32_t *switches, uint32_t hops, struct way *ret_way)
{
    const struct pd_topology *topology = probes->topology;
    uint32_t len = 0;
    struct way way = {.nodes_len = hops + 3};

    if (src == PD_NONE || dst == PD_NONE) {
        return -PD_E_TOPOLOGY;
    }
    way.nodes = calloc(way.nodes_len, sizeof *way.nodes);
    way.links = calloc(way.nodes_len, sizeof *way.links);
    if (!way.nodes || !way.links) {
        way_done(&way);
        return -ENOMEM;
    }
    way.flow = flow_between(&topology->hosts[src], &topology->hosts[dst]);
    way.nodes[len++] = topology->hosts[src].id;
    for (uint32_t i = 0; i <= hops; i++) {
        way.nodes[len++] = topology->switches[switches[i]].id;
    }
    way.nodes[len] = topology->hosts[dst].id;
    for (uint32_t i = 0; i < len; i++) {
        way.links[i] = pd_topology_links_by_ids(topology, way.nodes[i], way.nodes[i + 1], NULL);
    }
    *ret_way = way;
    return 0;
}

/* ---- begin and end ---- */

static void forget_prefixes(struct planned *planned)
{
    for (size_t i = 0; i < planned->prefixes_len; i++) {
        way_done(&planned->prefixes[i]);
    }
    free(planned->prefixes);
    planned->prefixes = NULL;
    planned->prefixes_len = planned->prefixes_room = 0;
}

void pd_sim_probes_free(struct pd_sim_probes *probes)
{
    if (!probes) {
        return;
    }
    for (uint32_t i = 0; probes->planned && i < probes->plan.paths.len; i++) {
        forget_prefixes(&probes->planned[i]);
        way_done(&probes->planned[i].way);
        free(probes->planned[i].lost_at);
    }
    free(probes->planned);
    free(probes->well);
    free(probes->begins_well);
    free(probes->ends_well);
    free(probes->rows);
    free(probes->row_ways);
    pd_plan_done(&probes->plan);
    pd_plan_graph_done(&probes->graph);
    free(probes);
}

static int lay_ways(struct pd_sim_probes *probes)
{
    const struct pd_plan_paths *paths = &probes->plan.paths;
    int err = 0;

    probes->planned = calloc((size_t)paths->len + 1, sizeof *probes->planned);
    probes->well = calloc((size_t)probes->graph.arcs_len + 1, sizeof *probes->well);
    probes->begins_well = calloc((size_t)probes->topology->hosts_len + 1, sizeof(bool));
    probes->ends_well = calloc((size_t)probes->topology->hosts_len + 1, sizeof(bool));
    if (!probes->planned || !probes->well || !probes->begins_well || !probes->ends_well) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < paths->len && !err; i++) {
        struct planned *planned = &probes->planned[i];
        const uint32_t *nodes = pd_plan_path_nodes(paths, i);

        planned->src = host_at(probes, nodes[0], probes->begins_well);
        planned->lost_at = calloc(PD_SIM_PROBES_LOSSY, sizeof *planned->lost_at);
        err = planned->lost_at
                  ? make_way(probes, planned->src,
                             host_at(probes, nodes[paths->paths[i].hops], probes->ends_well), nodes,
                             paths->paths[i].hops, &planned->way)
                  : -ENOMEM;
    }
    return err;
}

int pd_sim_probes_new(const struct pd_sim_scenario *scenario, uint64_t seed,
                      struct pd_sim_probes **ret_probes, struct pd_error *error)
{
    const struct pd_plan_request request = {.topology = scenario->topology,
                                            .mode = PD_PLAN_DIRECTIONS,
                                            .max_hops = scenario->probe_max_hops};
    struct pd_sim_probes *probes;
    int err;

    *ret_probes = NULL;
    if (!(scenario->probe_rate_hz > 0)) {
        return 0;
    }
    probes = calloc(1, sizeof *probes);
    if (!probes) {
        return pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    probes->topology = scenario->topology;
    probes->rate_hz = scenario->probe_rate_hz;
    probes->random.state = ~seed;
    err = pd_plan_graph_init(&probes->graph, scenario->topology, NULL, 0);
    if (!err) {
        pd_plan_hosts(scenario->topology, probes->graph.hosts);
        err = pd_plan_make(&request, &probes->plan);
    }
    err = err ? err : lay_ways(probes);
    if (err) {
        pd_sim_probes_free(probes);
        return pd_fail(error, err, "probes: %s", pd_error_text(err));
    }
    *ret_probes = probes;
    return 0;
}

/* ---- probes ---- */

static bool arrives(struct pd_sim_probes *probes, struct pd_sim_net *net, struct way *way)
{
    bool well = true;

    way->sent++;
    way->total++;
    for (uint32_t i = 0; i + 1 < way->nodes_len && well; i++) {
        well = !pd_sim_net_drops(net, way->links[i], &way->flow, &probes->random);
    }
    way->lost += !well;
    way->recent = way->recent << 1 | !well;
    return well;
}

/* Whether a path lost enough of its probes of the last second. */
static bool is_suspected(const struct pd_sim_probes *probes, const struct planned *planned)
{
    uint64_t oldest = planned->lost_at[planned->lost_len % PD_SIM_PROBES_LOSSY];

    return planned->missing >= PD_SIM_PROBES_SILENT ||
           (planned->lost_len >= PD_SIM_PROBES_LOSSY &&
            (double)(probes->ticks - oldest) <= probes->rate_hz);
}

static void set_well(struct pd_sim_probes *probes, const struct way *way, bool well)
{
    for (uint32_t i = 1; i + 2 < way->nodes_len; i++) {
        uint32_t from = pd_topology_switch(probes->topology, way->nodes[i]);
        uint32_t to = pd_topology_switch(probes->topology, way->nodes[i + 1]);
        uint32_t arc = pd_plan_arc_between(&probes->graph, from, to, NULL);

        if (arc != PD_NONE) {
            probes->well[arc] |= well;
        }
    }
    probes->begins_well[pd_topology_host(probes->topology, way->nodes[0])] |= well;
    probes->ends_well[pd_topology_host(probes->topology, way->nodes[way->nodes_len - 1])] |= well;
}

/* What all of the newest few probes on some way have crossed. */
static void find_well(struct pd_sim_probes *probes)
{
    memset(probes->well, 0, probes->graph.arcs_len);
    memset(probes->begins_well, 0, probes->topology->hosts_len);
    memset(probes->ends_well, 0, probes->topology->hosts_len);
    for (uint32_t i = 0; i < probes->plan.paths.len; i++) {
        const struct planned *planned = &probes->planned[i];

        set_well(probes, &planned->way, !planned->missing && !is_suspected(probes, planned));
        for (size_t p = 0; p < planned->prefixes_len; p++) {
            const struct way *way = &planned->prefixes[p];

            set_well(probes, way, way->total >= AGAIN && !(way->recent & ((1U << AGAIN) - 1)));
        }
    }
}

/* To the first switch of a way and back, where nothing else tells that the link of its host is
 * well, up and down; likewise at its end. */
static int add_ends(struct pd_sim_probes *probes, struct planned *planned, const struct way *way)
{
    const uint32_t ends[][2] = {{way->nodes[0], way->nodes[1]},
                                {way->nodes[way->nodes_len - 1], way->nodes[way->nodes_len - 2]}};
    int err = 0;

    for (size_t e = 0; e < 2 && !err; e++) {
        uint32_t host = pd_topology_host(probes->topology, ends[e][0]);
        uint32_t sw = pd_topology_switch(probes->topology, ends[e][1]);

        if (probes->begins_well[host] && probes->ends_well[host]) {
            continue;
        }
        probes->begins_well[host] = probes->ends_well[host] = true;
        err = make_way(probes, host, host, &sw, 0, &planned->prefixes[planned->prefixes_len]);
        planned->prefixes_len += !err;
    }
    return err;
}

static bool is_there(const struct planned *planned, const struct way *way)
{
    for (size_t i = 0; i < planned->prefixes_len; i++) {
        const struct way *other = &planned->prefixes[i];

        if (other->nodes_len == way->nodes_len &&
            !memcmp(other->nodes + 1, way->nodes + 1, (way->nodes_len - 2) * sizeof *way->nodes)) {
            return true;
        }
    }
    return false;
}

static int add_prefix(struct pd_sim_probes *probes, struct planned *planned,
                      const uint32_t *switches, uint32_t hops)
{
    uint32_t first = pd_topology_switch(probes->topology, planned->way.nodes[1]);
    uint32_t src =
        switches[0] == first ? planned->src : host_at(probes, switches[0], probes->begins_well);
    struct way *way = &planned->prefixes[planned->prefixes_len];
    int err = make_way(probes, src, host_at(probes, switches[hops], probes->ends_well), switches,
                       hops, way);

    if (!err && is_there(planned, way)) {
        way_done(way);
        return 0;
    }
    planned->prefixes_len += !err;
    return err ? err : add_ends(probes, planned, way);
}

/* Each way may bring two for the hosts at its ends. */
static int isolate(struct pd_sim_probes *probes, uint32_t at)
{
    const struct pd_plan_paths *paths = &probes->plan.paths;
    struct planned *planned = &probes->planned[at];
    struct pd_plan_paths prefixes;

    find_well(probes);
    int err = pd_probe_isolate(&probes->graph, pd_plan_path_nodes(paths, at), paths->paths[at].hops,
                               probes->well, &prefixes);
    err = err || !PD_GROW(planned->prefixes, planned->prefixes_room,
                          planned->prefixes_len + 3 * (size_t)prefixes.len + 3)
              ? err
              : -ENOMEM;
    planned->isolated = probes->ticks;
    err = err ? err : add_ends(probes, planned, &planned->way);
    for (uint32_t i = 0; i < prefixes.len && !err; i++) {
        err = add_prefix(probes, planned, pd_plan_path_nodes(&prefixes, i), prefixes.paths[i].hops);
    }
    pd_plan_paths_done(&prefixes);
    return err;
}

/* The newest probes of a way alone count. */
static void count_anew(struct way *way, uint32_t probes)
{
    way->sent = way->sent < probes ? way->sent : probes;
    way->lost = (uint64_t)__builtin_popcount(way->recent & ((1U << way->sent) - 1));
}

/* A path fell silent with its last `probes` probes, or came back with them. */
static void begin_anew(struct pd_sim_probes *probes, uint32_t newest)
{
    probes->anew = true;
    for (uint32_t i = 0; i < probes->plan.paths.len; i++) {
        struct planned *planned = &probes->planned[i];

        count_anew(&planned->way, newest);
        for (size_t p = 0; p < planned->prefixes_len; p++) {
            count_anew(&planned->prefixes[p], newest);
        }
    }
}

/* The next probe of a path and of its prefixes. */
static void probe(struct pd_sim_probes *probes, struct pd_sim_net *net, struct planned *planned)
{
    uint32_t missing = planned->missing;
    bool was_well = !planned->prefixes;

    planned->missing = arrives(probes, net, &planned->way) ? 0 : missing + 1;
    if (planned->missing) {
        planned->lost_at[planned->lost_len++ % PD_SIM_PROBES_LOSSY] = probes->ticks;
    }
    for (size_t p = 0; p < planned->prefixes_len; p++) {
        arrives(probes, net, &planned->prefixes[p]);
    }
    planned->fell_silent = was_well && planned->missing == PD_SIM_PROBES_SILENT;
    planned->came_back = !planned->missing && missing >= DEAD;
}

/* One probe on each path, and on the prefixes of those that are suspected. */
static int tick(struct pd_sim_probes *probes, struct pd_sim_net *net)
{
    int err = 0;

    probes->ticks++;
    for (uint32_t i = 0; i < probes->plan.paths.len; i++) {
        probe(probes, net, &probes->planned[i]);
    }
    for (uint32_t i = 0; i < probes->plan.paths.len; i++) {
        const struct planned *planned = &probes->planned[i];

        if (planned->fell_silent || planned->came_back) {
            begin_anew(probes, planned->came_back ? 1 : PD_SIM_PROBES_SILENT);
        }
    }
    for (uint32_t i = 0; i < probes->plan.paths.len && !err; i++) {
        struct planned *planned = &probes->planned[i];

        if (is_suspected(probes, planned) &&
            (!planned->prefixes || probes->ticks == planned->isolated + AGAIN)) {
            err = isolate(probes, i);
        }
    }
    return err;
}

int pd_sim_probes_advance(struct pd_sim_probes *probes, struct pd_sim_net *net, double until_s)
{
    int err = 0;

    for (uint32_t i = 0; i < probes->plan.paths.len; i++) {
        if (!is_suspected(probes, &probes->planned[i])) {
            forget_prefixes(&probes->planned[i]);
        }
    }
    while (!err && (double)(probes->ticks + 1) <= until_s * probes->rate_hz + 1e-9) {
        err = tick(probes, net);
    }
    return err;
}

/* ---- rows ---- */

static void add_row(struct pd_sim_probes *probes, struct way *way, size_t *at)
{
    if (!way->sent) {
        return;
    }
    probes->row_ways[*at] = (struct pd_evidence_way){.nodes = way->nodes,
                                                     .nodes_len = way->nodes_len,
                                                     .reached = true,
                                                     .origin = PD_EVIDENCE_FROM_PROBE,
                                                     .pkts = way->sent};
    probes->rows[*at] = (struct pd_evidence_row){.kind = PD_EVIDENCE_PATH,
                                                 .pkts = way->sent,
                                                 .lost = way->lost,
                                                 .ways = &probes->row_ways[*at],
                                                 .ways_len = 1};
    way->sent = way->lost = 0;
    ++*at;
}

int pd_sim_probes_rows(struct pd_sim_probes *probes, const struct pd_evidence_row **ret_rows,
                       size_t *ret_len, bool *ret_anew)
{
    size_t most = probes->plan.paths.len, len = 0;

    for (uint32_t i = 0; i < probes->plan.paths.len; i++) {
        most += probes->planned[i].prefixes_len;
    }
    if (PD_GROW(probes->rows, probes->rows_room, most + 1) ||
        PD_GROW(probes->row_ways, probes->ways_room, most + 1)) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < probes->plan.paths.len; i++) {
        struct planned *planned = &probes->planned[i];

        add_row(probes, &planned->way, &len);
        for (size_t p = 0; p < planned->prefixes_len; p++) {
            add_row(probes, &planned->prefixes[p], &len);
        }
    }
    *ret_rows = probes->rows;
    *ret_len = len;
    *ret_anew = probes->anew;
    probes->anew = false;
    return 0;
}
