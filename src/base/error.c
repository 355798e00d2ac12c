/* SPDX-License-Identifier: Apache-2.0 */
/* The table behind the error codes, and filling of struct pd_error. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    int http;
    const char *text;
} table[] = {
#define X(name, http, text) {http, text},
    PD_ERRORS(X)
#undef X
};

const char *pd_error_text(int error)
{
    int err = -error;
    if (err > PD_E_FIRST && err < PD_E_END) {
        return table[err - PD_E_FIRST - 1].text;
    }
    return err > 0 ? strerror(err) : "no error";
}

/* Of the C library's errors only those that a request can meet have a status of their own. */
int pd_error_http(int error)
{
    int err = -error;
    if (err > PD_E_FIRST && err < PD_E_END) {
        return table[err - PD_E_FIRST - 1].http;
    }
    switch (err) {
    case EINVAL: return 400;
    case ENOENT: return 404;
    case ENOMEM:
    case EAGAIN:
    case ETIMEDOUT: return 503;
    case ENOSPC: return 507;
    default: return 500;
    }
}

int pd_fail(struct pd_error *error, int err, const char *format, ...)
{
    if (error) {
        va_list args;
        va_start(args, format);
        vsnprintf(error->text, sizeof error->text, format, args);
        va_end(args);
        error->code = err;
    }
    return err;
}

int pd_fail_within(struct pd_error *error, const char *prefix)
{
    if (!error) {
        return -EINVAL;
    }
    struct pd_error inner = *error;
    return pd_fail(error, inner.code, "%s: %s", prefix, inner.text);
}

void pd_printable(char *text)
{
    for (unsigned char *at = (unsigned char *)text; *at; at++) {
        if (*at < ' ' || *at == 0x7f) {
            *at = '?';
        } else if (*at == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0) { /* U+0080 to U+009F */
            *at = at[1] = '?';
        }
    }
}
