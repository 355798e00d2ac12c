/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked: a query with its parameters as flags, or a program with its arguments; as a
 * document for agents and controllers. */
#ifndef PD_CLI_QUESTION_H
#define PD_CLI_QUESTION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "base/options.h"
#include "cli/cli.h"
#include "query/document.h"
#include "query/poor.h"

/* Shared by the commands that ask at once and those that install. A struct pd_cli_question is the
 * FIRST member of their settings, since options that are parsed by a callback get the settings
 * only.
 *
 * Thread safety: works on the caller's memory. */

#define PD_CLI_ARGS_MAX 64u

struct pd_cli_question {
    bool begun; /* `tried` was initialised */
    bool live;
    struct pd_query tried;                    /* takes each value as it is given */
    const char *values[PD_QUERY_PARAM_COUNT]; /* as given */
    const struct pd_question *question;       /* that is asked by its name; NULL: a program */
    const char *threshold;                    /* of getPoorTCPFlows */
    const char *name, *quantiles;             /* of getTelemetry */
    const char *program;                      /* file; NULL: a query */
    const char *args;                         /* JSON */
    const char *arg[PD_CLI_ARGS_MAX];         /* KEY=VALUE */
    size_t arg_len;
};

/* Parses into the question at the beginning of `target`. */
int pd_cli_question_param(void *target, const char *name, const char *value,
                          struct pd_error *error);
int pd_cli_question_arg(void *target, const char *name, const char *value, struct pd_error *error);

// clang-format off
#define PD_CLI_QUESTION_PARAM(id, rest, flag, placeholder, takers, needers, agent_only, text)   \
    {.name = flag,                                                                               \
     .type = agent_only ? PD_OPTION_FLAG : PD_OPTION_CALLBACK,                                   \
     .offset = agent_only ? offsetof(struct pd_cli_question, live) : 0,                          \
     .value = placeholder,                                                                       \
     .help = text,                                                                               \
     .set = agent_only ? NULL : pd_cli_question_param},
#define PD_CLI_QUESTION_OPTIONS                                                                  \
    PD_QUERY_PARAMS(PD_CLI_QUESTION_PARAM)                                                       \
    {.name = "threshold",                                                                        \
     .type = PD_OPTION_STRING,                                                                   \
     .offset = offsetof(struct pd_cli_question, threshold),                                      \
     .value = "N",                                                                               \
     .help = "retransmissions in a row (getPoorTCPFlows), else 3"},                              \
    {.name = "name",                                                                             \
     .type = PD_OPTION_STRING,                                                                   \
     .offset = offsetof(struct pd_cli_question, name),                                           \
     .value = "NAME",                                                                            \
     .help = "which value of the telemetry plan (getTelemetry)"},                                \
    {.name = "quantiles",                                                                        \
     .type = PD_OPTION_STRING,                                                                   \
     .offset = offsetof(struct pd_cli_question, quantiles),                                      \
     .value = "LIST",                                                                            \
     .help = "from 0 to 1 (getTelemetry), 0.5,0.99 when not given"},                             \
    {.name = "program",                                                                          \
     .type = PD_OPTION_STRING,                                                                   \
     .offset = offsetof(struct pd_cli_question, program),                                        \
     .value = "FILE",                                                                            \
     .help = "run this Lua program instead of a query; - is stdin"},                             \
    {.name = "arg",                                                                              \
     .type = PD_OPTION_CALLBACK,                                                                 \
     .value = "KEY=VALUE",                                                                       \
     .help = "one of the program's args; VALUE may be JSON",                                     \
     .set = pd_cli_question_arg},                                                                \
    {.name = "args",                                                                             \
     .type = PD_OPTION_STRING,                                                                   \
     .offset = offsetof(struct pd_cli_question, args),                                           \
     .value = "JSON",                                                                            \
     .help = "all of the program's args, an object"}
// clang-format on

/* For the tables of commands: the word that stands for a question's name, queries over records as
 * items of a list, and what else there is in the table. */
#define PD_CLI_QUESTION_WORD                 "QUERY"
#define PD_CLI_QUESTION_ITEM(id, name, text) "\t" name "\t" text "\n"
#define PD_CLI_QUESTION_ITEMS                PD_QUERIES(PD_CLI_QUESTION_ITEM)
void pd_cli_question_others(FILE *out);

/* Names of all that are asked by name, `between` them. */
void pd_cli_question_names(const char *between, FILE *out);

/* One question by name, whose parameters fit, or a program. A failure is one of usage. */
int pd_cli_question_check(struct pd_cli_question *question, const struct pd_cli_words *words,
                          struct pd_error *error);

/* The parameters that were given, as texts. The caller's; NULL without memory. */
json_t *pd_cli_question_args(const struct pd_cli_question *question);

/* A question by name, with its parameters; pd_query_document_done. */
int pd_cli_question_make(const struct pd_cli_question *question, struct pd_document *ret_document,
                         struct pd_error *error);

/* {"query","args"} or {"program","args"}; reads the program's file. */
int pd_cli_question_document(const struct pd_cli_question *question, json_t **ret_document,
                             struct pd_error *error);

#endif
