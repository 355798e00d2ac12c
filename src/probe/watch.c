/* SPDX-License-Identifier: Apache-2.0 */
/* Planned ways, what their probes tell, and the further ways of those that lose. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "probe/watch_private.h"

enum { AGAIN = PD_PROBE_ROUND_AGAIN, DEAD = 20, HINT = 20 };

/* More ways are looked for after AGAIN probes. A path on which DEAD in a row are missing has not
 * lost them at random: when one arrives, it has come back.
 * A hint is worth that many calls of pd_probe_watch_forget(). */

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
        struct pd_probe_planned *planned = &watch->planned[i];

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

void pd_probe_watch_free(struct pd_probe_watch *watch)
{
    if (!watch) {
        return;
    }
    for (uint32_t i = 0; watch->planned && i < watch->plan.paths.len; i++) {
        pd_probe_round_forget(&watch->planned[i]);
        pd_probe_way_done(&watch->planned[i].way);
        free(watch->planned[i].lost_at);
    }
    free(watch->planned);
    free(watch->ways);
    free(watch->well);
    free(watch->passed);
    free(watch->dead);
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
    struct pd_probe_planned *planned = &watch->planned[i];
    uint32_t src = pd_probe_way_host(watch, nodes[0], watch->begins_well);
    uint32_t dst = pd_probe_way_host(watch, nodes[hops], watch->ends_well);

    planned->lost_at = calloc(PD_PROBE_WATCH_LOSSY, sizeof *planned->lost_at);
    return planned->lost_at ? pd_probe_way_make(watch, src, dst, nodes, hops, &planned->way)
                            : -ENOMEM;
}

static int lay_ways(struct pd_probe_watch *watch)
{
    uint32_t hosts = watch->topology->hosts_len, len = watch->plan.paths.len;
    int err = 0;

    watch->planned = calloc((size_t)len + 1, sizeof *watch->planned);
    watch->well = calloc((size_t)watch->graph.links_len + 1, sizeof *watch->well);
    watch->passed = calloc((size_t)watch->graph.links_len + 1, sizeof(bool));
    watch->dead = calloc((size_t)watch->graph.links_len + 1, sizeof(bool));
    watch->begins_well = calloc((size_t)hosts + 1, sizeof(bool));
    watch->ends_well = calloc((size_t)hosts + 1, sizeof(bool));
    if (!watch->planned || !watch->well || !watch->passed || !watch->dead || !watch->begins_well ||
        !watch->ends_well) {
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
        struct pd_probe_planned *planned = &watch->planned[i];

        count_anew(&planned->way, newest);
        for (size_t p = 0; p < planned->prefixes_len; p++) {
            count_anew(&planned->prefixes[p], newest);
        }
    }
}

/* ---- results ---- */

static struct pd_probe_planned *planned_of(struct pd_probe_watch *watch,
                                           const struct pd_probe_way *way)
{
    return way->isolates ? NULL : &watch->planned[way->number];
}

void pd_probe_watch_result(struct pd_probe_watch *watch, struct pd_probe_way *way, bool arrived)
{
    struct pd_probe_planned *planned = planned_of(watch, way);

    way->sent++;
    way->total++;
    way->lost += !arrived;
    way->total_lost += !arrived;
    way->recent = way->recent << 1 | !arrived;
    if (!planned) {
        return;
    }
    planned->arrived |= arrived;
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
    struct pd_probe_planned *planned = planned_of(watch, way);

    if (planned) {
        planned->hint = HINT;
    }
}

/* Silent by its newest probes, or back after some were missing. */
static bool says(const struct pd_probe_way *way, bool came_back)
{
    const uint32_t newest = (1U << PD_PROBE_WATCH_SILENT) - 1;

    return came_back ? !(way->recent & 1) && way->recent >> 1 & newest
                     : way->total >= PD_PROBE_WATCH_SILENT && (way->recent & newest) == newest;
}

static bool is_believed(const struct pd_probe_watch *watch, const struct pd_probe_planned *planned,
                        bool came_back)
{
    bool found = !watch->config.doubts;

    for (size_t i = 0; i < planned->prefixes_len && !found; i++) {
        found = pd_probe_round_is_another_word(&planned->way, &planned->prefixes[i]) &&
                says(&planned->prefixes[i], came_back);
    }
    return found;
}

static void turn(struct pd_probe_watch *watch, struct pd_probe_planned *planned)
{
    if (planned->came_back && is_believed(watch, planned, true)) {
        planned->came_back = planned->fell_silent = false;
        begin_anew(watch, 1);
    } else if (planned->fell_silent && is_believed(watch, planned, false)) {
        planned->fell_silent = false;
        begin_anew(watch, PD_PROBE_WATCH_SILENT);
    }
}

/* A path that fell silent and then got some through, or never had further ways, begins with them:
 * what was heard before that is of another moment. */
static bool is_over(const struct pd_probe_planned *planned)
{
    return !planned->prefixes ||
           (planned->arrived && (planned->hint || planned->missing >= PD_PROBE_WATCH_SILENT));
}

int pd_probe_watch_step(struct pd_probe_watch *watch, bool *ret_laid)
{
    bool laid = false;
    int err = 0;

    for (uint32_t i = 0; i < watch->plan.paths.len; i++) {
        turn(watch, &watch->planned[i]);
    }
    for (uint32_t i = 0; i < watch->plan.paths.len && !err; i++) {
        struct pd_probe_planned *planned = &watch->planned[i];

        if (pd_probe_round_suspects(watch, planned) &&
            (is_over(planned) || planned->way.total >= planned->isolated + AGAIN)) {
            if (is_over(planned)) {
                pd_probe_round_forget(planned);
            }
            size_t before = planned->prefixes_len;

            err = pd_probe_round_lay(watch, i);
            laid |= planned->prefixes_len != before;
        }
    }
    pd_probe_round_judge(watch);
    *ret_laid = laid;
    return err ? err : list_ways(watch);
}

bool pd_probe_watch_forget(struct pd_probe_watch *watch)
{
    bool any = false;

    for (uint32_t i = 0; i < watch->plan.paths.len; i++) {
        struct pd_probe_planned *planned = &watch->planned[i];

        planned->hint -= planned->hint > 0;
        if (!pd_probe_round_suspects(watch, planned)) {
            any |= planned->prefixes_len > 0;
            planned->fell_silent = planned->came_back = false;
            pd_probe_round_forget(planned);
        }
    }
    list_ways(watch); /* fewer: there is room */
    return any;
}

enum pd_probe_state pd_probe_watch_state(const struct pd_probe_watch *watch, uint32_t path)
{
    const struct pd_probe_planned *planned = &watch->planned[path];

    return planned->missing >= PD_PROBE_WATCH_SILENT ? PD_PROBE_SILENT
           : pd_probe_round_suspects(watch, planned) ? PD_PROBE_LOSSY
                                                     : PD_PROBE_OK;
}

bool pd_probe_watch_anew(struct pd_probe_watch *watch)
{
    bool anew = watch->anew;

    watch->anew = false;
    return anew;
}

bool pd_probe_watch_is_dead(const struct pd_probe_watch *watch, uint32_t link)
{
    return link < watch->graph.links_len && watch->dead[link];
}
