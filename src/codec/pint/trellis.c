/* SPDX-License-Identifier: Apache-2.0 */
/* Builds trellises: forward from the source, backward from the destination, then numbered. */
#include "codec/pint/trellis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"

#define BUCKETS    1024 /* a power of 2 */
#define MANY       (PD_NONE - 1)
#define ARCS_MAX   (4u << 20) /* of one trellis */
#define HOPS_LIMIT 128

struct pd_pint_trellises {
    const struct pd_topology *topology;
    struct pd_pint_trellis *buckets[BUCKETS];
    size_t bytes, room_bytes;
    uint32_t *distance; /* scratch of a build, by switch */
    uint32_t *reached;  /* by switch: PD_NONE, the only neighbour it is reached from, or MANY */
    uint32_t *place;    /* by switch: its node in the layer that is looked at */
    uint32_t *queue;
};

int pd_pint_trellises_new(const struct pd_topology *topology, size_t room_bytes,
                          struct pd_pint_trellises **ret_trellises)
{
    struct pd_pint_trellises *trellises = calloc(1, sizeof *trellises);
    const size_t n = topology->switches_len + 1;

    if (!trellises) {
        return -ENOMEM;
    }
    trellises->topology = topology;
    trellises->room_bytes = room_bytes;
    trellises->distance = malloc(n * sizeof(uint32_t));
    trellises->reached = malloc(n * sizeof(uint32_t));
    trellises->place = malloc(n * sizeof(uint32_t));
    trellises->queue = malloc(n * sizeof(uint32_t));
    if (!trellises->distance || !trellises->reached || !trellises->place || !trellises->queue) {
        pd_pint_trellises_free(trellises);
        return -ENOMEM;
    }
    *ret_trellises = trellises;
    return 0;
}

static void trellis_free(struct pd_pint_trellis *trellis)
{
    if (trellis) {
        free(trellis->layers);
        free(trellis->nodes);
        free(trellis->outs);
        free(trellis->heads);
        free(trellis->ins);
        free(trellis->in_arcs);
        free(trellis->tails);
        free(trellis);
    }
}

void pd_pint_trellises_free(struct pd_pint_trellises *trellises)
{
    if (!trellises) {
        return;
    }
    for (size_t b = 0; b < BUCKETS; b++) {
        while (trellises->buckets[b]) {
            struct pd_pint_trellis *next = trellises->buckets[b]->next;
            trellis_free(trellises->buckets[b]);
            trellises->buckets[b] = next;
        }
    }
    free(trellises->distance);
    free(trellises->reached);
    free(trellises->place);
    free(trellises->queue);
    free(trellises);
}

const struct pd_topology *pd_pint_trellises_topology(const struct pd_pint_trellises *trellises)
{
    return trellises->topology;
}

/* ---- building */

/* An arc while the trellis is built: switches, by layer. */
struct arc {
    uint32_t from, to;
};

struct build {
    struct pd_pint_trellises *scratch;
    uint32_t src, dst, len;
    struct arc *arcs; /* layer by layer */
    size_t arcs_len, arcs_room;
    size_t *first; /* of each layer, and their number behind the last one */
};

/* Links to the destination, by breadth-first search. */
static void measure(struct pd_pint_trellises *scratch, uint32_t dst)
{
    const struct pd_topology *topology = scratch->topology;
    uint32_t head = 0, tail = 0;

    memset(scratch->distance, 0xff, topology->switches_len * sizeof(uint32_t));
    scratch->distance[dst] = 0;
    scratch->queue[tail++] = dst;
    while (head < tail) {
        const uint32_t at = scratch->queue[head++];
        const struct pd_switch *sw = &topology->switches[at];
        for (uint32_t n = 0; n < sw->switch_neighbours; n++) {
            const uint32_t to = sw->neighbours[n].node;
            if (scratch->distance[to] == PD_NONE) {
                scratch->distance[to] = scratch->distance[at] + 1;
                scratch->queue[tail++] = to;
            }
        }
    }
}

static int add_arc(struct build *build, uint32_t from, uint32_t to)
{
    if (build->arcs_len == ARCS_MAX) {
        return -PD_E_FULL;
    }
    if (PD_GROW(build->arcs, build->arcs_room, build->arcs_len + 1)) {
        return -ENOMEM;
    }
    build->arcs[build->arcs_len++] = (struct arc){from, to};
    return 0;
}

/* Notes that `at` is reached from `by`. */
static void reach(struct pd_pint_trellises *scratch, uint32_t at, uint32_t by)
{
    uint32_t *known = &scratch->reached[at];

    if (*known == PD_NONE) {
        *known = by;
    } else if (*known != by) {
        *known = MANY;
    }
}

/* Whether a walk through `at` can go on to `to` without going straight back. */
static bool goes_on(const struct pd_pint_trellises *scratch, uint32_t at, uint32_t to)
{
    const uint32_t known = scratch->reached[at];
    return known == MANY || known != to;
}

/* The arcs that leave a switch at place `place`. */
static int leave(struct build *build, uint32_t from, uint32_t place)
{
    const struct pd_switch *sw = &build->scratch->topology->switches[from];
    const uint32_t left = build->len - 2 - place; /* links behind the arc */
    uint32_t before = PD_NONE;
    int err = 0;

    for (uint32_t n = 0; !err && n < sw->switch_neighbours; n++) {
        const uint32_t to = sw->neighbours[n].node;
        if (to != before && to != build->src && (to != build->dst) == (left > 0) &&
            build->scratch->distance[to] <= left &&
            (place == 0 || goes_on(build->scratch, from, to))) {
            err = add_arc(build, from, to);
        }
        before = to; /* parallel links stand beside each other */
    }
    return err;
}

static int forward(struct build *build)
{
    struct pd_pint_trellises *scratch = build->scratch;
    uint32_t here_len = 1, *here = scratch->queue;
    int err = 0;

    measure(scratch, build->dst);
    here[0] = build->src;
    build->first[0] = 0;
    for (uint32_t place = 0; !err && place + 1 < build->len; place++) {
        for (uint32_t i = 0; !err && i < here_len; i++) {
            err = leave(build, here[i], place);
        }
        build->first[place + 1] = build->arcs_len;
        memset(scratch->reached, 0xff, scratch->topology->switches_len * sizeof(uint32_t));
        here_len = 0;
        for (size_t a = build->first[place]; !err && a < build->arcs_len; a++) {
            const uint32_t to = build->arcs[a].to;
            if (scratch->reached[to] == PD_NONE) {
                here[here_len++] = to;
            }
            reach(scratch, to, build->arcs[a].from);
        }
    }
    return err;
}

/* Keeps the arcs from which the destination is reached; `keep` has a flag for each. */
static void backward(struct build *build, bool *keep)
{
    struct pd_pint_trellises *scratch = build->scratch;
    uint32_t *reached = scratch->reached;

    memset(reached, 0xff, scratch->topology->switches_len * sizeof(uint32_t));
    for (uint32_t place = build->len - 1; place-- > 0;) {
        const size_t from = build->first[place], to = build->first[place + 1];
        for (size_t a = from; a < to; a++) {
            const struct arc *arc = &build->arcs[a];
            keep[a] = place + 2 == build->len ||
                      (reached[arc->to] != PD_NONE && goes_on(scratch, arc->to, arc->from));
        }
        /* what the layer before may go on to: the arcs that were kept here */
        memset(reached, 0xff, scratch->topology->switches_len * sizeof(uint32_t));
        for (size_t a = from; a < to; a++) {
            if (keep[a]) {
                reach(scratch, build->arcs[a].from, build->arcs[a].to);
            }
        }
    }
}

static int compare_arcs(const void *a, const void *b)
{
    const struct arc *x = a, *y = b;
    return x->from != y->from ? (x->from < y->from ? -1 : 1) : (x->to > y->to) - (x->to < y->to);
}

static int allocate(struct pd_pint_trellis *trellis, size_t nodes, size_t arcs)
{
    trellis->layers = calloc(trellis->len + 1, sizeof(uint32_t));
    trellis->nodes = calloc(nodes + 1, sizeof(uint32_t));
    trellis->outs = calloc(nodes + 1, sizeof(uint32_t));
    trellis->ins = calloc(nodes + 1, sizeof(uint32_t));
    trellis->heads = calloc(arcs + 1, sizeof(uint32_t));
    trellis->tails = calloc(arcs + 1, sizeof(uint32_t));
    trellis->in_arcs = calloc(arcs + 1, sizeof(uint32_t));
    trellis->bytes = sizeof *trellis + (trellis->len + 3 * nodes + 3 * arcs + 7) * sizeof(uint32_t);
    return trellis->layers && trellis->nodes && trellis->outs && trellis->ins && trellis->heads &&
                   trellis->tails && trellis->in_arcs
               ? 0
               : -ENOMEM;
}

/* Arcs by the node that they lead to: counted, then placed. */
static void turn_round(struct pd_pint_trellis *trellis)
{
    const uint32_t nodes = pd_pint_trellis_nodes(trellis), arcs = trellis->outs[nodes];

    for (uint32_t a = 0; a < arcs; a++) {
        trellis->ins[trellis->heads[a]]++;
    }
    uint32_t sum = 0;
    for (uint32_t n = 0; n <= nodes; n++) {
        const uint32_t count = trellis->ins[n];
        trellis->ins[n] = sum;
        sum += count;
    }
    for (uint32_t a = 0; a < arcs; a++) {
        trellis->in_arcs[trellis->ins[trellis->heads[a]]++] = a;
    }
    for (uint32_t n = nodes; n > 0; n--) { /* each start had moved to its end */
        trellis->ins[n] = trellis->ins[n - 1];
    }
    trellis->ins[0] = 0;
}

/* Numbers the switches of one layer: those that its arcs leave. */
static void number_layer(struct pd_pint_trellis *trellis, const struct build *build, uint32_t place,
                         uint32_t *nodes)
{
    trellis->layers[place] = *nodes;
    for (size_t a = build->first[place]; a < build->first[place + 1]; a++) {
        if (a == build->first[place] || build->arcs[a].from != build->arcs[a - 1].from) {
            trellis->nodes[(*nodes)++] = build->arcs[a].from;
        }
    }
}

static void join_layers(struct pd_pint_trellis *trellis, const struct build *build)
{
    uint32_t *place_of = build->scratch->place;

    for (uint32_t place = 0; place + 1 < build->len; place++) {
        uint32_t node = trellis->layers[place];
        for (uint32_t n = trellis->layers[place + 1]; n < trellis->layers[place + 2]; n++) {
            place_of[trellis->nodes[n]] = n;
        }
        for (size_t a = build->first[place]; a < build->first[place + 1]; a++) {
            if (a > build->first[place] && build->arcs[a].from != build->arcs[a - 1].from) {
                trellis->outs[++node] = (uint32_t)a;
            } else if (a == build->first[place]) {
                trellis->outs[node] = (uint32_t)a;
            }
            trellis->tails[a] = node;
            trellis->heads[a] = place_of[build->arcs[a].to];
        }
    }
}

/* The arcs that were kept, as a trellis. */
static int number(struct build *build, struct pd_pint_trellis *trellis)
{
    uint32_t nodes = 0;
    int err;

    for (uint32_t place = 0; place + 1 < build->len; place++) {
        qsort(build->arcs + build->first[place], build->first[place + 1] - build->first[place],
              sizeof *build->arcs, compare_arcs);
    }
    err = allocate(trellis, build->arcs_len + 1, build->arcs_len);
    if (err) {
        return err;
    }
    for (uint32_t place = 0; place + 1 < build->len; place++) {
        number_layer(trellis, build, place, &nodes);
    }
    trellis->layers[build->len - 1] = nodes;
    trellis->nodes[nodes++] = build->dst;
    trellis->layers[build->len] = nodes;
    join_layers(trellis, build);
    trellis->outs[nodes - 1] = trellis->outs[nodes] = (uint32_t)build->arcs_len;
    turn_round(trellis);
    return 0;
}

static void drop_unkept(struct build *build, const bool *keep)
{
    size_t to = 0;

    for (uint32_t place = 0; place + 1 < build->len; place++) {
        const size_t from = build->first[place], end = build->first[place + 1];
        build->first[place] = to;
        for (size_t a = from; a < end; a++) {
            if (keep[a]) {
                build->arcs[to++] = build->arcs[a];
            }
        }
    }
    build->first[build->len - 1] = build->arcs_len = to;
}

static int build_walks(struct build *build, struct pd_pint_trellis *trellis)
{
    bool *keep = NULL;
    int err;

    build->first = calloc(build->len + 1, sizeof *build->first);
    err = build->first ? forward(build) : -ENOMEM;
    if (!err && build->first[build->len - 1] == build->first[build->len - 2]) {
        err = -PD_E_NOT_FOUND;
    }
    if (!err) {
        keep = calloc(build->arcs_len + 1, sizeof *keep);
        err = keep ? 0 : -ENOMEM;
    }
    if (!err) {
        backward(build, keep);
        drop_unkept(build, keep);
        err = build->arcs_len ? number(build, trellis) : -PD_E_NOT_FOUND;
    }
    free(keep);
    free(build->first);
    free(build->arcs);
    return err;
}

static int build_one(struct pd_pint_trellis *trellis)
{
    int err = trellis->src == trellis->dst ? allocate(trellis, 1, 0) : -PD_E_NOT_FOUND;

    if (!err) {
        trellis->nodes[0] = trellis->src;
        trellis->layers[1] = 1;
    }
    return err;
}

static int build_complete(const struct pd_topology *topology, struct pd_pint_trellis *trellis)
{
    const uint32_t switches = topology->switches_len;
    int err = allocate(trellis, (size_t)switches * trellis->len, 0);

    for (uint32_t place = 0; !err && place < trellis->len; place++) {
        trellis->layers[place] = place * switches;
        for (uint32_t s = 0; s < switches; s++) {
            trellis->nodes[place * switches + s] = s;
        }
    }
    if (!err) {
        trellis->layers[trellis->len] = trellis->len * switches;
    }
    return err;
}

static int build_any(struct pd_pint_trellises *trellises, struct pd_pint_trellis *trellis)
{
    if (trellis->complete) {
        return build_complete(trellises->topology, trellis);
    }
    if (trellis->len == 1) {
        return build_one(trellis);
    }
    if (trellis->src == trellis->dst) {
        return -PD_E_NOT_FOUND;
    }
    struct build build = {
        .scratch = trellises, .src = trellis->src, .dst = trellis->dst, .len = trellis->len};
    return build_walks(&build, trellis);
}

/* ---- the table */

/* That there is no walk is remembered, too: as a trellis without layers. */
static int get(struct pd_pint_trellises *trellises, uint32_t src, uint32_t dst, uint32_t len,
               const struct pd_pint_trellis **ret_trellis)
{
    const uint64_t key = pd_hash_mix((uint64_t)src << 32 ^ (uint64_t)dst << 8 ^ len);
    struct pd_pint_trellis **bucket = &trellises->buckets[key % BUCKETS], *at = *bucket;
    int err;

    if (len == 0 || len > HOPS_LIMIT) {
        return -PD_E_NOT_FOUND;
    }
    while (at && (at->src != src || at->dst != dst || at->len != len)) {
        at = at->next;
    }
    if (!at) {
        if (trellises->bytes > trellises->room_bytes) {
            return -PD_E_FULL;
        }
        at = calloc(1, sizeof *at);
        if (!at) {
            return -ENOMEM;
        }
        *at = (struct pd_pint_trellis){
            .src = src, .dst = dst, .len = len, .complete = src == PD_NONE};
        err = build_any(trellises, at);
        if (err && err != -PD_E_NOT_FOUND) {
            trellis_free(at);
            return err;
        }
        trellises->bytes += sizeof *at + at->bytes;
        at->next = *bucket;
        *bucket = at;
    }
    if (!at->layers) {
        return -PD_E_NOT_FOUND;
    }
    *ret_trellis = at;
    return 0;
}

int pd_pint_trellis_get(struct pd_pint_trellises *trellises, uint32_t src, uint32_t dst,
                        uint32_t len, const struct pd_pint_trellis **ret_trellis)
{
    return get(trellises, src, dst, len, ret_trellis);
}

int pd_pint_trellis_complete(struct pd_pint_trellises *trellises, uint32_t len,
                             const struct pd_pint_trellis **ret_trellis)
{
    return get(trellises, PD_NONE, PD_NONE, len, ret_trellis);
}
