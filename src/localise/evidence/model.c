/* SPDX-License-Identifier: Apache-2.0 */
/* The localiser `evidence`: takes rows in, and forgets them. */
#include "localise/evidence/model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "topology/links.h"

#include "localise/gaps.h"

#define LOST_MIN 0.05 /* a group with less left goes: one loss after four half-lives */

void pd_evidence_model_free(struct pd_evidence_model *model)
{
    if (model) {
        pd_localise_groups_done(&model->lossy);
        pd_localise_groups_done(&model->blind);
        free(model->passed);
        free(model->crossed);
        free(model->usual);
        free(model->share);
        free(model->touched);
        free(model->members);
        free(model->theta);
        free(model->is_faulty);
        free(model->part_of);
        free(model->odds);
        free(model->masked);
        free(model->hurt);
        free(model->now_sent);
        free(model->now_lost);
        free(model->now_hurt);
        free(model->by_packets);
        free(model->by_rows);
        free(model->now_rows);
        free(model->now_counted);
        free(model->periods);
        free(model->passed_hurt);
        free(model->burst_of);
        free(model->word_of);
        free(model->is_contradicted);
        free(model->sound);
        free(model->instead);
        free(model->instead_odds);
    }
    free(model);
}

/* Each (switch, card) once, however many ports it has. */
static uint32_t count_cards(const struct pd_topology *topology)
{
    uint32_t len = 0;
    for (uint32_t l = 0; l < pd_links_directed(topology); l++) {
        bool is_host = pd_links_of(topology, l)->is_host && (l & 1);
        bool again = is_host || !pd_links_card(topology, l);
        const struct pd_switch *sw = again ? NULL : &topology->switches[pd_links_from(topology, l)];
        for (uint32_t n = 0; sw && n < sw->neighbours_len && !again; n++) {
            uint32_t other = sw->neighbours[n].link;
            again |= other < l && pd_links_card(topology, other) == pd_links_card(topology, l);
        }
        len += !again;
    }
    return len;
}

int pd_evidence_model_new(struct pd_localise_network *network, struct pd_evidence_model **ret_model)
{
    struct pd_evidence_model *model = calloc(1, sizeof *model);
    size_t len = (size_t)network->links_len + 1;
    if (!model) {
        return -ENOMEM;
    }
    model->network = network;
    model->burst = model->dispersion = 1;
    model->cards_len = count_cards(network->topology);
    double **const arrays[] = {
        &model->passed,   &model->crossed,  &model->hurt,        &model->share,
        &model->theta,    &model->odds,     &model->masked,      &model->now_sent,
        &model->now_lost, &model->now_hurt, &model->now_rows,    &model->now_counted,
        &model->periods,  &model->burst_of, &model->passed_hurt, &model->instead_odds};
    bool failed = false;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i] = calloc(len, sizeof(double));
        failed |= !*arrays[i];
    }
    model->touched = calloc(len, sizeof *model->touched);
    model->members = calloc(len, sizeof *model->members);
    model->is_faulty = calloc(len, sizeof *model->is_faulty);
    model->part_of = calloc(len, sizeof *model->part_of);
    model->word_of = calloc(len, sizeof *model->word_of);
    model->is_contradicted = calloc(len, sizeof *model->is_contradicted);
    model->instead = calloc(len, sizeof *model->instead);
    model->sound = calloc(len, sizeof *model->sound);
    model->by_packets = calloc(len, sizeof *model->by_packets);
    model->by_rows = calloc(len, sizeof *model->by_rows);
    failed |= !model->word_of || !model->is_contradicted || !model->instead || !model->sound ||
              !model->by_packets || !model->by_rows;
    if (failed || !model->touched || !model->members || !model->is_faulty || !model->part_of) {
        pd_evidence_model_free(model);
        return -ENOMEM;
    }
    *ret_model = model;
    return 0;
}

static size_t touch(struct pd_evidence_model *model, size_t len, uint32_t link, double share)
{
    if (model->share[link] <= 0) {
        model->touched[len++] = link;
    }
    model->share[link] += share;
    return len;
}

static size_t list_members(struct pd_evidence_model *model, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        uint32_t link = model->touched[i];
        model->members[i] = (struct pd_localise_member){.id = link, .weight = model->share[link]};
        model->share[link] = 0;
    }
    return len;
}

/* The links of the row with the chance that one of its packets crossed each. */
static size_t gather(struct pd_evidence_model *model, const struct pd_localise_row *row)
{
    size_t len = 0;
    for (size_t w = 0; w < row->ways_len; w++) {
        const struct pd_localise_way *way = &row->ways[w];
        for (uint32_t h = 0; h < way->hops_len; h++) {
            const struct pd_localise_hop *hop = &row->hops[way->first + h];
            len = touch(model, len, hop->link, hop->chance * way->share);
        }
    }
    return list_members(model, len);
}

/* ---- sprayed flows ---- */

/* All shortest paths between the first and the last switch of a row's first way; NULL: none. */
static const struct pd_localise_gap *paths_of(struct pd_evidence_model *model,
                                              const struct pd_localise_row *row)
{
    const struct pd_localise_way *way = &row->ways[0];
    const struct pd_localise_gap *gap = NULL;
    uint32_t from = PD_NONE, to = PD_NONE;
    for (uint32_t h = 0; h < way->hops_len; h++) {
        const struct pd_localise_ends *ends = &model->network->ends[row->hops[way->first + h].link];
        if (!ends->is_access) {
            from =
                from == PD_NONE ? pd_topology_switch(model->network->topology, ends->from) : from;
            to = pd_topology_switch(model->network->topology, ends->to);
        }
    }
    return from == PD_NONE || pd_localise_gap_find(model->network, from, to, &gap) ? NULL : gap;
}

/* Could packets that are spread evenly over these paths have arrived as the row's (`members`) did?
 * No link got more or less than one in a thousand of such flows shows anywhere. */
static bool is_even(const struct pd_evidence_model *model, const struct pd_localise_gap *gap,
                    size_t len, double pkts)
{
    double bound = 2 * log(model->network->links_len / PD_EVIDENCE_MISSES), fabric = 0;
    for (size_t i = 0; i < len; i++) {
        const struct pd_localise_member *member = &model->members[i];
        fabric += model->network->ends[member->id].is_access ? 0 : member->weight;
    }
    for (uint32_t h = 0; h < gap->hops_len; h++) {
        double share = 0, expected = pkts * gap->hops[h].chance;
        for (size_t i = 0; i < len; i++) {
            share += model->members[i].id == gap->hops[h].link ? model->members[i].weight : 0;
        }
        double beyond = pkts * share - expected;
        fabric -= share;
        if (beyond * beyond > bound * expected) {
            return false;
        }
    }
    return fabric < 1e-6; /* nothing went elsewhere */
}

/* Where packets of a sprayed flow were sent; `len` members, where they arrived, before. */
static size_t spread_evenly(struct pd_evidence_model *model, const struct pd_localise_row *row,
                            size_t len)
{
    const struct pd_localise_gap *gap = row->ways_len > 1 ? paths_of(model, row) : NULL;
    size_t spread = 0;
    if (row->ways_len < 2) {
        return len;
    }
    if (!gap || !is_even(model, gap, len, (double)row->row->pkts)) {
        model->uneven += (double)row->row->lost;
        return len;
    }
    for (size_t i = 0; i < len; i++) {
        if (model->network->ends[model->members[i].id].is_access) {
            spread = touch(model, spread, model->members[i].id, model->members[i].weight);
        }
    }
    for (uint32_t h = 0; h < gap->hops_len; h++) {
        spread = touch(model, spread, gap->hops[h].link, gap->hops[h].chance);
    }
    return list_members(model, spread);
}

/* ---- rows ---- */

static int take_blind(struct pd_evidence_model *model, double lost, size_t len)
{
    int err =
        lost > 0 ? pd_localise_groups_add(&model->blind, model->members, len, 0, lost, NULL) : 0;
    model->blind_lost += err ? 0 : lost;
    return err;
}

/* Full queues drop packets in bursts, but never all of them: what was counted and lost whole tells
 * of no burst, and stays out of the sums by periods. */
static bool is_lost_whole(const struct pd_localise_row *row)
{
    return row->row->kind == PD_EVIDENCE_PATH && row->row->ways->origin == PD_EVIDENCE_FROM_METER &&
           row->row->lost >= row->row->pkts;
}

/* What meters counted is of many flows: each loss counts as a row of its own. */
static int take_lost(struct pd_evidence_model *model, const struct pd_localise_row *row,
                     double sent, double lost, size_t len)
{
    double rows = row->row->kind == PD_EVIDENCE_PATH ? lost : 1, links = 0;
    uint32_t number = 0;
    for (size_t i = 0; i < len; i++) {
        links += model->members[i].weight;
    }
    model->members[0].tag =
        rows > 1 || row->row->kind == PD_EVIDENCE_PATH ? 0 : pd_evidence_cell(sent, links);
    int err = pd_localise_groups_add(&model->lossy, model->members, len, sent, lost, &number);
    if (!err && rows > 1) {
        struct pd_localise_group *group = &model->lossy.groups[number];
        group->count += rows - 1;
        group->squares += rows - lost * lost;
        group->products += sent - lost * sent;
        group->sent_squares += sent * sent / rows - sent * sent;
    }
    for (size_t i = 0; i < len && !err; i++) {
        const struct pd_localise_member *member = &model->members[i];
        model->crossed[member->id] += lost * member->weight;
        model->hurt[member->id] += rows * member->weight;
        if (!is_lost_whole(row)) {
            model->now_lost[member->id] += lost * member->weight;
            model->now_hurt[member->id] += rows * member->weight;
        }
    }
    model->lost += err ? 0 : lost;
    return err;
}

/* Counted packets are of flows without a row of their own, unless they were counted beside them. */
static bool is_sum(const struct pd_localise_row *row)
{
    uint8_t origin = row->row->ways[0].origin;
    return row->row->kind == PD_EVIDENCE_PATH && origin != PD_EVIDENCE_FROM_METER &&
           origin != PD_EVIDENCE_FROM_PROBE;
}

/* Packets of a row that were not lost. Sums are of flows whose numbers and sizes nobody knows. */
static void take_passed(struct pd_evidence_model *model, const struct pd_localise_row *row,
                        double sent, double lost, size_t len)
{
    bool is_flow = row->row->kind == PD_EVIDENCE_FLOW;
    double links = 0;
    for (size_t i = 0; i < len; i++) {
        links += model->members[i].weight;
    }
    uint32_t cell = is_flow ? pd_evidence_cell(sent, links) : 0;
    double chance = pd_evidence_chance(model, cell);
    bool is_counted = !cell || model->unlisted > 0;
    for (size_t i = 0; i < len; i++) {
        const struct pd_localise_member *member = &model->members[i];
        model->passed[member->id] += (sent - lost) * member->weight;
        model->passed_hurt[member->id] += is_flow && lost > 0 ? (sent - lost) * member->weight : 0;
        if (!is_lost_whole(row)) {
            model->now_sent[member->id] += sent * member->weight;
            model->now_counted[member->id] += is_counted ? sent * member->weight : 0;
            model->now_rows[member->id] += is_counted ? 0 : chance * member->weight;
        }
    }
    model->sent += sent;
    model->flow_sent += is_flow ? sent : 0;
    model->flow_squares += is_flow ? sent * sent : 0;
    model->flow_lost += is_flow ? lost : 0;
    model->now_flow_sent += is_counted ? 0 : sent;
    model->now_chances += is_counted ? 0 : chance;
    model->unlisted += is_sum(row) ? (sent - lost) * links : 0;
    model->cells[cell].clean += lost > 0 ? 0 : 1;
    model->cells[cell].hurt += lost > 0 ? 1 : 0;
}

/* Counts of others are hostile: no more was lost than was sent. */
int pd_evidence_model_take(struct pd_evidence_model *model, const struct pd_localise_row *row)
{
    double lost = (double)row->row->lost, sent = (double)row->row->pkts;
    size_t len = gather(model, row);
    if (row->row->pkts == PD_EVIDENCE_UNKNOWN) {
        return take_blind(model, lost, len);
    }
    sent = sent > lost ? sent : lost;
    take_passed(model, row, sent, lost, len);
    return lost > 0 ? take_lost(model, row, sent, lost, spread_evenly(model, row, len)) : 0;
}

/* ---- time ---- */

static void add_period(struct pd_evidence_sums *sums, double sent, double hurt, double lost)
{
    sums->sent += sent;
    sums->hurts += hurt * hurt / sent;
    sums->products += hurt * lost / sent;
    sums->losses += lost * lost / sent;
}

static void fade_sums(struct pd_evidence_sums *sums, double keep)
{
    sums->sent *= keep;
    sums->hurts *= keep;
    sums->products *= keep;
    sums->losses *= keep;
}

/* Chances become packets. */
static void count_rows(struct pd_evidence_model *model)
{
    double each = pd_evidence_chance_in_packets(model);
    for (uint32_t l = 0; l < model->network->links_len; l++) {
        double rows = each > 0 ? model->now_rows[l] * each + model->now_counted[l] : 0;
        model->now_rows[l] = rows > 0 ? rows : model->now_sent[l];
    }
}

void pd_evidence_model_close(struct pd_evidence_model *model)
{
    count_rows(model);
    pd_evidence_model_listen(model);
    for (uint32_t l = 0; l < model->network->links_len; l++) {
        double lost = model->now_lost[l], hurt = model->now_hurt[l];
        if (model->now_sent[l] > 0) {
            add_period(&model->by_packets[l], model->now_sent[l], hurt, lost);
            add_period(&model->by_rows[l], model->now_rows[l], hurt, lost);
            model->periods[l]++;
        }
        model->now_sent[l] = model->now_rows[l] = model->now_lost[l] = model->now_hurt[l] = 0;
        model->now_counted[l] = 0;
    }
    model->now_flow_sent = model->now_chances = 0;
}

void pd_evidence_model_fade(struct pd_evidence_model *model, double keep)
{
    double *const arrays[] = {model->passed, model->crossed, model->hurt, model->periods,
                              model->passed_hurt};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        for (uint32_t l = 0; l < model->network->links_len; l++) {
            arrays[i][l] *= keep;
        }
    }
    for (uint32_t l = 0; l < model->network->links_len; l++) {
        fade_sums(&model->by_packets[l], keep);
        fade_sums(&model->by_rows[l], keep);
    }
    model->blind_lost *= keep;
    for (size_t c = 0; c < PD_EVIDENCE_CELLS; c++) {
        model->cells[c].clean *= keep;
        model->cells[c].hurt *= keep;
    }
    model->sent *= keep;
    model->flow_sent *= keep;
    model->flow_squares *= keep;
    model->flow_lost *= keep;
    model->unlisted *= keep;
    model->uneven *= keep;
    model->lost *= keep;
    pd_localise_groups_fade(&model->lossy, keep, LOST_MIN);
    pd_localise_groups_fade(&model->blind, keep, LOST_MIN);
}
