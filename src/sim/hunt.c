/* SPDX-License-Identifier: Apache-2.0 */
/* A hunt in the simulator: each period's observations to the localiser, changed verdicts to the caller. */
#include "sim/hunt.h"

#include <math.h>

#include "base/clock.h"

struct hunt {
    struct pd_localiser *localiser;
    struct pd_verdict last;
    int (*report)(void *context, double now_s, const struct pd_verdict *verdict);
    void *context;
};

static bool has_changed(const struct pd_verdict *a, const struct pd_verdict *b)
{
    if (a->links_len != b->links_len || a->certain != b->certain ||
        fabs(a->confidence - b->confidence) >= PD_HUNT_CONFIDENCE_STEP)
        return true;
    for (size_t i = 0; i < a->links_len; i++)
        if (a->links[i].from != b->links[i].from || a->links[i].to != b->links[i].to)
            return true;
    return false;
}

static int visit(void *context, const struct pd_observation *flows, size_t flows_len,
                 const struct pd_sim_totals *totals)
{
    struct hunt *hunt = context;
    struct pd_verdict verdict;
    if (!hunt->localiser)
        return 0;
    int code = pd_localiser_observe(hunt->localiser, flows, flows_len);
    if (!code)
        code = pd_localiser_locate(hunt->localiser, &verdict);
    if (code || !has_changed(&hunt->last, &verdict))
        return code;
    hunt->last = verdict;
    return hunt->report ? hunt->report(hunt->context, totals->now_s, &verdict) : 0;
}

int pd_hunt(const struct pd_scenario *scenario, uint64_t seed,
            const struct pd_localiser_ops *localiser,
            int (*report)(void *context, double now_s, const struct pd_verdict *verdict),
            void *context, struct pd_hunt_end *ret_end, struct pd_error *error)
{
    struct pd_localiser_config config = {.topology = scenario->topology,
                                         .link_mbps = scenario->link_mbps,
                                         .period_us = (uint64_t)scenario->period_ms * 1000};
    struct hunt hunt = {.report = report, .context = context};
    struct pd_hunt_end end = {.wall_s = 0};
    uint64_t start_ns = pd_clock_monotonic_ns();
    int code = localiser ? pd_localiser_new(localiser, &config, &hunt.localiser) : 0;
    if (code)
        return pd_fail(error, code, "no memory");
    code = pd_sim_run(scenario, seed, visit, &hunt, &end.totals, error);
    if (hunt.localiser)
        end.counters = hunt.localiser->counters;
    end.wall_s = (double)(pd_clock_monotonic_ns() - start_ns) / 1e9;
    pd_localiser_free(hunt.localiser);
    if (!code)
        *ret_end = end;
    return code;
}
