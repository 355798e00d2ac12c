/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of requests as JSON documents. */
#include "http/body.h"

#include <stdbool.h>

/* Brackets outside of strings; of what is no JSON the parser will say so. */
static bool is_too_deep(const char *bytes, size_t len)
{
    int depth = 0;
    bool in_string = false;

    for (size_t i = 0; i < len && depth <= PD_BODY_DEPTH_MAX; i++) {
        char c = bytes[i];

        if (c == '\\' && in_string) {
            i++;
        } else if (c == '"') {
            in_string = !in_string;
        } else if (!in_string && (c == '[' || c == '{')) {
            depth++;
        } else if (!in_string && (c == ']' || c == '}')) {
            depth--;
        }
    }
    return depth > PD_BODY_DEPTH_MAX;
}

int pd_http_body_json(const char *bytes, size_t len, json_t **ret_document, struct pd_error *error)
{
    json_error_t wrong;

    if (is_too_deep(bytes, len)) {
        return pd_fail(error, -PD_E_SYNTAX,
                       "the body has more than %d arrays and objects within each other",
                       PD_BODY_DEPTH_MAX);
    }
    json_t *document = json_loadb(bytes, len, JSON_REJECT_DUPLICATES, &wrong);
    if (!document) {
        return pd_fail(error, -PD_E_SYNTAX, "the body is not JSON: line %d, column %d: %.150s",
                       wrong.line, wrong.column, wrong.text);
    }
    if (!json_is_object(document)) {
        json_decref(document);
        return pd_fail(error, -PD_E_SYNTAX, "the body is not a JSON object");
    }
    *ret_document = document;
    return 0;
}
