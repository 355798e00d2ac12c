/* SPDX-License-Identifier: Apache-2.0 */
/* The data set as raw columns: how peers that read arrays (DuckDB through numpy) get the same
 * records. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench.h"

/* One file for each column, little-endian, named by its width: src.u32 …; link.u32 holds triples
 * ⟨from, to, path⟩ and ends.u32 ⟨path, first switch, last switch⟩. */

#define COLUMNS(X)                                        \
    X(src, u32, uint32_t, addr_number(&record->flow.src)) \
    X(src_port, u16, uint16_t, record->flow.src_port)     \
    X(dst_port, u16, uint16_t, record->flow.dst_port)     \
    X(path, u32, uint32_t, path)                          \
    X(stime, u64, uint64_t, record->stime_us)             \
    X(etime, u64, uint64_t, record->etime_us)             \
    X(bytes, u64, uint64_t, record->bytes)                \
    X(pkts, u64, uint64_t, record->pkts)

struct exporting {
    struct pd_paths *paths;
#define X(name, suffix, type, value) FILE *name;
    COLUMNS(X)
#undef X
};

static FILE *create(const char *directory, const char *name)
{
    char file[512];
    snprintf(file, sizeof file, "%s/%s", directory, name);
    FILE *made = fopen(file, "wb");
    if (!made) {
        die(file);
    }
    return made;
}

static void put(FILE *file, const void *value, size_t len)
{
    if (fwrite(value, len, 1, file) != 1) {
        die("disk full");
    }
}

static void put_batch(void *context, const struct pd_tib_record *records, size_t n)
{
    struct exporting *exporting = context;
    for (const struct pd_tib_record *record = records; record < records + n; record++) {
        uint32_t path;
        const struct pd_claim claim = pd_tib_claim(record);
        bool dropped;
        if (pd_lmdb_paths_intern(exporting->paths, &claim, &path, &dropped)) {
            die("paths");
        }
#define X(name, suffix, type, value)                  \
    {                                                 \
        type number = (type)(value);                  \
        put(exporting->name, &number, sizeof number); \
    }
        COLUMNS(X)
#undef X
    }
}

static void put_paths(const struct pd_paths *paths, const char *directory)
{
    FILE *links = create(directory, "link.u32"), *ends = create(directory, "ends.u32");
    for (uint32_t id = 0; id < pd_lmdb_paths_len(paths); id++) {
        const struct pd_path *path = pd_lmdb_paths_get(paths, id);
        put(ends, (uint32_t[]){id, path->switches[0], path->switches[path->len - 1]}, 12);
        for (unsigned i = 1; i < path->len; i++) {
            put(links, (uint32_t[]){path->switches[i - 1], path->switches[i], id}, 12);
        }
    }
    fclose(links);
    fclose(ends);
}

void export_columns(const struct data *data, const char *directory)
{
    struct exporting exporting = {.paths = pd_lmdb_paths_new()};
    double seconds;
    if ((mkdir(directory, 0777) && errno != EEXIST) || !exporting.paths) {
        die(directory);
    }
#define X(name, suffix, type, value) exporting.name = create(directory, #name "." #suffix);
    COLUMNS(X)
#undef X
    generate(data->records, put_batch, &exporting, &seconds);
#define X(name, suffix, type, value) fclose(exporting.name);
    COLUMNS(X)
#undef X
    put_paths(exporting.paths, directory);
    pd_lmdb_paths_free(exporting.paths);
}
