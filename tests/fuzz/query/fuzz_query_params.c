/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: parameters of queries, as "name=value" lines; the length chooses the query. What
 * will do is run, too. */
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
    if (!equals) {
        return;
    }
    *equals = '\0';
    if (pd_query_set(query, line, equals + 1, &error) &&
        (before.given != query->given || before.filter.flow.fields != query->filter.flow.fields ||
         before.path.len != query->path.len || before.k != query->k || before.by != query->by ||
         before.of != query->of || before.bin_bytes != query->bin_bytes ||
         strcmp(before.since, query->since) != 0 || !*error.text || !error.code)) {
        abort();
    }
}

/* The answer is one line of printable text. */
static int check_text(void *context, const char *bytes, size_t len)
{
    (void)context;
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] < ' ' || bytes[i] > '~') {
            abort();
        }
    }
    return 0;
}

static void run(const struct pd_query *query)
{
    static const struct pd_path path = {.len = 3, .switches = {1, 9, 2}};
    const struct pd_tib_record live[] = {{.flow = {.ip_version = 4, .src_port = 1},
                                          .path = &path,
                                          .stime_us = 10,
                                          .etime_us = 20,
                                          .bytes = 1500,
                                          .pkts = 2},
                                         {.flow = {.ip_version = 6, .src = {{0xfd}}},
                                          .path = &pd_path_empty,
                                          .stime_us = 30,
                                          .etime_us = 40,
                                          .bytes = UINT64_MAX,
                                          .pkts = 1}};
    const struct pd_query_sink sink = {NULL, check_text};
    bool complete;
    if (pd_query_run(query, NULL, live, 2, &sink, &complete, NULL)) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct pd_query query;
    char *text = malloc(len + 1), *state = NULL;
    if (!text) {
        return 0;
    }
    memcpy(text, data, len);
    text[len] = '\0';
    pd_query_init(&query, (enum pd_query_name)(len % PD_QUERY_COUNT));
    for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
        set(&query, line);
    }
    if (!pd_query_finish(&query, NULL)) {
        if (query.filter.from_us > query.filter.to_us) {
            abort();
        }
        run(&query);
    }
    free(text);
    return 0;
}
