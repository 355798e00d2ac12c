/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of `pathdump top`. */
#include "cli/top/table.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct pd_cli_field link_fields[] = {
    {.title = "LINK", .member = "link", .kind = PD_CLI_WORD},
    {.title = "LOAD", .member = "load_bps", .kind = PD_CLI_RATE_BPS},
    {.title = "USE", .member = "use", .kind = PD_CLI_SHARE, .spare = 2},
    {.title = "ALARMS", .member = "alarms", .kind = PD_CLI_NUMBER, .spare = 1},
    {.title = "SUSPICION", .member = "suspicion", .kind = PD_CLI_SHARE, .spare = 3},
};
static const struct pd_cli_field flow_fields[] = {
    {.title = "SOURCE", .member = "source", .kind = PD_CLI_WORD},
    {.title = "DESTINATION", .member = "destination", .kind = PD_CLI_WORD},
    {.title = "PROTO", .member = "protocol", .kind = PD_CLI_WORD, .spare = 4},
    {.title = "PATH", .member = "path", .kind = PD_CLI_WORD, .spare = 1},
    {.title = "RATE", .member = "rate_bps", .kind = PD_CLI_RATE_BPS},
    {.title = "PACKETS", .member = "pkts", .kind = PD_CLI_NUMBER, .spare = 3},
    {.title = "BYTES", .member = "bytes", .kind = PD_CLI_NUMBER, .spare = 2},
};
static const struct pd_cli_field host_fields[] = {
    {.title = "ID", .member = "id", .kind = PD_CLI_WORD},
    {.title = "NAME", .member = "name", .kind = PD_CLI_WORD},
    {.title = "STATE", .member = "state", .kind = PD_CLI_WORD},
    {.title = "LAST ANSWER", .member = "last_seen_us", .kind = PD_CLI_TIME_US, .spare = 3},
    {.title = "URL", .member = "url", .kind = PD_CLI_WORD, .spare = 2},
    {.title = "LAST ERROR", .member = "error", .kind = PD_CLI_WORD, .spare = 1},
};
static const struct pd_cli_field alarm_fields[] = {
    {.title = "TIME", .member = "time_us", .kind = PD_CLI_TIME_US},
    {.title = "REASON", .member = "reason", .kind = PD_CLI_WORD},
    {.title = "HOST", .member = "host", .kind = PD_CLI_WORD, .spare = 1},
    {.title = "COUNT", .member = "count", .kind = PD_CLI_NUMBER, .spare = 2},
    {.title = "FLOW", .member = "flow", .kind = PD_CLI_WORD, .spare = 3},
    {.title = "PATH", .member = "path", .kind = PD_CLI_WORD, .spare = 4},
    {.title = "DETAIL", .member = "detail", .kind = PD_CLI_WORD, .spare = 5},
};
static const struct pd_cli_field verdict_fields[] = {
    {.title = "APPLICATION", .member = "app", .kind = PD_CLI_WORD},
    {.title = "CERTAIN", .member = "certain", .kind = PD_CLI_WORD},
    {.title = "CONFIDENCE", .member = "confidence", .kind = PD_CLI_SHARE, .spare = 2},
    {.title = "VERDICT", .member = "verdict", .kind = PD_CLI_WORD},
    {.title = "LINKS", .member = "links", .kind = PD_CLI_WORD, .spare = 1},
    {.title = "LAST", .member = "last_us", .kind = PD_CLI_TIME_US, .spare = 3},
};

#define FIELDS(fields) fields, sizeof(fields) / sizeof(fields)[0]

const struct pd_top_table pd_top_tables[PD_TOP_TABLES] = {
    [PD_TOP_LINKS] = {.name = "links",
                      .listing = {"rows", "link", "links", FIELDS(link_fields)},
                      .sort = "load_bps"},
    [PD_TOP_FLOWS] = {.name = "flows",
                      .listing = {"rows", "flow", "flows", FIELDS(flow_fields)},
                      .sort = "rate_bps"},
    [PD_TOP_HOSTS] = {.name = "hosts",
                      .listing = {"rows", "host", "hosts", FIELDS(host_fields)},
                      .sort = "state"},
    [PD_TOP_ALARMS] = {.name = "alarms",
                       .listing = {"rows", "alarm", "alarms", FIELDS(alarm_fields)},
                       .sort = "time_us"},
    [PD_TOP_VERDICTS] = {.name = "verdicts",
                         .listing = {"rows", "verdict", "verdicts", FIELDS(verdict_fields)},
                         .sort = "confidence"},
};

const struct pd_top_table *pd_top_table_find(const char *name)
{
    for (size_t i = 0; i < PD_TOP_TABLES; i++) {
        if (!strcmp(pd_top_tables[i].name, name)) {
            return &pd_top_tables[i];
        }
    }
    return NULL;
}

const struct pd_cli_field *pd_top_column(const struct pd_top_table *table, const char *name)
{
    for (size_t i = 0; i < table->listing.fields_len; i++) {
        const struct pd_cli_field *field = &table->listing.fields[i];
        if (!strcasecmp(field->title, name) || !strcasecmp(field->member, name)) {
            return field;
        }
    }
    return NULL;
}

const struct pd_cli_field *pd_top_next_column(const struct pd_top_table *table,
                                              const struct pd_cli_field *after)
{
    size_t next = (size_t)(after - table->listing.fields) + 1;

    return &table->listing.fields[next % table->listing.fields_len];
}

/* ---- filter ---- */

static bool holds(const json_t *value, const char *text)
{
    char *words = json_is_string(value) ? NULL : json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    const char *all = words ? words : json_string_value(value);
    bool found = all && strcasestr(all, text);

    free(words);
    return found;
}

static bool fits(const json_t *row, const char *filter)
{
    const json_t *value;
    const char *name;
    bool found = !filter || !*filter;

    json_object_foreach((json_t *)(uintptr_t)row, name, value)
    {
        found = found || holds(value, filter);
    }
    return found;
}

/* ---- order ---- */

struct placed {
    const json_t *row, *key;
    size_t place; /* rows that are equal stay as they were */
};

static int by_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) : !a - !b;
}

static int by_key(const void *a, const void *b)
{
    const struct placed *left = a, *right = b;
    bool numbers = json_is_number(left->key) && json_is_number(right->key);
    double x = json_number_value(left->key), y = json_number_value(right->key);
    int order = numbers                     ? (x < y) - (x > y)
                : json_is_number(left->key) ? -1
                : json_is_number(right->key)
                    ? 1
                    : by_text(json_string_value(left->key), json_string_value(right->key));

    return order ? order : (left->place > right->place) - (left->place < right->place);
}

json_t *pd_top_arrange(const json_t *rows, const char *filter, const struct pd_cli_field *by)
{
    size_t len = json_array_size(rows), kept = 0;
    struct placed *placed = calloc(len + 1, sizeof *placed);
    json_t *arranged = placed ? json_array() : NULL;

    for (size_t i = 0; placed && i < len; i++) {
        const json_t *row = json_array_get(rows, i);
        if (fits(row, filter)) {
            placed[kept] = (struct placed){row, json_object_get(row, by->member), kept};
            kept++;
        }
    }
    if (kept) {
        qsort(placed, kept, sizeof *placed, by_key);
    }
    for (size_t i = 0; i < kept; i++) {
        json_array_append(arranged, (json_t *)(uintptr_t)placed[i].row);
    }
    free(placed);
    return arranged;
}
