/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a problem: clues come in, walks go out. */
#include "codec/pint/problem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* ---- the solver */

void *pd_pint_buffer_get(struct pint_buffer *buffer, size_t bytes)
{
    if (bytes > buffer->room || !buffer->bytes) {
        free(buffer->bytes);
        buffer->bytes = malloc(bytes + 64);
        buffer->room = buffer->bytes ? bytes : 0;
    }
    return buffer->bytes;
}

int pd_pint_solver_new(const struct pd_topology *topology, const struct pd_pint_plan *plan,
                       enum pd_pint_method method, size_t trellis_bytes,
                       struct pd_pint_solver **ret_solver)
{
    struct pd_pint_solver *solver = calloc(1, sizeof *solver);
    int err = solver ? pd_pint_trellises_new(topology, trellis_bytes, &solver->trellises) : -ENOMEM;

    if (!err) {
        solver->visited = calloc(topology->switches_len + 1, 1);
        err = solver->visited ? 0 : -ENOMEM;
    }
    if (err) {
        pd_pint_solver_free(solver);
        return err;
    }
    solver->topology = topology;
    solver->plan = plan;
    solver->method = method;
    *ret_solver = solver;
    return 0;
}

void pd_pint_solver_free(struct pd_pint_solver *solver)
{
    if (solver) {
        pd_pint_trellises_free(solver->trellises);
        free(solver->sets.bytes);
        free(solver->counts.bytes);
        free(solver->vectors.bytes);
        free(solver->forward.bytes);
        free(solver->backward.bytes);
        free(solver->table.bytes);
        free(solver->found.bytes);
        free(solver->visited);
        free(solver);
    }
}

/* ---- a problem */

int pd_pint_problem_init(struct pint_problem *problem, struct pd_pint_solver *solver,
                         const struct pd_pint_trellis *trellis, uint32_t first_hop)
{
    const uint32_t nodes = pd_pint_trellis_nodes(trellis), arcs = trellis->outs[nodes];

    *problem = (struct pint_problem){.solver = solver, .trellis = trellis, .first_hop = first_hop};
    problem->nodes = malloc(nodes + 1);
    problem->arcs = malloc(arcs + 1);
    problem->left = malloc((trellis->len + 1) * sizeof *problem->left);
    if (!problem->nodes || !problem->arcs || !problem->left) {
        pd_pint_problem_done(problem);
        return -ENOMEM;
    }
    memset(problem->nodes, 1, nodes + 1);
    memset(problem->arcs, 1, arcs + 1);
    for (uint32_t p = 0; p < trellis->len; p++) {
        problem->left[p] = trellis->layers[p + 1] - trellis->layers[p];
    }
    return 0;
}

/* An open problem's memory goes when its walks are listed. */
static void close_open(struct pint_problem *problem)
{
    for (size_t c = 0; c < problem->clues_len; c++) {
        free(problem->clues[c].own);
    }
    free(problem->clues);
    free(problem->nodes);
    free(problem->arcs);
    free(problem->left);
    problem->clues = NULL;
    problem->nodes = problem->arcs = NULL;
    problem->left = NULL;
    problem->clues_len = problem->clues_room = 0;
}

void pd_pint_problem_done(struct pint_problem *problem)
{
    close_open(problem);
    free(problem->walks);
    problem->walks = NULL;
    problem->walks_len = 0;
}

size_t pd_pint_problem_bytes(const struct pint_problem *problem)
{
    const uint32_t nodes = pd_pint_trellis_nodes(problem->trellis);
    size_t bytes = problem->walks_len * problem->trellis->len * sizeof *problem->walks;

    if (problem->nodes) {
        bytes += nodes + problem->trellis->outs[nodes] + 4 * problem->trellis->len;
        bytes += problem->clues_room * sizeof *problem->clues;
        bytes += problem->clues_len * nodes * sizeof *problem->clues->own;
    }
    return bytes;
}

static void die(struct pint_problem *problem)
{
    pd_pint_problem_done(problem);
    problem->dead = true;
}

uint64_t pd_pint_problem_candidates(const struct pint_problem *problem)
{
    return problem->dead ? 0 : problem->listed ? problem->walks_len : UINT64_MAX;
}

/* ---- clues */

uint32_t pd_pint_own_bits(const struct pint_problem *problem, const struct pd_pint_clue *clue,
                          uint32_t sw, uint32_t place)
{
    const uint32_t id = problem->solver->topology->switches[sw].id;
    return pd_pint_static_bits(problem->solver->plan, clue->query, clue->packet_id, clue->tag, id,
                               clue->first_hop + place, id);
}

static bool walk_fits(const struct pint_problem *problem, const struct pd_pint_clue *clue,
                      const uint32_t *walk)
{
    uint32_t bits = 0;

    for (uint32_t p = 0; p < problem->trellis->len; p++) {
        if (pd_pint_hops_has(&clue->hops, p)) {
            bits ^= pd_pint_own_bits(problem, clue, walk[p], p);
        }
    }
    return bits == clue->bits;
}

static void sift_walks(struct pint_problem *problem, const struct pd_pint_clue *clue)
{
    const uint32_t len = problem->trellis->len;
    uint32_t to = 0;

    for (uint32_t w = 0; w < problem->walks_len; w++) {
        const uint32_t *walk = problem->walks + (size_t)w * len;
        if (walk_fits(problem, clue, walk)) {
            memmove(problem->walks + (size_t)to++ * len, walk, len * sizeof *walk);
        }
    }
    problem->walks_len = to;
    if (to == 0) {
        die(problem);
    }
}

/* A hop of its own: nodes of one layer stay or go at once. */
static void sift_layer(struct pint_problem *problem, const struct pd_pint_clue *clue,
                       uint32_t place)
{
    const struct pd_pint_trellis *trellis = problem->trellis;

    for (uint32_t n = trellis->layers[place]; n < trellis->layers[place + 1]; n++) {
        if (problem->nodes[n] &&
            pd_pint_own_bits(problem, clue, trellis->nodes[n], place) != clue->bits) {
            problem->nodes[n] = 0;
            problem->left[place]--;
        }
    }
    for (size_t c = 0; c < problem->clues_len; c++) {
        problem->clues[c].stale = true;
    }
    if (problem->left[place] == 0) {
        die(problem);
    }
}

static int keep_clue(struct pint_problem *problem, const struct pd_pint_clue *clue)
{
    const struct pd_pint_trellis *trellis = problem->trellis;
    uint16_t *own = calloc(pd_pint_trellis_nodes(trellis), sizeof *own);

    if (!own || PD_GROW(problem->clues, problem->clues_room, problem->clues_len + 1)) {
        free(own);
        return -ENOMEM;
    }
    for (uint32_t p = 0; p < trellis->len; p++) {
        if (pd_pint_hops_has(&clue->hops, p)) {
            for (uint32_t n = trellis->layers[p]; n < trellis->layers[p + 1]; n++) {
                own[n] = (uint16_t)pd_pint_own_bits(problem, clue, trellis->nodes[n], p);
            }
        }
    }
    problem->clues[problem->clues_len++] =
        (struct pint_open_clue){.clue = *clue, .own = own, .stale = true};
    return 0;
}

static unsigned count_hops(const struct pd_pint_clue *clue)
{
    unsigned count = 0;

    for (unsigned w = 0; w < PD_PINT_HOPS_MAX / 64; w++) {
        count += (unsigned)__builtin_popcountll(clue->hops.words[w]);
    }
    return count;
}

int pd_pint_problem_add(struct pint_problem *problem, const struct pd_pint_clue *clue)
{
    const unsigned hops = count_hops(clue);

    if (problem->dead) {
        return 0;
    }
    if (hops == 0) { /* nobody wrote: the digest is what the first switch began with */
        if (clue->bits) {
            die(problem);
        }
        return 0;
    }
    if (problem->listed) {
        sift_walks(problem, clue);
        return 0;
    }
    if (hops == 1) {
        sift_layer(problem, clue, (uint32_t)pd_pint_writer(clue));
        return 0;
    }
    return keep_clue(problem, clue);
}

int pd_pint_problem_solve(struct pint_problem *problem)
{
    bool alive = true;
    int err;

    if (problem->dead || problem->listed) {
        return 0;
    }
    err = pd_pint_thin(problem, &alive);
    if (!err && alive) {
        err = pd_pint_list(problem);
    }
    if (!err && problem->listed) {
        close_open(problem);
        alive = problem->walks_len > 0;
    }
    if (!alive) {
        die(problem);
    }
    return err;
}
