/* SPDX-License-Identifier: Apache-2.0 */
/* The localiser `evidence`: links of one switch that are named, or a line card, or all of it? */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "localise/evidence/search.h"
#include "topology/links.h"

/* A switch that drops a share of all that it forwards is one fault with one rate, and what it sends
 * into each of its links loses that share. So where two or more links of a switch are named, that
 * hypothesis is held against theirs: it has to explain all rows, those too of the links that are
 * not named, but costs one prior and one rate instead of several. A line card is one fault, too:
 * what is sent and what comes in by its ports; where a switch is named, a card of it that explains
 * as much keeps it in doubt. That a switch is faulty is, of all switches together, as probable
 * beforehand as that a link is, of all links; and so is a line card, of all that the topology tells
 * of. */

enum { NARROWINGS = 48 };
#define GOLDEN 0.6180339887498949

struct trial {
    struct pd_evidence_search *s;
    uint32_t sw;       /* number */
    uint32_t card;     /* 0: all of the switch */
    double *saved;     /* by link: θ before */
    double theta;      /* of the switch */
    double gain;       /* log odds that it is faulty, with nothing named of it */
    double links_gain; /* the same of the links that are named */
    double sure;       /* `gain`, for certainty */
    double doubt;      /* odds of a card in the place of the switch */
};

/* The line card of the switch that the link's port is on; 0: none is told. */
static uint32_t card_at(const struct pd_evidence_model *model, uint32_t link, uint32_t sw)
{
    const struct pd_topology *topology = model->network->topology;
    bool leaves = model->network->ends[link].from == topology->switches[sw].id;
    return pd_links_card(topology, leaves ? link : pd_links_reverse(link));
}

static bool is_of(const struct trial *trial, uint32_t link)
{
    const struct pd_evidence_model *model = trial->s->model;
    uint32_t id = model->network->topology->switches[trial->sw].id;
    const struct pd_localise_ends *ends = &model->network->ends[link];
    return (ends->from == id || ends->to == id) &&
           (!trial->card || card_at(model, link, trial->sw) == trial->card);
}

/* Whether it loses packets at the rate of the switch, or card. */
static bool loses(const struct trial *trial, uint32_t link)
{
    const struct pd_evidence_model *model = trial->s->model;
    return trial->card ? is_of(trial, link)
                       : model->network->ends[link].from ==
                             model->network->topology->switches[trial->sw].id;
}

/* Named, and not as a part of another switch. */
static bool is_single(const struct pd_evidence_model *model, uint32_t link)
{
    return model->is_faulty[link] && !model->part_of[link];
}

static uint32_t count_named(const struct trial *trial)
{
    const struct pd_evidence_model *model = trial->s->model;
    uint32_t count = 0;
    for (uint32_t l = 0; l < model->network->links_len; l++) {
        count += is_single(model, l) && is_of(trial, l);
    }
    return count;
}

/* What it costs to have a rate of its own that so many events tell. */
static double width_of(const struct pd_evidence_model *model, double events)
{
    double range = fmax(log(1 / model->noise), 1);
    return events > 0 ? fmin(0.5 * log(2 * M_PI / events) - log(range), 0) : 0;
}

static double events_on(const struct pd_evidence_model *model, uint32_t link)
{
    return pd_evidence_events(model, model->hurt[link], model->crossed[link]);
}

/* ---- both hypotheses ---- */

/* The log likelihood with this rate on all that the switch sends, whose links have none. */
static double value_with(const struct trial *trial, double theta)
{
    const struct pd_evidence_model *model = trial->s->model;
    double value = 0;
    for (uint32_t l = 0; l < model->network->links_len; l++) {
        value += loses(trial, l) ? pd_evidence_value_of(trial->s, l, theta) : 0;
    }
    return value;
}

/* By golden section: it rises to one maximum and falls. */
static double best_rate(const struct trial *trial)
{
    double low = log(trial->s->model->noise), high = log(PD_EVIDENCE_THETA_MAX);
    double a = high - GOLDEN * (high - low), b = low + GOLDEN * (high - low);
    double at_a = value_with(trial, exp(a)), at_b = value_with(trial, exp(b));
    for (int i = 0; i < NARROWINGS; i++) {
        if (at_a < at_b) {
            low = a;
            a = b;
            at_a = at_b;
            b = low + GOLDEN * (high - low);
            at_b = value_with(trial, exp(b));
        } else {
            high = b;
            b = a;
            at_b = at_a;
            a = high - GOLDEN * (high - low);
            at_a = value_with(trial, exp(a));
        }
    }
    return exp((low + high) / 2);
}

/* What is named of the switch is taken away; `gain` of both is relative to that. */
static void take_away(struct trial *trial)
{
    struct pd_evidence_search *s = trial->s;
    struct pd_evidence_model *model = s->model;
    for (uint32_t l = 0; l < model->network->links_len; l++) {
        trial->saved[l] = model->theta[l];
        if (is_single(model, l) && is_of(trial, l)) {
            pd_evidence_set_theta(s, l, model->noise);
        }
    }
}

/* Puts them back, one by one, with what each adds. */
static void put_back(struct trial *trial, double spread)
{
    struct pd_evidence_search *s = trial->s;
    struct pd_evidence_model *model = s->model;
    trial->links_gain = 0;
    for (uint32_t l = 0; l < model->network->links_len; l++) {
        if (is_single(model, l) && is_of(trial, l)) {
            double lift = pd_evidence_value_of(s, l, trial->saved[l]) -
                          pd_evidence_value_of(s, l, model->noise);
            trial->links_gain +=
                lift / spread + width_of(model, events_on(model, l)) + pd_evidence_prior(s);
            pd_evidence_set_theta(s, l, trial->saved[l]);
        }
    }
}

static double widest_spread(const struct trial *trial)
{
    const struct pd_evidence_model *model = trial->s->model;
    double spread = 1;
    for (uint32_t l = 0; l < model->network->links_len; l++) {
        if (is_single(model, l) && is_of(trial, l)) {
            spread = fmax(spread, trial->s->spread[l]);
        }
    }
    return spread;
}

static void weigh_both(struct trial *trial)
{
    const struct pd_evidence_model *model = trial->s->model;
    double spread = widest_spread(trial), events = 0, periods = 0;
    take_away(trial);
    trial->theta = best_rate(trial);
    double lift = value_with(trial, trial->theta) - value_with(trial, model->noise);
    for (uint32_t l = 0; l < model->network->links_len; l++) {
        if (loses(trial, l)) {
            events += events_on(model, l);
            periods = fmax(periods, model->periods[l]);
        }
    }
    uint32_t of = trial->card ? model->cards_len : model->network->topology->switches_len;
    double rest = width_of(model, events) - log(of + 1.0);
    trial->gain = lift / spread + rest;
    trial->sure =
        model->has_clock ? pd_evidence_student(lift / spread, periods) + rest : trial->gain;
    put_back(trial, spread);
}

/* ---- naming a switch ---- */

static void name_switch(struct trial *trial)
{
    struct pd_evidence_search *s = trial->s;
    struct pd_evidence_model *model = s->model;
    double instead = exp(trial->links_gain - trial->gain) + trial->doubt;
    double doubt = instead + exp(-trial->sure), odds_against = instead + exp(-trial->gain);
    for (uint32_t l = 0; l < model->network->links_len; l++) {
        if (is_single(model, l) && is_of(trial, l)) {
            model->is_faulty[l] = false;
            model->named_len--;
            pd_evidence_set_theta(s, l, model->noise);
        }
    }
    for (uint32_t l = 0; l < model->network->links_len; l++) {
        if (loses(trial, l)) {
            model->is_faulty[l] = true;
            model->named_len++;
            model->instead[l] = PD_EVIDENCE_NOTHING;
            model->part_of[l] = PD_EVIDENCE_PART(trial->sw, trial->card);
            model->odds[l] = trial->gain;
            s->doubt[l] = doubt;
            s->odds_against[l] = odds_against;
            doubt = odds_against = 0; /* counted once */
            pd_evidence_set_theta(s, l, trial->theta);
        }
    }
}

/* The next line card of the switch after this one; 0: there is none. */
static uint32_t next_card(const struct pd_evidence_model *model, uint32_t sw, uint32_t card)
{
    uint32_t id = model->network->topology->switches[sw].id, next = 0;
    for (uint32_t l = 0; l < model->network->links_len && model->cards_len; l++) {
        uint32_t other = model->network->ends[l].from == id ? card_at(model, l, sw) : 0;
        next = other > card && (!next || other < next) ? other : next;
    }
    return next;
}

/* How much more probable it is than the links of it that are named. */
static double margin(struct trial *trial)
{
    if (count_named(trial) < 2) {
        return -INFINITY;
    }
    weigh_both(trial);
    return trial->gain - trial->links_gain;
}

/* Of all cards the most that one is more probable than its links. */
static double best_card(struct trial *trial)
{
    const struct pd_evidence_model *model = trial->s->model;
    double best = -INFINITY;
    for (trial->card = next_card(model, trial->sw, 0); trial->card;
         trial->card = next_card(model, trial->sw, trial->card)) {
        best = fmax(best, margin(trial));
    }
    return best;
}

/* The switch; else each of its line cards. */
static void try_switch(struct trial *trial)
{
    const struct pd_evidence_model *model = trial->s->model;
    trial->card = 0;
    trial->doubt = 0;
    if (count_named(trial) < 2) {
        return;
    }
    double card = best_card(trial), all = margin(trial);
    if (all > 0) {
        trial->doubt = exp(card - all);
        name_switch(trial);
        return;
    }
    for (trial->card = next_card(model, trial->sw, 0); trial->card;
         trial->card = next_card(model, trial->sw, trial->card)) {
        if (margin(trial) > 0) {
            name_switch(trial);
        }
    }
}

int pd_evidence_name_switches(struct pd_evidence_search *s)
{
    struct pd_evidence_model *model = s->model;
    uint32_t links = model->network->links_len;
    struct trial trial = {.s = s, .saved = calloc((size_t)links + 1, sizeof *trial.saved)};
    if (!trial.saved) {
        return -ENOMEM;
    }
    memset(model->part_of, 0, links * sizeof *model->part_of);
    for (trial.sw = 0; trial.sw < model->network->topology->switches_len; trial.sw++) {
        try_switch(&trial);
    }
    free(trial.saved);
    return 0;
}
