/* SPDX-License-Identifier: Apache-2.0 */
/* Senders: retransmissions of flows since the time before. */
#include "controller/apps/senders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apps/rows.h"

struct taking {
    const struct pd_senders *before;
    struct pd_sender *flows;
    size_t len;
    uint64_t lost;
};

static int by_flow(const void *a, const void *b)
{
    return memcmp(&((const struct pd_sender *)a)->flow, &((const struct pd_sender *)b)->flow,
                  sizeof(struct pd_flow_id));
}

const struct pd_sender *pd_senders_find(const struct pd_senders *senders,
                                        const struct pd_flow_id *flow)
{
    struct pd_sender key = {.flow = *flow};

    return senders->len
               ? bsearch(&key, senders->flows, senders->len, sizeof *senders->flows, by_flow)
               : NULL;
}

/* A smaller counter is that of another connection with the same ports. */
static uint64_t fresh_of(const struct pd_senders *before, const struct pd_sender *flow,
                         uint64_t recent)
{
    const struct pd_sender *old = pd_senders_find(before, &flow->flow);

    if (!old) {
        return recent < flow->total ? recent : flow->total;
    }
    return flow->total >= old->total ? flow->total - old->total : flow->total;
}

static int take_row(void *context, const struct pd_app_row *row, const json_t *object)
{
    struct taking *t = context;
    struct pd_sender flow = {.flow = row->flow};
    uint64_t recent;

    if (!row->flow.ip_version || !pd_app_number(object, "retransmissions", &flow.total)) {
        return 0;
    }
    if (!pd_app_number(object, "recent", &recent)) {
        recent = flow.total;
    }
    flow.fresh = fresh_of(t->before, &flow, recent);
    if (t->len == PD_SENDERS_FLOWS_MAX) {
        t->lost++;
    } else {
        t->flows[t->len++] = flow;
    }
    return 0;
}

/* Two hosts, or two sockets, of one flow: hostile or odd. The larger counter is kept. */
static size_t once_each(struct pd_sender *flows, size_t len)
{
    size_t kept = 0;

    for (size_t i = 0; i < len; i++) {
        if (kept && pd_flow_id_equal(&flows[kept - 1].flow, &flows[i].flow)) {
            if (flows[i].total > flows[kept - 1].total) {
                flows[kept - 1] = flows[i];
            }
        } else {
            flows[kept++] = flows[i];
        }
    }
    return kept;
}

int pd_senders_take(struct pd_senders *senders, const json_t *answer, struct pd_report *report,
                    struct pd_error *error)
{
    size_t rows = json_array_size(json_object_get(answer, "flows"));
    size_t room = rows < PD_SENDERS_FLOWS_MAX ? rows : PD_SENDERS_FLOWS_MAX;
    struct taking t = {.before = senders, .flows = calloc(room + 1, sizeof *t.flows)};
    uint64_t since_us = 0;

    if (!t.flows) {
        return pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    int e = pd_app_rows(answer, "flows", report, take_row, &t, error);
    if (e) {
        free(t.flows);
        return e;
    }
    (void)pd_app_number(answer, "since_us", &since_us);
    qsort(t.flows, t.len, sizeof *t.flows, by_flow);
    free(senders->flows);
    *senders = (struct pd_senders){.flows = t.flows,
                                   .len = once_each(t.flows, t.len),
                                   .since_us = since_us,
                                   .lost = t.lost,
                                   .asked = true};
    return 0;
}

void pd_senders_done(struct pd_senders *senders)
{
    free(senders->flows);
    *senders = (struct pd_senders){0};
}
