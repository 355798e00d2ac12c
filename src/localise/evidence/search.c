/* SPDX-License-Identifier: Apache-2.0 */
/* The localiser `evidence`: the most probable set of faulty links. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "localise/evidence/search.h"

/* Greedy with second thoughts. In rounds: the link whose fault makes everything most probable is
 * named, again and again; then all that is named is fitted anew together with the noise; a link
 * that is not needed any more is dropped, and one that another explains better is replaced. It ends
 * when a round changes nothing. A link's gain depends on the rows that it shares with others, so
 * that only links that share rows with one that changed are looked at again. */

enum { ROUNDS_MAX = 32, STEPS_MAX = 40, FITS = 4 };
#define CLOSE 1e-5 /* of a θ, relative: its likelihood is exact to 1e-10 */

/* ---- begin and end ---- */

static void side_done(struct pd_evidence_side *side)
{
    pd_localise_index_done(&side->index);
    free(side->weights);
    free(side->x);
    free(side->healthy);
    free(side->length);
    free(side->lost);
    free(side->many);
    free(side->ones);
    free(side->size);
    free(side->offset);
}

static int side_init(const struct pd_localise_groups *groups, uint32_t links_len,
                     struct pd_evidence_side *side)
{
    *side =
        (struct pd_evidence_side){.groups = groups,
                                  .weights = calloc(groups->members_len + 1, sizeof *side->weights),
                                  .x = calloc(groups->len + 1, sizeof *side->x),
                                  .healthy = calloc(groups->len + 1, sizeof *side->healthy),
                                  .length = calloc(groups->len + 1, sizeof *side->length),
                                  .lost = calloc(groups->len + 1, sizeof *side->lost),
                                  .many = calloc(groups->len + 1, sizeof *side->many),
                                  .ones = calloc(groups->len + 1, sizeof *side->ones),
                                  .size = calloc(groups->len + 1, sizeof *side->size),
                                  .offset = calloc(groups->len + 1, sizeof *side->offset)};
    if (!side->weights || !side->x || !side->healthy || !side->lost || !side->many || !side->ones ||
        !side->size || !side->offset || !side->length ||
        pd_localise_index_init(groups, links_len, &side->index)) {
        return -ENOMEM;
    }
    uint32_t *next = calloc((size_t)links_len + 1, sizeof *next);
    for (size_t m = 0; next && m < groups->members_len; m++) {
        uint32_t link = groups->members[m].id;
        side->weights[side->index.starts[link] + next[link]++] = groups->members[m].weight;
    }
    free(next);
    return next ? 0 : -ENOMEM;
}

void pd_evidence_search_done(struct pd_evidence_search *s)
{
    side_done(&s->lossy);
    side_done(&s->blind);
    free(s->candidates);
    free(s->gain);
    free(s->lift);
    free(s->sharp);
    free(s->spread);
    free(s->fit);
    free(s->shared);
    free(s->stale);
    free(s->doubt);
    free(s->odds_against);
}

int pd_evidence_search_init(struct pd_evidence_model *model, struct pd_evidence_search *s)
{
    uint32_t links = model->network->links_len;
    size_t len = (size_t)links + 1;
    *s = (struct pd_evidence_search){
        .model = model,
        .candidates = calloc(len, sizeof *s->candidates),
        .gain = calloc(len, sizeof *s->gain),
        .fit = calloc(len, sizeof *s->fit),
        .lift = calloc(len, sizeof *s->lift),
        .sharp = calloc(len, sizeof *s->sharp),
        .spread = calloc(len, sizeof *s->spread),
        .shared = calloc(len, sizeof *s->shared),
        .stale = calloc(len, sizeof *s->stale),
        .doubt = calloc(len, sizeof *s->doubt),
        .odds_against = calloc(len, sizeof *s->odds_against),
    };
    if (!s->candidates || !s->gain || !s->fit || !s->lift || !s->sharp || !s->spread ||
        !s->shared || !s->stale || !s->doubt || !s->odds_against ||
        side_init(&model->lossy, links, &s->lossy)) {
        return -ENOMEM;
    }
    return side_init(&model->blind, links, &s->blind);
}

static uint32_t groups_of(const struct pd_evidence_side *side, uint32_t link)
{
    return side->index.starts[link + 1] - side->index.starts[link];
}

static void find_candidates(struct pd_evidence_search *s)
{
    for (uint32_t l = 0; l < s->model->network->links_len; l++) {
        if (groups_of(&s->lossy, l) || groups_of(&s->blind, l)) {
            s->candidates[s->candidates_len++] = l;
        }
    }
}

/* ---- sums ---- */

static void sum_side(const struct pd_evidence_model *model, struct pd_evidence_side *side)
{
    for (size_t g = 0; g < side->groups->len; g++) {
        const struct pd_localise_group *group = &side->groups->groups[g];
        side->x[g] = side->healthy[g] = side->length[g] = 0;
        for (uint32_t i = 0; i < group->len; i++) {
            const struct pd_localise_member *member = &side->groups->members[group->first + i];
            side->x[g] += member->weight * model->theta[member->id];
            side->healthy[g] += model->is_faulty[member->id] ? 0 : member->weight;
            side->length[g] += member->weight;
        }
    }
}

/* Everything from θ, so that nothing drifts. */
void pd_evidence_search_sum(struct pd_evidence_search *s)
{
    const struct pd_evidence_model *model = s->model;
    sum_side(model, &s->lossy);
    sum_side(model, &s->blind);
    s->usual_x = s->usual_w = s->healthy_passed = s->healthy_hurt = 0;
    for (uint32_t l = 0; l < model->network->links_len; l++) {
        s->healthy_passed += model->is_faulty[l] ? 0 : model->passed[l];
        s->healthy_hurt += model->is_faulty[l] ? 0 : model->passed_hurt[l];
        if (model->usual) {
            s->usual_x += model->usual[l] * model->theta[l];
            s->usual_w += model->is_faulty[l] ? 0 : model->usual[l];
        }
    }
}

static void move_side(struct pd_evidence_side *side, uint32_t link, double change)
{
    for (uint32_t i = side->index.starts[link]; i < side->index.starts[link + 1]; i++) {
        side->x[side->index.groups[i]] += change * side->weights[i];
    }
}

/* θ of one link becomes another one. */
void pd_evidence_set_theta(struct pd_evidence_search *s, uint32_t link, double theta)
{
    struct pd_evidence_model *model = s->model;
    double change = theta - model->theta[link];
    move_side(&s->lossy, link, change);
    move_side(&s->blind, link, change);
    s->usual_x += model->usual ? change * model->usual[link] : 0;
    model->theta[link] = theta;
}

/* ---- one link ---- */

/* What the rows of a link say of θ, the others as they are: the derivative of the log likelihood is
 * `losses`, which asks for more, less `passes`, which asks for less. */
struct view {
    double losses, passes;
    double losses_bend, passes_bend; /* how fast each falls */
};

/* Packets that passed speak against a fault with all their weight in rows without losses, and by
 * numbers alone in others. */
double pd_evidence_passes(const struct pd_evidence_model *model, uint32_t link)
{
    return model->passed[link] - (1 - 1 / model->burst) * model->passed_hurt[link];
}

/* log(1 − e^(−x)) so often, where θ is in x with this weight. */
static void add_losses(struct view *view, double times, double w, double x)
{
    double e = expm1(fmin(fmax(x, 1e-300), 700));
    view->losses += times * w / e;
    view->losses_bend += times * w * w * (1 + 1 / e) / e;
}

static struct view look(const struct pd_evidence_search *s, uint32_t link, double theta)
{
    const struct pd_evidence_model *model = s->model;
    const struct pd_evidence_side *lossy = &s->lossy, *blind = &s->blind;
    double change = theta - model->theta[link];
    struct view view = {.passes = pd_evidence_passes(model, link)};
    for (uint32_t i = lossy->index.starts[link]; i < lossy->index.starts[link + 1]; i++) {
        uint32_t g = lossy->index.groups[i];
        double w = lossy->weights[i], x = lossy->x[g] + w * change;
        add_losses(&view, lossy->many[g], w, x);
        if (lossy->ones[g] > 0) {
            add_losses(&view, lossy->ones[g], w * lossy->size[g], pd_evidence_hazard(lossy, g, x));
        }
    }
    for (uint32_t i = blind->index.starts[link]; i < blind->index.starts[link + 1]; i++) {
        uint32_t g = blind->index.groups[i];
        double w = blind->weights[i], k = blind->lost[g];
        double x = fmax(blind->x[g] + w * change, 1e-300);
        view.losses += k * w / x;
        view.losses_bend += k * w * w / (x * x);
    }
    double u = model->usual ? model->usual[link] : 0, all = s->usual_x + u * change;
    if (u > 0 && all > 0) {
        view.passes += model->blind_lost * u / all;
        view.passes_bend += model->blind_lost * u * u / (all * all);
    }
    return view;
}

/* The log likelihood of a link's rows, without what does not depend on θ. */
double pd_evidence_value_of(const struct pd_evidence_search *s, uint32_t link, double theta)
{
    const struct pd_evidence_model *model = s->model;
    const struct pd_evidence_side *lossy = &s->lossy, *blind = &s->blind;
    double change = theta - model->theta[link], value = -pd_evidence_passes(model, link) * theta;
    for (uint32_t i = lossy->index.starts[link]; i < lossy->index.starts[link + 1]; i++) {
        uint32_t g = lossy->index.groups[i];
        double x = fmax(lossy->x[g] + lossy->weights[i] * change, 1e-300);
        value += lossy->many[g] * log(-expm1(-x));
        value +=
            lossy->ones[g] > 0 ? lossy->ones[g] * log(-expm1(-pd_evidence_hazard(lossy, g, x))) : 0;
    }
    for (uint32_t i = blind->index.starts[link]; i < blind->index.starts[link + 1]; i++) {
        uint32_t g = blind->index.groups[i];
        value += blind->lost[g] * log(fmax(blind->x[g] + blind->weights[i] * change, 1e-300));
    }
    double u = model->usual ? model->usual[link] : 0, all = s->usual_x + u * change;
    return value - (u > 0 && all > 0 ? model->blind_lost * log(all) : 0);
}

static double highest_theta(const struct pd_evidence_search *s)
{
    return s->healthy_passed > 0 ? PD_EVIDENCE_THETA_MAX : s->model->noise * 1e9;
}

/* The θ between `low` and certain loss at which the likelihood is greatest: Newton's method on the
 * logarithms of both sides, which are nearly straight lines, within a bracket. */
double pd_evidence_find_theta(const struct pd_evidence_search *s, uint32_t link, double low)
{
    double high = highest_theta(s), theta = low;
    struct view view = look(s, link, low);
    if (view.losses <= view.passes || low >= high) {
        return low;
    }
    for (int i = 0; i < STEPS_MAX; i++) {
        if (view.losses > view.passes) {
            low = theta;
        } else {
            high = theta;
        }
        double fall = theta * (view.losses_bend / view.losses -
                               (view.passes > 0 ? view.passes_bend / view.passes : 0));
        double next =
            view.passes > 0 && fall > 0 ? theta * exp(log(view.losses / view.passes) / fall) : high;
        if (!(next >= low && next <= high)) {
            next = sqrt(low * high);
        }
        double moved = fabs(next - theta);
        theta = next;
        if (moved <= CLOSE * theta) {
            break;
        }
        view = look(s, link, theta);
    }
    return theta;
}

/* How far θ may lie above the noise, as a logarithm: to certain loss; where only shares are known,
 * to where noise would not have hit one of the flows seen. */
static double range_of(const struct pd_evidence_search *s, uint32_t link)
{
    const struct pd_evidence_model *model = s->model;
    if (s->healthy_passed > 0 || !model->usual || model->usual[link] <= 0) {
        return fmax(log(1 / model->noise), 1);
    }
    return fmax(log(model->blind_lost * s->usual_w / model->usual[link]), 1);
}

/* One faulty link of all is expected before anything is seen. A share learnt from what is named
 * already would take noise for a faint fault where faults are many. */
double pd_evidence_prior(const struct pd_evidence_search *s)
{
    return -log(s->model->network->links_len + 1.0);
}

/* What was certain before is probable until something speaks against it. */
static double prior_of(const struct pd_evidence_search *s, uint32_t link)
{
    return s->model->held && s->model->held[link] ? log(1 / PD_EVIDENCE_MISSES - 1)
                                                  : pd_evidence_prior(s);
}

/* Log odds that the link is faulty where the likelihood counts for less by a dispersion. */
static double gain_with(const struct pd_evidence_search *s, uint32_t link, double spread)
{
    double range = range_of(s, link), sharp = s->sharp[link] / spread;
    double width = sharp > 0 ? 0.5 * log(2 * M_PI / sharp) : log(range);
    return isinf(s->lift[link])
               ? -INFINITY
               : s->lift[link] / spread + fmin(width - log(range), 0) + prior_of(s, link);
}

/* A log likelihood ratio over a dispersion that was estimated from so many periods: it may be
 * larger than it looks, so that Student's distribution takes the place of the normal one. */
double pd_evidence_student(double ratio, double periods)
{
    return (periods + 1) / 2 * log1p(2 * fmax(ratio, 0) / fmax(periods, 1));
}

/* As gain_with, for certainty: with one more, empty, period. */
static double sure_gain(const struct pd_evidence_search *s, uint32_t link)
{
    const struct pd_evidence_model *model = s->model;
    double spread = fmax(s->spread[link], pd_evidence_period_spread(model, link, 1));
    double gain = gain_with(s, link, spread), ratio = s->lift[link] / spread;

    return model->has_clock && !isinf(gain)
               ? gain - ratio + pd_evidence_student(ratio, model->periods[link])
               : gain;
}

/* Log odds that the link is faulty, the others as they are. */
static double weigh(struct pd_evidence_search *s, uint32_t link)
{
    double noise = s->model->noise, theta = pd_evidence_find_theta(s, link, noise);
    s->fit[link] = theta;
    s->spread[link] = 1;
    if (theta <= noise * (1 + 1e-9)) {
        s->lift[link] = -INFINITY;
        return -INFINITY;
    }
    struct view view = look(s, link, theta);
    s->sharp[link] = theta * theta * (view.losses_bend - view.passes_bend);
    s->lift[link] = pd_evidence_value_of(s, link, theta) - pd_evidence_value_of(s, link, noise);
    s->spread[link] = fmax(1, fmax(pd_evidence_row_spread(s, link, theta),
                                   pd_evidence_period_spread(s->model, link, 0)));
    return gain_with(s, link, s->spread[link]);
}

/* ---- looking again ---- */

static void spoil(struct pd_evidence_search *s, uint32_t link, double shared)
{
    if (s->shared[link] <= 0) {
        s->stale[s->stale_len++] = link;
    }
    s->shared[link] += shared;
}

static void spoil_sharing(struct pd_evidence_search *s, const struct pd_evidence_side *side,
                          uint32_t link)
{
    const struct pd_localise_groups *groups = side->groups;
    for (uint32_t i = side->index.starts[link]; i < side->index.starts[link + 1]; i++) {
        const struct pd_localise_group *group = &groups->groups[side->index.groups[i]];
        for (uint32_t m = 0; m < group->len; m++) {
            spoil(s, groups->members[group->first + m].id, side->lost[side->index.groups[i]]);
        }
    }
}

/* Links that share rows with this one, and it itself. */
static void spoil_around(struct pd_evidence_search *s, uint32_t link)
{
    spoil_sharing(s, &s->lossy, link);
    spoil_sharing(s, &s->blind, link);
}

/* Only those that share at least so many losses. Keeps them first in `stale`; returns how many. */
static uint32_t look_again(struct pd_evidence_search *s, double least)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->stale_len; i++) {
        uint32_t link = s->stale[i];
        bool is_wanted = s->shared[link] >= least;
        s->shared[link] = 0;
        if (is_wanted && !s->model->is_faulty[link]) {
            s->gain[link] = weigh(s, link);
            s->stale[kept++] = link;
        }
    }
    s->stale_len = 0;
    return kept;
}

void pd_evidence_look_at_all(struct pd_evidence_search *s)
{
    for (uint32_t i = 0; i < s->candidates_len; i++) {
        spoil(s, s->candidates[i], 1);
    }
    look_again(s, 0);
}

/* ---- naming ---- */

static void set_faulty(struct pd_evidence_search *s, uint32_t link, bool faulty, double theta)
{
    s->model->is_faulty[link] = faulty;
    s->model->named_len += faulty ? 1 : UINT32_MAX;
    pd_evidence_set_theta(s, link, theta);
}

static uint32_t find_best(const struct pd_evidence_search *s)
{
    uint32_t best = PD_NONE;
    for (uint32_t i = 0; i < s->candidates_len; i++) {
        uint32_t link = s->candidates[i];
        if (!s->model->is_faulty[link] && s->gain[link] > 0 &&
            (best == PD_NONE || s->gain[link] > s->gain[best] + 1e-9)) {
            best = link;
        }
    }
    return best;
}

static bool name_all(struct pd_evidence_search *s)
{
    bool changed = false;
    for (uint32_t best; (best = find_best(s)) != PD_NONE; changed = true) {
        set_faulty(s, best, true, s->fit[best]);
        spoil_around(s, best);
        for (uint32_t i = 0; i < s->stale_len; i++) {
            uint32_t link = s->stale[i];
            if (s->model->is_faulty[link]) {
                pd_evidence_set_theta(s, link, pd_evidence_find_theta(s, link, s->model->noise));
            }
        }
        look_again(s, 0);
    }
    return changed;
}

/* ---- fitting what is named, and the noise ---- */

/* Bursts only get larger from one fit to the next: they are what faults do not explain. */
static void fit_all(struct pd_evidence_search *s)
{
    struct pd_evidence_model *model = s->model;
    model->burst = 1;
    for (int fit = 0; fit < FITS; fit++) {
        pd_evidence_count_events(s);
        pd_evidence_search_sum(s);
        pd_evidence_fit_noise(s);
        for (uint32_t l = 0; l < model->network->links_len; l++) {
            model->theta[l] = model->is_faulty[l] ? model->theta[l] : model->noise;
        }
        pd_evidence_search_sum(s);
        for (uint32_t i = 0; i < s->candidates_len; i++) {
            uint32_t link = s->candidates[i];
            if (model->is_faulty[link]) {
                pd_evidence_set_theta(s, link, pd_evidence_find_theta(s, link, model->noise));
            }
        }
        pd_evidence_fit_burst(s);
    }
    pd_evidence_count_events(s);
    pd_evidence_apply_noise(s);
}

/* ---- second thoughts ---- */

/* The best link in the place of `link`, which is healthy for the moment; *ret_others: weights of
 * all but `link` relative to it. One that shares less than half of its losses explains them worse.
 */
static uint32_t find_instead(struct pd_evidence_search *s, uint32_t link, double *ret_others)
{
    uint32_t best = link;
    spoil_around(s, link);
    uint32_t len = look_again(s, s->shared[link] / 2);
    double best_gain = s->gain[link];
    *ret_others = 0;
    for (uint32_t i = 0; i < len; i++) {
        uint32_t other = s->stale[i];
        if (other == link) {
            continue;
        }
        double gain = gain_with(s, other, s->spread[link]);
        *ret_others += exp(gain - s->gain[link]);
        if (gain > best_gain + 1e-9) {
            best = other;
            best_gain = gain;
        }
    }
    return best;
}

/* Takes the fault from a link and gives it to whom it belongs, if to any. */
static bool reconsider(struct pd_evidence_search *s, uint32_t link)
{
    double theta = s->model->theta[link], others;
    set_faulty(s, link, false, s->model->noise);
    uint32_t best = find_instead(s, link, &others);
    s->doubt[link] = others + exp(-sure_gain(s, link));
    s->odds_against[link] = others + exp(-s->gain[link]);
    s->model->odds[link] = s->gain[link];
    if (best == link && s->gain[link] > 0) {
        set_faulty(s, link, true, theta);
        return false;
    }
    if (s->gain[best] > 0) {
        set_faulty(s, best, true, s->fit[best]);
    }
    return true;
}

static bool reconsider_all(struct pd_evidence_search *s)
{
    bool changed = false;
    for (uint32_t i = 0; i < s->candidates_len; i++) {
        if (s->model->is_faulty[s->candidates[i]]) {
            changed |= reconsider(s, s->candidates[i]);
        }
    }
    return changed;
}

void pd_evidence_excuse(struct pd_evidence_search *s, uint32_t link,
                        enum pd_evidence_instead instead, double odds)
{
    struct pd_evidence_model *model = s->model;
    model->is_faulty[link] = false;
    model->named_len--;
    model->instead[link] = (uint8_t)instead;
    model->instead_odds[link] = odds;
}

static void begin(struct pd_evidence_search *s)
{
    struct pd_evidence_model *model = s->model;
    model->named_len = 0;
    model->noise = 1e-6;
    for (uint32_t l = 0; l < model->network->links_len; l++) {
        model->is_faulty[l] = false;
        model->theta[l] = model->noise;
        model->odds[l] = -INFINITY;
        model->instead[l] = PD_EVIDENCE_NOTHING;
        model->instead_odds[l] = -INFINITY;
    }
    find_candidates(s);
    fit_all(s);
}

int pd_evidence_model_search(struct pd_evidence_model *model)
{
    struct pd_evidence_search s = {0};
    int err = model->blind.len ? pd_evidence_model_usual(model) : 0;
    err = err ? err : pd_evidence_search_init(model, &s);
    if (!err) {
        begin(&s);
        for (int round = 0; round < ROUNDS_MAX; round++) {
            pd_evidence_look_at_all(&s);
            bool changed = name_all(&s);
            fit_all(&s);
            changed |= reconsider_all(&s);
            if (!changed) {
                break;
            }
        }
        err = pd_evidence_name_switches(&s);
        pd_evidence_name_congestion(&s);
        err = err ? err : pd_evidence_weigh_words(&s);
    }
    if (!err) {
        pd_evidence_search_conclude(&s);
    }
    pd_evidence_search_done(&s);
    return err;
}
