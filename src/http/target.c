/* SPDX-License-Identifier: Apache-2.0 */
/* The target of a request, taken apart. */
#include "http/target.h"

#include <string.h>

/* The part up to `separator` or the end; the target moves behind the separator. */
static struct pd_target take_until(struct pd_target *target, char separator)
{
    const char *stop = memchr(target->at, separator, (size_t)(target->end - target->at));
    struct pd_target part = {target->at, stop ? stop : target->end};

    target->at = stop ? stop + 1 : target->end;
    return part;
}

static int hex(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Undoes %XX into a C string; a NUL, an escape that is none and a text of `bytes` or more are
 * errors. */
static int decode(struct pd_target part, char *ret_text, size_t bytes)
{
    size_t len = 0;

    for (; part.at < part.end; part.at++) {
        char c = *part.at;

        if (c == '%') {
            int high = part.end - part.at > 2 ? hex(part.at[1]) : -1;
            int low = high >= 0 ? hex(part.at[2]) : -1;

            if (low < 0) {
                return -PD_E_SYNTAX;
            }
            c = (char)(high << 4 | low);
            part.at += 2;
        }
        if (!c) {
            return -PD_E_SYNTAX;
        }
        if (len + 1 >= bytes) {
            return -PD_E_TOO_LARGE;
        }
        ret_text[len++] = c;
    }
    ret_text[len] = '\0';
    return 0;
}

int pd_http_target_path(struct pd_target *ret_target, const char *target, size_t target_bytes,
                        char *ret_path, size_t path_bytes)
{
    *ret_target = (struct pd_target){target, target + target_bytes};
    if (target_bytes > PD_TARGET_MAX_BYTES) {
        return -PD_E_URI_TOO_LONG;
    }
    return decode(take_until(ret_target, '?'), ret_path, path_bytes);
}

static int take_parameter(struct pd_target part, char *ret_name, size_t name_bytes, char *ret_value,
                          size_t value_bytes, struct pd_error *error)
{
    struct pd_target name_part = take_until(&part, '=');
    int err = decode(name_part, ret_name, name_bytes);

    if (err) {
        *ret_name = '\0';
        return pd_fail(error, -PD_E_SYNTAX,
                       "a parameter's name is too long or not percent-encoded");
    }
    err = decode(part, ret_value, value_bytes);
    if (err == -PD_E_TOO_LARGE) {
        return pd_fail(error, -PD_E_VALUE, "%s: the value is longer than any that fits", ret_name);
    }
    if (err) {
        return pd_fail(error, err, "%s: the value is not percent-encoded or holds a NUL", ret_name);
    }
    return 1;
}

int pd_http_target_next(struct pd_target *target, char *ret_name, size_t name_bytes,
                        char *ret_value, size_t value_bytes, struct pd_error *error)
{
    while (target->at < target->end) {
        struct pd_target part = take_until(target, '&');

        if (part.at < part.end) {
            return take_parameter(part, ret_name, name_bytes, ret_value, value_bytes, error);
        }
    }
    return 0;
}
