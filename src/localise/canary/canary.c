/* SPDX-License-Identifier: Apache-2.0 */
/* The localisers `netbouncer`, `canary` and `netbouncer-stage`: counted paths in, links out. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "localise/canary/descent.h"
#include "localise/groups.h"
#include "localise/network.h"

/* Paper 004, section III-F. Lines of one path add up to its y = Σ (sent − lost) / Σ sent. canary
 * goes from heavy losses to light ones: in each stage a path whose loss lies in the stage's group
 * is mapped by equation 4, so that light losses weigh like heavy ones; above the group it counts as
 * passing nothing, below it as passing all. Links with x < 1 are named, and every path over them
 * leaves the later stages. netbouncer-stage takes as many stages with y as it is.
 *
 * Groups are given by their bounds (the first begins at a loss of 1), or made so that each has as
 * many of the paths that lost anything (section IV-E). */

#define NAMED_BELOW (1 - 1e-9)
#define MAPPED_TO   0.8 /* what equation 4 makes of a group's lightest loss */

enum { GROUPS_MAX = 64 };
enum kind { ONCE, STAGES, PLAIN_STAGES };

struct options {
    double bounds[GROUPS_MAX]; /* lower ends of the groups' losses, falling */
    size_t bounds_len;
    uint64_t even; /* 0: by bounds */
    double lambda;
    bool is_per_path;
};

struct stage {
    double from, to;         /* losses */
    size_t first, links_len; /* of its links among those named */
    unsigned sweeps;
};

struct canary {
    struct pd_localiser head;
    struct options options;
    enum kind kind;
    struct pd_localise_groups paths; /* members are links in the order of the path */
    struct pd_localise_member members[PD_EVIDENCE_NODES_MAX];
    struct stage stages[GROUPS_MAX];
    size_t stages_len;
    struct pd_verdict_link *named, *links, *ranking; /* in the order named, ascending, by score */
    size_t named_len;
};

/* ---- options ---- */

static int set_groups(void *target, const char *name, const char *value, struct pd_error *error)
{
    struct options *set = target;
    double last = 1;
    char *end;
    set->bounds_len = 0;
    for (const char *at = value;; at = end + 1) {
        double bound = strtod(at, &end);
        if (end == at || !(bound > 0 && bound < last) || set->bounds_len == GROUPS_MAX ||
            (*end && *end != ',')) {
            return pd_fail(error, -PD_E_VALUE,
                           "%s: expects falling shares below 1, at most 64, not \"%.100s\"", name,
                           value);
        }
        set->bounds[set->bounds_len++] = last = bound;
        if (!*end) {
            return 0;
        }
    }
}

static int set_lambda(void *target, const char *name, const char *value, struct pd_error *error)
{
    struct options *set = target;
    char *end;
    double lambda = strtod(value, &end);
    bool is_per_path = *end == 'n' && end > value;
    if (end == value || end[is_per_path] || !(lambda >= 0 && lambda <= 1e9)) {
        return pd_fail(error, -PD_E_VALUE,
                       "%s: expects a number, or one for each path as in 0.25n, not \"%.60s\"",
                       name, value);
    }
    set->lambda = lambda;
    set->is_per_path = is_per_path;
    return 0;
}

#define OPTION_LAMBDA                                                                      \
    {                                                                                      \
        .name = "lambda", .type = PD_OPTION_CALLBACK, .value = "L", .fallback = "1",       \
        .set = set_lambda, .help = "weight of x (1 - x); 0.25n: times the paths of a link" \
    }

static const struct pd_option once_options[] = {
    OPTION_LAMBDA,
    {0},
};

static const struct pd_option stage_options[] = {
    OPTION_LAMBDA,
    {.name = "groups",
     .type = PD_OPTION_CALLBACK,
     .value = "BOUNDS",
     .fallback = "0.2,0.1,0.05,0.01,0.001",
     .set = set_groups,
     .help = "lower bounds of the groups of losses, falling"},
    {.name = "even",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct options, even),
     .max = GROUPS_MAX,
     .value = "N",
     .fallback = "0",
     .help = "as many groups with as many lossy paths each, instead of bounds"},
    {0},
};

/* ---- begin and end ---- */

static void free_canary(struct pd_localiser *localiser)
{
    struct canary *canary = (struct canary *)localiser;
    pd_localise_groups_done(&canary->paths);
    free(canary->named);
    free(canary->links);
    free(canary->ranking);
    free(canary);
}

static int new_kind(const struct pd_localiser_config *config, enum kind kind,
                    struct pd_localiser **ret_localiser)
{
    struct canary *canary = calloc(1, sizeof *canary);
    if (!canary) {
        return -ENOMEM;
    }
    canary->options = *(const struct options *)config->options;
    canary->kind = kind;
    *ret_localiser = &canary->head;
    return 0;
}

static int new_once(const struct pd_localiser_config *config, struct pd_localiser **ret_localiser)
{
    return new_kind(config, ONCE, ret_localiser);
}

static int new_stages(const struct pd_localiser_config *config, struct pd_localiser **ret_localiser)
{
    return new_kind(config, STAGES, ret_localiser);
}

static int new_plain_stages(const struct pd_localiser_config *config,
                            struct pd_localiser **ret_localiser)
{
    return new_kind(config, PLAIN_STAGES, ret_localiser);
}

/* ---- paths ---- */

/* A path with a gap is several: what each passed is not known. */
static bool is_whole(const struct pd_localise_row *row)
{
    return row->ways_len == 1 && row->hops_len == row->ways[0].slots_len && row->hops_len &&
           row->hops_len <= PD_EVIDENCE_NODES_MAX;
}

static int take_row(struct pd_localiser *localiser, const struct pd_localise_row *row)
{
    struct canary *canary = (struct canary *)localiser;
    if (!row->row->pkts || !is_whole(row)) {
        localiser->counters.paths_unused += !is_whole(row);
        return 0;
    }
    for (size_t h = 0; h < row->hops_len; h++) {
        canary->members[h] = (struct pd_localise_member){.id = row->hops[h].link};
    }
    int err = pd_localise_groups_add(&canary->paths, canary->members, row->hops_len,
                                     (double)row->row->pkts, (double)row->row->lost, NULL);
    if (err == -PD_E_FULL) {
        localiser->counters.dropped++;
        err = 0;
    }
    return err;
}

static int observe(struct pd_localiser *localiser, const struct pd_evidence_period *period)
{
    return pd_localise_each(localiser, period, take_row);
}

/* ---- a verdict ---- */

struct solving {
    struct canary *canary;
    uint32_t *starts, *links; /* of the paths that are left, and what they pass */
    double *y;
    uint32_t paths_len;
    uint32_t *rank; /* by link */
    double *x;
    bool *is_gone; /* links named */
};

static void solving_done(struct solving *s)
{
    free(s->starts);
    free(s->links);
    free(s->y);
    free(s->rank);
    free(s->x);
    free(s->is_gone);
}

struct ranked {
    struct pd_localise_ends ends;
    uint32_t link;
};

static int by_ends(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->ends.from != y->ends.from) {
        return x->ends.from < y->ends.from ? -1 : 1;
    }
    return (x->ends.to > y->ends.to) - (x->ends.to < y->ends.to);
}

static int rank_links(struct solving *s)
{
    const struct pd_localise_network *network = s->canary->head.network;
    struct ranked *ranked = malloc(((size_t)network->links_len + 1) * sizeof *ranked);
    if (!ranked) {
        return -ENOMEM;
    }
    for (uint32_t l = 0; l < network->links_len; l++) {
        ranked[l] = (struct ranked){network->ends[l], l};
    }
    qsort(ranked, network->links_len, sizeof *ranked, by_ends);
    for (uint32_t i = 0; i < network->links_len; i++) {
        s->rank[ranked[i].link] = i;
    }
    free(ranked);
    return 0;
}

static int solving_init(struct canary *canary, struct solving *s)
{
    size_t links = (size_t)canary->head.network->links_len + 1;
    *s = (struct solving){.canary = canary,
                          .starts = calloc(canary->paths.len + 2, sizeof *s->starts),
                          .links = calloc(canary->paths.members_len + 1, sizeof *s->links),
                          .y = calloc(canary->paths.len + 1, sizeof *s->y),
                          .rank = calloc(links, sizeof *s->rank),
                          .x = calloc(links, sizeof *s->x),
                          .is_gone = calloc(links, sizeof *s->is_gone)};
    if (!canary->named) {
        canary->named = calloc(links, sizeof *canary->named);
        canary->links = calloc(links, sizeof *canary->links);
        canary->ranking = calloc(links, sizeof *canary->ranking);
    }
    if (!s->starts || !s->links || !s->y || !s->rank || !s->x || !s->is_gone || !canary->named ||
        !canary->links || !canary->ranking) {
        return -ENOMEM;
    }
    return rank_links(s);
}

/* Equation 4. */
static double mapped(double y, double low, double high)
{
    return y <= low ? 0 : exp(log(MAPPED_TO) * log(y - low) / log(high - low));
}

static double y_in_stage(const struct canary *canary, const struct stage *stage, size_t number,
                         double loss)
{
    if (canary->kind != STAGES) {
        return 1 - loss;
    }
    if (number && loss >= stage->from) {
        return 0;
    }
    return loss < stage->to ? 1 : mapped(1 - loss, 1 - stage->from, 1 - stage->to);
}

/* The paths that no named link has taken out. */
static void lay_out(struct solving *s, const struct stage *stage, size_t number)
{
    const struct pd_localise_groups *paths = &s->canary->paths;
    uint32_t len = 0;
    s->paths_len = 0;
    for (size_t p = 0; p < paths->len; p++) {
        const struct pd_localise_group *path = &paths->groups[p];
        bool is_out = false;
        for (uint32_t i = 0; i < path->len; i++) {
            is_out |= s->is_gone[paths->members[path->first + i].id];
        }
        if (is_out) {
            continue;
        }
        s->starts[s->paths_len] = len;
        s->y[s->paths_len++] = y_in_stage(s->canary, stage, number, path->lost / path->sent);
        for (uint32_t i = 0; i < path->len; i++) {
            s->links[len++] = paths->members[path->first + i].id;
        }
    }
    s->starts[s->paths_len] = len;
}

static int run_stage(struct solving *s, struct stage *stage, size_t number)
{
    struct canary *canary = s->canary;
    const struct pd_localise_network *network = canary->head.network;
    lay_out(s, stage, number);
    const struct pd_descent descent = {.starts = s->starts,
                                       .links = s->links,
                                       .y = s->y,
                                       .paths_len = s->paths_len,
                                       .links_len = network->links_len,
                                       .rank = s->rank,
                                       .lambda = canary->options.lambda,
                                       .is_per_path = canary->options.is_per_path};
    int err = pd_canary_descent_solve(&descent, s->x, &stage->sweeps);
    stage->first = canary->named_len;
    for (uint32_t l = 0; l < network->links_len && !err; l++) {
        if (s->x[l] < NAMED_BELOW && !s->is_gone[l]) {
            s->is_gone[l] = true;
            canary->named[canary->named_len++] =
                (struct pd_verdict_link){.from = network->ends[l].from,
                                         .to = network->ends[l].to,
                                         .loss = canary->kind == STAGES ? -1 : 1 - s->x[l],
                                         .score = 1 - s->x[l]};
        }
    }
    stage->links_len = canary->named_len - stage->first;
    qsort(canary->named + stage->first, stage->links_len, sizeof *canary->named,
          pd_localise_by_ids);
    return err;
}

/* ---- groups ---- */

static int by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Bounds such that each group has as many of the lossy paths. Groups that would be empty, since
 * many paths lost the same, are left out. */
static int even_bounds(const struct canary *canary, double bounds[GROUPS_MAX], size_t *ret_len)
{
    double *losses = calloc(canary->paths.len + 1, sizeof *losses);
    size_t lossy = 0, len = 0, groups = canary->options.even;
    if (!losses) {
        return -ENOMEM;
    }
    for (size_t p = 0; p < canary->paths.len; p++) {
        const struct pd_localise_group *path = &canary->paths.groups[p];
        if (path->lost > 0) {
            losses[lossy++] = path->lost / path->sent;
        }
    }
    qsort(losses, lossy, sizeof *losses, by_number);
    for (size_t g = 1; g <= groups && lossy; g++) {
        double bound = losses[(g * lossy + groups - 1) / groups - 1];
        if (bound < (len ? bounds[len - 1] : 1)) {
            bounds[len++] = bound;
        }
    }
    free(losses);
    *ret_len = len;
    return 0;
}

static int make_stages(struct canary *canary)
{
    double bounds[GROUPS_MAX];
    size_t len = canary->kind == ONCE ? 1 : canary->options.bounds_len;
    int err = 0;
    memcpy(bounds, canary->options.bounds, sizeof bounds);
    if (canary->kind != ONCE && canary->options.even) {
        err = even_bounds(canary, bounds, &len);
    }
    for (size_t i = 0; i < len && !err; i++) {
        canary->stages[i] = (struct stage){.from = i ? bounds[i - 1] : 1,
                                           .to = canary->kind == STAGES ? bounds[i] : 0};
    }
    canary->stages_len = err ? 0 : len;
    return err;
}

static int locate(struct pd_localiser *localiser, struct pd_verdict *ret_verdict)
{
    struct canary *canary = (struct canary *)localiser;
    struct solving s;
    canary->named_len = 0;
    int err = solving_init(canary, &s);
    err = err ? err : make_stages(canary);
    for (size_t i = 0; i < canary->stages_len && !err; i++) {
        err = run_stage(&s, &canary->stages[i], i);
    }
    solving_done(&s);
    if (err) {
        return err;
    }
    memcpy(canary->links, canary->named, canary->named_len * sizeof *canary->links);
    qsort(canary->links, canary->named_len, sizeof *canary->links, pd_localise_by_ids);
    memcpy(canary->ranking, canary->links, canary->named_len * sizeof *canary->links);
    qsort(canary->ranking, canary->named_len, sizeof *canary->ranking, pd_localise_by_score);
    *ret_verdict = (struct pd_verdict){.links = canary->links,
                                       .links_len = canary->named_len,
                                       .ranking = canary->ranking,
                                       .ranking_len = canary->named_len};
    return 0;
}

/* ---- the answer ---- */

static json_t *stage_links(const struct canary *canary, const struct stage *stage)
{
    json_t *links = json_array();
    for (size_t i = 0; i < stage->links_len; i++) {
        const struct pd_verdict_link *link = &canary->named[stage->first + i];
        json_array_append_new(links, json_sprintf("%u-%u", link->from, link->to));
    }
    return links;
}

static void describe(const struct pd_localiser *localiser, json_t *answer)
{
    const struct canary *canary = (const struct canary *)localiser;
    json_t *stages = json_array();
    for (size_t i = 0; i < canary->stages_len; i++) {
        const struct stage *stage = &canary->stages[i];
        json_array_append_new(stages, json_pack("{s:f, s:f, s:o, s:I}", "from", stage->from, "to",
                                                stage->to, "links", stage_links(canary, stage),
                                                "sweeps", (json_int_t)stage->sweeps));
    }
    json_object_set_new(answer, "stages", stages);
}

extern const struct pd_localiser_ops pd_localiser_netbouncer, pd_localiser_canary,
    pd_localiser_netbouncer_stage;

const struct pd_localiser_ops pd_localiser_netbouncer = {
    .name = "netbouncer",
    .help = "coordinate descent over counted paths, as NetBouncer has it",
    .kinds = PD_EVIDENCE_PATH,
    .options = once_options,
    .options_bytes = sizeof(struct options),
    .new = new_once,
    .free = free_canary,
    .observe = observe,
    .locate = locate,
};

const struct pd_localiser_ops pd_localiser_canary = {
    .name = "canary",
    .help = "the same in stages, from heavy losses to light ones, as Canary has it",
    .kinds = PD_EVIDENCE_PATH,
    .options = stage_options,
    .options_bytes = sizeof(struct options),
    .new = new_stages,
    .free = free_canary,
    .observe = observe,
    .locate = locate,
    .describe = describe,
};

const struct pd_localiser_ops pd_localiser_netbouncer_stage = {
    .name = "netbouncer-stage",
    .help = "netbouncer in as many stages, without those links that it named before",
    .kinds = PD_EVIDENCE_PATH,
    .options = stage_options,
    .options_bytes = sizeof(struct options),
    .new = new_plain_stages,
    .free = free_canary,
    .observe = observe,
    .locate = locate,
    .describe = describe,
};
