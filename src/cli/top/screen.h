/* SPDX-License-Identifier: Apache-2.0 */
/* The screen of `pathdump top`: keys in, snapshots out, until somebody ends it. */
#ifndef PD_CLI_TOP_SCREEN_H
#define PD_CLI_TOP_SCREEN_H

#include "cli/top/feed.h"

/* Needs a terminal; one thread at a time. ncurses is met here alone (screen_none.c without it). */

struct pd_top_show {
    const struct pd_top_table *table;
    const struct pd_cli_field *sort;
    const char *filter;    /* NULL: none */
    struct pd_style style; /* of times and texts */
};

/* -PD_E_UNSUPPORTED where this terminal cannot be drawn on; it is as it was then, as it is at the
 * end, also after SIGINT, SIGTERM and SIGHUP. *ret_signal is the one that ended it, or 0. */
int pd_top_screen_run(struct pd_top_feed *feed, const struct pd_top_show *show, int *ret_signal,
                      struct pd_error *error);

#endif
