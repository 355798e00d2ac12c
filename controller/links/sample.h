/* SPDX-License-Identifier: Apache-2.0 */
/* What all metrics say of one window of time. */
#ifndef PD_CONTROLLER_LINKS_SAMPLE_H
#define PD_CONTROLLER_LINKS_SAMPLE_H

#include <stdatomic.h>

#include "controller/links/metric.h"

/* Taken once and shared by all who look: immutable, but for texts that are made when somebody wants
 * them (live.h). Thread safety: holds and drops from any thread. */

struct pd_link_sample {
    atomic_uint holders;
    struct pd_inventory *inventory; /* held: the topology that links are numbered by */
    uint64_t generation;            /* of the topology */
    uint64_t number;                /* of live samples, from 1 on; 0: it was asked for */
    uint64_t from_us, to_us;
    bool complete;
    json_t *hosts;      /* {"asked","answered","missing"} */
    uint32_t len;       /* directed links between switches */
    uint64_t link_mbps; /* of links of which the topology does not say; 0: not known */
    float *values[PD_LINK_METRICS_MAX]; /* NULL: not read */
};

/* What a sample is wanted of. */
struct pd_link_wish {
    uint64_t from_us, to_us;
    bool newest;
    uint32_t only; /* the number of a link; PD_NONE: all */
    bool metrics[PD_LINK_METRICS_MAX];
};

/* Asks hosts as metrics need it, in the calling thread. What a metric cannot say is NAN, and the
 * sample is not complete. 0, or -ENOMEM. */
int pd_link_sample_take(struct pd_controller *controller, const struct pd_link_wish *wish,
                        struct pd_link_sample **ret_sample);
struct pd_link_sample *pd_link_sample_hold(struct pd_link_sample *sample);
void pd_link_sample_drop(struct pd_link_sample *sample); /* NULL is fine */

/* What scales of metrics are worked out from. */
struct pd_app_world pd_link_sample_world(const struct pd_link_sample *sample);

/* The topology's number in answers: that of another topology is another one, and less than 2^53. */
uint64_t pd_link_generation(const struct pd_topology *topology);

#endif
