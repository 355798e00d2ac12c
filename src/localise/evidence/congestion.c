/* SPDX-License-Identifier: Apache-2.0 */
/* The localiser `evidence`: do losses go with the link, or with its load? */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "localise/evidence/search.h"

/* A faulty link loses a share of its packets, however many there are; a queue loses none until much
 * is sent. So what a link lost is kept by its load: by the packets a second of the period, in
 * classes of half an octave below the most that it ever carried. Against the hypothesis that a link
 * is faulty stands the one that it is congested: above some class it loses at one rate, below at a
 * small part of it (what is sent again is told of late, when load is over). Which class, and which
 * part, is not known beforehand: all are as probable. What the packets of its rows lost elsewhere
 * is in both, at the same rate in all classes.
 *
 * Counted paths tell no load: meters count the flows that were chosen, and give what was lost when
 * it counts, with later epochs; and where a probe is lost more are sent.
 *
 * Load is known of periods before the losses, too, and is not forgotten when a link begins to lose
 * packets; and it fades slowly: that they came with the load is what tells. */

enum { PARTS = 3, PERIODS_MIN = 3, USUAL = 5 };
#define PART 0.25 /* of the rate above: a quarter, a sixteenth, a 64th */
/* Beforehand, that a link which seems faulty is congested: a fifth of what may be wrong with what
 * is certain, and half of it for the link of a host, where incasts end. More, and nothing were
 * certain before load has told; less, and the first seconds of an incast were taken for a fault. */
#define BEFOREHAND      (PD_EVIDENCE_MISSES / 3)
#define BEFOREHAND_HOST (PD_EVIDENCE_MISSES / 2)

int pd_evidence_loads_init(struct pd_evidence_loads *loads, uint32_t links_len)
{
    size_t len = (size_t)links_len + 1;
    loads->links_len = links_len;
    loads->links = calloc(len, sizeof *loads->links);
    loads->now = calloc(len, sizeof *loads->now);
    loads->sent = calloc(len, sizeof *loads->sent);
    loads->lost = calloc(len, sizeof *loads->lost);
    return loads->links && loads->now && loads->sent && loads->lost ? 0 : -ENOMEM;
}

void pd_evidence_loads_done(struct pd_evidence_loads *loads)
{
    free(loads->links);
    free(loads->now);
    free(loads->sent);
    free(loads->lost);
    *loads = (struct pd_evidence_loads){.links = NULL};
}

void pd_evidence_loads_take(struct pd_evidence_loads *loads, const struct pd_localise_row *row,
                            bool counts)
{
    counts &= row->ways_len == 1; /* else nobody knows on which way they were lost */
    if (row->row->pkts == PD_EVIDENCE_UNKNOWN || row->row->kind != PD_EVIDENCE_FLOW) {
        return;
    }
    for (size_t w = 0; w < row->ways_len; w++) {
        const struct pd_localise_way *way = &row->ways[w];
        for (uint32_t h = 0; h < way->hops_len; h++) {
            const struct pd_localise_hop *hop = &row->hops[way->first + h];
            double pkts = hop->chance * way->share * (double)row->row->pkts;
            loads->now[hop->link] += pkts;
            loads->sent[hop->link] += counts ? pkts : 0;
            loads->lost[hop->link] += counts ? hop->chance * (double)row->row->lost : 0;
        }
    }
}

static void add_class(struct pd_evidence_load_class *to, const struct pd_evidence_load_class *more)
{
    to->sent += more->sent;
    to->lost += more->lost;
    to->squares += more->squares;
    to->n += more->n;
}

/* Classes count from the most that it ever carried, which becomes more. */
static void raise_top(struct pd_evidence_load *load, double rate)
{
    struct pd_evidence_load before = *load;
    double up = before.top > 0 ? ceil(2 * log2(rate / before.top)) : 0;
    load->top = before.top > 0 ? before.top * (float)exp2(up / 2) : (float)rate;
    memset(load->classes, 0, sizeof load->classes);
    for (size_t c = 0; c < PD_EVIDENCE_LOADS; c++) {
        double at = fmin((double)c + up, PD_EVIDENCE_LOADS - 1);
        add_class(&load->classes[(size_t)at], &before.classes[c]);
    }
}

static void close_link(struct pd_evidence_load *load, double rate, double sent, double lost)
{
    if (rate > load->top) {
        raise_top(load, rate);
    }
    double below = fmin(fmax(2 * log2(load->top / rate), 0), PD_EVIDENCE_LOADS - 1);
    const struct pd_evidence_load_class one = {
        .sent = (float)sent, .lost = (float)lost, .squares = (float)(lost * lost / sent), .n = 1};
    add_class(&load->classes[(size_t)below], &one);
}

void pd_evidence_loads_close(struct pd_evidence_loads *loads, double period_s)
{
    for (uint32_t l = 0; l < loads->links_len; l++) {
        double sent = loads->sent[l], lost = fmin(loads->lost[l], sent);
        if (sent > 0 && period_s > 0) {
            close_link(&loads->links[l], loads->now[l] / period_s, sent, lost);
        }
        loads->now[l] = loads->sent[l] = loads->lost[l] = 0;
    }
}

void pd_evidence_loads_fade(struct pd_evidence_loads *loads, double keep)
{
    for (uint32_t l = 0; l < loads->links_len; l++) {
        for (size_t c = 0; c < PD_EVIDENCE_LOADS && loads->links[l].top > 0; c++) {
            struct pd_evidence_load_class *of = &loads->links[l].classes[c];
            of->sent *= (float)keep;
            of->lost *= (float)keep;
            of->squares *= (float)keep;
            of->n *= (float)keep;
        }
    }
}

/* ---- the two hypotheses ---- */

/* Packets, not events: how many events a packet makes goes with the sizes of flows, and these with
 * the load. That losses come in bursts is in their dispersion. */
struct losses {
    double sent[PD_EVIDENCE_LOADS], lost[PD_EVIDENCE_LOADS];
    double all_sent, all_lost;
    double spread; /* of losses over periods of the same class */
    double beside; /* losses for each packet that are not due to this link */
};

/* The part of the losses on the link's rows that its own fault explains. */
static double own_part(const struct pd_evidence_search *s, uint32_t link)
{
    const struct pd_evidence_side *lossy = &s->lossy;
    double own = 0, all = 0;
    for (uint32_t i = lossy->index.starts[link]; i < lossy->index.starts[link + 1]; i++) {
        uint32_t g = lossy->index.groups[i];
        double w = lossy->weights[i], x = fmax(lossy->x[g], 1e-300);
        own += lossy->groups->groups[g].lost * fmin(w * s->model->theta[link] / x, 1);
        all += lossy->groups->groups[g].lost * w;
    }
    return all > 0 ? fmin(own / all, 1) : 1;
}

/* Pearson's statistic over the periods of each class, where each has a rate of its own; of few
 * periods as if USUAL more had been seen in which losses came evenly: where the losses of a full
 * link begin, a class has lossless periods beside others, and these alone are no bursts. */
static double spread_within(const struct pd_evidence_load *load)
{
    double top = 0, degrees = 0;
    for (size_t c = 0; c < PD_EVIDENCE_LOADS; c++) {
        const struct pd_evidence_load_class *of = &load->classes[c];
        if (of->lost > 0 && of->n > 1) {
            top += (double)of->squares * of->sent / of->lost - of->lost;
            degrees += of->n - 1;
        }
    }
    return fmax((top + USUAL) / (degrees + USUAL), 1);
}

static struct losses losses_of(const struct pd_evidence_search *s, uint32_t link)
{
    const struct pd_evidence_load *load = &s->model->loads->links[link];
    struct losses losses = {.spread = spread_within(load)};
    for (size_t c = 0; c < PD_EVIDENCE_LOADS; c++) {
        losses.sent[c] = load->classes[c].sent;
        losses.lost[c] = load->classes[c].lost;
        losses.all_sent += losses.sent[c];
        losses.all_lost += losses.lost[c];
    }
    losses.beside =
        losses.all_sent > 0 ? (1 - own_part(s, link)) * losses.all_lost / losses.all_sent : 0;
    return losses;
}

/* Log likelihood ratio of congestion, with this rate in the first `high` classes and `part` of it
 * in all others, against a fault. Both let expect as many losses. */
static double ratio_with(const struct losses *losses, size_t high, double part)
{
    double sent = 0, ratio = 0;
    for (size_t c = 0; c < PD_EVIDENCE_LOADS; c++) {
        sent += losses->sent[c] * (c < high ? 1 : part);
    }
    double own = fmax(losses->all_lost - losses->beside * losses->all_sent, 0);
    double rate = losses->beside + own / losses->all_sent;
    for (size_t c = 0; c < PD_EVIDENCE_LOADS; c++) {
        double here = losses->beside + own / sent * (c < high ? 1 : part);
        ratio += losses->lost[c] > 0 ? losses->lost[c] * log(here / rate) : 0;
    }
    return ratio;
}

/* Log odds that the link is congested, not faulty. Few periods at one side of a class tell nothing:
 * one of many is always odd. */
static double weigh(const struct pd_evidence_search *s, uint32_t link)
{
    const struct pd_evidence_load *load = &s->model->loads->links[link];
    const struct losses losses = losses_of(s, link);
    double sum = 0, above = 0, all = 0;
    size_t tried = 0;
    for (size_t c = 0; c < PD_EVIDENCE_LOADS; c++) {
        all += load->classes[c].n;
    }
    for (size_t high = 1; high < PD_EVIDENCE_LOADS; high++) {
        double part = PART;
        above += load->classes[high - 1].n;
        for (int i = 0; i < PARTS && fmin(above, all - above) > PERIODS_MIN - 0.5; i++, tried++) {
            sum += exp(fmin(ratio_with(&losses, high, part) / losses.spread, 500));
            part *= PART;
        }
    }
    double before = s->model->network->ends[link].is_access ? BEFOREHAND_HOST : BEFOREHAND;
    return log(before) + (tried ? log(sum / (double)tried) : 0);
}

void pd_evidence_name_congestion(struct pd_evidence_search *s)
{
    struct pd_evidence_model *model = s->model;
    for (uint32_t l = 0; l < model->network->links_len && model->loads; l++) {
        if (!model->is_faulty[l] || model->part_of[l]) {
            continue; /* that all links of a switch are full at once is nothing to wait for */
        }
        double odds = weigh(s, l);
        s->doubt[l] += exp(odds);
        s->odds_against[l] += exp(odds);
        model->instead_odds[l] = odds;
        if (odds > 0) {
            pd_evidence_excuse(s, l, PD_EVIDENCE_CONGESTION, odds);
        }
    }
}
