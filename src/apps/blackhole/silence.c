/* SPDX-License-Identifier: Apache-2.0 */
/* blackhole: which links carried packets when, and which fell silent while flows are stuck. */
#include "apps/blackhole/silence.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/rows.h"
#include "apps/sums.h"
#include "localise/network.h"
#include "topology/links.h"

/* That any link is silent so long without a fault: above it none is told. */
#define CHANCE_MAX  0.01
#define SHARE_LEAST 0.75 /* of the flows that are stuck, that the link has to explain */

enum { PERIODS_LEAST = 3, SILENT_MAX = 64, STUCK_LEAST = 2 };

void pd_blackhole_silence_done(struct bh_silence *silence)
{
    for (size_t i = 0; i < silence->len; i++) {
        free(silence->periods[i].pkts);
    }
    *silence = (struct bh_silence){.len = 0};
}

/* ---- what comes in ---- */

/* Another topology has other links. */
static void keep_up(struct bh_silence *silence, const struct pd_topology *topology)
{
    if (silence->topology != topology) {
        pd_blackhole_silence_done(silence);
        silence->topology = topology;
        silence->links_len = pd_links_directed(topology);
        silence->fabric_len = 2 * topology->fabric_links_len;
        uint64_t pairs = (uint64_t)silence->fabric_len * topology->switches_len;
        silence->pairs_len = pairs <= BH_PAIRS_MAX ? (uint32_t)pairs : 0;
    }
}

static struct bh_period *add_period(struct bh_silence *silence)
{
    float *pkts = calloc((size_t)silence->links_len + silence->pairs_len + 1, sizeof *pkts);

    if (!pkts) {
        return NULL;
    }
    if (silence->len == BH_PERIODS_MAX) {
        free(silence->periods[0].pkts);
        memmove(silence->periods, silence->periods + 1,
                (BH_PERIODS_MAX - 1) * sizeof *silence->periods);
        silence->len--;
    }
    silence->periods[silence->len] = (struct bh_period){.pkts = pkts};
    return &silence->periods[silence->len++];
}

/* Place of a link's packets for a rack. */
static size_t pair_of(const struct bh_silence *silence, uint32_t link, uint32_t rack)
{
    return silence->links_len + (size_t)link * silence->topology->switches_len + rack;
}

static void count_way(const struct bh_silence *silence, struct bh_period *period,
                      const struct pd_evidence_way *way)
{
    uint32_t rack = way->nodes_len && silence->pairs_len
                        ? pd_topology_switch(silence->topology, way->nodes[way->nodes_len - 1])
                        : PD_NONE;

    for (uint32_t i = 0; i + 1 < way->nodes_len && way->pkts != PD_EVIDENCE_UNKNOWN; i++) {
        uint32_t link =
            pd_topology_links_by_ids(silence->topology, way->nodes[i], way->nodes[i + 1], NULL);

        if (link != PD_NONE) {
            period->pkts[link] += (float)way->pkts;
        }
        if (link < silence->fabric_len && rack != PD_NONE) {
            period->pkts[pair_of(silence, link, rack)] += (float)way->pkts;
        }
    }
}

static void add_stuck(struct bh_silence *silence, const struct pd_evidence_row *row,
                      uint64_t now_us)
{
    size_t at = 0;

    for (; at < silence->stuck_len; at++) {
        if (pd_flow_id_equal(&silence->stuck[at].flow, &row->flow)) {
            silence->stuck[at].seen_us = now_us;
            return;
        }
    }
    for (size_t i = 0; at == BH_STUCK_MAX && i < BH_STUCK_MAX; i++) {
        at = silence->stuck[i].seen_us < now_us ? i : at;
    }
    if (at < BH_STUCK_MAX) {
        silence->stuck[at] = (struct bh_stuck){row->flow, now_us};
        silence->stuck_len += at == silence->stuck_len;
    }
}

/* It sent again, and nothing of it came in the period. */
static bool is_stuck(const struct pd_evidence_row *row)
{
    return row->kind == PD_EVIDENCE_FLOW && row->lost && row->flow.ip_version &&
           (!row->ways_len || !row->pkts);
}

static int take(void *context, const struct pd_evidence_period *given)
{
    struct bh_silence *silence = context;
    struct bh_period *period = given->continues && silence->len
                                   ? &silence->periods[silence->len - 1]
                                   : add_period(silence);

    if (!period) {
        return -ENOMEM;
    }
    period->from_us = given->from_us;
    period->to_us = given->to_us;
    for (size_t i = 0; i < given->rows_len; i++) {
        for (size_t w = 0; w < given->rows[i].ways_len; w++) {
            count_way(silence, period, &given->rows[i].ways[w]);
        }
        if (is_stuck(&given->rows[i])) {
            add_stuck(silence, &given->rows[i], given->to_us);
        }
    }
    return 0;
}

int pd_blackhole_silence_look(struct bh_silence *silence, const struct pd_app_call *call,
                              uint64_t back_us, struct pd_report *report, struct pd_error *error)
{
    const struct pd_app_world *world = call->world;
    uint64_t now_us = world->ops->now_us(world->context);
    const struct pd_evidence_sink sink = {silence, take};

    if (!world->ops->observe) {
        return 0;
    }
    keep_up(silence, world->topology);
    if (!silence->seen_us || silence->seen_us > now_us) {
        silence->seen_us = now_us > back_us ? now_us - back_us : 0;
    }
    int err = world->ops->observe(world->context, silence->seen_us, now_us, PD_APP_FLOWS, &sink,
                                  report, error);
    if (!err) {
        silence->seen_us = now_us;
    }
    return err;
}

/* ---- which links are silent ---- */

static double seconds(const struct bh_period *period)
{
    return (double)(period->to_us - period->from_us) / 1e6;
}

/* Of the first `len` periods: packets a second, and their dispersion. */
static double mean_rate(const struct bh_silence *silence, size_t link, size_t len,
                        double *ret_spread)
{
    double pkts = 0, all_s = 0, square = 0;

    for (size_t i = 0; i < len; i++) {
        pkts += (double)silence->periods[i].pkts[link];
        all_s += seconds(&silence->periods[i]);
    }
    double rate = all_s > 0 ? pkts / all_s : 0;
    for (size_t i = 0; i < len && rate > 0; i++) {
        double mean = rate * seconds(&silence->periods[i]);
        double rest = (double)silence->periods[i].pkts[link] - mean;

        square += mean > 0 ? rest * rest / mean : 0;
    }
    *ret_spread = fmax(len > 1 ? square / (double)(len - 1) : 1, 1.01);
    return rate;
}

/* The chance that the link, or pair, is silent at the end without a fault; 1: it is not, or never
 * carried anything to speak of. */
static double weigh(const struct bh_silence *silence, size_t link, struct bh_silent *silent)
{
    size_t before = silence->len;
    double spread, silent_s = 0;

    while (before && silence->periods[before - 1].pkts[link] <= 0) {
        silent_s += seconds(&silence->periods[--before]);
    }
    if (silence->holds && silence->held_at == link && before < PERIODS_LEAST) {
        *silent = silence->held;
        return silent->chance;
    }
    if (before == silence->len || before < PERIODS_LEAST) {
        return 1;
    }
    double rate = mean_rate(silence, link, before, &spread);
    *silent = (struct bh_silent){.since_us = silence->periods[before - 1].to_us};
    silent->chance = exp(-rate * silent_s * log(spread) / (spread - 1));
    return silent->chance;
}

static size_t list_silent(const struct bh_silence *silence, struct bh_silent silent[SILENT_MAX])
{
    size_t len = 0;

    for (uint32_t link = 0; link < silence->fabric_len && len < SILENT_MAX; link++) {
        bool told = weigh(silence, link, &silent[len]) * silence->fabric_len <= CHANCE_MAX;

        silent[len].link = link;
        silent[len].rack = PD_NONE;
        len += told;
    }
    return len;
}

/* Links that carry on, but nothing any more for a rack. */
static size_t list_pairs(const struct bh_silence *silence, struct bh_silent silent[SILENT_MAX])
{
    uint32_t racks = silence->topology->switches_len;
    size_t len = 0;

    for (uint32_t pair = 0; pair < silence->pairs_len && len < SILENT_MAX; pair++) {
        size_t at = pair_of(silence, pair / racks, pair % racks);
        bool told = weigh(silence, at, &silent[len]) * silence->pairs_len <= CHANCE_MAX;

        silent[len].link = pair / racks;
        silent[len].rack = pair % racks;
        len += told;
    }
    return len;
}

/* ---- what each would explain ---- */

struct distances {
    const struct pd_topology *topology;
    uint32_t *from, *to, *queue; /* to each switch, of both ends of the link at hand */
};

static void distances_done(struct distances *d)
{
    free(d->from);
    free(d->to);
    free(d->queue);
}

static int distances_init(const struct pd_topology *topology, struct distances *d)
{
    size_t len = (size_t)topology->switches_len + 1;

    *d = (struct distances){.topology = topology,
                            .from = calloc(len, sizeof *d->from),
                            .to = calloc(len, sizeof *d->to),
                            .queue = calloc(len, sizeof *d->queue)};
    return d->from && d->to && d->queue ? 0 : -ENOMEM;
}

static bool crosses(const struct distances *d, uint32_t src, uint32_t dst, const uint32_t *far)
{
    return src != dst && d->from[src] != PD_NONE && d->to[dst] != PD_NONE &&
           d->from[src] + 1 + d->to[dst] == far[src];
}

/* Whether a shortest path of the flow crosses the link: between any of its ends' racks. */
static bool may_cross(const struct distances *d, const struct pd_flow_id *flow, uint32_t *far)
{
    uint32_t srcs[PD_HOMES_MAX], dsts[PD_HOMES_MAX];
    uint32_t srcs_len = pd_topology_tors_of(d->topology, &flow->src, flow->ip_version, srcs);
    uint32_t dsts_len = pd_topology_tors_of(d->topology, &flow->dst, flow->ip_version, dsts);
    bool found = false;

    for (uint32_t t = 0; t < dsts_len && !found; t++) {
        pd_localise_distances(d->topology, dsts[t], far, d->queue);
        for (uint32_t s = 0; s < srcs_len && !found; s++) {
            found = crosses(d, srcs[s], dsts[t], far);
        }
    }
    return found;
}

static bool goes_to(const struct bh_silence *silence, const struct pd_flow_id *flow, uint32_t rack)
{
    uint32_t tors[PD_HOMES_MAX];
    uint32_t len = pd_topology_tors_of(silence->topology, &flow->dst, flow->ip_version, tors);
    bool found = rack == PD_NONE;

    for (uint32_t t = 0; t < len && !found; t++) {
        found = tors[t] == rack;
    }
    return found;
}

/* Flows that were stuck after it fell silent, and the share of them that may have crossed it. A
 * link rests for one rack more often than chance says, since flows last: that has to explain what
 * is stuck of all that were of late. */
static void explain(const struct bh_silence *silence, struct distances *d, uint32_t *far,
                    struct bh_silent *silent)
{
    size_t explained = 0;

    silent->stuck = 0;
    pd_localise_distances(d->topology, pd_links_from(d->topology, silent->link), d->from, d->queue);
    pd_localise_distances(d->topology, pd_links_to(d->topology, silent->link), d->to, d->queue);
    for (size_t i = 0; i < silence->stuck_len; i++) {
        bool since = silence->stuck[i].seen_us > silent->since_us;

        silent->stuck += since || silent->rack != PD_NONE;
        explained += since && goes_to(silence, &silence->stuck[i].flow, silent->rack) &&
                     may_cross(d, &silence->stuck[i].flow, far);
    }
    silent->share = silent->stuck ? (double)explained / (double)silent->stuck : 0;
}

/* ---- the verdict ---- */

static int by_share(const void *a, const void *b)
{
    const struct bh_silent *x = a, *y = b;

    if (x->share > y->share || x->share < y->share) {
        return x->share > y->share ? -1 : 1;
    }
    return (x->chance > y->chance) - (x->chance < y->chance);
}

/* Those that explain the flows that are stuck, first. */
static size_t count_suspects(const struct bh_silent *silent, size_t len)
{
    size_t count = 0;

    while (count < len && silent[count].share >= SHARE_LEAST &&
           silent[count].stuck >= STUCK_LEAST) {
        count++;
    }
    return count;
}

static void show(const struct bh_silence *silence, const struct bh_silent *silent, bool alone,
                 struct pd_report *report)
{
    struct pd_link_match link = {pd_topology_links_from_id(silence->topology, silent->link),
                                 pd_topology_links_to_id(silence->topology, silent->link)};
    char text[PD_LINK_TEXT_BYTES];

    pd_app_report_switch(report, link.from);
    pd_app_report_switch(report, link.to);
    if (alone) {
        pd_app_report_link(report, link.from, link.to);
    }
    pd_app_report_row(report, "suspects",
                      json_pack("{s:o, s:i, s:I}", "link", pd_app_link_json(link), "blackhole", 1,
                                "explains",
                                (json_int_t)llround(silent->share * (double)silent->stuck)));
    if (silent->rack != PD_NONE) {
        pd_app_report_evidence(report, "what %s carries goes to other racks than that of switch %u",
                               pd_link_format(link, text),
                               silence->topology->switches[silent->rack].id);
    }
    pd_app_report_evidence(
        report,
        "%s carries nothing%s since %.1f s ago, by chance in %.2g of the cases; %.0f "
        "of %zu flows of which nothing arrives may cross it",
        pd_link_format(link, text), silent->rack == PD_NONE ? "" : " for that rack",
        (double)(silence->seen_us - silent->since_us) / 1e6, silent->chance,
        silent->share * (double)silent->stuck, silent->stuck);
}

/* The one that is left; where it is one rack's packets alone, by the rack's prefixes. */
static void tell_fault(const struct bh_silence *silence, const struct bh_silent *silent,
                       struct pd_report *report)
{
    const struct pd_switch *rack =
        silent->rack == PD_NONE ? NULL : &silence->topology->switches[silent->rack];
    const struct pd_link_match link = {pd_topology_links_from_id(silence->topology, silent->link),
                                       pd_topology_links_to_id(silence->topology, silent->link)};
    json_t *what = json_array();
    char text[PD_ADDR_TEXT_BYTES];

    for (uint32_t i = 0; rack && i < rack->prefixes_len; i++) {
        const struct pd_prefix *prefix = &rack->prefixes[i];

        json_array_append_new(
            what, json_sprintf("%s/%u", pd_addr_format(&prefix->addr, prefix->ip_version, text),
                               prefix->bits));
    }
    bool by_prefix = json_array_size(what) > 0;
    if (!by_prefix) {
        json_array_append_new(what, pd_app_link_json(link));
    }
    const char *kind = by_prefix ? "prefix" : "link";
    pd_app_report_member(report, "kind", json_string(kind));
    pd_app_report_member(report, "faults",
                         json_pack("[{s:s, s:o, s:f, s:f}]", "kind", kind, "what", what, "loss",
                                   1.0, "weight", 0.9));
    if (by_prefix) {
        pd_app_report_say(report, "1 link: packets for %s vanish there",
                          json_string_value(json_array_get(what, 0)));
    } else {
        pd_app_report_say(report, "1 link: packets vanish there");
    }
}

static void say(const struct bh_silence *silence, const struct bh_silent *silent, size_t suspects,
                struct pd_report *report)
{
    size_t switches;

    for (size_t i = 0; i < suspects; i++) {
        show(silence, &silent[i], suspects == 1, report);
    }
    switches = json_array_size(report->switches);
    if (suspects == 1) {
        tell_fault(silence, silent, report);
        /* Never certain: flows come and go, so that a link may rest longer than the spread of its
         * periods lets expect, and the flows that are stuck may cross another one. */
        report->confidence = 0.9;
    } else {
        pd_app_report_say(report, "packets vanish: %zu switches are suspected", switches);
        report->confidence = 1 / (double)suspects;
    }
}

/* Those of `len` that explain the flows that are stuck come first; *ret_suspects: how many. */
static int explain_all(const struct bh_silence *silence, struct bh_silent *silent, size_t len,
                       size_t *ret_suspects)
{
    struct distances d = {0};
    uint32_t *far = len ? calloc((size_t)silence->topology->switches_len + 1, sizeof *far) : NULL;
    int err = len ? distances_init(silence->topology, &d) : 0;

    err = len && !far ? -ENOMEM : err;
    for (size_t i = 0; i < len && !err; i++) {
        explain(silence, &d, far, &silent[i]);
    }
    distances_done(&d);
    free(far);
    if (!err) {
        qsort(silent, len, sizeof *silent, by_share);
        *ret_suspects = count_suspects(silent, len);
    }
    return err;
}

static void hold(struct bh_silence *silence, const struct bh_silent *silent)
{
    silence->held = *silent;
    silence->holds = true;
    silence->held_at =
        silent->rack == PD_NONE ? silent->link : pair_of(silence, silent->link, silent->rack);
}

/* A link that carried others' packets after those of a rack were gone, and rests now, is no other
 * fault. */
static void keep_rack(const struct bh_silence *silence, struct bh_silent *silent)
{
    const struct bh_silent *held = &silence->held;

    if (silence->holds && held->rack != PD_NONE && silent->rack == PD_NONE &&
        silent->link == held->link && silent->since_us > held->since_us) {
        *silent = *held;
    }
}

int pd_blackhole_silence_conclude(struct bh_silence *silence, struct pd_report *report,
                                  bool *ret_found)
{
    struct bh_silent silent[SILENT_MAX];
    bool can_tell = silence->len > PERIODS_LEAST && silence->stuck_len;

    silence->holds &=
        silence->len && silence->periods[silence->len - 1].pkts[silence->held_at] <= 0;
    size_t suspects = 0, len;
    len = can_tell ? list_silent(silence, silent) : 0;
    int err = explain_all(silence, silent, len, &suspects);

    if (!err && !suspects && can_tell) {
        err = explain_all(silence, silent, list_pairs(silence, silent), &suspects);
    }
    if (!err && suspects == 1) {
        keep_rack(silence, &silent[0]);
    }
    if (!err && suspects) {
        say(silence, silent, suspects, report);
    }
    if (!err && suspects == 1) {
        hold(silence, &silent[0]);
    }
    *ret_found = suspects > 0;
    return err;
}
