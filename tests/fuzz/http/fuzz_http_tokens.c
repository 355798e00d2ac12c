/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: token files of any bytes. What is taken has roles and names that print; what is
 * refused says why without repeating what stands there. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "http/role.h"
#include "http/tokens.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_token(const struct pd_token *token)
{
    if (token->role < PD_ROLE_READ || token->role > PD_ROLE_AGENT || !*token->name) {
        abort();
    }
    for (const char *at = token->name; *at; at++) {
        if (*at <= ' ' || *at > '~') {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct pd_tokens tokens = {0};
    struct pd_error error = {0};
    char *text = malloc(len + 1);

    if (!text) {
        return 0;
    }
    memcpy(text, data, len);
    text[len] = '\0';
    if (pd_http_tokens_parse(text, &tokens, &error)) {
        if (tokens.items || !*error.text || strlen(error.text) > 100) {
            abort();
        }
    } else {
        for (size_t i = 0; i < tokens.len; i++) {
            check_token(&tokens.items[i]);
        }
        (void)pd_http_tokens_find(&tokens, (const char *)data, len);
        pd_http_tokens_done(&tokens);
    }
    free(text);
    return 0;
}
