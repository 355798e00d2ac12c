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

static void check_words(const struct pd_error *error, int err)
{
    if (error->code != err || !*error->text) {
        abort();
    }
    for (const char *at = error->text; *at; at++) {
        if (*at < ' ' || *at > '~') {
            abort();
        }
    }
}

static bool same_asked(const struct pd_document *a, const struct pd_document *b)
{
    const struct pd_query *x = pd_query_document_query(a), *y = pd_query_document_query(b);

    if (!x) {
        return !a->asked || !memcmp(a->asked, b->asked, a->question->args_bytes);
    }
    return x->name == y->name && x->given == y->given &&
           !memcmp(&x->rules, &y->rules, sizeof x->rules);
}

static void check_again(const struct pd_document *document)
{
    json_t *json = pd_query_document_json(document);
    struct pd_document again;
    if (!json || pd_query_document_parse(json, NULL, &again, NULL) ||
        again.question != document->question || !json_equal(again.args, document->args) ||
        !same_asked(&again, document) || !again.text != !document->text ||
        (again.text && strcmp(again.text, document->text) != 0)) {
        abort();
    }
    pd_query_document_done(&again);
    json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct pd_document document;
    struct pd_error error = {0};
    json_t *json;
    if (pd_http_body_json((const char *)data, len, &json, NULL)) {
        return 0;
    }
    int err = pd_query_document_parse(json, others, &document, &error);
    json_decref(json);
    if (err) {
        check_words(&error, err);
        return 0;
    }
    check_again(&document);
    pd_query_document_done(&document);
    return 0;
}
