/* SPDX-License-Identifier: Apache-2.0 */
/* Verification: a child's answer is taken when it is whole and of this query, whatever else comes
 * is refused with its reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "tests/unit/tib/records.h"

static const char *const questions[][2] = {
    {"getFlows", ""},
    {"getPaths", ""},
    {"getCount", ""},
    {"getDuration", ""},
    {"topRecords", "k=7"},
    {"topFlows", "k=7"},
    {"topHosts", "k=7"},
    {"topLinks", "k=7"},
    {"linkLoad", "from=0 to=9999999999"},
    {"flowSizes", "link=*-* bin_bytes=1000"},
    {"trafficMatrix", ""},
    {"pathBytes", ""},
    {"distinct", "of=flows"},
    {"distinct", "of=sources"},
    {"conformance", "max_hops=2"},
};
#define QUESTIONS (sizeof questions / sizeof questions[0])
_Static_assert(QUESTIONS == PD_QUERY_COUNT + 1, "each query is here");

static struct pd_query question(size_t i)
{
    return make_query(questions[i][0], questions[i][1]);
}

#define RECORDS 40

static void answer(const struct pd_query *query, const struct pd_tib_record *records,
                   struct bytes *ret_bytes)
{
    const struct pd_query_sink sink = {ret_bytes, bytes_keep};
    bool complete;
    *ret_bytes = (struct bytes){NULL, 0};
    assert_int_equal(pd_query_run_partial(query, NULL, records, RECORDS, 0, &sink, &complete, NULL),
                     0);
}

static int verify(const struct pd_query *query, const struct bytes *bytes, size_t piece,
                  struct pd_error *error)
{
    struct reading reading;
    struct pd_partial_source source = reading_begin(&reading, bytes, piece);
    struct pd_partial_end end;
    return pd_query_partial_verify(query, &source, &end, error);
}

static void random_records(struct random *random, const struct pool *pool,
                           struct pd_tib_record *ret_records)
{
    for (int i = 0; i < RECORDS; i++) {
        ret_records[i] = pool_record(pool, random);
        ret_records[i].bytes >>= 12;
    }
}

static void an_answer_fits_its_own_query(void **state)
{
    struct random random = {test_seed()};
    struct pd_tib_record records[RECORDS];
    struct pool pool;
    unsigned taken = 0;
    (void)state;
    pool_init(&pool, &random);
    random_records(&random, &pool, records);
    for (size_t i = 0; i < QUESTIONS; i++) {
        struct pd_query asked = question(i);
        struct bytes bytes = {NULL, 0};
        answer(&asked, records, &bytes);
        for (size_t j = 0; j < QUESTIONS; j++) {
            struct pd_query other = question(j);
            struct pd_error error = {0};
            int err = verify(&other, &bytes, 100, &error);
            assert_true(i == j ? !err : !err || err == -PD_E_VALUE);
            if (err && !strstr(error.text, "this query does not have")) {
                assert_non_null(strstr(error.text, "more rows than were asked for"));
            }
            taken += !err;
        }
        bytes_free(&bytes);
    }
    /* Some are of one shape: topLinks, linkLoad and trafficMatrix, topRecords and getFlows,
     * getPaths and pathBytes … */
    assert_in_range(taken, QUESTIONS, QUESTIONS + 11);
}

static void what_is_cut_is_refused(void **state)
{
    struct random random = {test_seed()};
    struct pd_tib_record records[RECORDS];
    struct pool pool;
    (void)state;
    pool_init(&pool, &random);
    random_records(&random, &pool, records);
    for (size_t i = 0; i < QUESTIONS; i++) {
        struct pd_query query = question(i);
        struct bytes bytes = {NULL, 0}, cut;
        answer(&query, records, &bytes);
        cut = bytes;
        for (cut.len = 0; cut.len < bytes.len; cut.len++) {
            assert_int_equal(verify(&query, &cut, 64, NULL), -PD_E_TRUNCATED);
        }
        bytes_free(&bytes);
    }
}

/* What is verified is merged without an error; sanitizers look on. */
static void what_is_changed_is_refused_or_merges(void **state)
{
    struct random random = {test_seed()};
    struct pd_tib_record records[RECORDS];
    struct pool pool;
    unsigned refused = 0;
    (void)state;
    pool_init(&pool, &random);
    random_records(&random, &pool, records);
    for (int round = 0; round < 6000; round++) {
        struct pd_query query = question(random_below(&random, QUESTIONS));
        struct bytes bytes = {NULL, 0};
        answer(&query, records, &bytes);
        for (size_t flips = 1 + random_below(&random, 3); flips; flips--) {
            bytes.at[random_below(&random, bytes.len)] ^= (char)(1 << random_below(&random, 8));
        }
        int err = verify(&query, &bytes, 64, NULL);
        struct pd_query_merge *merge;
        struct reading reading;
        struct pd_partial_source source = reading_begin(&reading, &bytes, 64);
        struct pd_partial_end end;
        assert_int_equal(pd_query_merge_new(&query, &merge, NULL), 0);
        int merged = pd_query_merge_partial(merge, &source, &end, NULL);
        if (!err) {
            struct bytes text = {NULL, 0};
            const struct pd_query_sink sink = {&text, bytes_keep};
            bool complete;
            assert_int_equal(merged, 0);
            assert_int_equal(pd_query_merge_json(merge, PD_FORM_JSON, NULL, &sink, &complete, NULL),
                             0);
            bytes_free(&text);
        }
        refused += err != 0;
        pd_query_merge_free(merge);
        bytes_free(&bytes);
    }
    assert_in_range(refused, 600, 5999);
}

/* ---- ends and numbers of items ---- */

static const struct pd_path path = {.len = 2, .switches = {1, 9}};

static const struct pd_tib_record flow = {
    .flow = {.src = {{10, 1, 1, 2}}, .dst = {{10, 1, 2, 2}}, .ip_version = 4},
    .bytes = 7,
    .pkts = 1};

static void expect(const char *name, const char *params, const struct pd_tib_record *groups,
                   size_t groups_len, const struct pd_query_sums *sums, unsigned missing,
                   struct pd_partial_end end, const char *words)
{
    struct pd_query query = make_query(name, params);
    struct pd_tib_budget budget = {1 << 20};
    struct bytes bytes = {NULL, 0};
    const struct pd_query_sink sink = {&bytes, bytes_keep};
    struct pd_partial_writer *writer;
    struct pd_error error = {0};
    assert_int_equal(pd_query_partial_begin(&sink, &budget, &writer), 0);
    assert_int_equal(pd_query_partial_put_groups(writer, groups, groups_len), 0);
    assert_int_equal(pd_query_partial_put_sums(writer, sums, sums != NULL), 0);
    for (unsigned i = 0; i < missing; i++) {
        assert_int_equal(pd_query_partial_put_missing(writer, i + 1, "away"), 0);
    }
    assert_int_equal(pd_query_partial_finish(writer, &end), 0);
    pd_query_partial_writer_free(writer);
    int err = verify(&query, &bytes, 1000, &error);
    assert_int_equal(err, words ? -PD_E_VALUE : 0);
    if (words && !strstr(error.text, words)) {
        fail_msg("\"%s\" does not say \"%s\"", error.text, words);
    }
    bytes_free(&bytes);
}

static const struct pd_partial_end one = {.complete = true, .asked = 1, .answered = 1};

static void hosts_add_up(void **state)
{
    (void)state;
    expect("getCount", "", NULL, 0, NULL, 0, one, NULL);
    expect("getCount", "", NULL, 0, NULL, 2, (struct pd_partial_end){.asked = 3, .answered = 1},
           NULL);
    expect("getCount", "", NULL, 0, NULL, 1, (struct pd_partial_end){.asked = 1}, NULL);
    expect("getCount", "", NULL, 0, NULL, 0, (struct pd_partial_end){.asked = 0}, "add up");
    expect("getCount", "", NULL, 0, NULL, 1, one, "add up");
    expect("getCount", "", NULL, 0, NULL, 0, (struct pd_partial_end){.asked = 3, .answered = 1},
           "add up");
    expect("getCount", "", NULL, 0, NULL, 2,
           (struct pd_partial_end){.complete = true, .asked = 3, .answered = 1}, "complete");
}

static void items_are_of_the_query(void **state)
{
    struct pd_tib_record two[2] = {flow, flow}, with_path = flow, with_time = flow,
                         sum = {.bytes = 1};
    struct pd_query_sums bin = {2000, 10, 1, 1}, odd = {2001, 10, 1, 1}, none = {2000, 10, 1, 0};
    struct pd_query_sums pair = {pd_query_fold_pair(1, 2), 10, 1, 1}, half = {2, 10, 1, 1};
    (void)state;
    two[1].flow.src_port = 1;
    with_path.path = &path;
    with_time.etime_us = 5;
    expect("topFlows", "k=2", two, 2, NULL, 0, one, NULL);
    expect("topFlows", "k=1", two, 2, NULL, 0, one, "more rows than were asked for");
    expect("topFlows", "", &with_path, 1, NULL, 0, one, "a group");
    expect("topFlows", "", &with_time, 1, NULL, 0, one, "a group");
    expect("topHosts", "", &flow, 1, NULL, 0, one, "a group");
    expect("getFlows", "", &flow, 1, NULL, 0, one, "a group");
    expect("getFlows", "", &with_path, 1, NULL, 0, one, NULL);
    expect("conformance", "max_hops=1", &with_path, 1, NULL, 0, one, "a group");
    expect("getCount", "", &sum, 1, NULL, 0, one, NULL);
    expect("getCount", "", (struct pd_tib_record[]){sum, sum}, 2, NULL, 0, one, "more rows");
    expect("getDuration", "", &sum, 1, NULL, 0, one, "a group");
    expect("topFlows", "", NULL, 0, &pair, 0, one, "sums");
    expect("topLinks", "", NULL, 0, &pair, 0, one, NULL);
    expect("trafficMatrix", "", NULL, 0, &half, 0, one, "sums");
    expect("trafficMatrix", "", &flow, 1, NULL, 0, one, "a group");
    expect("flowSizes", "link=*-* bin_bytes=1000", NULL, 0, &bin, 0, one, NULL);
    expect("flowSizes", "link=*-* bin_bytes=1000", NULL, 0, &odd, 0, one, "sums");
    expect("flowSizes", "link=*-* bin_bytes=1000", NULL, 0, &none, 0, one, "sums");
}

static ssize_t fail_to_read(void *context, void *buffer, size_t size)
{
    (void)context;
    (void)buffer;
    (void)size;
    return -EIO;
}

static void the_source_fails(void **state)
{
    const struct pd_partial_source source = {.read = fail_to_read};
    struct pd_query query = make_query("getCount", "");
    struct pd_partial_end end;
    (void)state;
    assert_int_equal(pd_query_partial_verify(&query, &source, &end, NULL), -EIO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_fits_its_own_query),
        cmocka_unit_test(what_is_cut_is_refused),
        cmocka_unit_test(what_is_changed_is_refused_or_merges),
        cmocka_unit_test(hosts_add_up),
        cmocka_unit_test(items_are_of_the_query),
        cmocka_unit_test(the_source_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
