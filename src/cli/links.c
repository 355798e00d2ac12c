/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump links`: what a controller measures of each directed link, once, as a table. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/fleet.h"
#include "cli/json.h"
#include "cli/server.h"
#include "cli/table.h"
#include "query/rows/cells.h"
#include "query/rows/rows.h"

#define METRICS_MAX 32u
#define NAME_BYTES  40
#define LINK_BYTES  48

struct settings {
    struct pd_cli_server server;
    bool json;
    struct pd_cli_table table;
    const char *sort, *metrics, *from, *to;
    uint64_t from_us, to_us;
    uint64_t k;
};

static const struct pd_option options[] = {
    {.name = "sort",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, sort),
     .value = "METRIC",
     .help = "largest values of this metric first; else of the first one"},
    {.name = "metrics",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, metrics),
     .value = "LIST",
     .help = "only these metrics, separated by commas"},
    {.name = "from",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, from),
     .value = "TIME",
     .help = "begin of the window, as of queries; else the last period"},
    {.name = "to",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, to),
     .value = "TIME",
     .help = "end of the window"},
    {.name = "k",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, k),
     .value = "N",
     .fallback = "0",
     .help = "so many rows at most; 0: all"},
    PD_CLI_SERVER_OPTIONS(struct settings, server),
    PD_CLI_JSON_OPTION(struct settings, json),
    PD_CLI_TABLE_OPTIONS(struct settings, table),
    {0},
};

/* ---- metrics ---- */

/* The metrics of the table below, as the controller tells of them. */
struct metrics {
    struct {
        char name[NAME_BYTES], title[NAME_BYTES], unit[NAME_BYTES];
    } of[METRICS_MAX];
    size_t len, sort;
};

/* Whether a list "a,b" has this name; NULL has all. */
static bool is_listed(const char *list, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        if (!strncmp(at, name, len) && strchr(",", at[len])) {
            return true;
        }
    }
    return !list;
}

static void add_metric(struct metrics *metrics, const char *name, const char *unit)
{
    size_t i = metrics->len++;

    pd_row_text_word(name, metrics->of[i].name, NAME_BYTES);
    pd_row_text_word(unit ? unit : "", metrics->of[i].unit, NAME_BYTES);
    for (size_t c = 0; c < NAME_BYTES; c++) {
        metrics->of[i].title[c] = (char)toupper((unsigned char)metrics->of[i].name[c]);
    }
}

static int choose_sort(const char *sort, struct metrics *metrics, struct pd_error *error)
{
    for (size_t i = 0; i < metrics->len; i++) {
        if (sort && !strcmp(metrics->of[i].name, sort)) {
            metrics->sort = i;
            return 0;
        }
    }
    return sort ? pd_fail(error, -PD_E_VALUE, "sort: there is no link metric \"%.60s\" here", sort)
                : 0;
}

static int read_metrics(const struct settings *set, struct metrics *metrics, struct pd_error *error)
{
    const struct pd_cli_reader reader = {"the list of metrics", error};
    json_t *answer;
    const json_t *list, *item;
    size_t i;
    int err = pd_cli_server_ask(&set->server, (struct pd_cli_request){.route = "/v1/links/metrics"},
                                NULL, &answer, error);

    if (err) {
        return err;
    }
    err = pd_cli_read_array(&reader, answer, "metrics", &list);
    json_array_foreach((json_t *)(uintptr_t)list, i, item)
    {
        const char *name = json_string_value(json_object_get(item, "name"));

        if (!err && name && is_listed(set->metrics, name) && metrics->len < METRICS_MAX) {
            add_metric(metrics, name, json_string_value(json_object_get(item, "unit")));
        }
    }
    json_decref(answer);
    return err ? err : choose_sort(set->sort, metrics, error);
}

/* ---- rows ---- */

/* What is not known is less than everything that is. */
static double value_of(const json_t *row, const char *name)
{
    const json_t *value = json_object_get(row, name);

    return json_is_number(value) ? json_number_value(value) : -INFINITY;
}

struct sorted {
    const json_t *row;
    double value;
    size_t place;
};

static int compare(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;

    if (x->value != y->value) {
        return x->value < y->value ? 1 : -1;
    }
    return (x->place > y->place) - (x->place < y->place);
}

/* "1.2 Mbit/s" */
static void scaled(double value, const char *unit, char *text, size_t size)
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T"};
    size_t i = 0;

    for (; value >= 1000 && i + 1 < sizeof prefixes / sizeof *prefixes; i++) {
        value /= 1000;
    }
    snprintf(text, size, i ? "%.1f %s%s" : "%.0f %s%s", value, prefixes[i], unit);
}

static void value_cell(struct pd_rows_table *table, double value, const char *unit)
{
    char text[NAME_BYTES + 40];

    if (!isfinite(value)) {
        snprintf(text, sizeof text, "-");
    } else if (pd_rows_is_csv(table)) {
        snprintf(text, sizeof text, "%.9g", value);
    } else if (!strcmp(unit, "bit/s")) {
        scaled(value, unit, text, sizeof text);
    } else if (!strcmp(unit, "share") || !strcmp(unit, "confidence")) {
        snprintf(text, sizeof text, "%.1f %%", value * 100);
    } else {
        snprintf(text, sizeof text, "%.6g", value);
    }
    pd_rows_cell(table, text);
}

static void link_cell(struct pd_rows_table *table, const json_t *row)
{
    const char *name = json_string_value(json_object_get(row, "link"));

    pd_rows_word(table, name ? name : "?", LINK_BYTES);
}

static bool is_known(const json_t *rows, const char *name)
{
    bool known = false;

    for (size_t i = 0; i < json_array_size(rows) && !known; i++) {
        known = isfinite(value_of(json_array_get(rows, i), name));
    }
    return known;
}

/* Nobody asked for it, and no link has it: it has no column. The first and the sorted one stay. */
static void leave_out(const json_t *rows, struct metrics *metrics)
{
    size_t len = 0;

    for (size_t i = 0; i < metrics->len; i++) {
        if (!i || i == metrics->sort || is_known(rows, metrics->of[i].name)) {
            metrics->sort = i == metrics->sort ? len : metrics->sort;
            metrics->of[len++] = metrics->of[i];
        }
    }
    metrics->len = json_array_size(rows) ? len : metrics->len;
}

static struct sorted *sort_rows(const json_t *rows, const struct metrics *metrics)
{
    size_t len = json_array_size(rows);
    struct sorted *sorted = calloc(len + 1, sizeof *sorted);

    for (size_t i = 0; sorted && i < len; i++) {
        const json_t *row = json_array_get(rows, i);

        sorted[i] = (struct sorted){
            row, metrics->len ? value_of(row, metrics->of[metrics->sort].name) : 0, i};
    }
    if (sorted) {
        qsort(sorted, len, sizeof *sorted, compare);
    }
    return sorted;
}

static int fill(struct pd_rows_table *table, const json_t *rows, const struct metrics *metrics,
                uint64_t k)
{
    struct sorted *sorted = sort_rows(rows, metrics);

    for (size_t i = 0; sorted && i < json_array_size(rows) && (!k || i < k); i++) {
        link_cell(table, sorted[i].row);
        for (size_t m = 0; m < metrics->len; m++) {
            value_cell(table, value_of(sorted[i].row, metrics->of[m].name), metrics->of[m].unit);
        }
    }
    free(sorted);
    return sorted ? 0 : -ENOMEM;
}

static int print(const struct settings *set, const json_t *answer, const struct metrics *metrics,
                 struct pd_error *error)
{
    const struct pd_cli_reader reader = {"the answer", error};
    struct pd_style style = pd_cli_table_style(&set->table);
    struct pd_rows_column columns[METRICS_MAX + 1] = {{.title = "LINK", .csv = "link"}};
    struct pd_rows_table *table;
    const json_t *rows = NULL;
    int err;

    for (size_t i = 0; i < metrics->len; i++) {
        columns[i + 1] =
            (struct pd_rows_column){.title = metrics->of[i].title,
                                    .right = true,
                                    .csv = metrics->of[i].name,
                                    .spare = i == metrics->sort ? 0 : (uint8_t)(i + 1)};
    }
    table = pd_rows_new(columns, metrics->len + 1, &style);
    err = table ? pd_cli_read_array(&reader, answer, "links", &rows) : -ENOMEM;
    if (!err) {
        err = fill(table, rows, metrics, set->k);
    }
    if (!err) {
        err = pd_rows_print(table, stdout);
    }
    pd_rows_free(table);
    return err == -ENOMEM ? pd_fail(error, err, "no memory for the table") : err;
}

/* ---- the command ---- */

static int check(void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    struct settings *set = settings;
    uint64_t now_us = pd_clock_wall_us();
    int err = pd_cli_table_check(&set->table, set->json, error);

    (void)words;
    if (!err && set->from && pd_time_parse_words(set->from, now_us, &set->from_us)) {
        err = pd_fail(error, -PD_E_VALUE, "--from: expects " PD_TIME_WORDS);
    }
    if (!err && set->to && pd_time_parse_words(set->to, now_us, &set->to_us)) {
        err = pd_fail(error, -PD_E_VALUE, "--to: expects " PD_TIME_WORDS);
    }
    return err ? err : pd_cli_server_check(&set->server, error);
}

static const char *seconds(const char *given, uint64_t time_us, char text[32])
{
    snprintf(text, 32, "%" PRIu64 ".%06" PRIu64, time_us / PD_US_PER_S, time_us % PD_US_PER_S);
    return given ? text : NULL;
}

static int ask(const struct settings *set, struct pd_cli_memory *text, json_t **ret_answer,
               struct pd_error *error)
{
    const char *names[4], *values[4];
    char from[32], to[32];
    size_t len = 0;
    const struct {
        const char *name, *value;
    } given[] = {{"metrics", set->metrics},
                 {"from", seconds(set->from, set->from_us, from)},
                 {"to", seconds(set->to, set->to_us, to)}};

    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        if (given[i].value) {
            names[len] = given[i].name;
            values[len++] = given[i].value;
        }
    }
    names[len] = NULL;
    return pd_cli_server_ask(
        &set->server,
        (struct pd_cli_request){.route = "/v1/links", .names = names, .values = values}, text,
        ret_answer, error);
}

/* Below the table whoever is missing; exit status 3 then. */
static int tell_outcome(const json_t *answer, const struct settings *set, struct pd_error *error)
{
    const struct pd_cli_reader reader = {"the answer", error};
    struct pd_cli_outcome outcome;
    int err = pd_cli_outcome_read(&reader, answer, false, &outcome);

    if (err) {
        return err;
    }
    if (!set->json && !set->table.csv) {
        pd_cli_outcome_view(answer, &outcome, stdout);
    }
    return pd_cli_outcome_report("links", &outcome);
}

static int run(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;
    struct metrics metrics = {.len = 0};
    struct pd_cli_memory text;
    json_t *answer;
    int err = read_metrics(set, &metrics, error);

    (void)words;
    if (!err) {
        err = ask(set, &text, &answer, error);
    }
    if (err) {
        return err;
    }
    if (!set->metrics && !set->table.csv) {
        leave_out(json_object_get(answer, "links"), &metrics);
    }
    err = set->json ? pd_cli_print_text(&text, error) : print(set, answer, &metrics, error);
    if (!err) {
        err = tell_outcome(answer, set, error);
    }
    json_decref(answer);
    free(text.bytes);
    return err;
}

const struct pd_cli_command pd_cli_links = {
    .name = "links",
    .synopsis = "--controller URL [--sort METRIC] [--metrics LIST] [--from TIME] [--to TIME] "
                "[--json | --csv]",
    .help = "what the controller measures of each directed link",
    .details = "Lists links between switches with their metrics, the largest of --sort first: of "
               "the last whole period, or of a window of time that the TIBs still hold. Links "
               "with nothing but 0 are left out, and metrics that no link has. A controller says "
               "which metrics it has: load_bps, "
               "use (of the link's speed), alarms (of the last minute), suspicion (confidence of "
               "the last verdicts) and others.\n"
               "Exit status 3: hosts are missing, and what they would have added.",
    .options = options,
    .words = "",
    .settings_bytes = sizeof(struct settings),
    .check = check,
    .run = run,
};
