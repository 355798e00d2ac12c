/* SPDX-License-Identifier: Apache-2.0 */
/* `pathdump alarms`: what servers complained about, and what they complain about from now on. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/alarm_sums.h"
#include "cli/cli.h"
#include "cli/events.h"
#include "cli/fleet.h"
#include "cli/json.h"
#include "cli/server.h"
#include "cli/table.h"
#include "query/rows/cells.h"

#define RETRY_S      1
#define RETRY_MAX_S  10
#define REASON_BYTES 40
#define DETAIL_BYTES 200
#define PATHS_BYTES  600 /* of the text: about as many as anybody reads */

struct settings {
    struct pd_cli_server server;
    const char *since;
    const char *reason;
    const char *by;
    uint64_t limit;
    bool follow;
    bool json;
    struct pd_cli_table table;
};

static int check_since(void *target, const char *name, const char *value, struct pd_error *error)
{
    size_t len = strlen(value);
    (void)target;
    if (!len || len > 16 || strspn(value, "0123456789") != len) {
        return pd_fail(error, -PD_E_VALUE, "%s: expected the ID of an alarm, not \"%.100s\"", name,
                       value);
    }
    return 0;
}

static int check_reason(void *target, const char *name, const char *value, struct pd_error *error)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    size_t len = strlen(value);
    (void)target;
    if (!len || len > 32 || strspn(value, letters) != len || *value < 'A' || *value > 'Z') {
        return pd_fail(error, -PD_E_VALUE, "%s: expected a reason as in PC_FAIL, not \"%.100s\"",
                       name, value);
    }
    return 0;
}

static int check_by(void *target, const char *name, const char *value, struct pd_error *error)
{
    enum pd_alarm_sums_by by;
    (void)target;
    return pd_cli_alarm_sums_by(value, &by)
               ? pd_fail(error, -PD_E_VALUE, "%s: expected reason, host or link, not \"%.100s\"",
                         name, value)
               : 0;
}

static const struct pd_option options[] = {
    PD_CLI_SERVER_OPTIONS(struct settings, server),
    {.name = "since",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, since),
     .value = "ID",
     .help = "only those behind this one",
     .set = check_since},
    {.name = "reason",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, reason),
     .value = "REASON",
     .help = "only those with this reason, as in PC_FAIL",
     .set = check_reason},
    {.name = "limit",
     .type = PD_OPTION_U64,
     .offset = offsetof(struct settings, limit),
     .min = 1,
     .max = 100000,
     .value = "N",
     .help = "at most so many, the oldest ones"},
    {.name = "by",
     .type = PD_OPTION_STRING,
     .offset = offsetof(struct settings, by),
     .value = "reason|host|link",
     .help = "sum up: how many of each, when the first and the last",
     .set = check_by},
    {.name = "follow",
     .type = PD_OPTION_FLAG,
     .offset = offsetof(struct settings, follow),
     .help = "go on: show each as it comes"},
    PD_CLI_JSON_OPTION(struct settings, json),
    PD_CLI_TABLE_OPTIONS(struct settings, table),
    {0},
};

static int check(void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;
    (void)words;
    if (set->limit && set->follow) {
        return pd_fail(error, -PD_E_VALUE, "--limit is for lists, not for --follow");
    }
    if (set->table.csv && (set->json || set->follow)) {
        return pd_fail(error, -PD_E_VALUE, "--csv is for lists, not for %s",
                       set->json ? "--json" : "--follow");
    }
    if (set->by && (set->follow || set->limit || set->json)) {
        return pd_fail(error, -PD_E_VALUE, "--by goes with --since and --reason alone");
    }
    return pd_cli_server_check(&((struct settings *)settings)->server, error);
}

/* ---- one alarm ---- */

struct alarm {
    uint64_t id, host, time_us;
    bool has_flow;
    struct pd_flow_id flow;
    char reason[REASON_BYTES], paths[PATHS_BYTES], detail[DETAIL_BYTES];
};

/* Paths after each other, as many as fit. */
static int read_paths(const struct pd_cli_reader *reader, const json_t *row,
                      const struct pd_style *style, char *text)
{
    const json_t *paths = NULL;
    char one[PD_TEXT_PATH_BYTES];
    size_t used = 0;
    int err = pd_cli_read_array(reader, row, "paths", &paths);
    *text = '\0';
    for (size_t i = 0; i < json_array_size(paths) && !err; i++) {
        struct pd_path path = {0};
        err = pd_cli_read_switches(reader, json_array_get(paths, i), &path);
        if (err) {
            return err;
        }
        size_t len = strlen(pd_row_text_path(&path, style, one));
        if (used + len + 8 > PATHS_BYTES) {
            strcpy(text + used, " …");
            break;
        }
        used += (size_t)snprintf(text + used, PATHS_BYTES - used, "%s%s", i ? " " : "", one);
    }
    return err;
}

static int read_alarm(const struct pd_cli_reader *reader, const json_t *row,
                      const struct pd_style *style, struct alarm *ret_alarm)
{
    struct alarm alarm = {0};
    const json_t *flow = json_object_get(row, "flow_id");
    const char *reason = json_string_value(json_object_get(row, "reason")),
               *detail = json_string_value(json_object_get(row, "detail"));
    int err = pd_cli_read_number(reader, row, "id", PD_READ_MAX, &alarm.id);
    if (!err) {
        err = pd_cli_read_number(reader, row, "host", UINT32_MAX, &alarm.host);
    }
    if (!err) {
        err = pd_cli_read_number(reader, row, "time_us", PD_READ_MAX, &alarm.time_us);
    }
    if (!err && !reason) {
        err = pd_cli_read_bad(reader, "reason", "a text");
    }
    alarm.has_flow = flow && !json_is_null(flow);
    if (!err && alarm.has_flow) {
        err = pd_cli_read_flow(reader, row, &alarm.flow);
    }
    if (!err) {
        err = read_paths(reader, row, style, alarm.paths);
    }
    if (err) {
        return err;
    }
    pd_row_text_word(reason, alarm.reason, sizeof alarm.reason);
    pd_row_text_word(detail ? detail : "", alarm.detail, sizeof alarm.detail);
    *ret_alarm = alarm;
    return 0;
}

/* ---- those that are there ---- */

static const struct pd_rows_column columns[] = {
    {.title = "ID", .right = true},
    {.title = "TIME"},
    {.title = "HOST", .right = true},
    {.title = "REASON"},
    {.title = "SOURCE"},
    {.title = "DESTINATION"},
    {.title = "PROTO"},
    {.title = "PATHS"},
    {.title = "DETAIL"},
};

static void alarm_cells(struct pd_rows_table *table, const struct alarm *alarm)
{
    char text[PD_TIME_TEXT_BYTES + PD_TEXT_NUMBER_BYTES];
    snprintf(text, sizeof text, "%" PRIu64, alarm->id);
    pd_rows_cell(table, text);
    pd_rows_time(table, alarm->time_us);
    snprintf(text, sizeof text, "%" PRIu64, alarm->host);
    pd_rows_cell(table, text);
    pd_rows_cell(table, alarm->reason);
    if (alarm->has_flow) {
        pd_rows_flow(table, &alarm->flow);
    } else {
        for (int i = 0; i < 3; i++) {
            pd_rows_cell(table, "-");
        }
    }
    pd_rows_cell(table, *alarm->paths ? alarm->paths : "-");
    pd_rows_cell(table, *alarm->detail ? alarm->detail : "-");
}

static int print_table(const struct settings *set, const json_t *answer, struct pd_error *error)
{
    const struct pd_cli_reader reader = {"the answer", error};
    struct pd_style style = pd_cli_table_style(&set->table);
    char number[PD_TEXT_NUMBER_BYTES];
    const json_t *rows = NULL;
    struct pd_rows_table *table = pd_rows_new(columns, sizeof columns / sizeof *columns, &style);
    int err = table ? pd_cli_read_array(&reader, answer, "alarms", &rows) : -ENOMEM;
    size_t len = json_array_size(rows);
    for (size_t i = 0; i < len && !err; i++) {
        struct alarm alarm;
        err = read_alarm(&reader, json_array_get(rows, i), &style, &alarm);
        if (!err) {
            alarm_cells(table, &alarm);
        }
    }
    if (!err) {
        err = pd_rows_print(table, stdout);
    }
    if (!err && !style.csv) {
        printf("%s%s alarm%s\n", len ? "\n" : "", pd_row_text_number(len, number),
               pd_row_text_plural(len));
    }
    if (err == -ENOMEM) {
        pd_fail(error, err, "no memory for the table");
    }
    pd_rows_free(table);
    return err;
}

#define PARAMETERS 4
#define NEWEST     "50" /* as many as a screen takes, where nothing else is asked for */

/* What is given of since, reason and limit; else the newest. */
static void add_parameters(const struct settings *set, char limit[24], const char **names,
                           const char **values)
{
    static const char *const all[PARAMETERS] = {"since", "reason", "limit", "newest"};
    snprintf(limit, 24, "%" PRIu64, set->limit);
    bool chosen = set->since || set->limit || set->json || set->table.csv;
    const char *const given[PARAMETERS] = {set->since, set->reason, set->limit ? limit : NULL,
                                           chosen ? NULL : NEWEST};
    for (size_t i = 0; i < PARAMETERS; i++) {
        if (given[i]) {
            *names++ = all[i];
            *values++ = given[i];
        }
    }
}

/* A list has a limit; what stands behind it is not passed over in silence. */
static void tell_more(const json_t *answer)
{
    if (!json_is_true(json_object_get(answer, "more"))) {
        return;
    }
    fflush(stdout);
    fprintf(stderr,
            "pathdump alarms: there are more: go on with --since %" JSON_INTEGER_FORMAT "\n",
            json_integer_value(json_object_get(answer, "last")));
}

static int show_list(const struct settings *set, struct pd_error *error)
{
    const char *names[PARAMETERS + 1] = {NULL}, *values[PARAMETERS];
    struct pd_cli_request request = {.route = "/v1/alarms", .names = names, .values = values};
    struct pd_cli_memory text;
    char limit[24];
    json_t *answer;
    add_parameters(set, limit, names, values);
    int err = pd_cli_server_ask(&set->server, request, &text, &answer, error);
    if (err) {
        return err;
    }
    if (set->json) {
        err = pd_cli_print_text(&text, error);
    } else if ((err = print_table(set, answer, error))) {
        pd_fail_within(error, set->server.url);
    }
    if (!err) {
        tell_more(answer);
    }
    json_decref(answer);
    free(text.bytes);
    return err;
}

/* ---- summed up ---- */

/* All that there are, page by page. */
static int sum_up(const struct settings *set, struct pd_alarm_sums *sums, struct pd_error *error)
{
    char since[24];
    bool more = true;
    int err = 0;
    snprintf(since, sizeof since, "%s", set->since ? set->since : "0");
    while (more && !err) {
        const char *names[] = {"since", set->reason ? "reason" : NULL, NULL},
                   *values[] = {since, set->reason};
        struct pd_cli_request request = {.route = "/v1/alarms", .names = names, .values = values};
        struct pd_cli_memory text;
        json_t *answer;
        err = pd_cli_server_ask(&set->server, request, &text, &answer, error);
        if (err) {
            return err;
        }
        err = pd_cli_alarm_sums_add(sums, answer, error);
        more = json_is_true(json_object_get(answer, "more"));
        snprintf(since, sizeof since, "%" JSON_INTEGER_FORMAT,
                 json_integer_value(json_object_get(answer, "last")));
        json_decref(answer);
        free(text.bytes);
    }
    return err;
}

static int show_sums(const struct settings *set, struct pd_error *error)
{
    enum pd_alarm_sums_by by = PD_ALARM_SUMS_REASON;
    struct pd_alarm_sums *sums;
    pd_cli_alarm_sums_by(set->by, &by);
    int err = pd_cli_alarm_sums_new(by, &sums);
    if (err) {
        return pd_fail(error, err, "no memory for the table");
    }
    err = sum_up(set, sums, error);
    if (!err) {
        err = pd_cli_alarm_sums_print(sums, &set->table, error);
    }
    pd_cli_alarm_sums_free(sums);
    return err;
}

/* ---- those that come ---- */

struct follower {
    const struct settings *set;
    struct pd_style style;
    struct pd_error *error;
    bool bad; /* an event was no alarm */
};

static void print_line(const struct follower *follower, const struct alarm *alarm)
{
    char time[PD_TIME_TEXT_BYTES], src[PD_END_TEXT_BYTES], dst[PD_END_TEXT_BYTES];
    printf("%" PRIu64 "  %s  host %" PRIu64 "  %s%s%s", alarm->id,
           pd_row_text_time(alarm->time_us, &follower->style, time), alarm->host,
           follower->style.colour ? "\033[1m" : "", alarm->reason,
           follower->style.colour ? "\033[0m" : "");
    if (alarm->has_flow) {
        printf("  %s %s %s",
               pd_row_text_end(&alarm->flow.src, &alarm->flow, alarm->flow.src_port, src),
               follower->style.utf8 ? "→" : "->",
               pd_row_text_end(&alarm->flow.dst, &alarm->flow, alarm->flow.dst_port, dst));
    }
    if (*alarm->paths) {
        printf("  path %s", alarm->paths);
    }
    if (*alarm->detail) {
        printf("  %s", alarm->detail);
    }
    putchar('\n');
}

static int show_event(struct follower *follower, const json_t *row)
{
    const struct pd_cli_reader reader = {"an alarm", follower->error};
    const char *reason = json_string_value(json_object_get(row, "reason"));
    struct alarm alarm;
    int err = read_alarm(&reader, row, &follower->style, &alarm);
    if (err) {
        return err;
    }
    if (follower->set->reason && strcmp(reason, follower->set->reason) != 0) {
        return 0;
    }
    if (!follower->set->json) {
        print_line(follower, &alarm);
    } else if (json_dumpf(row, stdout, JSON_COMPACT) || putchar('\n') == EOF) {
        return pd_fail(follower->error, -EIO, "standard output: %s", strerror(errno));
    }
    if (fflush(stdout)) {
        return pd_fail(follower->error, -EIO, "standard output: %s", strerror(errno));
    }
    return 0;
}

static int take_event(void *context, const char *data, size_t len)
{
    struct follower *follower = context;
    json_error_t where;
    json_t *row = json_loadb(data, len, JSON_REJECT_DUPLICATES, &where);
    int err = json_is_object(row) ? show_event(follower, row)
                                  : pd_fail(follower->error, -PD_E_SYNTAX, "an event is no alarm");
    json_decref(row);
    follower->bad = err != 0;
    return err;
}

static int connect_once(const struct follower *follower, struct pd_cli_events *events,
                        struct pd_error *error)
{
    const struct pd_query_sink sink = pd_cli_events_sink(events);
    const char *const names[] = {follower->set->reason ? "reason" : NULL, NULL},
                      *const values[] = {follower->set->reason};
    pd_cli_events_restart(events);
    int code =
        pd_cli_ask(&(struct pd_cli_request){.base = follower->set->server.url,
                                            .route = "/v1/alarms/stream",
                                            .names = names,
                                            .values = values,
                                            .accept = "text/event-stream",
                                            .last_event_id = *events->id ? events->id : NULL},
                   &sink, error);
    if (code && follower->bad) {
        return pd_fail_within(error, follower->set->server.url);
    }
    if (code && !*error->text) {
        return pd_fail(error, code, "%.300s: an event is too large", follower->set->server.url);
    }
    return code;
}

/* Until it is interrupted; a controller that goes away may come back, and then tells what was
 * missed. */
static int follow(const struct settings *set, struct pd_error *error)
{
    struct follower follower = {set, pd_row_style_of(stdout), error, false};
    follower.style.local = set->table.local;
    struct pd_cli_events events;
    unsigned wait_s = RETRY_S;
    int err;
    pd_cli_events_begin(&events, take_event, &follower);
    if (set->since) {
        snprintf(events.id, sizeof events.id, "%s", set->since);
    }
    for (;;) {
        *error = (struct pd_error){0};
        err = connect_once(&follower, &events, error);
        bool lost = !err || ((err == -EIO || err == -ETIMEDOUT) && !follower.bad);
        if (!lost || (err && !events.heard)) {
            break;
        }
        fprintf(stderr, "pathdump alarms: %s; trying again\n",
                err ? error->text : "the stream has ended");
        sleep(wait_s);
        wait_s = err && wait_s < RETRY_MAX_S ? wait_s + RETRY_S : wait_s;
    }
    pd_cli_events_done(&events);
    return err;
}

static int run(const void *settings, const struct pd_cli_words *words, struct pd_error *error)
{
    const struct settings *set = settings;
    (void)words;
    if (set->by) {
        return show_sums(set, error);
    }
    return set->follow ? follow(set, error) : show_list(set, error);
}

const struct pd_cli_command pd_cli_alarms = {
    .name = "alarms",
    .synopsis = "--controller URL [--since ID] [--reason REASON] [--limit N] [--by "
                "reason|host|link] [--follow] [--json | --csv]",
    .help = "what servers complained about",
    .details = "Lists alarms that a controller has collected, the newest last: the newest 50 of "
               "them, or those behind --since, or with --json, --csv or --limit all from the "
               "oldest on. "
               "--by sums them up, "
               "the most frequent first. With --follow it "
               "stays and "
               "shows each new one as it comes, and those behind --since ID before; when the "
               "connection breaks it is made again, and nothing is left out or shown twice. With "
               "--json an "
               "alarm is a line then.",
    .options = options,
    .words = "",
    .settings_bytes = sizeof(struct settings),
    .check = check,
    .run = run,
};
