/* SPDX-License-Identifier: Apache-2.0 */
/* The mark of link tags: to bytes and back, and in words. */
#include "codec/tagging/mark.h"

#define AT_LEN     (2 * PD_TAGGING_TAGS_MAX)
#define AT_DSCP    (AT_LEN + 1)
#define MARK_BYTES (AT_DSCP + 1)
_Static_assert(MARK_BYTES <= PD_MARK_BYTES, "a mark has room for it");

struct pd_mark pd_tagging_mark(const uint16_t *vids, unsigned len, uint8_t dscp)
{
    struct pd_mark mark = {.scheme = PD_TAGGING_SCHEME, .len = MARK_BYTES};

    if (!len && !dscp) {
        return (struct pd_mark){.scheme = PD_MARK_NONE};
    }
    for (unsigned i = 0; i < len && i < PD_TAGGING_TAGS_MAX; i++) {
        mark.bytes[2 * i] = (uint8_t)(vids[i] >> 8);
        mark.bytes[2 * i + 1] = (uint8_t)vids[i];
    }
    mark.bytes[AT_LEN] = (uint8_t)len;
    mark.bytes[AT_DSCP] = dscp;
    return mark;
}

unsigned pd_tagging_mark_read(const struct pd_mark *mark, uint16_t ret_vids[PD_TAGGING_TAGS_MAX],
                              uint8_t *ret_dscp)
{
    for (unsigned i = 0; i < PD_TAGGING_TAGS_MAX; i++) {
        ret_vids[i] = (uint16_t)(mark->bytes[2 * i] << 8 | mark->bytes[2 * i + 1]);
    }
    *ret_dscp = mark->bytes[AT_DSCP];
    return mark->bytes[AT_LEN];
}

static bool valid(const struct pd_mark *mark)
{
    bool unused_zero = mark->bytes[AT_LEN] || mark->bytes[AT_DSCP];

    for (unsigned i = mark->bytes[AT_LEN]; i < PD_TAGGING_TAGS_MAX; i++) {
        unused_zero &= !mark->bytes[2 * i] && !mark->bytes[2 * i + 1];
    }
    return mark->len == MARK_BYTES && mark->bytes[AT_LEN] <= PD_TAGGING_TAGS_MAX && unused_zero;
}

static size_t fields(const struct pd_mark *mark, struct pd_mark_field *ret_fields)
{
    struct pd_mark_field tags = {.name = "tags", .label = "tags", .list = true};
    struct pd_mark_field dscp = {.name = "dscp", .label = "DSCP", .len = 1};
    uint16_t vids[PD_TAGGING_TAGS_MAX];
    uint8_t number;

    tags.len = (uint8_t)pd_tagging_mark_read(mark, vids, &number);
    for (unsigned i = 0; i < tags.len; i++) {
        tags.values[i] = vids[i];
    }
    dscp.values[0] = number;
    dscp.implied = !number;
    ret_fields[0] = tags;
    ret_fields[1] = dscp;
    return 2;
}

static const struct pd_mark_field_kind kinds[] = {
    {.name = "tags",
     .expected = "a list of link tags",
     .list = true,
     .most = PD_TAGGING_TAGS_MAX,
     .max = UINT16_MAX},
    {.name = "dscp", .expected = "a DSCP", .most = 1, .max = UINT8_MAX},
};

static struct pd_mark make(const struct pd_mark_field *given)
{
    uint16_t vids[PD_TAGGING_TAGS_MAX];

    for (unsigned i = 0; i < given[0].len; i++) {
        vids[i] = (uint16_t)given[0].values[i];
    }
    return pd_tagging_mark(vids, given[0].len, (uint8_t)given[1].values[0]);
}

const struct pd_mark_scheme pd_tagging_scheme = {
    .number = PD_TAGGING_SCHEME,
    .name = "link-tags",
    .valid = valid,
    .fields = fields,
    .kinds = kinds,
    .kinds_len = sizeof kinds / sizeof *kinds,
    .make = make,
};
