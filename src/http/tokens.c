/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of token files, and a comparison that tells nothing by its duration. */
#include "http/tokens.h"

#include <ctype.h>
#include <errno.h>
#include <gnutls/crypto.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "http/role.h"

static const char hashed[] = "sha256:";

static bool is_visible(const char *text)
{
    for (; *text; text++) {
        if (*text <= ' ' || *text > '~') {
            return false;
        }
    }
    return true;
}

static int from_hex(const char *text, uint8_t *digest)
{
    if (strlen(text) != 64 || strspn(text, "0123456789abcdefABCDEF") != 64) {
        return -PD_E_SYNTAX;
    }
    for (int i = 0; i < 32; i++) {
        unsigned byte;
        char pair[3] = {text[2 * i], text[2 * i + 1], 0};

        sscanf(pair, "%x", &byte);
        digest[i] = (uint8_t)byte;
    }
    return 0;
}

static int parse_secret(const char *text, struct pd_token *token, unsigned line,
                        struct pd_error *error)
{
    size_t bytes = strlen(text);

    if (!strncmp(text, hashed, strlen(hashed))) {
        return from_hex(text + strlen(hashed), token->digest)
                   ? pd_fail(error, -PD_E_SYNTAX, "line %u: sha256: expects 64 hex digits", line)
                   : 0;
    }
    if (bytes < PD_TOKEN_MIN_BYTES || bytes > PD_TOKEN_MAX_BYTES || !is_visible(text)) {
        return pd_fail(error, -PD_E_VALUE, "line %u: a token has %d to %d visible ASCII characters",
                       line, PD_TOKEN_MIN_BYTES, PD_TOKEN_MAX_BYTES);
    }
    return gnutls_hash_fast(GNUTLS_DIG_SHA256, text, bytes, token->digest) ? -EIO : 0;
}

static int parse_line(char *text, unsigned line, struct pd_token *token, struct pd_error *error)
{
    static const char blanks[] = " \t\r";
    char *rest, *words[4] = {NULL};
    int len = 0;

    for (char *word = strtok_r(text, blanks, &rest); word && len < 4;
         word = strtok_r(NULL, blanks, &rest)) {
        words[len++] = word;
    }
    if (len != 2 && len != 3) {
        return pd_fail(error, -PD_E_SYNTAX,
                       "line %u: expects ROLE NAME TOKEN or ROLE NAME sha256:HEX", line);
    }
    if (pd_http_role_parse(words[0], &token->role)) {
        return pd_fail(error, -PD_E_VALUE, "line %u: the role is read, install, admin or agent",
                       line);
    }
    if (len == 3 && (strlen(words[1]) >= sizeof token->name || !is_visible(words[1]))) {
        return pd_fail(error, -PD_E_VALUE,
                       "line %u: a name has at most %zu visible ASCII characters", line,
                       sizeof token->name - 1);
    }
    snprintf(token->name, sizeof token->name, "%s", words[len == 3]);
    return parse_secret(words[len - 1], token, line, error);
}

static int add(struct pd_tokens *tokens, const struct pd_token *token)
{
    if (tokens->len == PD_TOKENS_MAX) {
        return -PD_E_TOO_LARGE;
    }
    if (PD_GROW(tokens->items, tokens->room, tokens->len + 1)) {
        return -ENOMEM;
    }
    tokens->items[tokens->len++] = *token;
    return 0;
}

int pd_http_tokens_parse(char *text, struct pd_tokens *ret_tokens, struct pd_error *error)
{
    struct pd_tokens tokens = {0};
    unsigned line = 0;
    int err = 0;

    for (char *next; !err && text; text = next) {
        struct pd_token token = {0};

        next = strchr(text, '\n');
        if (next) {
            *next++ = '\0';
        }
        line++;
        text += strspn(text, " \t\r");
        if (!*text || *text == '#') {
            continue;
        }
        err = parse_line(text, line, &token, error);
        if (!err && (err = add(&tokens, &token))) {
            pd_fail(error, err, "line %u: %s", line, pd_error_text(err));
        }
    }
    if (!err && !tokens.len) {
        err = pd_fail(error, -PD_E_VALUE, "there is no token in it");
    }
    if (err) {
        pd_http_tokens_done(&tokens);
    } else {
        *ret_tokens = tokens;
    }
    return err;
}

void pd_http_tokens_done(struct pd_tokens *tokens)
{
    if (tokens->items) {
        gnutls_memset(tokens->items, 0, tokens->len * sizeof *tokens->items);
    }
    free(tokens->items);
    *tokens = (struct pd_tokens){0};
}

/* The barrier keeps the compiler from leaving the loop early. */
bool pd_http_tokens_equal(const uint8_t *a, const uint8_t *b, size_t bytes)
{
    uint8_t differs = 0;

    for (size_t i = 0; i < bytes; i++) {
        differs |= a[i] ^ b[i];
        __asm__ volatile("" : "+r"(differs));
    }
    return !differs;
}

const struct pd_token *pd_http_tokens_find(const struct pd_tokens *tokens, const char *token,
                                           size_t bytes)
{
    const struct pd_token *found = NULL;
    uint8_t digest[32];

    if (bytes > PD_TOKEN_MAX_BYTES || gnutls_hash_fast(GNUTLS_DIG_SHA256, token, bytes, digest)) {
        return NULL;
    }
    for (size_t i = 0; i < tokens->len; i++) { /* to the end, whatever was found */
        if (pd_http_tokens_equal(digest, tokens->items[i].digest, sizeof digest)) {
            found = &tokens->items[i];
        }
    }
    return found;
}
