/* SPDX-License-Identifier: Apache-2.0 */
/* What one node of an aggregation tree works: its own groups, its children's answers checked and
 * merged, the result sent on or written as JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "common.h"
#include "query/merge.h"

/* One line each:
 * {"bench":"merge","query":…,"params":…,"children":4,"leaf_bytes":…,"leaf_us":…,"encode_us":…,
 * "verify_us":…,"merge_us":…,"write_us":…,"inner_bytes":…,"json_us":…}: medians of processor time.
 * A leaf's whole answer, and writing its groups alone; then for the answers of all children:
 * checking, merging, sending the merged result on, or writing it as JSON. */

#define CHILDREN 4

static const struct {
    const char *name, *params;
} questions[] = {
    {"topFlows", "k=10000"},
    {"topFlows", "k=1000"},
    {"flowSizes", "link=*-* bin_bytes=10000"},
    {"trafficMatrix", ""},
    {"getFlows", "link=*-129"},
    {"distinct", "of=flows"},
    {"conformance", "max_hops=4"},
};

struct buffer {
    char *bytes;
    size_t len, room, at;
};

static int keep(void *context, const char *bytes, size_t len)
{
    struct buffer *buffer = context;
    if (len > buffer->room - buffer->len) {
        buffer->room = 2 * (buffer->len + len);
        buffer->bytes = realloc(buffer->bytes, buffer->room);
        if (!buffer->bytes) {
            bench_die("no memory");
        }
    }
    memcpy(buffer->bytes + buffer->len, bytes, len);
    buffer->len += len;
    return 0;
}

static ssize_t give(void *context, void *bytes, size_t size)
{
    struct buffer *buffer = context;
    size_t len = buffer->len - buffer->at < size ? buffer->len - buffer->at : size;
    memcpy(bytes, buffer->bytes + buffer->at, len);
    buffer->at += len;
    return (ssize_t)len;
}

static struct pd_partial_source source_of(struct buffer *buffer)
{
    buffer->at = 0;
    return (struct pd_partial_source){.context = buffer, .read = give};
}

struct times {
    uint64_t leaf[BENCH_ROUNDS], encode[BENCH_ROUNDS], verify[BENCH_ROUNDS], merge[BENCH_ROUNDS],
        write[BENCH_ROUNDS], json[BENCH_ROUNDS];
};

static uint64_t time_leaf(const struct pd_query *query, struct pd_tib *tib, struct buffer *answer)
{
    const struct pd_query_sink sink = {answer, keep};
    struct pd_tib_snapshot *snapshot;
    bool complete;
    answer->len = 0;
    uint64_t begun_ns = pd_clock_thread_ns();
    if (pd_tib_snapshot(tib, &snapshot) ||
        pd_query_run_partial(query, snapshot, NULL, 0, begun_ns, &sink, &complete, NULL)) {
        bench_die("leaf failed");
    }
    pd_tib_release(snapshot);
    return pd_clock_thread_ns() - begun_ns;
}

/* The same groups again, from a merge that has them: what writing them costs. */
static uint64_t time_encode(const struct pd_query *query, struct buffer *answer)
{
    struct buffer again = {0};
    const struct pd_query_sink sink = {&again, keep};
    const struct pd_partial_source source = source_of(answer);
    struct pd_query_merge *merge;
    struct pd_partial_end end;
    if (pd_query_merge_new(query, &merge, NULL) ||
        pd_query_merge_partial(merge, &source, &end, NULL)) {
        bench_die("merge failed");
    }
    uint64_t begun_ns = pd_clock_thread_ns();
    if (pd_query_merge_write(merge, &end, NULL, 0, begun_ns, &sink, NULL)) {
        bench_die("write failed");
    }
    uint64_t took_ns = pd_clock_thread_ns() - begun_ns;
    pd_query_merge_free(merge);
    free(again.bytes);
    return took_ns;
}

static uint64_t time_verify(const struct pd_query *query, struct buffer answers[CHILDREN])
{
    uint64_t begun_ns = pd_clock_thread_ns();
    for (int i = 0; i < CHILDREN; i++) {
        const struct pd_partial_source source = source_of(&answers[i]);
        struct pd_partial_end end;
        if (pd_query_partial_verify(query, &source, &end, NULL)) {
            bench_die("verify failed");
        }
    }
    return pd_clock_thread_ns() - begun_ns;
}

static struct pd_query_merge *merge_all(const struct pd_query *query,
                                        struct buffer answers[CHILDREN], uint64_t *ret_ns)
{
    struct pd_query_merge *merge;
    uint64_t begun_ns = pd_clock_thread_ns();
    if (pd_query_merge_new(query, &merge, NULL)) {
        bench_die("no memory");
    }
    for (int i = 0; i < CHILDREN; i++) {
        const struct pd_partial_source source = source_of(&answers[i]);
        struct pd_partial_end end;
        if (pd_query_merge_partial(merge, &source, &end, NULL)) {
            bench_die("merge failed");
        }
    }
    *ret_ns = pd_clock_thread_ns() - begun_ns;
    return merge;
}

static void time_inner(const struct pd_query *query, struct buffer answers[CHILDREN],
                       struct times *times, int round, uint64_t *ret_bytes)
{
    const struct pd_partial_end end = {.complete = true, .asked = 4, .answered = 4};
    const struct pd_query_sink sink = {ret_bytes, bench_count_bytes};
    struct pd_query_merge *merge = merge_all(query, answers, &times->merge[round]);
    uint64_t begun_ns = pd_clock_thread_ns(), json_bytes = 0;
    bool complete;
    *ret_bytes = 0;
    if (pd_query_merge_write(merge, &end, NULL, 0, begun_ns, &sink, NULL)) {
        bench_die("write failed");
    }
    times->write[round] = pd_clock_thread_ns() - begun_ns;
    pd_query_merge_free(merge);
    merge = merge_all(query, answers, &times->merge[round]);
    const struct pd_query_sink text = {&json_bytes, bench_count_bytes};
    begun_ns = pd_clock_thread_ns();
    if (pd_query_merge_json(merge, PD_FORM_JSON, NULL, &text, &complete, NULL)) {
        bench_die("JSON failed");
    }
    times->json[round] = pd_clock_thread_ns() - begun_ns;
    pd_query_merge_free(merge);
}

static void bench(const char *name, const char *params, struct pd_tib *tibs[CHILDREN])
{
    struct pd_query query = bench_query(name, params);
    struct buffer answers[CHILDREN] = {0};
    struct times times;
    uint64_t inner_bytes = 0;
    for (int round = 0; round < BENCH_ROUNDS; round++) {
        for (int i = 0; i < CHILDREN; i++) {
            times.leaf[round] = time_leaf(&query, tibs[i], &answers[i]);
        }
        times.encode[round] = time_encode(&query, &answers[0]);
        times.verify[round] = time_verify(&query, answers);
        time_inner(&query, answers, &times, round, &inner_bytes);
    }
    printf("{\"bench\":\"merge\",\"query\":\"%s\",\"params\":\"%s\",\"children\":%d,"
           "\"leaf_bytes\":%zu,\"leaf_us\":%.0f,\"encode_us\":%.0f,\"verify_us\":%.0f,"
           "\"merge_us\":%.0f,\"write_us\":%.0f,\"inner_bytes\":%" PRIu64 ",\"json_us\":%.0f}\n",
           name, params, CHILDREN, answers[0].len, bench_median_us(times.leaf),
           bench_median_us(times.encode), bench_median_us(times.verify),
           bench_median_us(times.merge), bench_median_us(times.write), inner_bytes,
           bench_median_us(times.json));
    for (int i = 0; i < CHILDREN; i++) {
        free(answers[i].bytes);
    }
}

int main(void)
{
    char folders[CHILDREN][sizeof BENCH_FOLDER];
    struct pd_tib *tibs[CHILDREN];
    for (uint32_t i = 0; i < CHILDREN; i++) {
        strcpy(folders[i], BENCH_FOLDER);
        tibs[i] = bench_store(folders[i], 7 * i);
    }
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
        bench(questions[i].name, questions[i].params, tibs);
    }
    for (int i = 0; i < CHILDREN; i++) {
        bench_store_done(folders[i], tibs[i]);
    }
    return 0;
}
