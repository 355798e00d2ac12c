/* SPDX-License-Identifier: Apache-2.0 */
/* The localiser `evidence`: what the parts of the search share. */
#ifndef PD_LOCALISE_EVIDENCE_SEARCH_H
#define PD_LOCALISE_EVIDENCE_SEARCH_H

#include <math.h>

#include "localise/evidence/model.h"

/* Internal to the folder. One thread. */

#define PD_EVIDENCE_THETA_MAX 40.0 /* passes nothing: exp(-40) */

/* Groups of one kind, and which of them a link is in. */
struct pd_evidence_side {
    const struct pd_localise_groups *groups;
    struct pd_localise_index index;
    double *weights; /* beside index.groups: the link's w in the group */
    double *x;       /* by group: Σ w θ */
    double *healthy; /* by group: Σ w of healthy links */
    double *length;  /* by group: Σ w */
    double *lost;    /* by group: events */
    /* By group of rows with losses: how much numbers count and that they suffered; packets of a
     * row, and what noise adds to the hazard of one beyond what its packets do. */
    double *many, *ones, *size, *offset;
};

struct pd_evidence_search {
    struct pd_evidence_model *model;
    struct pd_evidence_side lossy, blind;
    double usual_x, usual_w;             /* Σ u θ, Σ u of healthy links */
    double healthy_passed, healthy_hurt; /* the second: of rows that suffered */
    uint32_t *candidates;                /* links with losses, ascending */
    uint32_t candidates_len;
    double *gain, *fit; /* by link: log odds that it is faulty, and the θ that it would have */
    /* By link: log likelihood ratio, the information in its log θ, and the dispersion, which both
     * are divided by. */
    double *lift, *sharp, *spread;
    double
        *shared; /* by link: losses of rows shared with the one at hand; above 0: is in `stale` */
    uint32_t *stale; /* links to look at again */
    uint32_t stale_len;
    /* By link that is named: Σ of the weights of what is as well in its place: by what is most
     * probable, and with all reserve, for certainty. */
    double *odds_against, *doubt;
};

/* 0 or -ENOMEM; to be done with in either case. */
int pd_evidence_search_init(struct pd_evidence_model *model, struct pd_evidence_search *s);
void pd_evidence_search_done(struct pd_evidence_search *s);
void pd_evidence_search_sum(struct pd_evidence_search *s); /* from the model's θ */
/* θ of one link becomes another one. */
void pd_evidence_set_theta(struct pd_evidence_search *s, uint32_t link, double theta);
/* The θ between `low` and certain loss at which the likelihood of a link's rows is greatest. */
double pd_evidence_find_theta(const struct pd_evidence_search *s, uint32_t link, double low);
/* The log likelihood of a link's rows, without what does not depend on θ. */
double pd_evidence_value_of(const struct pd_evidence_search *s, uint32_t link, double theta);
/* Packets that speak against a fault of the link: in rows that lost others, by numbers alone. */
double pd_evidence_passes(const struct pd_evidence_model *model, uint32_t link);
double pd_evidence_prior(const struct pd_evidence_search *s);
/* What a log likelihood ratio is worth whose dispersion so many periods told. */
double pd_evidence_student(double ratio, double periods);
/* Weighs each link that is not named. */
void pd_evidence_look_at_all(struct pd_evidence_search *s);

/* ---- bursts.c: events, their size, their dispersion ---- */

void pd_evidence_count_events(struct pd_evidence_search *s);
/* Of a group: X of a row, where its x is this; at least as much as noise alone makes. */
static inline double pd_evidence_hazard(const struct pd_evidence_side *lossy, uint32_t group,
                                        double x)
{
    return fmax(lossy->size[group] * x + lossy->offset[group], 1e-300);
}
void pd_evidence_fit_burst(struct pd_evidence_search *s);
/* Over the rows that lost something, as far as the link with this θ is to blame. */
double pd_evidence_row_spread(const struct pd_evidence_search *s, uint32_t link, double theta);
/* Over periods; with `more` empty ones besides those seen: then infinite where a single one was. */
double pd_evidence_period_spread(const struct pd_evidence_model *model, uint32_t link, double more);
/* The same over the periods before those of `late`, which are among all. */
double pd_evidence_spread_before(const struct pd_evidence_model *all,
                                 const struct pd_evidence_model *late, uint32_t link);

/* ---- noise.c: what healthy links do ---- */

void pd_evidence_fit_noise(struct pd_evidence_search *s);
/* The noise of the model becomes that of its groups. */
void pd_evidence_apply_noise(struct pd_evidence_search *s);

/* A link is not named after all: something else explains its losses, with these log odds. What is
 * known of it stays, so that nothing else is blamed for them. */
void pd_evidence_excuse(struct pd_evidence_search *s, uint32_t link,
                        enum pd_evidence_instead instead, double odds);

/* ---- congestion.c ---- */

/* Weighs for each link that is named, but as a part of a switch, whether its losses go with its
 * load. */
void pd_evidence_name_congestion(struct pd_evidence_search *s);

/* ---- word.c: is it the word of one host? ---- */

/* Adds to the doubt of each link that is named that a host made its losses up. 0 or -ENOMEM. */
int pd_evidence_weigh_words(struct pd_evidence_search *s);

/* ---- switches.c ---- */

/* Names switches in the place of links that they send into, where that is more probable. 0 or
 * -ENOMEM. */
int pd_evidence_name_switches(struct pd_evidence_search *s);

/* ---- certain.c ---- */

/* Confidence in what is named, odds of all others. */
void pd_evidence_search_conclude(struct pd_evidence_search *s);

#endif
