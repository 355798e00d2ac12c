/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for strip.c where libbpf or clang was missing when this was built. */
#include <stddef.h>

#include "intake/live/strip.h"

int pd_live_strip_open(int ifindex, enum pd_strip_hook hook, const struct pd_strip_what *what,
                       struct pd_strip **ret_strip, struct pd_error *error)
{
    (void)ifindex;
    (void)hook;
    (void)what;
    (void)ret_strip;
    return pd_fail(error, -PD_E_UNSUPPORTED,
                   "strip: this build cannot take tags off (built without libbpf or clang)");
}

void pd_live_strip_close(struct pd_strip *strip)
{
    (void)strip;
}
