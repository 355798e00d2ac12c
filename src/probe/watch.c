/* SPDX-License-Identifier: Apache-2.0 */
/* Planned ways, what their probes tell, and the further ways of those that lose. */
#include "probe/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "probe/isolate.h"
#include "probe/order.h"
#include "telemetry/telemetry.h"
#include "topology/links.h"

enum { UDP = 17, AGAIN = 5, DEAD = 20, HINT = 20 };

/* More ways are looked for after AGAIN probes. A path on which DEAD in a row are missing has not
 * lost them at random: when one arrives, it has come back.
 * A hint is worth that many calls of pd_probe_watch_forget(). */

/* A path of the plan. */
struct planned {
    struct pd_probe_way way;
    uint32_t missing;  /* on end */
    uint64_t *lost_at; /* numbers of the newest PD_PROBE_WATCH_LOSSY that were lost, a ring */
    uint32_t lost_len;
    uint32_t hint;                 /* somebody said that it is silent */
    bool fell_silent, came_back;   /* and nothing was begun anew for that yet */
    struct pd_probe_way *prefixes; /* while it is isolated */
    size_t prefixes_len, prefixes_room;
    uint64_t isolated; /* its probes when ways were looked for last */
};

struct pd_probe_watch {
    struct pd_probe_watch_config config;
    const struct pd_topology *topology;
    struct pd_plan_graph graph;
    struct pd_plan plan;
    struct planned *planned;
    struct pd_probe_way **ways; /* all there are */
    size_t ways_len, ways_room;
    bool *well;                    /* by directed link */
    bool *able;                    /* of each host: it sends and collects */
    bool *begins_well, *ends_well; /* of each host: with probes that are well */
    bool anew;
    uint32_t hosts_given, numbers_given;
};

/* ---- ways ---- */

static void way_done(struct pd_probe_way *way)
{
    free(way->nodes);
    free(way->links);
    *way = (struct pd_probe_way){0};
}

/* One of the hosts of a switch, another one each time, rather one whose link is known to be well;
 * PD_NONE: it has none. */
static uint32_t host_at(struct pd_probe_watch *watch, uint32_t sw, const bool *well)
{
    const struct pd_topology *topology = watch->topology;
    uint32_t start = topology->hosts_len ? watch->hosts_given++ % topology->hosts_len : 0;
    uint32_t found = PD_NONE;

    for (uint32_t i = 0; i < topology->hosts_len; i++) {
        uint32_t host = (start + i) % topology->hosts_len;

        if (!watch->able[host] || !pd_host_hangs_at(&topology->hosts[host], sw)) {
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
    struct pd_flow_id flow = {
        .src_port = PD_TELEMETRY_PORT, .dst_port = PD_TELEMETRY_PORT, .protocol = UDP};

    pd_probe_order_addrs(src, dst, &flow.src, &flow.dst, &flow.ip_version);
    return flow;
}

/* From a host at the first switch to one at the last. */
static int make_way(struct pd_probe_watch *watch, uint32_t src, uint32_t dst,
                    const uint32_t *switches, uint32_t hops, struct pd_probe_way *ret_way)
{
    const struct pd_topology *topology = watch->topology;
    uint32_t len = 0;
    struct pd_probe_way way = {.nodes_len = hops + 3, .src = src, .dst = dst};

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
    way.number = watch->numbers_given++;
    *ret_way = way;
    return 0;
}

/* The list of all ways, after some came or went. */
static int list_ways(struct pd_probe_watch *watch)
{
    size_t most = watch->plan.paths.len, len = 0;

    for (uint32_t i = 0; i < watch->plan.paths.len; i++) {
        most += watch->planned[i].prefixes_len;
    }
    if (PD_GROW(watch->ways, watch->ways_room, most + 1)) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < watch->plan.paths.len; i++) {
        struct planned *planned = &watch->planned[i];

        watch->ways[len++] = &planned->way;
        for (size_t p = 0; p < planned->prefixes_len; p++) {
            planned->prefixes[p].isolates = true;
            watch->ways[len++] = &planned->prefixes[p];
        }
    }
    watch->ways_len = len;
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

void pd_probe_watch_free(struct pd_probe_watch *watch)
{
    if (!watch) {
        return;
    }
    for (uint32_t i = 0; watch->planned && i < watch->plan.paths.len; i++) {
        forget_prefixes(&watch->planned[i]);
        way_done(&watch->planned[i].way);
        free(watch->planned[i].lost_at);
    }
    free(watch->planned);
    free(watch->ways);
    free(watch->well);
    free(watch->able);
    free(watch->begins_well);
    free(watch->ends_well);
    pd_plan_done(&watch->plan);
    pd_plan_graph_done(&watch->graph);
    free(watch);
}

static int lay_way(struct pd_probe_watch *watch, uint32_t i)
{
    const struct pd_plan_paths *paths = &watch->plan.paths;
    const uint32_t *nodes = pd_plan_path_nodes(paths, i), hops = paths->paths[i].hops;
    struct planned *planned = &watch->planned[i];
    uint32_t src = host_at(watch, nodes[0], watch->begins_well);
    uint32_t dst = host_at(watch, nodes[hops], watch->ends_well);

    planned->lost_at = calloc(PD_PROBE_WATCH_LOSSY, sizeof *planned->lost_at);
    return planned->lost_at ? make_way(watch, src, dst, nodes, hops, &planned->way) : -ENOMEM;
}

static int lay_ways(struct pd_probe_watch *watch)
{
    uint32_t hosts = watch->topology->hosts_len, len = watch->plan.paths.len;
    int err = 0;

    watch->planned = calloc((size_t)len + 1, sizeof *watch->planned);
    watch->well = calloc((size_t)watch->graph.links_len + 1, sizeof *watch->well);
    watch->begins_well = calloc((size_t)hosts + 1, sizeof(bool));
    watch->ends_well = calloc((size_t)hosts + 1, sizeof(bool));
    if (!watch->planned || !watch->well || !watch->begins_well || !watch->ends_well) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < len && !err; i++) {
        err = lay_way(watch, i);
    }
    return err ? err : list_ways(watch);
}

/* Switches at which one of the hosts that take part hangs. */
static int find_hosts(struct pd_probe_watch *watch)
{
    const struct pd_topology *topology = watch->topology;

    watch->able = calloc((size_t)topology->hosts_len + 1, sizeof *watch->able);
    if (!watch->able) {
        return -ENOMEM;
    }
    for (uint32_t host = 0; host < topology->hosts_len; host++) {
        watch->able[host] = !watch->config.hosts || watch->config.hosts[host];
    }
    pd_plan_hosts(topology, watch->graph.hosts);
    for (uint32_t sw = 0; watch->config.hosts && sw < topology->switches_len; sw++) {
        bool any = false;

        for (uint32_t host = 0; host < topology->hosts_len && !any; host++) {
            any = watch->able[host] && pd_host_hangs_at(&topology->hosts[host], sw);
        }
        watch->graph.hosts[sw] = any;
    }
    watch->config.hosts = NULL; /* the caller's */
    return 0;
}

int pd_probe_watch_new(const struct pd_probe_watch_config *config,
                       struct pd_probe_watch **ret_watch, struct pd_error *error)
{
    struct pd_plan_request request = {
        .topology = config->topology, .mode = PD_PLAN_DIRECTIONS, .max_hops = config->max_hops};
    struct pd_probe_watch *watch = calloc(1, sizeof *watch);

    if (!watch) {
        return pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    watch->config = *config;
    watch->topology = config->topology;
    int err = pd_plan_graph_init(&watch->graph, config->topology, NULL, 0);
    err = err ? err : find_hosts(watch);
    if (!err) {
        request.hosts = watch->graph.hosts;
        err = pd_plan_make(&request, &watch->plan);
    }
    err = err ? err : lay_ways(watch);
    if (err) {
        pd_probe_watch_free(watch);
        return pd_fail(error, err, "probes: %s", pd_error_text(err));
    }
    *ret_watch = watch;
    return 0;
}

const struct pd_plan *pd_probe_watch_plan(const struct pd_probe_watch *watch)
{
    return &watch->plan;
}

size_t pd_probe_watch_ways_len(const struct pd_probe_watch *watch)
{
    return watch->ways_len;
}

struct pd_probe_way *pd_probe_watch_way(const struct pd_probe_watch *watch, size_t n)
{
    return n < watch->ways_len ? watch->ways[n] : NULL;
}

/* A path's number is its place in the plan. */
struct pd_probe_way *pd_probe_watch_find(const struct pd_probe_watch *watch, uint32_t number)
{
    if (number < watch->plan.paths.len) {
        return &watch->planned[number].way;
    }
    for (size_t i = 0; i < watch->ways_len; i++) {
        if (watch->ways[i]->number == number) {
            return watch->ways[i];
        }
    }
    return NULL;
}

/* ---- isolation ---- */

/* Whether a path lost enough of its probes of the last second. */
static bool is_suspected(const struct pd_probe_watch *watch, const struct planned *planned)
{
    uint64_t oldest = planned->lost_at[planned->lost_len % PD_PROBE_WATCH_LOSSY];

    return planned->missing >= PD_PROBE_WATCH_SILENT || planned->hint ||
           (planned->lost_len >= PD_PROBE_WATCH_LOSSY &&
            (double)(planned->way.total - oldest) <= watch->config.rate_hz);
}

static void set_well(struct pd_probe_watch *watch, const struct pd_probe_way *way, bool well)
{
    for (uint32_t i = 1; i + 2 < way->nodes_len; i++) {
        watch->well[way->links[i]] |= well;
    }
    watch->begins_well[pd_topology_host(watch->topology, way->nodes[0])] |= well;
    watch->ends_well[pd_topology_host(watch->topology, way->nodes[way->nodes_len - 1])] |= well;
}

/* What all of the newest few probes on some way have crossed. */
static void find_well(struct pd_probe_watch *watch)
{
    memset(watch->well, 0, watch->graph.links_len);
    memset(watch->begins_well, 0, watch->topology->hosts_len);
    memset(watch->ends_well, 0, watch->topology->hosts_len);
    for (uint32_t i = 0; i < watch->plan.paths.len; i++) {
        const struct planned *planned = &watch->planned[i];

        set_well(watch, &planned->way, !planned->missing && !is_suspected(watch, planned));
        for (size_t p = 0; p < planned->prefixes_len; p++) {
            const struct pd_probe_way *way = &planned->prefixes[p];

            set_well(watch, way, way->total >= AGAIN && !(way->recent & ((1U << AGAIN) - 1)));
        }
    }
}

/* To the first switch of a way and back, where nothing else tells that the link of its host is
 * well, up and down; likewise at its end. */
static int add_ends(struct pd_probe_watch *watch, struct planned *planned,
                    const struct pd_probe_way *way)
{
    const uint32_t ends[][2] = {{way->nodes[0], way->nodes[1]},
                                {way->nodes[way->nodes_len - 1], way->nodes[way->nodes_len - 2]}};
    int err = 0;

    for (size_t e = 0; e < 2 && !err; e++) {
        uint32_t host = pd_topology_host(watch->topology, ends[e][0]);
        uint32_t sw = pd_topology_switch(watch->topology, ends[e][1]);

        if (watch->begins_well[host] && watch->ends_well[host]) {
            continue;
        }
        watch->begins_well[host] = watch->ends_well[host] = true;
        err = make_way(watch, host, host, &sw, 0, &planned->prefixes[planned->prefixes_len]);
        planned->prefixes_len += !err;
    }
    return err;
}

static bool is_there(const struct planned *planned, const struct pd_probe_way *way)
{
    for (size_t i = 0; i < planned->prefixes_len; i++) {
        const struct pd_probe_way *other = &planned->prefixes[i];

        if (other->nodes_len == way->nodes_len &&
            !memcmp(other->nodes + 1, way->nodes + 1, (way->nodes_len - 2) * sizeof *way->nodes)) {
            return true;
        }
    }
    return false;
}

/* One that is at no end of the path, so that it has a word of its own; PD_NONE: there is none. */
static uint32_t another_at(const struct pd_probe_watch *watch, const struct pd_probe_way *path,
                           uint32_t sw, const bool *well)
{
    const struct pd_topology *topology = watch->topology;
    uint32_t found = PD_NONE;

    for (uint32_t host = 0; host < topology->hosts_len && watch->config.doubts; host++) {
        bool fits = host != path->src && host != path->dst && watch->able[host] &&
                    pd_host_hangs_at(&topology->hosts[host], sw);

        if (fits && (found == PD_NONE || (well[host] && !well[found]))) {
            found = host;
        }
    }
    return found;
}

static int add_prefix(struct pd_probe_watch *watch, struct planned *planned,
                      const uint32_t *switches, uint32_t hops)
{
    uint32_t first = pd_topology_switch(watch->topology, planned->way.nodes[1]);
    uint32_t src = another_at(watch, &planned->way, switches[0], watch->begins_well);
    uint32_t dst = another_at(watch, &planned->way, switches[hops], watch->ends_well);
    struct pd_probe_way *way = &planned->prefixes[planned->prefixes_len];

    if (src == PD_NONE) {
        src = switches[0] == first ? planned->way.src
                                   : host_at(watch, switches[0], watch->begins_well);
    }
    dst = dst == PD_NONE ? host_at(watch, switches[hops], watch->ends_well) : dst;
    int err = make_way(watch, src, dst, switches, hops, way);

    if (!err && is_there(planned, way)) {
        way_done(way);
        return 0;
    }
    planned->prefixes_len += !err;
    return err ? err : add_ends(watch, planned, way);
}

/* Each way may bring two for the hosts at its ends. */
static int isolate(struct pd_probe_watch *watch, uint32_t at)
{
    const struct pd_plan_paths *paths = &watch->plan.paths;
    struct planned *planned = &watch->planned[at];
    struct pd_plan_paths prefixes;

    find_well(watch);
    int err = pd_probe_isolate(&watch->graph, pd_plan_path_nodes(paths, at), paths->paths[at].hops,
                               watch->well, &prefixes);
    err = err || !PD_GROW(planned->prefixes, planned->prefixes_room,
                          planned->prefixes_len + 3 * (size_t)prefixes.len + 3)
              ? err
              : -ENOMEM;
    planned->isolated = planned->way.total;
    err = err ? err : add_ends(watch, planned, &planned->way);
    for (uint32_t i = 0; i < prefixes.len && !err; i++) {
        err = add_prefix(watch, planned, pd_plan_path_nodes(&prefixes, i), prefixes.paths[i].hops);
    }
    pd_plan_paths_done(&prefixes);
    return err;
}

/* The newest probes of a way alone count. */
static void count_anew(struct pd_probe_way *way, uint32_t probes)
{
    way->sent = way->sent < probes ? way->sent : probes;
    way->lost = (uint64_t)__builtin_popcount(way->recent & ((1U << way->sent) - 1));
}

/* A path fell silent with its last `probes` watch, or came back with them. */
static void begin_anew(struct pd_probe_watch *watch, uint32_t newest)
{
    watch->anew = true;
    for (uint32_t i = 0; i < watch->plan.paths.len; i++) {
        struct planned *planned = &watch->planned[i];

        count_anew(&planned->way, newest);
        for (size_t p = 0; p < planned->prefixes_len; p++) {
            count_anew(&planned->prefixes[p], newest);
        }
    }
}

/* ---- results ---- */

static struct planned *planned_of(struct pd_probe_watch *watch, const struct pd_probe_way *way)
{
    return way->isolates ? NULL : &watch->planned[way->number];
}

void pd_probe_watch_result(struct pd_probe_watch *watch, struct pd_probe_way *way, bool arrived)
{
    struct planned *planned = planned_of(watch, way);

    way->sent++;
    way->total++;
    way->lost += !arrived;
    way->total_lost += !arrived;
    way->recent = way->recent << 1 | !arrived;
    if (!planned) {
        return;
    }
    planned->came_back |= arrived && planned->missing >= DEAD;
    planned->missing = arrived ? 0 : planned->missing + 1;
    planned->hint = arrived ? 0 : planned->hint;
    if (planned->missing) {
        planned->lost_at[planned->lost_len++ % PD_PROBE_WATCH_LOSSY] = way->total;
    }
    planned->fell_silent |=
        planned->missing == PD_PROBE_WATCH_SILENT && (!planned->prefixes || planned->hint);
}

void pd_probe_watch_suspect(struct pd_probe_watch *watch, const struct pd_probe_way *way)
{
    struct planned *planned = planned_of(watch, way);

    if (planned) {
        planned->hint = HINT;
    }
}

/* Neither end of the path is one of the way's. */
static bool is_another_word(const struct pd_probe_way *path, const struct pd_probe_way *way)
{
    return way->src != path->src && way->src != path->dst && way->dst != path->src &&
           way->dst != path->dst;
}

/* Silent by its newest probes, or back after some were missing. */
static bool says(const struct pd_probe_way *way, bool came_back)
{
    const uint32_t newest = (1U << PD_PROBE_WATCH_SILENT) - 1;

    return came_back ? !(way->recent & 1) && way->recent >> 1 & newest
                     : way->total >= PD_PROBE_WATCH_SILENT && (way->recent & newest) == newest;
}

static bool is_believed(const struct pd_probe_watch *watch, const struct planned *planned,
                        bool came_back)
{
    bool found = !watch->config.doubts;

    for (size_t i = 0; i < planned->prefixes_len && !found; i++) {
        found = is_another_word(&planned->way, &planned->prefixes[i]) &&
                says(&planned->prefixes[i], came_back);
    }
    return found;
}

static void turn(struct pd_probe_watch *watch, struct planned *planned)
{
    if (planned->came_back && is_believed(watch, planned, true)) {
        planned->came_back = planned->fell_silent = false;
        begin_anew(watch, 1);
    } else if (planned->fell_silent && is_believed(watch, planned, false)) {
        planned->fell_silent = false;
        begin_anew(watch, PD_PROBE_WATCH_SILENT);
    }
}

int pd_probe_watch_step(struct pd_probe_watch *watch, bool *ret_laid)
{
    bool laid = false;
    int err = 0;

    for (uint32_t i = 0; i < watch->plan.paths.len; i++) {
        turn(watch, &watch->planned[i]);
    }
    for (uint32_t i = 0; i < watch->plan.paths.len && !err; i++) {
        struct planned *planned = &watch->planned[i];

        if (is_suspected(watch, planned) &&
            (!planned->prefixes || planned->way.total >= planned->isolated + AGAIN)) {
            size_t before = planned->prefixes_len;

            err = isolate(watch, i);
            laid |= planned->prefixes_len != before;
        }
    }
    *ret_laid = laid;
    return err ? err : list_ways(watch);
}

bool pd_probe_watch_forget(struct pd_probe_watch *watch)
{
    bool any = false;

    for (uint32_t i = 0; i < watch->plan.paths.len; i++) {
        struct planned *planned = &watch->planned[i];

        planned->hint -= planned->hint > 0;
        if (!is_suspected(watch, planned)) {
            any |= planned->prefixes_len > 0;
            planned->fell_silent = planned->came_back = false;
            forget_prefixes(planned);
        }
    }
    list_ways(watch); /* fewer: there is room */
    return any;
}

enum pd_probe_state pd_probe_watch_state(const struct pd_probe_watch *watch, uint32_t path)
{
    const struct planned *planned = &watch->planned[path];

    return planned->missing >= PD_PROBE_WATCH_SILENT ? PD_PROBE_SILENT
           : is_suspected(watch, planned)            ? PD_PROBE_LOSSY
                                                     : PD_PROBE_OK;
}

bool pd_probe_watch_anew(struct pd_probe_watch *watch)
{
    bool anew = watch->anew;

    watch->anew = false;
    return anew;
}
