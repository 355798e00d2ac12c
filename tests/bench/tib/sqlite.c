/* SPDX-License-Identifier: Apache-2.0 */
/* The same questions asked of SQLite: rows in a table, indexes by path and by flow. There is none
 * by size, which would answer for the largest records of the whole store alone: with any other
 * condition beside it is of no use. */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

struct loading {
    sqlite3 *db;
    sqlite3_stmt *insert, *insert_link, *insert_ends;
    struct pd_paths *paths;
};

static void run(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL)) {
        die(sqlite3_errmsg(db));
    }
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL)) {
        die(sqlite3_errmsg(db));
    }
    return statement;
}

static void step(sqlite3_stmt *statement, const uint64_t *values, int len)
{
    for (int i = 0; i < len; i++) {
        sqlite3_bind_int64(statement, i + 1, (sqlite3_int64)values[i]);
    }
    if (sqlite3_step(statement) != SQLITE_DONE) {
        die("SQLite");
    }
    sqlite3_reset(statement);
}

static void insert_path(struct loading *loading, uint32_t id)
{
    const struct pd_path *path = pd_lmdb_paths_get(loading->paths, id);
    step(loading->insert_ends, (uint64_t[]){id, path->switches[0], path->switches[path->len - 1]},
         3);
    for (unsigned i = 1; i < path->len; i++) {
        step(loading->insert_link, (uint64_t[]){path->switches[i - 1], path->switches[i], id}, 3);
    }
}

static void insert_batch(void *context, const struct pd_tib_record *records, size_t n)
{
    struct loading *loading = context;
    run(loading->db, "BEGIN");
    for (const struct pd_tib_record *record = records; record < records + n; record++) {
        uint32_t path, known = pd_lmdb_paths_len(loading->paths);
        const struct pd_claim claim = pd_tib_claim(record);
        bool dropped;
        if (pd_lmdb_paths_intern(loading->paths, &claim, &path, &dropped)) {
            die("paths");
        }
        if (path == known) {
            insert_path(loading, path);
        }
        step(loading->insert,
             (uint64_t[]){addr_number(&record->flow.src), addr_number(&record->flow.dst),
                          record->flow.src_port, record->flow.dst_port, record->flow.protocol, path,
                          record->stime_us, record->etime_us, record->bytes, record->pkts},
             10);
    }
    run(loading->db, "COMMIT");
}

static void load(sqlite3 *db, const struct data *data)
{
    struct loading loading = {.db = db, .paths = pd_lmdb_paths_new()};
    double seconds;
    run(db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -2000000;"
            "PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 30000000000;"
            "CREATE TABLE record (src, dst, src_port, dst_port, protocol, path, stime, etime, "
            "bytes, pkts);"
            "CREATE TABLE link (a, b, path, PRIMARY KEY (a, b, path)) WITHOUT ROWID;"
            "CREATE TABLE ends (path INTEGER PRIMARY KEY, a, b);");
    loading.insert = prepare(db, "INSERT INTO record VALUES (?,?,?,?,?,?,?,?,?,?)");
    loading.insert_link = prepare(db, "INSERT OR IGNORE INTO link VALUES (?,?,?)");
    loading.insert_ends = prepare(db, "INSERT INTO ends VALUES (?,?,?)");
    generate(data->records, insert_batch, &loading, &seconds);
    sqlite3_finalize(loading.insert);
    sqlite3_finalize(loading.insert_link);
    sqlite3_finalize(loading.insert_ends);
    pd_lmdb_paths_free(loading.paths);
    run(db, "CREATE INDEX by_path ON record (path, stime);"
            "CREATE INDEX by_flow ON record (src, src_port, dst_port);"
            "ANALYZE;");
}

#define OF_LINK "record WHERE path IN (SELECT path FROM link WHERE a = 257 AND b = 129)"
#define FLOW    "src, dst, src_port, dst_port, protocol"

static const char *const questions[QUESTIONS] = {
    [LINK_ROWS] = "SELECT * FROM " OF_LINK,
    [LINK_FLOWS] =
        "SELECT " FLOW ", path, min(stime), max(etime), sum(bytes), sum(pkts) FROM " OF_LINK
        " GROUP BY " FLOW ", path",
    [LINK_FLOWS_MINUTE] =
        "SELECT " FLOW ", path, min(stime), max(etime), sum(bytes), sum(pkts) FROM " OF_LINK
        " AND stime <= ?1 + 60000000 AND etime >= ?1 AND "
        "stime >= ?1 - 60000000 GROUP BY " FLOW ", path",
    [FLOW_PATHS] = "SELECT DISTINCT path FROM record WHERE src = ?2 AND src_port = ?3 AND "
                   "dst_port = ?4",
    [FLOW_COUNT] = "SELECT sum(bytes), sum(pkts) FROM record WHERE src = ?2 AND src_port = ?3 AND "
                   "dst_port = ?4",
    [TOP_RECORDS] = "SELECT * FROM record ORDER BY bytes DESC LIMIT 10000",
    [TOP_FLOWS] = "SELECT " FLOW ", sum(bytes) AS s FROM record GROUP BY " FLOW
                  " ORDER BY s DESC LIMIT 10000",
    [FLOW_SIZES] = "SELECT s / 10000, count(*) FROM (SELECT sum(bytes) AS s FROM " OF_LINK
                   " GROUP BY " FLOW ", path) GROUP BY 1",
    [TRAFFIC_MATRIX] = "SELECT a, b, sum(bytes), sum(pkts) FROM (SELECT path AS p, sum(bytes) AS "
                       "bytes, sum(pkts) AS pkts FROM record GROUP BY path) JOIN ends ON "
                       "ends.path = p GROUP BY a, b",
};

struct asking {
    sqlite3_stmt *statement;
    const struct data *data;
};

static void ask_sqlite(void *context, unsigned round)
{
    struct asking *asking = context;
    const struct pd_flow_id *flow = &asking->data->flows[round * 37 % FLOWS_ASKED];
    uint64_t minutes = asking->data->span_us / 60000000 + 1;
    const uint64_t values[] = {START_US + round * UINT64_C(7919) % minutes * 60000000,
                               addr_number(&flow->src), flow->src_port, flow->dst_port};
    for (int i = 0; i < sqlite3_bind_parameter_count(asking->statement); i++) {
        sqlite3_bind_int64(asking->statement, i + 1, (sqlite3_int64)values[i]);
    }
    int result;
    while ((result = sqlite3_step(asking->statement)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(asking->statement); i++) {
            sqlite3_column_int64(asking->statement, i);
        }
    }
    if (result != SQLITE_DONE) {
        die("SQLite");
    }
    sqlite3_reset(asking->statement);
}

void sqlite_bench(const struct data *data, const char *directory)
{
    static struct samples samples;
    sqlite3 *db;
    char file[512];
    snprintf(file, sizeof file, "%s/peer-%" PRIu64 ".sqlite", directory, data->records);
    unlink(file);
    if (sqlite3_open(file, &db)) {
        die(file);
    }
    load(db, data);
    for (enum question q = 0; q < QUESTIONS; q++) {
        struct asking asking = {prepare(db, questions[q]), data};
        if (q != TOP_FLOWS || data->records <= 1000000) { /* else minutes, and not in the table */
            sample(ask_sqlite, &asking, &samples);
            printf("{\"records\":%" PRIu64
                   ",\"peer\":\"sqlite\",\"query\":\"%s\",\"p50_ms\":%.4f}\n",
                   data->records, question_names[q], percentile(samples.ms, samples.len, 0.5));
            fflush(stdout);
        }
        sqlite3_finalize(asking.statement);
    }
    sqlite3_close(db);
    unlink(file);
}
