/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: a child's answer to a query. What verifies must merge, become an answer, and verify
 * again when it is sent on. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "query/merge.h"

#define MEMORY    ((uint64_t)4 << 20)
#define WINDOW_US UINT64_C(60000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct reading {
    const uint8_t *at;
    size_t len, piece;
};

static ssize_t read_piece(void *context, void *buffer, size_t size)
{
    struct reading *reading = context;
    size_t len = reading->len < reading->piece ? reading->len : reading->piece;
    len = len < size ? len : size;
    if (len) {
        memcpy(buffer, reading->at, len);
    }
    reading->at += len;
    reading->len -= len;
    return (ssize_t)len;
}

struct bytes {
    uint8_t *at;
    size_t len;
};

static int keep(void *context, const char *more, size_t len)
{
    struct bytes *bytes = context;
    bytes->at = realloc(bytes->at, bytes->len + len);
    if (!bytes->at) {
        abort();
    }
    memcpy(bytes->at + bytes->len, more, len);
    bytes->len += len;
    return 0;
}

/* Each query with what it cannot do without; `number` chooses the rest. */
static void make_query(struct pd_query *query, unsigned number)
{
    pd_query_init(query, (enum pd_query_name)(number % PD_QUERY_COUNT));
    query->memory_bytes = MEMORY;
    query->k = 1 + number / PD_QUERY_COUNT % 8;
    query->bin_bytes = query->k;
    query->rules.max_hops = (uint32_t)query->k;
    query->of = number & 1 ? PD_TIB_BY_FLOW : PD_TIB_BY_SOURCE;
    if (query->name == PD_QUERY_LINK_LOAD) {
        query->filter.to_us = WINDOW_US; /* it always has an end: pd_query_finish() sees to it */
    }
}

static int verify(const struct pd_query *query, struct reading reading, struct pd_partial_end *end)
{
    const struct pd_partial_source source = {.context = &reading, .read = read_piece};
    return pd_query_partial_verify(query, &source, end, NULL);
}

static struct pd_query_merge *merge(const struct pd_query *query, struct reading reading)
{
    const struct pd_partial_source source = {.context = &reading, .read = read_piece};
    struct pd_query_merge *merge;
    struct pd_partial_end end;
    if (pd_query_merge_new(query, &merge, NULL)) {
        abort();
    }
    /* Memory for all at once may be short where that for one path after the other was not. */
    int error = pd_query_merge_partial(merge, &source, &end, NULL);
    if (error && error != -PD_E_TOO_LARGE) {
        abort();
    }
    if (!error) {
        return merge;
    }
    pd_query_merge_free(merge);
    return NULL;
}

static void send_on(const struct pd_query *query, struct pd_query_merge *merged)
{
    const struct pd_partial_end end = {.complete = true, .asked = 2, .answered = 1};
    const struct pd_partial_missing missing = {7, "away", 0};
    struct bytes bytes = {NULL, 0};
    const struct pd_query_sink sink = {&bytes, keep};
    struct pd_partial_end again;
    int error = pd_query_merge_write(merged, &end, &missing, 1, 0, &sink, NULL);
    if (error ? error != -PD_E_TOO_LARGE
              : verify(query, (struct reading){bytes.at, bytes.len, 1000}, &again) ||
                    again.asked != 2 || again.complete) {
        abort();
    }
    free(bytes.at);
}

static void answer(struct pd_query_merge *merged)
{
    struct bytes bytes = {NULL, 0};
    const struct pd_query_sink sink = {&bytes, keep};
    bool complete;
    int error = pd_query_merge_json(merged, PD_FORM_JSON, NULL, &sink, &complete, NULL);
    if (error && error != -PD_E_TOO_LARGE) {
        abort();
    }
    if (!error) {
        json_t *json = json_loadb((char *)bytes.at, bytes.len, JSON_REJECT_DUPLICATES, NULL);
        if (!json || json_is_true(json_object_get(json, "complete")) != complete) {
            abort();
        }
        json_decref(json);
    }
    free(bytes.at);
}

/* The first byte chooses the query, the second the pieces. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct pd_query query;
    struct pd_partial_end end;
    struct pd_query_merge *merged;
    if (len < 2) {
        return 0;
    }
    make_query(&query, data[0]);
    const struct reading reading = {data + 2, len - 2, data[1] + 1u};
    if (verify(&query, reading, &end)) {
        return 0;
    }
    if ((merged = merge(&query, reading))) {
        send_on(&query, merged);
        pd_query_merge_free(merged);
    }
    if ((merged = merge(&query, reading))) {
        answer(merged);
        pd_query_merge_free(merged);
    }
    return 0;
}
