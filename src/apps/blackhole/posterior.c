/* SPDX-License-Identifier: Apache-2.0 */
/* blackhole: which cause is how probable, by the flows that are stuck and by what is silent. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "apps/blackhole/silence.h"
#include "base/grow.h"
#include "localise/gaps.h"
#include "topology/links.h"

/* Odds beforehand beside that nothing is wrong, of all causes of a kind together. A link that
 * swallows some of its flows is expected four times as often as one that swallows all: so a link
 * that rests by chance beside it takes more than that to be certain. */
static const double priors[] = {[BH_LINK] = 0.5,   [BH_PAIR] = 0.2, [BH_CABLE] = 0.1,
                                [BH_SWITCH] = 0.1, [BH_SOME] = 2,   [BH_HOST] = 0.3};

/* The share of flows that are stuck for another reason, which nobody knows: one of these. */
static const double others[BH_EPSILONS] = {0.02, 0.1, 0.3};

/* Routing may send nothing over a link any more just then: its silence tells no more than that. */
#define REROUTED    1e-4
#define NEVER       0.05 /* the same of a link that has never carried anything */
#define SKEWED      0.1  /* that clocks differ by as much as a flow was stuck before */

#define PRIOR_LEAST 0.5
#define PRIOR_MOST  20.0
#define RATIO_LEAST 5.0 /* flows expected, and links with as many */

#define SHARES      9 /* of its flows that a link may swallow: tenths */
#define SECOND      1e6

/* One kind of cause: to which of it a link belongs, and which flows matter. */
struct scope {
    struct bh_silence *silence;
    enum bh_kind kind;
    uint32_t rack;    /* BH_PAIR: flows to this one only */
    uint32_t without; /* a host whose word does not count, or PD_NONE */
    double prior;     /* flows that a link is taken to have got as expected */
    uint32_t groups_len;
    struct group {
        double sums[BH_EPSILONS]; /* Σ log(likelihood / other) over flows that it explains */
        double offered;           /* flows, all of the time */
        double silence;           /* log of one over the chance that all its links are silent */
        double leaving;           /* the same of links that leave a switch */
        uint64_t since_us;        /* it has carried packets by then; of BH_SOME, its first stuck */
        size_t explains, all;     /* flows since it is silent */
        const struct bh_stuck *last; /* of these flows, and how much more probable it is */
        double gain;
        bool is_out;   /* something still comes over it */
        bool is_known; /* something came over it once */
    } *groups;
};

static uint32_t group_of(const struct scope *scope, uint32_t link)
{
    return scope->kind == BH_CABLE    ? link / 2
           : scope->kind == BH_SWITCH ? pd_links_to(scope->silence->topology, link)
                                      : link;
}

/* ---- silence ---- */

/* Beforehand a link gets as many flows as the topology lets expect, give or take: as much as other
 * links do. That is worth so many flows seen: one over the variance of their ratios, as far as it
 * is not that of small numbers; where ECMP has uneven weights, nearly nothing. */
static double find_prior(const struct bh_silence *silence)
{
    double sum = 0, squares = 0, small = 0, len = 0;

    for (uint32_t l = 0; l < silence->links_len; l++) {
        const struct bh_link *link = &silence->links[l];
        double ratio = link->offered > 0 ? link->crossed / link->offered : 0;

        if (link->offered >= RATIO_LEAST) {
            sum += ratio;
            squares += ratio * ratio;
            small += ratio / link->offered;
            len++;
        }
    }
    double variance = len > 1 ? (squares - sum * sum / len) / (len - 1) - small / len : 1;
    return len > RATIO_LEAST ? 1 / fmin(fmax(variance, 1 / PRIOR_MOST), 1 / PRIOR_LEAST)
                             : PRIOR_LEAST;
}

/* log of one over the chance that a link got none of `run` flows. */
static double silence_of(const struct scope *scope, const struct bh_link *link, double run)
{
    return (link->crossed + scope->prior) * log1p(run / (link->offered + scope->prior));
}

static void add_silence(struct group *group, double silence, double offered, uint64_t from_us,
                        bool is_silent)
{
    group->is_out |= !is_silent && from_us;
    group->is_known |= from_us > 0;
    group->silence += silence;
    group->offered += offered;
    group->since_us = from_us > group->since_us ? from_us : group->since_us;
}

static void add_link(struct scope *scope, uint32_t l)
{
    const struct bh_silence *silence = scope->silence;
    const struct bh_link *link = &silence->links[l];
    struct group *group = &scope->groups[group_of(scope, l)];

    if (scope->kind == BH_PAIR) {
        const struct bh_pair *pair =
            &silence->pairs[(size_t)l * silence->topology->switches_len + scope->rack];

        add_silence(group, silence_of(scope, link, pair->run), pair->offered + pair->run,
                    pair->last_from_us, pair->last_us < silence->to_us);
    } else {
        add_silence(group, silence_of(scope, link, link->run), link->offered + link->run,
                    link->last_from_us, link->last_us < silence->to_us);
    }
}

/* A switch is dead when what leaves it is silent, too: mostly the same flows, which count once. */
static void add_leaving(struct scope *scope, uint32_t l)
{
    const struct bh_silence *silence = scope->silence;
    const struct bh_link *link = &silence->links[l];
    struct group *group = &scope->groups[pd_links_from(silence->topology, l)];

    group->leaving += silence_of(scope, link, link->run);
    add_silence(group, 0, 0, link->last_from_us, link->last_us < silence->to_us);
}

static void find_silence(struct scope *scope)
{
    for (uint32_t l = 0; l < scope->silence->links_len; l++) {
        add_link(scope, l);
        if (scope->kind == BH_SWITCH) {
            add_leaving(scope, l);
        }
    }
    for (uint32_t g = 0; g < scope->groups_len; g++) {
        scope->groups[g].silence = fmax(scope->groups[g].silence, scope->groups[g].leaving);
    }
}

/* ---- flows that are stuck ---- */

static bool counts(const struct scope *scope, const struct bh_stuck *stuck)
{
    return scope->without == PD_NONE || stuck->src_host != scope->without;
}

/* Whether it got stuck no earlier than the group fell silent, as far as clocks tell. */
static bool is_since(const struct scope *scope, const struct group *group,
                     const struct bh_stuck *stuck)
{
    return stuck->first_us + scope->silence->slack_us >= group->since_us;
}

static bool goes_to(const struct bh_stuck *stuck, uint32_t rack)
{
    for (uint32_t i = 0; i < stuck->dsts_len; i++) {
        if (stuck->dsts[i] == rack) {
            return true;
        }
    }
    return false;
}

/* A flow crosses the link with this chance: that much more probable it makes the flow stuck than it
 * is beforehand. */
static void explain(struct scope *scope, const struct bh_stuck *stuck, uint32_t link, double chance)
{
    struct group *group = &scope->groups[group_of(scope, link)];

    if ((scope->kind == BH_PAIR && !goes_to(stuck, scope->rack)) ||
        (scope->kind != BH_SOME && stuck->resumed) || !is_since(scope, group, stuck)) {
        return;
    }
    double gain = fmax(chance * scope->silence->began / fmax(group->offered, 1), chance);
    double before = group->last == stuck ? group->gain : 0;
    group->gain = before + (stuck->first_us >= group->since_us ? gain : gain * SKEWED);
    for (int o = 0; o < BH_EPSILONS; o++) {
        double rest = 1 / others[o] - 1;

        group->sums[o] += log1p(rest * group->gain) - log1p(rest * before);
    }
    group->explains += group->last != stuck;
    group->last = stuck;
}

typedef void explain_link(struct scope *scope, const struct bh_stuck *stuck, uint32_t link,
                          double chance);

/* What ECMP offers between two switches, with this chance in all. */
static int explain_gap(struct scope *scope, const struct bh_stuck *stuck, uint32_t src,
                       uint32_t dst, double chance, explain_link *each)
{
    const struct pd_localise_gap *gap;
    int err = src == dst ? -PD_E_NOT_FOUND
                         : pd_localise_gap_find(scope->silence->network, src, dst, &gap);

    for (uint32_t i = 0; !err && i < gap->hops_len; i++) {
        each(scope, stuck, gap->hops[i].link, chance * gap->hops[i].chance);
    }
    return err == -PD_E_NOT_FOUND ? 0 : err;
}

/* What each link explains of a flow: of a known way all, else what ECMP offers between any of the
 * switches that its hosts hang at. */
static int explain_flow(struct scope *scope, const struct bh_stuck *stuck, explain_link *each)
{
    double chance = 1.0 / ((double)stuck->srcs_len * stuck->dsts_len);
    int err = 0;

    for (uint32_t i = 0; i < stuck->links_len; i++) {
        each(scope, stuck, stuck->links[i], 1);
    }
    for (uint32_t s = 0; s < stuck->srcs_len && !stuck->links_len; s++) {
        for (uint32_t d = 0; d < stuck->dsts_len && !err; d++) {
            err = explain_gap(scope, stuck, stuck->srcs[s], stuck->dsts[d], chance, each);
        }
    }
    return err;
}

/* A link that swallows some flows does so since the first that it may have swallowed. */
static void begin_some(struct scope *scope, const struct bh_stuck *stuck, uint32_t link,
                       double chance)
{
    struct group *group = &scope->groups[link];

    (void)chance;
    if (!group->since_us || stuck->first_us < group->since_us) {
        group->since_us = stuck->first_us;
    }
}

static int each_flow(struct scope *scope,
                     void (*each)(struct scope *scope, const struct bh_stuck *stuck, uint32_t link,
                                  double chance))
{
    int err = 0;

    for (size_t i = 0; i < scope->silence->stuck_len && !err; i++) {
        const struct bh_stuck *stuck = &scope->silence->stuck[i];

        err = counts(scope, stuck) ? explain_flow(scope, stuck, each) : 0;
    }
    return err;
}

static void count_all(struct scope *scope)
{
    for (size_t i = 0; i < scope->silence->stuck_len; i++) {
        const struct bh_stuck *stuck = &scope->silence->stuck[i];

        for (uint32_t g = 0; g < scope->groups_len && counts(scope, stuck); g++) {
            scope->groups[g].all += is_since(scope, &scope->groups[g], stuck);
        }
    }
}

/* log of the mean over the shares of other reasons. */
static double weigh_flows(const double sums[BH_EPSILONS], size_t all)
{
    double parts[BH_EPSILONS], most = -INFINITY, sum = 0;

    for (int o = 0; o < BH_EPSILONS; o++) {
        parts[o] = sums[o] + (double)all * log(others[o]);
        most = fmax(most, parts[o]);
    }
    for (int o = 0; o < BH_EPSILONS; o++) {
        sum += exp(parts[o] - most) / BH_EPSILONS;
    }
    return most + log(sum);
}

/* ---- causes ---- */

static int add_cause(struct bh_causes *causes, const struct bh_cause *cause)
{
    if (PD_GROW(causes->list, causes->room, causes->len + 1)) {
        return -ENOMEM;
    }
    causes->list[causes->len++] = *cause;
    return 0;
}

/* It may have begun at any flow that was offered to it since shortly before flows were stuck: of
 * these moments only one is left. */
static double weigh_moment(const struct scope *scope, const struct group *group)
{
    const struct bh_silence *silence = scope->silence;
    double all_s = fmax((double)(silence->to_us - silence->begun_us) / SECOND, 1);

    return -log1p(group->offered / all_s * ((double)silence->slack_us / SECOND + 1));
}

/* What routing explains as well, which is taken from all that the link may do. */
static double beyond(const struct group *group)
{
    return fmax(group->silence + log(group->is_known ? REROUTED : NEVER), 0);
}

static int add_group(const struct scope *scope, uint32_t g, struct bh_causes *causes)
{
    const struct group *group = &scope->groups[g];
    double of = (double)scope->groups_len *
                (scope->kind == BH_PAIR ? scope->silence->topology->switches_len : 1);
    struct bh_cause cause = {.kind = scope->kind,
                             .of = scope->kind == BH_CABLE ? 2 * g : g,
                             .rack = scope->rack,
                             .silence = group->silence,
                             .stuck = (double)group->explains,
                             .since_us = group->since_us};

    if (group->is_out || !group->explains) {
        return 0;
    }
    cause.weight = log(priors[scope->kind] / of) + weigh_flows(group->sums, group->all) +
                   group->silence - beyond(group) + weigh_moment(scope, group);
    return add_cause(causes, &cause);
}

/* Flows that came since, where the link swallows some: as many less. */
static double weigh_share(const struct scope *scope, const struct bh_link *link)
{
    double shape = link->crossed - link->late_crossed + scope->prior,
           rate = link->offered + link->run - link->late_offered + scope->prior, sum = 0;

    if (!link->is_late || rate <= 0 || shape <= 0) {
        return 0;
    }
    for (int i = 1; i <= SHARES; i++) {
        double part = 1 - (double)i / (SHARES + 1), late = link->late_offered;

        sum += exp(link->late_crossed * log(part) +
                   (shape + link->late_crossed) * (log(rate + late) - log(rate + part * late)));
    }
    return log(sum / SHARES);
}

static int add_some(const struct scope *scope, uint32_t g, struct bh_causes *causes)
{
    const struct group *group = &scope->groups[g];
    struct bh_cause cause = {
        .kind = BH_SOME, .of = g, .stuck = (double)group->explains, .since_us = group->since_us};

    if (!group->explains) {
        return 0;
    }
    cause.weight = log(priors[BH_SOME] / scope->groups_len) + weigh_flows(group->sums, group->all) +
                   weigh_share(scope, &scope->silence->links[g]) - beyond(group) +
                   weigh_moment(scope, group);
    return add_cause(causes, &cause);
}

static int add_groups(const struct scope *scope, struct bh_causes *causes)
{
    int err = 0;

    for (uint32_t g = 0; g < scope->groups_len && !err; g++) {
        err = scope->kind == BH_SOME ? add_some(scope, g, causes) : add_group(scope, g, causes);
    }
    return err;
}

static int weigh_scope(struct bh_silence *silence, enum bh_kind kind, uint32_t rack,
                       uint32_t without, struct bh_causes *causes)
{
    struct scope scope = {.silence = silence,
                          .kind = kind,
                          .rack = rack,
                          .without = without,
                          .prior = find_prior(silence),
                          .groups_len = kind == BH_CABLE    ? silence->links_len / 2
                                        : kind == BH_SWITCH ? silence->topology->switches_len
                                                            : silence->links_len};

    scope.groups = calloc((size_t)scope.groups_len + 1, sizeof *scope.groups);
    if (!scope.groups) {
        return -ENOMEM;
    }
    find_silence(&scope);
    int err = 0;
    if (kind == BH_SOME) {
        for (uint32_t g = 0; g < scope.groups_len; g++) {
            scope.groups[g].since_us = 0;
        }
        err = each_flow(&scope, begin_some);
    }
    err = err ? err : each_flow(&scope, explain);
    count_all(&scope);
    err = err ? err : add_groups(&scope, causes);
    free(scope.groups);
    return err;
}

/* Each rack that flows are stuck on their way to, once. */
static int weigh_racks(struct bh_silence *silence, uint32_t without, struct bh_causes *causes)
{
    int err = 0;

    for (uint32_t rack = 0; silence->pairs && rack < silence->topology->switches_len; rack++) {
        bool is_goal = false;

        for (size_t i = 0; i < silence->stuck_len && !is_goal; i++) {
            is_goal = goes_to(&silence->stuck[i], rack);
        }
        err = is_goal && !err ? weigh_scope(silence, BH_PAIR, rack, without, causes) : err;
    }
    return err;
}

/* A host that nothing leaves or reaches; twice its share of all flows begin or end there. */
static int weigh_host(const struct bh_silence *silence, uint32_t host, uint32_t without,
                      struct bh_causes *causes)
{
    double hosts = silence->topology->hosts_len, gain = hosts / 2, sums[BH_EPSILONS] = {0};
    struct bh_cause cause = {.kind = BH_HOST, .of = host};
    size_t all = 0;

    for (size_t i = 0; i < silence->stuck_len; i++) {
        const struct bh_stuck *stuck = &silence->stuck[i];
        bool mine = stuck->src_host == host || stuck->dst_host == host;

        if (without != PD_NONE && stuck->src_host == without) {
            continue;
        }
        for (int o = 0; o < BH_EPSILONS && mine; o++) {
            sums[o] += log1p((1 / others[o] - 1) * gain);
        }
        cause.stuck += mine;
        all++;
    }
    cause.weight = log(priors[BH_HOST] / hosts) + weigh_flows(sums, all);
    return add_cause(causes, &cause);
}

static int weigh_hosts(const struct bh_silence *silence, uint32_t without, struct bh_causes *causes)
{
    bool *seen = calloc((size_t)silence->topology->hosts_len + 1, sizeof *seen);
    int err = seen ? 0 : -ENOMEM;

    for (size_t i = 0; i < 2 * silence->stuck_len && !err; i++) {
        const struct bh_stuck *stuck = &silence->stuck[i / 2];
        uint32_t host = i % 2 ? stuck->src_host : stuck->dst_host;

        if (host != PD_NONE && !seen[host]) {
            seen[host] = true;
            err = weigh_host(silence, host, without, causes);
        }
    }
    free(seen);
    return err;
}

/* ---- all of it ---- */

/* A link counts what came since flows are stuck that it may have swallowed. */
static void mark(struct scope *scope, const struct bh_stuck *stuck, uint32_t link, double chance)
{
    (void)stuck, (void)chance;
    scope->groups[link].explains++;
}

static int mark_late(struct bh_silence *silence)
{
    struct scope scope = {.silence = silence, .kind = BH_SOME, .without = PD_NONE};

    scope.groups = calloc((size_t)silence->links_len + 1, sizeof *scope.groups);
    int err = scope.groups ? each_flow(&scope, mark) : -ENOMEM;
    for (uint32_t l = 0; l < silence->links_len && !err; l++) {
        struct bh_link *link = &silence->links[l];

        if (!link->is_late || !scope.groups[l].explains) {
            link->late_crossed = link->late_offered = 0;
        }
        link->is_late = scope.groups[l].explains > 0;
    }
    free(scope.groups);
    return err;
}

/* What goes to a rack over a link crosses others, too: where one of these is silent for all, that
 * it is so for the rack says nothing; and what else it does not carry is left to chance. */
static void charge_pairs(struct bh_causes *causes)
{
    for (size_t i = 0; i < causes->len; i++) {
        struct bh_cause *pair = &causes->list[i];
        double more = 0;

        for (size_t l = 0; l < causes->len && pair->kind == BH_PAIR; l++) {
            const struct bh_cause *link = &causes->list[l];

            if (link->kind == BH_LINK && link->of != pair->of && link->stuck >= pair->stuck) {
                more = fmax(more, link->silence - pair->silence);
            }
        }
        pair->weight -= fmin(more, -log(REROUTED));
    }
}

static int by_weight(const void *a, const void *b)
{
    const struct bh_cause *x = a, *y = b;

    return (x->weight < y->weight) - (x->weight > y->weight);
}

/* From logarithms to probabilities; nothing being wrong has 0. */
static void normalise(struct bh_causes *causes)
{
    double most = 0, sum = 0;

    for (size_t i = 0; i < causes->len; i++) {
        most = fmax(most, causes->list[i].weight);
    }
    sum = exp(-most);
    for (size_t i = 0; i < causes->len; i++) {
        sum += exp(causes->list[i].weight - most);
    }
    for (size_t i = 0; i < causes->len; i++) {
        causes->list[i].weight = exp(causes->list[i].weight - most) / sum;
    }
    if (causes->len) {
        qsort(causes->list, causes->len, sizeof *causes->list, by_weight);
    }
}

int pd_blackhole_silence_weigh(struct bh_silence *silence, uint32_t without,
                               struct bh_causes *ret_causes)
{
    static const enum bh_kind kinds[] = {BH_LINK, BH_CABLE, BH_SWITCH, BH_SOME};
    int err = mark_late(silence);

    *ret_causes = (struct bh_causes){.stuck = silence->stuck_len};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !err; i++) {
        err = weigh_scope(silence, kinds[i], PD_NONE, without, ret_causes);
    }
    err = err ? err : weigh_racks(silence, without, ret_causes);
    err = err ? err : weigh_hosts(silence, without, ret_causes);
    charge_pairs(ret_causes);
    normalise(ret_causes);
    return err;
}

void pd_blackhole_causes_done(struct bh_causes *causes)
{
    free(causes->list);
    *causes = (struct bh_causes){.list = NULL};
}
