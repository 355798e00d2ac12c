/* SPDX-License-Identifier: Apache-2.0 */
/* The list of a switch's table entries. */
#include "codec/rows.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"

int pd_codec_rows_add(struct pd_codec_rows *rows, const struct pd_codec_row *row)
{
    if (PD_GROW(rows->rows, rows->room, rows->len + 1)) {
        return -ENOMEM;
    }
    rows->rows[rows->len++] = *row;
    return 0;
}

void pd_codec_rows_done(struct pd_codec_rows *rows)
{
    free(rows->rows);
    *rows = (struct pd_codec_rows){.rows = NULL};
}
