/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked: from flags to a query or a program, and to its document. */
#include "cli/question.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/nearest.h"
#include "query/poor.h"
#include "query/telemetry.h"

#define PROGRAM_MAX_BYTES ((size_t)1 << 20)

/* ---- names ---- */

void pd_cli_question_names(const char *between, FILE *out)
{
    const char *before = "";

    for (size_t i = 0; pd_query_questions[i]; i++) {
        if (!pd_query_questions[i]->member) {
            fprintf(out, "%s%s", before, pd_query_questions[i]->name);
            before = between;
        }
    }
}

static void print_other(const struct pd_question *question, FILE *out)
{
    const struct pd_question_param *param = question->params;

    fprintf(out, "\t%s\t%s", question->name, question->help);
    for (const char *before = "; takes "; param && param->name; param++, before = ", ") {
        fprintf(out, "%s%s", before, param->name);
    }
    fputc('\n', out);
}

void pd_cli_question_others(FILE *out)
{
    fputs("\nOther questions; what they take is an option, or given with --arg NAME=VALUE:\n", out);
    for (size_t i = 0; pd_query_questions[i]; i++) {
        if (!pd_query_questions[i]->member && !pd_query_questions[i]->query) {
            print_other(pd_query_questions[i], out);
        }
    }
}

/* "WORDS getFlows|getPaths|…END" */
static int fail_with_names(struct pd_error *error, const char *words, const char *end)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);

    if (out) {
        fputs(words, out);
        pd_cli_question_names("|", out);
        fputs(end, out);
    }
    if (!out || fclose(out)) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    pd_fail(error, -PD_E_VALUE, "%s", text);
    free(text);
    return -PD_E_VALUE;
}

/* ---- flags ---- */

static void begin(struct pd_cli_question *question)
{
    if (!question->begun) {
        pd_query_init(&question->tried, PD_QUERY_GET_FLOWS);
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
    int err = 0;

    begin(question);
    if (id != PD_QUERY_PARAM_BY) { /* others take another one: the question itself reads it */
        err = pd_query_set(&question->tried, pd_query_params[id].name, value, error);
    } else if (question->values[id]) {
        err = pd_fail(error, -PD_E_VALUE, "by: given twice");
    }
    if (err) {
        name_the_flag(error);
    } else {
        question->values[id] = value;
    }
    return err;
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

/* ---- options of other questions ---- */

/* Not queries over records; NULL where they were not given. */
static const struct own {
    const char *name; /* of the parameter and its flag */
    size_t offset;
    const struct pd_question *question; /* whose it is */
} owns[] = {
    {"threshold", offsetof(struct pd_cli_question, threshold), &pd_query_question_poor},
    {"name", offsetof(struct pd_cli_question, name), &pd_query_question_telemetry},
    {"quantiles", offsetof(struct pd_cli_question, quantiles), &pd_query_question_telemetry},
};

#define OWNS (sizeof owns / sizeof *owns)

static const char *own_value(const struct pd_cli_question *question, size_t i)
{
    const char *value;

    memcpy(&value, (const char *)question + owns[i].offset, sizeof value);
    return value;
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
    for (size_t i = 0; i < OWNS; i++) {
        if (own_value(question, i)) {
            return pd_fail(error, -PD_E_VALUE, "--%s is a parameter of %s, not of programs",
                           owns[i].name, owns[i].question->name);
        }
    }
    if (question->args && question->arg_len) {
        return pd_fail(error, -PD_E_VALUE, "either --args JSON or --arg KEY=VALUE");
    }
    return 0;
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

/* Flags of queries, by the same name, and --arg NAME=VALUE. */
json_t *pd_cli_question_args(const struct pd_cli_question *question)
{
    json_t *args = json_object();
    int failed = !args;

    for (unsigned id = 0; id < PD_QUERY_PARAM_COUNT && !failed; id++) {
        if (question->values[id]) {
            failed = json_object_set_new(args, pd_query_params[id].name,
                                         json_string(question->values[id]));
        }
    }
    if (question->live && !failed) {
        failed = json_object_set_new(args, "live", json_string("true"));
    }
    for (size_t i = 0; i < OWNS && !failed; i++) {
        const char *value = own_value(question, i);
        failed = value && json_object_set_new(args, owns[i].name, json_string(value));
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

/* Flags that it does not take. */
static int check_flags(const struct pd_cli_question *question, struct pd_error *error)
{
    const struct pd_question *asked = question->question;

    for (unsigned id = 0; id < PD_QUERY_PARAM_COUNT; id++) {
        if (question->values[id] && !pd_query_question_takes(asked, pd_query_params[id].name)) {
            return refuse_flag(asked, pd_query_params[id].flag, error);
        }
    }
    if (question->live && !pd_query_question_takes(asked, "live")) {
        return refuse_flag(asked, "live", error);
    }
    for (size_t i = 0; i < OWNS; i++) {
        if (own_value(question, i) && !pd_query_question_takes(asked, owns[i].name)) {
            return refuse_flag(asked, owns[i].name, error);
        }
    }
    if (question->arg_len && asked->params && asked->params->flag) {
        return pd_fail(error, -PD_E_VALUE, "--args and --arg are for programs: --program FILE");
    }
    return question->args ? pd_fail(error, -PD_E_VALUE, "--args is for programs: --program FILE")
                          : 0;
}

int pd_cli_question_make(const struct pd_cli_question *question, struct pd_document *ret_document,
                         struct pd_error *error)
{
    struct pd_error inner = {0};
    json_t *args = pd_cli_question_args(question);

    if (!args) {
        return pd_fail(error, -PD_E_VALUE, "parameters: not UTF-8");
    }
    int err = pd_query_document_make(question->question, args, ret_document, &inner);
    json_decref(args);
    if (!err) {
        return 0;
    }
    name_the_flag(&inner);
    return pd_fail(error, err, "--%s", inner.text);
}

static int no_query(const char *name, struct pd_error *error)
{
    struct pd_nearest nearest = {.text = name};
    char start[160 + PD_NEAREST_HINT_BYTES], hint[PD_NEAREST_HINT_BYTES];

    for (size_t i = 0; pd_query_questions[i]; i++) {
        if (!pd_query_questions[i]->member) {
            pd_nearest_offer(&nearest, pd_query_questions[i]->name);
        }
    }
    snprintf(start, sizeof start, "there is no query \"%.100s\"%s%s", name,
             pd_nearest_hint(&nearest, "", hint),
             pd_nearest_is_meant(&nearest) ? " There are " : "; there are ");
    return fail_with_names(error, start, "");
}

static int check_query(struct pd_cli_question *question, const struct pd_cli_words *words,
                       struct pd_error *error)
{
    struct pd_document document;

    if (!words->len) {
        return fail_with_names(error, "the query is missing: ", "; or --program FILE");
    }
    question->question = pd_query_question_find(words->words[0]);
    if (!question->question) {
        return no_query(words->words[0], error);
    }
    int err = check_flags(question, error);
    if (!err) {
        err = pd_cli_question_make(question, &document, error);
    }
    if (!err) {
        pd_query_document_done(&document);
    }
    return err;
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
    int err = 0;
    if (!in || !text) {
        err = pd_fail(error, in ? -ENOMEM : -errno, "--program %.300s: %s", file, strerror(errno));
        goto out;
    }
    size_t len = fread(text, 1, PROGRAM_MAX_BYTES + 1, in);
    if (ferror(in)) {
        err = pd_fail(error, -EIO, "--program %.300s: %s", file, strerror(errno));
    } else if (len > PROGRAM_MAX_BYTES) {
        err = pd_fail(error, -PD_E_TOO_LARGE, "--program %.300s: larger than %zu KiB", file,
                      PROGRAM_MAX_BYTES >> 10);
    } else if (memchr(text, '\0', len)) {
        err = pd_fail(error, -PD_E_VALUE, "--program %.300s: not a text", file);
    } else {
        text[len] = '\0';
    }
out:
    if (in && !is_stdin) {
        fclose(in);
    }
    if (err) {
        free(text);
    } else {
        *ret_text = text;
    }
    return err;
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
    int err = program_args(question, &args, error);
    if (!err) {
        err = read_program(question->program, &text, error);
    }
    if (!err) {
        json_t *source = json_string(text);
        if (!source) {
            err = pd_fail(error, -PD_E_VALUE, "--program %.300s: not UTF-8", question->program);
        } else {
            document = json_pack("{s:o, s:O}", "program", source, "args", args);
        }
    }
    free(text);
    json_decref(args);
    if (!err && !document) {
        err = pd_fail(error, -ENOMEM, "no memory");
    }
    if (!err) {
        *ret_document = document;
    }
    return err;
}

int pd_cli_question_document(const struct pd_cli_question *question, json_t **ret_document,
                             struct pd_error *error)
{
    if (question->program) {
        return program_document(question, ret_document, error);
    }
    json_t *args = pd_cli_question_args(question);
    json_t *document =
        args ? json_pack("{s:s, s:o}", "query", question->question->name, "args", args) : NULL;
    if (!document) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    *ret_document = document;
    return 0;
}
