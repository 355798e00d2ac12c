/* SPDX-License-Identifier: Apache-2.0 */
/* What ECMP offers between two switches, hop by hop, and the gaps worked out before. */
#include "localise/gaps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"

enum { SLOTS_LEN = 2 * PD_LOCALISE_GAPS_MAX };

void pd_localise_gaps_done(struct pd_localise_network *network)
{
    for (size_t i = 0; i < network->gaps_len; i++) {
        free(network->gaps[i].hops);
    }
    free(network->gaps);
    free(network->slots);
    network->gaps = NULL;
    network->slots = NULL;
    network->gaps_len = network->gaps_room = 0;
}

void pd_localise_distances(const struct pd_topology *topology, uint32_t target, uint32_t *ret_far,
                           uint32_t *queue)
{
    uint32_t len = 0;
    memset(ret_far, 0xff, topology->switches_len * sizeof *ret_far);
    ret_far[target] = 0;
    queue[len++] = target;
    for (uint32_t at = 0; at < len; at++) {
        const struct pd_switch *sw = &topology->switches[queue[at]];
        for (uint32_t n = 0; n < sw->switch_neighbours; n++) {
            uint32_t next = sw->neighbours[n].node;
            if (ret_far[next] == PD_NONE) {
                ret_far[next] = ret_far[queue[at]] + 1;
                queue[len++] = next;
            }
        }
    }
}

/* ---- one gap ---- */

struct walk {
    const struct pd_topology *topology;
    uint32_t *far, *queue; /* hops to the end; switches in the order in which they are met */
    double *mass;          /* chance that a packet comes by; 0: not met yet */
};

static uint32_t count_next(const struct walk *walk, uint32_t at)
{
    const struct pd_switch *sw = &walk->topology->switches[at];
    uint32_t count = 0;
    for (uint32_t n = 0; n < sw->switch_neighbours; n++) {
        count += walk->far[sw->neighbours[n].node] == walk->far[at] - 1;
    }
    return count;
}

static int keep_hop(struct pd_localise_gap *gap, uint32_t *room, struct pd_localise_hop hop)
{
    if (PD_GROW(gap->hops, *room, gap->hops_len + 1)) {
        return -ENOMEM;
    }
    gap->hops[gap->hops_len++] = hop;
    return 0;
}

/* Switches are met nearest to the beginning first, so that each has all its mass when it is left.
 */
static int walk_gap(const struct walk *walk, struct pd_localise_gap *gap)
{
    uint32_t len = 0, room = 0;
    walk->mass[gap->from] = 1;
    walk->queue[len++] = gap->from;
    for (uint32_t i = 0; i < len; i++) {
        uint32_t at = walk->queue[i];
        const struct pd_switch *sw = &walk->topology->switches[at];
        if (!walk->far[at]) {
            break;
        }
        double chance = walk->mass[at] / count_next(walk, at);
        for (uint32_t n = 0; n < sw->switch_neighbours; n++) {
            uint32_t next = sw->neighbours[n].node;
            if (walk->far[next] != walk->far[at] - 1) {
                continue;
            }
            if (walk->mass[next] <= 0) {
                walk->queue[len++] = next;
            }
            walk->mass[next] += chance;
            if (keep_hop(gap, &room,
                         (struct pd_localise_hop){sw->neighbours[n].link,
                                                  gap->slots_len - walk->far[at], chance})) {
                return -ENOMEM;
            }
        }
    }
    return 0;
}

static int work_out(const struct pd_localise_network *network, struct pd_localise_gap *gap)
{
    const struct pd_topology *topology = network->topology;
    struct walk walk = {.topology = topology,
                        .far = calloc(topology->switches_len, sizeof *walk.far),
                        .queue = calloc(topology->switches_len, sizeof *walk.queue),
                        .mass = calloc(topology->switches_len, sizeof *walk.mass)};
    int err = walk.far && walk.queue && walk.mass ? 0 : -ENOMEM;
    if (!err) {
        pd_localise_distances(topology, gap->to, walk.far, walk.queue);
        err = walk.far[gap->from] == PD_NONE ? -PD_E_NOT_FOUND : 0;
    }
    if (!err) {
        gap->slots_len = walk.far[gap->from];
        err = walk_gap(&walk, gap);
    }
    if (err) {
        free(gap->hops);
    }
    free(walk.far);
    free(walk.queue);
    free(walk.mass);
    return err;
}

/* ---- those kept ---- */

static uint32_t *find_slot(const struct pd_localise_network *network, uint32_t from, uint32_t to)
{
    size_t at = pd_hash_mix((uint64_t)from << 32 | to) % SLOTS_LEN;
    while (network->slots[at] && (network->gaps[network->slots[at] - 1].from != from ||
                                  network->gaps[network->slots[at] - 1].to != to)) {
        at = (at + 1) % SLOTS_LEN;
    }
    return &network->slots[at];
}

static int reserve(struct pd_localise_network *network)
{
    if (network->gaps_len == PD_LOCALISE_GAPS_MAX) {
        pd_localise_gaps_done(network);
    }
    if (!network->slots && !(network->slots = calloc(SLOTS_LEN, sizeof *network->slots))) {
        return -ENOMEM;
    }
    if (PD_GROW(network->gaps, network->gaps_room, network->gaps_len + 1)) {
        return -ENOMEM;
    }
    return 0;
}

int pd_localise_gap_find(struct pd_localise_network *network, uint32_t from, uint32_t to,
                         const struct pd_localise_gap **ret_gap)
{
    int err = reserve(network);
    if (err) {
        return err;
    }
    uint32_t *slot = find_slot(network, from, to);
    if (!*slot) {
        struct pd_localise_gap gap = {.from = from, .to = to};
        err = work_out(network, &gap);
        if (err) {
            return err;
        }
        network->gaps[network->gaps_len++] = gap;
        *slot = (uint32_t)network->gaps_len;
    }
    *ret_gap = &network->gaps[*slot - 1];
    return 0;
}
