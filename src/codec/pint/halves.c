/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the walks that fit: halves from both ends, joined where their XORs agree. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "codec/pint/problem.h"

/* A list of N walks costs about the root of N from either end. The bounds keep one attempt below
 * some ten milliseconds; where they are met the next digests make fewer walks. */
#define VISITS_MAX (1u << 17) /* nodes that one half looks at */
#define HALVES_MAX (1u << 15) /* walks of one half that are kept */
#define HOPEFUL    1e9        /* walks of one half, as counted without their clues */
#define LANES      4          /* clues in a word: 16 bits each */

struct half {
    uint64_t key;
    uint32_t next; /* in the table's bucket, from 1 */
};

/* What one attempt works with. */
struct attempt {
    struct pint_problem *problem;
    const struct pd_pint_trellis *t;
    uint32_t middle;     /* last place of the forward half */
    size_t words;        /* of a vector of sums */
    uint64_t *vectors;   /* what each node adds, by node */
    uint64_t *wanted;    /* the digests */
    uint64_t *closed[2]; /* forward, backward: clues that are complete at a place, by place */
    uint64_t *crossing;  /* clues with hops in both halves */
    uint32_t stack[PD_PINT_HOPS_MAX];
    uint64_t *sums; /* of the walk that is being made, by depth */
    uint32_t visits;
    bool gave_up;
    struct half *halves; /* forward ones */
    uint32_t halves_len;
    uint32_t *walks; /* theirs */
    uint32_t *buckets;
    uint32_t buckets_mask;
};

/* ---- how many there are */

/* Walks from the front up to each node, or from each node to the end. */
static void count_walks(const struct pint_problem *problem, double *front, double *back)
{
    const struct pd_pint_trellis *t = problem->trellis;
    const uint32_t nodes = pd_pint_trellis_nodes(t);

    for (uint32_t n = 0; n < nodes; n++) {
        front[n] = n < t->layers[1] && problem->nodes[n] ? 1 : 0;
        back[n] = n >= t->layers[t->len - 1] && problem->nodes[n] ? 1 : 0;
    }
    for (uint32_t n = 0; n < t->layers[t->len - 1]; n++) {
        for (uint32_t a = t->outs[n]; front[n] > 0 && a < t->outs[n + 1]; a++) {
            if (problem->arcs[a] && problem->nodes[t->heads[a]]) {
                front[t->heads[a]] += front[n];
            }
        }
    }
    for (uint32_t n = t->layers[t->len - 1]; n-- > 0;) {
        for (uint32_t a = t->outs[n]; problem->nodes[n] && a < t->outs[n + 1]; a++) {
            back[n] += problem->arcs[a] ? back[t->heads[a]] : 0;
        }
    }
}

/* The place behind which to cut, so that both halves are small, and how large they are. */
static double choose_middle(const struct pint_problem *problem, uint32_t *ret_middle)
{
    const struct pd_pint_trellis *t = problem->trellis;
    const uint32_t nodes = pd_pint_trellis_nodes(t);
    double *front = pd_pint_buffer_get(&problem->solver->counts, 2 * nodes * sizeof *front);
    double best = -1, product = 1, all = 1;

    if (!front) {
        return -1;
    }
    if (!t->complete) {
        count_walks(problem, front, front + nodes);
    }
    for (uint32_t p = 0; p < t->len; p++) {
        all *= problem->left[p];
    }
    for (uint32_t p = 0; p + 1 < t->len || p == 0; p++) {
        double cost = 0;
        product *= problem->left[p];
        if (t->complete) {
            cost = product + all / product;
        }
        for (uint32_t n = t->layers[p]; !t->complete && n < t->layers[p + 1]; n++) {
            cost += front[n];
        }
        const uint32_t end = p + 2 <= t->len ? t->layers[p + 2] : t->layers[p + 1];
        for (uint32_t n = t->layers[p + 1]; !t->complete && n < end; n++) {
            cost += front[nodes + n];
        }
        if (best < 0 || cost < best) {
            best = cost;
            *ret_middle = p;
        }
    }
    return best;
}

/* ---- sums */

static void put_lane(uint64_t *vector, size_t clue, uint64_t bits)
{
    vector[clue / LANES] ^= bits << clue % LANES * 16;
}

/* First and last place of a clue. */
static void ends_of(const struct pd_pint_clue *clue, uint32_t len, uint32_t *ret_first,
                    uint32_t *ret_last)
{
    *ret_first = len;
    *ret_last = 0;
    for (uint32_t p = 0; p < len; p++) {
        if (pd_pint_hops_has(&clue->hops, p)) {
            *ret_first = *ret_first == len ? p : *ret_first;
            *ret_last = p;
        }
    }
}

static void fill_vectors(struct attempt *at)
{
    const struct pint_problem *problem = at->problem;
    const uint32_t nodes = pd_pint_trellis_nodes(at->t);

    for (size_t c = 0; c < problem->clues_len; c++) {
        const struct pint_open_clue *open = &problem->clues[c];
        uint32_t first, last;
        for (uint32_t n = 0; n < nodes; n++) {
            put_lane(at->vectors + n * at->words, c, open->own[n]);
        }
        put_lane(at->wanted, c, open->clue.bits);
        ends_of(&open->clue, at->t->len, &first, &last);
        if (last <= at->middle) {
            put_lane(at->closed[0] + last * at->words, c, 0xffff);
        } else if (first > at->middle) {
            put_lane(at->closed[1] + first * at->words, c, 0xffff);
        } else {
            put_lane(at->crossing, c, 0xffff);
        }
    }
}

/* One block of words for all of it. */
static int make_vectors(struct attempt *at)
{
    const size_t nodes = pd_pint_trellis_nodes(at->t), w = at->words, len = at->t->len;
    const size_t all = w * (nodes + 1 + 2 * len + 1 + len + 2);
    uint64_t *block = pd_pint_buffer_get(&at->problem->solver->vectors, all * sizeof *block);

    if (!block) {
        return -ENOMEM;
    }
    memset(block, 0, all * sizeof *block);
    at->vectors = block;
    at->wanted = at->vectors + w * nodes;
    at->closed[0] = at->wanted + w;
    at->closed[1] = at->closed[0] + w * len;
    at->crossing = at->closed[1] + w * len;
    at->sums = at->crossing + w;
    fill_vectors(at);
    return 0;
}

/* Adds a node to the sums; false: a clue that is complete now does not fit. */
static bool add_node(struct attempt *at, uint32_t depth, uint32_t node, uint32_t place,
                     bool backward)
{
    const uint64_t *own = at->vectors + node * at->words;
    const uint64_t *closed = at->closed[backward] + place * at->words;
    uint64_t *sums = at->sums + (depth + 1) * at->words, wrong = 0;

    for (size_t w = 0; w < at->words; w++) {
        sums[w] = sums[w - at->words] ^ own[w];
        wrong |= (sums[w] ^ at->wanted[w]) & closed[w];
    }
    return wrong == 0;
}

static uint64_t key_of(const struct attempt *at, const uint64_t *sums, uint32_t node, bool backward)
{
    uint64_t key = at->t->complete ? 0 : node;

    for (size_t w = 0; w < at->words; w++) {
        const uint64_t word = (backward ? sums[w] ^ at->wanted[w] : sums[w]) & at->crossing[w];
        key = pd_hash_mix(key ^ word) + w;
    }
    return pd_hash_mix(key);
}

/* ---- walking */

/* Calls `done` for each half walk that fits; it returns non-zero to give up. */
struct walker {
    struct attempt *at;
    bool backward;
    uint32_t len; /* places of the half */
    int (*done)(struct attempt *at);
};

static int step(const struct walker *walker, uint32_t depth, uint32_t node);

static int go_on(const struct walker *walker, uint32_t depth, uint32_t node)
{
    const struct attempt *at = walker->at;
    const struct pd_pint_trellis *t = at->t;
    int err = 0;

    if (t->complete) {
        const uint32_t next = walker->backward ? t->len - 1 - (depth + 1) : depth + 1;
        for (uint32_t n = t->layers[next]; !err && n < t->layers[next + 1]; n++) {
            err = at->problem->nodes[n] ? step(walker, depth + 1, n) : 0;
        }
        return err;
    }
    const uint32_t from = walker->backward ? t->ins[node] : t->outs[node];
    const uint32_t to = walker->backward ? t->ins[node + 1] : t->outs[node + 1];
    for (uint32_t k = from; !err && k < to; k++) {
        const uint32_t arc = walker->backward ? t->in_arcs[k] : k;
        const uint32_t other = walker->backward ? t->tails[arc] : t->heads[arc];
        if (at->problem->arcs[arc] && at->problem->nodes[other]) {
            err = step(walker, depth + 1, other);
        }
    }
    return err;
}

static int step(const struct walker *walker, uint32_t depth, uint32_t node)
{
    struct attempt *at = walker->at;
    const uint32_t place = walker->backward ? at->t->len - 1 - depth : depth;
    uint8_t *visited = &at->problem->solver->visited[at->t->nodes[node]];
    int err;

    if (*visited || !add_node(at, depth, node, place, walker->backward)) {
        return 0;
    }
    if (++at->visits > VISITS_MAX) {
        at->gave_up = true;
        return -PD_E_LIMIT;
    }
    at->stack[depth] = node;
    if (depth + 1 == walker->len) {
        return walker->done(at);
    }
    *visited = 1;
    err = go_on(walker, depth, node);
    *visited = 0;
    return err;
}

static int walk_half(const struct walker *walker)
{
    struct attempt *at = walker->at;
    const struct pd_pint_trellis *t = at->t;
    const uint32_t place = walker->backward ? t->len - 1 : 0;
    int err = 0;

    at->visits = 0;
    memset(at->sums, 0, at->words * sizeof *at->sums);
    for (uint32_t n = t->layers[place]; !err && n < t->layers[place + 1]; n++) {
        err = at->problem->nodes[n] ? step(walker, 0, n) : 0;
    }
    return err;
}

/* ---- joining */

static int keep_half(struct attempt *at)
{
    const uint32_t len = at->middle + 1;
    const uint64_t *sums = at->sums + len * at->words;
    struct half *half = &at->halves[at->halves_len];

    if (at->halves_len == HALVES_MAX) {
        at->gave_up = true;
        return -PD_E_LIMIT;
    }
    half->key = key_of(at, sums, at->stack[len - 1], false);
    memcpy(at->walks + (size_t)at->halves_len * len, at->stack, len * sizeof *at->walks);
    at->halves_len++;
    half->next = at->buckets[half->key & at->buckets_mask];
    at->buckets[half->key & at->buckets_mask] = at->halves_len;
    return 0;
}

/* Both halves as one walk of switches; false: some switch is there twice. */
static bool join(const struct attempt *at, const uint32_t *front, uint32_t *ret_walk)
{
    const struct pd_pint_trellis *t = at->t;
    uint8_t *visited = at->problem->solver->visited;
    bool simple = true;

    for (uint32_t p = 0; p < t->len; p++) {
        ret_walk[p] = t->nodes[p <= at->middle ? front[p] : at->stack[t->len - 1 - p]];
    }
    /* those of the backward half are marked, but for the one it ended at */
    for (uint32_t p = 0; simple && p <= at->middle; p++) {
        simple = !visited[ret_walk[p]] &&
                 (at->middle + 1 == t->len || ret_walk[p] != ret_walk[at->middle + 1]);
    }
    return simple;
}

static bool fits_all(const struct attempt *at, const uint32_t *front)
{
    const uint32_t len = at->t->len;

    for (size_t w = 0; w < at->words; w++) {
        uint64_t sum = at->wanted[w];
        for (uint32_t p = 0; p < len; p++) {
            const uint32_t node = p <= at->middle ? front[p] : at->stack[len - 1 - p];
            sum ^= at->vectors[node * at->words + w];
        }
        if (sum) {
            return false;
        }
    }
    return true;
}

static int keep_walk(struct attempt *at, const uint32_t *front)
{
    struct pint_problem *problem = at->problem;
    const uint32_t len = at->t->len;
    uint32_t *list = problem->solver->found.bytes;

    if (!fits_all(at, front) || !join(at, front, list + (size_t)problem->walks_len * len)) {
        return 0;
    }
    if (++problem->walks_len == PINT_LIST_MAX) {
        at->gave_up = true;
        return -PD_E_LIMIT;
    }
    return 0;
}

static int join_key(struct attempt *at, uint64_t key, uint32_t before)
{
    const uint32_t len = at->middle + 1;
    int err = 0;

    for (uint32_t h = at->buckets[key & at->buckets_mask]; !err && h;) {
        const struct half *half = &at->halves[h - 1];
        const uint32_t *walk = at->walks + (size_t)(h - 1) * len;
        if (half->key == key && (at->t->complete || walk[len - 1] == before)) {
            err = keep_walk(at, walk);
        }
        h = half->next;
    }
    return err;
}

/* A backward half: it meets the forward ones over each arc into its last node. */
static int join_half(struct attempt *at)
{
    const struct pd_pint_trellis *t = at->t;
    const uint32_t len = t->len - 1 - at->middle, node = at->stack[len - 1];
    const uint64_t *sums = at->sums + len * at->words;
    int err = 0;

    if (t->complete) {
        return join_key(at, key_of(at, sums, 0, true), 0);
    }
    for (uint32_t k = t->ins[node]; !err && k < t->ins[node + 1]; k++) {
        const uint32_t arc = t->in_arcs[k], before = t->tails[arc];
        if (at->problem->arcs[arc] && at->problem->nodes[before]) {
            err = join_key(at, key_of(at, sums, before, true), before);
        }
    }
    return err;
}

static int make_room(struct attempt *at, double halves)
{
    struct pd_pint_solver *solver = at->problem->solver;
    const uint32_t room = halves < HALVES_MAX ? (uint32_t)halves + 1 : HALVES_MAX;
    uint32_t buckets = 16;

    while (buckets < room) {
        buckets *= 2;
    }
    at->halves = pd_pint_buffer_get(&solver->forward, HALVES_MAX * sizeof *at->halves);
    at->walks = pd_pint_buffer_get(&solver->backward,
                                   (size_t)HALVES_MAX * (at->middle + 1) * sizeof *at->walks);
    at->buckets = pd_pint_buffer_get(&solver->table, buckets * sizeof *at->buckets);
    at->buckets_mask = buckets - 1;
    if (!at->halves || !at->walks || !at->buckets ||
        !pd_pint_buffer_get(&solver->found,
                            (size_t)PINT_LIST_MAX * at->t->len * sizeof(uint32_t))) {
        return -ENOMEM;
    }
    memset(at->buckets, 0, buckets * sizeof *at->buckets);
    return 0;
}

static int walk_both(struct attempt *at)
{
    const struct walker front = {at, false, at->middle + 1, keep_half};
    const struct walker back = {at, true, at->t->len - 1 - at->middle, join_half};
    int err = walk_half(&front);

    if (err || back.len > 0) {
        return err ? err : walk_half(&back);
    }
    for (uint32_t h = 0; !err && h < at->halves_len; h++) { /* a path of one switch */
        err = keep_walk(at, at->walks + (size_t)h * (at->middle + 1));
    }
    return err;
}

static int take_found(struct pint_problem *problem)
{
    const size_t bytes = (size_t)problem->walks_len * problem->trellis->len * sizeof(uint32_t);

    problem->walks = malloc(bytes + 1);
    if (!problem->walks) {
        problem->walks_len = 0;
        return -ENOMEM;
    }
    memcpy(problem->walks, problem->solver->found.bytes, bytes);
    problem->listed = true;
    return 0;
}

/* After an attempt in vain: not before there are half as many walks, or clearly more digests. */
static bool is_hopeless(const struct pint_problem *problem, double walks)
{
    return walks > HOPEFUL ||
           (problem->hopeless > 0 && walks > problem->hopeless / 2 &&
            problem->clues_len < problem->hopeless_clues + problem->hopeless_clues / 4 + 2);
}

int pd_pint_list(struct pint_problem *problem)
{
    struct attempt at = {.problem = problem, .t = problem->trellis};
    const double halves = choose_middle(problem, &at.middle);
    int err;

    if (halves < 0) {
        return -ENOMEM;
    }
    if (is_hopeless(problem, halves) || (problem->solver->method == PD_PINT_PEEL && halves > 2)) {
        return 0;
    }
    at.words = (problem->clues_len + LANES - 1) / LANES;
    problem->walks_len = 0;
    err = make_room(&at, halves);
    if (!err) {
        err = make_vectors(&at);
    }
    if (!err) {
        err = walk_both(&at);
    }
    if (at.gave_up) {
        problem->hopeless = halves;
        problem->hopeless_clues = problem->clues_len;
        problem->walks_len = 0;
        return 0;
    }
    return err ? err : take_found(problem);
}
