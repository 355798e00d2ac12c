/* SPDX-License-Identifier: Apache-2.0 */
/* A bar on stderr that shows how far a long command has come. */
#include "cli/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "query/rows/text.h"

#define BAR_COLUMNS 30
#define REDRAW_MS   100
#define WAIT_MS     500 /* what takes less needs no word */

static uint64_t now_ms(void)
{
    return pd_clock_monotonic_ns() / 1000000;
}

void pd_cli_progress_begin(struct pd_progress *progress, const char *what)
{
    *progress = (struct pd_progress){.shown = isatty(STDERR_FILENO), .what = what};
    progress->start_ms = now_ms();
}

static void draw_bar(double part)
{
    char bar[BAR_COLUMNS + 1];
    for (int i = 0; i < BAR_COLUMNS; i++) {
        bar[i] = i < (int)(part * BAR_COLUMNS) ? '#' : ' ';
    }
    bar[BAR_COLUMNS] = '\0';
    fprintf(stderr, "[%s] %3d %%", bar, (int)(part * 100));
}

void pd_cli_progress_step(void *context, uint64_t done, uint64_t all)
{
    struct pd_progress *progress = context;
    char text[PD_TEXT_NUMBER_BYTES];
    uint64_t now = progress->shown ? now_ms() : 0;
    if (!progress->shown || now < progress->drawn_ms + REDRAW_MS) {
        return;
    }
    progress->drawn_ms = now;
    fprintf(stderr, "\r%s ", progress->what);
    if (all) {
        double part = done < all ? (double)done / (double)all : 1;
        uint64_t spent_ms = now - progress->start_ms;
        draw_bar(part);
        if (part > 0.01 && spent_ms > 1000) {
            fprintf(stderr, " %s left",
                    pd_row_text_span(
                        (uint64_t)((double)spent_ms * (1 - part) / part) / 1000 * 1000000, text));
        }
    } else {
        fputs(pd_row_text_number(done, text), stderr);
    }
    fputs("\033[K", stderr);
}

void pd_cli_progress_wait(void *context)
{
    struct pd_progress *progress = context;
    char text[PD_TEXT_NUMBER_BYTES];
    uint64_t now = progress->shown ? now_ms() : 0;
    if (!progress->shown || now < progress->start_ms + WAIT_MS ||
        now < progress->drawn_ms + REDRAW_MS) {
        return;
    }
    progress->drawn_ms = now;
    fprintf(stderr, "\r%s: %s s\033[K", progress->what,
            pd_row_text_number((now - progress->start_ms) / 1000, text));
}

void pd_cli_progress_end(struct pd_progress *progress)
{
    if (progress->drawn_ms) {
        fputs("\r\033[K", stderr);
    }
    progress->shown = false;
}
