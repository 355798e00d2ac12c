/* SPDX-License-Identifier: Apache-2.0 */
/* Query documents: from JSON of any origin to a query or a program, and back. */
#include "query/document.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_MAX                                                                   \
    9007199254740992.0 /* 2^53: reals up to here that are whole are written as such \
                        */

static const char *const own_members[] = {"query", "program", "args", NULL};

/* Names and values in the words are the sender's: one line, printable, whatever they were. */
static int plain(struct pd_error *error, int code)
{
    for (char *at = error ? error->text : NULL; at && *at; at++) {
        if (*at < ' ' || *at > '~') {
            *at = '?';
        }
    }
    return code;
}

/* ---- members ---- */

static bool is_one_of(const char *const *names, const char *name)
{
    while (names && *names && strcmp(*names, name) != 0) {
        names++;
    }
    return names && *names;
}

static int check_members(const json_t *json, const char *const *others, struct pd_error *error)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)json, name, value)
    {
        if (!is_one_of(own_members, name) && !is_one_of(others, name)) {
            return plain(error, pd_fail(error, -PD_E_UNKNOWN_KEY, "%.64s: unknown member", name));
        }
    }
    return 0;
}

/* A text without NULs; `most` bytes. */
static int read_text(const json_t *value, const char *name, size_t most, const char **ret_text,
                     struct pd_error *error)
{
    const char *text = json_string_value(value);
    if (!text || strlen(text) != json_string_length(value)) {
        pd_fail(error, -PD_E_VALUE, "%s: expected a text%s", name, text ? " without NULs" : "");
        return -PD_E_VALUE;
    }
    if (json_string_length(value) > most) {
        return pd_fail(error, -PD_E_TOO_LARGE, "%s: longer than %zu bytes", name, most);
    }
    *ret_text = text;
    return 0;
}

/* Levels of lists and objects; stops counting beyond `most`. */
static unsigned depth_of(const json_t *value, unsigned most)
{
    unsigned depth = 0;
    const char *name;
    json_t *item;
    size_t i;
    if (!json_is_array(value) && !json_is_object(value)) {
        return 0;
    }
    if (!most) {
        return 1;
    }
    json_array_foreach((json_t *)value, i, item)
    {
        unsigned below = depth_of(item, most - 1);
        depth = below > depth ? below : depth;
    }
    json_object_foreach((json_t *)value, name, item)
    {
        unsigned below = depth_of(item, most - 1);
        depth = below > depth ? below : depth;
    }
    return depth + 1;
}

/* A copy of "args", which may be missing. */
static int read_args(const json_t *json, json_t **ret_args, struct pd_error *error)
{
    const json_t *given = json_object_get(json, "args");
    if (given && !json_is_object(given)) {
        return pd_fail(error, -PD_E_VALUE, "args: expected an object");
    }
    if (given && depth_of(given, PD_DOCUMENT_DEPTH_MAX) > PD_DOCUMENT_DEPTH_MAX) {
        return pd_fail(error, -PD_E_TOO_LARGE,
                       "args: lists and objects in each other, deeper than %u",
                       PD_DOCUMENT_DEPTH_MAX);
    }
    if (given && json_dumpb(given, NULL, 0, JSON_COMPACT) > PD_DOCUMENT_ARGS_MAX_BYTES) {
        return pd_fail(error, -PD_E_TOO_LARGE, "args: larger than %zu bytes",
                       PD_DOCUMENT_ARGS_MAX_BYTES);
    }
    json_t *args = given ? json_deep_copy(given) : json_object();
    if (!args) {
        return pd_fail(error, -ENOMEM, "args: %s", pd_error_text(-ENOMEM));
    }
    *ret_args = args;
    return 0;
}

/* ---- values of parameters: JSON to the texts that pd_query_set takes ---- */

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
    if (!json_array_size(list) || json_array_size(list) > PD_DOCUMENT_LIST_MAX) {
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

_Static_assert(PD_DOCUMENT_LIST_MAX == 256, "the words above say so");

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
    int code = value_text(name, value, &text, error);
    if (code) {
        return code;
    }
    code = pd_query_set(query, name, text, error);
    free(text);
    return code;
}

/* The words begin with the parameter's name; here it is a member of "args". */
static int within_args(const struct pd_error *inner, struct pd_error *error)
{
    return plain(error, pd_fail(error, inner->code, "args.%s", inner->text));
}

static int read_query(const json_t *json, struct pd_document *document, struct pd_error *error)
{
    struct pd_error inner = {0};
    enum pd_query_name id;
    const char *name = "";
    json_t *value;
    int code = read_text(json_object_get(json, "query"), "query", SIZE_MAX, &name, error);
    if (code) {
        return code;
    }
    document->question = pd_question_find(name);
    if (document->question) {
        return document->question->read(document->args, document->question_args, &inner)
                   ? within_args(&inner, error)
                   : 0;
    }
    if (pd_query_name_parse(name, &id)) {
        return plain(error,
                     pd_fail(error, -PD_E_VALUE, "query: there is no query \"%.64s\"", name));
    }
    pd_query_init(&document->query, id);
    json_object_foreach(document->args, name, value)
    {
        code = set_parameter(&document->query, name, value, &inner);
        if (code) {
            return within_args(&inner, error);
        }
    }
    return pd_query_finish(&document->query, &inner) ? within_args(&inner, error) : 0;
}

static int read_program(const json_t *json, struct pd_document *document, struct pd_error *error)
{
    const char *source = "";
    int code = read_text(json_object_get(json, "program"), "program", PD_PROGRAM_SOURCE_MAX_BYTES,
                         &source, error);
    if (code) {
        return code;
    }
    document->is_program = true;
    document->program = strdup(source);
    return document->program ? 0 : pd_fail(error, -ENOMEM, "program: %s", pd_error_text(-ENOMEM));
}

/* ---- documents ---- */

static int parse(const json_t *json, const char *const *others, struct pd_document *document,
                 struct pd_error *error)
{
    const json_t *query = json_object_get(json, "query");
    const json_t *program = json_object_get(json, "program");
    int code = check_members(json, others, error);
    if (code) {
        return code;
    }
    if (!query == !program) {
        return pd_fail(error, -PD_E_VALUE,
                       "query: either \"query\" or \"program\" has to be given");
    }
    code = read_args(json, &document->args, error);
    if (code) {
        return code;
    }
    return query ? read_query(json, document, error) : read_program(json, document, error);
}

int pd_document_parse(const json_t *json, const char *const *others,
                      struct pd_document *ret_document, struct pd_error *error)
{
    struct pd_document document = {0};
    if (!json_is_object(json)) {
        return pd_fail(error, -PD_E_VALUE, "expected a JSON object");
    }
    int code = parse(json, others, &document, error);
    if (code) {
        pd_document_done(&document);
    } else {
        *ret_document = document;
    }
    return code;
}

json_t *pd_document_json(const struct pd_document *document)
{
    json_t *json = json_object();
    const char *name =
        document->question ? document->question->name : pd_query_name_text(document->query.name);
    bool failed = document->is_program
                      ? json_object_set_new(json, "program", json_string(document->program))
                      : json_object_set_new(json, "query", json_string(name));
    if (failed || json_object_set_new(json, "args", json_deep_copy(document->args))) {
        json_decref(json);
        return NULL;
    }
    return json;
}

int pd_document_copy(const struct pd_document *document, struct pd_document *ret_copy)
{
    struct pd_document copy = *document;
    copy.args = json_deep_copy(document->args);
    copy.program = document->program ? strdup(document->program) : NULL;
    if (!copy.args || (document->program && !copy.program)) {
        pd_document_done(&copy);
        return -ENOMEM;
    }
    *ret_copy = copy;
    return 0;
}

void pd_document_done(struct pd_document *document)
{
    free(document->program);
    json_decref(document->args);
    document->program = NULL;
    document->args = NULL;
}
