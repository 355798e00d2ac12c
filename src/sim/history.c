/* SPDX-License-Identifier: Apache-2.0 */
/* Observations of earlier periods: copies in a ring. */
#include "sim/history.h"

#include <errno.h>
#include <stdlib.h>

static void forget(struct pd_kept_period *kept)
{
    free(kept->flows);
    free(kept->records);
    free(kept->paths);
    *kept = (struct pd_kept_period){0};
}

void pd_history_done(struct pd_history *history)
{
    for (unsigned i = 0; i < PD_HISTORY_MAX; i++) {
        forget(&history->periods[i]);
    }
    *history = (struct pd_history){0};
}

static int copy(struct pd_kept_period *kept, const struct pd_sim_period *period)
{
    size_t records = 0, at = 0;

    for (size_t i = 0; i < period->flows_len; i++) {
        records += period->flows[i].records_len;
    }
    kept->flows = calloc(period->flows_len + 1, sizeof *kept->flows);
    kept->records = calloc(records + 1, sizeof *kept->records);
    kept->paths = calloc(records + 1, sizeof *kept->paths);
    if (!kept->flows || !kept->records || !kept->paths) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < period->flows_len; i++) {
        kept->flows[i] = period->flows[i];
        kept->flows[i].records = &kept->records[at];
        for (size_t r = 0; r < period->flows[i].records_len; r++, at++) {
            kept->records[at] = period->flows[i].records[r];
            kept->paths[at] = *kept->records[at].path;
            kept->records[at].path = &kept->paths[at];
        }
    }
    kept->flows_len = period->flows_len;
    kept->from_us = period->from_us;
    kept->to_us = period->to_us;
    return 0;
}

int pd_history_take(struct pd_history *history, const struct pd_sim_period *period)
{
    if (!history->wanted) {
        history->since_us = period->from_us;
        return 0;
    }
    if (history->len == PD_HISTORY_MAX) {
        history->since_us = history->periods[history->first].to_us;
        forget(&history->periods[history->first]);
        history->first = (history->first + 1) % PD_HISTORY_MAX;
        history->len--;
    }
    struct pd_kept_period *kept =
        &history->periods[(history->first + history->len) % PD_HISTORY_MAX];
    int code = copy(kept, period);
    if (code) {
        forget(kept);
    } else {
        history->len++;
    }
    return code;
}

int pd_history_visit(struct pd_history *history, uint64_t from_us, uint64_t to_us,
                     uint64_t before_us,
                     int (*visit)(void *visitor, const struct pd_observation *flows,
                                  size_t flows_len),
                     void *visitor, struct pd_report *report)
{
    int code = 0;

    history->wanted = true;
    if (from_us < history->since_us && report) {
        pd_report_lacks(report, "observations of before %.1f s are not kept",
                        (double)history->since_us / 1e6);
    }
    for (unsigned i = 0; !code && i < history->len; i++) {
        const struct pd_kept_period *kept =
            &history->periods[(history->first + i) % PD_HISTORY_MAX];

        if (kept->to_us <= before_us && kept->to_us > from_us && kept->from_us < to_us) {
            code = visit(visitor, kept->flows, kept->flows_len);
        }
    }
    return code;
}
