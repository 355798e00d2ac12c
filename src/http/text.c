/* SPDX-License-Identifier: Apache-2.0 */
/* Words from outside as JSON strings. */
#include "http/text.h"

#include <stdlib.h>
#include <string.h>

json_t *pd_http_text_json(const char *text)
{
    json_t *string = json_string(text);
    char *plain;

    if (string) {
        return string;
    }
    plain = strdup(text);
    if (!plain) {
        return NULL;
    }
    for (char *at = plain; *at; at++) {
        if ((unsigned char)*at >= 0x80) {
            *at = '?';
        }
    }
    string = json_string(plain);
    free(plain);
    return string;
}
