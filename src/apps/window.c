/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of time. */
#include "apps/window.h"

#include "apps/args.h"
#include "base/clock.h"

int pd_app_window_read(const struct pd_app_call *call, struct pd_app_window *ret_window,
                       struct pd_error *error)
{
    uint64_t now = call->world->ops->now_us(call->world->context);
    uint64_t to = pd_app_arg_u64(call->args, "to", now);
    uint64_t before = (uint64_t)(pd_app_arg_number(call->args, "window", 60) * 1e6);
    uint64_t from = pd_app_arg_u64(call->args, "from", to > before ? to - before : 0);

    if (from > to) {
        return pd_fail(error, -PD_E_VALUE, "from: expects a time that is not behind `to`");
    }
    *ret_window = (struct pd_app_window){from, to};
    return 0;
}

json_t *pd_app_window_args(const struct pd_app_window *window)
{
    char from[PD_TIME_TEXT_BYTES], to[PD_TIME_TEXT_BYTES];

    return json_pack("{s:s, s:s, s:b}", "from", pd_time_format(window->from_us, from), "to",
                     pd_time_format(window->to_us, to), "live", 1);
}

double pd_app_window_s(const struct pd_app_window *window)
{
    uint64_t us = window->to_us - window->from_us;

    return (double)(us ? us : 1) / 1e6;
}

double pd_app_window_share(const struct pd_app_window *window, uint64_t stime_us, uint64_t etime_us)
{
    uint64_t begin = stime_us > window->from_us ? stime_us : window->from_us;
    uint64_t end = etime_us < window->to_us ? etime_us : window->to_us;

    if (etime_us < stime_us || end < begin) {
        return 0;
    }
    return etime_us == stime_us ? 1 : (double)(end - begin) / (double)(etime_us - stime_us);
}
