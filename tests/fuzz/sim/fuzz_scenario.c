/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios of any bytes: read or refused with words; small ones that are read also run a moment.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/watch.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void need(bool holds)
{
    if (!holds) {
        abort();
    }
}

/* At most some hundred flows: sizes and speed are as hostile as the rest. */
static bool is_small(const struct pd_sim_scenario *s)
{
    double flows_s =
        s->load * s->link_mbps * 1e6 / 8 / s->sizes.mean_bytes * s->topology->hosts_len;
    if (s->level == PD_SIM_EPOCHS && (s->epochs.epochs > 2 || s->epochs.flows_per_host[1] > 50)) {
        return false;
    }
    return s->topology->hosts_len <= 64 && flows_s < 3000 && s->link_mbps <= 10000;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct pd_sim_scenario scenario;
    struct pd_error error = {0};
    struct pd_sim_watch_end end;
    if (pd_sim_scenario_parse((const char *)bytes, len, "input", false, &scenario, &error)) {
        need(error.code < 0 && !strncmp(error.text, "input:", 6));
        return 0;
    }
    need(scenario.topology && scenario.load >= 0 && scenario.duration_s > 0);
    if (is_small(&scenario)) {
        scenario.duration_s = 0.02;
        const struct pd_sim_watch watch = {
            .scenario = &scenario, .seed = len, .app = pd_app_find("silent-drops")};
        need(watch.app && !pd_sim_watch(&watch, &end, &error));
    }
    pd_sim_scenario_done(&scenario);
    return 0;
}
