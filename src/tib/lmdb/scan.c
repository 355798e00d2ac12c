/* SPDX-License-Identifier: Apache-2.0 */
/* The LMDB backend's scan: the rows that a selection lets pass, decoded and handed out in batches. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tib/lmdb/select.h"

struct scan {
    struct pd_select select;
    struct pd_rows rows;
    struct pd_tib_record batch[PD_BLOCK_ROWS];
};

static int scan_chunk(struct scan *scan, size_t i,
                      int (*visit)(void *context, const struct pd_tib_record *records, size_t n),
                      void *context)
{
    struct pd_block block;
    int err = 0;
    if (!pd_rows_begin(&scan->rows, &scan->select, i))
        return 0;
    while (!err && pd_rows_next(&scan->rows, &block)) {
        pd_rows_records(&scan->rows, &block, PD_PART_ALL, scan->batch);
        err = visit(context, scan->batch, block.len);
    }
    return err;
}

int pd_store_scan(struct pd_tib_snapshot *head, const struct pd_tib_filter *filter,
                  int (*visit)(void *context, const struct pd_tib_record *records, size_t n),
                  void *context)
{
    struct scan *scan = malloc(sizeof *scan);
    if (!scan)
        return -ENOMEM;
    memset(scan, 0, offsetof(struct scan, rows.found)); /* the rest is buffers */
    scan->rows.columns = PD_COLUMNS_OF_RECORDS;
    int err = pd_select_init(&scan->select, (struct pd_store_snapshot *)head, filter);
    for (size_t i = 0; !err && i < scan->select.chunks_len; i++)
        err = scan_chunk(scan, i, visit, context);
    pd_rows_done(&scan->rows);
    pd_select_done(&scan->select);
    free(scan);
    return err;
}
