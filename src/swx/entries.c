/* SPDX-License-Identifier: Apache-2.0 */
/* Rows and numbers of a switch. */
#include "swx/entries.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define SHAPE_BYTES 300

/* ---- lists of lines */

static void rows_done(struct pd_swx_rows *rows)
{
    for (size_t i = 0; i < rows->len; i++) {
        free(rows->lines[i]);
    }
    free(rows->lines);
    *rows = (struct pd_swx_rows){.lines = NULL};
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Where in the text each line of the list stands, so that errors can say it. */
static unsigned line_of(const struct pd_swx_rows *rows, const unsigned *numbers, const char *line)
{
    for (size_t i = 0; i < rows->len; i++) {
        if (rows->lines[i] == line) {
            return numbers[i];
        }
    }
    return 0;
}

int pd_swx_entries_open(struct pd_swx_pipeline *pipeline, struct pd_swx_entries *ret_entries)
{
    struct pd_swx_entries entries = {.pipeline = pipeline};
    entries.tables = calloc(pd_swx_pipeline_tables_len(pipeline) + 1, sizeof *entries.tables);
    if (!entries.tables) {
        return -ENOMEM;
    }
    *ret_entries = entries;
    return 0;
}

void pd_swx_entries_close(struct pd_swx_entries *entries)
{
    if (!entries->tables) {
        return;
    }
    for (uint32_t i = 0; i < pd_swx_pipeline_tables_len(entries->pipeline); i++) {
        rows_done(&entries->tables[i]);
    }
    free(entries->tables);
    entries->tables = NULL;
}

/* ---- tables */

static char *trim(char *line)
{
    while (isspace((unsigned char)*line)) {
        line++;
    }
    size_t len = strcspn(line, "#\r\n");
    while (len && isspace((unsigned char)line[len - 1])) {
        len--;
    }
    line[len] = '\0';
    return line;
}

/* A new list that is checked line by line by adding what is new. */
struct change {
    struct pd_swx_entries *entries;
    uint32_t table;
    const char *name;
    struct pd_swx_rows now;
    unsigned *numbers; /* of the lines, in their order of the text */
    size_t numbers_room;
    struct pd_error *error;
};

static int refuse(const struct change *change, unsigned number, int err)
{
    struct pd_swx_table_info info;
    char shape[SHAPE_BYTES];
    pd_swx_pipeline_table(change->entries->pipeline, change->table, &info);
    if (err != -PD_E_SYNTAX) {
        return pd_fail(change->error, err, "%s:%u: table %s: %s", change->name, number, info.name,
                       pd_error_text(err));
    }
    pd_swx_pipeline_describe(change->entries->pipeline, change->table, shape, sizeof shape);
    return pd_fail(change->error, -PD_E_VALUE, "%s:%u: no row of table %s, which are: %s",
                   change->name, number, info.name, shape);
}

static int collect(struct change *change, char *text)
{
    unsigned number = 0;
    for (char *next = text; next && *next;) {
        char *line = next;
        next = strchr(line, '\n');
        if (next) {
            *next++ = '\0';
        }
        line = trim(line);
        number++;
        if (!*line) {
            continue;
        }
        if (PD_GROW(change->now.lines, change->now.room, change->now.len + 1) ||
            PD_GROW(change->numbers, change->numbers_room, change->now.len + 1) ||
            !(change->now.lines[change->now.len] = strdup(line))) {
            return -ENOMEM;
        }
        change->numbers[change->now.len++] = number;
    }
    return 0;
}

static bool has(const struct pd_swx_rows *sorted, const char *line)
{
    return sorted->len &&
           bsearch(&line, sorted->lines, sorted->len, sizeof *sorted->lines, compare);
}

static void sort(struct pd_swx_rows *rows)
{
    if (rows->len) {
        qsort(rows->lines, rows->len, sizeof *rows->lines, compare);
    }
}

/* A row given twice stays once; rows that both lists have are not touched. */
static void drop_doubles(struct pd_swx_rows *rows)
{
    size_t len = 0;
    for (size_t i = 0; i < rows->len; i++) {
        if (len && !strcmp(rows->lines[len - 1], rows->lines[i])) {
            free(rows->lines[i]);
        } else {
            rows->lines[len++] = rows->lines[i];
        }
    }
    rows->len = len;
}

/* What goes, goes first: a row may only have changed its action. */
static int apply(struct change *change)
{
    struct pd_swx_pipeline *pipeline = change->entries->pipeline;
    struct pd_swx_rows *was = &change->entries->tables[change->table];
    struct pd_swx_rows sorted = change->now;
    int err = 0;
    sorted.lines = malloc((sorted.len + 1) * sizeof *sorted.lines);
    if (!sorted.lines) {
        return -ENOMEM;
    }
    if (sorted.len) {
        memcpy(sorted.lines, change->now.lines, sorted.len * sizeof *sorted.lines);
    }
    sort(&sorted);
    for (size_t i = 0; i < was->len && !err; i++) {
        err = has(&sorted, was->lines[i])
                  ? 0
                  : pd_swx_pipeline_remove(pipeline, change->table, was->lines[i]);
    }
    for (size_t i = 0; i < change->now.len && !err; i++) {
        const char *line = change->now.lines[i];
        err = has(was, line) ? 0 : pd_swx_pipeline_add(pipeline, change->table, line);
        err = err ? refuse(change, line_of(&change->now, change->numbers, line), err) : 0;
    }
    free(sorted.lines);
    return err;
}

int pd_swx_entries_replace(struct pd_swx_entries *entries, uint32_t table, char *text,
                           const char *name, struct pd_error *error)
{
    struct change change = {.entries = entries, .table = table, .name = name, .error = error};
    int err = collect(&change, text);
    err = err ? err : apply(&change);
    if (!err && (err = pd_swx_pipeline_commit(entries->pipeline))) {
        err = refuse(&change, 1, err == -EINVAL ? -PD_E_FULL : err);
    }
    if (err) {
        pd_swx_pipeline_abort(entries->pipeline);
        rows_done(&change.now);
    } else {
        rows_done(&entries->tables[table]);
        sort(&change.now);
        drop_doubles(&change.now);
        entries->tables[table] = change.now;
    }
    free(change.numbers);
    return err;
}

size_t pd_swx_entries_len(const struct pd_swx_entries *entries, uint32_t table)
{
    const struct pd_swx_rows *rows = &entries->tables[table];
    size_t len = 0;
    for (size_t i = 0; i < rows->len; i++) {
        len += !strncmp(rows->lines[i], "match", 5);
    }
    return len;
}

/* ---- arrays */

static int read_number(const char **text, uint64_t *ret_value)
{
    char *end;
    while (isspace((unsigned char)**text)) {
        (*text)++;
    }
    if (!isdigit((unsigned char)**text)) {
        return -PD_E_VALUE;
    }
    errno = 0;
    *ret_value = strtoull(*text, &end, 0);
    if (errno || (*end && !isspace((unsigned char)*end))) {
        return -PD_E_VALUE;
    }
    *text = end;
    return 0;
}

int pd_swx_entries_array(struct pd_swx_entries *entries, const char *array, char *text,
                         const char *name, struct pd_error *error)
{
    char full[PD_SWX_NAME_MAX];
    const uint32_t len = pd_swx_pipeline_array(entries->pipeline, array, full);
    unsigned number = 0;
    if (!len) {
        return pd_fail(error, -PD_E_NOT_FOUND, "%s: the program has no array %.63s", name, array);
    }
    for (char *next = text; next && *next;) {
        char *line = next;
        uint64_t index, value;
        next = strchr(line, '\n');
        if (next) {
            *next++ = '\0';
        }
        number++;
        const char *at = line = trim(line);
        if (*line && (read_number(&at, &index) || read_number(&at, &value) || *at)) {
            return pd_fail(error, -PD_E_VALUE, "%s:%u: expects INDEX VALUE", name, number);
        }
        if (*line && index >= len) {
            return pd_fail(error, -PD_E_VALUE, "%s:%u: the array %.63s ends at %u", name, number,
                           array, len - 1);
        }
        if (*line) {
            pd_swx_pipeline_write(entries->pipeline, full, (uint32_t)index, value);
        }
    }
    return 0;
}

/* ---- files */

int pd_swx_entries_text(const char *file, char **ret_text, struct pd_error *error)
{
    FILE *in = fopen(file, "re");
    char *text = NULL;
    size_t room = 0, len = 0, got = 0;
    int err = in ? 0 : -errno;
    do {
        len += got;
        err = err ? err : PD_GROW(text, room, len + 65536);
        err = err || len <= PD_SWX_ROWS_BYTES_MAX ? err : -PD_E_TOO_LARGE;
        got = err || !text ? 0 : fread(text + len, 1, 65535, in);
    } while (got);
    err = err || !ferror(in) ? err : -EIO;
    if (in) {
        fclose(in);
    }
    if (err) {
        free(text);
        return pd_fail(error, err, "%s: %s", file, pd_error_text(err));
    }
    text[len] = '\0';
    *ret_text = text;
    return 0;
}

static int read_file(struct pd_swx_entries *entries, const char *file, char *stem, bool array,
                     struct pd_error *error)
{
    char *text = NULL;
    const uint32_t table = pd_swx_pipeline_find_table(entries->pipeline, stem);
    if (!array && table == PD_SWX_NONE) {
        return pd_fail(error, -PD_E_NOT_FOUND, "%s: the program has no table %.63s", file, stem);
    }
    int err = pd_swx_entries_text(file, &text, error);
    if (!err) {
        err = array ? pd_swx_entries_array(entries, stem, text, file, error)
                    : pd_swx_entries_replace(entries, table, text, file, error);
    }
    free(text);
    return err;
}

static bool is_skipped(const char *const *skip, const char *name)
{
    while (*skip && strcmp(*skip, name) != 0) {
        skip++;
    }
    return *skip;
}

/* NAME.swx, NAME.array; anything else is no concern of ours. */
static int read_one(struct pd_swx_entries *entries, const char *folder, const char *name,
                    const char *const *skip, struct pd_error *error)
{
    const char *dot = strrchr(name, '.');
    char stem[PD_SWX_NAME_MAX], file[4096];
    const bool table = dot && !strcmp(dot, ".swx"), array = dot && !strcmp(dot, ".array");
    if ((!table && !array) || is_skipped(skip, name)) {
        return 0;
    }
    snprintf(stem, sizeof stem, "%.*s", (int)(dot - name), name);
    int len = snprintf(file, sizeof file, "%s/%s", folder, name);
    return (size_t)len >= sizeof file
               ? pd_fail(error, -ENAMETOOLONG, "%.200s: too long a name", folder)
               : read_file(entries, file, stem, array, error);
}

int pd_swx_entries_read(struct pd_swx_entries *entries, const char *folder, const char *const *skip,
                        struct pd_error *error)
{
    DIR *at = opendir(folder);
    int err = 0;
    if (!at) {
        return pd_fail(error, -errno, "%s: %s", folder, strerror(errno));
    }
    for (struct dirent *entry; !err && (entry = readdir(at));) {
        err = read_one(entries, folder, entry->d_name, skip, error);
    }
    closedir(at);
    return err;
}
