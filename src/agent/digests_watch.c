/* SPDX-License-Identifier: Apache-2.0 */
/* What digests say about the network's plan and cables, as alarms. */
#include "agent/digests_watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

/* Digests of a wrong plan are noise: 8 bits fit a known path once in 256 packets. */
#define WATCH_NS    (PD_NS_PER_S / 2)
#define MISFITS_MIN 8

/* The walk really taken: a cable that the file does not have, or a file that is old. */
static void tell_miscabled(struct pd_alarms *alarms, const struct pd_flow_id *id,
                           const struct pd_pint_path *path)
{
    char words[256] = "not in the topology: the walk";
    size_t used = strlen(words);

    for (uint32_t p = 0; p < path->len && used < sizeof words; p++) {
        used += (size_t)snprintf(words + used, sizeof words - used, "%s%u", p ? "," : " ",
                                 path->switches[p]);
    }
    pd_alarms_raise(alarms, &(struct pd_alarm_raise){
                                .reason = PD_ALARM_INFEASIBLE_PATH, .flow = id, .detail = words});
}

static void watch_plan(struct pd_digests_watch *watch, const struct pd_pint_record *record,
                       uint64_t time_ns)
{
    char words[160];

    if (time_ns - watch->from_ns > WATCH_NS) {
        *watch = (struct pd_digests_watch){.alarms = watch->alarms, .from_ns = time_ns};
    }
    watch->fitting += record->path.len != 0;
    watch->misfits += !record->path.len && !record->candidates;
    if (watch->misfits < MISFITS_MIN || watch->misfits <= watch->fitting) {
        return;
    }
    snprintf(words, sizeof words,
             "the digests of %" PRIu64 " packets fit no path and those of %" PRIu64
             " do: the switches have another telemetry plan, or take no part",
             watch->misfits, watch->fitting);
    pd_alarms_raise(watch->alarms,
                    &(struct pd_alarm_raise){.reason = PD_ALARM_TELEMETRY_PLAN, .detail = words});
    *watch = (struct pd_digests_watch){.alarms = watch->alarms, .from_ns = time_ns};
}

void pd_agent_digests_watch(struct pd_digests_watch *watch, const struct pd_flow_id *id,
                            const struct pd_pint_flow *flow, const struct pd_pint_record *record,
                            uint64_t time_ns)
{
    if (!watch->alarms) {
        return;
    }
    if (record->state == PD_PINT_MISCABLED && record->known_at == pd_pint_flow_pkts(flow)) {
        tell_miscabled(watch->alarms, id, &record->path);
    }
    watch_plan(watch, record, time_ns);
}
