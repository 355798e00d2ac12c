/* SPDX-License-Identifier: Apache-2.0 */
/* The localiser `evidence`: whether what came lately contradicts what was concluded before. */
#include <math.h>

#include "localise/evidence/search.h"

/* The late evidence is asked how probable it is with the rates that all of it gave, and how much
 * more with others for one link. What is more so by so much that it happens to any link in
 * PD_EVIDENCE_MISSES of the cases (Wilks) is a change: a link has begun to drop packets, or has
 * stopped. */

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
            bool matters = all->is_faulty[l] || late->crossed[l] > 0;
            if (matters && best_lift(&s, all, l, &stopped) > bound) {
                change = stopped ? PD_EVIDENCE_STOPPED : PD_EVIDENCE_BEGUN;
            }
        }
    }
    pd_evidence_search_done(&s);
    if (!err) {
        *ret_change = change;
    }
    return err;
}
