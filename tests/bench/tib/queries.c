/* SPDX-License-Identifier: Apache-2.0 */
/* The questions of the benchmark, as the programs above the TIB ask them. */
#include <string.h>

#include "bench.h"
#include "tib/lmdb/store.h"
#include "tib/lmdb/view.h"

const char *const question_names[QUESTIONS] = {
    "rows of a link",     "getFlows of a link",   "getFlows of a link, one minute",
    "getPaths of a flow", "getCount of a flow",   "top records by bytes",
    "top flows by bytes", "flow sizes of a link", "traffic matrix",
};

/* ---- what is done with an answer ---- */

struct answer {
    size_t rows;
    uint64_t bytes, pkts;
};

static int count_rows(void *context, const struct pd_tib_record *records, size_t n)
{
    struct answer *answer = context;
    answer->rows += n;
    answer->bytes += records[0].bytes ^ (uintptr_t)records[n - 1].path;
    return 0;
}

static int sum_rows(void *context, const struct pd_tib_record *records, size_t n)
{
    struct answer *answer = context;
    for (size_t i = 0; i < n; i++) {
        answer->bytes += records[i].bytes;
        answer->pkts += records[i].pkts;
    }
    answer->rows = 1;
    return 0;
}

/* Flow sizes: open addressing by bin + 1. Few of them are used; clearing them all would take longer
 * than the query at 240K records. */
#define BINS (1u << 16)
static uint64_t bins[BINS][2];
static uint32_t bins_used[BINS];

static void bins_clear(size_t used)
{
    for (size_t i = 0; i < used; i++) {
        bins[bins_used[i]][0] = bins[bins_used[i]][1] = 0;
    }
}

static int add_bins(void *context, const struct pd_tib_record *groups, size_t n)
{
    struct answer *answer = context;
    for (size_t i = 0; i < n; i++) {
        uint64_t bin = groups[i].bytes / BIN_BYTES + 1;
        uint32_t at = (uint32_t)(bin * UINT64_C(0x9e3779b97f4a7c15) >> 48);
        while (bins[at][0] && bins[at][0] != bin) {
            at = (at + 1) % BINS;
        }
        if (!bins[at][0]) {
            bins_used[answer->rows++] = at;
        }
        bins[at][0] = bin;
        bins[at][1]++;
    }
    return 0;
}

#define PAIRS (1u << 12) /* racks by racks, of which one is a destination */
static uint64_t pairs[PAIRS][3];

static int add_pairs(void *context, const struct pd_tib_record *groups, size_t n)
{
    struct answer *answer = context;
    for (size_t i = 0; i < n; i++) {
        const struct pd_path *path = groups[i].path;
        uint64_t pair = (uint64_t)path->switches[0] << 32 | path->switches[path->len - 1];
        uint32_t at = (uint32_t)(pair * UINT64_C(0x9e3779b97f4a7c15) >> 52);
        while (pairs[at][0] && pairs[at][0] != pair) {
            at = (at + 1) % PAIRS;
        }
        answer->rows += !pairs[at][0];
        pairs[at][0] = pair;
        pairs[at][1] += groups[i].bytes;
        pairs[at][2] += groups[i].pkts;
    }
    return 0;
}

/* ---- asking ---- */

static const struct {
    enum pd_tib_by by;
    enum pd_tib_order order;
    uint64_t top_len;
    bool without_times;
    int (*visit)(void *context, const struct pd_tib_record *groups, size_t n);
} groupings[QUESTIONS] = {
    [LINK_FLOWS] = {PD_TIB_BY_FLOW_PATH, PD_TIB_ORDER_KEY, 0, false, count_rows},
    [LINK_FLOWS_MINUTE] = {PD_TIB_BY_FLOW_PATH, PD_TIB_ORDER_KEY, 0, false, count_rows},
    [FLOW_PATHS] = {PD_TIB_BY_PATH, PD_TIB_ORDER_KEY, 0, false, count_rows},
    [FLOW_COUNT] = {PD_TIB_BY_PATH, PD_TIB_ORDER_NONE, 0, false, sum_rows},
    [TOP_RECORDS] = {PD_TIB_BY_RECORD, PD_TIB_ORDER_BYTES, TOP_LEN, false, count_rows},
    [TOP_FLOWS] = {PD_TIB_BY_FLOW, PD_TIB_ORDER_BYTES, TOP_LEN, true, count_rows},
    [FLOW_SIZES] = {PD_TIB_BY_FLOW_PATH, PD_TIB_ORDER_NONE, 0, true, add_bins},
    [TRAFFIC_MATRIX] = {PD_TIB_BY_PATH, PD_TIB_ORDER_NONE, 0, true, add_pairs},
};

static struct pd_tib_filter filter_of(const struct data *data, enum question question,
                                      unsigned round)
{
    struct pd_tib_filter filter = PD_TIB_FILTER_ALL;
    if (question <= LINK_FLOWS_MINUTE || question == FLOW_SIZES) {
        filter.link = (struct pd_link_match){LINK_FROM, LINK_TO};
    }
    if (question == LINK_FLOWS_MINUTE) {
        uint64_t minutes = data->span_us / 60000000 ? data->span_us / 60000000 : 1;
        filter.from_us = START_US + (round * UINT64_C(7919) % minutes) * 60000000;
        filter.to_us = filter.from_us + 60000000;
    }
    if (question == FLOW_PATHS || question == FLOW_COUNT) {
        filter.flow = (struct pd_flow_match){data->flows[round * 37 % FLOWS_ASKED], PD_FLOW_ALL};
    }
    return filter;
}

static void ask_snapshot(struct pd_tib_snapshot *snapshot, const struct pd_tib_filter *filter,
                         enum question question, struct answer *answer)
{
    struct pd_tib_grouping grouping = {
        .by = groupings[question].by,
        .order = groupings[question].order,
        .top_len = groupings[question].top_len,
        .without_times = groupings[question].without_times,
        .memory_bytes = UINT64_C(256) << 20,
    };
    int err = question == LINK_ROWS
                  ? pd_tib_scan(snapshot, filter, count_rows, answer)
                  : pd_tib_group(snapshot, filter, &grouping, groupings[question].visit, answer);
    if (err || pd_tib_snapshot_damaged(snapshot)) {
        die(question_names[question]);
    }
}

size_t ask(struct pd_tib *tib, const struct data *data, enum question question, unsigned round)
{
    struct pd_tib_filter filter = filter_of(data, question, round);
    struct answer answer = {0};
    struct pd_tib_snapshot *snapshot;
    if (question == TRAFFIC_MATRIX) {
        memset(pairs, 0, sizeof pairs);
    }
    if (pd_tib_snapshot(tib, &snapshot)) {
        die("snapshot");
    }
    ask_snapshot(snapshot, &filter, question, &answer);
    pd_tib_release(snapshot);
    if (question == FLOW_SIZES) {
        bins_clear(answer.rows);
    }
    return answer.rows;
}

/* ---- bytes ---- */

#define BIT(name) (UINT32_C(1) << PD_COLUMN_##name)
#define KEYS                                                                           \
    (BIT(SRC_PREFIX) | BIT(SRC_LOW) | BIT(DST_PREFIX) | BIT(DST_LOW) | BIT(SRC_PORT) | \
     BIT(DST_PORT) | BIT(PROTOCOL))
#define TIMES  (BIT(STIME) | BIT(DURATION))
#define COUNTS (BIT(BYTES) | BIT(PKTS))

/* Average bytes of these columns for one row of the store. */
static double row_bytes(const struct pd_lmdb_view *view, uint32_t columns)
{
    double bytes = 0;
    for (size_t i = 0; i < view->len; i++) {
        for (unsigned id = 0; id < PD_COLUMN_COUNT; id++) {
            if (columns & UINT32_C(1) << id) {
                bytes += (double)view->chunks[i]->chunk.columns[id].len *
                         view->chunks[i]->chunk.columns[id].width_bytes;
            }
        }
    }
    return bytes / (double)view->rows;
}

/* Rows that a question reads of columns: `rows` of the answer, or all. */
static double bytes_of(const struct pd_lmdb_view *view, enum question question, double rows)
{
    double all = (double)view->rows, of_link = all / 64, chunks = (double)view->len;
    const double record = sizeof(struct pd_tib_record),
                 find_runs = row_bytes(view, BIT(RUN_PATH)) * all;
    switch (question) {
    case LINK_ROWS:
    case LINK_FLOWS:
        return rows * record + find_runs + of_link * row_bytes(view, KEYS | TIMES | COUNTS);
    case LINK_FLOWS_MINUTE:
        return rows * record + (find_runs + of_link * row_bytes(view, TIMES)) / chunks +
               rows * row_bytes(view, KEYS | COUNTS);
    case FLOW_PATHS:
    case FLOW_COUNT: /* a line of each Bloom filter, and one port column of one segment */
        return chunks * 64 + row_bytes(view, BIT(SRC_PORT)) * all / chunks;
    case TOP_RECORDS: return all * row_bytes(view, BIT(BYTES)) + rows * record;
    case TOP_FLOWS: /* two passes over the keys; the bound and the counters from the sizes */
        return all * (2 * row_bytes(view, KEYS) + 2 * row_bytes(view, BIT(BYTES))) + rows * record;
    case FLOW_SIZES: return find_runs + of_link * row_bytes(view, KEYS | COUNTS);
    default: return all * row_bytes(view, BIT(RUN_PATH) | BIT(RUN_BYTES) | BIT(RUN_PKTS));
    }
}

uint64_t bytes_touched(struct pd_tib *tib, enum question question, size_t rows)
{
    struct pd_tib_snapshot *head;
    if (pd_tib_snapshot(tib, &head) || pd_lmdb_view_get((struct pd_store_snapshot *)head)) {
        die("snapshot");
    }
    double bytes = bytes_of(((struct pd_store_snapshot *)head)->view, question, (double)rows);
    pd_tib_release(head);
    return (uint64_t)bytes;
}
