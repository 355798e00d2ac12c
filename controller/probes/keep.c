/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept: evidence by period, and the state of each directed link. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "controller/probes/private.h"
#include "daemon/count.h"
#include "topology/links.h"

#define HALF_NS  (30 * PD_NS_PER_S)
#define STALE_NS (3 * PD_NS_PER_S) /* nothing crossed it so long: not known any more */
#define JUMP_NS  (INT64_C(500) * 1000000)
#define LOSSY    0.003 /* a way that loses less is well */

/* ---- evidence ---- */

static void period_done(struct pd_probes_period *period)
{
    pd_probes.rows_len -= period->len;
    free(period->rows);
    free(period->ways);
    free(period->nodes);
    *period = (struct pd_probes_period){.len = 0};
}

void pd_probes_forget_periods(void)
{
    for (size_t i = 0; i < PD_PROBES_KEPT; i++) {
        period_done(&pd_probes.periods[i]);
    }
    pd_probes.periods_len = 0;
}

static int make_room(struct pd_probes_period *period, size_t *ret_nodes)
{
    struct pd_probe_way *way;
    size_t nodes = 0, rows = 0;

    for (size_t i = 0; (way = pd_probe_watch_way(pd_probes.watch, i)); i++) {
        rows += way->sent > 0;
        nodes += way->sent ? way->nodes_len : 0;
    }
    period->rows = calloc(rows + 1, sizeof *period->rows);
    period->ways = calloc(rows + 1, sizeof *period->ways);
    period->nodes = calloc(nodes + 1, sizeof *period->nodes);
    *ret_nodes = 0;
    return period->rows && period->ways && period->nodes ? 0 : -ENOMEM;
}

static void add_row(struct pd_probes_period *period, struct pd_probe_way *way, size_t *nodes)
{
    uint32_t *at = period->nodes + *nodes;

    memcpy(at, way->nodes, way->nodes_len * sizeof *at);
    *nodes += way->nodes_len;
    period->ways[period->len] = (struct pd_evidence_way){.nodes = at,
                                                         .nodes_len = way->nodes_len,
                                                         .reached = true,
                                                         .origin = PD_EVIDENCE_FROM_PROBE,
                                                         .pkts = way->sent};
    period->rows[period->len] = (struct pd_evidence_row){.kind = PD_EVIDENCE_PATH,
                                                         .pkts = way->sent,
                                                         .lost = way->lost,
                                                         .ways = &period->ways[period->len],
                                                         .ways_len = 1};
    period->len++;
    way->sent = way->lost = 0;
}

/* Without memory, or beyond the limit, what the period had is counted and gone. */
static void fill(struct pd_probes_period *period)
{
    struct pd_probe_way *way;
    size_t nodes = 0;
    int err = make_room(period, &nodes);

    for (size_t i = 0; (way = pd_probe_watch_way(pd_probes.watch, i)); i++) {
        if (!way->sent) {
            continue;
        }
        if (err || pd_probes.rows_len >= PD_PROBES_ROWS_MAX) {
            pd_count(&pd_probes_counts.rows_dropped, 1);
            way->sent = way->lost = 0;
            continue;
        }
        add_row(period, way, &nodes);
        pd_probes.rows_len++;
    }
}

void pd_probes_close_period(void)
{
    struct pd_probes_period *period = &pd_probes.periods[pd_probes.periods_len % PD_PROBES_KEPT];
    const uint64_t now_us = pd_clock_wall_us();

    period_done(period);
    period->anew = pd_probe_watch_anew(pd_probes.watch);
    fill(period);
    period->from_us = pd_probes.period_us < now_us ? pd_probes.period_us : now_us;
    period->to_us = pd_probes.period_us = now_us;
    pd_probes.periods_len++;
}

/* With the lock; what the sink does is quick: it counts. */
static int give_periods(uint64_t from_us, uint64_t to_us, const struct pd_evidence_sink *sink)
{
    const uint64_t len = pd_probes.periods_len;
    const uint64_t first = len > PD_PROBES_KEPT ? len - PD_PROBES_KEPT : 0;
    int err = 0;

    for (uint64_t i = first; i < len && !err; i++) {
        const struct pd_probes_period *kept = &pd_probes.periods[i % PD_PROBES_KEPT];
        const struct pd_evidence_period period = {.from_us = kept->from_us,
                                                  .to_us = kept->to_us,
                                                  .anew = kept->anew,
                                                  .rows = kept->rows,
                                                  .rows_len = kept->len};

        if (kept->to_us > from_us && kept->to_us <= to_us && (kept->len || kept->anew)) {
            err = sink->take(sink->context, &period);
        }
    }
    return err;
}

int pd_controller_probes_observe(uint64_t from_us, uint64_t to_us,
                                 const struct pd_evidence_sink *sink)
{
    pthread_mutex_lock(&pd_probes.lock);
    int err = give_periods(from_us, to_us, sink);
    pthread_mutex_unlock(&pd_probes.lock);
    return err;
}

bool pd_controller_probes_on(void)
{
    pthread_mutex_lock(&pd_probes.lock);
    bool on = pd_probes.on;
    pthread_mutex_unlock(&pd_probes.lock);
    return on;
}

/* ---- what was measured ---- */

static void note_least(struct pd_probes_link *link, int64_t value, uint64_t now_ns)
{
    if (now_ns > link->least_end) {
        link->least[1] = link->least_end + HALF_NS > now_ns ? link->least[0] : INT64_MAX;
        link->least[0] = INT64_MAX;
        link->least_end = now_ns + HALF_NS;
    }
    link->least[0] = value < link->least[0] ? value : link->least[0];
}

static void forget_least(struct pd_probes_link *link, uint64_t now_ns)
{
    link->least[0] = link->least[1] = INT64_MAX;
    link->least_end = now_ns + HALF_NS;
}

/* No queue grows by so much between two reports: the clock of one end was set. */
static bool did_clock_jump(const struct pd_probes_link *link, const struct pd_probe_hop *hop)
{
    const int64_t moved = hop->hop_latency_ns.mean - link->hop_latency_ns;

    return link->measured && (moved > JUMP_NS || moved < -JUMP_NS);
}

void pd_probes_note_hop(uint32_t number, const struct pd_probe_hop *hop, uint64_t now_ns)
{
    struct pd_probes_link *link = &pd_probes.links[number];

    if (!link->least_end || did_clock_jump(link, hop)) {
        forget_least(link, now_ns);
        forget_least(&pd_probes.links[pd_links_reverse(number)], now_ns);
    }
    link->measured = true;
    link->seen_ns = now_ns;
    link->hop_latency_ns = hop->hop_latency_ns.mean;
    link->residence_ns = hop->residence_ns.mean;
    link->queue_bytes = hop->queue_bytes.mean;
    link->queue_max_bytes = hop->queue_bytes.most;
    note_least(link, hop->hop_latency_ns.least - hop->residence_ns.most, now_ns);
}

/* ---- what it says of links ---- */

/* By directed link: whether a way that is well crosses it, and the least loss of a way over it. */
struct view {
    bool well;
    float loss; /* NAN: no way with enough probes */
};

static bool is_fabric(uint32_t link)
{
    return link < pd_probes.links_len;
}

static float loss_of(const struct pd_probe_way *way)
{
    unsigned len = way->total < 32 ? (unsigned)way->total : 32;
    uint32_t newest = len < 32 ? (1U << len) - 1 : UINT32_MAX;

    return len < PD_PROBE_WATCH_SILENT
               ? NAN
               : (float)__builtin_popcount(way->recent & newest) / (float)len;
}

static bool is_silent(const struct pd_probe_way *way)
{
    const uint32_t newest = (1U << PD_PROBE_WATCH_SILENT) - 1;

    return way->total >= PD_PROBE_WATCH_SILENT && (way->recent & newest) == newest;
}

static void see_way(const struct pd_probe_way *way, struct view *views)
{
    const float loss = loss_of(way);

    for (uint32_t i = 0; i + 1 < way->nodes_len; i++) {
        struct view *view = &views[is_fabric(way->links[i]) ? way->links[i] : pd_probes.links_len];

        view->well |= !isnan(loss) && !is_silent(way);
        view->loss = isnan(view->loss) || loss < view->loss ? loss : view->loss;
    }
}

static struct view *see(void)
{
    struct view *views = calloc((size_t)pd_probes.links_len + 1, sizeof *views);
    struct pd_probe_way *way;

    if (!views) {
        return NULL;
    }
    for (uint32_t i = 0; i <= pd_probes.links_len; i++) {
        views[i].loss = NAN;
    }
    for (size_t i = 0; (way = pd_probe_watch_way(pd_probes.watch, i)); i++) {
        see_way(way, views);
    }
    return views;
}

static enum pd_link_probe_state state_of(uint32_t number, const struct view *view, uint64_t now_ns)
{
    const struct pd_probes_link *link = &pd_probes.links[number];

    if (pd_probe_watch_is_dead(pd_probes.watch, number)) {
        return PD_LINK_DEAD;
    }
    if (!view->well || !link->seen_ns || now_ns - link->seen_ns > STALE_NS) {
        return PD_LINK_UNKNOWN;
    }
    return view->loss > LOSSY ? PD_LINK_LOSSY : PD_LINK_OK;
}

/* ---- metrics ---- */

static int64_t least_of(const struct pd_probes_link *link)
{
    return link->least[0] < link->least[1] ? link->least[0] : link->least[1];
}

/* Both directions tell how far one clock is ahead: half the difference of their minima, wrong by
 * half their sum at most. */
static float latency_of(uint32_t number, bool error)
{
    const struct pd_probes_link *link = &pd_probes.links[number];
    const struct pd_probes_link *back = &pd_probes.links[pd_links_reverse(number)];
    double latency = (double)(link->hop_latency_ns - link->residence_ns);

    if (pd_probes.synchronised) {
        return error ? 0 : (float)latency;
    }
    if (!back->measured || least_of(link) == INT64_MAX || least_of(back) == INT64_MAX) {
        return NAN;
    }
    double there = (double)least_of(link), here = (double)least_of(back);
    return (float)(error ? fabs(there + here) / 2 : latency - (there - here) / 2);
}

static float measured(uint32_t number, enum pd_link_probe_metric metric)
{
    const struct pd_probes_link *link = &pd_probes.links[number];

    switch (metric) {
    case PD_LINK_LATENCY: return latency_of(number, false);
    case PD_LINK_LATENCY_ERROR: return latency_of(number, true);
    case PD_LINK_HOP_LATENCY: return (float)link->hop_latency_ns;
    case PD_LINK_RESIDENCE: return (float)link->residence_ns;
    case PD_LINK_QUEUE: return (float)link->queue_bytes;
    default: return (float)link->queue_max_bytes;
    }
}

static float value_of(uint32_t number, enum pd_link_probe_metric metric, const struct view *view,
                      uint64_t now_ns)
{
    const struct pd_probes_link *link = &pd_probes.links[number];

    switch (metric) {
    case PD_LINK_PROBE_LOSS: return view->loss;
    case PD_LINK_PROBE_AGE:
        return link->seen_ns ? (float)(now_ns - link->seen_ns) / (float)PD_NS_PER_MS : NAN;
    case PD_LINK_PROBE_STATE: return (float)state_of(number, view, now_ns);
    default:
        return link->measured && now_ns - link->seen_ns <= STALE_NS ? measured(number, metric)
                                                                    : NAN;
    }
}

static bool read_all(const struct pd_topology *topology, enum pd_link_probe_metric metric,
                     float *values, uint32_t len)
{
    const uint64_t now_ns = pd_clock_monotonic_ns();
    bool good = pd_probes.watch && pd_probes.inventory &&
                pd_probes.inventory->topology == topology && len <= pd_probes.links_len;
    struct view *views = good ? see() : NULL;

    for (uint32_t i = 0; i < len && views; i++) {
        values[i] = value_of(i, metric, &views[i], now_ns);
    }
    good = views != NULL;
    free(views);
    return good;
}

bool pd_controller_probes_read(const struct pd_topology *topology, enum pd_link_probe_metric metric,
                               float *ret_values, uint32_t len)
{
    pthread_mutex_lock(&pd_probes.lock);
    bool good = read_all(topology, metric, ret_values, len);
    pthread_mutex_unlock(&pd_probes.lock);
    return good;
}
