/* SPDX-License-Identifier: Apache-2.0 */
/* Query documents: the one JSON form in which people, installed queries and trees of servers say
 * what is asked. */
#ifndef PD_QUERY_DOCUMENT_H
#define PD_QUERY_DOCUMENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "query/query.h"
#include "query/question.h"

/* {"query":NAME,"args":{…}}, where NAME is a question of the table (question.h), or, of one that
 * has a member of its own, {"program":"… Lua …","args":{…}}. Other members belong to who carries
 * the document ("deadline_ms", "hosts", "period_ms" …): the caller names those it reads itself, any
 * more are refused. A member of "args" is a parameter of query.h; besides its text a value may be a
 * number, a boolean, or a list: "path":[1,9,17], "avoid":[17],
 * "allow":[["10.0.0.0/24","10.1.0.0/16"]].
 *
 * Errors name the member: "args.k: expected a number from 1 to 4294967295, not "many"".
 *
 * Thread safety: a document is the caller's; it shares no JSON with what it was made from. */

#define PD_PROGRAM_SOURCE_MAX_BYTES ((size_t)1 << 20)
#define PD_DOCUMENT_ARGS_MAX_BYTES  ((size_t)1 << 20) /* "args", as compact JSON */
#define PD_DOCUMENT_DEPTH_MAX       32u /* lists and objects in each other, "args" included */

struct pd_document {
    const struct pd_question *question;
    void *asked;  /* what it makes of its parameters; NULL: nothing */
    char *text;   /* of its own member, a program's source; NULL: asked by its name */
    json_t *args; /* an object, as given; {} when there was none */
};

/* `others`: members that the caller reads itself, NULL-terminated; NULL: none. -PD_E_VALUE,
 * -PD_E_UNKNOWN_KEY, -PD_E_TOO_LARGE, -ENOMEM. */
int pd_query_document_parse(const json_t *json, const char *const *others,
                            struct pd_document *ret_document, struct pd_error *error);

/* The same of a question and its parameters alone, an object: what is wrong begins with the
 * parameter's name. */
int pd_query_document_make(const struct pd_question *question, const json_t *args,
                           struct pd_document *ret_document, struct pd_error *error);

/* The query over records that is asked; NULL: it is none. */
const struct pd_query *pd_query_document_query(const struct pd_document *document);

/* {"query"|"program":…,"args":{…}} that is read as the same document. The caller's; NULL without
 * memory. */
json_t *pd_query_document_json(const struct pd_document *document);

int pd_query_document_copy(const struct pd_document *document,
                           struct pd_document *ret_copy);  /* 0 or -ENOMEM */
void pd_query_document_done(struct pd_document *document); /* a zeroed one is fine */

#endif
