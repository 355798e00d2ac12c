/* SPDX-License-Identifier: Apache-2.0 */
/* The localiser `evidence`: whether what came lately contradicts what was concluded before. */
#include <math.h>

#include "localise/evidence/search.h"

/* The late evidence is asked how probable it is with the rates that all of it gave, and how much
 * more with others for one link. What is more so by so much that it happens to any link in
 * PD_EVIDENCE_MISSES of the cases (Wilks) is a change: a link has begun to drop packets, or has
 * stopped.
 *
 * What came lately is a second or two, in which a faint fault that has ended loses too little to be
 * missed; and a stop that is older looks like bursts. So each link that is named is listened to:
 * a running sum (Page's) of how much more probable each period is if nine in ten of its losses have
 * stopped, begun anew where that falls below nothing. Rate and dispersion are those of when the sum
 * began; and it begins anew, too, when it has lasted for more periods than these were taken from.
 * Else a rate of the first few periods, which was too high, made it grow for ever while the link
 * still dropped packets, and a dispersion of as few kept it from ever telling anything.
 *
 * A beginning is listened for in the same way, on all other links, with ten times their losses:
 * large flows that lose packets all at once look like bursts to whoever takes rate and dispersion
 * from periods before and after it. It counts while nothing is named: what is known of a named
 * link is not given up for a queue that fills elsewhere. */

#define LEFT 0.1 /* of the losses of a link that has stopped; of what they are when they begin */

/* Rate and dispersion up to now; half an event more, since what was never seen may happen. */
static void refer(struct pd_evidence_model *model, uint32_t link)
{
    struct pd_evidence_sound *sound = &model->sound[link];
    double events = pd_evidence_events(model, model->hurt[link], model->crossed[link]);
    double sent =
        pd_evidence_exposure(model, model->by_packets[link].sent, model->by_rows[link].sent);
    events += model->is_faulty[link] ? 0 : 0.5;
    *sound = (struct pd_evidence_sound){
        .rate = sent > 0 ? events / sent : 0,
        .spread = fmax(pd_evidence_period_spread(model, link, 1), 1),
        .periods = model->periods[link],
        .of_fault = model->is_faulty[link],
    };
}

static void listen(struct pd_evidence_model *model, uint32_t link)
{
    struct pd_evidence_sound *sound = &model->sound[link];
    bool is_outgrown = sound->since >= sound->periods;
    if (sound->sum <= 0 || is_outgrown || sound->of_fault != model->is_faulty[link]) {
        refer(model, link);
    }
    double events = pd_evidence_events(model, model->now_hurt[link], model->now_lost[link]);
    double expected =
        sound->rate * pd_evidence_exposure(model, model->now_sent[link], model->now_rows[link]);
    double more = sound->of_fault ? (1 - LEFT) * expected + events * log(LEFT)
                                  : (1 - 1 / LEFT) * expected - events * log(LEFT);
    sound->since += model->now_sent[link] > 0;
    sound->sum = fmax(sound->sum + more, 0);
}

void pd_evidence_model_listen(struct pd_evidence_model *model)
{
    for (uint32_t l = 0; l < model->network->links_len && model->has_clock; l++) {
        listen(model, l);
    }
}

/* How much more probable late evidence is with another rate than held. Losses that have stopped
 * come in a burst by that alone: how they come when they do is told by what was before. */
static double best_lift(struct pd_evidence_search *s, const struct pd_evidence_model *all,
                        uint32_t link, bool *ret_stopped)
{
    double held = all->theta[link], theta = pd_evidence_find_theta(s, link, s->model->noise);
    double lift = pd_evidence_value_of(s, link, theta) - pd_evidence_value_of(s, link, held);
    double spread = theta < held ? pd_evidence_spread_before(all, s->model, link)
                                 : fmax(pd_evidence_row_spread(s, link, theta),
                                        pd_evidence_period_spread(s->model, link, 0));
    *ret_stopped = theta < held;
    return lift / fmax(spread, 1);
}

static void hold(struct pd_evidence_search *s, const struct pd_evidence_model *all)
{
    struct pd_evidence_model *late = s->model;
    late->noise = all->noise;
    late->burst = all->burst;
    late->linear = all->linear;
    for (size_t c = 0; c < PD_EVIDENCE_CELLS; c++) {
        late->cells[c].hazard = all->cells[c].hazard;
    }
    for (uint32_t l = 0; l < late->network->links_len; l++) {
        late->theta[l] = all->theta[l];
        late->is_faulty[l] = all->is_faulty[l];
    }
    pd_evidence_count_events(s);
    pd_evidence_search_sum(s);
    pd_evidence_apply_noise(s);
}

/* The sum is looked at in each period. */
static bool is_heard(const struct pd_evidence_model *all, uint32_t link, double bound)
{
    const struct pd_evidence_sound *sound = &all->sound[link];
    double ratio = sound->sum / fmax(sound->spread, 1); /* of few periods little is known */
    return pd_evidence_student(ratio, sound->periods) > bound + log(fmax(all->periods[link], 1));
}

int pd_evidence_model_change(struct pd_evidence_model *late, const struct pd_evidence_model *all,
                             enum pd_evidence_change *ret_change)
{
    struct pd_evidence_search s;
    bool stopped = false;
    double bound = log(late->network->links_len / PD_EVIDENCE_MISSES);
    enum pd_evidence_change change = PD_EVIDENCE_SAME;
    int err = pd_evidence_search_init(late, &s);
    if (!err) {
        hold(&s, all);
        for (uint32_t l = 0; l < late->network->links_len && change != PD_EVIDENCE_STOPPED; l++) {
            bool matters = !all->instead[l] && (all->is_faulty[l] || late->crossed[l] > 0);
            if (matters && best_lift(&s, all, l, &stopped) > bound) {
                change = stopped ? PD_EVIDENCE_STOPPED : PD_EVIDENCE_BEGUN;
            }
            bool counts = all->sound[l].of_fault || (!all->named_len && !all->instead[l]);
            if (counts && is_heard(all, l, bound)) {
                change = all->sound[l].of_fault ? PD_EVIDENCE_STOPPED : PD_EVIDENCE_BEGUN;
            }
        }
    }
    pd_evidence_search_done(&s);
    if (!err) {
        *ret_change = change;
    }
    return err;
}
