/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of requests as JSON documents. */
#ifndef PD_HTTP_BODY_H
#define PD_HTTP_BODY_H

#include <jansson.h>
#include <stddef.h>

#include "base/error.h"

#define PD_BODY_DEPTH_MAX 64 /* arrays and objects within each other */

/* An object, no key of which stands twice. -PD_E_SYNTAX, with the place. The depth is looked at
 * before anything is parsed: parsers call themselves for each level, and the threads of connections
 * have small stacks. Thread safety: pure. */
int pd_http_body_json(const char *bytes, size_t len, json_t **ret_document, struct pd_error *error);

#endif
