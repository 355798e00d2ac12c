/* SPDX-License-Identifier: Apache-2.0 */
/* A bar on stderr that shows how far a long command has come; nothing at all where stderr is no
 * terminal. */
#ifndef PD_CLI_PROGRESS_H
#define PD_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* One thread. Drawn at most ten times a second, so it may be told of every step. */
struct pd_progress {
    bool shown;
    const char *what; /* "export" */
    uint64_t start_ms, drawn_ms;
};

void pd_cli_progress_begin(struct pd_progress *progress, const char *what);
/* `done` of `all`, in any unit; an `all` of 0 is not known. Fits pd_tib_compact. */
void pd_cli_progress_step(void *progress, uint64_t done, uint64_t all);
/* Nothing has come yet: shows for how long. Fits `waiting` of struct pd_cli_request. */
void pd_cli_progress_wait(void *progress);
void pd_cli_progress_end(struct pd_progress *progress); /* takes the bar away */

#endif
