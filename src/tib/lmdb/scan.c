/* SPDX-License-Identifier: Apache-2.0 */
/* The LMDB backend's scan: the rows that a selection lets pass, decoded and handed out in batches.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tib/lmdb/crew.h"
#include "tib/lmdb/select.h"

/* Members of a crew decode side by side and hand out one after the other. */
struct scan {
    struct pd_select select;
    struct pd_crew crew;
    int (*visit)(void *context, const struct pd_tib_record *records, size_t n);
    void *context;
    pthread_mutex_t turn; /* to visit; guards `ended` */
    int ended;            /* what the visitor returned when that was not 0 */
};

struct member {
    struct pd_rows rows;
    struct pd_tib_record batch[PD_BLOCK_ROWS];
};

static int hand_out(struct scan *scan, const struct pd_tib_record *batch, size_t len)
{
    pthread_mutex_lock(&scan->turn);
    if (!scan->ended) {
        scan->ended = scan->visit(scan->context, batch, len);
    }
    int err = scan->ended;
    pthread_mutex_unlock(&scan->turn);
    return err;
}

static int scan_chunk(struct scan *scan, struct member *member, size_t i)
{
    struct pd_block block;
    int err = 0;
    if (!pd_lmdb_rows_begin(&member->rows, &scan->select, i)) {
        return 0;
    }
    while (!err && pd_lmdb_rows_next(&member->rows, &block)) {
        pd_lmdb_rows_records(&member->rows, &block, PD_PART_ALL, member->batch);
        err = hand_out(scan, member->batch, block.len);
    }
    return err;
}

static int scan_share(void *context, unsigned number)
{
    struct scan *scan = context;
    struct member *member = malloc(sizeof *member);
    int err = 0;
    if (!member) {
        return -ENOMEM;
    }
    memset(member, 0, offsetof(struct member, rows.found)); /* the rest is buffers */
    member->rows.columns = PD_COLUMNS_OF_RECORDS;
    for (size_t i = scan->crew.first[number]; !err && i < scan->crew.first[number + 1]; i++) {
        err = scan_chunk(scan, member, i);
    }
    pd_lmdb_rows_done(&member->rows);
    free(member);
    return err;
}

int pd_lmdb_store_scan(struct pd_tib_snapshot *head, const struct pd_tib_filter *filter,
                       int (*visit)(void *context, const struct pd_tib_record *records, size_t n),
                       void *context)
{
    struct scan scan = {.visit = visit, .context = context, .turn = PTHREAD_MUTEX_INITIALIZER};
    int err = pd_lmdb_select_init(&scan.select, (struct pd_store_snapshot *)head, filter);
    if (!err) {
        pd_lmdb_crew_init(&scan.crew, &scan.select);
    }
    err = err ? err : pd_lmdb_crew_run(&scan.crew, scan_share, &scan);
    pd_lmdb_select_done(&scan.select);
    return scan.ended ? scan.ended : err;
}
