/* SPDX-License-Identifier: Apache-2.0 */
/* Evening out trails: downhill by exchanged tails and moved tours, with kicks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "probe/plan/even.h"

struct trail {
    uint32_t *nodes;
    uint32_t hops, room;
    bool changed; /* since the pairs were last looked at */
};

enum move_kind { EXCHANGE, CROSS, TOUR_TO_B, TOUR_TO_A };

/* EXCHANGE, CROSS: at a[i] and b[j]. TOURs: the one that goes from i to j moves, to where the other
 * has its node s at k. */
struct move {
    enum move_kind kind;
    uint32_t i, j, s, k;
    uint64_t cost;
    uint64_t seen; /* moves that would do, when one is drawn at random */
};

struct even {
    bool directed;
    uint32_t goal, limit;
    struct trail *trails, *best;
    uint32_t len;
    uint32_t *order;  /* of trails, longest first */
    uint32_t *head;   /* of a node: 1 + its first place on `a`; 0: none */
    uint32_t *chain;  /* of a place on `a`: 1 + the next one of the same node */
    uint32_t *mark;   /* of a node: 1 + a place on `b` */
    uint32_t *met;    /* of a place on `a`: how many before it are nodes of `b` */
    uint32_t *joined; /* room for what a move makes */
    uint64_t work, budget;
    uint64_t random; /* state */
    bool drawing;    /* any move up to `most` will do, not only the best */
    uint64_t most;
};

/* Work for each hop: enough for some sweeps over all pairs of a small network. */
enum { WORK_PER_HOP = 256, WORK_LEAST = 3000000, KICKS = 3 };

static uint64_t square(uint64_t a)
{
    return a * a;
}

static uint64_t cost_of(const struct even *e)
{
    uint64_t sum = 0;
    for (uint32_t n = 0; n < e->len; n++) {
        sum += square(e->trails[n].hops);
    }
    return sum;
}

/* ---- moves of a pair */

static void offer(struct even *e, struct move *move, const struct move *other, uint32_t x,
                  uint32_t y)
{
    uint64_t cost = square(x) + square(y);
    if (!x || !y) {
        return;
    }
    if (e->drawing) {
        if (cost <= e->most && pd_splitmix64(&e->random) % ++move->seen == 0) {
            uint64_t seen = move->seen;
            *move = *other;
            move->cost = cost;
            move->seen = seen;
        }
    } else if (cost < move->cost) {
        *move = *other;
        move->cost = cost;
    }
}

static void index_trail(struct even *e, const struct trail *a)
{
    for (uint32_t i = a->hops + 1; i-- > 0;) {
        e->chain[i] = e->head[a->nodes[i]];
        e->head[a->nodes[i]] = i + 1;
    }
    e->work += a->hops;
}

static void forget_trail(struct even *e, const struct trail *a)
{
    for (uint32_t i = 0; i <= a->hops; i++) {
        e->head[a->nodes[i]] = 0;
    }
}

static void look_at_tails(struct even *e, const struct trail *a, const struct trail *b,
                          struct move *move)
{
    for (uint32_t j = 0; j <= b->hops; j++) {
        for (uint32_t at = e->head[b->nodes[j]]; at; at = e->chain[at - 1]) {
            uint32_t i = at - 1;
            struct move found = {.kind = EXCHANGE, .i = i, .j = j};
            offer(e, move, &found, i + b->hops - j, j + a->hops - i);
            if (!e->directed) {
                found.kind = CROSS;
                offer(e, move, &found, i + j, a->hops - i + b->hops - j);
            }
            e->work++;
        }
    }
    e->work += b->hops;
}

/* The first place of the tour i..j of `a` that `b` meets. */
static void offer_tour(struct even *e, const struct trail *a, const struct trail *b,
                       struct move found, struct move *move)
{
    uint32_t hops = found.j - found.i;
    if (hops == a->hops || e->met[found.j] == e->met[found.i]) {
        return;
    }
    for (found.s = found.i; !e->mark[a->nodes[found.s]]; found.s++) {
    }
    found.k = e->mark[a->nodes[found.s]] - 1;
    offer(e, move, &found, a->hops - hops, b->hops + hops);
}

/* `a` is indexed. */
static void look_at_tours(struct even *e, const struct trail *a, const struct trail *b,
                          enum move_kind kind, struct move *move)
{
    uint32_t most = e->drawing || a->hops < b->hops ? a->hops : a->hops - b->hops;
    for (uint32_t k = 0; k <= b->hops; k++) {
        e->mark[b->nodes[k]] = k + 1;
    }
    e->met[0] = 0;
    for (uint32_t i = 0; i < a->hops; i++) {
        e->met[i + 1] = e->met[i] + (e->mark[a->nodes[i]] != 0);
    }
    for (uint32_t i = 0; i < a->hops; i++) {
        for (uint32_t at = e->chain[i]; at && at - 1 - i < most; at = e->chain[at - 1]) {
            offer_tour(e, a, b, (struct move){.kind = kind, .i = i, .j = at - 1}, move);
            e->work++;
        }
    }
    for (uint32_t k = 0; k <= b->hops; k++) {
        e->mark[b->nodes[k]] = 0;
    }
    e->work += a->hops + b->hops;
}

/* `a`, the longer one or any, is indexed. */
static bool find_move(struct even *e, const struct trail *a, const struct trail *b,
                      struct move *move)
{
    *move = (struct move){.cost = square(a->hops) + square(b->hops)};
    uint64_t before = move->cost;
    look_at_tails(e, a, b, move);
    if (e->drawing || move->cost > (square(a->hops + b->hops) + 1) / 2) {
        look_at_tours(e, a, b, TOUR_TO_B, move);
    }
    return e->drawing ? move->seen : move->cost < before;
}

/* ---- making a move */

static int resize(struct trail *trail, uint32_t hops)
{
    if (PD_GROW(trail->nodes, trail->room, (size_t)hops + 1)) {
        return -ENOMEM;
    }
    trail->hops = hops;
    return 0;
}

static uint32_t *forward(uint32_t *to, const uint32_t *nodes, uint32_t from, uint32_t end)
{
    memcpy(to, nodes + from, (end - from) * sizeof *to);
    return to + (end - from);
}

static uint32_t *backward(uint32_t *to, const uint32_t *nodes, uint32_t from, uint32_t end)
{
    while (end > from) {
        *to++ = nodes[--end];
    }
    return to;
}

/* Both new trails one behind the other in `joined`; returns where the second one begins. */
static uint32_t *join_tails(struct even *e, const struct move *m, const struct trail *a,
                            const struct trail *b, uint32_t **ret_end)
{
    uint32_t *second = forward(e->joined, a->nodes, 0, m->i + 1);
    if (m->kind == EXCHANGE) {
        second = forward(second, b->nodes, m->j + 1, b->hops + 1);
        *ret_end = forward(second, b->nodes, 0, m->j + 1);
        *ret_end = forward(*ret_end, a->nodes, m->i + 1, a->hops + 1);
    } else {
        second = backward(second, b->nodes, 0, m->j);
        *ret_end = backward(second, a->nodes, m->i, a->hops + 1);
        *ret_end = forward(*ret_end, b->nodes, m->j + 1, b->hops + 1);
    }
    return second;
}

static uint32_t *join_tour(struct even *e, const struct move *m, const struct trail *a,
                           const struct trail *b, uint32_t **ret_end)
{
    uint32_t *second = forward(e->joined, a->nodes, 0, m->i);
    second = forward(second, a->nodes, m->j, a->hops + 1);
    *ret_end = forward(second, b->nodes, 0, m->k + 1);
    *ret_end = forward(*ret_end, a->nodes, m->s + 1, m->j + 1);
    *ret_end = forward(*ret_end, a->nodes, m->i + 1, m->s + 1);
    *ret_end = forward(*ret_end, b->nodes, m->k + 1, b->hops + 1);
    return second;
}

static int make_move(struct even *e, const struct move *m, struct trail *a, struct trail *b)
{
    uint32_t *end,
        *second = m->kind == TOUR_TO_B ? join_tour(e, m, a, b, &end) : join_tails(e, m, a, b, &end);
    uint32_t x = (uint32_t)(second - e->joined), y = (uint32_t)(end - second);
    if (resize(a, x - 1) || resize(b, y - 1)) {
        return -ENOMEM;
    }
    memcpy(a->nodes, e->joined, x * sizeof *a->nodes);
    memcpy(b->nodes, second, y * sizeof *b->nodes);
    a->changed = b->changed = true;
    e->work += x + y;
    return 0;
}

/* ---- downhill */

static int by_length(const void *a, const void *b, void *context)
{
    const struct even *e = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (e->trails[x].hops != e->trails[y].hops) {
        return e->trails[x].hops < e->trails[y].hops ? 1 : -1;
    }
    return x < y ? -1 : x > y;
}

static bool is_done(const struct even *e)
{
    uint32_t least = UINT32_MAX, most = 0;
    for (uint32_t n = 0; n < e->len; n++) {
        least = e->trails[n].hops < least ? e->trails[n].hops : least;
        most = e->trails[n].hops > most ? e->trails[n].hops : most;
    }
    return most <= least + e->goal || most <= e->limit;
}

/* One trail with all that are shorter, shortest first. 1 when something moved. */
static int lower_trail(struct even *e, uint32_t n, const bool *was_changed)
{
    struct trail *a = &e->trails[e->order[n]];
    int moved = 0, err = 0;
    struct move move;
    index_trail(e, a);
    for (uint32_t m = e->len; !err && m-- > n + 1 && e->work < e->budget;) {
        struct trail *b = &e->trails[e->order[m]];
        if (a->hops < b->hops + 2 || (!moved && !was_changed[e->order[n]] &&
                                      !was_changed[e->order[m]] && !a->changed && !b->changed)) {
            e->work++;
            continue;
        }
        if (find_move(e, a, b, &move)) {
            forget_trail(e, a);
            err = make_move(e, &move, a, b);
            index_trail(e, a);
            moved = 1;
        }
    }
    forget_trail(e, a);
    return err ? err : moved;
}

static int go_down(struct even *e)
{
    bool *was_changed = malloc(e->len + 1);
    int moved = 1;
    if (!was_changed) {
        return -ENOMEM;
    }
    while (moved > 0 && e->work < e->budget && !is_done(e)) {
        moved = 0;
        qsort_r(e->order, e->len, sizeof *e->order, by_length, e);
        e->work += e->len;
        for (uint32_t n = 0; n < e->len; n++) {
            was_changed[n] = e->trails[n].changed;
            e->trails[n].changed = false;
        }
        for (uint32_t n = 0; n < e->len && moved >= 0; n++) {
            int now = lower_trail(e, n, was_changed);
            moved = now < 0 ? now : moved | now;
        }
    }
    free(was_changed);
    return moved < 0 ? moved : 0;
}

/* ---- kicks */

static int copy_trails(struct even *e, struct trail *to, const struct trail *from)
{
    for (uint32_t n = 0; n < e->len; n++) {
        if (to[n].hops == from[n].hops && to[n].nodes &&
            !memcmp(to[n].nodes, from[n].nodes, (to[n].hops + 1) * sizeof *to[n].nodes)) {
            to[n].changed = false;
            continue;
        }
        if (resize(&to[n], from[n].hops)) {
            return -ENOMEM;
        }
        memcpy(to[n].nodes, from[n].nodes, (from[n].hops + 1) * sizeof *to[n].nodes);
        to[n].changed = false;
        e->work += from[n].hops;
    }
    return 0;
}

/* One move at random, of a pair at random, that costs at most `more`. */
static int kick(struct even *e, uint64_t more)
{
    struct trail *a = &e->trails[pd_splitmix64(&e->random) % e->len],
                 *b = &e->trails[pd_splitmix64(&e->random) % e->len];
    struct move move;
    int err = 0;
    if (a == b) {
        return 0;
    }
    e->drawing = true;
    e->most = square(a->hops) + square(b->hops) + more;
    index_trail(e, a);
    bool found = find_move(e, a, b, &move);
    forget_trail(e, a);
    if (found) {
        err = make_move(e, &move, a, b);
    }
    e->drawing = false;
    return err;
}

static int shake(struct even *e)
{
    uint64_t best = cost_of(e), hops = 0;
    int err = copy_trails(e, e->best, e->trails);
    for (uint32_t n = 0; n < e->len; n++) {
        hops += e->trails[n].hops;
    }
    /* a move over a distance of the mean length costs this much */
    uint64_t mean = hops / e->len + 1;
    while (!err && e->work < e->budget && !is_done(e)) {
        for (int n = 0; !err && n < KICKS; n++) {
            err = kick(e, pd_splitmix64(&e->random) % 3 ? 0 : mean);
            e->work++;
        }
        err = err ? err : go_down(e);
        uint64_t cost = cost_of(e);
        if (!err && cost <= best) {
            best = cost;
            err = copy_trails(e, e->best, e->trails);
        } else if (!err) {
            err = copy_trails(e, e->trails, e->best);
        }
        e->work += e->len;
    }
    return err ? err : copy_trails(e, e->trails, e->best);
}

/* ---- in and out */

static void done(struct even *e)
{
    for (uint32_t n = 0; n < e->len; n++) {
        free(e->trails ? e->trails[n].nodes : NULL);
        free(e->best ? e->best[n].nodes : NULL);
    }
    free(e->trails);
    free(e->best);
    free(e->order);
    free(e->head);
    free(e->chain);
    free(e->mark);
    free(e->met);
    free(e->joined);
}

static int init(struct even *e, uint32_t nodes_len, const struct pd_plan_paths *paths,
                uint32_t from)
{
    uint64_t hops = 0;
    e->trails = calloc(e->len, sizeof *e->trails);
    e->best = calloc(e->len, sizeof *e->best);
    e->order = malloc(e->len * sizeof *e->order);
    e->head = calloc(nodes_len, sizeof *e->head);
    e->mark = calloc(nodes_len, sizeof *e->mark);
    if (!e->trails || !e->best || !e->order || !e->head || !e->mark) {
        return -ENOMEM;
    }
    for (uint32_t n = 0; n < e->len; n++) {
        uint32_t length = paths->paths[from + n].hops;
        if (resize(&e->trails[n], length)) {
            return -ENOMEM;
        }
        memcpy(e->trails[n].nodes, pd_plan_path_nodes(paths, from + n),
               (length + 1) * sizeof *e->trails[n].nodes);
        e->trails[n].changed = true;
        e->order[n] = n;
        hops += length;
    }
    e->chain = malloc((hops + 2) * sizeof *e->chain);
    e->met = malloc((hops + 2) * sizeof *e->met);
    e->joined = malloc((hops + e->len + 2) * sizeof *e->joined);
    e->budget = e->budget ? e->budget : WORK_LEAST + WORK_PER_HOP * hops;
    return e->chain && e->met && e->joined ? 0 : -ENOMEM;
}

static int write_back(const struct even *e, struct pd_plan_paths *paths, uint32_t from)
{
    uint32_t nodes = 0, len = paths->len;
    for (uint32_t n = 0; n < e->len; n++) {
        nodes += e->trails[n].hops + 1;
    }
    if (pd_plan_paths_reserve(paths, 0, nodes)) {
        return -ENOMEM;
    }
    paths->len = from;
    for (uint32_t n = 0; n < len - from; n++) {
        pd_plan_paths_add(paths, e->trails[n].nodes, e->trails[n].hops);
    }
    return 0;
}

int pd_plan_even(const struct pd_plan_even *how, struct pd_plan_paths *paths, uint32_t from)
{
    struct even e = {.directed = how->directed,
                     .goal = how->goal ? how->goal : 1,
                     .limit = how->limit,
                     .budget = how->work};
    int err;
    e.len = paths->len - from;
    if (e.len < 2) {
        return 0;
    }
    err = init(&e, how->nodes_len, paths, from);
    err = err ? err : go_down(&e);
    err = err ? err : shake(&e);
    err = err ? err : write_back(&e, paths, from);
    done(&e);
    return err;
}
