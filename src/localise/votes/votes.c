/* SPDX-License-Identifier: Apache-2.0 */
/* The localiser `votes`: ballots, the tally, Algorithm 1, causes. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "localise/votes/private.h"

enum adjust { ADJUST_EXACT, ADJUST_ECMP, ADJUST_NONE };

struct options {
    double threshold;
    enum adjust adjust;
    uint64_t min_flows;
    bool of_switches;
};

struct votes {
    struct pd_localiser head;
    struct options options;
    struct pd_localise_groups ballots; /* members are links, or switches by index */
    double *shares;                    /* of the ballot at hand, by candidate; zeroed after use */
    uint32_t *touched;                 /* candidates with a share */
    struct pd_localise_member *members;
    uint32_t candidates; /* links, or switches */
    double *first;       /* the first tally, by candidate */
    bool *is_named;
    struct pd_verdict_link *named, *ranking;
    size_t ranking_len;
};

/* ---- options ---- */

static int set_threshold(void *target, const char *name, const char *value, struct pd_error *error)
{
    struct options *set = target;
    char *end;
    double number = strtod(value, &end);
    if (!*value || *end || !(number >= 0 && number <= 1)) {
        return pd_fail(error, -PD_E_VALUE, "%s: expects a share from 0 to 1, not \"%.60s\"", name,
                       value);
    }
    set->threshold = number;
    return 0;
}

static int set_adjust(void *target, const char *name, const char *value, struct pd_error *error)
{
    static const char *const names[] = {
        [ADJUST_EXACT] = "exact", [ADJUST_ECMP] = "ecmp", [ADJUST_NONE] = "none"};
    struct options *set = target;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(value, names[i])) {
            set->adjust = (enum adjust)i;
            return 0;
        }
    }
    return pd_fail(error, -PD_E_VALUE, "%s: expects exact, ecmp or none, not \"%.60s\"", name,
                   value);
}

static int set_of(void *target, const char *name, const char *value, struct pd_error *error)
{
    struct options *set = target;
    set->of_switches = !strcmp(value, "switches");
    if (!set->of_switches && strcmp(value, "links") != 0) {
        return pd_fail(error, -PD_E_VALUE, "%s: expects links or switches, not \"%.60s\"", name,
                       value);
    }
    return 0;
}

static const struct pd_option option_table[] = {
    {.name = "threshold",
     .type = PD_OPTION_CALLBACK,
     .value = "SHARE",
     .fallback = "0.01",
     .set = set_threshold,
     .help = "least share of all votes as they stand, to be named"},
    {.name = "adjust",
     .type = PD_OPTION_CALLBACK,
     .value = "HOW",
     .fallback = "exact",
     .set = set_adjust,
     .help = "how votes are taken back: exact, ecmp or none"},
    {.name = "min-flows",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct options, min_flows),
     .min = 1,
     .max = UINT32_MAX,
     .value = "N",
     .fallback = "2",
     .help = "least flows not yet explained that cross a link, to name it"},
    {.name = "of",
     .type = PD_OPTION_CALLBACK,
     .value = "WHAT",
     .fallback = "links",
     .set = set_of,
     .help = "links, or switches"},
    {0},
};

/* ---- begin and end ---- */

static void free_votes(struct pd_localiser *localiser)
{
    struct votes *votes = (struct votes *)localiser;
    pd_localise_groups_done(&votes->ballots);
    free(votes->shares);
    free(votes->touched);
    free(votes->members);
    free(votes->first);
    free(votes->is_named);
    free(votes->named);
    free(votes->ranking);
    free(votes);
}

static int new_votes(const struct pd_localiser_config *config, struct pd_localiser **ret_localiser)
{
    const struct options *options = config->options;
    struct votes *votes;
    if (options->of_switches && options->adjust == ADJUST_ECMP) {
        return -PD_E_UNSUPPORTED; /* the paper's estimate is of links */
    }
    votes = calloc(1, sizeof *votes);
    if (!votes) {
        return -ENOMEM;
    }
    votes->options = *options;
    *ret_localiser = &votes->head;
    return 0;
}

/* Room by candidate, when the network is known. */
static int reserve(struct votes *votes)
{
    const struct pd_localise_network *network = votes->head.network;
    if (votes->shares) {
        return 0;
    }
    votes->candidates =
        votes->options.of_switches ? network->topology->switches_len : network->links_len;
    size_t len = (size_t)votes->candidates + 1;
    votes->touched = calloc(len, sizeof *votes->touched);
    votes->members = calloc(len, sizeof *votes->members);
    votes->first = calloc(len, sizeof *votes->first);
    votes->is_named = calloc(len, sizeof *votes->is_named);
    votes->named = calloc(len, sizeof *votes->named);
    votes->ranking = calloc(len, sizeof *votes->ranking);
    if (!votes->touched || !votes->members || !votes->first || !votes->is_named || !votes->named ||
        !votes->ranking || !(votes->shares = calloc(len, sizeof *votes->shares))) {
        free(votes->touched);
        free(votes->members);
        free(votes->first);
        free(votes->is_named);
        free(votes->named);
        free(votes->ranking);
        votes->touched = NULL;
        votes->members = NULL;
        votes->first = NULL;
        votes->is_named = NULL;
        votes->named = votes->ranking = NULL;
        return -ENOMEM;
    }
    return 0;
}

/* ---- ballots ---- */

static void give(struct votes *votes, uint32_t candidate, double share, size_t *touched_len)
{
    if (votes->shares[candidate] <= 0) {
        votes->touched[(*touched_len)++] = candidate;
    }
    votes->shares[candidate] += share;
}

static void give_links(struct votes *votes, const struct pd_localise_row *row, size_t *touched_len)
{
    for (size_t w = 0; w < row->ways_len; w++) {
        const struct pd_localise_way *way = &row->ways[w];
        for (uint32_t h = 0; h < way->hops_len; h++) {
            const struct pd_localise_hop *hop = &row->hops[way->first + h];
            give(votes, hop->link, hop->chance / way->slots_len / (double)row->ways_len,
                 touched_len);
        }
    }
}

/* The switches of a way are those that its links enter, and the one that the first link leaves. */
static void give_switches(struct votes *votes, const struct pd_localise_row *row,
                          size_t *touched_len)
{
    const struct pd_localise_network *network = votes->head.network;
    const struct pd_topology *topology = network->topology;
    for (size_t w = 0; w < row->ways_len; w++) {
        const struct pd_localise_way *way = &row->ways[w];
        const struct pd_localise_hop *hops = &row->hops[way->first];
        bool from_host = pd_topology_switch(topology, network->ends[hops[0].link].from) == PD_NONE;
        bool to_host =
            pd_topology_switch(topology, network->ends[hops[way->hops_len - 1].link].to) == PD_NONE;
        double len = (double)way->slots_len + 1 - from_host - to_host;
        for (uint32_t h = 0; h < way->hops_len; h++) {
            const struct pd_localise_ends *ends = &network->ends[hops[h].link];
            uint32_t from = pd_topology_switch(topology, ends->from);
            uint32_t to = pd_topology_switch(topology, ends->to);
            double share = hops[h].chance / len / (double)row->ways_len;
            if (!hops[h].slot && from != PD_NONE) {
                give(votes, from, share, touched_len);
            }
            if (to != PD_NONE) {
                give(votes, to, share, touched_len);
            }
        }
    }
}

static bool has_links(const struct pd_localise_row *row)
{
    for (size_t w = 0; w < row->ways_len; w++) {
        if (!row->ways[w].hops_len) {
            return false;
        }
    }
    return true;
}

static int take_row(struct pd_localiser *localiser, const struct pd_localise_row *row)
{
    struct votes *votes = (struct votes *)localiser;
    size_t len = 0;
    if (!row->row->lost || !has_links(row)) {
        return 0;
    }
    if (votes->options.of_switches) {
        give_switches(votes, row, &len);
    } else {
        give_links(votes, row, &len);
    }
    for (size_t i = 0; i < len; i++) {
        uint32_t candidate = votes->touched[i];
        votes->members[i] =
            (struct pd_localise_member){.id = candidate, .weight = votes->shares[candidate]};
        votes->shares[candidate] = 0;
    }
    int err = pd_localise_groups_add(&votes->ballots, votes->members, len, 0,
                                     (double)row->row->lost, NULL);
    localiser->counters.signatures += !err;
    localiser->counters.spread += !err && row->ways_len > 1;
    if (err == -PD_E_FULL) {
        localiser->counters.dropped++;
        err = 0;
    }
    return err;
}

static int observe(struct pd_localiser *localiser, const struct pd_evidence_period *period)
{
    int err = reserve((struct votes *)localiser);
    return err ? err : pd_localise_each(localiser, period, take_row);
}

/* ---- Algorithm 1 ---- */

struct counting {
    struct votes *votes;
    struct pd_localise_index index;
    double *tally;    /* by candidate */
    double *crossing; /* flows not yet explained */
    double *given;    /* of `ecmp` */
    bool *explained;  /* by ballot */
    size_t named_len;
};

static void counting_done(struct counting *c)
{
    pd_localise_index_done(&c->index);
    free(c->tally);
    free(c->crossing);
    free(c->given);
    free(c->explained);
}

static int counting_init(struct votes *votes, struct counting *c)
{
    size_t len = (size_t)votes->candidates + 1;
    *c = (struct counting){.votes = votes,
                           .tally = calloc(len, sizeof *c->tally),
                           .crossing = calloc(len, sizeof *c->crossing),
                           .given = calloc(len, sizeof *c->given),
                           .explained = calloc(votes->ballots.len + 1, sizeof *c->explained)};
    if (!c->tally || !c->crossing || !c->given || !c->explained) {
        return -ENOMEM;
    }
    return pd_localise_index_init(&votes->ballots, votes->candidates, &c->index);
}

static void count_votes(struct counting *c)
{
    const struct pd_localise_groups *ballots = &c->votes->ballots;
    for (size_t b = 0; b < ballots->len; b++) {
        const struct pd_localise_group *ballot = &ballots->groups[b];
        for (uint32_t i = 0; i < ballot->len; i++) {
            const struct pd_localise_member *member = &ballots->members[ballot->first + i];
            c->tally[member->id] += member->weight * ballot->count;
            c->crossing[member->id] += ballot->count;
        }
    }
    memcpy(c->votes->first, c->tally, c->votes->candidates * sizeof *c->tally);
}

static struct pd_verdict_link name_of(const struct votes *votes, uint32_t candidate, double score)
{
    const struct pd_localise_network *network = votes->head.network;
    if (votes->options.of_switches) {
        return (struct pd_verdict_link){
            .from = network->topology->switches[candidate].id, .loss = -1, .score = score};
    }
    return (struct pd_verdict_link){.from = network->ends[candidate].from,
                                    .to = network->ends[candidate].to,
                                    .loss = -1,
                                    .score = score};
}

static bool is_open(const struct counting *c, uint32_t candidate)
{
    return !c->votes->is_named[candidate] &&
           c->crossing[candidate] >= (double)c->votes->options.min_flows;
}

/* The one with the most votes; PD_NONE when no more is to be named. */
static uint32_t find_most(const struct counting *c)
{
    uint32_t best = PD_NONE;
    double most = 0, all = 0;
    for (uint32_t i = 0; i < c->votes->candidates; i++) {
        all += c->tally[i];
        most = is_open(c, i) ? fmax(most, c->tally[i]) : most;
    }
    for (uint32_t i = 0; i < c->votes->candidates && most > VOTES_TIE; i++) {
        if (!is_open(c, i) || c->tally[i] < most - VOTES_TIE) {
            continue;
        }
        struct pd_verdict_link a = name_of(c->votes, i, 0);
        struct pd_verdict_link b = name_of(c->votes, best == PD_NONE ? i : best, 0);
        best = best == PD_NONE || pd_localise_by_ids(&a, &b) < 0 ? i : best;
    }
    /* A share that is the threshold itself is enough, whatever rounding made of it. */
    bool is_enough = most >= c->votes->options.threshold * all * (1 - VOTES_TIE);
    return is_enough ? best : PD_NONE;
}

static void take_back_exactly(struct counting *c, uint32_t named)
{
    const struct pd_localise_groups *ballots = &c->votes->ballots;
    for (uint32_t i = c->index.starts[named]; i < c->index.starts[named + 1]; i++) {
        const struct pd_localise_group *ballot = &ballots->groups[c->index.groups[i]];
        if (c->explained[c->index.groups[i]]) {
            continue;
        }
        c->explained[c->index.groups[i]] = true;
        for (uint32_t m = 0; m < ballot->len; m++) {
            const struct pd_localise_member *member = &ballots->members[ballot->first + m];
            c->crossing[member->id] -= ballot->count;
            if (!c->votes->is_named[member->id]) {
                c->tally[member->id] -= member->weight * ballot->count;
            }
        }
    }
}

static int take_back_by_ecmp(struct counting *c, uint32_t named)
{
    int err = pd_votes_given(c->votes->head.network, named, c->given);
    for (uint32_t i = 0; i < c->votes->candidates && !err; i++) {
        if (!c->votes->is_named[i]) {
            c->tally[i] = fmax(0, c->tally[i] - c->tally[named] * c->given[i]);
        }
    }
    return err;
}

static int name_all(struct counting *c)
{
    struct votes *votes = c->votes;
    uint32_t most;
    int err = 0;
    memset(votes->is_named, 0, votes->candidates * sizeof *votes->is_named);
    while (!err && (most = find_most(c)) != PD_NONE) {
        votes->named[c->named_len++] = name_of(votes, most, c->tally[most]);
        votes->is_named[most] = true;
        if (votes->options.adjust == ADJUST_EXACT) {
            take_back_exactly(c, most);
        } else if (votes->options.adjust == ADJUST_ECMP) {
            err = take_back_by_ecmp(c, most);
        }
    }
    return err;
}

/* ---- the verdict ---- */

static int by_score(const void *a, const void *b)
{
    const struct pd_verdict_link *x = a, *y = b;
    double x_score = nearbyint(x->score / VOTES_TIE), y_score = nearbyint(y->score / VOTES_TIE);
    if (x_score > y_score || x_score < y_score) {
        return x_score > y_score ? -1 : 1;
    }
    return pd_localise_by_ids(x, y);
}

static void rank(struct votes *votes)
{
    votes->ranking_len = 0;
    for (uint32_t i = 0; i < votes->candidates; i++) {
        if (votes->first[i] > 0) {
            votes->ranking[votes->ranking_len++] = name_of(votes, i, votes->first[i]);
        }
    }
    qsort(votes->ranking, votes->ranking_len, sizeof *votes->ranking, by_score);
}

static double sum_counts(const struct votes *votes)
{
    double sum = 0;
    for (size_t b = 0; b < votes->ballots.len; b++) {
        sum += votes->ballots.groups[b].count;
    }
    return sum;
}

/* Its confidence is the share of the votes that those named were named with. */
static int locate(struct pd_localiser *localiser, struct pd_verdict *ret_verdict)
{
    struct votes *votes = (struct votes *)localiser;
    struct counting c;
    double total = sum_counts(votes), named = 0;
    int err = reserve(votes);
    if (err) {
        return err;
    }
    err = counting_init(votes, &c);
    if (!err) {
        count_votes(&c);
        rank(votes);
        err = name_all(&c);
    }
    for (size_t i = 0; i < c.named_len; i++) {
        named += votes->named[i].score;
    }
    if (!err) {
        *ret_verdict = (struct pd_verdict){.links = votes->named,
                                           .links_len = c.named_len,
                                           .ranking = votes->ranking,
                                           .ranking_len = votes->ranking_len,
                                           .total = total,
                                           .confidence = total > 0 ? fmin(1, named / total) : 0};
    }
    counting_done(&c);
    return err;
}

/* ---- causes ---- */

static void blame(const struct votes *votes, uint32_t candidate, double *most,
                  struct pd_cause *cause)
{
    if (candidate == PD_NONE || !votes->is_named[candidate]) {
        return;
    }
    const struct pd_verdict_link link = name_of(votes, candidate, 0);
    const struct pd_verdict_link before = {.from = cause->from, .to = cause->to};
    double score = votes->first[candidate];
    if (cause->class == PD_CAUSE_NOISE || score > *most + VOTES_TIE ||
        (score > *most - VOTES_TIE && pd_localise_by_ids(&link, &before) < 0)) {
        *cause = (struct pd_cause){PD_CAUSE_FAILURE, link.from, link.to};
        *most = score;
    }
}

/* A named link of its path is the cause, the one with the most votes. */
static void cause_of(const struct pd_localiser *localiser, const struct pd_localise_row *row,
                     struct pd_cause *ret_cause)
{
    const struct votes *votes = (const struct votes *)localiser;
    const struct pd_localise_network *network = localiser->network;
    struct pd_cause cause = {.class = PD_CAUSE_NOISE};
    double most = 0;
    for (size_t h = 0; h < row->hops_len && votes->is_named; h++) {
        const struct pd_localise_ends *ends = &network->ends[row->hops[h].link];
        if (votes->options.of_switches) {
            blame(votes, pd_topology_switch(network->topology, ends->from), &most, &cause);
            blame(votes, pd_topology_switch(network->topology, ends->to), &most, &cause);
        } else {
            blame(votes, row->hops[h].link, &most, &cause);
        }
    }
    *ret_cause = cause;
}

extern const struct pd_localiser_ops pd_localiser_votes;

const struct pd_localiser_ops pd_localiser_votes = {
    .name = "votes",
    .help = "each flow that suffered votes for the links of its path, as 007 has it",
    .kinds = PD_EVIDENCE_FLOW,
    .options = option_table,
    .options_bytes = sizeof(struct options),
    .new = new_votes,
    .free = free_votes,
    .observe = observe,
    .locate = locate,
    .cause = cause_of,
};
