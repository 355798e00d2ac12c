/* SPDX-License-Identifier: Apache-2.0 */
/* probe-faults: which links are dead or lose packets, by probes alone? */
#include "apps/silent_drops/search.h"

/* Paper 001: probes cross every direction of every link, also where no traffic is. A path that
 * loses has its prefixes probed (probe/isolate.h), and all counts go to the localiser. */

static const struct pd_app_param params[] = {
    {.name = "method",
     .kind = PD_APP_LOCALISER,
     .value = "NAME",
     .fallback = "evidence",
     .help = "localiser: evidence, or another one that takes counted paths"},
    {.name = "seconds",
     .kind = PD_APP_SECONDS,
     .value = "S",
     .fallback = "60",
     .help = "how far back the first look goes"},
    {.name = NULL, .kind = PD_APP_TEXT},
};

static int open_probe_faults(const struct pd_app_call *call, void **ret_state,
                             struct pd_error *error)
{
    return pd_silent_drop_search_open(call, "probe-faults", PD_APP_PROBES, ret_state, error);
}

const struct pd_app_ops pd_app_probe_faults = {
    .name = "probe-faults",
    .section = "001, II-C",
    .help = "which links are dead or lose packets, by probes alone?",
    .params = params,
    .period_s = 0.1,
    .open = open_probe_faults,
    .run = pd_silent_drop_search_run,
    .close = pd_silent_drop_search_close,
};
