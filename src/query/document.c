/* SPDX-License-Identifier: Apache-2.0 */
/* Query documents: from JSON of any origin to a query or a program, and back. */
#include "query/document.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names and values in the words are the sender's: one line, printable, whatever they were. */
static int plain(struct pd_error *error, int err)
{
    for (char *at = error ? error->text : NULL; at && *at; at++) {
        if (*at < ' ' || *at > '~') {
            *at = '?';
        }
    }
    return err;
}

/* ---- members ---- */

static bool is_one_of(const char *const *names, const char *name)
{
    while (names && *names && strcmp(*names, name) != 0) {
        names++;
    }
    return names && *names;
}

/* The question that has its text in a member of its own. */
static const struct pd_question *by_member(const char *name)
{
    for (size_t i = 0; pd_query_questions[i]; i++) {
        if (pd_query_questions[i]->member && !strcmp(pd_query_questions[i]->member, name)) {
            return pd_query_questions[i];
        }
    }
    return NULL;
}

static bool is_own(const char *name)
{
    return !strcmp(name, "query") || !strcmp(name, "args") || by_member(name);
}

static int check_members(const json_t *json, const char *const *others, struct pd_error *error)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)json, name, value)
    {
        if (!is_own(name) && !is_one_of(others, name)) {
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
static int read_args(const json_t *given, json_t **ret_args, struct pd_error *error)
{
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

/* The words begin with the parameter's name; here it is a member of "args". */
static int within_args(const struct pd_error *inner, struct pd_error *error)
{
    return plain(error, pd_fail(error, inner->code, "args.%s", inner->text));
}

/* What the question makes of its parameters. */
static int read_asked(struct pd_document *document, struct pd_error *error)
{
    const struct pd_question *question = document->question;

    if (!question->args_bytes) {
        return 0;
    }
    document->asked = calloc(1, question->args_bytes);
    return document->asked ? question->read(question, document->args, document->asked, error)
                           : pd_fail(error, -ENOMEM, "%s", pd_error_text(-ENOMEM));
}

static int read_name(const json_t *json, struct pd_document *document, struct pd_error *error)
{
    const char *name = "";
    int err = read_text(json_object_get(json, "query"), "query", SIZE_MAX, &name, error);

    if (err) {
        return err;
    }
    document->question = pd_query_question_find(name);
    return document->question ? 0
                              : plain(error, pd_fail(error, -PD_E_VALUE,
                                                     "query: there is no query \"%.64s\"", name));
}

static int read_member(const json_t *json, struct pd_document *document, struct pd_error *error)
{
    const char *name = document->question->member, *source = "";
    int err =
        read_text(json_object_get(json, name), name, PD_PROGRAM_SOURCE_MAX_BYTES, &source, error);

    if (err) {
        return err;
    }
    if (!*source) {
        return pd_fail(error, -PD_E_VALUE, "%s: is empty", name);
    }
    document->text = strdup(source);
    return document->text ? 0 : pd_fail(error, -ENOMEM, "%s: %s", name, pd_error_text(-ENOMEM));
}

/* ---- documents ---- */

/* Either a name, or the text of one that has a member for it. */
static int find_question(const json_t *json, struct pd_document *document, struct pd_error *error)
{
    unsigned given = json_object_get(json, "query") != NULL;

    for (size_t i = 0; pd_query_questions[i]; i++) {
        if (pd_query_questions[i]->member && json_object_get(json, pd_query_questions[i]->member)) {
            document->question = pd_query_questions[i];
            given++;
        }
    }
    return given == 1 ? 0
                      : pd_fail(error, -PD_E_VALUE,
                                "query: either \"query\" or \"program\" has to be given");
}

static int parse(const json_t *json, const char *const *others, struct pd_document *document,
                 struct pd_error *error)
{
    struct pd_error inner = {0};
    int err = check_members(json, others, error);

    if (!err) {
        err = find_question(json, document, error);
    }
    if (!err) {
        err = read_args(json_object_get(json, "args"), &document->args, error);
    }
    if (!err) {
        err = document->question ? read_member(json, document, error)
                                 : read_name(json, document, error);
    }
    if (err) {
        return err;
    }
    return read_asked(document, &inner) ? within_args(&inner, error) : 0;
}

int pd_query_document_parse(const json_t *json, const char *const *others,
                            struct pd_document *ret_document, struct pd_error *error)
{
    struct pd_document document = {0};
    if (!json_is_object(json)) {
        return pd_fail(error, -PD_E_VALUE, "expected a JSON object");
    }
    int err = parse(json, others, &document, error);
    if (err) {
        pd_query_document_done(&document);
    } else {
        *ret_document = document;
    }
    return err;
}

int pd_query_document_make(const struct pd_question *question, const json_t *args,
                           struct pd_document *ret_document, struct pd_error *error)
{
    struct pd_document document = {.question = question};
    int err = read_args(args, &document.args, error);

    if (!err) {
        err = read_asked(&document, error);
    }
    if (err) {
        pd_query_document_done(&document);
    } else {
        *ret_document = document;
    }
    return err;
}

const struct pd_query *pd_query_document_query(const struct pd_document *document)
{
    return document->question->query ? document->question->query(document->asked) : NULL;
}

json_t *pd_query_document_json(const struct pd_document *document)
{
    const struct pd_question *question = document->question;
    json_t *json = json_object();
    bool failed = question->member
                      ? json_object_set_new(json, question->member, json_string(document->text))
                      : json_object_set_new(json, "query", json_string(question->name));

    if (failed || json_object_set_new(json, "args", json_deep_copy(document->args))) {
        json_decref(json);
        return NULL;
    }
    return json;
}

/* What was read may point into the JSON: it is read again. */
int pd_query_document_copy(const struct pd_document *document, struct pd_document *ret_copy)
{
    struct pd_document copy = {.question = document->question};

    copy.args = json_deep_copy(document->args);
    copy.text = document->text ? strdup(document->text) : NULL;
    if (!copy.args || (document->text && !copy.text) || read_asked(&copy, NULL)) {
        pd_query_document_done(&copy);
        return -ENOMEM;
    }
    *ret_copy = copy;
    return 0;
}

void pd_query_document_done(struct pd_document *document)
{
    free(document->text);
    free(document->asked);
    json_decref(document->args);
    *document = (struct pd_document){0};
}
