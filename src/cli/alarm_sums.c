/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of alarms: a row a key, in a JSON object as a dictionary while they are added. */
#include "cli/alarm_sums.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/path.h"
#include "cli/json.h"
#include "query/rows/cells.h"

#define KEY_BYTES 64

struct row {
    char key[KEY_BYTES];
    uint64_t alarms, first_us, last_us, last_id;
};

struct pd_alarm_sums {
    enum pd_alarm_sums_by by;
    json_t *places; /* key → place in `rows` */
    struct row *rows;
    size_t len, size;
    uint64_t alarms, left_out; /* left out: the table was full */
};

static const char *const names[] = {"reason", "host", "link"};

int pd_cli_alarm_sums_by(const char *text, enum pd_alarm_sums_by *ret_by)
{
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(text, names[i])) {
            *ret_by = (enum pd_alarm_sums_by)i;
            return 0;
        }
    }
    return -PD_E_VALUE;
}

int pd_cli_alarm_sums_new(enum pd_alarm_sums_by by, struct pd_alarm_sums **ret_sums)
{
    struct pd_alarm_sums *sums = calloc(1, sizeof *sums);
    if (!sums) {
        return -ENOMEM;
    }
    sums->by = by;
    sums->places = json_object();
    if (!sums->places) {
        free(sums);
        return -ENOMEM;
    }
    *ret_sums = sums;
    return 0;
}

void pd_cli_alarm_sums_free(struct pd_alarm_sums *sums)
{
    if (sums) {
        json_decref(sums->places);
        free(sums->rows);
        free(sums);
    }
}

/* What is common to the rows of one alarm. */
struct entry {
    uint64_t id, time_us, count;
};

/* The row of the key, a new one if need be; NULL: no memory, or (counted) no room. */
static struct row *row_of(struct pd_alarm_sums *sums, const char *key, const struct entry *entry)
{
    const json_t *place = json_object_get(sums->places, key);
    if (place) {
        return &sums->rows[json_integer_value(place)];
    }
    if (sums->len == PD_ALARM_SUMS_MAX) {
        sums->left_out += entry->count;
        return NULL;
    }
    if (PD_GROW(sums->rows, sums->size, sums->len + 1) ||
        json_object_set_new(sums->places, key, json_integer((json_int_t)sums->len))) {
        return NULL;
    }
    struct row *row = &sums->rows[sums->len++];
    *row = (struct row){.first_us = entry->time_us};
    snprintf(row->key, sizeof row->key, "%s", key);
    return row;
}

static int count(struct pd_alarm_sums *sums, const char *text, const struct entry *entry)
{
    char key[KEY_BYTES];
    pd_row_text_word(text, key, sizeof key);
    struct row *row = row_of(sums, key, entry);
    if (!row) {
        return sums->len == PD_ALARM_SUMS_MAX ? 0 : -ENOMEM;
    }
    row->alarms += entry->count;
    row->first_us = entry->time_us < row->first_us ? entry->time_us : row->first_us;
    row->last_us = entry->time_us > row->last_us ? entry->time_us : row->last_us;
    row->last_id = entry->id;
    return 0;
}

static int count_links(struct pd_alarm_sums *sums, const json_t *paths, const struct entry *entry)
{
    int err = 0;
    for (size_t i = 0; i < json_array_size(paths) && !err; i++) {
        const json_t *path = json_array_get(paths, i);
        for (size_t at = 1; at < json_array_size(path) && !err; at++) {
            char text[PD_LINK_TEXT_BYTES];
            struct pd_link_match link = {(uint32_t)json_integer_value(json_array_get(path, at - 1)),
                                         (uint32_t)json_integer_value(json_array_get(path, at))};
            err = count(sums, pd_link_format(link, text), entry);
        }
    }
    return err;
}

static int add_one(struct pd_alarm_sums *sums, const struct pd_cli_reader *reader,
                   const json_t *alarm)
{
    struct entry entry = {.count = 1};
    const char *reason = json_string_value(json_object_get(alarm, "reason"));
    uint64_t host;
    char text[PD_TEXT_NUMBER_BYTES];
    int err = pd_cli_read_number(reader, alarm, "id", PD_READ_MAX, &entry.id);
    if (!err) {
        err = pd_cli_read_number(reader, alarm, "host", UINT32_MAX, &host);
    }
    if (!err) {
        err = pd_cli_read_number(reader, alarm, "time_us", PD_READ_MAX, &entry.time_us);
    }
    if (!err && json_object_get(alarm, "count")) {
        err = pd_cli_read_number(reader, alarm, "count", PD_READ_MAX, &entry.count);
    }
    if (err) {
        return err;
    }
    sums->alarms += entry.count;
    switch (sums->by) {
    case PD_ALARM_SUMS_REASON: return count(sums, reason ? reason : "?", &entry);
    case PD_ALARM_SUMS_LINK: return count_links(sums, json_object_get(alarm, "paths"), &entry);
    case PD_ALARM_SUMS_HOST: break;
    }
    snprintf(text, sizeof text, "%" PRIu64, host);
    return count(sums, text, &entry);
}

int pd_cli_alarm_sums_add(struct pd_alarm_sums *sums, const json_t *answer, struct pd_error *error)
{
    const struct pd_cli_reader reader = {"the answer", error};
    const json_t *rows;
    int err = pd_cli_read_array(&reader, answer, "alarms", &rows);
    for (size_t i = 0; i < json_array_size(rows) && !err; i++) {
        err = add_one(sums, &reader, json_array_get(rows, i));
    }
    return err == -ENOMEM ? pd_fail(error, err, "no memory for the table") : err;
}

static int by_number(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->alarms != y->alarms) {
        return x->alarms < y->alarms ? 1 : -1;
    }
    return strcmp(x->key, y->key);
}

static void cells(struct pd_rows_table *table, const struct row *row)
{
    char text[PD_TIME_TEXT_BYTES + PD_TEXT_NUMBER_BYTES];
    pd_rows_cell(table, row->key);
    pd_rows_number(table, row->alarms);
    pd_rows_time(table, row->first_us);
    pd_rows_time(table, row->last_us);
    snprintf(text, sizeof text, "%" PRIu64, row->last_id);
    pd_rows_cell(table, text);
}

static void print_end(const struct pd_alarm_sums *sums, size_t shown)
{
    char number[PD_TEXT_NUMBER_BYTES];
    printf("%s%s alarm%s", shown ? "\n" : "", pd_row_text_number(sums->alarms, number),
           pd_row_text_plural(sums->alarms));
    if (sums->len > shown) {
        printf(", %s more %ss with fewer", pd_row_text_number(sums->len - shown, number),
               names[sums->by]);
    }
    if (sums->left_out) {
        printf(", %s not summed up: more than %u different %ss",
               pd_row_text_number(sums->left_out, number), PD_ALARM_SUMS_MAX, names[sums->by]);
    }
    putchar('\n');
}

int pd_cli_alarm_sums_print(struct pd_alarm_sums *sums, const struct pd_cli_table *shape,
                            struct pd_error *error)
{
    static const char *const titles[] = {"REASON", "HOST", "LINK"};
    const struct pd_rows_column columns[] = {
        {.title = titles[sums->by], .right = sums->by == PD_ALARM_SUMS_HOST},
        {.title = "ALARMS", .right = true},
        {.title = "FIRST"},
        {.title = "LAST"},
        {.title = "NEWEST ID", .right = true},
    };
    struct pd_style style = pd_cli_table_style(shape);
    struct pd_rows_table *table = pd_rows_new(columns, sizeof columns / sizeof *columns, &style);
    size_t shown = sums->len < PD_ALARM_SUMS_SHOW ? sums->len : PD_ALARM_SUMS_SHOW;
    int err = table ? 0 : -ENOMEM;
    if (sums->len) {
        qsort(sums->rows, sums->len, sizeof *sums->rows, by_number);
    }
    for (size_t i = 0; i < shown && !err; i++) {
        cells(table, &sums->rows[i]);
    }
    if (!err) {
        err = pd_rows_print(table, stdout);
    }
    if (!err && !style.csv) {
        print_end(sums, shown);
    }
    pd_rows_free(table);
    return err == -ENOMEM ? pd_fail(error, err, "no memory for the table") : err;
}
