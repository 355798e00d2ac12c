/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence that tests of localisers make by hand: flows between racks of a 4-ary fat-tree,
 * losses drawn at random. */
#ifndef PD_TESTS_LOCALISE_FLOWS_H
#define PD_TESTS_LOCALISE_FLOWS_H

#include <string.h>

#include "base/path.h"
#include "localise/localise.h"
#include "tests/shared/random.h"

enum { FLOWS_MAX = 256 };

struct flows {
    struct pd_path paths[FLOWS_MAX];
    struct pd_evidence_way ways[FLOWS_MAX];
    struct pd_evidence_row rows[FLOWS_MAX];
    size_t len;
};

/* Rack and host of one of 16 hosts of a fat-tree(4), address as its generator gives it. */
static inline struct pd_addr host_addr(uint32_t host)
{
    return (struct pd_addr){
        {10, (uint8_t)(host / 4 + 1), (uint8_t)(host / 2 % 2 + 1), (uint8_t)(host % 2 + 2)}};
}

static inline void random_path(struct random *random, uint32_t src, uint32_t dst,
                               struct pd_path *ret_path)
{
    uint32_t from = src / 2 + 1, to = dst / 2 + 1, pod = src / 4, other = dst / 4;
    uint32_t position = (uint32_t)random_below(random, 2), core = (uint32_t)random_below(random, 2);
    memset(ret_path, 0, sizeof *ret_path);
    ret_path->switches[ret_path->len++] = from;
    if (from == to) {
        return;
    }
    ret_path->switches[ret_path->len++] = 9 + 2 * pod + position;
    if (pod != other) {
        ret_path->switches[ret_path->len++] = 17 + 2 * position + core;
        ret_path->switches[ret_path->len++] = 9 + 2 * other + position;
    }
    ret_path->switches[ret_path->len++] = to;
}

static inline struct pd_evidence_way way_of(const struct pd_path *path, uint64_t pkts)
{
    return (struct pd_evidence_way){.nodes = path->switches,
                                    .nodes_len = path->len,
                                    .reached = true,
                                    .pkts = pkts,
                                    .bytes = pkts * 1500};
}

/* One more flow of `pkts` packets between random hosts; a packet is lost at link from-to with
 * probability `loss`. */
static inline struct pd_evidence_row *add_flow(struct flows *flows, struct random *random,
                                               uint32_t from, uint32_t to, double loss,
                                               uint64_t pkts)
{
    size_t i = flows->len++;
    uint32_t src = (uint32_t)random_below(random, 16),
             dst = (src + 1 + (uint32_t)random_below(random, 15)) % 16;
    uint64_t lost = 0;
    random_path(random, src, dst, &flows->paths[i]);
    if (pd_path_crosses(&flows->paths[i], (struct pd_link_match){from, to})) {
        for (uint64_t p = 0; p < pkts; p++) {
            lost += (double)random_below(random, 1000000) < loss * 1e6;
        }
    }
    flows->ways[i] = way_of(&flows->paths[i], pkts - lost);
    flows->rows[i] = (struct pd_evidence_row){.kind = PD_EVIDENCE_FLOW,
                                              .pkts = pkts - lost,
                                              .lost = lost,
                                              .ways = &flows->ways[i],
                                              .ways_len = 1};
    flows->rows[i].flow.src = host_addr(src);
    flows->rows[i].flow.dst = host_addr(dst);
    flows->rows[i].flow.ip_version = 4;
    return &flows->rows[i];
}

/* All of them as one period. */
static inline struct pd_evidence_period period_of(const struct flows *flows)
{
    return (struct pd_evidence_period){.rows = flows->rows, .rows_len = flows->len};
}

static inline int observe_flows(struct pd_localiser *localiser, const struct flows *flows)
{
    const struct pd_evidence_period period = period_of(flows);
    return pd_localiser_observe(localiser, &period);
}

static inline bool names(const struct pd_verdict *verdict, uint32_t from, uint32_t to)
{
    for (size_t i = 0; i < verdict->links_len; i++) {
        if (verdict->links[i].from == from && verdict->links[i].to == to) {
            return true;
        }
    }
    return false;
}

#endif
