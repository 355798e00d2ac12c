/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the simulated receivers: a buffer, and a store that is made when it is needed. */
#include "sim/records.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"

enum { BATCH = 256 };

struct pd_record_row {
    struct pd_tib_record record; /* its path is the process's (pd_path_intern) */
    uint8_t *extra;              /* its further columns */
};

static void forget_columns(struct pd_sim_records *records)
{
    for (uint32_t i = 0; i < records->len; i++) {
        free(records->rows[i].extra);
    }
    records->len = 0;
}

void pd_sim_records_done(struct pd_sim_records *records)
{
    pd_tib_close(records->tib);
    forget_columns(records);
    free(records->rows);
    *records = (struct pd_sim_records){0};
}

/* ---- the store */

static void remove_directory(const char *name)
{
    DIR *directory = opendir(name);
    const struct dirent *entry;

    /* cppcheck-suppress readdirCalled ; one thread reads this directory */
    while (directory && (entry = readdir(directory))) {
        if (*entry->d_name != '.') {
            unlinkat(dirfd(directory), entry->d_name, 0);
        }
    }
    if (directory) {
        closedir(directory);
    }
    rmdir(name);
}

static int open_store(struct pd_sim_records *records, struct pd_error *error)
{
    const char *root = getenv("TMPDIR");
    const struct pd_tib_config config = {0};
    char name[PATH_MAX];
    const char *parent = root && *root ? root : "/tmp";
    bool fits =
        snprintf(name, sizeof name, "%s/pathdump-simulate-XXXXXX", parent) < (int)sizeof name;

    if (!fits || !mkdtemp(name)) {
        return pd_fail(error, fits ? -errno : -ENAMETOOLONG,
                       "no directory for records under %.200s: %s", parent,
                       strerror(fits ? errno : ENAMETOOLONG));
    }
    int err = pd_tib_open(name, PD_TIB_WRITE, &config, &records->tib, error);
    remove_directory(name);
    return err;
}

static int append(struct pd_tib *tib, struct pd_record_row *rows, uint32_t len)
{
    struct pd_tib_record batch[BATCH];
    int err = 0;

    for (uint32_t at = 0; !err && at < len;) {
        uint32_t n = 0;

        for (; n < BATCH && at < len; n++, at++) {
            batch[n] = rows[at].record;
        }
        err = pd_tib_append(tib, batch, n);
    }
    return err;
}

static int flush(struct pd_sim_records *records, struct pd_error *error)
{
    int err = records->tib ? 0 : open_store(records, error);

    if (err || !records->len) {
        return err;
    }
    err = append(records->tib, records->rows, records->len);
    forget_columns(records);
    if (!err) {
        err = pd_tib_commit(records->tib);
    }
    return err ? pd_fail(error, err, "the store of records: %s", pd_error_text(err)) : 0;
}

/* ---- in and out */

static int take_one(struct pd_sim_records *records, const struct pd_tib_record *record,
                    struct pd_error *error)
{
    int err = records->len == PD_RECORDS_WAITING ? flush(records, error) : 0;

    if (err) {
        return err;
    }
    if (PD_GROW(records->rows, records->room, records->len + 1)) {
        return pd_fail(error, -ENOMEM, "no memory");
    }
    struct pd_record_row row = {*record, NULL};
    if (record->extra_bytes) {
        row.extra = malloc(record->extra_bytes);
        if (!row.extra) {
            return pd_fail(error, -ENOMEM, "no memory");
        }
        row.record.extra = memcpy(row.extra, record->extra, record->extra_bytes);
    }
    err = pd_path_intern(record->path, &row.record.path, NULL);
    if (err) {
        free(row.extra);
        return pd_fail(error, err, "paths of records: %s", pd_error_text(err));
    }
    records->rows[records->len++] = row;
    return 0;
}

/* What the receiver of the flow has of one of its ways. */
static int take_way(struct pd_sim_records *records, const struct pd_sim_period *period, size_t flow,
                    const struct pd_evidence_way *way, struct pd_error *error)
{
    struct pd_path path = {.len = (uint16_t)way->nodes_len};
    uint64_t opened_us = period->senders[flow].opened_us;
    struct pd_tib_record record = {
        .flow = period->flows[flow].flow,
        .path = &path,
        .stime_us = opened_us > period->from_us ? opened_us : period->from_us,
        .etime_us = period->to_us,
        .bytes = way->bytes,
        .pkts = way->pkts,
    };

    if (period->columns) {
        const struct pd_sim_column *column = &period->columns[way - period->ways];
        record.extra = column->bytes;
        record.extra_bytes = column->len;
    }
    memcpy(path.switches, way->nodes, way->nodes_len * sizeof *path.switches);
    return take_one(records, &record, error);
}

/* A way without packets says only that the path is known: no receiver has a record of it. */
int pd_sim_records_take(struct pd_sim_records *records, const struct pd_sim_period *period,
                        struct pd_error *error)
{
    int err = 0;

    for (size_t i = 0; i < period->flows_len; i++) {
        for (size_t w = 0; !err && w < period->flows[i].ways_len; w++) {
            if (period->flows[i].ways[w].pkts) {
                err = take_way(records, period, i, &period->flows[i].ways[w], error);
            }
        }
    }
    return err;
}

int pd_sim_records_snapshot(struct pd_sim_records *records, struct pd_tib_snapshot **ret_snapshot,
                            struct pd_error *error)
{
    int err = flush(records, error);

    if (!err && (err = pd_tib_snapshot(records->tib, ret_snapshot))) {
        pd_fail(error, err, "the store of records: %s", pd_error_text(err));
    }
    return err;
}
