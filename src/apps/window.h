/* SPDX-License-Identifier: Apache-2.0 */
/* The time that an application looks at: arguments that all of them share, and what a query is
 * asked with. */
#ifndef PD_APPS_WINDOW_H
#define PD_APPS_WINDOW_H

#include <jansson.h>
#include <stdint.h>

#include "apps/apps.h"

/* `to` is now unless given; `from` is `window` seconds before. A record belongs to a window when it
 * overlaps it and queries count it whole; where rates matter, pd_app_window_share says how much of
 * it fell into the window, as if its bytes had come evenly. */

/* `seconds`: how long it is when no begin is given, as text. */
// clang-format off
#define PD_APP_WINDOW_PARAMS(seconds)                                                        \
    {.name = "from", .kind = PD_APP_TIME, .value = "TIME",                                   \
     .help = "begin; `window` before the end unless given"},                                 \
    {.name = "to", .kind = PD_APP_TIME, .value = "TIME", .help = "end; now unless given"},   \
    {.name = "window", .kind = PD_APP_SECONDS, .value = "S", .fallback = seconds,            \
     .help = "how long, when no begin is given"}
// clang-format on

struct pd_app_window {
    uint64_t from_us, to_us; /* from <= to */
};

/* -PD_E_VALUE: it ends before it begins. */
int pd_app_window_read(const struct pd_app_call *call, struct pd_app_window *ret_window,
                       struct pd_error *error);

/* {"from","to","live":true}, for pd_app_ask; NULL without memory. */
json_t *pd_app_window_args(const struct pd_app_window *window);
double pd_app_window_s(const struct pd_app_window *window); /* > 0 */

/* Share of the bytes of a record [stime, etime] that fell into the window: 0 … 1. */
double pd_app_window_share(const struct pd_app_window *window, uint64_t stime_us,
                           uint64_t etime_us);

#endif
