/* SPDX-License-Identifier: Apache-2.0 */
/* Isolation: the further ways of a path that loses, and what they say together. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "probe/isolate.h"
#include "probe/watch_private.h"
#include "topology/links.h"

/* Whether a path lost enough of its probes of the last second. */
bool pd_probe_round_suspects(const struct pd_probe_watch *watch,
                             const struct pd_probe_planned *planned)
{
    uint64_t oldest = planned->lost_at[planned->lost_len % PD_PROBE_WATCH_LOSSY];

    return planned->missing >= PD_PROBE_WATCH_SILENT || planned->hint ||
           (planned->lost_len >= PD_PROBE_WATCH_LOSSY &&
            (double)(planned->way.total - oldest) <= watch->config.rate_hz);
}

void pd_probe_round_forget(struct pd_probe_planned *planned)
{
    for (size_t i = 0; i < planned->prefixes_len; i++) {
        pd_probe_way_done(&planned->prefixes[i]);
    }
    free(planned->prefixes);
    planned->prefixes = NULL;
    planned->prefixes_len = planned->prefixes_room = 0;
    planned->arrived = false;
    planned->open = 0;
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
        const struct pd_probe_planned *planned = &watch->planned[i];

        set_well(watch, &planned->way,
                 !planned->missing && !pd_probe_round_suspects(watch, planned));
        for (size_t p = 0; p < planned->prefixes_len; p++) {
            const struct pd_probe_way *way = &planned->prefixes[p];

            set_well(watch, way,
                     way->total >= PD_PROBE_ROUND_AGAIN &&
                         !(way->recent & ((1U << PD_PROBE_ROUND_AGAIN) - 1)));
        }
    }
}

/* To the first switch of a way and back, where nothing else tells that the link of its host is
 * well, up and down; likewise at its end. */
static int add_ends(struct pd_probe_watch *watch, struct pd_probe_planned *planned,
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
        err =
            pd_probe_way_make(watch, host, host, &sw, 0, &planned->prefixes[planned->prefixes_len]);
        planned->prefixes_len += !err;
    }
    return err;
}

static bool is_same(const struct pd_probe_way *a, const struct pd_probe_way *b)
{
    return a->nodes_len == b->nodes_len &&
           !memcmp(a->nodes + 1, b->nodes + 1, (a->nodes_len - 2) * sizeof *a->nodes);
}

static bool is_there(const struct pd_probe_planned *planned, const struct pd_probe_way *way)
{
    bool there = false;

    for (size_t i = 0; i < planned->prefixes_len && !there; i++) {
        there = is_same(&planned->prefixes[i], way);
    }
    return there;
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

static int add_prefix(struct pd_probe_watch *watch, struct pd_probe_planned *planned,
                      const uint32_t *switches, uint32_t hops)
{
    uint32_t first = pd_topology_switch(watch->topology, planned->way.nodes[1]);
    uint32_t src = another_at(watch, &planned->way, switches[0], watch->begins_well);
    uint32_t dst = another_at(watch, &planned->way, switches[hops], watch->ends_well);
    struct pd_probe_way *way = &planned->prefixes[planned->prefixes_len];

    if (src == PD_NONE) {
        src = switches[0] == first ? planned->way.src
                                   : pd_probe_way_host(watch, switches[0], watch->begins_well);
    }
    dst = dst == PD_NONE ? pd_probe_way_host(watch, switches[hops], watch->ends_well) : dst;
    int err = pd_probe_way_make(watch, src, dst, switches, hops, way);

    if (!err && is_there(planned, way)) {
        pd_probe_way_done(way);
        return 0;
    }
    planned->prefixes_len += !err;
    return err ? err : add_ends(watch, planned, way);
}

/* Each way may bring two for the hosts at its ends. */
static int add_ways(struct pd_probe_watch *watch, uint32_t at)
{
    const struct pd_plan_paths *paths = &watch->plan.paths;
    struct pd_probe_planned *planned = &watch->planned[at];
    struct pd_plan_paths ways;
    int err = pd_probe_isolate(&watch->graph, pd_plan_path_nodes(paths, at), paths->paths[at].hops,
                               watch->well, &ways);

    err = err || !PD_GROW(planned->prefixes, planned->prefixes_room,
                          planned->prefixes_len + 3 * (size_t)ways.len + 3)
              ? err
              : -ENOMEM;
    err = err ? err : add_ends(watch, planned, &planned->way);
    for (uint32_t i = 0; i < ways.len && !err; i++) {
        err = add_prefix(watch, planned, pd_plan_path_nodes(&ways, i), ways.paths[i].hops);
    }
    pd_plan_paths_done(&ways);
    return err;
}

static bool is_silent(const struct pd_probe_way *way)
{
    return way->total >= PD_PROBE_WATCH_SILENT && way->total_lost == way->total;
}

/* An end of the path where only its own hosts are: of that end's directions others have to tell. */
static void leave_out_ends(struct pd_probe_watch *watch, const struct pd_probe_way *way)
{
    const uint32_t len = way->nodes_len;
    const uint32_t ends[] = {pd_topology_switch(watch->topology, way->nodes[1]),
                             pd_topology_switch(watch->topology, way->nodes[len - 2])};

    for (size_t e = 0; e < 2; e++) {
        watch->graph.hosts[ends[e]] &= another_at(watch, way, ends[e], watch->able) != PD_NONE;
    }
}

/* Where several directions are open, each needs two witnesses: the second one from elsewhere. */
static void leave_out_witnesses(struct pd_probe_watch *watch,
                                const struct pd_probe_planned *planned)
{
    for (size_t p = 0; p < planned->prefixes_len && planned->open > 1; p++) {
        const struct pd_probe_way *way = &planned->prefixes[p];

        if (is_silent(way)) {
            const uint32_t len = way->nodes_len;

            watch->graph.hosts[pd_topology_switch(watch->topology, way->nodes[1])] = false;
            watch->graph.hosts[pd_topology_switch(watch->topology, way->nodes[len - 2])] = false;
        }
    }
}

/* Ways as if some hosts were not there, so that others speak. */
static int add_words(struct pd_probe_watch *watch, uint32_t at)
{
    const size_t bytes = watch->graph.nodes_len * sizeof *watch->graph.hosts;
    bool *hosts = malloc(bytes + 1);
    int err = 0;

    if (!hosts) {
        return -ENOMEM;
    }
    memcpy(hosts, watch->graph.hosts, bytes);
    leave_out_ends(watch, &watch->planned[at].way);
    leave_out_witnesses(watch, &watch->planned[at]);
    if (memcmp(hosts, watch->graph.hosts, bytes) != 0) {
        err = add_ways(watch, at);
        memcpy(watch->graph.hosts, hosts, bytes);
    }
    free(hosts);
    return err;
}

int pd_probe_round_lay(struct pd_probe_watch *watch, uint32_t at)
{
    struct pd_probe_planned *planned = &watch->planned[at];

    find_well(watch);
    planned->isolated = planned->way.total;
    int err = add_ways(watch, at);
    return err || !watch->config.doubts ? err : add_words(watch, at);
}

/* ---- the verdict ---- */

/* Neither end of the one is one of the other's. */
bool pd_probe_round_is_another_word(const struct pd_probe_way *a, const struct pd_probe_way *b)
{
    return b->src != a->src && b->src != a->dst && b->dst != a->src && b->dst != a->dst;
}

/* What any probe of the round has crossed; how many directions of the path none has. */
static void find_passed(struct pd_probe_watch *watch, struct pd_probe_planned *planned)
{
    memset(watch->passed, 0, watch->graph.links_len);
    for (size_t p = 0; p < planned->prefixes_len; p++) {
        const struct pd_probe_way *way = &planned->prefixes[p];

        for (uint32_t i = 1; i + 2 < way->nodes_len && way->total > way->total_lost; i++) {
            watch->passed[way->links[i]] = true;
        }
    }
    planned->open = 0;
    for (uint32_t i = 1; i + 2 < planned->way.nodes_len; i++) {
        planned->open += !watch->passed[planned->way.links[i]];
    }
}

/* It is silent, and no other direction of its can be why: those of the path were crossed in this
 * round, others lately. */
static bool tells_of(const struct pd_probe_watch *watch, const struct pd_probe_way *way,
                     uint32_t link)
{
    bool crosses = false, clean = is_silent(way);

    for (uint32_t i = 1; i + 2 < way->nodes_len && clean; i++) {
        crosses |= way->links[i] == link;
        clean = way->links[i] == link || watch->passed[way->links[i]] || watch->well[way->links[i]];
    }
    return crosses && clean;
}

static bool is_proven(const struct pd_probe_watch *watch, const struct pd_probe_planned *planned,
                      uint32_t link)
{
    const struct pd_probe_way *first = NULL;
    bool proven = false;

    for (size_t p = 0; p < planned->prefixes_len && !proven; p++) {
        const struct pd_probe_way *way = &planned->prefixes[p];

        if (tells_of(watch, way, link) &&
            (!watch->config.doubts || pd_probe_round_is_another_word(&planned->way, way))) {
            proven = planned->open == 1 || !watch->config.doubts ||
                     (first && pd_probe_round_is_another_word(first, way));
            first = first ? first : way;
        }
    }
    return proven;
}

static void judge(struct pd_probe_watch *watch, struct pd_probe_planned *planned)
{
    find_passed(watch, planned);
    for (uint32_t i = 1; i + 2 < planned->way.nodes_len; i++) {
        uint32_t link = planned->way.links[i];

        if (!watch->passed[link] && is_proven(watch, planned, link)) {
            watch->dead[link] = true;
        }
    }
}

static bool is_judged(const struct pd_probe_planned *planned)
{
    return planned->missing >= PD_PROBE_WATCH_SILENT && planned->prefixes_len && !planned->arrived;
}

void pd_probe_round_judge(struct pd_probe_watch *watch)
{
    bool any = false;

    memset(watch->dead, 0, watch->graph.links_len);
    for (uint32_t i = 0; i < watch->plan.paths.len && !any; i++) {
        any = is_judged(&watch->planned[i]);
    }
    if (any) {
        find_well(watch);
    }
    for (uint32_t i = 0; i < watch->plan.paths.len && any; i++) {
        if (is_judged(&watch->planned[i])) {
            judge(watch, &watch->planned[i]);
        }
    }
}
