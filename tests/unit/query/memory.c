/* SPDX-License-Identifier: Apache-2.0 */
/* A store in memory, and bytes that come and go. */
#include "memory.h"

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int scan(struct pd_tib_snapshot *snapshot, const struct pd_tib_filter *filter,
                int (*visit)(void *context, const struct pd_tib_record *records, size_t n),
                void *context)
{
    struct store *store = (struct store *)snapshot;
    int err = filter->since && strcmp(filter->since, "t-1") != 0 ? -PD_E_VALUE : 0;
    for (size_t i = 0; i < store->len && !err; i++) {
        if (pd_tib_filter_matches(filter, &store->records[i])) {
            err = visit(context, &store->records[i], 1);
        }
    }
    return err ? err : store->code;
}

static int token(struct pd_tib_snapshot *snapshot, char **ret_token)
{
    (void)snapshot;
    *ret_token = strdup("t-1");
    return *ret_token ? 0 : -ENOMEM;
}

static const struct pd_tib_ops store_ops = {.scheme = "memory", .scan = scan, .token = token};

struct pd_tib_snapshot *open_store(struct store *store, const struct pd_tib_record *records,
                                   size_t len)
{
    *store = (struct store){.head = {.ops = &store_ops}, .records = records, .len = len};
    return &store->head;
}

struct pd_query make_query(const char *name, const char *params)
{
    struct pd_query query;
    enum pd_query_name parsed;
    char copy[200], *state = NULL;
    snprintf(copy, sizeof copy, "%s", params);
    assert_int_equal(pd_query_name_parse(name, &parsed), 0);
    pd_query_init(&query, parsed);
    for (char *param = strtok_r(copy, " ", &state); param; param = strtok_r(NULL, " ", &state)) {
        char *equals = strchr(param, '=');
        *equals = '\0';
        assert_int_equal(pd_query_set(&query, param, equals + 1, NULL), 0);
    }
    return query;
}

int bytes_keep(void *context, const char *more, size_t len)
{
    struct bytes *bytes = context;
    bytes->at = realloc(bytes->at, bytes->len + len + 1);
    assert_non_null(bytes->at);
    memcpy(bytes->at + bytes->len, more, len);
    bytes->len += len;
    bytes->at[bytes->len] = '\0';
    return 0;
}

void bytes_free(struct bytes *bytes)
{
    free(bytes->at);
    *bytes = (struct bytes){NULL, 0};
}

static ssize_t read_piece(void *context, void *buffer, size_t size)
{
    struct reading *reading = context;
    size_t len = reading->bytes->len - reading->at;
    len = len < reading->piece ? len : reading->piece;
    len = len < size ? len : size;
    if (len) {
        memcpy(buffer, reading->bytes->at + reading->at, len);
    }
    reading->at += len;
    return (ssize_t)len;
}

static int hear_missing(void *context, uint32_t host, const char *reason)
{
    struct reading *reading = context;
    reading->missing++;
    assert_true(host && strlen(reason) < PD_PARTIAL_REASON_BYTES);
    return 0;
}

struct pd_partial_source reading_begin(struct reading *reading, const struct bytes *bytes,
                                       size_t piece)
{
    *reading = (struct reading){bytes, 0, piece, 0};
    return (struct pd_partial_source){reading, read_piece, hear_missing};
}
