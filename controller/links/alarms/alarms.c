/* SPDX-License-Identifier: Apache-2.0 */
/* alarms: how many of the last minute name a path over the link. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/clock.h"
#include "controller/links/metric.h"

#define MINUTE_US   (60 * PD_US_PER_S)
#define ALARMS_MOST 10000u /* the newest */

/* Once for each alarm, however many of its paths cross the link: `last` has who counted last. */
static void count_path(const struct pd_link_window *window, const json_t *path, double alarms,
                       uint32_t number, uint32_t *last, float *values)
{
    for (size_t i = 0; i + 1 < json_array_size(path); i++) {
        uint32_t link = pd_topology_links_by_ids(
            window->world->topology, (uint32_t)json_integer_value(json_array_get(path, i)),
            (uint32_t)json_integer_value(json_array_get(path, i + 1)), NULL);

        if (link < window->len && last[link] != number) {
            last[link] = number;
            values[link] += (float)alarms;
        }
    }
}

static void count_alarm(const struct pd_link_window *window, const json_t *alarm, uint32_t number,
                        uint32_t *last, float *values)
{
    json_int_t times = json_integer_value(json_object_get(alarm, "count"));
    const json_t *path;
    size_t i;

    json_array_foreach(json_object_get(alarm, "paths"), i, path)
    {
        count_path(window, path, times > 0 ? (double)times : 1, number, last, values);
    }
}

static int read_alarms(struct pd_link_window *window, float *values, struct pd_error *error)
{
    const struct pd_app_world *world = window->world;
    uint64_t from_us = window->to_us > MINUTE_US ? window->to_us - MINUTE_US : 0;
    uint32_t *last = calloc((size_t)window->len + 1, sizeof *last);
    json_t *alarms = NULL, *alarm;
    size_t i;
    int err = last ? world->ops->alarms(world->context, NULL, from_us, window->to_us, ALARMS_MOST,
                                        &alarms, error)
                   : -ENOMEM;

    json_array_foreach(alarms, i, alarm)
    {
        count_alarm(window, alarm, (uint32_t)i + 1, last, values);
    }
    json_decref(alarms);
    free(last);
    return err;
}

extern const struct pd_link_metric pd_link_alarms;
const struct pd_link_metric pd_link_alarms = {
    .name = "alarms",
    .unit = "alarms",
    .fold = PD_LINK_MAX,
    .help = "alarms of the last minute on the links of the paths that they name",
    .read = read_alarms,
};
