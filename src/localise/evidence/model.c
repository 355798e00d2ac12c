/* SPDX-License-Identifier: Apache-2.0 */
/* The localiser `evidence` on evidence without a clock: takes rows in. */
#include "localise/evidence/model.h"

#include <errno.h>
#include <stdlib.h>

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
        free(model->odds);
    }
    free(model);
}

int pd_evidence_model_new(const struct pd_localise_network *network,
                          struct pd_evidence_model **ret_model)
{
    struct pd_evidence_model *model = calloc(1, sizeof *model);
    size_t len = (size_t)network->links_len + 1;
    if (!model) {
        return -ENOMEM;
    }
    model->network = network;
    model->passed = calloc(len, sizeof *model->passed);
    model->crossed = calloc(len, sizeof *model->crossed);
    model->share = calloc(len, sizeof *model->share);
    model->touched = calloc(len, sizeof *model->touched);
    model->members = calloc(len, sizeof *model->members);
    model->theta = calloc(len, sizeof *model->theta);
    model->is_faulty = calloc(len, sizeof *model->is_faulty);
    model->odds = calloc(len, sizeof *model->odds);
    if (!model->passed || !model->crossed || !model->share || !model->touched || !model->members ||
        !model->theta || !model->is_faulty || !model->odds) {
        pd_evidence_model_free(model);
        return -ENOMEM;
    }
    *ret_model = model;
    return 0;
}

/* The links of the row with the chance that one of its packets crosses each. */
static size_t gather(struct pd_evidence_model *model, const struct pd_localise_row *row)
{
    size_t len = 0;
    for (size_t w = 0; w < row->ways_len; w++) {
        const struct pd_localise_way *way = &row->ways[w];
        for (uint32_t h = 0; h < way->hops_len; h++) {
            const struct pd_localise_hop *hop = &row->hops[way->first + h];
            if (model->share[hop->link] <= 0) {
                model->touched[len++] = hop->link;
            }
            model->share[hop->link] += hop->chance * way->share;
        }
    }
    for (size_t i = 0; i < len; i++) {
        uint32_t link = model->touched[i];
        model->members[i] = (struct pd_localise_member){.id = link, .weight = model->share[link]};
        model->share[link] = 0;
    }
    return len;
}

static int take_blind(struct pd_evidence_model *model, double lost, size_t len)
{
    int err =
        lost > 0 ? pd_localise_groups_add(&model->blind, model->members, len, 0, lost, NULL) : 0;
    model->blind_lost += err ? 0 : lost;
    return err;
}

/* Counts of others are hostile: no more was lost than was sent. */
int pd_evidence_model_take(struct pd_evidence_model *model, const struct pd_localise_row *row)
{
    double lost = (double)row->row->lost, sent = (double)row->row->pkts;
    size_t len = gather(model, row);
    int err = 0;
    if (row->row->pkts == PD_EVIDENCE_UNKNOWN) {
        return take_blind(model, lost, len);
    }
    sent = sent > lost ? sent : lost;
    if (lost > 0) {
        err = pd_localise_groups_add(&model->lossy, model->members, len, sent, lost, NULL);
    }
    for (size_t i = 0; i < len && !err; i++) {
        const struct pd_localise_member *member = &model->members[i];
        model->passed[member->id] += (sent - lost) * member->weight;
        model->crossed[member->id] += lost * member->weight;
    }
    return err;
}
