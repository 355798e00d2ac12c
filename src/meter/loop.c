/* SPDX-License-Identifier: Apache-2.0 */
/* Segments with their windows, rules, and the choice of flows. */
#include "meter/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"

#define NONE UINT32_MAX

/* One epoch of a segment. */
struct past {
    uint64_t sent, lost;
    uint32_t flows; /* 0: not measured */
    bool held;      /* not yet given */
    bool counts;    /* its losses do */
    bool unread;
};

struct candidate {
    struct pd_flow_id flow;
    uint32_t segment;
    uint64_t pkts;
};

struct pd_meter_loop {
    struct pd_meter_loop_settings settings;
    uint64_t epoch; /* that are over */
    struct pd_meter_segment *segments;
    struct past *pasts; /* `epochs` of each segment, a ring by epoch */
    uint32_t segments_len, segments_room;
    size_t pasts_room;
    struct pd_meter_rule *rules;
    uint32_t *index; /* by hash: a rule's place + 1; open addressing */
    uint32_t rules_len, rules_room, index_len;
    struct candidate *candidates;
    size_t candidates_len, candidates_room;
    uint32_t *up_rules, *down_rules; /* by monitor */
    struct pd_meter_loop_counters counters;
};

const char *pd_meter_segment_state_name(enum pd_meter_segment_state state)
{
    static const char *const names[] = {[PD_METER_SEGMENT_MEASURED] = "measured",
                                        [PD_METER_SEGMENT_UNKNOWN] = "unknown",
                                        [PD_METER_SEGMENT_STARVED] = "starved"};
    return names[state];
}

/* ---- life ---- */

int pd_meter_loop_new(const struct pd_meter_loop_settings *settings, uint32_t monitors,
                      struct pd_meter_loop **ret_loop)
{
    if (!settings->epochs || settings->epochs > PD_METER_EPOCHS_MAX || !settings->epochs_min ||
        settings->epochs_min > settings->epochs) {
        return -EINVAL;
    }
    struct pd_meter_loop *loop = calloc(1, sizeof *loop);

    if (!loop) {
        return -ENOMEM;
    }
    loop->settings = *settings;
    loop->up_rules = calloc((size_t)monitors + 1, sizeof *loop->up_rules);
    loop->down_rules = calloc((size_t)monitors + 1, sizeof *loop->down_rules);
    if (!loop->up_rules || !loop->down_rules) {
        pd_meter_loop_free(loop);
        return -ENOMEM;
    }
    *ret_loop = loop;
    return 0;
}

void pd_meter_loop_free(struct pd_meter_loop *loop)
{
    if (!loop) {
        return;
    }
    free(loop->segments);
    free(loop->pasts);
    free(loop->rules);
    free(loop->index);
    free(loop->candidates);
    free(loop->up_rules);
    free(loop->down_rules);
    free(loop);
}

/* ---- segments ---- */

int pd_meter_loop_add(struct pd_meter_loop *loop, uint32_t up, uint32_t down, uint32_t *ret_number)
{
    const size_t epochs = loop->settings.epochs, len = loop->segments_len;

    if (len == NONE - 1 || PD_GROW(loop->segments, loop->segments_room, len + 1) ||
        PD_GROW(loop->pasts, loop->pasts_room, (len + 1) * epochs)) {
        return -ENOMEM;
    }
    loop->segments[len] =
        (struct pd_meter_segment){.up = up, .down = down, .state = PD_METER_SEGMENT_UNKNOWN};
    memset(&loop->pasts[len * epochs], 0, epochs * sizeof *loop->pasts);
    *ret_number = loop->segments_len++;
    return 0;
}

uint32_t pd_meter_loop_len(const struct pd_meter_loop *loop)
{
    return loop->segments_len;
}

const struct pd_meter_segment *pd_meter_loop_segment(const struct pd_meter_loop *loop,
                                                     uint32_t number)
{
    return &loop->segments[number];
}

struct pd_meter_loop_counters pd_meter_loop_counters(const struct pd_meter_loop *loop)
{
    struct pd_meter_loop_counters counters = loop->counters;

    counters.rules = loop->rules_len;
    return counters;
}

static struct past *past_at(const struct pd_meter_loop *loop, uint32_t segment, uint64_t epoch)
{
    const size_t epochs = loop->settings.epochs;

    return &loop->pasts[segment * epochs + epoch % epochs];
}

/* ---- rules ---- */

static uint32_t index_of(const struct pd_meter_loop *loop, const struct pd_flow_id *flow,
                         uint32_t up)
{
    uint32_t at = (uint32_t)pd_hash_mix(pd_hash(flow, sizeof *flow) + up) & (loop->index_len - 1);

    while (loop->index[at]) {
        const struct pd_meter_rule *rule = &loop->rules[loop->index[at] - 1];

        if (rule->up == up && pd_flow_id_equal(&rule->flow, flow)) {
            break;
        }
        at = (at + 1) & (loop->index_len - 1);
    }
    return at;
}

static struct pd_meter_rule *find_rule(const struct pd_meter_loop *loop,
                                       const struct pd_flow_id *flow, uint32_t up)
{
    const uint32_t place = loop->index_len ? loop->index[index_of(loop, flow, up)] : 0;

    return place ? &loop->rules[place - 1] : NULL;
}

const struct pd_meter_rule *pd_meter_loop_rule(const struct pd_meter_loop *loop,
                                               const struct pd_flow_id *flow, uint32_t up)
{
    return find_rule(loop, flow, up);
}

int pd_meter_loop_rules(const struct pd_meter_loop *loop,
                        int (*visit)(void *context, const struct pd_meter_rule *rule),
                        void *context)
{
    int err = 0;

    for (uint32_t i = 0; i < loop->rules_len && !err; i++) {
        err = visit(context, &loop->rules[i]);
    }
    return err;
}

/* The index anew, with room for twice as many as there are and one. */
static int index_rules(struct pd_meter_loop *loop)
{
    uint32_t len = loop->index_len ? loop->index_len : 256;

    while (len < 2 * (uint64_t)loop->rules_len + 2) {
        len *= 2;
    }
    if (len != loop->index_len) {
        uint32_t *grown = realloc(loop->index, len * sizeof *grown);
        if (!grown) {
            return -ENOMEM;
        }
        loop->index = grown;
        loop->index_len = len;
    }
    memset(loop->index, 0, loop->index_len * sizeof *loop->index);
    for (uint32_t i = 0; i < loop->rules_len; i++) {
        loop->index[index_of(loop, &loop->rules[i].flow, loop->rules[i].up)] = i + 1;
    }
    return 0;
}

static void count_rule(struct pd_meter_loop *loop, const struct pd_meter_rule *rule, bool added)
{
    struct pd_meter_segment *segment = &loop->segments[rule->segment];
    const uint32_t one = added ? 1 : UINT32_MAX; /* unsigned: wraps to minus one */

    segment->rules += one;
    loop->up_rules[segment->up] += one;
    loop->down_rules[segment->down] += one;
    loop->counters.added += added;
    loop->counters.removed += !added;
}

static int make_rule(struct pd_meter_loop *loop, const struct candidate *candidate,
                     const struct pd_meter_rule **ret_rule)
{
    const uint32_t up = loop->segments[candidate->segment].up;

    if (PD_GROW(loop->rules, loop->rules_room, (size_t)loop->rules_len + 1)) {
        return -ENOMEM;
    }
    struct pd_meter_rule *rule = &loop->rules[loop->rules_len++];
    *rule = (struct pd_meter_rule){
        .flow = candidate->flow, .up = up, .segment = candidate->segment, .epoch = loop->epoch};
    const bool grows = 2 * (uint64_t)loop->rules_len + 2 > loop->index_len;
    const int err = grows ? index_rules(loop) : 0;
    if (err) {
        loop->rules_len--;
        return err;
    }
    if (!grows) {
        loop->index[index_of(loop, &rule->flow, up)] = loop->rules_len;
    }
    count_rule(loop, rule, true);
    *ret_rule = rule;
    return 0;
}

/* ---- what an epoch says ---- */

void pd_meter_loop_measured(struct pd_meter_loop *loop, uint32_t segment,
                            const struct pd_flow_id *flow, uint64_t sent, uint64_t lost)
{
    struct past *past = past_at(loop, segment, loop->epoch);

    past->sent += sent;
    past->lost += lost;
    past->flows++;
    pd_meter_loop_undetermined(loop, flow, loop->segments[segment].up);
}

void pd_meter_loop_undetermined(struct pd_meter_loop *loop, const struct pd_flow_id *flow,
                                uint32_t up)
{
    struct pd_meter_rule *rule = find_rule(loop, flow, up);

    if (rule) {
        rule->epoch = loop->epoch;
    }
}

void pd_meter_loop_unread(struct pd_meter_loop *loop, uint32_t segment)
{
    past_at(loop, segment, loop->epoch)->unread = true;
}

int pd_meter_loop_seen(struct pd_meter_loop *loop, uint32_t segment, const struct pd_flow_id *flow,
                       uint64_t pkts)
{
    if (PD_GROW(loop->candidates, loop->candidates_room, loop->candidates_len + 1)) {
        return -ENOMEM;
    }
    loop->candidates[loop->candidates_len++] =
        (struct candidate){.flow = *flow, .segment = segment, .pkts = pkts};
    return 0;
}

/* ---- the window ---- */

static void sum_window(const struct pd_meter_loop *loop, uint32_t number, bool *ret_fed)
{
    struct pd_meter_segment *segment = &loop->segments[number];

    segment->sent = segment->lost = 0;
    segment->epochs = segment->lossy = 0;
    *ret_fed = false;
    for (uint32_t e = 0; e < loop->settings.epochs; e++) {
        const struct past *past = past_at(loop, number, e);

        segment->sent += past->sent;
        segment->lost += past->lost;
        segment->epochs += past->flows > 0;
        segment->lossy += past->lost > 0;
        *ret_fed |= past->flows && past->sent >= loop->settings.alpha;
    }
}

/* Nothing arrived in the newest two epochs in which something was sent, and no single packet alone:
 * a flow that is left with one packet may lose it again to a full queue. */
static bool is_dead(const struct pd_meter_loop *loop, uint32_t number)
{
    uint32_t dead = 0;
    uint64_t lost = 0;

    for (uint32_t e = 0; e < loop->settings.epochs && e <= loop->epoch; e++) {
        const struct past *past = past_at(loop, number, loop->epoch - e);

        if (past->flows && past->lost < past->sent) {
            break;
        }
        dead += past->flows > 0;
        lost += past->lost;
    }
    return dead >= 2 && lost > 2;
}

static void give_epoch(struct pd_meter_segment *segment, struct past *past)
{
    segment->given_sent += past->sent;
    segment->given_lost += past->lost;
    past->held = false;
}

/* What can be given at once is; an epoch that was held goes when it leaves the window, so that each
 * is given at a time of its own. */
static void give(const struct pd_meter_loop *loop, uint32_t number, bool dead)
{
    struct pd_meter_segment *segment = &loop->segments[number];
    struct past *now = past_at(loop, number, loop->epoch);
    struct past *oldest = past_at(loop, number, loop->epoch + 1);

    segment->given_sent = segment->given_lost = 0;
    for (uint32_t e = 0; e < loop->settings.epochs && segment->loses; e++) {
        struct past *past = past_at(loop, number, e);

        past->counts = true;
        if (dead && past->held && past->lost == past->sent) {
            give_epoch(segment, past);
        }
    }
    if (now->held && (!now->lost || now->counts)) {
        give_epoch(segment, now);
    }
    if (oldest->held && oldest->counts) {
        give_epoch(segment, oldest);
    }
}

static void end_segment(struct pd_meter_loop *loop, uint32_t number)
{
    struct pd_meter_segment *segment = &loop->segments[number];
    struct past *now = past_at(loop, number, loop->epoch);
    bool fed;

    if (now->unread) { /* what one end alone knows is not known */
        *now = (struct past){.unread = true};
    }
    now->held = now->flows > 0;
    sum_window(loop, number, &fed);
    segment->flows = now->flows ? now->flows : segment->flows;
    const bool dead = is_dead(loop, number);
    segment->loses = segment->lossy >= loop->settings.epochs_min || dead ||
                     (past_at(loop, number, loop->epoch + 1)->held && segment->lossy > 1 &&
                      segment->lossy == segment->epochs);
    segment->state = now->unread || !segment->epochs ? PD_METER_SEGMENT_UNKNOWN
                     : fed                           ? PD_METER_SEGMENT_MEASURED
                                                     : PD_METER_SEGMENT_STARVED;
    give(loop, number, dead);
}

/* The epoch that comes takes the place of the oldest one. */
static void begin_epoch(struct pd_meter_loop *loop)
{
    loop->epoch++;
    for (uint32_t s = 0; s < loop->segments_len; s++) {
        struct past *oldest = past_at(loop, s, loop->epoch);

        loop->counters.transient += oldest->held ? oldest->lost : 0;
        *oldest = (struct past){0};
    }
}

/* ---- the choice ---- */

typedef int change_function(void *context, const struct pd_meter_rule *rule, bool added);

static int by_segment_then_size(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->segment != y->segment) {
        return x->segment < y->segment ? -1 : 1;
    }
    if (x->pkts != y->pkts) {
        return x->pkts > y->pkts ? -1 : 1;
    }
    return memcmp(&x->flow, &y->flow, sizeof x->flow);
}

/* A flow that is seen on another segment has left its own. */
static void mark_moved(struct pd_meter_loop *loop)
{
    for (size_t i = 0; i < loop->candidates_len; i++) {
        const struct candidate *candidate = &loop->candidates[i];
        struct pd_meter_rule *rule =
            find_rule(loop, &candidate->flow, loop->segments[candidate->segment].up);

        if (rule && rule->segment != candidate->segment && rule->epoch != UINT64_MAX) {
            rule->epoch = UINT64_MAX;
            loop->counters.moved++;
        }
    }
}

static bool is_over(const struct pd_meter_loop *loop, const struct pd_meter_rule *rule)
{
    return rule->epoch == UINT64_MAX || loop->epoch - rule->epoch >= loop->settings.epochs;
}

static int drop_rules(struct pd_meter_loop *loop, change_function *change, void *context)
{
    uint32_t kept = 0;
    int err = 0;

    for (uint32_t i = 0; i < loop->rules_len; i++) {
        const struct pd_meter_rule rule = loop->rules[i];

        if (err || !is_over(loop, &rule)) {
            loop->rules[kept++] = rule;
        } else {
            count_rule(loop, &rule, false);
            err = change(context, &rule, false);
        }
    }
    const bool less = kept < loop->rules_len;
    loop->rules_len = kept;
    const int again = less ? index_rules(loop) : 0;
    return err ? err : again;
}

static bool is_short(const struct pd_meter_loop *loop, uint32_t segment)
{
    const struct past *now = past_at(loop, segment, loop->epoch);

    return !now->unread && (now->sent < loop->settings.alpha || now->flows < loop->settings.beta);
}

static bool has_room(const struct pd_meter_loop *loop, const struct pd_meter_segment *segment)
{
    return loop->up_rules[segment->up] < loop->settings.rules_max &&
           loop->down_rules[segment->down] < loop->settings.rules_max;
}

static int add_rules(struct pd_meter_loop *loop, change_function *change, void *context)
{
    uint32_t chosen = 0, of = NONE;
    int err = 0;

    for (size_t i = 0; i < loop->candidates_len && !err; i++) {
        const struct candidate *candidate = &loop->candidates[i];
        struct pd_meter_segment *segment = &loop->segments[candidate->segment];
        const struct pd_meter_rule *rule;

        chosen = candidate->segment == of ? chosen : 0;
        of = candidate->segment;
        if (candidate->pkts <= loop->settings.eta || chosen == loop->settings.delta ||
            !is_short(loop, of) || find_rule(loop, &candidate->flow, segment->up)) {
            continue;
        }
        if (!has_room(loop, segment)) {
            segment->rules_full = true;
            loop->counters.full++;
            continue;
        }
        err = make_rule(loop, candidate, &rule);
        err = err ? err : change(context, rule, true);
        chosen++;
    }
    return err;
}

int pd_meter_loop_end(struct pd_meter_loop *loop, change_function *change, void *context)
{
    for (uint32_t s = 0; s < loop->segments_len; s++) {
        loop->segments[s].rules_full = false;
        end_segment(loop, s);
    }
    if (loop->candidates_len) {
        qsort(loop->candidates, loop->candidates_len, sizeof *loop->candidates,
              by_segment_then_size);
    }
    mark_moved(loop);
    int err = drop_rules(loop, change, context);
    err = err ? err : add_rules(loop, change, context);
    loop->candidates_len = 0;
    begin_epoch(loop);
    return err;
}
