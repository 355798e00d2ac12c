/* SPDX-License-Identifier: Apache-2.0 */
/* Marks of path filters. */
#include "codec/path_bloom/mark.h"

#include "packet/filter.h"

enum { FILTER_BYTES = 4, MARK_BYTES = FILTER_BYTES + 1 };

struct pd_mark pd_path_bloom_mark(uint64_t filter)
{
    struct pd_mark mark = {.scheme = PD_BLOOM_SCHEME, .len = MARK_BYTES};

    if (!filter) {
        return (struct pd_mark){.scheme = PD_MARK_NONE};
    }
    for (unsigned i = 0; i < FILTER_BYTES; i++) {
        mark.bytes[i] = (uint8_t)(filter >> 8 * (FILTER_BYTES - 1 - i));
    }
    mark.bytes[FILTER_BYTES] = filter & PD_FILTER_MALFORMED ? 1 : 0;
    return mark;
}

static bool valid(const struct pd_mark *mark)
{
    return mark->len == MARK_BYTES && mark->bytes[FILTER_BYTES] <= 1;
}

static size_t fields(const struct pd_mark *mark, struct pd_mark_field *ret_fields)
{
    struct pd_mark_field filter = {.name = "filter", .label = "filter", .len = 1};

    for (unsigned i = 0; i < FILTER_BYTES; i++) {
        filter.values[0] = filter.values[0] << 8 | mark->bytes[i];
    }
    ret_fields[0] = filter;
    ret_fields[1] = (struct pd_mark_field){.name = "malformed",
                                           .label = "malformed",
                                           .len = 1,
                                           .implied = !mark->bytes[FILTER_BYTES],
                                           .values = {mark->bytes[FILTER_BYTES]}};
    return 2;
}

static const struct pd_mark_field_kind kinds[] = {
    {.name = "filter", .expected = "a path filter", .most = 1, .max = UINT32_MAX},
    {.name = "malformed", .expected = "0 or 1", .most = 1, .max = 1},
};

static struct pd_mark make(const struct pd_mark_field *given)
{
    return pd_path_bloom_mark(PD_FILTER_PRESENT | given[0].values[0] |
                              (given[1].values[0] ? PD_FILTER_MALFORMED : 0));
}

const struct pd_mark_scheme pd_path_bloom_scheme = {
    .number = PD_BLOOM_SCHEME,
    .name = "path-filter",
    .valid = valid,
    .fields = fields,
    .kinds = kinds,
    .kinds_len = sizeof kinds / sizeof *kinds,
    .make = make,
};
