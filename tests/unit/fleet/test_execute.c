/* SPDX-License-Identifier: Apache-2.0 */
/* Executions over hosts that misbehave in every way: each costs itself only, is named with its
 * reason, and nothing is counted twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "http/answer.h"
#include "servers.h"

#define DEADLINE_MS 4000 /* before a LATE one answers */
#define LONG_MS     60000

static struct pd_fanout *fanout;

static int set_up(void **state)
{
    (void)state;
    fanout = pd_fleet_fanout_new();
    servers_start();
    return fanout ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    servers_stop();
    pd_fleet_fanout_free(fanout);
    return 0;
}

static struct pd_document make_document(const char *text)
{
    json_t *json = json_loads(text, 0, NULL);
    struct pd_document document;

    assert_non_null(json);
    assert_int_equal(pd_query_document_parse(json, NULL, &document, NULL), 0);
    json_decref(json);
    return document;
}

/* NULL where it fails, with *ret_code. */
static json_t *execute(const char *text, const struct pd_tree *trees, size_t len, unsigned ms,
                       int *ret_code)
{
    struct pd_document document = make_document(text);
    struct pd_execution execution = {.fanout = fanout,
                                     .document = &document,
                                     .trees = trees,
                                     .trees_len = len,
                                     .deadline_ns = pd_clock_monotonic_ns() + ms * PD_NS_PER_MS,
                                     .begun_ns = pd_clock_thread_ns()};
    struct pd_answer answer;
    struct pd_query_sink sink = {&answer, pd_http_answer_write};
    struct pd_execute_summary summary;
    struct pd_error error = {0};
    json_t *json = NULL;

    pd_http_answer_init(&answer);
    *ret_code = pd_fleet_execute(&execution, &sink, &summary, &error);
    if (!*ret_code) {
        json = json_loadb(answer.bytes, answer.len, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(json);
    } else {
        assert_true(*error.text);
    }
    pd_http_answer_done(&answer);
    pd_query_document_done(&document);
    return json;
}

/* The sum over all hosts but those of `missing` (bit n: host n), which are named with reasons. */
static void check_count(const json_t *json, unsigned asked, unsigned missing)
{
    const json_t *hosts = json_object_get(json, "hosts"), *list = json_object_get(hosts, "missing");
    uint64_t bytes = 0, named = 0, answered = 0;

    for (unsigned host = 1; host <= SERVERS; host++) {
        if (!(asked >> host & 1)) {
            continue;
        }
        if (missing >> host & 1) {
            assert_int_equal(json_integer_value(json_object_get(json_array_get(list, named), "id")),
                             host);
            assert_true(json_string_length(json_object_get(json_array_get(list, named), "reason")));
            named++;
        } else {
            bytes += (uint64_t)FLOWS_EACH * BYTES_EACH * host;
            answered++;
        }
    }
    assert_int_equal(json_array_size(list), named);
    assert_int_equal(json_integer_value(json_object_get(hosts, "asked")), named + answered);
    assert_int_equal(json_integer_value(json_object_get(hosts, "answered")), answered);
    assert_int_equal(json_integer_value(json_object_get(json, "bytes")), bytes);
    assert_int_equal(json_is_true(json_object_get(json, "complete")), !named);
}

static const char count_text[] = "{\"query\":\"getCount\"}";

/* 1 → (2 → 3, 4), 5 → (6 → 7), 8 */
struct grove {
    struct pd_tree below2[2], below1[1], below6[1], below5[1], tops[3];
};

static void plant(struct grove *grove)
{
    grove->below2[0] = server(3, NULL, 0);
    grove->below2[1] = server(4, NULL, 0);
    grove->below1[0] = server(2, grove->below2, 2);
    grove->below6[0] = server(7, NULL, 0);
    grove->below5[0] = server(6, grove->below6, 1);
    grove->tops[0] = server(1, grove->below1, 1);
    grove->tops[1] = server(5, grove->below5, 1);
    grove->tops[2] = server(8, NULL, 0);
}

enum { EVERY = 0x1fe };

static void all_well(void **state)
{
    struct pd_tree flat[SERVERS];
    struct grove grove;
    int err;
    (void)state;
    for (unsigned i = 0; i < SERVERS; i++) {
        flat[i] = server(i + 1, NULL, 0);
    }
    json_t *json = execute(count_text, flat, SERVERS, LONG_MS, &err);
    check_count(json, EVERY, 0);
    json_decref(json);
    plant(&grove);
    json = execute(count_text, grove.tops, 3, LONG_MS, &err);
    check_count(json, EVERY, 0);
    const json_t *cost = json_object_get(json, "cost");
    assert_true(json_integer_value(json_object_get(cost, "bytes")) > 0);
    assert_true(json_integer_value(json_object_get(cost, "critical_path_us")) > 0);
    json_decref(json);
    json = execute("{\"query\":\"topFlows\",\"args\":{\"k\":5}}", grove.tops, 3, LONG_MS, &err);
    assert_int_equal(json_array_size(json_object_get(json, "top")), 5);
    json_decref(json);
    json = execute(count_text, NULL, 0, LONG_MS, &err); /* nobody to ask */
    check_count(json, 0, 0);
    json_decref(json);
}

/* A leaf, an inner node and a top in each manner: only itself is missing. */
static void each_manner(void **state)
{
    static const enum manner manners[] = {DEAD, TRUNCATED, GARBAGE, OTHER,   HUGE,
                                          LIAR, GREEDY,    FAILING, REFUSING};
    static const unsigned places[] = {1, 2, 4, 8};
    struct grove grove;
    int err;
    (void)state;
    for (size_t m = 0; m < sizeof manners / sizeof *manners; m++) {
        for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
            servers_behave(places[p], manners[m]);
            plant(&grove);
            json_t *json = execute(count_text, grove.tops, 3, LONG_MS, &err);
            if (err) {
                fail_msg("manner %zu at %u: %d", m, places[p], err);
            }
            check_count(json, EVERY, 1u << places[p]);
            json_decref(json);
            servers_behave(places[p], HONEST);
        }
    }
    /* One that keeps silent about those below it: its answer is not what was asked for. */
    servers_behave(2, MUTE);
    plant(&grove);
    json_t *json = execute(count_text, grove.tops, 3, LONG_MS, &err);
    check_count(json, EVERY, 1u << 2);
    json_decref(json);
    servers_behave(2, HONEST);
}

static void late_ones(void **state)
{
    struct grove grove;
    int err;
    (void)state;
    servers_behave(4, LATE); /* a leaf: the one above says so */
    servers_behave(5, LATE); /* a top: what is below it is asked in time */
    plant(&grove);
    uint64_t begun_ns = pd_clock_monotonic_ns();
    json_t *json = execute(count_text, grove.tops, 3, DEADLINE_MS, &err);
    assert_true(pd_clock_monotonic_ns() - begun_ns < (DEADLINE_MS + 5000) * PD_NS_PER_MS);
    check_count(json, EVERY, 1u << 4 | 1u << 5);
    json_decref(json);
    servers_behave(4, HONEST);
    servers_behave(5, HONEST);
}

static void several_dead(void **state)
{
    struct grove grove;
    int err;
    (void)state;
    servers_behave(1, DEAD);
    servers_behave(2, FAILING);
    servers_behave(6, DEAD);
    plant(&grove);
    unsigned before = servers_asked(3);
    json_t *json = execute(count_text, grove.tops, 3, LONG_MS, &err);
    check_count(json, EVERY, 1u << 1 | 1u << 2 | 1u << 6);
    json_decref(json);
    assert_int_equal(servers_asked(3), before + 1);
    for (unsigned host = 1; host <= SERVERS; host++) {
        servers_behave(host, DEAD);
    }
    plant(&grove);
    json = execute(count_text, grove.tops, 3, LONG_MS, &err);
    check_count(json, EVERY, EVERY); /* nobody is left: still an answer that says so */
    json_decref(json);
    for (unsigned host = 1; host <= SERVERS; host++) {
        servers_behave(host, HONEST);
    }
}

static void all_refuse(void **state)
{
    struct grove grove;
    int err;
    (void)state;
    for (unsigned host = 1; host <= SERVERS; host++) {
        servers_behave(host, REFUSING);
    }
    plant(&grove);
    assert_null(execute(count_text, grove.tops, 3, LONG_MS, &err));
    assert_int_equal(err, -PD_E_PROGRAM);
    for (unsigned host = 1; host <= SERVERS; host++) {
        servers_behave(host, HONEST);
    }
    assert_null(execute("{\"query\":\"getFlows\",\"args\":{\"since\":\"x\"}}", grove.tops, 3,
                        LONG_MS, &err));
    assert_int_equal(err, -PD_E_VALUE);
    assert_null(execute("{\"program\":\"x\"}", grove.tops, 3, LONG_MS, &err));
    assert_int_equal(err, -PD_E_UNSUPPORTED); /* without pd_programs */
}

struct reader {
    char *text;
    size_t len;
    unsigned passed; /* how often, before the end */
    size_t passed_lines;
};

static int keep_text(void *context, const char *bytes, size_t len)
{
    struct reader *reader = context;

    reader->text = realloc(reader->text, reader->len + len + 1);
    assert_non_null(reader->text);
    memcpy(reader->text + reader->len, bytes, len);
    reader->len += len;
    reader->text[reader->len] = '\0';
    return 0;
}

static size_t count_lines(const struct reader *reader)
{
    size_t lines = 0;

    for (size_t i = 0; i < reader->len; i++) {
        lines += reader->text[i] == '\n';
    }
    return lines;
}

static int pass_on(void *context)
{
    struct reader *reader = context;

    reader->passed++;
    reader->passed_lines = count_lines(reader);
    return 0;
}

/* What `reader` has of all flows while one host is late, in this form. */
static int read_flows(struct reader *reader, const char *question, enum pd_execute_form form)
{
    struct pd_document document = make_document(question);
    struct pd_tree tops[3] = {server(1, NULL, 0), server(2, NULL, 0), server(4, NULL, 0)};
    struct pd_query_sink sink = {reader, keep_text};
    struct pd_execution execution = {
        .fanout = fanout,
        .document = &document,
        .trees = tops,
        .trees_len = 3,
        .form = form,
        .pass_on = pass_on,
        .deadline_ns = pd_clock_monotonic_ns() + 1000 * PD_NS_PER_MS,
        .begun_ns = pd_clock_thread_ns(),
    };
    struct pd_execute_summary summary;
    int err = pd_fleet_execute(&execution, &sink, &summary, NULL);

    pd_query_document_done(&document);
    return err;
}

/* Rows of those who have answered do not wait for one who has not; others, of which he may add to,
 * do. */
static void rows_go_ahead(void **state)
{
    struct reader rows = {0}, sums = {0}, whole = {0};

    (void)state;
    servers_behave(4, LATE);
    assert_int_equal(read_flows(&rows, "{\"query\":\"getFlows\"}", PD_EXECUTE_NDJSON), 0);
    assert_true(rows.passed >= 1);
    assert_int_equal(rows.passed_lines, 2 * FLOWS_EACH);
    assert_int_equal(count_lines(&rows), 2 * FLOWS_EACH + 1);
    assert_non_null(strstr(rows.text, "\"asked\":3,\"answered\":2,"));
    assert_non_null(strstr(rows.text, "\"complete\":false}\n"));
    assert_int_equal(
        read_flows(&sums, "{\"query\":\"topFlows\",\"args\":{\"k\":99}}", PD_EXECUTE_NDJSON), 0);
    assert_int_equal(sums.passed, 0);
    assert_int_equal(count_lines(&sums), 2 * FLOWS_EACH + 1);
    assert_int_equal(read_flows(&whole, "{\"query\":\"getFlows\"}", PD_EXECUTE_JSON), 0);
    assert_int_equal(whole.passed, 0);
    servers_behave(4, HONEST);
    free(rows.text);
    free(sums.text);
    free(whole.text);
}

static void deadlines(void **state)
{
    static const char *const bad[] = {"0", "-1", "3600001", "1.5", "\"1\"", "null", "[]"};
    uint64_t deadline_ns = 7;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        json_t *ms = json_loads(bad[i], JSON_DECODE_ANY, NULL);
        assert_int_equal(pd_fleet_execute_deadline(ms, &deadline_ns, NULL), -PD_E_VALUE);
        json_decref(ms);
    }
    assert_int_equal(deadline_ns, 7);
    assert_int_equal(pd_fleet_execute_deadline(NULL, &deadline_ns, NULL), 0);
    assert_true(deadline_ns > pd_clock_monotonic_ns());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_well),   cmocka_unit_test(each_manner),
        cmocka_unit_test(late_ones),  cmocka_unit_test(several_dead),
        cmocka_unit_test(all_refuse), cmocka_unit_test(rows_go_ahead),
        cmocka_unit_test(deadlines),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
