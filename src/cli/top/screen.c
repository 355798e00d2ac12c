/* SPDX-License-Identifier: Apache-2.0 */
/* The screen of `pathdump top`, drawn with ncurses. */
#include "cli/top/screen.h"

#include <curses.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/top/lines.h"

#define ESCAPE      27
#define FILTER_MAX  60
#define ESCAPE_MS   25 /* a key's sequence comes together */
#define HEAD_LINES  2  /* who and when; the sums */
#define FOOT_LINES  1
#define CLOCK_BYTES 16

enum mode { TABLE, FILTER, DETAILS, HELP };

struct screen {
    struct pd_top_feed *feed;
    struct pd_top_show show;
    struct pd_top_snapshot snapshot; /* table NULL: none has come */
    struct pd_error error;
    json_t *rows; /* of the snapshot, arranged */
    enum mode mode;
    bool paused, done;
    int chosen, first; /* rows: where the hand is, and the top of the screen */
    char filter[FILTER_MAX + 1], typed[FILTER_MAX + 1];
};

/* ---- signals ---- */

static volatile sig_atomic_t ended_by;

static void on_signal(int number)
{
    ended_by = number;
}

static const int enders[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
#define ENDERS (sizeof enders / sizeof *enders)

static void catch_signals(struct sigaction before[ENDERS])
{
    struct sigaction action = {.sa_handler = on_signal};

    ended_by = 0;
    for (size_t i = 0; i < ENDERS; i++) {
        sigaction(enders[i], &action, &before[i]);
    }
}

static void leave_signals(const struct sigaction before[ENDERS])
{
    for (size_t i = 0; i < ENDERS; i++) {
        sigaction(enders[i], &before[i], NULL);
    }
}

/* ---- drawing ---- */

/* As much of the text as the line has room for; the rest of the line is blank. */
static void put_line(int y, const char *text, attr_t attributes)
{
    int room = COLS;
    const char *end = text;

    if (y < 0 || y >= LINES) {
        return;
    }
    for (; *end && room; room--) {
        end++;
        while ((*end & 0xc0) == 0x80) {
            end++;
        }
    }
    attrset(attributes);
    mvaddnstr(y, 0, text, (int)(end - text));
    if (room) {
        hline(' ', room);
    }
    attrset(A_NORMAL);
}

static void draw_head(const struct screen *screen)
{
    char text[PD_TOP_HEADER_BYTES + 64], sums[PD_TOP_HEADER_BYTES], at[CLOCK_BYTES] = "--:--:--";
    json_int_t at_us = json_integer_value(json_object_get(screen->snapshot.header, "at_us"));
    time_t seconds = (time_t)(at_us / 1000000);
    struct tm tm;

    if (at_us &&
        (screen->show.style.local ? localtime_r(&seconds, &tm) : gmtime_r(&seconds, &tm))) {
        strftime(at, sizeof at, "%H:%M:%S", &tm);
    }
    snprintf(text, sizeof text, "%s %s %s", at,
             screen->paused        ? "paused"
             : *screen->error.text ? "lost"
             : screen->rows        ? "live"
                                   : "waiting",
             screen->show.table->name);
    snprintf(text + strlen(text), sizeof text - strlen(text), ", by %s%s%s",
             screen->show.sort->title, *screen->filter ? ", only " : "", screen->filter);
    put_line(0, text, A_BOLD);
    put_line(1,
             *screen->error.text ? screen->error.text
             : screen->rows      ? pd_top_header_text(screen->snapshot.header, sums)
                                 : "",
             *screen->error.text ? A_BOLD : A_NORMAL);
}

static void draw_foot(const struct screen *screen)
{
    char text[FILTER_MAX + 16];

    if (screen->mode == FILTER) {
        snprintf(text, sizeof text, "/%s", screen->typed);
        put_line(LINES - 1, text, A_NORMAL);
        return;
    }
    put_line(LINES - 1,
             screen->mode == TABLE
                 ? "q quit ? help 1-5 tables s sort / filter p pause Enter details"
                 : "any key: back",
             A_REVERSE);
}

static int body_lines(void)
{
    int len = LINES - HEAD_LINES - FOOT_LINES;

    return len > 0 ? len : 0;
}

/* The hand stays on the screen, and the screen on the rows. */
static void scroll_to_chosen(struct screen *screen, int rows, int room)
{
    screen->chosen = screen->chosen >= rows ? rows - 1 : screen->chosen;
    screen->chosen = screen->chosen < 0 ? 0 : screen->chosen;
    if (screen->first > screen->chosen) {
        screen->first = screen->chosen;
    }
    if (room > 0 && screen->first < screen->chosen - room + 1) {
        screen->first = screen->chosen - room + 1;
    }
}

static void draw_table(struct screen *screen)
{
    int rows = (int)json_array_size(screen->rows), room = body_lines() - 1;
    struct pd_top_lines lines = {0};
    struct pd_style style = screen->show.style;

    style.width = (unsigned)COLS;
    if (!screen->rows || pd_top_lines_of_table(screen->show.table, screen->rows, &style, &lines)) {
        return;
    }
    scroll_to_chosen(screen, rows, room);
    put_line(HEAD_LINES, rows ? pd_top_line(&lines, 0) : "nothing to show", A_REVERSE);
    for (int i = 0; i < room && screen->first + i < rows; i++) {
        int row = screen->first + i;
        put_line(HEAD_LINES + 1 + i, pd_top_line(&lines, (size_t)row + 1),
                 row == screen->chosen ? A_STANDOUT : A_NORMAL);
    }
    pd_top_lines_done(&lines);
}

static void draw_lines(struct screen *screen, const struct pd_top_lines *lines)
{
    int room = body_lines(), last = (int)lines->len - room;

    screen->first = screen->first > last ? last : screen->first;
    screen->first = screen->first < 0 ? 0 : screen->first;
    for (int i = 0; i < room && screen->first + i < (int)lines->len; i++) {
        put_line(HEAD_LINES + i, pd_top_line(lines, (size_t)(screen->first + i)), A_NORMAL);
    }
}

static const char help_text[] = "1-5 links, flows, hosts, alarms, verdicts\n"
                                "s   sort by the next column\n"
                                "/   only rows with a text; Esc: all\n"
                                "p   pause, and go on\n"
                                "Enter  all of a row; of a link, its flows\n"
                                "up, down, j, k, PgUp, PgDn, Home, End\n"
                                "q   quit\n";

static void draw_other(struct screen *screen)
{
    struct pd_top_lines lines = {0};
    const json_t *row = json_array_get(screen->rows, (size_t)screen->chosen);
    int err = screen->mode == HELP ? pd_top_lines_of_text(help_text, &lines)
                                   : pd_top_lines_of_row(row, (unsigned)COLS, &lines);

    if (!err) {
        draw_lines(screen, &lines);
    }
    pd_top_lines_done(&lines);
}

static void draw(struct screen *screen)
{
    erase();
    draw_head(screen);
    if (screen->mode == DETAILS || screen->mode == HELP) {
        draw_other(screen);
    } else {
        draw_table(screen);
    }
    draw_foot(screen);
    refresh();
}

/* ---- what is shown ---- */

static void arrange(struct screen *screen)
{
    json_decref(screen->rows);
    screen->rows = screen->snapshot.rows
                       ? pd_top_arrange(screen->snapshot.rows, screen->filter, screen->show.sort)
                       : NULL;
}

static void take(struct screen *screen)
{
    struct pd_top_snapshot snapshot;
    bool there = pd_top_feed_take(screen->feed, &snapshot, &screen->error);

    if (there && (screen->paused || screen->mode == DETAILS)) {
        pd_top_snapshot_done(&snapshot); /* nothing moves under the hand */
    } else if (there) {
        pd_top_snapshot_done(&screen->snapshot);
        screen->snapshot = snapshot;
        arrange(screen);
    }
}

static void show_table(struct screen *screen, const struct pd_top_table *table, const char *link)
{
    pd_top_snapshot_done(&screen->snapshot);
    screen->show.table = table;
    screen->show.sort = pd_top_column(table, table->sort);
    screen->chosen = screen->first = 0;
    screen->paused = false;
    arrange(screen);
    pd_top_feed_want(screen->feed, table, link);
}

static void open_row(struct screen *screen)
{
    const json_t *row = json_array_get(screen->rows, (size_t)screen->chosen);
    const char *link = json_string_value(json_object_get(row, "id"));

    if (!row) {
        return;
    }
    if (screen->show.table == &pd_top_tables[PD_TOP_LINKS] && link) {
        char id[40];
        snprintf(id, sizeof id, "%s", link);
        show_table(screen, &pd_top_tables[PD_TOP_FLOWS], id);
        return;
    }
    screen->mode = DETAILS;
    screen->first = 0;
}

/* ---- keys ---- */

static void type_filter(struct screen *screen, int key)
{
    size_t len = strlen(screen->typed);

    if (key == '\n' || key == '\r' || key == KEY_ENTER) {
        memcpy(screen->filter, screen->typed, sizeof screen->filter);
        screen->mode = TABLE;
        screen->chosen = screen->first = 0;
        arrange(screen);
    } else if (key == ESCAPE) {
        screen->mode = TABLE;
    } else if (key == KEY_BACKSPACE || key == 127 || key == '\b') {
        screen->typed[len ? len - 1 : 0] = '\0';
    } else if (key >= ' ' && key < 127 && len < FILTER_MAX) {
        screen->typed[len] = (char)key;
        screen->typed[len + 1] = '\0';
    }
}

static void move_by(struct screen *screen, int by)
{
    int *at = screen->mode == TABLE ? &screen->chosen : &screen->first;

    *at = by > 0 && *at > 1000000 - by ? *at : *at + by;
    *at = *at < 0 ? 0 : *at;
}

/* False: no key that moves. */
static bool move_key(struct screen *screen, int key)
{
    int page = body_lines() > 2 ? body_lines() - 2 : 1;

    switch (key) {
    case KEY_UP:
    case 'k': move_by(screen, -1); return true;
    case KEY_DOWN:
    case 'j': move_by(screen, 1); return true;
    case KEY_PPAGE: move_by(screen, -page); return true;
    case KEY_NPAGE:
    case ' ': move_by(screen, page); return true;
    case KEY_HOME: move_by(screen, -1000000); return true;
    case KEY_END: move_by(screen, 100000); return true;
    default: return false;
    }
}

static void table_key(struct screen *screen, int key)
{
    switch (key) {
    case 'q': screen->done = true; break;
    case 's':
        screen->show.sort = pd_top_next_column(screen->show.table, screen->show.sort);
        arrange(screen);
        break;
    case '/':
        screen->mode = FILTER;
        *screen->typed = '\0';
        break;
    case 'p': screen->paused = !screen->paused; break;
    case '?':
        screen->mode = HELP;
        screen->first = 0;
        break;
    case ESCAPE:
        *screen->filter = '\0';
        arrange(screen);
        break;
    case '\n':
    case '\r':
    case KEY_ENTER: open_row(screen); break;
    default:
        if (key >= '1' && key < '1' + PD_TOP_TABLES) {
            show_table(screen, &pd_top_tables[key - '1'], NULL);
        }
    }
}

static void take_key(struct screen *screen, int key)
{
    if (key == KEY_RESIZE) {
        return;
    }
    if (screen->mode == FILTER) {
        type_filter(screen, key);
    } else if (move_key(screen, key)) {
        return;
    } else if (screen->mode == TABLE) {
        table_key(screen, key);
    } else {
        screen->mode = TABLE;
        screen->done = key == 'q' && screen->done;
        screen->first = 0;
    }
}

/* ---- the loop ---- */

static void loop(struct screen *screen)
{
    struct pollfd ready[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                             {.fd = pd_top_feed_fd(screen->feed), .events = POLLIN}};

    while (!screen->done && !ended_by) {
        draw(screen);
        if (poll(ready, 2, -1) < 0 && errno != EINTR) {
            break;
        }
        if (ready[0].revents & (POLLHUP | POLLERR)) {
            break; /* the terminal is gone */
        }
        if (ready[1].revents) {
            take(screen);
        }
        for (int key; !ended_by && (key = getch()) != ERR;) {
            take_key(screen, key);
        }
        ready[0].revents = ready[1].revents = 0;
    }
}

static void set_up(void)
{
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    set_escdelay(ESCAPE_MS);
    curs_set(0);
}

int pd_top_screen_run(struct pd_top_feed *feed, const struct pd_top_show *show, int *ret_signal,
                      struct pd_error *error)
{
    struct sigaction before[ENDERS];
    struct screen screen = {.feed = feed, .show = *show};
    SCREEN *terminal = newterm(NULL, stdout, stdin);

    if (!terminal) {
        return pd_fail(error, -PD_E_UNSUPPORTED, "this terminal cannot be drawn on");
    }
    snprintf(screen.filter, sizeof screen.filter, "%s", show->filter ? show->filter : "");
    catch_signals(before);
    set_up();
    loop(&screen);
    endwin();
    leave_signals(before);
    delscreen(terminal);
    pd_top_snapshot_done(&screen.snapshot);
    json_decref(screen.rows);
    *ret_signal = ended_by;
    return 0;
}
