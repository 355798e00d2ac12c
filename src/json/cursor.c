/* SPDX-License-Identifier: Apache-2.0 */
/* Members of JSON objects: each is checked before it is believed. */
#include "json/cursor.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define WORDS_BYTES 300

/* "FILE:LINE: PLACE.MEMBER" */
static void name_place(const struct pd_json_cursor *at, const char *member, char *text,
                       size_t bytes)
{
    const char *place = at->place ? at->place : "";
    const bool within = *place || *member;
    char line[24] = "";

    if (at->line) {
        snprintf(line, sizeof line, ":%" PRIu64, at->line);
    }
    snprintf(text, bytes, "%.200s%s%s%s%s%.64s", at->file ? at->file : "", line,
             at->file && within ? ": " : "", place, *place && *member ? "." : "", member);
}

static int fail(const struct pd_json_cursor *at, int err, const char *member, const char *words)
{
    char place[WORDS_BYTES];

    name_place(at, member, place, sizeof place);
    pd_fail(at->error, err, "%s: %s", place, words);
    if (at->error) {
        pd_printable(at->error->text);
    }
    return err;
}

int pd_json_wrong(const struct pd_json_cursor *at, const char *member, const char *expected, ...)
{
    char words[WORDS_BYTES] = "expects ";
    va_list values;

    va_start(values, expected);
    vsnprintf(words + strlen(words), sizeof words - strlen(words), expected, values);
    va_end(values);
    return fail(at, at->err, member, words);
}

int pd_json_only(const struct pd_json_cursor *at, const char *const *members)
{
    const char *name;
    json_t *value;

    if (!json_is_object(at->object)) {
        return pd_json_wrong(at, "", "an object");
    }
    json_object_foreach((json_t *)(uintptr_t)at->object, name, value)
    {
        size_t i = 0;

        while (members[i] && strcmp(members[i], name) != 0) {
            i++;
        }
        if (!members[i]) {
            return fail(at, -PD_E_UNKNOWN_KEY, name, "unknown member");
        }
    }
    return 0;
}

int pd_json_number(const struct pd_json_cursor *at, const char *member, uint64_t least,
                   uint64_t most, uint64_t *ret_number)
{
    const json_t *value = json_object_get(at->object, member);
    json_int_t number = json_integer_value(value);

    if (!json_is_integer(value) || number < 0 || (uint64_t)number < least ||
        (uint64_t)number > most) {
        return pd_json_wrong(at, member, "a number from %" PRIu64 " to %" PRIu64, least, most);
    }
    *ret_number = (uint64_t)number;
    return 0;
}

int pd_json_number_or(const struct pd_json_cursor *at, const char *member, uint64_t least,
                      uint64_t most, uint64_t *number)
{
    return json_object_get(at->object, member) ? pd_json_number(at, member, least, most, number)
                                               : 0;
}

int pd_json_real_or(const struct pd_json_cursor *at, const char *member, double least, double most,
                    double *number)
{
    const json_t *value = json_object_get(at->object, member);
    double real = json_number_value(value);

    if (value && (!json_is_number(value) || !(real >= least && real <= most))) {
        return pd_json_wrong(at, member, "a number from %g to %g", least, most);
    }
    *number = value ? real : *number;
    return 0;
}

int pd_json_flag_or(const struct pd_json_cursor *at, const char *member, bool *flag)
{
    const json_t *value = json_object_get(at->object, member);

    if (value && !json_is_boolean(value)) {
        return pd_json_wrong(at, member, "true or false");
    }
    *flag = value ? json_is_true(value) : *flag;
    return 0;
}

int pd_json_words(const struct pd_json_cursor *at, const char *member, const char **ret_words)
{
    const json_t *value = json_object_get(at->object, member);
    const char *words = json_string_value(value);

    if (!words || strlen(words) != json_string_length(value)) {
        return pd_json_wrong(at, member, "a text");
    }
    *ret_words = words;
    return 0;
}

int pd_json_text(const struct pd_json_cursor *at, const char *member, char *ret_text, size_t size)
{
    const json_t *value = json_object_get(at->object, member);
    size_t len = json_string_length(value);

    if (!json_is_string(value) || len >= size || strlen(json_string_value(value)) != len) {
        return pd_json_wrong(at, member, "a text of less than %zu bytes", size);
    }
    memcpy(ret_text, json_string_value(value), len + 1);
    return 0;
}

int pd_json_list(const struct pd_json_cursor *at, const char *member, size_t least, size_t most,
                 const json_t **ret_list)
{
    const json_t *list = json_object_get(at->object, member);
    size_t len = json_array_size(list);

    if (!json_is_array(list) || len < least || len > most) {
        return pd_json_wrong(at, member, "a list of %zu to %zu members", least, most);
    }
    *ret_list = list;
    return 0;
}

int pd_json_list_or(const struct pd_json_cursor *at, const char *member, size_t least, size_t most,
                    const json_t **list)
{
    return json_object_get(at->object, member) ? pd_json_list(at, member, least, most, list) : 0;
}

int pd_json_numbers(const struct pd_json_cursor *at, const char *member, size_t least, size_t most,
                    uint64_t max, uint64_t *values, size_t *ret_len)
{
    const json_t *list;
    int err = pd_json_list(at, member, least, most, &list);

    if (err) {
        return err;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *value = json_array_get(list, i);
        json_int_t number = json_integer_value(value);
        char place[64];

        if (!json_is_integer(value) || number < 0 || (uint64_t)number > max) {
            snprintf(place, sizeof place, "%s[%zu]", member, i);
            return pd_json_wrong(at, place, "a number from 0 to %" PRIu64, max);
        }
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        values[i] = (uint64_t)json_integer_value(json_array_get(list, i));
    }
    *ret_len = json_array_size(list);
    return 0;
}

/* `"a", "b" or "c"` */
static void list_words(const char *const *words, size_t len, char *text, size_t bytes)
{
    size_t used = 0;

    *text = '\0';
    for (size_t i = 0; i < len && used < bytes; i++) {
        const char *before = !i ? "" : i + 1 < len ? ", " : " or ";
        used += (size_t)snprintf(text + used, bytes - used, "%s\"%s\"", before, words[i]);
    }
}

int pd_json_word(const struct pd_json_cursor *at, const char *member, const char *const *words,
                 size_t len, unsigned *ret_index)
{
    const json_t *value = json_object_get(at->object, member);
    const char *text = json_string_value(value);
    char expected[WORDS_BYTES / 2];

    for (unsigned i = 0; text && i < len; i++) {
        if (!strcmp(text, words[i])) {
            *ret_index = i;
            return 0;
        }
    }
    list_words(words, len, expected, sizeof expected);
    return pd_json_wrong(at, member, "%s", expected);
}

int pd_json_word_or(const struct pd_json_cursor *at, const char *member, const char *const *words,
                    size_t len, unsigned *index)
{
    return json_object_get(at->object, member) ? pd_json_word(at, member, words, len, index) : 0;
}
