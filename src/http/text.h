/* SPDX-License-Identifier: Apache-2.0 */
/* Words from outside (file names, parameters) as JSON strings, whatever bytes they hold. */
#ifndef PD_HTTP_TEXT_H
#define PD_HTTP_TEXT_H

#include <jansson.h>

/* A JSON string; of text that is not UTF-8 every byte beyond ASCII becomes '?'. NULL without
 * memory. */
json_t *pd_http_text_json(const char *text);

#endif
