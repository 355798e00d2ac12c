/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of an epoch, compared by the rules of a loop. */
#include "meter/loop.h"

struct comparison {
    struct pd_meter_loop *loop;
    const struct pd_meter_loop_monitors *monitors;
    struct pd_meter_loop_sums *sums;
};

static uint32_t number_of(const struct comparison *comparison, uint32_t id)
{
    return comparison->monitors->number_of(comparison->monitors->context, id);
}

static const struct pd_meter_rule *rule_of(const struct comparison *comparison,
                                           const struct pd_flow_id *flow, uint32_t from)
{
    return pd_meter_loop_rule(comparison->loop, flow, number_of(comparison, from));
}

static bool ends_at(void *context, const struct pd_flow_id *flow, uint32_t from, uint32_t monitor)
{
    const struct comparison *comparison = context;
    const struct pd_meter_rule *rule = rule_of(comparison, flow, from);

    return rule && pd_meter_loop_segment(comparison->loop, rule->segment)->down ==
                       number_of(comparison, monitor);
}

/* A flow gets its rule because it was seen at the end of a segment. */
static bool seen_before(void *context, const struct pd_flow_id *flow, uint32_t from,
                        uint64_t *ret_filter)
{
    const struct pd_meter_rule *rule = rule_of(context, flow, from);

    if (rule) {
        *ret_filter = rule->segment;
    }
    return rule != NULL;
}

static int take_result(void *context, const struct pd_meter_result *result)
{
    const struct comparison *comparison = context;
    struct pd_meter_loop_sums *sums = comparison->sums;

    sums->more_received += result->more_received;
    if (result->why == PD_METER_MEASURED) {
        pd_meter_loop_measured(comparison->loop, (uint32_t)result->filter, &result->flow,
                               result->sent, result->lost);
        sums->measured += result->sent;
        sums->lost += result->lost;
    } else {
        pd_meter_loop_undetermined(comparison->loop, &result->flow,
                                   number_of(comparison, result->from));
        sums->undetermined++;
    }
    return 0;
}

int pd_meter_loop_compare(struct pd_meter_loop *loop, struct pd_meter_readings *readings,
                          const struct pd_meter_loop_monitors *monitors,
                          struct pd_meter_loop_sums *sums)
{
    struct comparison comparison = {loop, monitors, sums};
    const struct pd_meter_compare compare = {.ends_at = ends_at,
                                             .seen_before = seen_before,
                                             .result = take_result,
                                             .context = &comparison};

    return pd_meter_compare(readings, &compare);
}
