/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked: from flags to a query or a program, and to its document. */
#include "cli/question.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM_MAX_BYTES ((size_t)1 << 20)

#define X(id, name, text) "|" name
const char pd_cli_question_names[] = PD_QUERIES(X) "|" PD_POOR_NAME;
#undef X

/* ---- flags ---- */

static void begin(struct pd_cli_question *question)
{
    if (!question->begun) {
        pd_query_init(&question->query, PD_QUERY_GET_FLOWS);
    }
    question->begun = true;
}

/* Errors of pd_query_set begin with the name in REST; people gave the flag. */
static void name_the_flag(struct pd_error *error)
{
    for (char *at = error->text; *at && *at != ':'; at++) {
        if (*at == '_') {
            *at = '-';
        }
    }
}

static int set_param(struct pd_cli_question *question, unsigned id, const char *value,
                     struct pd_error *error)
{
    begin(question);
    int code = pd_query_set(&question->query, pd_query_params[id].name, value, error);
    if (code) {
        name_the_flag(error);
    } else {
        question->values[id] = value;
    }
    return code;
}

int pd_cli_question_param(void *target, const char *name, const char *value, struct pd_error *error)
{
    unsigned id = 0;
    while (strcmp(pd_query_params[id].flag, name) != 0) {
        id++;
    }
    return set_param(target, id, value, error);
}

int pd_cli_question_arg(void *target, const char *name, const char *value, struct pd_error *error)
{
    struct pd_cli_question *question = target;
    const char *equals = strchr(value, '=');
    if (!equals || equals == value) {
        return pd_fail(error, -PD_E_VALUE, "%s: expected KEY=VALUE, not \"%.100s\"", name, value);
    }
    if (question->arg_len == PD_CLI_ARGS_MAX) {
        return pd_fail(error, -PD_E_VALUE, "%s: given more than %u times; use --args JSON", name,
                       PD_CLI_ARGS_MAX);
    }
    question->arg[question->arg_len++] = value;
    return 0;
}

/* ---- checks ---- */

static int check_program(const struct pd_cli_question *question, const struct pd_cli_words *words,
                         struct pd_error *error)
{
    if (words->len) {
        return pd_fail(error, -PD_E_VALUE, "either a query or --program FILE, not \"%.100s\" too",
                       words->words[0]);
    }
    for (unsigned id = 0; id < PD_QUERY_PARAM_COUNT; id++) {
        if (question->values[id]) {
            return pd_fail(
                error, -PD_E_VALUE, "--%s is a parameter of queries; a program takes --arg %s=%s",
                pd_query_params[id].flag, pd_query_params[id].name, question->values[id]);
        }
    }
    if (question->live) {
        return pd_fail(error, -PD_E_VALUE, "--live is a parameter of queries, not of programs");
    }
    if (question->threshold) {
        return pd_fail(error, -PD_E_VALUE,
                       "--threshold is a parameter of " PD_POOR_NAME ", not of programs");
    }
    if (question->args && question->arg_len) {
        return pd_fail(error, -PD_E_VALUE, "either --args JSON or --arg KEY=VALUE");
    }
    return 0;
}

static bool has_param(const struct pd_question *question, const char *name)
{
    const struct pd_question_param *param = question->params;

    while (param && param->name && strcmp(param->name, name) != 0) {
        param++;
    }
    return param && param->name;
}

static int refuse_flag(const struct pd_question *question, const char *flag, struct pd_error *error)
{
    return pd_fail(error, -PD_E_UNKNOWN_KEY, "--%s: %s does not take it", flag, question->name);
}

/* "name=value" */
static int add_arg(json_t *args, const char *text)
{
    size_t len = strcspn(text, "=");
    char name[64];

    snprintf(name, sizeof name, "%.*s", (int)len, text);
    return json_object_set_new(args, name, json_string(text + len + 1));
}

/* The parameters that were given, as the table knows them: flags of queries that it takes by the
 * same name, and --arg NAME=VALUE. The caller's; NULL without memory. */
static json_t *question_args(const struct pd_cli_question *question)
{
    json_t *args = json_object();
    int failed = !args;

    for (unsigned id = 0; id < PD_QUERY_PARAM_COUNT && !failed; id++) {
        if (question->values[id]) {
            failed = json_object_set_new(args, pd_query_params[id].name,
                                         json_string(question->values[id]));
        }
    }
    if (question->threshold && !failed) {
        failed = json_object_set_new(args, "threshold", json_string(question->threshold));
    }
    for (size_t i = 0; i < question->arg_len && !failed; i++) {
        failed = add_arg(args, question->arg[i]);
    }
    if (!failed) {
        return args;
    }
    json_decref(args);
    return NULL;
}

static int check_question(struct pd_cli_question *question, struct pd_error *error)
{
    _Alignas(max_align_t) unsigned char unused[PD_QUESTION_ARGS_BYTES] = {0};
    const struct pd_question *ops = question->question;
    struct pd_error inner;
    for (unsigned id = 0; id < PD_QUERY_PARAM_COUNT; id++) {
        if (question->values[id] && !has_param(ops, pd_query_params[id].name)) {
            return refuse_flag(ops, pd_query_params[id].flag, error);
        }
    }
    if (question->live) {
        return refuse_flag(ops, "live", error);
    }
    if (question->threshold && !has_param(ops, "threshold")) {
        return refuse_flag(ops, "threshold", error);
    }
    if (question->args) {
        return pd_fail(error, -PD_E_VALUE, "--args is for programs: --program FILE");
    }
    json_t *args = question_args(question);
    if (!args) {
        return pd_fail(error, -PD_E_VALUE, "parameters: not UTF-8");
    }
    int code = ops->read(args, unused, &inner);
    json_decref(args);
    return code ? pd_fail(error, code, "--%s", inner.text) : 0;
}

static int check_query(struct pd_cli_question *question, const struct pd_cli_words *words,
                       struct pd_error *error)
{
    struct pd_error inner;
    if (!words->len) {
        return pd_fail(error, -PD_E_VALUE, "the query is missing: %s; or --program FILE",
                       PD_CLI_QUESTION_WORDS);
    }
    question->question = pd_question_find(words->words[0]);
    if (question->question) {
        return check_question(question, error);
    }
    if (question->threshold) {
        return pd_fail(error, -PD_E_UNKNOWN_KEY, "--threshold: only " PD_POOR_NAME " takes it");
    }
    begin(question);
    if (pd_query_name_parse(words->words[0], &question->query.name)) {
        return pd_fail(error, -PD_E_VALUE, "there is no query \"%.100s\"; there are %s",
                       words->words[0], PD_CLI_QUESTION_WORDS);
    }
    if (question->args || question->arg_len) {
        return pd_fail(error, -PD_E_VALUE, "--args and --arg are for programs: --program FILE");
    }
    if (question->live && set_param(question, PD_QUERY_PARAM_LIVE, "true", error)) {
        return -PD_E_VALUE;
    }
    int code = pd_query_finish(&question->query, &inner);
    if (code) {
        name_the_flag(&inner);
    }
    return code ? pd_fail(error, code, "--%s", inner.text) : 0;
}

int pd_cli_question_check(struct pd_cli_question *question, const struct pd_cli_words *words,
                          struct pd_error *error)
{
    return question->program ? check_program(question, words, error)
                             : check_query(question, words, error);
}

/* ---- the document ---- */

static int read_program(const char *file, char **ret_text, struct pd_error *error)
{
    bool is_stdin = !strcmp(file, "-");
    FILE *in = is_stdin ? stdin : fopen(file, "re");
    char *text = malloc(PROGRAM_MAX_BYTES + 1);
    int code = 0;
    if (!in || !text) {
        code = pd_fail(error, in ? -ENOMEM : -errno, "--program %.300s: %s", file, strerror(errno));
        goto out;
    }
    size_t len = fread(text, 1, PROGRAM_MAX_BYTES + 1, in);
    if (ferror(in)) {
        code = pd_fail(error, -EIO, "--program %.300s: %s", file, strerror(errno));
    } else if (len > PROGRAM_MAX_BYTES) {
        code = pd_fail(error, -PD_E_TOO_LARGE, "--program %.300s: larger than %zu KiB", file,
                       PROGRAM_MAX_BYTES >> 10);
    } else if (memchr(text, '\0', len)) {
        code = pd_fail(error, -PD_E_VALUE, "--program %.300s: not a text", file);
    } else {
        text[len] = '\0';
    }
out:
    if (in && !is_stdin) {
        fclose(in);
    }
    if (code) {
        free(text);
    } else {
        *ret_text = text;
    }
    return code;
}

/* A number, true, a list: what is JSON is taken as that, all else as text. */
static json_t *arg_value(const char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
    return value ? value : json_string(text);
}

static int program_args(const struct pd_cli_question *question, json_t **ret_args,
                        struct pd_error *error)
{
    json_error_t where;
    json_t *args =
        question->args ? json_loads(question->args, JSON_REJECT_DUPLICATES, &where) : json_object();
    if (!json_is_object(args)) {
        json_decref(args);
        return pd_fail(error, -PD_E_VALUE, "--args: expected an object: {\"name\":value,…}");
    }
    for (size_t i = 0; i < question->arg_len; i++) {
        const char *text = question->arg[i], *equals = strchr(text, '=');
        size_t len = (size_t)(equals - text);
        int bad = json_object_getn(args, text, len) ||
                  json_object_setn_new(args, text, len, arg_value(equals + 1));
        if (bad) {
            json_decref(args);
            return pd_fail(error, -PD_E_VALUE, "--arg %.100s: given twice, or not UTF-8", text);
        }
    }
    *ret_args = args;
    return 0;
}

static int program_document(const struct pd_cli_question *question, json_t **ret_document,
                            struct pd_error *error)
{
    json_t *args = NULL, *document = NULL;
    char *text = NULL;
    int code = program_args(question, &args, error);
    if (!code) {
        code = read_program(question->program, &text, error);
    }
    if (!code) {
        json_t *source = json_string(text);
        if (!source) {
            code = pd_fail(error, -PD_E_VALUE, "--program %.300s: not UTF-8", question->program);
        } else {
            document = json_pack("{s:o, s:O}", "program", source, "args", args);
        }
    }
    free(text);
    json_decref(args);
    if (!code && !document) {
        code = pd_fail(error, -ENOMEM, "no memory");
    }
    if (!code) {
        *ret_document = document;
    }
    return code;
}

int pd_cli_question_document(const struct pd_cli_question *question, json_t **ret_document,
                             struct pd_error *error)
{
    if (question->program) {
        return program_document(question, ret_document, error);
    }
    json_t *args = question->question ? question_args(question) : json_object();
    for (unsigned id = 0; id < PD_QUERY_PARAM_COUNT; id++) {
        if (question->values[id] && json_object_set_new(args, pd_query_params[id].name,
                                                        json_string(question->values[id]))) {
            json_decref(args);
            return pd_fail(error, -PD_E_VALUE, "--%s: not UTF-8", pd_query_params[id].flag);
        }
    }
    if (question->threshold &&
        json_object_set_new(args, "threshold", json_string(question->threshold))) {
        json_decref(args);
        return pd_fail(error, -PD_E_VALUE, "--threshold: not UTF-8");
    }
    json_t *document = json_pack("{s:s, s:o}", "query",
                                 question->question ? question->question->name
                                                    : pd_query_name_text(question->query.name),
                                 "args", args);
    if (!document) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    *ret_document = document;
    return 0;
}
