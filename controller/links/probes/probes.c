/* SPDX-License-Identifier: Apache-2.0 */
/* What probes tell of links: latency, residence, queue, loss, age, state. */
#include <math.h>

#include "controller/links/metric.h"
#include "controller/probes/probes.h"

/* Paper 001, section II-C. All of them are of now; NAN where no probe has told lately. */
static int read_now(struct pd_link_window *window, enum pd_link_probe_metric metric, float *values,
                    struct pd_error *error)
{
    if (!window->newest) {
        return pd_fail(error, -PD_E_NOT_FOUND, "what probes told then is not kept here");
    }
    if (!pd_controller_probes_read(window->world->topology, metric, values, window->len)) {
        for (uint32_t i = 0; i < window->len; i++) {
            values[i] = NAN;
        }
    }
    return 0;
}

/* Its function, and the row of the table. */
#define METRIC(id, which, unit_, max_, fold_, help_)                                           \
    static int read_##id(struct pd_link_window *window, float *values, struct pd_error *error) \
    {                                                                                          \
        return read_now(window, which, values, error);                                         \
    }                                                                                          \
    extern const struct pd_link_metric pd_link_##id;                                           \
    const struct pd_link_metric pd_link_##id = {.name = #id,                                   \
                                                .unit = (unit_),                               \
                                                .max = (max_),                                 \
                                                .fold = (fold_),                               \
                                                .help = (help_),                               \
                                                .of_now = true,                                \
                                                .read = read_##id}

METRIC(latency_ns, PD_LINK_LATENCY, "ns", 0, PD_LINK_MEAN,
       "time from egress of one switch to ingress of the next, by probes");
METRIC(latency_error_ns, PD_LINK_LATENCY_ERROR, "ns", 0, PD_LINK_MAX,
       "by how much latency_ns may be wrong, since clocks are estimated");
METRIC(hop_latency_ns, PD_LINK_HOP_LATENCY, "ns", 0, PD_LINK_MEAN,
       "time from ingress of one switch to ingress of the next, by both clocks");
METRIC(residence_ns, PD_LINK_RESIDENCE, "ns", 0, PD_LINK_MEAN,
       "how long probes stayed in the switch that sends into the link");
METRIC(queue_bytes, PD_LINK_QUEUE, "bytes", 0, PD_LINK_MEAN,
       "queue towards the link that probes met, in the mean");
METRIC(queue_max_bytes, PD_LINK_QUEUE_MAX, "bytes", 0, PD_LINK_MAX,
       "queue towards the link that probes met, the longest");
METRIC(probe_loss, PD_LINK_PROBE_LOSS, "share", 1, PD_LINK_MAX,
       "the least loss of a path of probes over the link: it loses no more");
METRIC(probe_age_ms, PD_LINK_PROBE_AGE, "ms", 0, PD_LINK_MAX,
       "how long ago a probe that crossed the link was told of");
METRIC(probe_state, PD_LINK_PROBE_STATE, "state", 3, PD_LINK_MAX,
       "0 unknown, 1 ok, 2 lossy, 3 dead: no probe crosses it, and no other link explains that");
