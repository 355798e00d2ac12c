/* SPDX-License-Identifier: Apache-2.0 */
/* The queries over records as questions of the table: their parameters from JSON. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/question.h"
#include "query/size.h"

/* 2^53: reals up to here that are whole are written as such */
#define EXACT_MAX 9007199254740992.0
#define LIST_MAX  256u /* items of a list that is a parameter's value */

/* ---- values of parameters: JSON to the texts that pd_query_set takes ---- */

static bool is_one_of(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0) {
        names++;
    }
    return *names;
}

/* Texts, numbers and booleans. `special`: characters that join items of lists, which one item
 * cannot have. */
static const char *write_scalar(FILE *out, const json_t *value, const char *special)
{
    const char *text = json_string_value(value);
    double real = json_real_value(value);
    if (text && strlen(text) != json_string_length(value)) {
        return "a text without NULs";
    }
    if (text && *special && (!*text || strpbrk(text, special))) {
        return "items that are neither empty nor lists themselves";
    }
    if (text) {
        fputs(text, out);
    } else if (json_is_integer(value)) {
        fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    } else if (json_is_real(value)) {
        fprintf(out, fabs(real) < EXACT_MAX && real == floor(real) ? "%.0f" : "%.6f", real);
    } else if (json_is_boolean(value) && !*special) {
        fputs(json_is_true(value) ? "true" : "false", out);
    } else {
        return *special ? "items that are texts or numbers" : "a text, a number or a boolean";
    }
    return NULL;
}

static const char *write_pair(FILE *out, const json_t *value)
{
    if (!json_is_array(value)) {
        return write_scalar(out, value, ","); /* its text form: src>dst */
    }
    if (json_array_size(value) != 2) {
        return "pairs of a source and a destination prefix";
    }
    const char *expected = write_scalar(out, json_array_get(value, 0), ",>");
    fputc('>', out);
    return expected ? expected : write_scalar(out, json_array_get(value, 1), ",>");
}

static const char *write_list(FILE *out, const json_t *list, bool pairs)
{
    const char *expected = NULL;
    if (!json_array_size(list) || json_array_size(list) > LIST_MAX) {
        return "a list of 1 to 256 items";
    }
    for (size_t i = 0; i < json_array_size(list) && !expected; i++) {
        const json_t *item = json_array_get(list, i);
        if (i) {
            fputc(',', out);
        }
        expected = pairs ? write_pair(out, item) : write_scalar(out, item, ",");
    }
    return expected;
}

_Static_assert(LIST_MAX == 256, "the words above say so");

static bool takes_list(const char *name, bool *ret_pairs)
{
    static const char *const lists[] = {"path", "avoid", "must_pass", "allow", NULL};
    *ret_pairs = strcmp(name, "allow") == 0;
    return is_one_of(lists, name);
}

static int value_text(const char *name, const json_t *value, char **ret_text,
                      struct pd_error *error)
{
    char *text = NULL;
    size_t len;
    bool pairs;
    FILE *out = open_memstream(&text, &len);
    if (!out) {
        return pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    const char *expected = json_is_array(value) && takes_list(name, &pairs)
                               ? write_list(out, value, pairs)
                               : write_scalar(out, value, "");
    bool failed = ferror(out);
    if (fclose(out) || failed) {
        free(text);
        return pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
    }
    if (expected) {
        free(text);
        return pd_fail(error, -PD_E_VALUE, "%.64s: expected %s", name, expected);
    }
    *ret_text = text;
    return 0;
}

static int set_parameter(struct pd_query *query, const char *name, const json_t *value,
                         struct pd_error *error)
{
    char *text = NULL;
    int err = value_text(name, value, &text, error);
    if (err) {
        return err;
    }
    err = pd_query_set(query, name, text, error);
    free(text);
    return err;
}

/* ---- the entries ---- */

static int read_query(const struct pd_question *question, const json_t *args, void *ret_asked,
                      struct pd_error *error)
{
    struct pd_query *query = ret_asked;
    const char *name;
    json_t *value;
    int err = 0;

    pd_query_init(query, (enum pd_query_name)question->place);
    json_object_foreach((json_t *)(uintptr_t)args, name, value)
    {
        err = set_parameter(query, name, value, error);
        if (err) {
            return err;
        }
    }
    return pd_query_finish(query, error);
}

static const struct pd_query *as_query(const void *asked)
{
    return asked;
}

/* What programs may ask. */
static const char *const count_values[] = {"bytes", "pkts", NULL};
static const char *const duration_values[] = {"duration_us", "stime_us", "etime_us", NULL};
static const struct pd_question_call calls[PD_QUERY_COUNT] = {
    [PD_QUERY_GET_FLOWS] = {.name = "get_flows"},
    [PD_QUERY_GET_PATHS] = {.name = "get_paths"},
    [PD_QUERY_GET_COUNT] = {.name = "get_count", .values = count_values},
    [PD_QUERY_GET_DURATION] = {.name = "get_duration", .values = duration_values},
};

// clang-format off
const struct pd_question pd_query_question_queries[PD_QUERY_COUNT] = {
#define X(id, text, words)                              \
    [PD_QUERY_##id] = {.name = text,                    \
                       .help = words,                   \
                       .role = PD_ROLE_READ,            \
                       .params = pd_query_params,       \
                       .place = PD_QUERY_##id,          \
                       .installs = true,                \
                       .call = &calls[PD_QUERY_##id],   \
                       .args_bytes = sizeof(struct pd_query), \
                       .size = pd_query_size,           \
                       .read = read_query,              \
                       .query = as_query},
    PD_QUERIES(X)
#undef X
};
// clang-format on
