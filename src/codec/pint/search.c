/* SPDX-License-Identifier: Apache-2.0 */
/* A search: its problems, one for each offset, and what a digest does to them. */
#include "codec/pint/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "codec/pint/problem.h"

struct pd_pint_search {
    struct pd_pint_solver *solver;
    struct pint_problem problems[PD_PINT_OFFSETS];
    unsigned problems_len;
    struct pd_pint_sample *samples;
    size_t samples_len, samples_room;
};

int pd_pint_search_new(struct pd_pint_solver *solver, uint32_t src, uint32_t dst, uint32_t hops,
                       unsigned offsets, struct pd_pint_search **ret_search)
{
    struct pd_pint_search *search = calloc(1, sizeof *search);
    int err = search ? 0 : -ENOMEM;

    for (unsigned offset = 0; !err && offset < offsets && offset < hops; offset++) {
        const struct pd_pint_trellis *trellis;
        err = src == PD_NONE
                  ? pd_pint_trellis_complete(solver->trellises, hops - offset, &trellis)
                  : pd_pint_trellis_get(solver->trellises, src, dst, hops - offset, &trellis);
        if (!err) {
            err = pd_pint_problem_init(&search->problems[search->problems_len++], solver, trellis,
                                       offset + 1);
        } else if (err == -PD_E_NOT_FOUND) {
            err = 0;
        }
    }
    if (err) {
        pd_pint_search_free(search);
        return err;
    }
    search->solver = solver;
    *ret_search = search;
    return 0;
}

void pd_pint_search_free(struct pd_pint_search *search)
{
    if (search) {
        for (unsigned i = 0; i < search->problems_len; i++) {
            pd_pint_problem_done(&search->problems[i]);
        }
        free(search->samples);
        free(search);
    }
}

static bool is_static(const struct pd_pint_query *query)
{
    return query->aggregation == PD_PINT_STATIC && query->value == PD_PINT_SWITCH_ID;
}

static int keep_sample(struct pd_pint_search *search, uint32_t packet_id, uint16_t digest)
{
    if (search->samples_len == PD_PINT_SAMPLES_MAX) {
        return -PD_E_FULL;
    }
    if (PD_GROW(search->samples, search->samples_room, search->samples_len + 1)) {
        return -ENOMEM;
    }
    search->samples[search->samples_len++] = (struct pd_pint_sample){packet_id, digest};
    return 0;
}

/* The same packet ID says the same again: IP ID 0 and equal bytes are no further evidence. */
static bool is_kept(const struct pd_pint_search *search, uint32_t packet_id, uint16_t digest)
{
    for (size_t i = 0; i < search->samples_len; i++) {
        if (search->samples[i].packet_id == packet_id && search->samples[i].digest == digest) {
            return true;
        }
    }
    return false;
}

int pd_pint_search_add(struct pd_pint_search *search, uint32_t packet_id, uint16_t digest)
{
    const struct pd_pint_plan *plan = search->solver->plan;
    const int number = pd_pint_set_of(plan, packet_id);
    const struct pd_pint_set *set = number < 0 ? NULL : &plan->sets[number];
    bool any = false;

    for (unsigned f = 0; set && f < set->fields_len; f++) {
        any |= is_static(&plan->queries[set->fields[f].query]);
    }
    if (!any || is_kept(search, packet_id, digest)) {
        return 0;
    }
    int err = keep_sample(search, packet_id, digest);
    for (unsigned i = 0; !err && i < search->problems_len; i++) {
        struct pint_problem *problem = &search->problems[i];
        for (unsigned f = 0; !err && f < set->fields_len; f++) {
            struct pd_pint_clue clue;
            if (is_static(&plan->queries[set->fields[f].query])) {
                pd_pint_clue(plan, &set->fields[f], packet_id, digest, problem->first_hop,
                             problem->trellis->len, &clue);
                err = pd_pint_problem_add(problem, &clue);
            }
        }
        if (!err) {
            err = pd_pint_problem_solve(problem);
        }
    }
    return err;
}

uint64_t pd_pint_search_candidates(const struct pd_pint_search *search)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < search->problems_len; i++) {
        const uint64_t own = pd_pint_problem_candidates(&search->problems[i]);
        if (own == UINT64_MAX) {
            return own;
        }
        sum += own;
    }
    return sum;
}

bool pd_pint_search_path(const struct pd_pint_search *search, struct pd_pint_path *ret_path)
{
    if (pd_pint_search_candidates(search) != 1) {
        return false;
    }
    for (unsigned i = 0; i < search->problems_len; i++) {
        const struct pint_problem *problem = &search->problems[i];
        if (pd_pint_problem_candidates(problem) == 1) {
            const struct pd_switch *switches = search->solver->topology->switches;
            ret_path->len = problem->trellis->len;
            ret_path->first_hop = problem->first_hop;
            for (uint32_t p = 0; p < ret_path->len; p++) {
                ret_path->switches[p] = switches[problem->walks[p]].id;
            }
        }
    }
    return true;
}

bool pd_pint_fits(const struct pd_pint_plan *plan, const struct pd_pint_path *path,
                  uint32_t packet_id, uint16_t digest, const struct pd_pint_draw *draw,
                  uint16_t *coverage)
{
    const bool drawn = draw && draw->hops == path->first_hop + path->len - 1;
    const int number = draw ? draw->set : pd_pint_set_of(plan, packet_id);
    const struct pd_pint_set *set = number < 0 ? NULL : &plan->sets[number];
    bool fits = true;

    for (unsigned f = 0; set && f < set->fields_len; f++) {
        struct pd_pint_clue clue;
        uint32_t bits = 0;
        if (!is_static(&plan->queries[set->fields[f].query])) {
            continue;
        }
        if (drawn) {
            pd_pint_drawn_clue(plan, draw, f, packet_id, digest, path->first_hop, path->len, &clue);
        } else {
            pd_pint_clue(plan, &set->fields[f], packet_id, digest, path->first_hop, path->len,
                         &clue);
        }
        for (uint32_t p = 0; p < path->len; p++) {
            if (pd_pint_hops_has(&clue.hops, p)) {
                bits ^=
                    pd_pint_static_bits(plan, clue.query, packet_id, clue.tag, path->switches[p],
                                        path->first_hop + p, path->switches[p]);
                coverage[p] = (uint16_t)(coverage[p] + clue.query->bits);
            }
        }
        fits &= bits == clue.bits;
    }
    return fits;
}

const struct pd_pint_sample *pd_pint_search_samples(const struct pd_pint_search *search,
                                                    size_t *ret_len)
{
    *ret_len = search->samples_len;
    return search->samples;
}

size_t pd_pint_search_bytes(const struct pd_pint_search *search)
{
    size_t bytes = sizeof *search + search->samples_room * sizeof *search->samples;

    for (unsigned i = 0; i < search->problems_len; i++) {
        bytes += pd_pint_problem_bytes(&search->problems[i]);
    }
    return bytes;
}
