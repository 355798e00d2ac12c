/* SPDX-License-Identifier: Apache-2.0 */
/* use: the load of a link as a share of its speed. */
#include <math.h>

#include "controller/links/metric.h"

extern const struct pd_link_metric pd_link_load, pd_link_use;

static float derive(const struct pd_app_world *world, uint32_t link, float load)
{
    double bps = pd_link_bps(world, link);

    return bps > 0 ? (float)((double)load / bps) : NAN;
}

const struct pd_link_metric pd_link_use = {
    .name = "use",
    .unit = "share",
    .max = 1,
    .fold = PD_LINK_MEAN,
    .help = "load_bps as a share of the link's speed (mbps of the topology, else --link-mbps)",
    .of = &pd_link_load,
    .derive = derive,
    .from_records = true,
};
