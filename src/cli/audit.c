/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump audit`: who has changed what through a controller. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/listing.h"
#include "cli/server.h"
#include "cli/table.h"
#include "query/rows/cells.h"

#define CELL_BYTES 200
#define NUMBER     24

struct settings {
    struct pd_cli_server server;
    const char *from, *to;
    uint64_t limit;
    bool follow, json;
    struct pd_cli_table table;
    uint64_t from_us, to_us;
};

static const struct pd_option options[] = {
    PD_CLI_SERVER_OPTIONS(struct settings, server),
    {.name = "from",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, from),
     .value = "TIME",
     .help = "entries from this time on"},
    {.name = "to",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, to),
     .value = "TIME",
     .help = "entries up to this time"},
    {.name = "limit",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, limit),
     .min = 1,
     .max = 10000,
     .value = "N",
     .fallback = "50",
     .help = "the newest so many"},
    {.name = "follow",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, follow),
     .help = "then go on with each new one"},
    PD_CLI_JSON_OPTION(struct settings, json),
    PD_CLI_TABLE_OPTIONS(struct settings, table),
    {0},
};

static int read_time(const char *flag, const char *text, uint64_t *ret_us, struct pd_error *error)
{
    return text && pd_time_parse_words(text, pd_clock_wall_us(), ret_us)
               ? pd_fail(error, -PD_E_VALUE, "--%s: expects " PD_TIME_WORDS, flag)
               : 0;
}

static int check(void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    struct settings *set = settings;
    int err = pd_cli_server_check(&set->server, error);

    (void)words;
    if (!err && set->follow && (set->to || set->table.csv)) {
        return pd_fail(error, -PD_E_VALUE, "--%s is for lists, not for --follow",
                       set->to ? "to" : "csv");
    }
    err = err ? err : pd_cli_table_check(&set->table, set->json, error);
    err = err ? err : read_time("from", set->from, &set->from_us, error);
    return err ? err : read_time("to", set->to, &set->to_us, error);
}

static const struct pd_cli_field fields[] = {
    {.title = "TIME", .member = "time_us", .kind = PD_CLI_TIME_US},
    {.title = "WHO", .member = "who", .kind = PD_CLI_WORD},
    {.title = "ROLE", .member = "role", .kind = PD_CLI_WORD, .spare = 2},
    {.title = "ADDRESS", .member = "address", .kind = PD_CLI_WORD, .spare = 3},
    {.title = "WHAT", .member = "what", .kind = PD_CLI_WORD},
    {.title = "HOSTS", .member = "hosts", .kind = PD_CLI_WORD, .spare = 1},
    {.title = "DETAIL", .member = "detail", .kind = PD_CLI_WORD, .spare = 4},
    {.title = "OUTCOME", .member = "outcome", .kind = PD_CLI_WORD},
};
static const struct pd_cli_listing listing = {"entries", "entry", "entries", fields,
                                              sizeof fields / sizeof *fields};

/* Texts as they are, all else as JSON; "-" for nothing. */
static void put(const json_t *entry, const char *member)
{
    const json_t *value = json_object_get(entry, member);
    const char *text = json_string_value(value);
    char word[CELL_BYTES];
    char *dumped = NULL;

    if (!text && value && !json_is_null(value)) {
        dumped = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
        text = dumped;
    }
    printf("  %s", text && *text ? pd_row_text_word(text, word, sizeof word) : "-");
    free(dumped);
}

/* One line: time, who (role, address), what, where, detail, outcome. */
static void print_line(const json_t *entry, const struct pd_style *style)
{
    static const char *const members[] = {"who",   "role",   "address", "what",
                                          "hosts", "detail", "outcome"};
    char time_text[PD_TIME_TEXT_BYTES];

    printf("%s", pd_row_text_time((uint64_t)json_integer_value(json_object_get(entry, "time_us")),
                                  style, time_text));
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        put(entry, members[i]);
    }
    putchar('\n');
}

static void print_json(const json_t *entry)
{
    char *line = json_dumps(entry, JSON_COMPACT);

    puts(line ? line : "null");
    free(line);
}

/* Asks for what there is from `from_us` on, prints it, and gives the time of the last one. */
static int print_some(const struct settings *set, uint64_t from_us, uint64_t *ret_last_us,
                      struct pd_error *error)
{
    char from[NUMBER], to[NUMBER], limit[NUMBER];
    const char *const names[] = {"from", "limit", set->to ? "to" : NULL, NULL}, *const values[] = {
                                                                                    from, limit,
                                                                                    to};
    struct pd_cli_request request = {.route = "/v1/audit", .names = names, .values = values};
    const struct pd_style style = {.local = set->table.local};
    const json_t *entry;
    json_t *answer;
    size_t i;
    int err;

    snprintf(from, sizeof from, "%" PRIu64, from_us);
    snprintf(to, sizeof to, "%" PRIu64, set->to_us);
    snprintf(limit, sizeof limit, "%" PRIu64, set->limit);
    err = pd_cli_server_ask(&set->server, request, NULL, &answer, error);
    if (err) {
        return err;
    }
    json_array_foreach(json_object_get(answer, "entries"), i, entry)
    {
        if (set->json) {
            print_json(entry);
        } else if (set->follow) {
            print_line(entry, &style);
        }
        *ret_last_us = (uint64_t)json_integer_value(json_object_get(entry, "time_us"));
    }
    if (!set->json && !set->follow) {
        const struct pd_style listed = pd_cli_table_style(&set->table);
        err = pd_cli_list(&listing, answer, &listed, stdout, error);
    }
    json_decref(answer);
    if (err) {
        return err;
    }
    return fflush(stdout) ? pd_fail(error, -EIO, "standard output: %s", strerror(errno)) : 0;
}

/* A line each; no line is given twice, for their times only grow. */
static int run(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;
    const struct timespec second = {.tv_sec = 1};
    uint64_t last_us = set->from_us ? set->from_us - 1 : 0;
    int err = print_some(set, set->from_us, &last_us, error);

    (void)words;
    while (!err && set->follow) {
        nanosleep(&second, NULL);
        err = print_some(set, last_us + 1, &last_us, error);
    }
    return err;
}

const struct pd_cli_command pd_cli_audit = {
    .name = "audit",
    .synopsis = "--controller URL [--from TIME] [--to TIME] [--limit N] [--follow] [--json | "
                "--csv]",
    .help = "who has changed what, where, and what became of it",
    .details = "Lists installs and uninstalls, programs (by digest), applications, watches and "
               "reloads, with who asked for them, his role and address; the newest last. Needs "
               "the role admin. The lines also lie in the state directory of the controller, and "
               "in its log.",
    .options = options,
    .words = "",
    .settings_bytes = sizeof(struct settings),
    .check = check,
    .run = run,
};
