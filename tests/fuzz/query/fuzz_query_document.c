/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: query documents of any bytes, as the bodies of requests that they are. What is read
 * is written back and must be read as the same; what is refused says why, in one printable line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "http/body.h"
#include "query/document.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const char *const others[] = {"deadline_ms", "children", NULL};

static void check_words(const struct pd_error *error, int code)
{
    if (error->code != code || !*error->text) {
        abort();
    }
    for (const char *at = error->text; *at; at++) {
        if (*at < ' ' || *at > '~') {
            abort();
        }
    }
}

static void check_again(const struct pd_document *document)
{
    json_t *json = pd_document_json(document);
    struct pd_document again;
    if (!json || pd_document_parse(json, NULL, &again, NULL) ||
        again.is_program != document->is_program || again.question != document->question ||
        memcmp(again.question_args, document->question_args, sizeof again.question_args) != 0 ||
        !json_equal(again.args, document->args)) {
        abort();
    }
    if (document->is_program ? strcmp(again.program, document->program) != 0
                             : again.query.name != document->query.name ||
                                   again.query.given != document->query.given ||
                                   memcmp(&again.query.rules, &document->query.rules,
                                          sizeof again.query.rules) != 0) {
        abort();
    }
    pd_document_done(&again);
    json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct pd_document document;
    struct pd_error error = {0};
    json_t *json;
    if (pd_body_json((const char *)data, len, &json, NULL)) {
        return 0;
    }
    int code = pd_document_parse(json, others, &document, &error);
    json_decref(json);
    if (code) {
        check_words(&error, code);
        return 0;
    }
    check_again(&document);
    pd_document_done(&document);
    return 0;
}
