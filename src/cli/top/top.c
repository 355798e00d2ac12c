/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump top`: what goes on in the network, on a terminal. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/nearest.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/names.h"
#include "cli/top/screen.h"

struct settings {
    struct pd_cli_server server;
    struct pd_cli_table table;
    const char *agent, *sort, *filter, *every;
    bool once, json;
};

static const struct pd_option options[] = {
    PD_CLI_SERVER_OPTIONS(struct settings, server),
    {.name = "agent",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, agent),
     .value = "URL",
     .help = "one host alone: http://HOST:PORT or unix:/SOCKET"},
    {.name = "once",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, once),
     .help = "print the table once and exit, as without a terminal"},
    {.name = "every",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, every),
     .value = "S",
     .fallback = "2",
     .help = "ask anew after so many seconds; events make it sooner"},
    {.name = "sort",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, sort),
     .value = "COLUMN",
     .help = "by this column"},
    {.name = "filter",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, filter),
     .value = "TEXT",
     .help = "only rows with this text"},
    {.name = "json",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, json),
     .help = "print one JSON object and exit"},
    PD_CLI_TABLE_OPTIONS(struct settings, table),
    PD_CLI_NAMES_OPTION(struct settings, table),
    {0},
};

/* ---- checks ---- */

static int find_table(const struct pd_cli_words *words, const struct pd_top_table **ret,
                      struct pd_error *error)
{
    const char *name = words->len ? words->words[0] : pd_top_tables[0].name;
    struct pd_nearest nearest = {.text = name};
    char hint[PD_NEAREST_HINT_BYTES];

    *ret = pd_top_table_find(name);
    if (*ret) {
        return 0;
    }
    for (size_t i = 0; i < PD_TOP_TABLES; i++) {
        pd_nearest_offer(&nearest, pd_top_tables[i].name);
    }
    return pd_fail(error, -PD_E_VALUE, "there is no table \"%.60s\"%s", name,
                   pd_nearest_hint(&nearest, "", hint));
}

static int find_column(const struct settings *set, const struct pd_top_table *table,
                       const struct pd_cli_field **ret, struct pd_error *error)
{
    *ret = pd_top_column(table, set->sort ? set->sort : table->sort);
    return *ret ? 0
                : pd_fail(error, -PD_E_VALUE, "--sort: the table of %s has no column \"%.60s\"",
                          table->name, set->sort);
}

/* 0: it is no number of seconds from 0.2 to 3600. */
static uint64_t period_ms(const char *text)
{
    char *end;
    double seconds = strtod(text, &end);

    return end != text && !*end && seconds >= 0.2 && seconds <= 3600 ? (uint64_t)(seconds * 1000)
                                                                     : 0;
}

static int check(void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    struct settings *set = settings;
    const struct pd_top_table *table;
    const struct pd_cli_field *column;
    int err = find_table(words, &table, error);

    err = err ? err : find_column(set, table, &column, error);
    err = err ? err : pd_cli_table_check(&set->table, set->json, error);
    if (!err && !period_ms(set->every)) {
        err = pd_fail(error, -PD_E_VALUE,
                      "--every: expects seconds from 0.2 to 3600, not \"%.40s\"", set->every);
    }
    if (!err && set->agent && set->server.url) {
        err = pd_fail(error, -PD_E_VALUE, "either --controller or --agent");
    }
    if (!err && set->agent && set->table.names) {
        err = pd_fail(error, -PD_E_VALUE, "--names: an agent has none");
    }
    if (err || !set->agent) {
        return err ? err : pd_cli_server_check(&set->server, error);
    }
    set->server.url = set->agent;
    return pd_cli_url_check("--agent", set->agent, error);
}

/* ---- once ---- */

static int print_object(const struct pd_top_snapshot *snapshot, json_t *rows,
                        struct pd_error *error)
{
    return pd_cli_json_print(json_pack("{s:s, s:O, s:o}", "table", snapshot->table->name, "header",
                                       snapshot->header, "rows", rows),
                             error);
}

static int print_table(const struct settings *set, const struct pd_top_snapshot *snapshot,
                       json_t *rows, struct pd_error *error)
{
    const struct pd_style style = pd_cli_table_style(&set->table);
    char header[PD_TOP_HEADER_BYTES];
    json_t *answer = json_pack("{s:o}", "rows", rows);
    int err;

    if (!style.csv) {
        printf("%s\n\n", pd_top_header_text(snapshot->header, header));
    }
    err = answer ? pd_cli_list(&snapshot->table->listing, answer, &style, stdout, error)
                 : pd_fail(error, -ENOMEM, "no memory");
    json_decref(answer);
    return err;
}

static int print_once(const struct settings *set, const struct pd_top_source *source,
                      const struct pd_top_table *table, const struct pd_cli_field *column,
                      struct pd_error *error)
{
    struct pd_top_snapshot snapshot;
    int err = pd_top_snapshot_take(source, table, &snapshot, error);

    if (err) {
        return err;
    }
    json_t *rows = pd_top_arrange(snapshot.rows, set->filter, column);
    err =
        set->json ? print_object(&snapshot, rows, error) : print_table(set, &snapshot, rows, error);
    pd_top_snapshot_done(&snapshot);
    return err;
}

/* ---- on and on ---- */

/* Whether there is a terminal to draw on. */
static bool has_screen(void)
{
    const char *term = getenv("TERM");

    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb");
}

static int show(const struct settings *set, const struct pd_top_source *source,
                const struct pd_top_show *first, struct pd_error *error)
{
    struct pd_top_feed *feed;
    int ended_by = 0,
        err = pd_top_feed_start(source, first->table, period_ms(set->every), &feed, error);

    if (err) {
        return err;
    }
    err = pd_top_screen_run(feed, first, &ended_by, error);
    pd_top_feed_stop(feed);
    if (ended_by) { /* as if nobody had caught it */
        signal(ended_by, SIG_DFL);
        raise(ended_by);
    }
    return err;
}

static int run(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;
    const struct pd_top_table *table = NULL;
    const struct pd_cli_field *column = NULL;
    struct pd_top_source source = {.server = &set->server, .agent = set->agent};
    int err = find_table(words, &table, error);

    err = err ? err : find_column(set, table, &column, error);
    if (!err && set->table.names) {
        err = pd_cli_names_read(NULL, &set->server, &source.names, error);
    }
    bool once = set->once || set->json || set->table.csv || !has_screen();
    if (!err && !once) {
        struct pd_top_show first = {table, column, set->filter, pd_row_style_of(stdout)};
        first.style.local = set->table.local;
        first.style.colour = false; /* lines are drawn, not printed */
        err = show(set, &source, &first, error);
        once = err == -PD_E_UNSUPPORTED;
        err = once ? 0 : err;
    }
    if (!err && once) {
        err = print_once(set, &source, table, column, error);
    }
    pd_cli_names_free(source.names);
    return err;
}

const struct pd_cli_command pd_cli_top = {
    .name = "top",
    .synopsis = "[--controller URL | --agent URL] [--once] [--json | --csv] [--every S] "
                "[--sort COLUMN] [--filter TEXT] [links|flows|hosts|alarms|verdicts]",
    .help = "the network as it goes: loaded links, flows, hosts, alarms, verdicts",
    .details =
        "Shows a table, links when none is named, and above it hosts that are up and missing, "
        "alarms of the last minute, what all links carry together and the hottest of them. Rates "
        "are over the last 10 s. It asks anew every 2 s, and at once when something happens.\n"
        "Keys:\n"
        "\t1 to 5\tlinks, flows, hosts, alarms, verdicts\n"
        "\ts\tsort by the next column\n"
        "\t/\tonly rows with a text; Escape ends that\n"
        "\tp\tpause, and go on\n"
        "\tEnter\tall that is known of a row; of a link, the flows over it\n"
        "\t?\thelp\n"
        "\tq\tquit\n"
        "Without a terminal, or where TERM is dumb, it prints the table once and exits.",
    .options = options,
    .words = "links|flows|hosts|alarms|verdicts",
    .words_min = 0,
    .words_max = 1,
    .settings_bytes = sizeof(struct settings),
    .check = check,
    .run = run,
};
