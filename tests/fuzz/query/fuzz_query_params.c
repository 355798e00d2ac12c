/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: parameters of queries, as "name=value" lines. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "query/query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* What was refused leaves the query as it was and says why. */
static void set(struct pd_query *query, char *line)
{
    struct pd_query before = *query;
    struct pd_error error = {0};
    char *equals = strchr(line, '=');
    if (!equals)
        return;
    *equals = '\0';
    if (pd_query_set(query, line, equals + 1, &error) &&
        (before.given != query->given || before.filter.flow.fields != query->filter.flow.fields ||
         before.filter.path != query->filter.path || !*error.text || !error.code))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct pd_query query;
    char *text = malloc(len + 1), *state = NULL;
    if (!text)
        return 0;
    memcpy(text, data, len);
    text[len] = '\0';
    pd_query_init(&query, PD_QUERY_GET_FLOWS);
    for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state))
        set(&query, line);
    if (!pd_query_finish(&query, NULL) && query.filter.from_us > query.filter.to_us)
        abort();
    free(text);
    return 0;
}
