/* SPDX-License-Identifier: Apache-2.0 */
/* A header "Cookie" of any bytes, in which "@" stands for the cookie of an open session: that alone
 * opens it, where a plain reader of such headers finds it first of its name. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "http/sessions.h"

#define TOKEN "aaaaaaaaaaaaaaaaaaaa"
#define BLANK " \t"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static struct pd_credentials_set set;
static struct pd_sessions *sessions;
static char cookie[128]; /* the value that opens */

static void need(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void begin(void)
{
    char lines[] = "read ada " TOKEN "\n";
    struct pd_answer answer;

    pd_http_answer_init(&answer);
    need(!pd_http_tokens_parse(lines, &set.tokens, NULL));
    set.has_tokens = true;
    sessions = pd_http_sessions_new(NULL);
    need(sessions && !pd_http_sessions_begin(sessions, &set, TOKEN, &answer, NULL));
    const char *value = strchr(answer.cookie, '=') + 1;
    memcpy(cookie, value, strcspn(value, ";"));
    pd_http_answer_done(&answer);
}

/* Its bytes up to the first NUL, each "@" by the cookie. */
static char *header_of(const uint8_t *bytes, size_t len)
{
    char *header = calloc(len + 1, sizeof cookie);
    size_t at = 0;

    need(header);
    for (size_t i = 0; i < len && bytes[i]; i++) {
        if (bytes[i] == '@') {
            memcpy(header + at, cookie, strlen(cookie));
            at += strlen(cookie);
        } else {
            header[at++] = (char)bytes[i];
        }
    }
    return header;
}

/* What a plain reader says: the first part of this name, its value up to a blank. */
static int expected(char *header)
{
    char *rest = NULL;

    for (char *part = strtok_r(header, ";", &rest); part; part = strtok_r(NULL, ";", &rest)) {
        part += strspn(part, BLANK);
        if (!strncmp(part, PD_SESSION_COOKIE "=", strlen(PD_SESSION_COOKIE "="))) {
            char *value = strchr(part, '=') + 1;

            value[strcspn(value, BLANK)] = '\0';
            return strcmp(value, cookie) != 0 ? -PD_E_UNAUTHORIZED : 0;
        }
    }
    return -PD_E_NOT_FOUND;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct pd_http_principal principal = {.role = PD_ROLE_ADMIN};

    if (!sessions) {
        begin();
    }
    char *header = header_of(bytes, len);
    int err = pd_http_sessions_find(sessions, &set, header, &principal);

    need(err == expected(header));
    need(err ? principal.role == PD_ROLE_ADMIN
             : principal.role == PD_ROLE_READ && principal.page && !strcmp(principal.name, "ada"));
    free(header);
    return 0;
}
