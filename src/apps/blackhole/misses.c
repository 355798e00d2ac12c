/* SPDX-License-Identifier: Apache-2.0 */
/* blackhole: which of its paths a suffering flow misses, or that nothing of it arrives at all. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/blackhole/blackhole.h"
#include "apps/rows.h"
#include "base/grow.h"

enum { PATHS_MIN = 2 }; /* packets that came by one path alone may be a burst */

/* Share of the packets that dead paths should have swallowed: a blackhole swallows fewer in less
 * than 1 of 100 cases. */
#define LOST_LEAST 0.25

static struct pd_link_match step(const struct pd_path *path, unsigned i)
{
    return (struct pd_link_match){path->switches[i], path->switches[i + 1]};
}

struct bh_miss *pd_blackhole_add_miss(struct bh_case *c, const struct bh_flow *flow, double chance,
                                      size_t links_room)
{
    if (PD_GROW(c->misses, c->misses_room, c->misses_len + 1)) {
        return NULL;
    }
    struct bh_miss miss = {.flow = flow, .chance = chance, .links_room = links_room};
    miss.links = calloc(links_room + 1, sizeof *miss.links);
    if (!miss.links) {
        return NULL;
    }
    c->misses[c->misses_len] = miss;
    return &c->misses[c->misses_len++];
}

/* Links that a path with packets crosses are none of the cause. */
static bool is_carried(const struct bh_flow *flow, struct pd_link_match link)
{
    for (size_t i = 0; i < flow->paths_len; i++) {
        if (flow->paths[i].healthy && pd_path_crosses(&flow->paths[i].path, link)) {
            return true;
        }
    }
    return false;
}

void pd_blackhole_add_link(struct bh_miss *miss, const struct pd_path *path, unsigned at)
{
    struct pd_link_match link = step(path, at);
    bool there = is_carried(miss->flow, link);

    for (size_t l = 0; l < miss->links_len && !there; l++) {
        there = miss->links[l].from == link.from && miss->links[l].to == link.to;
    }
    if (!there && miss->links_len < miss->links_room) {
        miss->links[miss->links_len++] = link;
    }
}

void pd_blackhole_add_links(struct bh_miss *miss, const struct pd_path *path)
{
    for (unsigned i = 0; i + 1 < path->len; i++) {
        pd_blackhole_add_link(miss, path, i);
    }
}

/* ---- packets are sprayed over all paths ---- */

/* Packets of the flow that came since the last one of a path, and by how many paths: all times are
 * of the receiver's clock, so that no other clock matters. Packets of a path are taken as even
 * between its first and its last. */
static double pkts_if_even(const struct bh_flow *flow, uint64_t time_us, size_t *ret_paths)
{
    double pkts = 0;

    *ret_paths = 0;
    for (size_t i = 0; i < flow->paths_len; i++) {
        const struct bh_path *path = &flow->paths[i];

        if (!path->pkts || path->last_us <= time_us) {
            continue;
        }
        double all_us = (double)(path->last_us - path->first_us);
        double since_us = (double)(path->last_us - time_us);
        pkts += (all_us > since_us ? since_us / all_us : 1) * (double)path->pkts;
        ++*ret_paths;
    }
    return pkts;
}

void pd_blackhole_start(struct bh_flow *flow)
{
    size_t paths;

    for (size_t i = 0; i < flow->paths_len; i++) {
        flow->paths[i].start_pkts = pkts_if_even(flow, flow->paths[i].last_us, &paths);
    }
}

/* A flow that stalls is not even: what comes from look to look is counted. */
static double others_since(const struct bh_flow *flow, const struct bh_path *path)
{
    uint64_t total = 0;

    for (size_t i = 0; i < flow->paths_len; i++) {
        total += flow->paths[i].pkts;
    }
    return path->start_pkts + (total > path->base_pkts ? (double)(total - path->base_pkts) : 0);
}

/* Had a path worked beside those that carried the packets since, each packet would have missed it
 * with paths / (paths + 1), and less often if more work. */
static double chance_since(const struct bh_flow *flow, const struct bh_path *path)
{
    size_t paths;

    (void)pkts_if_even(flow, path->last_us, &paths);

    if (paths < PATHS_MIN) {
        paths = flow->paths_len - 1;
    }
    return pow((double)paths / ((double)paths + 1), others_since(flow, path));
}

/* A path is silent since its last packet, so also since the last one of another: the time that
 * tells most counts. Chances that are the least already take part in others' with the same result.
 */
static void find_chances(struct bh_flow *flow)
{
    for (size_t i = 0; i < flow->paths_len; i++) {
        flow->paths[i].chance = chance_since(flow, &flow->paths[i]);
    }
    for (size_t i = 0; i < flow->paths_len; i++) {
        for (size_t j = 0; j < flow->paths_len; j++) {
            if (flow->paths[j].last_us >= flow->paths[i].last_us) {
                flow->paths[i].chance = fmin(flow->paths[i].chance, flow->paths[j].chance);
            }
        }
    }
}

/* Whether the sender lost packets as if each of so many silent paths had swallowed its part of what
 * came by the working ones. Where nobody counted what was sent, `unknown`. */
static bool is_lost(const struct bh_flow *flow, double pkts, size_t silent, size_t working,
                    bool unknown)
{
    double wanted = LOST_LEAST * pkts * (double)silent / (double)(working ? working : 1);

    return flow->sent_pkts > 0 ? pd_blackhole_lost_pkts(flow) >= wanted : unknown;
}

/* Paths behind one link fall silent together. That is no chance when all of them would in a network
 * without a fault as seldom as one path may, when it is unlikely (`doubt`) that any of them works
 * beside a fault of the others, and when the sender lost packets as it would: a sprayer that is
 * uneven, or one pause of all, costs none. */
static void judge_together(struct bh_flow *flow, struct pd_link_match link, double most,
                           double doubt)
{
    double pkts = INFINITY, any = 0;
    size_t behind = 0, working = 0;

    for (size_t i = 0; i < flow->paths_len; i++) {
        const struct bh_path *path = &flow->paths[i];

        if (!pd_path_crosses(&path->path, link)) {
            working += path->pkts && path->chance > BH_DOUBT;
            continue;
        }
        behind++;
        any += path->chance;
        pkts = fmin(pkts, others_since(flow, path));
    }
    if (behind < 2 || working < PATHS_MIN || any > doubt ||
        pow((double)working / (double)(working + behind), pkts) > most ||
        !is_lost(flow, pkts, behind, working, false)) {
        return;
    }
    for (size_t i = 0; i < flow->paths_len; i++) {
        flow->paths[i].missing |= pd_path_crosses(&flow->paths[i].path, link);
    }
}

/* What a missing path and what paths missing together have to be less likely than by chance, and
 * the doubt that may be left which of them are. */
struct limits {
    double most, together, doubt;
};

/* Once time is nearly up, a little more for each is enough, for all flows together. */
static struct limits limits_of(const struct bh_case *c)
{
    double flows = (double)c->flows_len;

    if (!c->late) {
        return (struct limits){BH_CHANCE, BH_CHANCE, BH_DOUBT};
    }
    return (struct limits){fmax(BH_CHANCE, BH_CHANCE_LATE / flows),
                           fmax(BH_CHANCE, BH_TOGETHER_LATE / flows),
                           fmax(BH_DOUBT, BH_DOUBT_LATE / flows)};
}

static void judge_paths(const struct bh_case *c, struct bh_flow *flow)
{
    const struct limits limits = limits_of(c);

    find_chances(flow);
    for (size_t i = 0; i < flow->paths_len; i++) {
        flow->paths[i].missing =
            flow->paths[i].chance <= limits.most &&
            is_lost(flow, others_since(flow, &flow->paths[i]), 1, flow->paths_len - 1, true);
    }
    for (size_t i = 0; i < flow->paths_len; i++) {
        const struct pd_path *path = &flow->paths[i].path;

        for (unsigned l = 0; flow->paths[i].chance <= limits.doubt && l + 1 < path->len; l++) {
            judge_together(flow, step(path, l), limits.together, limits.doubt);
        }
    }
    for (size_t i = 0; i < flow->paths_len; i++) {
        struct bh_path *path = &flow->paths[i];

        path->healthy = !path->missing && path->pkts && path->chance > BH_DOUBT;
    }
}

/* With a path that is missing, all others have to be told from it; else it is enough that each has
 * a packet now and then. */
bool pd_blackhole_is_open(const struct bh_case *c, struct bh_flow *flow)
{
    bool missing = false, doubt = false, quiet = false;

    judge_paths(c, flow);
    for (size_t i = 0; i < flow->paths_len; i++) {
        const struct bh_path *path = &flow->paths[i];

        missing |= path->missing;
        doubt |= !path->missing && !path->healthy;
        quiet |= path->chance < BH_QUIET;
    }
    return (c->spray || flow->seen_len > 1) && (doubt || (quiet && !missing));
}

static int judge_sprayed(struct bh_case *c, struct bh_flow *flow)
{
    char name[PD_ENDS_TEXT_BYTES], path[PD_APP_PATH_TEXT_BYTES];
    size_t missing = 0, open = 0;

    judge_paths(c, flow);
    for (size_t i = 0; i < flow->paths_len; i++) {
        missing += flow->paths[i].missing;
        open += !flow->paths[i].missing && !flow->paths[i].healthy;
    }
    pd_ends_format(&flow->id, name);
    if (open) {
        pd_app_report_evidence(
            c->report,
            "%s: too few packets arrived or got lost to tell whether %zu of its %zu "
            "paths work",
            name, open, flow->paths_len);
    }
    for (size_t i = 0; i < flow->paths_len && missing && c->misses_len < BH_MISSES_MAX; i++) {
        struct bh_path *p = &flow->paths[i];

        if (!p->missing) {
            continue;
        }
        struct bh_miss *miss = pd_blackhole_add_miss(c, flow, p->chance, PD_PATH_MAX);
        if (!miss) {
            return -ENOMEM;
        }
        pd_blackhole_add_links(miss, &p->path);
        pd_app_report_evidence(c->report, "%s: no packet over %s%s, %.0f over its other paths",
                               name, pd_app_path_text(&p->path, path), p->pkts ? " any more" : "",
                               others_since(flow, p));
        pd_app_report_row(
            c->report, "missing_paths",
            json_pack("{s:s, s:s, s:f}", "flow", name, "path", path, "chance", p->chance));
    }
    return 0;
}

int pd_blackhole_judge(struct bh_case *c, struct pd_error *error)
{
    int err = 0;

    for (size_t i = 0; i < c->flows_len && !err; i++) {
        struct bh_flow *flow = &c->flows[i];

        if (!flow->asked) {
            continue;
        }
        if (!c->spray || !flow->pkts) {
            err = pd_blackhole_judge_single(c, flow, error);
        } else if ((err = judge_sprayed(c, flow))) {
            err = pd_fail(error, err, "blackhole: %s", pd_error_text(err));
        }
    }
    return err;
}
