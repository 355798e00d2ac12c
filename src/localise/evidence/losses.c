/* SPDX-License-Identifier: Apache-2.0 */
/* The loss model of `evidence`: groups of suffering flows, expectation-maximisation, likelihood. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "localise/evidence/losses.h"
#include "localise/localise.h"

#define RATE_MIN   1e-7 /* a rate never gets smaller, so that it can grow again */
#define RATE_MAX   1.0
#define RATE_FIRST 1e-4 /* of a link just seen */
#define LOST_MIN   0.05 /* a group with less left goes */

void pd_losses_done(struct pd_losses *losses)
{
    free(losses->sent);
    free(losses->rate);
    free(losses->work);
    free(losses->groups);
    free(losses->members);
    free(losses->slots);
    *losses = (struct pd_losses){0};
}

static int grow_array(double **array, size_t len)
{
    double *grown = realloc(*array, len * sizeof *grown);
    if (!grown) {
        return -ENOMEM;
    }
    *array = grown;
    return 0;
}

int pd_losses_reserve(struct pd_losses *losses, size_t links_len)
{
    if (links_len > losses->links_room) {
        size_t room = links_len * 2;
        if (grow_array(&losses->sent, room) || grow_array(&losses->rate, room) ||
            grow_array(&losses->work, room)) {
            return -ENOMEM;
        }
        losses->links_room = room;
    }
    for (size_t l = losses->links_len; l < links_len; l++) {
        losses->sent[l] = 0;
        losses->rate[l] = RATE_FIRST;
    }
    if (links_len > losses->links_len) {
        losses->links_len = links_len;
    }
    return 0;
}

/* ---- groups */

static size_t find_slot(const struct pd_losses *losses, uint64_t key)
{
    size_t mask = losses->slots_len - 1, at = pd_hash_mix(key) & mask;
    while (losses->slots[at] && losses->groups[losses->slots[at] - 1].key != key) {
        at = (at + 1) & mask;
    }
    return at;
}

static void index_groups(struct pd_losses *losses)
{
    memset(losses->slots, 0, losses->slots_len * sizeof *losses->slots);
    for (size_t g = 0; g < losses->groups_len; g++) {
        losses->slots[find_slot(losses, losses->groups[g].key)] = (uint32_t)g + 1;
    }
}

static int grow_groups(struct pd_losses *losses)
{
    size_t room = losses->groups_room ? losses->groups_room * 2 : 256;
    struct pd_losses_group *groups = realloc(losses->groups, room * sizeof *groups);
    if (!groups) {
        return -ENOMEM;
    }
    losses->groups = groups;
    uint32_t *slots = realloc(losses->slots, 2 * room * sizeof *slots);
    if (!slots) {
        return -ENOMEM;
    }
    losses->slots = slots;
    losses->slots_len = 2 * room;
    losses->groups_room = room;
    index_groups(losses);
    return 0;
}

static int reserve_members(struct pd_losses *losses, size_t len)
{
    if (losses->members_len + len <= losses->members_room) {
        return 0;
    }
    size_t room = (losses->members_len + len) * 2;
    struct pd_losses_member *members = realloc(losses->members, room * sizeof *members);
    if (!members) {
        return -ENOMEM;
    }
    losses->members = members;
    losses->members_room = room;
    return 0;
}

static int add_group(struct pd_losses *losses, uint64_t key, const struct pd_losses_member *links,
                     size_t len, size_t slot)
{
    int code = reserve_members(losses, len);
    if (code) {
        return code;
    }
    losses->groups[losses->groups_len++] = (struct pd_losses_group){
        .key = key, .first = (uint32_t)losses->members_len, .links_len = (uint32_t)len};
    losses->slots[slot] = (uint32_t)losses->groups_len;
    memcpy(losses->members + losses->members_len, links, len * sizeof *links);
    losses->members_len += len;
    return 0;
}

int pd_losses_add(struct pd_losses *losses, uint64_t key, const struct pd_losses_member *links,
                  size_t len, double sent, double lost)
{
    if (losses->groups_len == losses->groups_room) {
        int code =
            losses->groups_len >= PD_LOCALISE_SIGNATURES_MAX ? -PD_E_FULL : grow_groups(losses);
        if (code) {
            return code;
        }
    }
    size_t slot = find_slot(losses, key);
    if (!losses->slots[slot]) {
        int code = add_group(losses, key, links, len, slot);
        if (code) {
            return code;
        }
    }
    losses->groups[losses->slots[slot] - 1].lost += lost;
    losses->deviation += lost * lost / sent;
    return 0;
}

void pd_losses_fade(struct pd_losses *losses, double keep)
{
    size_t groups_len = 0, members_len = 0;
    for (size_t l = 0; l < losses->links_len; l++) {
        losses->sent[l] *= keep;
    }
    for (size_t g = 0; g < losses->groups_len; g++) {
        struct pd_losses_group group = losses->groups[g];
        group.lost *= keep;
        if (group.lost < LOST_MIN) {
            continue;
        }
        memmove(losses->members + members_len, losses->members + group.first,
                group.links_len * sizeof *losses->members);
        group.first = (uint32_t)members_len;
        members_len += group.links_len;
        losses->groups[groups_len++] = group;
    }
    losses->groups_len = groups_len;
    losses->members_len = members_len;
    losses->deviation *= keep;
    losses->flows *= keep;
    if (losses->slots) {
        index_groups(losses);
    }
}

/* ---- the fit */

/* Probability that one packet of the group is lost. */
static double group_rate(const struct pd_losses *losses, const struct pd_losses_group *group,
                         const double *rate)
{
    const struct pd_losses_member *members = losses->members + group->first;
    double sum = 0;
    for (uint32_t i = 0; i < group->links_len; i++) {
        sum += members[i].weight * rate[members[i].link];
    }
    return sum;
}

/* Shares each group's losses out among its links, by their rates as they are. */
static void share_out(struct pd_losses *losses, const double *rate)
{
    for (size_t l = 0; l < losses->links_len; l++) {
        losses->work[l] = 0;
    }
    for (size_t g = 0; g < losses->groups_len; g++) {
        const struct pd_losses_group *group = &losses->groups[g];
        const struct pd_losses_member *members = losses->members + group->first;
        double each = group->lost / group_rate(losses, group, rate);
        for (uint32_t i = 0; i < group->links_len; i++) {
            losses->work[members[i].link] += each * members[i].weight;
        }
    }
}

void pd_losses_fit(struct pd_losses *losses, double *rate, unsigned steps, uint32_t fixed)
{
    for (unsigned step = 0; step < steps; step++) {
        share_out(losses, rate);
        for (size_t l = 0; l < losses->links_len; l++) {
            if (l == fixed || losses->sent[l] <= 0) {
                continue;
            }
            double next = rate[l] * losses->work[l] / losses->sent[l];
            rate[l] = next < RATE_MIN ? RATE_MIN : next > RATE_MAX ? RATE_MAX : next;
        }
    }
}

double pd_losses_likelihood(const struct pd_losses *losses, const double *rate)
{
    double sum = 0;
    for (size_t g = 0; g < losses->groups_len; g++) {
        sum += losses->groups[g].lost * log(group_rate(losses, &losses->groups[g], rate));
    }
    for (size_t l = 0; l < losses->links_len; l++) {
        sum -= rate[l] * losses->sent[l];
    }
    return sum;
}

/* Pearson's statistic over its degrees of freedom: Σ (r − nq)²/(nq) = Σ r²/(nq) − 2 Σ r + Σ nq,
 * where Σ nq = Σ r at the maximum, with the mean q of the observations that lost packets for each
 * of them. */
double pd_losses_dispersion(const struct pd_losses *losses)
{
    double lost = 0, weighted = 0;
    for (size_t g = 0; g < losses->groups_len; g++) {
        const struct pd_losses_group *group = &losses->groups[g];
        lost += group->lost;
        weighted += group->lost * group_rate(losses, group, losses->rate);
    }
    if (lost <= 0 || losses->flows < 1) {
        return 1;
    }
    double pearson = losses->deviation / (weighted / lost) - lost;
    double phi = pearson / losses->flows;
    return phi > 1 ? phi : 1;
}
