/* SPDX-License-Identifier: Apache-2.0 */
/* The localiser `evidence`: losses that come in bursts are fewer events than they look. */
#include <math.h>

#include "localise/evidence/search.h"

/* Σ (losses − expected)² of a group's rows where each packet is lost with this chance. */
static double square_rests(const struct pd_localise_group *group, double chance)
{
    return group->squares - 2 * chance * group->products + chance * chance * group->sent_squares;
}

/* Over the rows that lost something, as far as the link with this θ is to blame. That a row
 * suffered is as good as a coin; how many it lost is not. */
double pd_evidence_row_spread(const struct pd_evidence_search *s, uint32_t link, double theta)
{
    const struct pd_evidence_side *lossy = &s->lossy;
    double change = theta - s->model->theta[link], top = 0, bottom = 0;
    double each = 1 / s->model->burst;
    for (uint32_t i = lossy->index.starts[link]; i < lossy->index.starts[link + 1]; i++) {
        uint32_t g = lossy->index.groups[i];
        const struct pd_localise_group *group = &lossy->groups->groups[g];
        double w = lossy->weights[i], x = fmax(lossy->x[g] + w * change, 1e-300);
        double part = w * theta / x;
        top += part * (lossy->ones[g] + each * each * square_rests(group, -expm1(-x)));
        bottom += part * lossy->lost[g];
    }
    return bottom > 0 ? top / bottom : 1;
}

/* What is known of a link by periods. */
struct periods {
    double len, sent, lost, squares;
};

/* Σ events²/sent */
static double squares_of(const struct pd_evidence_sums *sums, double each)
{
    double first = 1 - each;
    return first * first * sums->hurts + 2 * first * each * sums->products +
           each * each * sums->losses;
}

/* Exact where packets are counted in one way alone, else as if both went together in all periods.
 */
static struct periods periods_of(const struct pd_evidence_model *model, uint32_t link)
{
    const struct pd_evidence_sums *packets = &model->by_packets[link],
                                  *rows = &model->by_rows[link];
    double each = 1 / model->burst, sent = pd_evidence_exposure(model, packets->sent, rows->sent);
    double by_packets = squares_of(packets, each) * packets->sent;
    double by_rows = squares_of(rows, each) * rows->sent;
    return (struct periods){
        .len = model->periods[link],
        .sent = sent,
        .lost = pd_evidence_events(model, model->hurt[link], model->crossed[link]),
        .squares = sent > 0 ? (by_rows + (by_packets - by_rows) * each) / sent : 0};
}

static double pearson(const struct periods *periods, double degrees)
{
    return periods->lost > 0 && degrees >= 0.5
               ? (periods->squares * periods->sent / periods->lost - periods->lost) / degrees
               : 1;
}

/* Over periods; with `more` empty ones besides those seen. Nothing is known from a single one. */
double pd_evidence_period_spread(const struct pd_evidence_model *model, uint32_t link, double more)
{
    struct periods periods = periods_of(model, link);
    if (model->has_clock && more > 0 && periods.len < 2) {
        return INFINITY;
    }
    periods.sent *= 1 + more / fmax(periods.len, 1);
    return model->has_clock ? pearson(&periods, periods.len + more - 1) : 1;
}

/* Over the periods before those of `late`, which are among all. */
double pd_evidence_spread_before(const struct pd_evidence_model *all,
                                 const struct pd_evidence_model *late, uint32_t link)
{
    struct periods before = periods_of(all, link), after = periods_of(late, link);
    before.len -= after.len;
    before.sent -= after.sent;
    before.lost -= after.lost;
    before.squares -= after.squares;
    return pearson(&before, before.len - 1);
}

/* What rows lost, beside what they would have lost one by one: the size of a burst. Only rows that
 * no fault explains tell: else a wrong fault would make itself fit. */
void pd_evidence_fit_burst(struct pd_evidence_search *s)
{
    struct pd_evidence_model *model = s->model;
    const struct pd_evidence_side *lossy = &s->lossy;
    double lost = 0, events = 0;
    for (uint32_t g = 0; g < model->lossy.len; g++) {
        const struct pd_localise_group *group = &model->lossy.groups[g];
        double x = fmax(lossy->x[g], 1e-300), hazard = pd_evidence_hazard(lossy, g, x);
        double noise = fmin(model->noise * lossy->healthy[g] / x, 1);
        lost += noise * group->lost;
        events += noise * group->count * hazard / -expm1(-hazard);
    }
    model->burst = events > 0 ? fmax(lost / events, 1) : 1;
}

/* What losses count for, with bursts of this size. */
void pd_evidence_count_events(struct pd_evidence_search *s)
{
    const struct pd_evidence_model *model = s->model;
    struct pd_evidence_side *lossy = &s->lossy;
    for (size_t g = 0; g < model->lossy.len; g++) {
        const struct pd_localise_group *group = &model->lossy.groups[g];
        bool is_flow = group->len && model->lossy.members[group->first].tag;
        lossy->many[g] = is_flow ? group->lost / model->burst : group->lost;
        lossy->ones[g] = is_flow ? group->count * (1 - 1 / model->burst) : 0;
        lossy->lost[g] = lossy->many[g] + lossy->ones[g];
        lossy->size[g] = is_flow ? group->sent / group->count : 1;
    }
    for (size_t g = 0; g < model->blind.len; g++) {
        s->blind.lost[g] = model->blind.groups[g].lost;
    }
}
