/* SPDX-License-Identifier: Apache-2.0 */
/* In place of tc.c where libbpf is missing. */
#include "agent/meters/driver.h"

static int open_none(const char *where, uint32_t monitor, struct pd_agent_meter_driver **ret_driver,
                     struct pd_error *error)
{
    (void)where;
    (void)monitor;
    (void)ret_driver;
    return pd_fail(error, -PD_E_UNSUPPORTED, "--meters: tc: this build has no libbpf");
}

extern const struct pd_agent_meter_driver_ops pd_agent_meters_tc;
const struct pd_agent_meter_driver_ops pd_agent_meters_tc = {
    .kind = "tc", .argument = "FOLDER", .open = open_none};
