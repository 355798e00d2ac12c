/* SPDX-License-Identifier: Apache-2.0 */
/* pathSums and sufferingFlows: what the answers of parts of the hosts merge into is the answer of
 * all; parameters and answers that are none are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "query/document.h"
#include "query/path_sums.h"
#include "query/suffering.h"

enum { RECORDS = 500 };

struct store {
    struct pd_tib_record records[RECORDS];
    size_t begin, end;
};

static const struct pd_path paths[] = {
    {.len = 1, .switches = {1}}, {.len = 3, .switches = {1, 9, 2}}, {.len = 0}};

static int by_flow(const void *a, const void *b)
{
    return memcmp(&((const struct pd_tib_record *)a)->flow,
                  &((const struct pd_tib_record *)b)->flow, sizeof(struct pd_flow_id));
}

static void fill(struct store *store)
{
    srandom(7);
    *store = (struct store){.end = RECORDS};
    for (uint32_t i = 0; i < RECORDS; i++) {
        uint64_t pkts = 1 + (uint64_t)random() % 100;
        struct pd_tib_record *record = &store->records[i];

        *record = (struct pd_tib_record){.path = &paths[random() % 3],
                                         .stime_us = 1000000,
                                         .etime_us = 2000000,
                                         .pkts = pkts,
                                         .bytes = 1448 * pkts};
        record->flow = (struct pd_flow_id){.src.bytes = {10, 0, 0, (uint8_t)(random() % 4)},
                                           .dst.bytes = {10, 0, 1, (uint8_t)(random() % 4)},
                                           .src_port = (uint16_t)(random() % 40),
                                           .protocol = 6,
                                           .ip_version = 4};
    }
    qsort(store->records, RECORDS, sizeof *store->records, by_flow);
}

/* Where the next part begins: a flow has one receiver, which has all of its records. */
static size_t boundary(const struct store *store, size_t at)
{
    while (at > 0 && at < RECORDS && !by_flow(&store->records[at - 1], &store->records[at])) {
        at++;
    }
    return at;
}

static int records(void *context, const struct pd_tib_filter *filter,
                   int (*visit)(void *visitor, const struct pd_tib_record *records, size_t n),
                   void *visitor, bool *ret_complete, struct pd_error *error)
{
    const struct store *store = context;

    (void)error;
    assert_int_equal(filter->flow.id.protocol, 6);
    *ret_complete = true;
    return visit(visitor, store->records + store->begin, store->end - store->begin);
}

/* What a run is over: its parameters from JSON. */
static struct pd_document document_of(const struct pd_question *question, const char *args)
{
    json_t *json = json_loads(args, 0, NULL);
    struct pd_document document;

    assert_int_equal(pd_query_document_make(question, json, &document, NULL), 0);
    json_decref(json);
    return document;
}

static json_t *ask(struct store *store, const char *args)
{
    struct pd_document document = document_of(&pd_query_question_path_sums, args);
    const struct pd_question_host host = {.context = store, .records = records};
    const struct pd_question_hosts hosts = {.alone = true};
    struct pd_question_run run = {.document = &document, .host = &host};
    json_t *answer = NULL;

    assert_int_equal(pd_query_question_path_sums.local(&run, &answer, NULL), 0);
    assert_int_equal(pd_query_question_path_sums.check(&run, answer, &hosts, NULL), 0);
    pd_query_document_done(&document);
    return answer;
}

static json_t *ask_parts(struct store *store, const char *args, size_t parts)
{
    struct pd_question_run run = {.all = json_object()};

    for (size_t i = 0; i < parts; i++) {
        store->begin = boundary(store, i * RECORDS / parts);
        store->end = boundary(store, (i + 1) * RECORDS / parts);
        json_t *one = ask(store, args);
        assert_int_equal(pd_query_question_path_sums.merge(&run, (uint32_t)i, true, one, NULL), 0);
        json_decref(one);
    }
    assert_int_equal(pd_query_question_path_sums.finish(&run, NULL), 0);
    return run.all;
}

static uint64_t sum_of(const json_t *answer, const char *list)
{
    const char *key;
    json_t *sum;
    uint64_t pkts = 0;

    json_object_foreach(json_object_get(answer, list), key, sum)
    {
        pkts += (uint64_t)json_integer_value(json_array_get(sum, 0));
    }
    return pkts;
}

static uint64_t sum_of_flows(const json_t *answer)
{
    json_t *row;
    size_t i;
    uint64_t pkts = 0;

    json_array_foreach(json_object_get(answer, "flows"), i, row)
    {
        pkts += (uint64_t)json_integer_value(json_array_get(row, 6));
    }
    return pkts;
}

static void parts_merge_into_all(void **state)
{
    static const char *const args[] = {"{}", "{\"from_us\":1500000}",
                                       "{\"to_us\":1700000,\"below\":2000000000}"};
    struct store store;
    (void)state;
    fill(&store);
    for (size_t i = 0; i < sizeof args / sizeof *args; i++) {
        json_t *all = ask_parts(&store, args[i], 1);

        for (size_t parts = 2; parts < 9; parts += 3) {
            json_t *merged = ask_parts(&store, args[i], parts);

            assert_true(json_equal(all, merged));
            json_decref(merged);
        }
        assert_true(sum_of(all, "paths") > 0);
        assert_int_equal(sum_of(all, "paths"), sum_of(all, "sources"));
        assert_int_equal(sum_of(all, "paths"), sum_of(all, "receivers"));
        json_decref(all);
    }
}

/* Each packet is either in a sum or in a row. */
static void packets_count_once(void **state)
{
    struct store store;
    uint64_t all = 0;
    char args[64];
    (void)state;
    fill(&store);
    for (size_t i = 0; i < RECORDS; i++) {
        all += store.records[i].path->len ? store.records[i].pkts : 0;
    }
    json_t *whole = ask(&store, "{}"), *each = ask(&store, "{\"each\":true}");
    snprintf(args, sizeof args, "{\"apart\":\"%08x\"}",
             pd_query_path_sums_hash(&store.records[0].flow));
    json_t *apart = ask(&store, args);
    assert_int_equal(sum_of(whole, "paths"), all);
    assert_int_equal(sum_of_flows(each), all);
    assert_int_equal(sum_of(apart, "paths") + sum_of_flows(apart), all);
    assert_true(json_array_size(json_object_get(apart, "flows")) > 0);
    json_decref(whole);
    json_decref(each);
    json_decref(apart);
}

/* In whatever order the hashes come. */
static void those_apart_are_found_in_any_order(void **state)
{
    struct store store;
    char args[2][100];
    (void)state;
    fill(&store);
    uint32_t one = pd_query_path_sums_hash(&store.records[0].flow),
             other = pd_query_path_sums_hash(&store.records[RECORDS - 1].flow);
    assert_int_not_equal(one, other);
    snprintf(args[0], sizeof args[0], "{\"apart\":\"%08x%08x\"}", one, other);
    snprintf(args[1], sizeof args[1], "{\"apart\":\"%08x%08x%08x\"}", other, one, other);
    json_t *answers[2] = {ask(&store, args[0]), ask(&store, args[1])};
    assert_true(json_array_size(json_object_get(answers[0], "flows")) > 0);
    assert_true(json_equal(answers[0], answers[1]));
    json_decref(answers[0]);
    json_decref(answers[1]);
}

static uint64_t began_of(struct store *store, const char *args, const char *list)
{
    json_t *answer = ask(store, args);
    const char *key;
    json_t *sum;
    uint64_t began = 0;

    json_object_foreach(json_object_get(answer, list), key, sum)
    {
        began += (uint64_t)json_integer_value(json_array_get(sum, 2));
    }
    json_decref(answer);
    return began;
}

/* In the span that it begins in, the first moment of which counts and the last does not. */
static void what_begins_counts_once(void **state)
{
    struct store store;
    uint64_t all = 0;
    (void)state;
    fill(&store);
    for (size_t i = 0; i < RECORDS; i++) {
        all += store.records[i].path->len > 0;
    }
    assert_int_equal(began_of(&store, "{}", "paths"), all);
    assert_int_equal(began_of(&store, "{}", "sources"), all);
    assert_int_equal(began_of(&store, "{}", "receivers"), all);
    /* They all begin after a second. */
    assert_int_equal(began_of(&store, "{\"to_us\":1000000}", "paths"), 0);
    assert_int_equal(began_of(&store, "{\"from_us\":1000000}", "paths"), all);
    assert_int_equal(began_of(&store, "{\"from_us\":1000001}", "paths"), 0);
}

static uint64_t seen_of(struct store *store, const char *args)
{
    json_t *answer = ask(store, args);
    uint64_t seen = (uint64_t)json_integer_value(json_object_get(answer, "flows_seen"));

    json_decref(answer);
    return seen;
}

/* However many records and paths a flow has, and whether it is in a sum, a row or not in the
 * sample.
 */
static void flows_count_once(void **state)
{
    struct store store;
    uint64_t flows = 0;
    char args[64];
    (void)state;
    fill(&store);
    for (size_t i = 0, of = 0; i < RECORDS; i++) {
        of = i && by_flow(&store.records[i - 1], &store.records[i]) ? 0 : of;
        of += store.records[i].path->len > 0;
        flows += of == 1 && store.records[i].path->len > 0;
    }
    assert_in_range(flows, 100, RECORDS - 100);
    snprintf(args, sizeof args, "{\"apart\":\"%08x\"}",
             pd_query_path_sums_hash(&store.records[0].flow));
    assert_int_equal(seen_of(&store, "{}"), flows);
    assert_int_equal(seen_of(&store, args), flows);
    assert_int_equal(seen_of(&store, "{\"each\":true}"), flows);
    assert_int_equal(seen_of(&store, "{\"below\":0}"), flows);
    assert_int_equal(seen_of(&store, "{\"from_us\":5000000}"), 0);
}

static void refuse(const struct pd_question *question, const char *args, const char *word)
{
    json_t *json = json_loads(args, 0, NULL);
    struct pd_document document;
    struct pd_error error = {0};

    assert_true(pd_query_document_make(question, json, &document, &error) < 0);
    assert_ptr_equal(strstr(error.text, word), error.text);
    json_decref(json);
}

static void wrong_parameters_are_named(void **state)
{
    const struct pd_question *sums = &pd_query_question_path_sums;
    (void)state;
    refuse(sums, "{\"from_us\":-1}", "from_us");
    refuse(sums, "{\"from_us\":2,\"to_us\":1}", "from_us");
    refuse(sums, "{\"to_us\":\"soon\"}", "to_us");
    refuse(sums, "{\"apart\":\"0000000\"}", "apart");
    refuse(sums, "{\"apart\":\"0000000G\"}", "apart");
    refuse(sums, "{\"apart\":[1]}", "apart");
    refuse(sums, "{\"each\":1}", "each");
    refuse(sums, "{\"below\":4294967297}", "below");
    refuse(sums, "{\"more\":1}", "more");
    refuse(&pd_query_question_suffering, "{\"from_us\":[]}", "from_us");
    refuse(&pd_query_question_suffering, "{\"threshold\":1}", "threshold");
}

static bool knows(void *context, uint32_t host)
{
    (void)context;
    return host == 21;
}

static bool is_answer(const struct pd_question *question, const char *text)
{
    const struct pd_question_hosts hosts = {.host = 21, .alone = true, .knows = knows};
    struct pd_error error = {0};
    json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
    int err = question->check(NULL, json, &hosts, &error);

    assert_non_null(json);
    assert_true(!err || error.text[0]);
    json_decref(json);
    return !err;
}

#define SUMS(paths, flows)                                                     \
    "{\"paths\":{" paths "},\"sources\":{},\"receivers\":{},\"flows\":[" flows \
    "],\"flows_seen\":0,\"left_out\":0,\"complete\":true}"
#define SUFFERING(row)                                                                       \
    "{\"flows\":[" row "],\"source\":\"bpf\",\"since_us\":0,\"forgotten\":0,\"left_out\":0," \
    "\"complete\":true}"

static void hostile_answers_are_refused(void **state)
{
    const struct pd_question *sums = &pd_query_question_path_sums,
                             *flows = &pd_query_question_suffering;
    (void)state;
    assert_true(is_answer(sums, SUMS("", "")));
    assert_true(is_answer(sums, SUMS("\"1,9\":[1,2]", "")));
    assert_true(is_answer(sums, SUMS("\"1,9\":[1,2,3]", "")));
    assert_false(is_answer(sums, SUMS("\"1,9\":[1,2,-3]", "")));
    assert_false(is_answer(sums, SUMS("\"1,9\":[1,2,3,4]", "")));
    assert_false(is_answer(sums, SUMS("\"1,x\":[1,2]", "")));
    assert_false(is_answer(sums, SUMS("\"1,9\":[1,-2]", "")));
    assert_false(is_answer(sums, SUMS("\"1,9\":[1]", "")));
    assert_false(is_answer(sums, SUMS("", "[]")));
    assert_false(is_answer(sums, SUMS("", "[\"10.0.0.1\",\"10.0.0.2\",1,2,6,\"1,,9\",1,1]")));
    assert_true(is_answer(sums, SUMS("", "[\"10.0.0.1\",\"10.0.0.2\",1,2,6,\"1,9\",1,1]")));
    assert_false(is_answer(sums, "{\"paths\":{},\"sources\":{},\"receivers\":{},\"flows\":[],"
                                 "\"flows_seen\":-1,\"left_out\":0,\"complete\":true}"));
    assert_false(is_answer(sums, "{}"));
    assert_false(is_answer(sums, "7"));
    assert_true(is_answer(flows, SUFFERING("[\"10.0.0.1\",\"10.0.0.2\",1,2,6,3,3,0]")));
    assert_true(is_answer(flows, SUFFERING("[\"10.0.0.1\",\"10.0.0.2\",1,2,6,3,3,0,21]")));
    assert_false(is_answer(flows, SUFFERING("[\"10.0.0.1\",\"10.0.0.2\",1,2,6,3,3,0,22]")));
    assert_false(is_answer(flows, SUFFERING("[\"10.0.0.1\",\"fd00::2\",1,2,6,3,3,0]")));
    assert_false(is_answer(flows, SUFFERING("[\"10.0.0.1\",\"10.0.0.2\",1,2,6,-3,3,0]")));
    assert_false(is_answer(flows, "{}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_merge_into_all),
        cmocka_unit_test(packets_count_once),
        cmocka_unit_test(those_apart_are_found_in_any_order),
        cmocka_unit_test(what_begins_counts_once),
        cmocka_unit_test(flows_count_once),
        cmocka_unit_test(wrong_parameters_are_named),
        cmocka_unit_test(hostile_answers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
