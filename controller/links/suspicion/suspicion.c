/* SPDX-License-Identifier: Apache-2.0 */
/* suspicion: how sure the last verdicts are that the link is faulty. */
#include <math.h>

#include "controller/apps/apps.h"
#include "controller/links/metric.h"

struct taking {
    const struct pd_link_window *window;
    float *values;
};

/* A link of a host is not between switches. */
static void suspect(const struct pd_link_window *window, const char *text, float confidence,
                    float *values)
{
    uint32_t first, len;

    if (!text || pd_topology_links_parse(window->world->topology, text, &first, &len)) {
        return;
    }
    for (uint32_t i = 0; i < len; i++) {
        if (first + 2 * i < window->len && values[first + 2 * i] < confidence) {
            values[first + 2 * i] = confidence;
        }
    }
}

static void take_report(void *context, const json_t *report)
{
    const struct taking *taking = context;
    double confidence = json_number_value(json_object_get(report, "confidence"));
    const json_t *link;
    size_t i;

    json_array_foreach(json_object_get(report, "links"), i, link)
    {
        suspect(taking->window, json_string_value(link), (float)confidence, taking->values);
    }
}

static int read_suspicion(struct pd_link_window *window, float *values, struct pd_error *error)
{
    struct taking taking = {window, values};

    if (!window->newest) {
        return pd_fail(error, -PD_E_NOT_FOUND, "suspicion: verdicts of then are not kept");
    }
    pd_apps_reports(window->controller, take_report, &taking);
    return 0;
}

extern const struct pd_link_metric pd_link_suspicion;
const struct pd_link_metric pd_link_suspicion = {
    .name = "suspicion",
    .unit = "confidence",
    .max = 1,
    .fold = PD_LINK_MAX,
    .help = "confidence of the last verdicts of watches that name the link",
    .read = read_suspicion,
};
