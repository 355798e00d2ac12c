/* SPDX-License-Identifier: Apache-2.0 */
/* Bearer tokens that a server knows: a file's lines, kept as digests. */
#ifndef PD_HTTP_TOKENS_H
#define PD_HTTP_TOKENS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "http/server.h"

/* The file, a token on each line, # begins a comment line:
 *
 *     ROLE NAME TOKEN        read dashboard 6f1c…   the token itself, 16 to 256 visible characters
 *     ROLE NAME sha256:HEX   agent 21 sha256:9a0b…  its SHA-256: the file gives no token away
 *     ROLE TOKEN             the name is then the role's
 *
 * An agent's name is its host's ID. Only digests are kept, and a token is compared with all of them
 * in a time that does not depend on how much of it is right.
 *
 * Thread safety: immutable once parsed. */

#define PD_TOKEN_MIN_BYTES  16
#define PD_TOKEN_MAX_BYTES  256
#define PD_TOKENS_MAX       100000
#define PD_TOKEN_NAME_BYTES 64 /* with its NUL */

struct pd_token {
    uint8_t digest[32];
    enum pd_role role;
    char name[PD_TOKEN_NAME_BYTES];
};

struct pd_tokens {
    struct pd_token *items;
    size_t len, room;
};

/* Takes `text` apart (and changes it). Errors begin with the line's number and hold nothing of what
 * stands in the line but the role. */
int pd_http_tokens_parse(char *text, struct pd_tokens *ret_tokens, struct pd_error *error);
void pd_http_tokens_done(struct pd_tokens *tokens);

/* NULL when it is none of them. */
const struct pd_token *pd_http_tokens_find(const struct pd_tokens *tokens, const char *token,
                                           size_t bytes);

/* Are they equal? Takes the same time whatever they hold. */
bool pd_http_tokens_equal(const uint8_t *a, const uint8_t *b, size_t bytes);

#endif
