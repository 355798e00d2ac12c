/* SPDX-License-Identifier: Apache-2.0 */
/* What stands on the screen of `pathdump top`, line by line. */
#include "cli/top/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define NAME_WIDTH 14

/* Takes the text over. */
static int split(char *text, struct pd_top_lines *ret)
{
    size_t len = 0;

    for (const char *at = text; *at; at++) {
        len += *at == '\n';
    }
    *ret = (struct pd_top_lines){.text = text, .at = calloc(len + 1, sizeof(char *))};
    if (!ret->at) {
        pd_top_lines_done(ret);
        return -ENOMEM;
    }
    for (char *at = text, *end; (end = strchr(at, '\n')); at = end + 1) {
        *end = '\0';
        ret->at[ret->len++] = at;
    }
    return 0;
}

int pd_top_lines_of_table(const struct pd_top_table *table, const json_t *rows,
                          const struct pd_style *style, struct pd_top_lines *ret)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    json_t *answer = json_pack("{s:O}", table->listing.member, rows);
    int err = out && answer ? pd_cli_list(&table->listing, answer, style, out, NULL) : -ENOMEM;

    json_decref(answer);
    if (out && fclose(out) && !err) {
        err = -ENOMEM;
    }
    if (err) {
        free(text);
        return err;
    }
    return split(text, ret);
}

/* ---- one row ---- */

/* Cut to lines at its blanks or where it has to be. */
static void put_folded(const char *name, const char *text, unsigned width, FILE *out)
{
    size_t room = width > NAME_WIDTH + 10 ? width - NAME_WIDTH : 10, len = strlen(text);

    do {
        size_t take = len < room ? len : room;
        while (take < len && take > 1 && (text[take] & 0xc0) == 0x80) {
            take--;
        }
        fprintf(out, "%-*.*s%.*s\n", NAME_WIDTH, NAME_WIDTH - 1, name, (int)take, text);
        text += take;
        len -= take;
        name = "";
    } while (len);
}

static void put_value(const char *name, const json_t *value, unsigned width, FILE *out)
{
    size_t len = strlen(name);
    json_int_t number = json_integer_value(value);
    char time[PD_TIME_TEXT_BYTES], title[NAME_WIDTH];
    char *words = json_is_string(value) ? strdup(json_string_value(value))
                                        : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    bool is_time = len > 3 && !strcmp(name + len - 3, "_us") && number > 1000000000000;

    if (words) {
        pd_printable(words);
        put_folded(pd_row_text_word(name, title, sizeof title),
                   is_time ? pd_time_format((uint64_t)number, time) : words, width, out);
    }
    free(words);
}

int pd_top_lines_of_row(const json_t *row, unsigned width, struct pd_top_lines *ret)
{
    const json_t *value;
    const char *name;
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);

    if (!out) {
        return -ENOMEM;
    }
    json_object_foreach((json_t *)(uintptr_t)row, name, value)
    {
        if (!json_is_null(value)) {
            put_value(name, value, width, out);
        }
    }
    if (fclose(out)) {
        free(text);
        return -ENOMEM;
    }
    return split(text, ret);
}

int pd_top_lines_of_text(const char *text, struct pd_top_lines *ret)
{
    char *copy = strdup(text);

    return copy ? split(copy, ret) : -ENOMEM;
}

const char *pd_top_line(const struct pd_top_lines *lines, size_t i)
{
    return i < lines->len ? lines->at[i] : "";
}

void pd_top_lines_done(struct pd_top_lines *lines)
{
    free(lines->at);
    free(lines->text);
    *lines = (struct pd_top_lines){0};
}
