/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump audit`: who has changed what through a controller. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/cells.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/server.h"

#define CELL_BYTES 200
#define NUMBER     24

struct settings {
    struct pd_cli_server server;
    const char *from, *to;
    uint64_t limit;
    bool follow, json;
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
    {0},
};

static int read_time(const char *flag, const char *text, uint64_t *ret_us, struct pd_error *error)
{
    return text && pd_time_parse(text, ret_us)
               ? pd_fail(error, -PD_E_VALUE,
                         "--%s: expects a time, as 2026-11-22T10:00:00Z, or "
                         "seconds since the epoch",
                         flag)
               : 0;
}

static int check(void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    struct settings *set = settings;
    int err = pd_cli_server_check(&set->server, error);

    (void)words;
    if (!err && set->follow && set->to) {
        return pd_fail(error, -PD_E_VALUE, "--to is for lists, not for --follow");
    }
    err = err ? err : read_time("from", set->from, &set->from_us, error);
    return err ? err : read_time("to", set->to, &set->to_us, error);
}

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
    printf("  %s", text && *text ? pd_cli_word(text, word, sizeof word) : "-");
    free(dumped);
}

/* One line: time, who (role, address), what, where, detail, outcome. */
static void print_line(const json_t *entry)
{
    static const char *const members[] = {"who",   "role",   "address", "what",
                                          "hosts", "detail", "outcome"};
    char time_text[PD_TIME_TEXT_BYTES];

    printf("%s", pd_cell_time_text((uint64_t)json_integer_value(json_object_get(entry, "time_us")),
                                   time_text));
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
        (set->json ? print_json : print_line)(entry);
        *ret_last_us = (uint64_t)json_integer_value(json_object_get(entry, "time_us"));
    }
    json_decref(answer);
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
    .synopsis = "--controller URL [--from TIME] [--to TIME] [--limit N] [--follow] [--json]",
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
