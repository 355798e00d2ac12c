/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence of earlier periods: copies in a ring. */
#include "sim/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void pd_sim_kept_done(struct pd_kept_period *kept)
{
    free(kept->flows);
    free(kept->ways);
    free(kept->nodes);
    *kept = (struct pd_kept_period){0};
}

void pd_sim_history_done(struct pd_sim_history *history)
{
    for (unsigned i = 0; i < PD_HISTORY_MAX; i++) {
        pd_sim_kept_done(&history->periods[i]);
    }
    *history = (struct pd_sim_history){0};
}

static void count(const struct pd_sim_period *period, size_t *ret_ways, size_t *ret_nodes)
{
    *ret_ways = *ret_nodes = 0;
    for (size_t i = 0; i < period->rows_len; i++) {
        *ret_ways += period->flows[i].ways_len;
        for (size_t w = 0; w < period->flows[i].ways_len; w++) {
            *ret_nodes += period->flows[i].ways[w].nodes_len;
        }
    }
}

int pd_sim_kept_copy(struct pd_kept_period *kept, const struct pd_sim_period *period)
{
    size_t ways, nodes, way = 0, node = 0;

    count(period, &ways, &nodes);
    kept->flows = calloc(period->rows_len + 1, sizeof *kept->flows);
    kept->ways = calloc(ways + 1, sizeof *kept->ways);
    kept->nodes = calloc(nodes + 1, sizeof *kept->nodes);
    if (!kept->flows || !kept->ways || !kept->nodes) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < period->rows_len; i++) {
        kept->flows[i] = period->flows[i];
        kept->flows[i].ways = &kept->ways[way];
        for (size_t w = 0; w < period->flows[i].ways_len; w++, way++) {
            const struct pd_evidence_way *from = &period->flows[i].ways[w];

            kept->ways[way] = *from;
            kept->ways[way].nodes = &kept->nodes[node];
            memcpy(&kept->nodes[node], from->nodes, from->nodes_len * sizeof *kept->nodes);
            node += from->nodes_len;
        }
    }
    kept->rows_len = period->rows_len;
    kept->anew = period->anew;
    kept->from_us = period->from_us;
    kept->to_us = period->to_us;
    return 0;
}

int pd_sim_history_take(struct pd_sim_history *history, const struct pd_sim_period *period)
{
    if (!history->wanted) {
        history->since_us = period->from_us;
        return 0;
    }
    if (history->len == PD_HISTORY_MAX) {
        history->since_us = history->periods[history->first].to_us;
        pd_sim_kept_done(&history->periods[history->first]);
        history->first = (history->first + 1) % PD_HISTORY_MAX;
        history->len--;
    }
    struct pd_kept_period *kept =
        &history->periods[(history->first + history->len) % PD_HISTORY_MAX];
    int err = pd_sim_kept_copy(kept, period);
    if (err) {
        pd_sim_kept_done(kept);
    } else {
        history->len++;
    }
    return err;
}

int pd_sim_history_visit(struct pd_sim_history *history, uint64_t from_us, uint64_t to_us,
                         uint64_t before_us, const struct pd_evidence_sink *sink,
                         struct pd_report *report)
{
    int err = 0;

    history->wanted = true;
    if (from_us < history->since_us && report) {
        pd_app_report_lacks(report, "observations of before %.1f s are not kept",
                            (double)history->since_us / 1e6);
    }
    for (unsigned i = 0; !err && i < history->len; i++) {
        const struct pd_kept_period *kept =
            &history->periods[(history->first + i) % PD_HISTORY_MAX];

        if (kept->to_us <= before_us && kept->to_us > from_us && kept->from_us < to_us) {
            err =
                sink->take(sink->context, &(struct pd_evidence_period){.from_us = kept->from_us,
                                                                       .to_us = kept->to_us,
                                                                       .anew = kept->anew,
                                                                       .rows = kept->flows,
                                                                       .rows_len = kept->rows_len});
        }
    }
    return err;
}
