/* SPDX-License-Identifier: Apache-2.0 */
/* The localiser `evidence`: what is kept of rows, and how probable it is. */
#ifndef PD_LOCALISE_EVIDENCE_MODEL_H
#define PD_LOCALISE_EVIDENCE_MODEL_H

#include "localise/groups.h"
#include "localise/network.h"

/* Link l passes a packet with probability exp(−θ_l). A healthy link has the noise θ0, which is
 * estimated with all the rest; a faulty one has a θ of its own. Rows say three things:
 *
 * - n packets took a way and k of them were lost (a counted path, a flow whose packets are known):
 *   (n − k)·log e^(−x) + k·log(1 − e^(−x)), with x = Σ w θ over its links and w the chance that a
 *   packet crosses each (1 where the path is known, the share of a path of several, what ECMP
 * offers in a gap). Those that passed add up per link (`passed`), so that rows without losses cost
 * no memory; rows with losses are groups;
 * - a flow suffered, and nobody knows how many did not (`blind`): conditioned on having suffered,
 *   k·log(x / Σ u θ), with u what each link carries under uniform racks and ECMP (`usual`);
 * - nothing is said by a row without losses whose packets are not known.
 *
 * A set of faulty links is judged by its posterior. Before anything is seen one link of all is
 * expected to be faulty, and the logarithm of its θ is as likely anywhere between θ0 and certain
 * loss; the likelihood is integrated over θ (Laplace). So no rate and no threshold is typed in:
 * what is named is more probable than not.
 *
 * Losses come in bursts: a full queue hits many packets of a flow, and many flows, at once. So the
 * likelihood of a row is a mean of two (a composite likelihood): 1/b of the one above, by numbers,
 * and 1 − 1/b of another one that asks only whether the row suffered at all:
 * log(1 − e^(−X)) if it did and −X if not. b is the mean size of a burst, estimated with all the
 * rest: what rows lost beside what they lose in events that come one by one. Where losses are at
 * random b is 1 and numbers count; where a full queue takes fifty packets of a flow at once, these
 * are one event, and what tells is that many flows suffered, or all large ones (noise.c has X).
 * In *events* the first loss of a row is one, each further one 1/b of one. What comes in bursts
 * over flows or periods still is fewer events than it looks, so that the log likelihood
 * counts for less by a dispersion (quasi-likelihood). It is estimated for each link in two ways, of
 * which the greater one counts: by rows, Σ (k − E k)² / Σ k over rows that lost something, and by
 * periods, Pearson's statistic of the link's events over the periods in which it carried something.
 * For certainty one period without an event is added to those seen, so that no single moment proves
 * anything.
 *
 * Packets of a flow that is sprayed evenly over all its shortest paths were lost on any of them,
 * also on one of which nothing arrived; those that arrived passed where they did. Where a flow took
 * several paths in other shares (`uneven`), nobody knows which of them lost packets: they are
 * blamed as far as packets arrived over them, and nothing is certain.
 *
 * Internal to the folder. One thread. */

#define PD_EVIDENCE_MISSES 0.001 /* chance of an error where something is said to be certain */

/* Rows of flows that sent about as many packets over as many links, by the powers of two of their
 * packets: what noise does to such a row is what it did to such rows. Number 0 is none: of counts
 * of many flows. */
enum { PD_EVIDENCE_SIZES = 24, PD_EVIDENCE_LENGTHS = 8 };
enum { PD_EVIDENCE_CELLS = 1 + PD_EVIDENCE_SIZES * PD_EVIDENCE_LENGTHS };

/* What a link is a part of, above 0. */
#define PD_EVIDENCE_PART(sw, card)  ((uint64_t)(card) << 32 | ((sw) + UINT64_C(1)))
#define PD_EVIDENCE_PART_SW(part)   ((uint32_t)((part)-1))
#define PD_EVIDENCE_PART_CARD(part) ((uint32_t)((part) >> 32))

/* What explains the losses on a link better than that it is faulty. */
enum pd_evidence_instead { PD_EVIDENCE_NOTHING, PD_EVIDENCE_CONGESTION, PD_EVIDENCE_HOST };

/* congestion.c: what each link lost by its load, in classes of half an octave below the most. */
enum { PD_EVIDENCE_LOADS = 12 };

struct pd_evidence_load {
    float top; /* packets a second of the first class at most; 0: nothing crossed it yet */
    struct pd_evidence_load_class {
        float sent, lost, squares, n; /* packets; Σ lost²/sent over periods; periods */
    } classes[PD_EVIDENCE_LOADS];
};

struct pd_evidence_loads {
    struct pd_evidence_load *links;
    /* By link, of the period at hand: packets; packets and losses of rows that took one way. */
    double *now, *sent, *lost;
    uint32_t links_len;
};

struct pd_evidence_cell {
    double clean, hurt; /* rows without losses, with some */
    double hazard;      /* noise: such a row suffers by it with probability 1 − e^(−hazard) */
};

struct pd_evidence_model {
    struct pd_localise_network *network;
    struct pd_localise_groups lossy, blind; /* members are links with their w */
    double *passed;                         /* by link: packets that crossed it and were not lost */
    /* By link: losses of rows that crossed it, w·k, and these rows, w. */
    double *crossed, *hurt;
    double *passed_hurt; /* of `passed`, by rows that lost others */
    struct pd_evidence_cell cells[PD_EVIDENCE_CELLS];
    double sent; /* packets of all rows */
    /* Of rows of flows, Σ packets and Σ packets², losses. */
    double flow_sent, flow_squares, flow_lost;
    double unlisted; /* w·packets of flows without a row, which are in sums */
    /* By link, of the period at hand: packets, those that count by themselves, rows of flows by
     * their chance to suffer, losses, rows with losses. Of all rows of flows: packets, chances. */
    double *now_sent, *now_counted, *now_rows, *now_lost, *now_hurt;
    double now_flow_sent, now_chances;
    /* Of all periods: how many had packets, and their sums by packets and by rows. Of which events
     * are expected, and in which shares, changes with b: so both are kept. */
    double *periods;
    struct pd_evidence_sums {
        double sent, hurts, products,
            losses; /* Σ sent, rows²/sent, rows·losses/sent, losses²/sent */
    } *by_packets, *by_rows;
    double uneven, lost; /* losses of rows in uneven shares, of all rows */
    bool has_clock;      /* periods are periods */
    double *usual;       /* by link, when there are blind rows: flows that cross it */
    double blind_lost;
    /* Of the row at hand. */
    double *share;
    uint32_t *touched;
    struct pd_localise_member *members;
    /* The solution: by link θ, and whether it is named. */
    double *theta;
    bool *is_faulty;
    uint64_t *part_of;  /* by link: PD_EVIDENCE_PART of a switch or line card that is named */
    uint32_t cards_len; /* line cards that the topology tells of */
    double *odds;       /* by link: log posterior odds that it is faulty, given the others */
    double *masked;     /* by link: losses of rows that cross it which are due to links named */
    double *burst_of;   /* by link that is named: losses for each that its rate lets expect */
    /* By link that is named: ID of the host on whose word it rests, 0: on several; and whether what
     * the others say makes it more probable that the host is wrong. */
    uint32_t *word_of;
    bool *is_contradicted;
    /* By link (change.c): how much more probable what came since some period is if it has stopped
     * to lose packets, or begun; its rate of events and their dispersion before, from so many
     * periods; periods since. */
    struct pd_evidence_sound {
        double sum, rate, spread, periods, since;
        bool of_fault; /* it was named */
    } *sound;
    /* By link: why it is not named though it seems to lose packets; and the log odds of that (for a
     * link that is named: of congestion). */
    uint8_t *instead;
    double *instead_odds;
    const struct pd_evidence_loads *loads; /* the localiser's; NULL: there is no clock */
    double noise;                          /* θ0 */
    double burst;                          /* b */
    double dispersion;                     /* over periods, of all links in the mean */
    double linear;     /* events of noise for each w·packet, where flows without losses are sums */
    double confidence; /* that what is named is right */
    double sure;       /* with all reserve, and that no other drops as much */
    uint32_t named_len;
    const bool *held; /* by link: named by a verdict that was certain and still stands; or NULL */
};

/* 0 or -ENOMEM. */
int pd_evidence_model_new(struct pd_localise_network *network,
                          struct pd_evidence_model **ret_model);
void pd_evidence_model_free(struct pd_evidence_model *model); /* NULL is fine */

/* 0, -ENOMEM, or -PD_E_FULL. */
int pd_evidence_model_take(struct pd_evidence_model *model, const struct pd_localise_row *row);

/* The rows taken since the last call were those of one period. */
void pd_evidence_model_close(struct pd_evidence_model *model);
/* Keeps that share of all that was taken. */
void pd_evidence_model_fade(struct pd_evidence_model *model, double keep);

/* congestion.c: loads of links. 0 or -ENOMEM; to be done with in either case. */
int pd_evidence_loads_init(struct pd_evidence_loads *loads, uint32_t links_len);
void pd_evidence_loads_done(struct pd_evidence_loads *loads);
void pd_evidence_loads_take(struct pd_evidence_loads *loads, const struct pd_localise_row *row,
                            bool counts);
/* Of a period that was so long. */
void pd_evidence_loads_close(struct pd_evidence_loads *loads, double period_s);
void pd_evidence_loads_fade(struct pd_evidence_loads *loads, double keep);

/* usual.c: flows over each link under uniform racks and ECMP. 0 or -ENOMEM. */
int pd_evidence_model_usual(struct pd_evidence_model *model);

/* change.c: what does late evidence say against what was concluded from all of it: a link drops
 * more, or less (which goes before)? 0 or -ENOMEM. */
enum pd_evidence_change { PD_EVIDENCE_SAME, PD_EVIDENCE_BEGUN, PD_EVIDENCE_STOPPED };
int pd_evidence_model_change(struct pd_evidence_model *late, const struct pd_evidence_model *all,
                             enum pd_evidence_change *ret_change);

/* The period that ends was one in which links lost packets, or did not. */
void pd_evidence_model_listen(struct pd_evidence_model *model);

/* search.c: the most probable set of faulty links that a local search finds. 0 or -ENOMEM. */
int pd_evidence_model_search(struct pd_evidence_model *model);

/* Events of so many rows with so many losses. */
static inline double pd_evidence_events(const struct pd_evidence_model *model, double rows,
                                        double lost)
{
    return rows + (lost - rows) / model->burst;
}

/* noise.c: number of the cell of a row. */
uint32_t pd_evidence_cell(double sent, double links);
/* Chance that a row of this cell suffers, as of all rows up to now. */
double pd_evidence_chance(const struct pd_evidence_model *model, uint32_t cell);
/* What such a chance is in packets, in the period at hand: in a large row each counts for less. */
double pd_evidence_chance_in_packets(const struct pd_evidence_model *model);
/* What events are expected in proportion to, of so many packets counted in both ways. */
static inline double pd_evidence_exposure(const struct pd_evidence_model *model, double packets,
                                          double rows)
{
    return rows + (packets - rows) / model->burst;
}

/* detects.c: the least loss that would have been named on a link; infinite: none. */
double pd_evidence_model_detects_on(const struct pd_evidence_model *model, uint32_t link);
/* On each link of a tier, as JSON. */
json_t *pd_evidence_model_detects(const struct pd_evidence_model *model);

#endif
