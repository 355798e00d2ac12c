/* SPDX-License-Identifier: Apache-2.0 */
/* A toy localiser on path losses: the link that most of the lost packets may have been lost on. */
#include <errno.h>
#include <stdlib.h>

#include "localise/localise.h"

#define LINKS_MAX 4096u

struct toy {
    struct pd_localiser head;
    struct {
        uint32_t from, to;
        uint64_t lost;
    } links[LINKS_MAX];
    size_t len;
    struct pd_verdict_link named;
};

static int toy_new(const struct pd_localiser_config *config, struct pd_localiser **ret_localiser)
{
    struct toy *toy = calloc(1, sizeof *toy);

    (void)config;
    if (!toy) {
        return -ENOMEM;
    }
    *ret_localiser = &toy->head;
    return 0;
}

static void toy_free(struct pd_localiser *localiser)
{
    free(localiser);
}

static void add(struct toy *toy, uint32_t from, uint32_t to, uint64_t lost)
{
    size_t i = 0;

    while (i < toy->len && (toy->links[i].from != from || toy->links[i].to != to)) {
        i++;
    }
    if (i == LINKS_MAX) {
        toy->head.counters.dropped++;
        return;
    }
    toy->len += i == toy->len;
    toy->links[i].from = from;
    toy->links[i].to = to;
    toy->links[i].lost += lost;
}

static void take_path(struct toy *toy, const struct pd_evidence_row *row)
{
    const struct pd_evidence_way *way = row->ways;

    toy->head.counters.paths++;
    toy->head.counters.paths_lossy += row->lost != 0;
    for (uint32_t i = 1; row->lost && i < way->nodes_len; i++) {
        add(toy, way->nodes[i - 1], way->nodes[i], row->lost);
    }
}

static int toy_observe(struct pd_localiser *localiser, const struct pd_evidence_period *period)
{
    for (size_t i = 0; i < period->rows_len; i++) {
        const struct pd_evidence_row *row = &period->rows[i];

        if (row->kind == PD_EVIDENCE_PATH && row->ways_len) {
            take_path((struct toy *)localiser, row);
        }
    }
    return 0;
}

static int toy_locate(struct pd_localiser *localiser, struct pd_verdict *ret_verdict)
{
    struct toy *toy = (struct toy *)localiser;
    uint64_t most = 0;

    for (size_t i = 0; i < toy->len; i++) {
        if (toy->links[i].lost > most) {
            most = toy->links[i].lost;
            toy->named = (struct pd_verdict_link){toy->links[i].from, toy->links[i].to, -1,
                                                  (double)toy->links[i].lost};
        }
    }
    *ret_verdict = (struct pd_verdict){.links = &toy->named, .links_len = most != 0};
    return 0;
}

extern const struct pd_localiser_ops toy_localiser;
const struct pd_localiser_ops toy_localiser = {
    .name = "toy",
    .help = "the link that most lost packets crossed",
    .kinds = PD_EVIDENCE_PATH,
    .new = toy_new,
    .free = toy_free,
    .observe = toy_observe,
    .locate = toy_locate,
};
