/* SPDX-License-Identifier: Apache-2.0 */
/* The target of a request, taken apart: path and parameters, escapes undone; the only reader of
 * what clients write there. */
#ifndef PD_HTTP_TARGET_H
#define PD_HTTP_TARGET_H

#include <stddef.h>

#include "base/error.h"

/* Not left to the HTTP library, so that one bounded reader decides about escapes, NULs and
 * over-long parts. In the query part `+` stands for itself (RFC 3986): times with an offset need
 * it.
 *
 * Usage: pd_http_target_path, then pd_http_target_next until it returns 0. Thread safety: works on
 * the caller's memory only. */

#define PD_TARGET_MAX_BYTES 8192 /* longer ones are refused with 414 */

/* What is left to read. */
struct pd_target {
    const char *at;
    const char *end;
};

/* Begins to read, and takes the path. -PD_E_URI_TOO_LONG, -PD_E_SYNTAX (an escape that is none, a
 * NUL) or -PD_E_TOO_LARGE. */
int pd_http_target_path(struct pd_target *ret_target, const char *target, size_t target_bytes,
                        char *ret_path, size_t path_bytes);

/* The next parameter. 1: there was one; 0: none; else -PD_E_SYNTAX or -PD_E_VALUE in words. Where
 * the name could be read it is in *ret_name, else that is "". */
int pd_http_target_next(struct pd_target *target, char *ret_name, size_t name_bytes,
                        char *ret_value, size_t value_bytes, struct pd_error *error);

#endif
