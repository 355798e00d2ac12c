/* SPDX-License-Identifier: Apache-2.0 */
/* Thinning: neighbours both ways, switches that are certain elsewhere, and XORs over the walks. */
#include <errno.h>
#include <string.h>

#include "codec/pint/problem.h"

#define ROUNDS_MAX 8          /* what is still there then is thinned by the next packet */
#define WORK_MAX   (1u << 18) /* nodes and arcs that one packet's digests are carried over */
#define MANY       (PD_NONE - 1)

/* Values of at most 8 bits: of wider digests the low ones are looked at here. */
#define SET_BITS  8
#define SET_WORDS ((1u << SET_BITS) / 64)

struct set {
    uint64_t words[SET_WORDS];
};

/* ---- arcs */

static void note(uint32_t *known, uint32_t sw)
{
    if (*known == PD_NONE) {
        *known = sw;
    } else if (*known != sw) {
        *known = MANY;
    }
}

static bool kill_node(struct pint_problem *problem, uint32_t place, uint32_t node)
{
    problem->nodes[node] = 0;
    return --problem->left[place] > 0;
}

/* One way along the trellis. `known` tells for each node by which switch the walks come to it (or,
 * backward, go on from it): none, one, or many. An arc dies when the walk would have to go straight
 * back, a node without arcs dies, too. False: a layer is empty. */
static bool pass_arcs(struct pint_problem *problem, uint32_t *known, bool forward, bool *changed)
{
    const struct pd_pint_trellis *t = problem->trellis;

    memset(known, 0xff, pd_pint_trellis_nodes(t) * sizeof *known);
    for (uint32_t i = 0; i < t->len; i++) {
        const uint32_t place = forward ? i : t->len - 1 - i;
        for (uint32_t n = t->layers[place]; n < t->layers[place + 1]; n++) {
            if (!problem->nodes[n]) {
                continue;
            }
            if (i > 0 && known[n] == PD_NONE) {
                *changed = true;
                if (!kill_node(problem, place, n)) {
                    return false;
                }
                continue;
            }
            const uint32_t from = forward ? t->outs[n] : t->ins[n];
            const uint32_t to = forward ? t->outs[n + 1] : t->ins[n + 1];
            for (uint32_t k = from; k < to; k++) {
                const uint32_t arc = forward ? k : t->in_arcs[k];
                const uint32_t other = forward ? t->heads[arc] : t->tails[arc];
                if (!problem->arcs[arc]) {
                    continue;
                }
                if (!problem->nodes[other] || known[n] == t->nodes[other]) {
                    problem->arcs[arc] = 0;
                    *changed = true;
                } else {
                    note(&known[other], t->nodes[n]);
                }
            }
        }
    }
    return true;
}

/* ---- switches that are certain */

static uint32_t only_node(const struct pint_problem *problem, uint32_t place)
{
    uint32_t n = problem->trellis->layers[place];

    while (!problem->nodes[n]) {
        n++;
    }
    return n;
}

static uint32_t find_node(const struct pd_pint_trellis *t, uint32_t place, uint32_t sw)
{
    uint32_t low = t->layers[place], high = t->layers[place + 1];

    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (t->nodes[middle] < sw) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < t->layers[place + 1] && t->nodes[low] == sw ? low : PD_NONE;
}

/* A path is simple: who is certain at one place is at no other. */
static bool take_elsewhere(struct pint_problem *problem, uint32_t place, bool *changed)
{
    const struct pd_pint_trellis *t = problem->trellis;
    const uint32_t sw = t->nodes[only_node(problem, place)];

    for (uint32_t p = 0; p < t->len; p++) {
        const uint32_t node = p == place ? PD_NONE : find_node(t, p, sw);
        if (node != PD_NONE && problem->nodes[node]) {
            *changed = true;
            if (!kill_node(problem, p, node)) {
                return false;
            }
        }
    }
    return true;
}

static bool make_distinct(struct pint_problem *problem, bool *changed)
{
    for (uint32_t p = 0; p < problem->trellis->len; p++) {
        if (problem->left[p] == 1 && !take_elsewhere(problem, p, changed)) {
            return false;
        }
    }
    return true;
}

/* ---- sets of values */

static bool set_is_full(const struct set *set)
{
    return (set->words[0] & set->words[1] & set->words[2] & set->words[3]) == UINT64_MAX;
}

static void set_put(struct set *set, uint32_t value)
{
    set->words[value / 64 % SET_WORDS] |= UINT64_C(1) << value % 64;
}

static bool set_has(const struct set *set, uint32_t value)
{
    return set->words[value / 64 % SET_WORDS] >> value % 64 & 1;
}

/* Each bit at index i moves to i ^ by. */
static uint64_t word_moved(uint64_t word, uint32_t by)
{
    static const uint64_t low[] = {UINT64_C(0x5555555555555555), UINT64_C(0x3333333333333333),
                                   UINT64_C(0x0f0f0f0f0f0f0f0f), UINT64_C(0x00ff00ff00ff00ff),
                                   UINT64_C(0x0000ffff0000ffff), UINT64_C(0x00000000ffffffff)};
    for (unsigned bit = 0; bit < 6; bit++) {
        if (by >> bit & 1) {
            const unsigned shift = 1u << bit;
            word = (word & low[bit]) << shift | (word >> shift & low[bit]);
        }
    }
    return word;
}

/* Adds { x ^ by : x in `from` }. */
static void set_add_moved(struct set *set, const struct set *from, uint32_t by)
{
    for (uint32_t w = 0; w < SET_WORDS; w++) {
        set->words[w ^ (by / 64 % SET_WORDS)] |= word_moved(from->words[w], by % 64);
    }
}

static bool sets_meet(const struct set *a, const struct set *b)
{
    uint64_t both = 0;

    for (uint32_t w = 0; w < SET_WORDS; w++) {
        both |= a->words[w] & b->words[w];
    }
    return both != 0;
}

static uint32_t value_mask(const struct pd_pint_clue *clue)
{
    return clue->query->bits < SET_BITS ? (1u << clue->query->bits) - 1 : (1u << SET_BITS) - 1;
}

/* ---- an XOR over the walks of a trellis */

/* XORs that walks can have up to each node, itself included. */
static void sum_forward(const struct pint_problem *problem, const struct pint_open_clue *open,
                        struct set *sums)
{
    const struct pd_pint_trellis *t = problem->trellis;
    const uint32_t mask = value_mask(&open->clue);

    memset(sums, 0, pd_pint_trellis_nodes(t) * sizeof *sums);
    for (uint32_t n = 0; n < t->layers[1]; n++) {
        if (problem->nodes[n]) {
            set_put(&sums[n], open->own[n] & mask);
        }
    }
    for (uint32_t n = 0; n < t->layers[t->len - 1]; n++) {
        for (uint32_t a = t->outs[n]; problem->nodes[n] && a < t->outs[n + 1]; a++) {
            if (problem->arcs[a] && !set_is_full(&sums[t->heads[a]])) {
                set_add_moved(&sums[t->heads[a]], &sums[n], open->own[t->heads[a]] & mask);
            }
        }
    }
}

/* The same from the end: takes out arcs over which no walk has the sum that the digest shows. */
static void cut_backward(struct pint_problem *problem, struct pint_open_clue *open,
                         const struct set *sums, struct set *rests, bool *changed)
{
    const struct pd_pint_trellis *t = problem->trellis;
    const uint32_t mask = value_mask(&open->clue), nodes = pd_pint_trellis_nodes(t);

    memset(rests, 0, nodes * sizeof *rests);
    for (uint32_t n = t->layers[t->len - 1]; n < nodes; n++) {
        if (problem->nodes[n]) { /* as the sum that must stand before what is still to come */
            set_put(&rests[n], open->clue.bits & mask);
        }
    }
    for (uint32_t n = t->layers[t->len - 1]; n-- > 0;) {
        for (uint32_t a = t->outs[n]; problem->nodes[n] && a < t->outs[n + 1]; a++) {
            struct set rest = {{0}};
            if (!problem->arcs[a] || (set_is_full(&rests[n]) && set_is_full(&sums[n]) &&
                                      set_is_full(&rests[t->heads[a]]))) {
                continue; /* nothing to learn, as mostly while there are many walks */
            }
            set_add_moved(&rest, &rests[t->heads[a]], open->own[t->heads[a]] & mask);
            if (sets_meet(&rest, &sums[n])) {
                for (uint32_t w = 0; w < SET_WORDS; w++) {
                    rests[n].words[w] |= rest.words[w];
                }
            } else {
                problem->arcs[a] = 0;
                *changed = true;
            }
        }
    }
}

/* ---- an XOR where each hop is one of a set */

static void set_multiply(struct set *to, const struct set *a, const struct set *b)
{
    *to = (struct set){{0}};
    for (uint32_t value = 0; value < 1u << SET_BITS; value++) {
        if (set_has(b, value)) {
            set_add_moved(to, a, value);
        }
        if (set_is_full(to)) {
            return;
        }
    }
}

/* The hops of a clue, each with the values that it may have. */
struct hops {
    uint32_t places[PD_PINT_HOPS_MAX];
    struct set values[PD_PINT_HOPS_MAX];
    struct set before[PD_PINT_HOPS_MAX + 1]; /* what those in front can make */
    unsigned len, open;                      /* open: more than one switch is left */
};

static void gather_hops(const struct pint_problem *problem, const struct pint_open_clue *clue,
                        struct hops *hops)
{
    const struct pd_pint_trellis *t = problem->trellis;
    const uint32_t mask = value_mask(&clue->clue);

    hops->len = hops->open = 0;
    for (uint32_t p = 0; p < t->len; p++) {
        if (!pd_pint_hops_has(&clue->clue.hops, p)) {
            continue;
        }
        struct set *values = &hops->values[hops->len];
        *values = (struct set){{0}};
        for (uint32_t n = t->layers[p]; n < t->layers[p + 1]; n++) {
            if (problem->nodes[n]) {
                set_put(values, clue->own[n] & mask);
            }
        }
        hops->open += problem->left[p] > 1;
        hops->places[hops->len++] = p;
    }
}

/* All bits count where a single hop is open. */
static bool sift_place(struct pint_problem *problem, const struct pint_open_clue *clue,
                       uint32_t place, const struct set *allowed, bool *changed)
{
    const struct pd_pint_trellis *t = problem->trellis;
    const uint32_t mask = value_mask(&clue->clue);

    for (uint32_t n = t->layers[place]; n < t->layers[place + 1]; n++) {
        if (problem->nodes[n] && !set_has(allowed, clue->own[n] & mask)) {
            *changed = true;
            if (!kill_node(problem, place, n)) {
                return false;
            }
        }
    }
    return true;
}

static bool sift_hops(struct pint_problem *problem, struct pint_open_clue *clue, struct hops *hops,
                      bool *changed)
{
    struct set after = {{0}}, others, allowed;

    hops->before[0] = (struct set){{1}};
    for (unsigned h = 0; h < hops->len; h++) {
        set_multiply(&hops->before[h + 1], &hops->before[h], &hops->values[h]);
    }
    set_put(&after, clue->clue.bits & value_mask(&clue->clue));
    for (unsigned h = hops->len; h-- > 0;) {
        set_multiply(&allowed, &hops->before[h], &after);
        if (!set_is_full(&allowed) &&
            !sift_place(problem, clue, hops->places[h], &allowed, changed)) {
            return false;
        }
        set_multiply(&others, &after, &hops->values[h]);
        after = others;
    }
    return true;
}

static bool thin_complete(struct pint_problem *problem, struct pint_open_clue *clue, bool *changed)
{
    struct hops hops;

    gather_hops(problem, clue, &hops);
    if (problem->solver->method == PD_PINT_PEEL && hops.open > 1) {
        return true;
    }
    clue->settled = hops.open == 0;
    return sift_hops(problem, clue, &hops, changed);
}

/* ---- all of it */

static bool thin_trellis(struct pint_problem *problem, struct pint_open_clue *clue,
                         struct set *sets, bool *changed)
{
    sum_forward(problem, clue, sets);
    cut_backward(problem, clue, sets, sets + pd_pint_trellis_nodes(problem->trellis), changed);
    return true;
}

/* The newest clue first. What is stale when the work is done waits for the next packet. */
static bool thin_clues(struct pint_problem *problem, struct set *sets, size_t *work, bool *changed)
{
    const uint32_t nodes = pd_pint_trellis_nodes(problem->trellis);
    /* where each hop is any switch, most hops of a clue are passed over */
    const size_t cost =
        problem->trellis->complete ? nodes / 8 : nodes + problem->trellis->outs[nodes];
    bool alive = true;

    for (size_t c = problem->clues_len; alive && c-- > 0 && *work >= cost;) {
        struct pint_open_clue *clue = &problem->clues[c];
        bool here = false;
        if (clue->settled || !clue->stale) {
            continue;
        }
        clue->stale = false;
        *work -= cost;
        alive = problem->trellis->complete ? thin_complete(problem, clue, &here)
                                           : thin_trellis(problem, clue, sets, &here);
        for (size_t other = 0; here && other < problem->clues_len; other++) {
            problem->clues[other].stale |= other != c;
        }
        *changed |= here;
    }
    return alive;
}

static bool thin_neighbours(struct pint_problem *problem, uint32_t *known, bool *changed)
{
    bool again = true;

    for (unsigned round = 0; again && round < ROUNDS_MAX; round++) {
        again = false;
        if (!problem->trellis->complete && (!pass_arcs(problem, known, true, &again) ||
                                            !pass_arcs(problem, known, false, &again))) {
            return false;
        }
        if (!make_distinct(problem, &again)) {
            return false;
        }
        *changed |= again;
    }
    return true;
}

int pd_pint_thin(struct pint_problem *problem, bool *ret_alive)
{
    const uint32_t nodes = pd_pint_trellis_nodes(problem->trellis);
    struct set *sets = pd_pint_buffer_get(&problem->solver->sets, 2 * nodes * sizeof *sets);
    uint32_t *known = pd_pint_buffer_get(&problem->solver->counts, nodes * sizeof *known);
    size_t work = WORK_MAX;
    bool changed = true, alive = true;

    if (!sets || !known) {
        return -ENOMEM;
    }
    for (unsigned round = 0; alive && changed && round < ROUNDS_MAX; round++) {
        bool moved = false;
        changed = false;
        alive = thin_neighbours(problem, known, &moved);
        for (size_t c = 0; moved && c < problem->clues_len; c++) {
            problem->clues[c].stale = true;
        }
        alive = alive && thin_clues(problem, sets, &work, &changed);
    }
    *ret_alive = alive;
    return 0;
}
