/* SPDX-License-Identifier: Apache-2.0 */
/* getTelemetry: quantiles of what records' columns hold, by port and flow; parts merge into all;
 * parameters and answers that are none are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/document.h"
#include "query/telemetry.h"
#include "query/telemetry_column.h"
#include "telemetry/column.h"
#include "tests/shared/random.h"

enum { RECORDS = 200, HOPS = 5 };

static const struct pd_path paths[] = {{.len = HOPS, .switches = {1, 9, 17, 11, 3}},
                                       {.len = HOPS, .switches = {1, 10, 19, 12, 3}}};

struct store {
    struct pd_tib_record records[RECORDS];
    uint8_t extras[RECORDS][PD_TELEMETRY_COLUMN_BYTES_MAX + 6];
    size_t begin, end;
    bool damaged;
};

static struct random rng;

/* Of switch s values of about 1000 s, and of the path as a whole 7. */
static void measure(struct store *store, size_t i)
{
    struct pd_tib_record *record = &store->records[i];
    struct pd_telemetry_writer writer;
    const uint16_t kind = htole16(PD_TELEMETRY_COLUMN_KIND);

    pd_telemetry_writer_begin(&writer, store->extras[i] + 6, PD_TELEMETRY_COLUMN_BYTES_MAX, 25);
    for (uint32_t place = 0; place <= HOPS; place++) {
        struct pd_telemetry_series series = {.name = "latency", .place = place, .len = 2};
        const uint64_t middle = place ? 1000 * (uint64_t)record->path->switches[place - 1] : 7;
        if (!place) {
            series = (struct pd_telemetry_series){.name = "worst", .len = 1};
            series.bins[0] = (struct pd_telemetry_bin){middle, 1};
        } else {
            series.bins[0] = (struct pd_telemetry_bin){middle - random_below(&rng, 9), 3};
            series.bins[1] = (struct pd_telemetry_bin){middle + 1 + random_below(&rng, 9), 1};
        }
        pd_telemetry_writer_add(&writer, &series);
    }
    const uint32_t len = htole32((uint32_t)writer.used);
    memcpy(store->extras[i], &kind, 2);
    memcpy(store->extras[i] + 2, &len, 4);
    record->extra = store->extras[i];
    record->extra_bytes = 6 + (uint32_t)writer.used;
}

static void fill(struct store *store)
{
    memset(store, 0, sizeof *store);
    store->end = RECORDS;
    for (uint32_t i = 0; i < RECORDS; i++) {
        store->records[i] =
            (struct pd_tib_record){.path = &paths[i % 2], .stime_us = 1, .etime_us = 2, .pkts = 1};
        store->records[i].flow = (struct pd_flow_id){.src.bytes = {10, 1, 1, 2},
                                                     .dst.bytes = {10, 2, 1, 2},
                                                     .src_port = (uint16_t)(i / 20),
                                                     .protocol = 6,
                                                     .ip_version = 4};
        if (i % 7) { /* some have measured nothing */
            measure(store, i);
        }
    }
}

static int scan(void *context, const struct pd_question_scan *asked,
                int (*visit)(void *visitor, const struct pd_tib_record *records, size_t n),
                void *visitor, bool *ret_complete, struct pd_error *error)
{
    const struct store *store = context;
    int err = 0;

    (void)error;
    for (size_t i = store->begin; i < store->end && !err; i++) {
        if (pd_tib_filter_matches(asked->filter, &store->records[i])) {
            err = visit(visitor, &store->records[i], 1);
        }
    }
    *asked->ret_token = strdup("t1");
    *ret_complete = !store->damaged;
    return err;
}

static struct pd_document document_of(const char *args)
{
    json_t *json = json_loads(args, 0, NULL);
    struct pd_document document;

    assert_int_equal(pd_query_document_make(&pd_query_question_telemetry, json, &document, NULL),
                     0);
    json_decref(json);
    return document;
}

static json_t *ask(struct store *store, const char *args)
{
    struct pd_document document = document_of(args);
    const struct pd_question_host host = {.context = store, .scan = scan};
    const struct pd_question_hosts hosts = {.alone = true};
    struct pd_question_run run = {.document = &document, .host = &host};
    json_t *answer = NULL;

    assert_int_equal(pd_query_question_telemetry.local(&run, &answer, NULL), 0);
    assert_int_equal(pd_query_question_telemetry.check(&run, answer, &hosts, NULL), 0);
    pd_query_document_done(&document);
    return answer;
}

static json_t *ask_parts(struct store *store, const char *args, size_t parts)
{
    struct pd_document document = document_of(args);
    struct pd_question_run run = {.document = &document, .all = json_object()};

    for (size_t i = 0; i < parts; i++) {
        store->begin = i * RECORDS / parts;
        store->end = (i + 1) * RECORDS / parts;
        json_t *one = ask(store, args);
        assert_int_equal(pd_query_question_telemetry.merge(&run, (uint32_t)i, true, one, NULL), 0);
        json_decref(one);
    }
    assert_int_equal(pd_query_question_telemetry.finish(&run, NULL), 0);
    pd_query_question_telemetry.end(&run);
    pd_query_document_done(&document);
    store->begin = 0;
    store->end = RECORDS;
    return run.all;
}

static uint64_t number(const json_t *row, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(row, name));
}

static void parts_merge_into_all(void **state)
{
    static const char *const args[] = {"{\"name\":\"latency\"}",
                                       "{\"name\":\"latency\",\"by\":\"flow\"}",
                                       ("{\"name\":\"worst\",\"by\":\"flow-port\","
                                        "\"quantiles\":1,\"to\":1790000000.25}"),
                                       "{\"name\":\"latency\",\"by\":\"flow-port\"}"};
    static struct store store;
    (void)state;
    fill(&store);
    for (size_t i = 0; i < sizeof args / sizeof *args; i++) {
        json_t *all = ask_parts(&store, args[i], 1);

        assert_true(json_array_size(json_object_get(all, "rows")) > 0);
        for (size_t parts = 2; parts < 9; parts += 3) {
            json_t *merged = ask_parts(&store, args[i], parts);

            assert_true(json_equal(all, merged));
            json_decref(merged);
        }
        json_decref(all);
    }
}

static void rows_are_of_ports(void **state)
{
    static struct store store;
    json_t *row;
    size_t i, hosts = 0;
    uint64_t samples = 0;
    (void)state;
    fill(&store);
    json_t *answer = ask(&store, "{\"name\":\"latency\",\"quantiles\":\"0.5,0.99\"}");
    json_array_foreach(json_object_get(answer, "rows"), i, row)
    {
        const uint64_t median = number(json_object_get(row, "quantiles"), "0.5");
        const uint64_t middle = 1000 * number(row, "switch");

        assert_null(json_object_get(row, "flow_id"));
        assert_in_range(median, middle - 9, middle + 9);
        assert_in_range(number(row, "low"), middle - 9, median);
        assert_in_range(number(row, "max"), number(row, "high"), middle + 10);
        hosts += number(row, "to") == 25;
        samples += number(row, "samples");
    }
    assert_int_equal(i, 9);     /* switch 3 is last on both paths */
    assert_int_equal(hosts, 1); /* and sends to the host */
    assert_int_equal(samples, 4 * HOPS * (RECORDS - (RECORDS + 6) / 7));
    assert_string_equal(json_string_value(json_object_get(answer, "token")), "t1");
    json_decref(answer);
    answer = ask(&store, "{\"name\":\"latency\",\"link\":\"9-17\"}");
    assert_int_equal(json_array_size(json_object_get(answer, "rows")), 1);
    json_decref(answer);
    answer = ask(&store, "{\"name\":\"latency\",\"link\":\"3-25\"}"); /* the host's */
    assert_int_equal(json_array_size(json_object_get(answer, "rows")), 1);
    json_decref(answer);
    answer = ask(&store, "{\"name\":\"latency\",\"src_port\":3,\"by\":\"flow\"}");
    assert_int_equal(json_array_size(json_object_get(answer, "rows")), 2); /* two paths */
    json_decref(answer);
    answer = ask(&store, "{\"name\":\"worst\"}"); /* has no port */
    assert_null(json_object_get(json_array_get(json_object_get(answer, "rows"), 0), "switch"));
    json_decref(answer);
}

static void what_cannot_be_read_is_told(void **state)
{
    static struct store store;
    (void)state;
    fill(&store);
    json_t *answer = ask(&store, "{\"name\":\"latency\"}");
    assert_true(json_is_true(json_object_get(answer, "complete")));
    json_decref(answer);
    store.extras[1][6] = 9; /* of a version to come */
    answer = ask(&store, "{\"name\":\"latency\"}");
    assert_true(json_is_false(json_object_get(answer, "complete")));
    assert_int_equal(json_array_size(json_object_get(answer, "rows")), 9);
    json_decref(answer);
    store.extras[1][6] = 1;
    store.damaged = true;
    answer = ask_parts(&store, "{\"name\":\"latency\"}", 3);
    assert_true(json_is_false(json_object_get(answer, "complete")));
    json_decref(answer);
}

static void refuse(const char *args, const char *word)
{
    json_t *json = json_loads(args, 0, NULL);
    struct pd_document document;
    struct pd_error error = {0};

    assert_true(pd_query_document_make(&pd_query_question_telemetry, json, &document, &error) < 0);
    assert_ptr_equal(strstr(error.text, word), error.text);
    json_decref(json);
}

static void wrong_parameters_are_named(void **state)
{
    (void)state;
    refuse("{}", "name");
    refuse("{\"name\":\"\"}", "name");
    refuse("{\"name\":7}", "name");
    refuse("{\"name\":[\"a\"]}", "name");
    refuse("{\"name\":\"a\",\"by\":1}", "by");
    refuse("{\"name\":\"a\",\"by\":\"bytes\"}", "by");
    refuse("{\"name\":\"a\",\"quantiles\":\"\"}", "quantiles");
    refuse("{\"name\":\"a\",\"quantiles\":\"0.5,,1\"}", "quantiles");
    refuse("{\"name\":\"a\",\"quantiles\":\"1.5\"}", "quantiles");
    refuse("{\"name\":\"a\",\"quantiles\":\"-1\"}", "quantiles");
    refuse("{\"name\":\"a\",\"quantiles\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}", "quantiles");
    refuse("{\"name\":\"a\",\"k\":3}", "k");
    refuse("{\"name\":\"a\",\"src_port\":-3}", "src_port");
}

static bool is_answer(const char *row)
{
    const struct pd_question_hosts hosts = {.host = 21, .alone = true};
    struct pd_error error = {0};
    char text[512];

    snprintf(text, sizeof text, "{\"rows\":[%s],\"complete\":true}", row);
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    int err = pd_query_question_telemetry.check(NULL, json, &hosts, &error);
    assert_true(!err || error.text[0]);
    json_decref(json);
    return !err;
}

static void hostile_answers_are_refused(void **state)
{
    (void)state;
    assert_true(is_answer(""));
    assert_true(is_answer("{\"switch\":1,\"to\":9,\"values\":[[1,2]]}"));
    assert_true(is_answer("{\"values\":[[1,2]]}"));
    assert_false(is_answer("{\"switch\":0,\"values\":[[1,2]]}"));
    assert_false(is_answer("{\"to\":9,\"values\":[[1,2]]}"));
    assert_false(is_answer("{\"switch\":1,\"values\":[]}"));
    assert_false(is_answer("{\"switch\":1,\"values\":[[1,0]]}"));
    assert_false(is_answer("{\"switch\":1,\"values\":[[1,1],[1,1]]}"));
    assert_false(is_answer("{\"switch\":1,\"values\":[[1,-1]]}"));
    assert_false(is_answer("{\"switch\":1,\"path\":[1],\"values\":[[1,1]]}"));
    assert_false(is_answer("7"));
}

/* As `tib export` writes it, and `tib import` reads it. */
static int append(void *context, const char *bytes, size_t len)
{
    return fwrite(bytes, 1, len, context) == len ? 0 : -1;
}

static void columns_survive_json(void **state)
{
    static struct store store;
    uint8_t again[PD_TELEMETRY_COLUMN_BYTES_MAX];
    char text[8192] = "{\"x\":0";
    size_t len;
    (void)state;
    fill(&store);
    for (size_t i = 1; i < 7; i++) {
        FILE *out = fmemopen(text, sizeof text, "w");
        const struct pd_query_sink sink = {out, append};
        struct pd_rows_out written;
        pd_rows_out_begin(&written, PD_FORM_JSON, &sink);
        pd_rows_out_text(&written, "{\"x\":0");
        assert_true(pd_query_rows_out_telemetry(&written, store.records[i].path,
                                                store.extras[i] + 6,
                                                store.records[i].extra_bytes - 6));
        pd_rows_out_text(&written, "}");
        assert_int_equal(pd_rows_out_end(&written), 0);
        fclose(out);
        json_t *json = json_loads(text, 0, NULL), *list = json_object_get(json, "telemetry");
        assert_int_equal(pd_query_telemetry_column_read(list, store.records[i].path, again, &len),
                         0);
        assert_int_equal(len, store.records[i].extra_bytes - 6);
        assert_memory_equal(again, store.extras[i] + 6, len);
        assert_int_equal(pd_query_telemetry_column_read(list, &paths[1 - i % 2], again, &len),
                         -PD_E_VALUE); /* of other switches */
        json_decref(json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_merge_into_all),        cmocka_unit_test(rows_are_of_ports),
        cmocka_unit_test(what_cannot_be_read_is_told), cmocka_unit_test(wrong_parameters_are_named),
        cmocka_unit_test(hostile_answers_are_refused), cmocka_unit_test(columns_survive_json),
    };
    rng.state = test_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
