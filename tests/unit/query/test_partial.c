/* SPDX-License-Identifier: Apache-2.0 */
/* Partial results: what is written is read, in pieces of any size; what is cut or changed is found
 * or harmless. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "query/partial.h"
#include "tests/unit/tib/records.h"

#define ROUNDS     200
#define GROUPS_MAX 60
#define MEMORY     (1 << 20)

struct got {
    struct pd_tib_record groups[GROUPS_MAX];
    struct pd_query_sums sums[GROUPS_MAX];
    unsigned groups_len, sums_len, missing_len;
    uint64_t host;
    char reason[PD_PARTIAL_REASON_BYTES];
};

static int on_group(void *context, const struct pd_tib_record *group)
{
    struct got *got = context;
    if (got->groups_len < GROUPS_MAX) {
        got->groups[got->groups_len] = *group;
    }
    got->groups_len++;
    return 0;
}

static int on_sums(void *context, const struct pd_query_sums *sums)
{
    struct got *got = context;
    if (got->sums_len < GROUPS_MAX) {
        got->sums[got->sums_len] = *sums;
    }
    got->sums_len++;
    return 0;
}

static int on_missing(void *context, uint64_t host, const char *reason)
{
    struct got *got = context;
    got->missing_len++;
    got->host = host;
    strcpy(got->reason, reason);
    return 0;
}

static struct pd_partial_reader *reader_for(struct got *got, struct pd_tib_budget *budget)
{
    struct pd_partial_handler handler = {got, on_group, on_sums, on_missing};
    struct pd_partial_reader *reader = pd_query_partial_reader_new(&handler, budget);
    assert_non_null(reader);
    return reader;
}

static int feed_in_pieces(struct pd_partial_reader *reader, const struct bytes *bytes,
                          struct random *random, size_t most)
{
    int error = 0;
    for (size_t at = 0; at < bytes->len && !error;) {
        size_t piece = 1 + random_below(random, most);
        piece = piece < bytes->len - at ? piece : bytes->len - at;
        error = pd_query_partial_feed(reader, bytes->at + at, piece);
        at += piece;
    }
    return error;
}

static void assert_same_group(const struct pd_tib_record *a, const struct pd_tib_record *b)
{
    assert_memory_equal(&a->flow, &b->flow, sizeof a->flow);
    assert_true(!a->path == !b->path && (!a->path || pd_tib_same_way(a, b)));
    assert_int_equal(a->retransmissions, b->retransmissions);
    assert_true(a->stime_us == b->stime_us && a->etime_us == b->etime_us);
    assert_true(a->bytes == b->bytes && a->pkts == b->pkts);
}

static struct pd_tib_record random_group(const struct pool *pool, struct random *random)
{
    struct pd_tib_record group = pool_record(pool, random);
    if (random_below(random, 4) == 0) {
        group.path = NULL;
        group.claim = NULL;
    }
    if (random_below(random, 8) == 0) {
        group.flow = (struct pd_flow_id){0};
    }
    if (random_below(random, 8) == 0) {
        group.bytes = group.pkts = PD_TIB_SUM_MAX;
    }
    group.stime_us &= PD_TIB_SUM_MAX;
    group.etime_us &= PD_TIB_SUM_MAX;
    group.bytes &= PD_TIB_SUM_MAX;
    group.pkts &= PD_TIB_SUM_MAX;
    if (group.etime_us < group.stime_us) {
        group.etime_us = group.stime_us;
    }
    return group;
}

static void write_all(const struct pd_tib_record *groups, unsigned len, struct bytes *ret_bytes)
{
    struct pd_tib_budget budget = {MEMORY};
    struct pd_query_sink sink = {ret_bytes, bytes_keep};
    struct pd_partial_writer *writer;
    struct pd_partial_end end = {
        .complete = true, .asked = 7, .answered = 6, .critical_us = 12345, .bytes = 678901};
    assert_int_equal(pd_query_partial_begin(&sink, &budget, &writer), 0);
    assert_int_equal(pd_query_partial_put_groups(writer, groups, len), 0);
    for (unsigned i = 0; i < len; i++) {
        struct pd_query_sums sums = {UINT64_MAX - i, i, 2 * i, PD_TIB_SUM_MAX};
        assert_int_equal(pd_query_partial_put_sums(writer, &sums, 1), 0);
    }
    assert_int_equal(pd_query_partial_put_missing(writer, 21, "no \n answer"), 0);
    assert_int_equal(pd_query_partial_finish(writer, &end), 0);
    pd_query_partial_writer_free(writer);
}

static void what_is_written_is_read(void **state)
{
    struct random random = {test_seed()};
    struct pool pool;
    (void)state;
    pool_init(&pool, &random);
    for (int round = 0; round < ROUNDS; round++) {
        struct pd_tib_record groups[GROUPS_MAX];
        struct pd_tib_budget budget = {MEMORY};
        struct bytes bytes = {NULL, 0};
        struct got got = {.groups_len = 0};
        struct pd_partial_end end;
        unsigned len = (unsigned)random_below(&random, GROUPS_MAX + 1);
        for (unsigned i = 0; i < len; i++) {
            groups[i] = random_group(&pool, &random);
        }
        write_all(groups, len, &bytes);
        struct pd_partial_reader *reader = reader_for(&got, &budget);
        assert_int_equal(feed_in_pieces(reader, &bytes, &random, round % 2 ? 3 : 700), 0);
        assert_int_equal(pd_query_partial_ended(reader, &end), 0);
        assert_true(end.complete && end.asked == 7 && end.answered == 6);
        assert_true(end.critical_us == 12345 && end.bytes == 678901);
        assert_int_equal(got.groups_len, len);
        assert_int_equal(got.sums_len, len);
        for (unsigned i = 0; i < len; i++) {
            assert_same_group(&got.groups[i], &groups[i]);
            assert_true(got.sums[i].key == UINT64_MAX - i && got.sums[i].pkts == 2 * i);
        }
        assert_int_equal(got.host, 21);
        assert_string_equal(got.reason, "no ? answer");
        pd_query_partial_reader_free(reader);
        free(bytes.at);
    }
}

/* A flow of a top-k: another source, port, bytes and packets each; times and the rest stay. */
static void a_flow_takes_few_bytes(void **state)
{
    struct pd_tib_record groups[GROUPS_MAX];
    struct bytes bytes = {NULL, 0};
    struct random random = {1};
    (void)state;
    for (unsigned i = 0; i < GROUPS_MAX; i++) {
        groups[i] = (struct pd_tib_record){.flow = {.src = {{10, (uint8_t)i, 1, 2}},
                                                    .dst = {{10, 1, 1, 2}},
                                                    .src_port = (uint16_t)random_next(&random),
                                                    .dst_port = 80,
                                                    .protocol = 6,
                                                    .ip_version = 4},
                                           .bytes = random_below(&random, 1 << 30),
                                           .pkts = random_below(&random, 1 << 20)};
    }
    struct pd_tib_budget budget = {MEMORY};
    struct pd_query_sink sink = {&bytes, bytes_keep};
    struct pd_partial_writer *writer;
    struct pd_partial_end end = {.complete = true, .asked = 1, .answered = 1};
    assert_int_equal(pd_query_partial_begin(&sink, &budget, &writer), 0);
    assert_int_equal(pd_query_partial_put_groups(writer, groups, GROUPS_MAX), 0);
    assert_int_equal(pd_query_partial_finish(writer, &end), 0);
    assert_in_range(bytes.len / GROUPS_MAX, 10, 20);
    pd_query_partial_writer_free(writer);
    free(bytes.at);
}

static void cut_anywhere_is_truncated(void **state)
{
    struct random random = {test_seed()};
    struct pool pool;
    struct pd_tib_record groups[8];
    struct bytes bytes = {NULL, 0};
    (void)state;
    pool_init(&pool, &random);
    for (int i = 0; i < 8; i++) {
        groups[i] = random_group(&pool, &random);
    }
    write_all(groups, 8, &bytes);
    for (size_t len = 0; len < bytes.len; len++) {
        struct pd_tib_budget budget = {MEMORY};
        struct got got = {.groups_len = 0};
        struct pd_partial_end end;
        struct pd_partial_reader *reader = reader_for(&got, &budget);
        assert_int_equal(pd_query_partial_feed(reader, bytes.at, len), 0);
        assert_int_equal(pd_query_partial_ended(reader, &end), -PD_E_TRUNCATED);
        pd_query_partial_reader_free(reader);
    }
    free(bytes.at);
}

/* Sanitizers look on. */
static void changed_bytes_do_no_harm(void **state)
{
    struct random random = {test_seed()};
    struct pool pool;
    struct pd_tib_record groups[8];
    struct bytes bytes = {NULL, 0};
    unsigned refused = 0;
    (void)state;
    pool_init(&pool, &random);
    for (int i = 0; i < 8; i++) {
        groups[i] = random_group(&pool, &random);
    }
    write_all(groups, 8, &bytes);
    for (int round = 0; round < 5000; round++) {
        struct pd_tib_budget budget = {MEMORY};
        struct got got = {.groups_len = 0};
        struct pd_partial_end end;
        size_t at = random_below(&random, bytes.len);
        char was = bytes.at[at];
        bytes.at[at] = (char)(was ^ (1 << random_below(&random, 8)));
        struct pd_partial_reader *reader = reader_for(&got, &budget);
        int error = feed_in_pieces(reader, &bytes, &random, 100);
        refused += error || pd_query_partial_ended(reader, &end);
        pd_query_partial_reader_free(reader);
        bytes.at[at] = was;
    }
    assert_true(refused > 500);
    free(bytes.at);
}

static void expect_refused(const char *bytes, size_t len, uint64_t memory_bytes, int wanted)
{
    struct pd_tib_budget budget = {memory_bytes};
    struct got got = {.groups_len = 0};
    struct pd_partial_reader *reader = reader_for(&got, &budget);
    assert_int_equal(pd_query_partial_feed(reader, bytes, len), wanted);
    assert_int_equal(pd_query_partial_feed(reader, "E", 1), wanted);
    pd_query_partial_reader_free(reader);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    expect_refused("PDPX\2", 5, MEMORY, -PD_E_SYNTAX);
    expect_refused("PDPR\2", 5, MEMORY, -PD_E_VERSION);
    expect_refused("PDPR\3X", 6, MEMORY, -PD_E_SYNTAX);
    expect_refused("PDPR\3P\2\0", 8, MEMORY, -PD_E_SYNTAX);           /* switch 0 */
    expect_refused("PDPR\3P\202\2", 8, MEMORY, -PD_E_SYNTAX);         /* 129 switches */
    expect_refused("PDPR\3P\0", 7, MEMORY, -PD_E_SYNTAX);             /* exact, without switches */
    expect_refused("PDPR\3P\1\5\0\0\0\0", 12, MEMORY, -PD_E_SYNTAX);  /* no such state */
    expect_refused("PDPR\3P\1\4\77\0\0\0", 12, MEMORY, -PD_E_SYNTAX); /* no such origin */
    expect_refused("PDPR\3P\1\4\0\0\1\21", 12, MEMORY, -PD_E_SYNTAX); /* 17 bytes */
    expect_refused("PDPR\3P\1\4\0\0\310\1\1x", 14, MEMORY, -PD_E_SYNTAX); /* unknown scheme */
    expect_refused("PDPR\3P\2\1", 8, 100, -PD_E_TOO_LARGE);         /* more paths than memory */
    expect_refused("PDPR\3G\20\1", 8, MEMORY, -PD_E_SYNTAX);        /* a path that was not sent */
    expect_refused("PDPR\3G\200\10\5", 9, MEMORY, -PD_E_SYNTAX);    /* IP version 5 */
    expect_refused("PDPR\3G\200\2\1", 9, MEMORY, -PD_E_SYNTAX);     /* begins before the epoch */
    expect_refused("PDPR\3E\1\1\1\0\0E", 12, MEMORY, -PD_E_SYNTAX); /* behind the end */
    expect_refused("PDPR\3E\1\1\2", 9, MEMORY, -PD_E_SYNTAX); /* more answers than questions */
    expect_refused("PDPR\3S\377\377\377\377\377\377\377\377\377\2", 16, MEMORY, -PD_E_SYNTAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),   cmocka_unit_test(a_flow_takes_few_bytes),
        cmocka_unit_test(cut_anywhere_is_truncated), cmocka_unit_test(changed_bytes_do_no_harm),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
