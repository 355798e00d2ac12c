/* SPDX-License-Identifier: Apache-2.0 */
/* How busy switches measured their ports to be, where a telemetry plan asks for it. */
#ifndef PD_APPS_MEASURED_H
#define PD_APPS_MEASURED_H

#include "apps/window.h"

/* Paper 002, Table 2 (utilisation, load imbalance): of a query of `utilisation-ppm` by hop,
 * `getTelemetry` by port. The mean over the packets that told it, which is what packets met: more
 * than the mean over time where traffic comes in bursts, and more than 1 where a queue stands.
 *
 * Applications that count bytes count what arrived; a port knows what it sent. One thread. */

#define PD_APP_MEASURED_PARAM                                                                \
    {                                                                                        \
        .name = "measured", .kind = PD_APP_TEXT, .value = "NAME", .fallback = "utilisation", \
        .help = "query of the telemetry plan that measures ports, if it has one"             \
    }

struct pd_app_measured_port {
    struct pd_link_match link;
    double used; /* of its capacity */
};

struct pd_app_measured {
    struct pd_app_measured_port *ports; /* by link */
    size_t len, room;
};

/* None where nothing is measured, or cannot be asked. 0 or -ENOMEM. */
int pd_app_measured_ask(const struct pd_app_call *call, const struct pd_app_window *window,
                        struct pd_app_measured *ret_measured);
void pd_app_measured_done(struct pd_app_measured *measured); /* works on zeroed memory */

/* Negative: not known. */
double pd_app_measured_used(const struct pd_app_measured *measured, struct pd_link_match link);

#endif
