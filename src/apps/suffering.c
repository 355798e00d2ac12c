/* SPDX-License-Identifier: Apache-2.0 */
/* Flows that suffer: retransmissions since the time before. */
#include "apps/suffering.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "apps/rows.h"
#include "query/members.h"
#include "query/path_sums.h"
#include "query/suffering.h"

/* Asked for that far back, for senders whose clocks are behind. */
#define OLDEST_US (2 * PD_PATH_SUMS_SLACK_US)

static int by_flow(const void *a, const void *b)
{
    return memcmp(&((const struct pd_app_sufferer *)a)->flow,
                  &((const struct pd_app_sufferer *)b)->flow, sizeof(struct pd_flow_id));
}

struct pd_app_sufferer *pd_app_suffering_find(const struct pd_app_suffering *suffering,
                                              const struct pd_flow_id *flow)
{
    struct pd_app_sufferer key = {.flow = *flow};

    return suffering->len
               ? bsearch(&key, suffering->flows, suffering->len, sizeof *suffering->flows, by_flow)
               : NULL;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* A smaller counter is that of another connection with the same ports. */
static void compare(const struct pd_app_suffering *before, struct pd_app_sufferer *flow,
                    uint64_t recent, uint64_t spared)
{
    const struct pd_app_sufferer *old = pd_app_suffering_find(before, &flow->flow);
    uint64_t lost = flow->total - least(spared, flow->total);

    if (old && flow->total >= old->total) {
        flow->fresh = flow->total - old->total;
        flow->lost = lost > old->told ? lost - old->told : 0;
        flow->told = old->told + flow->lost;
    } else {
        flow->fresh = old ? flow->total : least(recent, flow->total);
        flow->lost = least(flow->fresh, lost);
        flow->told = lost;
    }
}

enum { TAKEN, WRONG, NOT_ITS_OWN };

static int take_row(const struct pd_app_suffering *before, const struct pd_topology *topology,
                    const json_t *row, struct pd_app_sufferer *ret_flow)
{
    struct pd_app_sufferer flow = {0};
    uint64_t recent, spared, host;

    if (!pd_query_flow_row_read(row, &flow.flow) ||
        !pd_query_row_number(row, PD_SUFFERING_TOTAL, &flow.total) ||
        !pd_query_row_number(row, PD_SUFFERING_RECENT, &recent) ||
        !pd_query_row_number(row, PD_SUFFERING_SPARED, &spared) ||
        !pd_query_row_number(row, PD_SUFFERING_HOST, &host)) {
        return WRONG;
    }
    if (pd_app_host_of(topology, &flow.flow.src, flow.flow.ip_version) != host) {
        return NOT_ITS_OWN;
    }
    compare(before, &flow, recent, spared);
    *ret_flow = flow;
    return TAKEN;
}

/* Two sockets of one flow: hostile or odd. The larger counter is kept. */
static size_t once_each(struct pd_app_sufferer *flows, size_t len)
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

static int take(struct pd_app_suffering *suffering, const struct pd_topology *topology,
                const json_t *answer, struct pd_report *report, struct pd_error *error)
{
    const json_t *rows = json_object_get(answer, "flows"), *row;
    struct pd_app_sufferer *flows = calloc(json_array_size(rows) + 1, sizeof *flows);
    size_t counts[] = {[TAKEN] = 0, [WRONG] = 0, [NOT_ITS_OWN] = 0}, i;
    uint64_t since_us = 0;

    if (!flows) {
        return pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    json_array_foreach((json_t *)(uintptr_t)rows, i, row)
    {
        counts[take_row(suffering, topology, row, &flows[counts[TAKEN]])]++;
    }
    if (counts[WRONG]) {
        pd_app_report_lacks(report, "%zu rows of " PD_SUFFERING_NAME " that make no sense",
                            counts[WRONG]);
    }
    if (counts[NOT_ITS_OWN]) {
        pd_app_report_lacks(report, "%zu flows of which hosts spoke that do not send them",
                            counts[NOT_ITS_OWN]);
    }
    (void)pd_app_number(answer, "since_us", &since_us);
    qsort(flows, counts[TAKEN], sizeof *flows, by_flow);
    free(suffering->flows);
    *suffering = (struct pd_app_suffering){.flows = flows,
                                           .len = once_each(flows, counts[TAKEN]),
                                           .since_us = since_us,
                                           .asked = true};
    return 0;
}

int pd_app_suffering_ask(struct pd_app_suffering *suffering, const struct pd_app_call *call,
                         uint64_t from_us, struct pd_report *report, struct pd_error *error)
{
    uint64_t back_us = suffering->asked ? OLDEST_US : 0, left_out = 0;
    json_t *args =
        json_pack("{s:I}", "from_us", (json_int_t)(from_us > back_us ? from_us - back_us : 0));
    json_t *answer = NULL;
    int err = pd_app_ask(call, report, PD_SUFFERING_NAME, args, NULL, &answer, error);
    const char *source = json_string_value(json_object_get(answer, "source"));

    if (!err && (!source || !strcmp(source, "none") || !strcmp(source, "mixed"))) {
        pd_app_report_lacks(report,
                            "TCP is not watched in the same way on all hosts, or not at all");
    }
    if (!err) {
        err = take(suffering, call->world->topology, answer, report, error);
    }
    if (!err && pd_app_number(answer, "left_out", &left_out) && left_out) {
        pd_app_report_lacks(report, "%" PRIu64 " flows that suffer, for which there was no room",
                            left_out);
    }
    json_decref(answer);
    return err;
}

void pd_app_suffering_done(struct pd_app_suffering *suffering)
{
    free(suffering->flows);
    *suffering = (struct pd_app_suffering){0};
}
