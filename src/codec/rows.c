/* SPDX-License-Identifier: Apache-2.0 */
/* The list of a switch's table entries. */
#include "codec/rows.h"

#include <errno.h>
#include <stdlib.h>

int pd_codec_rows_add(struct pd_codec_rows *rows, const struct pd_codec_row *row)
{
    if (rows->len == rows->room) {
        size_t room = rows->room ? 2 * rows->room : 64;
        struct pd_codec_row *grown = reallocarray(rows->rows, room, sizeof *grown);
        if (!grown) {
            return -ENOMEM;
        }
        rows->rows = grown;
        rows->room = room;
    }
    rows->rows[rows->len++] = *row;
    return 0;
}

void pd_codec_rows_done(struct pd_codec_rows *rows)
{
    free(rows->rows);
    *rows = (struct pd_codec_rows){.rows = NULL};
}
