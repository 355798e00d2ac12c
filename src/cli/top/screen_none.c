/* SPDX-License-Identifier: Apache-2.0 */
/* Without ncurses: no screen. */
#include "cli/top/screen.h"

int pd_top_screen_run(struct pd_top_feed *feed, const struct pd_top_show *show, int *ret_signal,
                      struct pd_error *error)
{
    (void)feed;
    (void)show;
    *ret_signal = 0;
    return pd_fail(error, -PD_E_UNSUPPORTED, "built without ncurses");
}
