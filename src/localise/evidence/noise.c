/* SPDX-License-Identifier: Apache-2.0 */
/* The localiser `evidence`: what healthy links do to packets, and to rows. */
#include <math.h>

#include "localise/evidence/search.h"

/* By numbers, noise is θ0 for each packet and link. Whether a row suffers by it at all is no
 * product of its packets and links: a full queue hits large flows again and again, and small ones
 * hardly ever. So X of a row is n·Σ w (θ − θ0), what faults do, and the hazard of its *cell*, of
 * rows with about as many packets and links, which is estimated from all rows of the cell. Where
 * flows without losses are known as sums only, cells have no rows without losses, and noise is so
 * many events for each packet and link. */

enum { STEPS = 30, HAZARD_STEPS = 8, ALL = PD_EVIDENCE_CELLS };
#define HAZARD_MAX 30.0

uint32_t pd_evidence_cell(double sent, double links)
{
    int size = sent > 1 ? ilogb(sent) : 0, length = (int)lround(links) - 1;
    size = size < PD_EVIDENCE_SIZES ? size : PD_EVIDENCE_SIZES - 1;
    length = length < 0 ? 0 : length;
    length = length < PD_EVIDENCE_LENGTHS ? length : PD_EVIDENCE_LENGTHS - 1;
    return 1 + (uint32_t)(length * PD_EVIDENCE_SIZES + size);
}

/* Half a row of each kind beside those seen. */
double pd_evidence_chance(const struct pd_evidence_model *model, uint32_t cell)
{
    const struct pd_evidence_cell *rows = &model->cells[cell];
    return (rows->hurt + 0.5) / (rows->hurt + rows->clean + 1);
}

/* Both tell of the same events: rows that suffer are so many for each packet that is lost. */
double pd_evidence_chance_in_packets(const struct pd_evidence_model *model)
{
    double hurt = 0;
    for (uint32_t c = 1; c < PD_EVIDENCE_CELLS; c++) {
        hurt += model->cells[c].hurt;
    }
    bool is_known = model->now_chances > 0 && model->flow_lost > 0;
    return is_known ? model->now_flow_sent / model->now_chances * hurt / model->flow_lost : 0;
}

/* ---- by packets ---- */

/* Expected losses of noise over what crossed healthy links; half a loss more, since what was never
 * seen may still happen. */
static void fit_rate(struct pd_evidence_search *s)
{
    struct pd_evidence_model *model = s->model;
    for (int step = 0; step < STEPS; step++) {
        double slope = 0, before = model->noise;
        for (size_t g = 0; g < model->lossy.len; g++) {
            slope += model->lossy.groups[g].lost * s->lossy.healthy[g] /
                     expm1(fmax(s->lossy.x[g], 1e-300));
        }
        model->noise = fmin((before * slope + 0.5) / s->healthy_passed, 1);
        for (size_t g = 0; g < model->lossy.len; g++) {
            s->lossy.x[g] += (model->noise - before) * s->lossy.healthy[g];
        }
        if (fabs(model->noise - before) <= 1e-6 * before) {
            break;
        }
    }
}

/* ---- by rows ---- */

static uint32_t cell_of(const struct pd_evidence_model *model, size_t group)
{
    const struct pd_localise_group *of = &model->lossy.groups[group];
    return of->len ? model->lossy.members[of->first].tag : 0;
}

/* What faults add to X of a row. */
static double by_faults(const struct pd_evidence_search *s, size_t group)
{
    const struct pd_evidence_side *lossy = &s->lossy;
    double x = lossy->x[group] - s->model->noise * lossy->length[group];
    return fmax(lossy->size[group] * x, 0);
}

/* Rows that suffered, as far as noise is to blame, over `hazard`; and how that falls. */
struct slopes {
    double slope[ALL], bend[ALL];
};

static void add_slope(struct slopes *sums, uint32_t cell, double count, double hazard)
{
    double e = expm1(fmin(fmax(hazard, 1e-12), 700));
    sums->slope[cell] += count / e;
    sums->bend[cell] += count * (1 + 1 / e) / e;
}

/* Newton's method on logarithms of both sides. Half a row of each kind beside those seen. */
static void fit_cells(struct pd_evidence_search *s)
{
    struct pd_evidence_model *model = s->model;
    for (uint32_t c = 1; c < ALL; c++) {
        struct pd_evidence_cell *cell = &model->cells[c];
        cell->hazard = log1p((cell->hurt + 0.5) / (cell->clean + 0.5));
    }
    for (int step = 0; step < HAZARD_STEPS; step++) {
        struct slopes sums = {{0}, {0}};
        for (size_t g = 0; g < model->lossy.len; g++) {
            uint32_t c = cell_of(model, g);
            add_slope(&sums, c, model->lossy.groups[g].count,
                      by_faults(s, g) + model->cells[c].hazard);
        }
        for (uint32_t c = 1; c < ALL; c++) {
            struct pd_evidence_cell *cell = &model->cells[c];
            add_slope(&sums, c, 0.5, cell->hazard);
            double steep = cell->hazard * sums.bend[c] / sums.slope[c];
            double next = cell->hazard * exp(log(sums.slope[c] / (cell->clean + 0.5)) / steep);
            cell->hazard = fmin(fmax(next, 1e-9), HAZARD_MAX);
        }
    }
}

/* The same where cells have no rows without losses. */
static void fit_linear(struct pd_evidence_search *s)
{
    struct pd_evidence_model *model = s->model;
    const struct pd_evidence_side *lossy = &s->lossy;
    double passed = fmax(s->healthy_passed - s->healthy_hurt, 1);
    model->linear = fmax(model->noise / model->burst, 1e-12);
    for (int step = 0; step < STEPS; step++) {
        double slope = 0;
        for (size_t g = 0; g < model->lossy.len; g++) {
            double each = lossy->size[g] * lossy->length[g];
            slope += model->lossy.groups[g].count * each /
                     expm1(fmin(by_faults(s, g) + model->linear * each + 1e-300, 700));
        }
        model->linear = fmin((model->linear * slope + 0.5) / passed, 1);
    }
}

void pd_evidence_apply_noise(struct pd_evidence_search *s)
{
    const struct pd_evidence_model *model = s->model;
    struct pd_evidence_side *lossy = &s->lossy;
    for (size_t g = 0; g < model->lossy.len; g++) {
        double each = lossy->size[g] * lossy->length[g];
        uint32_t cell = cell_of(model, g);
        double hazard = model->unlisted > 0 ? model->linear * each : model->cells[cell].hazard;
        lossy->offset[g] = cell ? hazard - model->noise * each : 0;
    }
}

void pd_evidence_fit_noise(struct pd_evidence_search *s)
{
    if (s->healthy_passed <= 0) {
        s->model->noise = 1; /* only shares are known */
        return;
    }
    fit_rate(s);
    if (s->model->unlisted > 0) {
        fit_linear(s);
    } else {
        fit_cells(s);
    }
    pd_evidence_apply_noise(s);
}
