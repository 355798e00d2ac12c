/* SPDX-License-Identifier: Apache-2.0 */
/* Merges: whatever the tree, the merged answer of several hosts is that of one store with all
 * records, to the byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "memory.h"
#include "tests/unit/tib/records.h"

#define ROUNDS    400
#define HOSTS_MAX 12u
#define EACH_MAX  120u

/* Hosts 1 to `len`; a flow's records lie at one of them. */
struct fleet {
    struct pool pool;
    struct random *random;
    struct list all, hosts[HOSTS_MAX];
    unsigned len;
};

static void fleet_init(struct fleet *fleet, struct random *random)
{
    memset(fleet, 0, sizeof *fleet);
    fleet->random = random;
    fleet->len = 1 + (unsigned)random_below(random, HOSTS_MAX);
    pool_init(&fleet->pool, random);
    size_t records = random_below(random, EACH_MAX * fleet->len);
    for (size_t i = 0; i < records; i++) {
        struct pd_tib_record record = pool_record(&fleet->pool, random);
        uint64_t at = pd_flow_id_hash(&record.flow) % fleet->len;
        list_add(&fleet->all, &record);
        list_add(&fleet->hosts[at], &record); /* with a copy of the path */
    }
}

static void fleet_done(struct fleet *fleet)
{
    list_clear(&fleet->all);
    for (unsigned i = 0; i < fleet->len; i++) {
        list_clear(&fleet->hosts[i]);
    }
}

/* A host's records, some of them live. */
static const struct pd_tib_record *split(struct fleet *fleet, unsigned host, struct store *store,
                                         size_t *ret_live_len)
{
    const struct list *list = &fleet->hosts[host];
    size_t stored = list->len - random_below(fleet->random, list->len / 4 + 1);
    open_store(store, list->records, stored);
    *ret_live_len = list->len - stored;
    return list->records + stored;
}

/* ---- the tree: host `first` asks all up to `last`, in groups ---- */

static void answer_leaf(struct fleet *fleet, const struct pd_query *query, unsigned host,
                        struct bytes *ret_bytes)
{
    const struct pd_query_sink sink = {ret_bytes, bytes_keep};
    struct store store;
    bool complete;
    size_t live_len;
    const struct pd_tib_record *live = split(fleet, host, &store, &live_len);
    assert_int_equal(pd_query_run_partial(query, &store.head, live, live_len, pd_clock_thread_ns(),
                                          &sink, &complete, NULL),
                     0);
}

static void merge_child(struct fleet *fleet, const struct pd_query *query,
                        struct pd_query_merge *merge, const struct bytes *bytes,
                        struct pd_partial_end *sum)
{
    struct pd_error error = {0};
    struct reading reading;
    struct pd_partial_end verified, end;
    size_t piece = 1 + random_below(fleet->random, 3000);
    struct pd_partial_source source = reading_begin(&reading, bytes, piece);
    if (pd_query_partial_verify(query, &source, &verified, &error)) {
        fail_msg("%s: %s", pd_query_name_text(query->name), error.text);
    }
    source = reading_begin(&reading, bytes, piece);
    assert_int_equal(pd_query_merge_partial(merge, &source, &end, NULL), 0);
    assert_int_equal(end.answered, verified.answered);
    sum->asked += end.asked;
    sum->answered += end.answered;
    sum->bytes += end.bytes + bytes->len;
    if (end.critical_us > sum->critical_us) {
        sum->critical_us = end.critical_us;
    }
}

static struct pd_query_merge *merge_range(struct fleet *fleet, const struct pd_query *query,
                                          unsigned first, unsigned last,
                                          struct pd_partial_end *sum);

static void answer_range(struct fleet *fleet, const struct pd_query *query, unsigned first,
                         unsigned last, struct bytes *ret_bytes)
{
    const struct pd_query_sink sink = {ret_bytes, bytes_keep};
    struct pd_partial_end end;
    if (last - first == 1) {
        answer_leaf(fleet, query, first, ret_bytes);
        return;
    }
    struct pd_query_merge *merge = merge_range(fleet, query, first, last, &end);
    assert_int_equal(pd_query_merge_write(merge, &end, NULL, 0, pd_clock_thread_ns(), &sink, NULL),
                     0);
    pd_query_merge_free(merge);
}

static struct pd_query_merge *merge_range(struct fleet *fleet, const struct pd_query *query,
                                          unsigned first, unsigned last, struct pd_partial_end *sum)
{
    struct pd_query_merge *merge;
    struct store store;
    size_t live_len;
    const struct pd_tib_record *live = split(fleet, first, &store, &live_len);
    *sum = (struct pd_partial_end){.complete = true, .asked = 1, .answered = 1};
    assert_int_equal(pd_query_merge_new(query, &merge, NULL), 0);
    assert_int_equal(pd_query_merge_local(merge, &store.head, live, live_len, NULL), 0);
    for (unsigned from = first + 1, to; from < last; from = to) {
        struct bytes bytes = {NULL, 0};
        to = from + 1 + (unsigned)random_below(fleet->random, last - from);
        answer_range(fleet, query, from, to, &bytes);
        merge_child(fleet, query, merge, &bytes, sum);
        bytes_free(&bytes);
    }
    return merge;
}

/* ---- random questions ---- */

__attribute__((format(printf, 3, 4))) static void set(struct pd_query *query, const char *name,
                                                      const char *format, ...)
{
    char text[100];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    assert_int_equal(pd_query_set(query, name, text, NULL), 0);
}

static void set_rules(struct pd_query *query, struct random *random)
{
    unsigned rules = (unsigned)random_below(random, 16);
    if (rules & 1) {
        set(query, "max_hops", "%" PRIu64, random_below(random, 8));
    }
    if (rules & 2) {
        set(query, "avoid", "%" PRIu64 ",3", 1 + random_below(random, 40));
    }
    if (rules & 4) {
        set(query, "must_pass", "%" PRIu64, 1 + random_below(random, 40));
    }
    if (rules & 8 || !rules) {
        set(query, "allow", "10.0.0.0/%" PRIu64 ">0.0.0.0/0", 8 + random_below(random, 3));
    }
}

static struct pd_query random_query(const struct pool *pool, struct random *random)
{
    struct pd_query query;
    enum pd_query_name name = (enum pd_query_name)random_below(random, PD_QUERY_COUNT);
    pd_query_init(&query, name);
    if (random_below(random, 2)) {
        query.filter = pool_filter(pool, random, &query.path);
        query.given |= query.filter.path ? 1U << PD_QUERY_PARAM_PATH : 0;
    }
    if (PD_QUERY_TOPS >> name & 1) {
        set(&query, "k", "%" PRIu64, 1 + random_below(random, random_below(random, 3) ? 8 : 300));
        assert_int_equal(
            pd_query_set(&query, "by", random_below(random, 2) ? "bytes" : "pkts", NULL), 0);
    }
    if (name == PD_QUERY_FLOW_SIZES) {
        set(&query, "bin_bytes", "%" PRIu64,
            1 + (random_next(random) >> (12 + random_below(random, 50))));
    }
    if (name == PD_QUERY_DISTINCT) {
        assert_int_equal(
            pd_query_set(&query, "of", random_below(random, 2) ? "flows" : "sources", NULL), 0);
    }
    if (name == PD_QUERY_CONFORMANCE) {
        set_rules(&query, random);
    }
    return query;
}

static void one_store(struct fleet *fleet, const struct pd_query *query, enum pd_query_form form,
                      struct bytes *ret_text)
{
    const struct pd_query_sink sink = {ret_text, bytes_keep};
    bool complete;
    assert_int_equal(pd_query_run_as(query, form, NULL, fleet->all.records, fleet->all.len, &sink,
                                     &complete, NULL),
                     0);
}

static void merged_answers_are_those_of_one_store(void **state)
{
    struct random random = {test_seed()};
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        struct fleet fleet;
        fleet_init(&fleet, &random);
        for (int i = 0; i < 6; i++) {
            struct pd_query query = random_query(&fleet.pool, &random);
            enum pd_query_form form = random_below(&random, 4) ? PD_FORM_JSON : PD_FORM_NDJSON;
            struct bytes wanted = {NULL, 0}, found = {NULL, 0};
            const struct pd_query_sink sink = {&found, bytes_keep};
            struct pd_partial_end sum;
            bool complete;
            one_store(&fleet, &query, form, &wanted);
            struct pd_query_merge *merge = merge_range(&fleet, &query, 0, fleet.len, &sum);
            assert_int_equal(pd_query_merge_json(merge, form, NULL, &sink, &complete, NULL), 0);
            if (strcmp(found.at, wanted.at) != 0) {
                fail_msg("%u hosts:\n%s\ninstead of\n%s", fleet.len, found.at, wanted.at);
            }
            assert_true(sum.asked == fleet.len && sum.answered == fleet.len);
            assert_int_equal(complete, strstr(found.at, "\"complete\":true") != NULL);
            pd_query_merge_free(merge);
            bytes_free(&wanted);
            bytes_free(&found);
        }
        fleet_done(&fleet);
    }
}

/* ---- rows that do not wait ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lines in the order of their texts; `text` is cut into them. */
static size_t sorted_lines(char *text, char **lines, size_t most)
{
    size_t len = 0;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        assert_true(len < most);
        lines[len++] = line;
    }
    qsort(lines, len, sizeof *lines, by_text);
    return len;
}

enum { LINES_MAX = 20000 };

static void same_lines(struct bytes *found, struct bytes *wanted)
{
    char **lines = calloc(2 * (size_t)LINES_MAX, sizeof *lines), **others = lines + LINES_MAX;
    assert_non_null(lines);
    size_t len = sorted_lines(found->at, lines, LINES_MAX);
    assert_int_equal(len, sorted_lines(wanted->at, others, LINES_MAX));
    for (size_t i = 0; i < len; i++) {
        assert_string_equal(lines[i], others[i]);
    }
    free(lines);
}

/* Host by host, some of them given out before the next one comes. */
static void give_in_pieces(struct fleet *fleet, const struct pd_query *query, struct bytes *found)
{
    const struct pd_query_sink sink = {found, bytes_keep};
    struct pd_query_merge *merge;
    bool complete;
    assert_int_equal(pd_query_merge_new(query, &merge, NULL), 0);
    for (unsigned host = 0; host < fleet->len; host++) {
        struct bytes bytes = {NULL, 0};
        struct pd_partial_end sum = {0};
        answer_leaf(fleet, query, host, &bytes);
        merge_child(fleet, query, merge, &bytes, &sum);
        bytes_free(&bytes);
        if (random_below(fleet->random, 3)) {
            assert_int_equal(pd_query_merge_rows(merge, PD_FORM_NDJSON, &sink, NULL), 0);
            assert_true(!found->len || found->at[found->len - 1] == '\n');
        }
    }
    assert_int_equal(pd_query_merge_json(merge, PD_FORM_NDJSON, NULL, &sink, &complete, NULL), 0);
    pd_query_merge_free(merge);
}

static void rows_that_go_ahead_are_those_of_one_store(void **state)
{
    struct random random = {test_seed()};
    unsigned early = 0;
    (void)state;
    for (int round = 0; early < ROUNDS; round++) {
        struct fleet fleet;
        fleet_init(&fleet, &random);
        struct pd_query query = random_query(&fleet.pool, &random);
        if (pd_query_merge_rows_early(&query)) {
            struct bytes wanted = {NULL, 0}, found = {NULL, 0};
            one_store(&fleet, &query, PD_FORM_NDJSON, &wanted);
            give_in_pieces(&fleet, &query, &found);
            same_lines(&found, &wanted);
            bytes_free(&wanted);
            bytes_free(&found);
            early++;
        }
        fleet_done(&fleet);
    }
}

/* ---- what is missing, what else is said ---- */

static const struct pd_path path = {.len = 3, .switches = {1, 9, 2}};
static const struct pd_tib_record record = {
    .flow = {.src = {{10, 1, 1, 2}}, .dst = {{10, 1, 2, 2}}, .src_port = 1, .ip_version = 4},
    .path = &path,
    .stime_us = 1000,
    .etime_us = 2000,
    .bytes = 1500,
    .pkts = 2};

static struct pd_query_merge *merge_with_missing(const struct pd_query *query)
{
    struct pd_query_merge *below, *merge;
    struct bytes bytes = {NULL, 0};
    const struct pd_query_sink sink = {&bytes, bytes_keep};
    const struct pd_partial_missing missing[] = {{7, "no route", 0}, {8, "late", 0}};
    const struct pd_partial_end end = {
        .complete = true, .asked = 3, .answered = 1, .critical_us = 1000000, .bytes = 77};
    struct pd_partial_end got;
    struct reading reading;
    assert_int_equal(pd_query_merge_new(query, &below, NULL), 0);
    assert_int_equal(pd_query_merge_local(below, NULL, &record, 1, NULL), 0);
    assert_int_equal(
        pd_query_merge_write(below, &end, missing, 2, pd_clock_thread_ns(), &sink, NULL), 0);
    pd_query_merge_free(below);
    assert_int_equal(pd_query_merge_new(query, &merge, NULL), 0);
    struct pd_partial_source source = reading_begin(&reading, &bytes, 5);
    assert_int_equal(pd_query_partial_verify(query, &source, &got, NULL), 0);
    assert_true(!got.complete && got.asked == 3 && got.answered == 1 && reading.missing == 2);
    assert_true(got.bytes == 77);
    assert_in_range(got.critical_us, 1000000, 9000000);
    source = reading_begin(&reading, &bytes, 5000);
    assert_int_equal(pd_query_merge_partial(merge, &source, &got, NULL), 0);
    bytes_free(&bytes);
    return merge;
}

static void missing_hosts_and_extra_members_are_told(void **state)
{
    struct pd_query query = make_query("getCount", "");
    struct bytes text = {NULL, 0};
    const struct pd_query_sink sink = {&text, bytes_keep};
    json_t *extra = json_pack("{s:s,s:{s:i}}", "mode", "tree", "hosts", "asked", 3);
    bool complete = true;
    (void)state;
    struct pd_query_merge *merge = merge_with_missing(&query);
    assert_int_equal(pd_query_merge_json(merge, PD_FORM_JSON, extra, &sink, &complete, NULL), 0);
    assert_string_equal(text.at,
                        "{\"bytes\":1500,\"pkts\":2,\"mode\":\"tree\",\"hosts\":{\"asked\":3},"
                        "\"complete\":false}");
    assert_false(complete);
    pd_query_merge_free(merge);
    bytes_free(&text);
    json_decref(extra);
}

static void events_end_with_a_name(void **state)
{
    struct pd_query query = make_query("getFlows", "");
    struct bytes text = {NULL, 0};
    const struct pd_query_sink sink = {&text, bytes_keep};
    static const char begin[] = "data: {\"flow_id\":",
                      end[] = "}\n\nevent: end\ndata: {\"complete\":false}\n\n";
    bool complete;
    (void)state;
    struct pd_query_merge *merge = merge_with_missing(&query);
    assert_int_equal(pd_query_merge_rows(merge, PD_FORM_EVENTS, &sink, NULL), 0);
    assert_string_equal(text.at + text.len - 3, "}\n\n");
    assert_int_equal(pd_query_merge_json(merge, PD_FORM_EVENTS, NULL, &sink, &complete, NULL), 0);
    assert_memory_equal(text.at, begin, strlen(begin));
    assert_string_equal(text.at + text.len - strlen(end), end);
    pd_query_merge_free(merge);
    bytes_free(&text);
}

static void a_host_that_is_missing_makes_it_incomplete(void **state)
{
    struct pd_query query = make_query("getPaths", "");
    struct bytes text = {NULL, 0};
    const struct pd_query_sink sink = {&text, bytes_keep};
    struct pd_query_merge *merge;
    bool complete = true;
    (void)state;
    assert_int_equal(pd_query_merge_new(&query, &merge, NULL), 0);
    pd_query_merge_incomplete(merge);
    assert_int_equal(pd_query_merge_json(merge, PD_FORM_NDJSON, NULL, &sink, &complete, NULL), 0);
    assert_string_equal(text.at, "{\"complete\":false}\n");
    assert_false(complete);
    pd_query_merge_free(merge);
    bytes_free(&text);
}

static void tokens_are_refused(void **state)
{
    struct pd_query query = make_query("getFlows", "since=t-1");
    struct pd_query_merge *merge = NULL;
    struct pd_error error = {0};
    bool complete;
    (void)state;
    assert_int_equal(pd_query_merge_new(&query, &merge, &error), -PD_E_VALUE);
    assert_memory_equal(error.text, "since:", 6);
    assert_int_equal(pd_query_run_partial(&query, NULL, NULL, 0, 0, NULL, &complete, &error),
                     -PD_E_VALUE);
}

/* Memory is bounded, and the words say what to do; the sink's own errors come back without words.
 */
static void failures_are_told(void **state)
{
    struct pd_query query = make_query("getFlows", "");
    struct pd_query_merge *merge = NULL;
    struct pd_error error = {0};
    (void)state;
    query.memory_bytes = 1000;
    assert_int_equal(pd_query_merge_new(&query, &merge, NULL), 0);
    assert_int_equal(pd_query_merge_local(merge, NULL, &record, 1, &error), -PD_E_TOO_LARGE);
    assert_non_null(strstr(error.text, "memory"));
    pd_query_merge_free(merge);
}

/* ---- top-k in bounded memory ---- */

static void many_hosts_take_the_memory_of_one(void **state)
{
    enum { K = 100, HOSTS = 60, EACH = 500 };
    struct pd_query query = make_query("topFlows", "k=100");
    struct pd_tib_record *records = calloc((size_t)HOSTS * EACH, sizeof *records);
    struct random random = {test_seed()};
    struct bytes wanted = {NULL, 0}, found = {NULL, 0};
    const struct pd_query_sink want = {&wanted, bytes_keep}, sink = {&found, bytes_keep};
    struct pd_query_merge *merge;
    bool complete;
    (void)state;
    assert_non_null(records);
    for (unsigned i = 0; i < HOSTS * EACH; i++) {
        records[i] = record;
        records[i].flow.dst.bytes[3] = (uint8_t)(i / EACH);
        records[i].flow.src_port = (uint16_t)i;
        records[i].bytes = random_below(&random, 5000); /* many are equal */
    }
    assert_int_equal(
        pd_query_run(&query, NULL, records, (size_t)HOSTS * EACH, &want, &complete, NULL), 0);
    query.memory_bytes = 4 * K * 3 * sizeof *records; /* a table grows by doubling */
    assert_int_equal(pd_query_merge_new(&query, &merge, NULL), 0);
    for (unsigned host = 0; host < HOSTS; host++) {
        struct bytes bytes = {NULL, 0};
        const struct pd_query_sink out = {&bytes, bytes_keep};
        struct reading reading;
        struct pd_partial_end end;
        assert_int_equal(pd_query_run_partial(&query, NULL, records + (size_t)host * EACH, EACH, 0,
                                              &out, &complete, NULL),
                         0);
        struct pd_partial_source source = reading_begin(&reading, &bytes, 4096);
        assert_int_equal(pd_query_merge_partial(merge, &source, &end, NULL), 0);
        bytes_free(&bytes);
    }
    assert_int_equal(pd_query_merge_json(merge, PD_FORM_JSON, NULL, &sink, &complete, NULL), 0);
    assert_string_equal(found.at, wanted.at);
    pd_query_merge_free(merge);
    bytes_free(&wanted);
    bytes_free(&found);
    free(records);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merged_answers_are_those_of_one_store),
        cmocka_unit_test(rows_that_go_ahead_are_those_of_one_store),
        cmocka_unit_test(events_end_with_a_name),
        cmocka_unit_test(missing_hosts_and_extra_members_are_told),
        cmocka_unit_test(a_host_that_is_missing_makes_it_incomplete),
        cmocka_unit_test(tokens_are_refused),
        cmocka_unit_test(failures_are_told),
        cmocka_unit_test(many_hosts_take_the_memory_of_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
