/* SPDX-License-Identifier: Apache-2.0 */
/* Answers given again: only to the same question in the same form, and never once the store has
 * changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fixture.h"

/* ---- what is kept ---- */

static struct pd_query query_of(const char *k)
{
    struct pd_query query;

    pd_query_init(&query, PD_QUERY_TOP_FLOWS);
    assert_int_equal(pd_query_set(&query, "k", k, NULL), 0);
    return query;
}

static void keep(struct pd_response_cache *again, const char *k, uint64_t version, size_t len)
{
    struct pd_query query = query_of(k);
    struct pd_answer answer;

    pd_http_answer_init(&answer);
    for (size_t i = 0; i < len; i++) {
        assert_int_equal(pd_http_answer_write(&answer, &k[0], 1), 0);
    }
    assert_int_equal(pd_http_answer_finish(&answer), 0);
    pd_agent_response_cache_keep(again, &query, PD_FORM_JSON, version, &answer);
    pd_http_answer_done(&answer);
}

static bool found(struct pd_response_cache *again, const char *k, enum pd_query_form form,
                  uint64_t version, size_t len)
{
    struct pd_query query = query_of(k);
    struct pd_answer answer;

    pd_http_answer_init(&answer);
    bool is_found = pd_agent_response_cache_find(again, &query, form, version, &answer);
    assert_int_equal(answer.file_bytes + answer.len, is_found ? len : 0);
    pd_http_answer_done(&answer);
    return is_found;
}

static void test_same_question(void **state)
{
    struct pd_response_cache *again = pd_agent_response_cache_new();

    (void)state;
    assert_non_null(again);
    assert_false(found(again, "5", PD_FORM_JSON, 0, 0));
    keep(again, "5", 7, 100);
    assert_true(found(again, "5", PD_FORM_JSON, 7, 100));
    assert_true(found(again, "5", PD_FORM_JSON, 7, 100));
    assert_false(found(again, "6", PD_FORM_JSON, 7, 0));
    assert_false(found(again, "5", PD_FORM_NDJSON, 7, 0));
    assert_false(found(again, "5", PD_FORM_JSON, 8, 0));
    keep(again, "6", 0, 100); /* of no version: stays out */
    assert_false(found(again, "6", PD_FORM_JSON, 0, 0));
    assert_true(found(again, "5", PD_FORM_JSON, 7, 100));
    pd_agent_response_cache_free(again);
}

/* In a file, which outlives what it was copied from; and too long. */
static void test_files(void **state)
{
    struct pd_response_cache *again = pd_agent_response_cache_new();
    size_t len = 2 * PD_ANSWER_MEMORY_BYTES + 3;

    (void)state;
    assert_non_null(again);
    keep(again, "5", 7, len);
    assert_true(found(again, "5", PD_FORM_JSON, 7, len));
    assert_true(found(again, "5", PD_FORM_JSON, 7, len));
    keep(again, "6", 7, PD_AGAIN_FILE_BYTES + 1);
    assert_false(found(again, "6", PD_FORM_JSON, 7, 0));
    assert_true(found(again, "5", PD_FORM_JSON, 7, len));
    pd_agent_response_cache_free(again);
}

/* ---- the agent ---- */

static char *body_of(struct pd_agent *agent, const char *target, size_t *ret_len)
{
    struct pd_answer answer;

    fixture_ask(agent, "GET", target, &answer);
    assert_int_equal(answer.http_status, 200);
    size_t len = answer.fd >= 0 ? answer.file_bytes : answer.len;
    char *body = malloc(len + 1);
    assert_non_null(body);
    if (answer.fd >= 0) {
        assert_int_equal(pread(answer.fd, body, len, 0), len);
    } else {
        memcpy(body, answer.bytes, len);
    }
    pd_http_answer_done(&answer);
    *ret_len = len;
    return body;
}

/* Asks twice: the second time nothing is made anew, and a store that knows nothing of it says the
 * same. */
static void ask_twice(struct pd_agent *agent, uint64_t again_before)
{
    static const char target[] = "/v1/topFlows?k=30000&live=false";
    struct pd_response_cache *again = agent->again;
    size_t len[3];
    char *body[3];

    for (int i = 0; i < 2; i++) {
        body[i] = body_of(agent, target, &len[i]);
        assert_int_equal(agent->counters.queries_again, again_before + (i == 1));
    }
    agent->again = NULL;
    body[2] = body_of(agent, target, &len[2]);
    agent->again = again;
    for (int i = 1; i < 3; i++) {
        assert_int_equal(len[i], len[0]);
        assert_memory_equal(body[i], body[0], len[0]);
    }
    for (int i = 0; i < 3; i++) {
        free(body[i]);
    }
}

static void test_agent(void **state)
{
    static const struct pd_path path = {.switches = {1, 2}, .len = 2};
    struct pd_tib_record record = {.flow = {.ip_version = 4, .protocol = 6, .dst_port = 80},
                                   .path = &path,
                                   .stime_us = 1,
                                   .etime_us = 2,
                                   .bytes = 1 << 30,
                                   .pkts = 1};
    struct fixture fixture;
    struct pd_agent *agent = &fixture.agent;

    (void)state;
    fixture_init(&fixture, 60000, 30000, 0); /* takes far longer than what is not kept */
    agent->again = pd_agent_response_cache_new();
    fixture_start(&fixture);
    fixture_wait_end(&fixture);
    pd_agent_pipeline_stop(agent->pipeline); /* nobody else writes now */
    ask_twice(agent, 0);
    assert_int_equal(pd_tib_append(agent->tib, &record, 1), 0);
    assert_int_equal(pd_tib_commit(agent->tib), 0);
    ask_twice(agent, 1);
    pd_agent_response_cache_free(agent->again);
    fixture_done(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_question),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_agent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
