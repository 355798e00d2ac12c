/* SPDX-License-Identifier: Apache-2.0 */
/* Which drivers of meters there are, and the readings that they fill. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/meters/driver.h"
#include "base/grow.h"

extern const struct pd_agent_meter_driver_ops pd_agent_meters_tc, pd_agent_meters_swx;

const struct pd_agent_meter_driver_ops *const pd_agent_meter_drivers[] = {
    &pd_agent_meters_tc,
    &pd_agent_meters_swx,
    NULL,
};

static int unknown(const char *name, struct pd_error *error)
{
    char kinds[256] = "";
    size_t len = 0;

    for (size_t i = 0; pd_agent_meter_drivers[i] && len < sizeof kinds; i++) {
        len +=
            (size_t)snprintf(kinds + len, sizeof kinds - len, "%s%s:%s", i ? ", " : "",
                             pd_agent_meter_drivers[i]->kind, pd_agent_meter_drivers[i]->argument);
    }
    return pd_fail(error, -PD_E_VALUE, "--meters: \"%.200s\": expects %s", name, kinds);
}

int pd_agent_meter_driver_open(const char *name, uint32_t monitor,
                               struct pd_agent_meter_driver **ret_driver, struct pd_error *error)
{
    for (size_t i = 0; pd_agent_meter_drivers[i]; i++) {
        const struct pd_agent_meter_driver_ops *ops = pd_agent_meter_drivers[i];
        const size_t len = strlen(ops->kind);

        if (!strncmp(name, ops->kind, len) && name[len] == ':' && name[len + 1]) {
            const int err = ops->open(name + len + 1, monitor, ret_driver, error);
            if (!err) {
                (*ret_driver)->ops = ops;
            }
            return err;
        }
    }
    return unknown(name, error);
}

void pd_agent_meter_driver_close(struct pd_agent_meter_driver *driver)
{
    if (driver) {
        driver->ops->close(driver);
    }
}

/* ---- readings ---- */

int pd_agent_meter_reading_bucket(struct pd_agent_meter_reading *reading, bool down,
                                  const struct pd_agent_meter_bucket *bucket)
{
    if (PD_GROW(reading->roles[down].buckets, reading->roles[down].room,
                reading->roles[down].len + 1)) {
        return -ENOMEM;
    }
    reading->roles[down].buckets[reading->roles[down].len++] = *bucket;
    return 0;
}

int pd_agent_meter_reading_stray(struct pd_agent_meter_reading *reading,
                                 const struct pd_agent_meter_flow *stray)
{
    if (PD_GROW(reading->strays.flows, reading->strays.room, reading->strays.len + 1)) {
        return -ENOMEM;
    }
    reading->strays.flows[reading->strays.len++] = *stray;
    return 0;
}

int pd_agent_meter_reading_large(struct pd_agent_meter_reading *reading,
                                 const struct pd_agent_meter_flow *flow)
{
    for (size_t i = 0; i < reading->largest.len; i++) {
        struct pd_agent_meter_flow *there = &reading->largest.flows[i];

        if (there->filter == flow->filter && pd_flow_id_equal(&there->flow, &flow->flow)) {
            there->pkts += flow->pkts;
            return 0;
        }
    }
    if (PD_GROW(reading->largest.flows, reading->largest.room, reading->largest.len + 1)) {
        return -ENOMEM;
    }
    reading->largest.flows[reading->largest.len++] = *flow;
    return 0;
}

void pd_agent_meter_reading_done(struct pd_agent_meter_reading *reading)
{
    free(reading->roles[0].buckets);
    free(reading->roles[1].buckets);
    free(reading->strays.flows);
    free(reading->largest.flows);
    *reading = (struct pd_agent_meter_reading){.rows = 0};
}
