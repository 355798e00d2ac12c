/* SPDX-License-Identifier: Apache-2.0 */
/* Trials: random paths, random packets, the switches' formulas, and a search. */
#include "codec/pint/trials.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define DRAWS_MAX     64 /* sets of broken links without a path as asked for */
#define PACKETS_MAX   (8 * PD_PINT_SAMPLES_MAX)
#define TRELLIS_BYTES ((size_t)256 << 20)

struct trial {
    const struct pd_topology *topology;
    const struct pd_pint_plan *plan;
    const struct pd_pint_trials *wanted;
    uint64_t random;
    struct pd_pint_solver *solver;

    uint64_t *links; /* directed links as from << 32 | to, from < to */
    uint32_t links_len;
    uint8_t *down; /* by link */
    uint32_t *distance, *queue, *order;
    uint32_t path[PD_PINT_HOPS_MAX];
    uint32_t len;
};

static uint32_t below(struct trial *trial, uint32_t limit)
{
    return (uint32_t)(pd_splitmix64(&trial->random) % (limit ? limit : 1));
}

/* ---- the network of a trial */

static int compare_links(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int list_links(struct trial *trial)
{
    const struct pd_topology *topology = trial->topology;
    size_t room = 1;

    for (uint32_t s = 0; s < topology->switches_len; s++) {
        room += topology->switches[s].switch_neighbours;
    }
    trial->links = malloc(room * sizeof *trial->links);
    trial->down = calloc(room, 1);
    if (!trial->links || !trial->down) {
        return -ENOMEM;
    }
    for (uint32_t s = 0; s < topology->switches_len; s++) {
        const struct pd_switch *sw = &topology->switches[s];
        for (uint32_t n = 0; n < sw->switch_neighbours; n++) {
            if (sw->neighbours[n].node > s) {
                trial->links[trial->links_len++] = (uint64_t)s << 32 | sw->neighbours[n].node;
            }
        }
    }
    return 0;
}

static bool is_up(const struct trial *trial, uint32_t a, uint32_t b)
{
    const uint64_t key = a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
    const uint64_t *link = trial->wanted->links_down ? bsearch(&key, trial->links, trial->links_len,
                                                               sizeof key, compare_links)
                                                     : NULL;
    return !link || !trial->down[link - trial->links];
}

static void break_links(struct trial *trial)
{
    memset(trial->down, 0, trial->links_len);
    for (uint32_t n = 0; n < trial->wanted->links_down && n < trial->links_len;) {
        const uint32_t link = below(trial, trial->links_len);
        n += !trial->down[link];
        trial->down[link] = 1;
    }
}

static bool has_rack(const struct pd_topology *topology, uint32_t sw)
{
    return topology->switches[sw].prefixes_len > 0;
}

/* Links from a switch to all others, in the broken network. */
static void measure(struct trial *trial, uint32_t from)
{
    uint32_t head = 0, tail = 0;

    memset(trial->distance, 0xff, trial->topology->switches_len * sizeof(uint32_t));
    trial->distance[from] = 0;
    trial->queue[tail++] = from;
    while (head < tail) {
        const uint32_t at = trial->queue[head++];
        const struct pd_switch *sw = &trial->topology->switches[at];
        for (uint32_t n = 0; n < sw->switch_neighbours; n++) {
            const uint32_t to = sw->neighbours[n].node;
            if (trial->distance[to] == PD_NONE && is_up(trial, at, to)) {
                trial->distance[to] = trial->distance[at] + 1;
                trial->queue[tail++] = to;
            }
        }
    }
}

/* A switch with a rack at the asked distance from where `measure` began, drawn evenly. */
static uint32_t draw_end(struct trial *trial, uint32_t from)
{
    const struct pd_pint_trials *wanted = trial->wanted;
    uint32_t seen = 0, chosen = PD_NONE;

    for (uint32_t s = 0; s < trial->topology->switches_len; s++) {
        if (s == from || !has_rack(trial->topology, s) || trial->distance[s] == PD_NONE ||
            trial->distance[s] >= PD_PINT_HOPS_MAX ||
            (wanted->links && trial->distance[s] != wanted->links) ||
            (wanted->dst != PD_NONE && s != wanted->dst)) {
            continue;
        }
        if (below(trial, ++seen) == 0) {
            chosen = s;
        }
    }
    return chosen;
}

/* A shortest path, each step drawn evenly among those that lead nearer; from the far end. */
static void draw_path(struct trial *trial, uint32_t to)
{
    trial->len = trial->distance[to] + 1;
    for (uint32_t p = trial->len - 1, at = to;; p--) {
        const struct pd_switch *sw = &trial->topology->switches[at];
        uint32_t seen = 0, next = at;
        trial->path[p] = at;
        if (p == 0) {
            return;
        }
        for (uint32_t n = 0; n < sw->switch_neighbours; n++) {
            const uint32_t nearer = sw->neighbours[n].node;
            if (trial->distance[nearer] == p - 1 && is_up(trial, at, nearer) &&
                below(trial, ++seen) == 0) {
                next = nearer;
            }
        }
        at = next;
    }
}

static bool draw_from(struct trial *trial, uint32_t from)
{
    uint32_t to;

    if (!has_rack(trial->topology, from)) {
        return false;
    }
    measure(trial, from);
    to = draw_end(trial, from);
    if (to == PD_NONE) {
        return false;
    }
    draw_path(trial, to);
    return true;
}

/* Starts in random order, until one has an end as asked for. */
static bool draw_ends(struct trial *trial)
{
    const uint32_t n = trial->topology->switches_len;

    if (trial->wanted->src != PD_NONE) {
        return draw_from(trial, trial->wanted->src);
    }
    for (uint32_t i = 0; i < n; i++) {
        trial->order[i] = i;
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t other = i + below(trial, n - i), chosen = trial->order[other];
        trial->order[other] = trial->order[i];
        if (draw_from(trial, chosen)) {
            return true;
        }
    }
    return false;
}

static int draw(struct trial *trial, struct pd_error *error)
{
    for (unsigned i = 0; i < DRAWS_MAX; i++) {
        break_links(trial);
        if (draw_ends(trial)) {
            return 0;
        }
    }
    return pd_fail(error, -PD_E_NOT_FOUND, "no two racks have such a shortest path");
}

/* ---- its packets */

static uint16_t cross(const struct trial *trial, uint32_t packet_id)
{
    const uint64_t values[PD_PINT_QUERIES_MAX] = {0};
    struct pd_pint_visit visit = {.packet_id = packet_id, .values = values};
    uint16_t digest = 0;

    for (uint32_t p = 0; p < trial->len; p++) {
        visit.sw = trial->topology->switches[trial->path[p]].id;
        visit.hop = p + 1;
        visit.first = p == 0;
        pd_pint_switch(trial->plan, &visit, &digest);
    }
    return digest;
}

static bool is_right(const struct trial *trial, const struct pd_pint_path *path)
{
    bool right = path->len == trial->len && path->first_hop == 1;

    for (uint32_t p = 0; right && p < path->len; p++) {
        right = path->switches[p] == trial->topology->switches[trial->path[p]].id;
    }
    return right;
}

static unsigned least_of(const uint16_t *coverage, uint32_t len)
{
    unsigned least = UINT16_MAX;

    for (uint32_t p = 0; p < len; p++) {
        least = coverage[p] < least ? coverage[p] : least;
    }
    return least;
}

/* How many packets it took; 0: more than there may be. */
struct counts {
    uint32_t decided, known;
    bool wrong;
};

static int follow(struct trial *trial, struct pd_pint_search *search, struct counts *counts)
{
    uint16_t coverage[PD_PINT_HOPS_MAX] = {0};
    struct pd_pint_path path = {.first_hop = 1, .len = trial->len};
    const uint32_t most = trial->wanted->packets_max;
    int err = 0;

    for (uint32_t p = 0; p < trial->len; p++) {
        path.switches[p] = trial->topology->switches[trial->path[p]].id;
    }
    for (uint32_t n = 1; !err && n <= PACKETS_MAX && !counts->known && !counts->wrong; n++) {
        if (most && n > most && !counts->decided) {
            break;
        }
        const uint32_t packet_id = (uint32_t)pd_splitmix64(&trial->random);
        const uint16_t digest = cross(trial, packet_id);
        pd_pint_fits(trial->plan, &path, packet_id, digest, NULL, coverage);
        if (!counts->decided) {
            struct pd_pint_path found;
            err = pd_pint_search_add(search, packet_id, digest);
            if (pd_pint_search_path(search, &found)) {
                counts->decided = n;
                counts->wrong = !is_right(trial, &found);
            } else if (pd_pint_search_candidates(search) == 0) {
                counts->wrong = true;
            }
        }
        if (counts->decided && least_of(coverage, trial->len) >= trial->wanted->known_bits) {
            counts->known = n;
        }
    }
    return err == -PD_E_FULL ? 0 : err;
}

static int run_one(struct trial *trial, struct counts *counts, struct pd_error *error)
{
    struct pd_pint_search *search = NULL;
    const bool complete = trial->wanted->no_topology || trial->wanted->method == PD_PINT_PEEL;
    int err = draw(trial, error);

    if (err) {
        return err;
    }
    const uint32_t src = complete ? PD_NONE : trial->path[0];
    const uint32_t dst = complete ? PD_NONE : trial->path[trial->len - 1];
    err = trial->solver ? pd_pint_search_new(trial->solver, src, dst, trial->len,
                                             complete ? 1 : PD_PINT_OFFSETS, &search)
                        : -PD_E_FULL;
    if (err == -PD_E_FULL) { /* another network of trellises */
        pd_pint_solver_free(trial->solver);
        trial->solver = NULL;
        err = pd_pint_solver_new(trial->topology, trial->plan, trial->wanted->method, TRELLIS_BYTES,
                                 &trial->solver);
        if (!err) {
            err = pd_pint_search_new(trial->solver, src, dst, trial->len,
                                     complete ? 1 : PD_PINT_OFFSETS, &search);
        }
    }
    if (!err) {
        err = follow(trial, search, counts);
    }
    pd_pint_search_free(search);
    return err ? pd_fail(error, err, "%s", pd_error_text(err)) : 0;
}

/* ---- all of them */

static int compare_counts(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Order statistics of those that there are; never counts 0 stand in front after sorting. */
static void summarise(uint32_t *counts, size_t len, struct pd_pint_quantiles *ret_quantiles)
{
    size_t never = 0;
    double sum = 0;

    qsort(counts, len, sizeof *counts, compare_counts);
    while (never < len && counts[never] == 0) {
        never++;
    }
    counts += never;
    len -= never;
    for (size_t i = 0; i < len; i++) {
        sum += counts[i];
    }
    *ret_quantiles = (struct pd_pint_quantiles){0};
    if (len) {
        ret_quantiles->mean = sum / (double)len;
        ret_quantiles->p50 = counts[(size_t)ceil(.5 * (double)len) - 1];
        ret_quantiles->p99 = counts[(size_t)ceil(.99 * (double)len) - 1];
    }
}

static int run_all(struct trial *trial, uint32_t *decided, uint32_t *known,
                   struct pd_pint_outcome *outcome, struct pd_error *error)
{
    for (uint64_t i = 0; i < trial->wanted->trials; i++) {
        struct counts counts = {0};
        int err = run_one(trial, &counts, error);
        if (err) {
            return err;
        }
        decided[i] = counts.decided;
        known[i] = counts.known;
        outcome->undecided += !counts.decided && !counts.wrong;
        outcome->wrong += counts.wrong;
        if (trial->wanted->packets_max && outcome->undecided) {
            return 0; /* who sets a limit wants none undecided */
        }
    }
    summarise(decided, trial->wanted->trials, &outcome->decided);
    summarise(known, trial->wanted->trials, &outcome->known);
    return 0;
}

static void trial_done(struct trial *trial)
{
    pd_pint_solver_free(trial->solver);
    free(trial->links);
    free(trial->down);
    free(trial->distance);
    free(trial->queue);
    free(trial->order);
}

int pd_pint_trials_run(const struct pd_topology *topology, const struct pd_pint_plan *plan,
                       const struct pd_pint_trials *trials, struct pd_pint_outcome *ret_outcome,
                       struct pd_error *error)
{
    struct trial trial = {
        .topology = topology, .plan = plan, .wanted = trials, .random = trials->seed};
    struct pd_pint_outcome outcome = {.trials = trials->trials};
    const size_t n = topology->switches_len + 1;
    uint32_t *decided = calloc(trials->trials + 1, sizeof *decided);
    uint32_t *known = calloc(trials->trials + 1, sizeof *known);
    int err = list_links(&trial);

    trial.distance = malloc(n * sizeof(uint32_t));
    trial.queue = malloc(n * sizeof(uint32_t));
    trial.order = malloc(n * sizeof(uint32_t));
    if (err || !decided || !known || !trial.distance || !trial.queue || !trial.order) {
        err = pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    } else {
        err = run_all(&trial, decided, known, &outcome, error);
    }
    trial_done(&trial);
    free(decided);
    free(known);
    if (!err) {
        *ret_outcome = outcome;
    }
    return err;
}
