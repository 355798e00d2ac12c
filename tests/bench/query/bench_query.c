/* SPDX-License-Identifier: Apache-2.0 */
/* The four queries on a store of 240K records, beside the bare scan; and JSON written directly
 * beside jansson's. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "../tib_load/dataset.h"
#include "base/clock.h"
#include "common.h"
#include "query/query.h"
#include "query/rows/out.h"
#include "tib/tib.h"

/* One line each:
 * {"bench":"query","query":…,"params":…,"records":…,"answer_bytes":…,"cpu_us":…,
 * "scan_cpu_us":…,"ratio":…}:
 * the median processor time of the query, that of its scan with a visitor that only counts, and how
 * many scans a query takes. */

static const struct {
    const char *name;
    const char *param; /* "" or name=value */
} questions[] = {
    {"getFlows", "link=257-129"},
    {"getFlows", "link=*-129"},
    {"getFlows", ""},
    {"getPaths", "src_ip=*"},
    {"getPaths", "link=257-129"},
    {"getCount", "link=257-129"},
    {"getDuration", ""},
    {"topRecords", "k=10000"},
    {"topFlows", "k=10000"},
    {"topLinks", ""},
    {"trafficMatrix", ""},
    {"distinct", "of=flows"},
};

/* ---- queries ---- */

static int count_records(void *context, const struct pd_tib_record *records, size_t n)
{
    (void)records;
    *(uint64_t *)context += n;
    return 0;
}

static uint64_t time_query(const struct pd_query *query, struct pd_tib *tib, uint64_t *ret_bytes)
{
    uint64_t begin_ns = pd_clock_thread_ns();
    const struct pd_query_sink sink = {ret_bytes, bench_count_bytes};
    struct pd_tib_snapshot *snapshot;
    bool complete;
    *ret_bytes = 0;
    if (pd_tib_snapshot(tib, &snapshot) ||
        pd_query_run(query, snapshot, NULL, 0, &sink, &complete, NULL) || !complete) {
        bench_die("query failed");
    }
    pd_tib_release(snapshot);
    return pd_clock_thread_ns() - begin_ns;
}

static uint64_t time_scan(const struct pd_query *query, struct pd_tib *tib, uint64_t *ret_records)
{
    uint64_t begin_ns = pd_clock_thread_ns();
    struct pd_tib_snapshot *snapshot;
    *ret_records = 0;
    if (pd_tib_snapshot(tib, &snapshot) ||
        pd_tib_scan(snapshot, &query->filter, count_records, ret_records)) {
        bench_die("scan failed");
    }
    pd_tib_release(snapshot);
    return pd_clock_thread_ns() - begin_ns;
}

static void bench_queries(struct pd_tib *tib)
{
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
        struct pd_query query = bench_query(questions[i].name, questions[i].param);
        uint64_t query_ns[BENCH_ROUNDS], scan_ns[BENCH_ROUNDS], bytes = 0, records = 0;
        for (int round = 0; round < BENCH_ROUNDS; round++) {
            query_ns[round] = time_query(&query, tib, &bytes);
            scan_ns[round] = time_scan(&query, tib, &records);
        }
        double query_us = bench_median_us(query_ns), scan_us = bench_median_us(scan_ns);
        printf("{\"bench\":\"query\",\"query\":\"%s\",\"params\":\"%s\",\"records\":%" PRIu64
               ",\"answer_bytes\":%" PRIu64
               ",\"cpu_us\":%.1f,\"scan_cpu_us\":%.1f,\"ratio\":%.2f}\n",
               questions[i].name, questions[i].param, records, bytes, query_us, scan_us,
               query_us / scan_us);
    }
}

/* ---- JSON: the same flow IDs, directly and as a tree of jansson's ---- */

#define ROWS 20000

static uint64_t time_direct(const struct pd_flow_id *flows, uint64_t *ret_bytes)
{
    struct pd_rows_out *out = malloc(sizeof *out);
    const struct pd_query_sink sink = {ret_bytes, bench_count_bytes};
    uint64_t begin_ns = pd_clock_thread_ns();
    *ret_bytes = 0;
    if (!out) {
        bench_die("no memory");
    }
    pd_rows_out_begin(out, PD_FORM_JSON, &sink);
    for (int i = 0; i < ROWS; i++) {
        pd_rows_out_flow_id(out, &flows[i]);
    }
    pd_rows_out_end(out);
    free(out);
    return pd_clock_thread_ns() - begin_ns;
}

static int count_dumped(const char *bytes, size_t len, void *context)
{
    return bench_count_bytes(context, bytes, len);
}

static uint64_t time_tree(const struct pd_flow_id *flows, uint64_t *ret_bytes)
{
    uint64_t begin_ns = pd_clock_thread_ns();
    *ret_bytes = 0;
    for (int i = 0; i < ROWS; i++) {
        char src[PD_ADDR_TEXT_BYTES], dst[PD_ADDR_TEXT_BYTES];
        json_t *row = json_pack(
            "{s:s,s:s,s:i,s:i,s:i}", "src_ip", pd_addr_format(&flows[i].src, 4, src), "dst_ip",
            pd_addr_format(&flows[i].dst, 4, dst), "src_port", flows[i].src_port, "dst_port",
            flows[i].dst_port, "protocol", flows[i].protocol);
        json_dump_callback(row, count_dumped, ret_bytes, JSON_COMPACT);
        json_decref(row);
    }
    return pd_clock_thread_ns() - begin_ns;
}

static void bench_json(void)
{
    struct dataset dataset;
    struct pd_flow_id *flows = calloc(ROWS, sizeof *flows);
    uint64_t direct_ns[BENCH_ROUNDS], tree_ns[BENCH_ROUNDS], direct_bytes = 0, tree_bytes = 0;
    if (!flows || dataset_init(&dataset, 1, 4000)) {
        bench_die("no memory");
    }
    for (int i = 0; i < ROWS; i++) {
        struct pd_path path;
        struct pd_tib_record record;
        dataset_next(&dataset, &path, &record);
        flows[i] = record.flow;
    }
    for (int round = 0; round < BENCH_ROUNDS; round++) {
        direct_ns[round] = time_direct(flows, &direct_bytes);
        tree_ns[round] = time_tree(flows, &tree_bytes);
    }
    if (direct_bytes != tree_bytes) {
        bench_die("the two texts differ");
    }
    double direct = bench_median_us(direct_ns) * 1000 / ROWS,
           tree = bench_median_us(tree_ns) * 1000 / ROWS;
    printf("{\"bench\":\"query\",\"json\":\"flow ID\",\"rows\":%d,\"direct_ns\":%.0f,"
           "\"jansson_ns\":%.0f,\"ratio\":%.1f}\n",
           ROWS, direct, tree, tree / direct);
    dataset_done(&dataset);
    free(flows);
}

int main(void)
{
    char folder[] = BENCH_FOLDER;
    struct pd_tib *tib = bench_store(folder, 0);
    bench_queries(tib);
    bench_store_done(folder, tib);
    bench_json();
    return 0;
}
