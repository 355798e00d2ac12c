/* SPDX-License-Identifier: Apache-2.0 */
/* A plan that is kept: when a cable fails or comes back, only the paths that crossed it change. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#include "probe/plan/parts.h"

/* A path that lost a link falls into pieces; a link that came back is two pieces of its own, one
 * for each direction. At every switch without a host as many pieces end as begin, so that they can
 * be joined into paths from host to host and closed tours: what came before one direction of a lost
 * link goes on with what came behind the other one. A tour is attached to a path that meets it, or
 * stands alone when a host is on it. What is longer than the limit then is made shorter: shorten.c.
 *
 * Where links have no direction a switch has one end of a trail at most; two that meet are joined.
 */

enum { PIECES_MAX = 4096 }; /* more: the plan is made anew */

struct piece {
    uint32_t *nodes;
    uint32_t hops;
    bool open_begin, open_end; /* to be joined with others */
};

struct keep {
    const struct pd_plan_graph *graph;
    struct pd_plan *plan;
    bool directed;
    bool *used;   /* directions that are covered */
    bool *hosted; /* components with a host */
    struct piece *pieces;
    uint32_t len, room;
};

/* ---- pieces */

static int add_piece(struct keep *k, const uint32_t *nodes, uint32_t hops, bool open_begin,
                     bool open_end)
{
    if (PD_GROW(k->pieces, k->room, k->len + 1)) {
        return -ENOMEM;
    }
    struct piece *piece = &k->pieces[k->len];
    *piece = (struct piece){.hops = hops, .open_begin = open_begin, .open_end = open_end};
    piece->nodes = malloc((hops + 1) * sizeof *piece->nodes);
    if (!piece->nodes) {
        return -ENOMEM;
    }
    memcpy(piece->nodes, nodes, (hops + 1) * sizeof *nodes);
    k->len++;
    return 0;
}

static void drop_piece(struct keep *k, uint32_t n)
{
    free(k->pieces[n].nodes);
    k->pieces[n] = k->pieces[--k->len];
}

static void turn(struct piece *piece)
{
    for (uint32_t i = 0, j = piece->hops; i < j; i++, j--) {
        uint32_t node = piece->nodes[i];
        piece->nodes[i] = piece->nodes[j];
        piece->nodes[j] = node;
    }
    bool open = piece->open_begin;
    piece->open_begin = piece->open_end;
    piece->open_end = open;
}

static void set_used(struct keep *k, uint32_t link, bool used)
{
    k->used[link] = used;
    if (!k->directed) {
        k->used[pd_links_reverse(link)] = used;
    }
}

static uint32_t take_link(struct keep *k, uint32_t from, uint32_t to)
{
    uint32_t link = pd_plan_link_between(k->graph, from, to, k->used);
    if (link != PD_NONE) {
        set_used(k, link, true);
    }
    return link;
}

/* Takes the directions of a path; when one is not there (any more), those before it are given back.
 */
static bool take_path(struct keep *k, const uint32_t *nodes, uint32_t hops)
{
    uint32_t i, *links = malloc((hops + 1) * sizeof *links);
    for (i = 0; links && i < hops; i++) {
        links[i] = take_link(k, nodes[i], nodes[i + 1]);
        if (links[i] == PD_NONE) {
            break;
        }
    }
    bool whole = links && i == hops;
    while (links && !whole && i-- > 0) {
        set_used(k, links[i], false);
    }
    free(links);
    return whole;
}

static bool may_stay(const struct keep *k, const uint32_t *nodes, uint32_t hops)
{
    return hops && (!k->directed || (hops <= k->plan->max_hops && k->graph->hosts[nodes[0]] &&
                                     k->graph->hosts[nodes[hops]]));
}

/* May an end that a path had before be joined with another one? */
static bool may_join(const struct keep *k, uint32_t node)
{
    return !k->directed || !k->graph->hosts[node];
}

/* A piece of a path whose component has no host any more is not covered. */
static int take_piece(struct keep *k, const uint32_t *nodes, uint32_t hops, bool open_begin,
                      bool open_end)
{
    int err = 0;
    if (!k->directed || k->hosted[k->graph->parts[nodes[0]]]) {
        return add_piece(k, nodes, hops, open_begin, open_end);
    }
    for (uint32_t i = 0; !err && i < hops; i++) {
        err = pd_plan_add_uncovered(k->plan, nodes[i], nodes[i + 1]);
    }
    return err;
}

/* What is left of a path that does not stay as it is. */
static int break_path(struct keep *k, const uint32_t *nodes, uint32_t hops)
{
    int err = 0;
    for (uint32_t i = 0, begin = 0; !err && i <= hops; i++) {
        if (i < hops && take_link(k, nodes[i], nodes[i + 1]) != PD_NONE) {
            continue;
        }
        if (i > begin) {
            err = take_piece(k, nodes + begin, i - begin, begin || may_join(k, nodes[0]),
                             i < hops || may_join(k, nodes[hops]));
        }
        begin = i + 1;
    }
    return err;
}

/* Paths that stay go into the plan, others become pieces; both after all whole ones are known. */
static int sort_paths(struct keep *k, const struct pd_plan_paths *keep)
{
    int err = 0;
    bool *stays = calloc(keep->len + 1, sizeof *stays);
    if (!stays) {
        return -ENOMEM;
    }
    for (uint32_t n = 0; !err && n < keep->len; n++) {
        const uint32_t *nodes = pd_plan_path_nodes(keep, n);
        uint32_t hops = keep->paths[n].hops;
        stays[n] = may_stay(k, nodes, hops) && take_path(k, nodes, hops);
        err = stays[n] ? pd_plan_paths_add(&k->plan->paths, nodes, hops) : 0;
    }
    for (uint32_t n = 0; !err && n < keep->len && k->len <= PIECES_MAX; n++) {
        if (!stays[n]) {
            err = break_path(k, pd_plan_path_nodes(keep, n), keep->paths[n].hops);
        }
    }
    free(stays);
    return err;
}

/* A path of the plan becomes a piece, at the other end of the list. */
static int take_back(struct keep *k, uint32_t n, bool open)
{
    struct pd_plan_paths *paths = &k->plan->paths;
    int err = add_piece(k, pd_plan_path_nodes(paths, n), paths->paths[n].hops, open, open);
    if (!err) {
        paths->paths[n] = paths->paths[--paths->len];
    }
    return err;
}

static int add_uncovered(struct keep *k)
{
    const struct pd_plan_graph *g = k->graph;
    int err = 0;
    for (uint32_t s = 0; !err && s < g->nodes_len && k->len <= PIECES_MAX; s++) {
        for (uint32_t a = g->first[s]; !err && a < g->first[s + 1]; a++) {
            uint32_t step[2] = {s, g->arcs[a].to};
            if (!k->used[g->arcs[a].link]) {
                set_used(k, g->arcs[a].link, true);
                err = take_piece(k, step, 1, true, true);
            }
        }
    }
    return err;
}

/* ---- joining */

static int append(struct keep *k, uint32_t n, uint32_t other)
{
    struct piece *a = &k->pieces[n], *b = &k->pieces[other];
    uint32_t *nodes = realloc(a->nodes, (a->hops + b->hops + 1) * sizeof *nodes);
    if (!nodes) {
        return -ENOMEM;
    }
    memcpy(nodes + a->hops + 1, b->nodes + 1, b->hops * sizeof *nodes);
    a->nodes = nodes;
    a->hops += b->hops;
    a->open_end = b->open_end;
    drop_piece(k, other);
    return 0;
}

/* The piece that goes on where number n ends, or PD_NONE; turned when need be. */
static uint32_t find_next(struct keep *k, uint32_t n)
{
    uint32_t end = k->pieces[n].nodes[k->pieces[n].hops];
    for (uint32_t m = 0; m < k->len; m++) {
        struct piece *other = &k->pieces[m];
        if (m != n && other->open_begin && other->nodes[0] == end) {
            return m;
        }
        if (m != n && !k->directed && other->open_end && other->nodes[other->hops] == end) {
            turn(other);
            return m;
        }
    }
    return PD_NONE;
}

/* Longest first, so that a single link does not meet its own way back before it meets a path. */
static int by_hops(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    return x->hops < y->hops ? 1 : x->hops > y->hops ? -1 : 0;
}

static int join_pieces(struct keep *k)
{
    if (k->len) {
        qsort(k->pieces, k->len, sizeof *k->pieces, by_hops);
    }
    for (bool again = true; again;) {
        again = false;
        for (uint32_t n = 0; n < k->len; n++) {
            uint32_t next = k->pieces[n].open_end ? find_next(k, n) : PD_NONE;
            if (next != PD_NONE) {
                if (append(k, n, next)) {
                    return -ENOMEM;
                }
                again = true;
                break;
            }
            if (!k->directed && k->pieces[n].open_begin) {
                turn(&k->pieces[n]);
                next = k->pieces[n].open_end ? find_next(k, n) : PD_NONE;
                if (next != PD_NONE) {
                    if (append(k, n, next)) {
                        return -ENOMEM;
                    }
                    again = true;
                    break;
                }
            }
        }
    }
    return 0;
}

/* ---- tours */

static bool is_tour(const struct keep *k, const struct piece *piece)
{
    return piece->nodes[0] == piece->nodes[piece->hops] && piece->open_begin && piece->open_end &&
           (k->directed || piece->hops);
}

/* Turns a closed tour so that it begins at its node number `at`. */
static int turn_tour(struct piece *tour, uint32_t at)
{
    uint32_t *nodes = malloc((tour->hops + 1) * sizeof *nodes);
    if (!nodes) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i <= tour->hops; i++) {
        nodes[i] = tour->nodes[(at + i) % tour->hops];
    }
    free(tour->nodes);
    tour->nodes = nodes;
    return 0;
}

/* Where the two meet: a place of `nodes`, and one of the tour; false: nowhere. `places` is of each
 * node 1 + its place on the tour. */
static bool meets(const uint32_t *places, const uint32_t *nodes, uint32_t hops, uint32_t *ret_at)
{
    for (uint32_t i = 0; i <= hops; i++) {
        if (places[nodes[i]]) {
            *ret_at = i;
            return true;
        }
    }
    return false;
}

/* The shortest piece or path that the tour meets: its number among the pieces, or k->len + that
 * among the paths; PD_NONE: there is none. */
static uint32_t find_carrier(const struct keep *k, uint32_t tour, const uint32_t *places)
{
    const struct pd_plan_paths *paths = &k->plan->paths;
    uint32_t found = PD_NONE, least = UINT32_MAX, at;
    for (uint32_t n = 0; n < k->len + paths->len; n++) {
        const uint32_t *nodes =
            n < k->len ? k->pieces[n].nodes : pd_plan_path_nodes(paths, n - k->len);
        uint32_t hops = n < k->len ? k->pieces[n].hops : paths->paths[n - k->len].hops;
        if (n != tour && hops < least && meets(places, nodes, hops, &at)) {
            found = n;
            least = hops;
        }
    }
    return found;
}

static int insert_tour(struct keep *k, uint32_t tour, uint32_t carrier, const uint32_t *places)
{
    struct piece *into = &k->pieces[carrier], *from = &k->pieces[tour];
    uint32_t at = 0, hops = from->hops;
    meets(places, into->nodes, into->hops, &at);
    if (turn_tour(from, places[into->nodes[at]] - 1)) {
        return -ENOMEM;
    }
    uint32_t *nodes = realloc(into->nodes, (into->hops + hops + 1) * sizeof *nodes);
    if (!nodes) {
        return -ENOMEM;
    }
    memmove(nodes + at + hops, nodes + at, (into->hops + 1 - at) * sizeof *nodes);
    memcpy(nodes + at, from->nodes, hops * sizeof *nodes);
    into->nodes = nodes;
    into->hops += hops;
    drop_piece(k, tour);
    return 0;
}

static uint32_t first_host(const struct keep *k, const struct piece *piece)
{
    for (uint32_t i = 0; i < piece->hops; i++) {
        if (k->graph->hosts[piece->nodes[i]]) {
            return i;
        }
    }
    return PD_NONE;
}

/* One tour; `places` is all 0 before and after. */
static int attach_tour(struct keep *k, uint32_t n, uint32_t *places)
{
    struct piece *tour = &k->pieces[n];
    uint32_t hops = tour->hops, host = first_host(k, tour), carrier, carried;
    int err = 0;
    uint32_t *nodes = malloc((hops + 1) * sizeof *nodes);
    if (!nodes) {
        return -ENOMEM;
    }
    memcpy(nodes, tour->nodes, (hops + 1) * sizeof *nodes);
    for (uint32_t i = 0; i < hops; i++) {
        places[nodes[i]] = i + 1;
    }
    carrier = find_carrier(k, n, places);
    carried = carrier == PD_NONE ? 0
              : carrier < k->len ? k->pieces[carrier].hops
                                 : k->plan->paths.paths[carrier - k->len].hops;
    if (carrier == PD_NONE ||
        (k->directed && host != PD_NONE && carried + hops > k->plan->max_hops)) {
        err = host == PD_NONE ? 0 : turn_tour(tour, host);
        tour->open_begin = tour->open_end = false;
    } else {
        if (carrier >= k->len) {
            err = take_back(k, carrier - k->len, false);
            carrier = k->len - 1;
        }
        err = err ? err : insert_tour(k, n, carrier, places);
    }
    for (uint32_t i = 0; i < hops; i++) {
        places[nodes[i]] = 0;
    }
    free(nodes);
    return err;
}

static int attach_tours(struct keep *k)
{
    uint32_t *places = calloc(k->graph->nodes_len + 1, sizeof *places);
    int err = places ? 0 : -ENOMEM;
    for (uint32_t n = 0; !err && n < k->len;) {
        if (is_tour(k, &k->pieces[n])) {
            err = attach_tour(k, n, places);
            n = 0;
        } else {
            n++;
        }
    }
    free(places);
    return err;
}

/* ---- all of it */

static int put_pieces(struct keep *k)
{
    int err = 0;
    for (uint32_t n = 0; !err && n < k->len; n++) {
        err = pd_plan_paths_add(&k->plan->paths, k->pieces[n].nodes, k->pieces[n].hops);
    }
    return err;
}

/* Has this trail to change, too? When it ends where a piece ends they are one; when it is closed it
 * is a tour for another one of its component to take in. */
static bool is_touched(const struct keep *k, uint32_t n, const bool *ends, const bool *parts)
{
    const uint32_t *nodes = pd_plan_path_nodes(&k->plan->paths, n);
    uint32_t last = nodes[k->plan->paths.paths[n].hops];
    return ends[nodes[0]] || ends[last] || (nodes[0] == last && parts[k->graph->parts[last]]);
}

/* `ends` and `parts` are all false. 1 when there were some. */
static int take_touched(struct keep *k, bool *ends, bool *parts)
{
    int taken = 0, err = 0;
    for (uint32_t n = 0; n < k->len; n++) {
        struct piece *piece = &k->pieces[n];
        piece->open_begin = piece->open_end = true;
        ends[piece->nodes[0]] = ends[piece->nodes[piece->hops]] = true;
        parts[k->graph->parts[piece->nodes[0]]] = true;
    }
    for (uint32_t n = 0; !err && n < k->plan->paths.len;) {
        if (is_touched(k, n, ends, parts)) {
            err = take_back(k, n, true);
            taken = 1;
        } else {
            n++;
        }
    }
    return err ? err : taken;
}

static int take_neighbours(struct keep *k)
{
    size_t nodes = k->graph->nodes_len + 1, parts = k->graph->parts_len + 1;
    int taken;
    do {
        bool *marks = calloc(nodes + parts, sizeof *marks);
        taken = marks ? take_touched(k, marks, marks + nodes) : -ENOMEM;
        free(marks);
        if (taken > 0 && join_pieces(k)) {
            taken = -ENOMEM;
        }
    } while (taken > 0);
    return taken;
}

static int keep_what_can(struct keep *k, const struct pd_plan_paths *keep)
{
    int err = sort_paths(k, keep);
    err = err ? err : add_uncovered(k);
    if (err || k->len > PIECES_MAX) {
        return err ? err : -E2BIG;
    }
    err = join_pieces(k);
    err = err || k->directed ? err : take_neighbours(k);
    err = err ? err : attach_tours(k);
    uint32_t from = k->plan->paths.len;
    err = err ? err : put_pieces(k);
    return err || !k->directed ? err : pd_plan_shorten(k->graph, k->plan, from);
}

int pd_plan_keep(const struct pd_plan_graph *graph, const struct pd_plan_paths *keep,
                 struct pd_plan *plan)
{
    struct keep k = {.graph = graph, .plan = plan, .directed = plan->mode == PD_PLAN_DIRECTIONS};
    k.hosted = calloc(graph->parts_len + 1, sizeof *k.hosted);
    k.used = calloc(graph->links_len + 1, sizeof *k.used);
    int err = k.hosted && k.used ? 0 : -ENOMEM;
    for (uint32_t s = 0; !err && s < graph->nodes_len; s++) {
        k.hosted[graph->parts[s]] |= graph->hosts[s];
    }
    err = err ? err : keep_what_can(&k, keep);
    while (k.len) {
        drop_piece(&k, k.len - 1);
    }
    free(k.pieces);
    free(k.used);
    free(k.hosted);
    if (err != -E2BIG) {
        return err;
    }
    plan->paths.len = plan->paths.nodes_len = plan->repeated_len = plan->uncovered_len = 0;
    return plan->mode == PD_PLAN_LINKS ? pd_plan_links(graph, plan)
                                       : pd_plan_directions(graph, plan);
}
