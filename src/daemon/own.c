/* SPDX-License-Identifier: Apache-2.0 */
/* Rows are copied, and their offsets moved to where their struct lies in the settings. */
#include "daemon/own.h"

#include <assert.h>
#include <stdalign.h>

static void add(struct pd_options_joined *joined, const struct pd_option *rows, size_t offset)
{
    for (; rows->name; rows++) {
        assert(joined->len + 1 < PD_DAEMON_OPTIONS_MAX);
        joined->table[joined->len] = *rows;
        joined->table[joined->len++].offset += offset;
    }
}

void pd_daemon_options_rows(struct pd_options_joined *joined, const struct pd_option *rows)
{
    add(joined, rows, 0);
}

void pd_daemon_options_own(struct pd_options_joined *joined, const struct pd_option *rows,
                           size_t bytes)
{
    const size_t align = alignof(max_align_t);

    if (!rows) {
        return;
    }
    assert(joined->own_len < PD_OPTIONS_OWN_MAX);
    assert(joined->own_bytes + bytes <= PD_OPTIONS_OWN_BYTES);
    joined->own[joined->own_len].rows = rows;
    joined->own[joined->own_len++].offset = joined->own_at + joined->own_bytes;
    add(joined, rows, joined->own_at + joined->own_bytes);
    joined->own_bytes += (bytes + align - 1) / align * align;
}

const void *pd_daemon_options_own_of(const struct pd_options_joined *joined, const void *settings,
                                     const struct pd_option *rows)
{
    for (unsigned i = 0; i < joined->own_len; i++) {
        if (joined->own[i].rows == rows) {
            return (const char *)settings + joined->own[i].offset;
        }
    }
    return NULL;
}
