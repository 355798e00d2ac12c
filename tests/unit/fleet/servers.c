/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts that answer as agents do, or as no agent should. */
#include "servers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "http/body.h"
#include "http/server.h"

static struct host {
    unsigned number;
    _Atomic enum manner manner;
    atomic_uint asked;
    char url[64];
    struct pd_listener listener;
    struct pd_http *http;
} hosts[SERVERS];
static struct pd_fanout *fanout;
static atomic_bool stopping;
static const struct pd_path rack = {.len = 3, .switches = {1, 9, 2}};

static void fill_rows(unsigned number, struct pd_tib_record rows[FLOWS_EACH])
{
    memset(rows, 0, FLOWS_EACH * sizeof *rows);
    for (unsigned i = 0; i < FLOWS_EACH; i++) {
        rows[i].flow.ip_version = 4;
        rows[i].flow.src.bytes[3] = (uint8_t)i;
        rows[i].flow.dst.bytes[3] = (uint8_t)number;
        rows[i].flow.protocol = 6;
        rows[i].path = &rack;
        rows[i].stime_us = rows[i].etime_us = 1000 + i;
        rows[i].bytes = (uint64_t)BYTES_EACH * number;
        rows[i].pkts = 1;
    }
}

/* ---- answers ---- */

static int give_groups(void *context, const struct pd_query *query, struct pd_query_merge *merge,
                       struct pd_error *error)
{
    struct pd_tib_record rows[FLOWS_EACH];

    (void)query;
    fill_rows(((struct host *)context)->number, rows);
    return pd_query_merge_local(merge, NULL, rows, FLOWS_EACH, error);
}

static int answer_document(struct host *host, const json_t *body, bool leave_out,
                           struct pd_answer *answer, struct pd_error *error)
{
    static const char *const others[] = {"deadline_ms", "children", NULL};
    struct pd_document document = {.args = NULL};
    struct pd_forest forest = {.trees_len = 0};
    struct pd_query_sink sink = {answer, pd_http_answer_write};
    const struct pd_question_host asked = {
        .context = host, .host = host->number, .groups = give_groups};
    struct pd_execution execution = {.fanout = fanout,
                                     .document = &document,
                                     .host = &asked,
                                     .has_part = true,
                                     .form = PD_EXECUTE_PARTIAL,
                                     .begun_ns = pd_clock_thread_ns()};
    struct pd_execute_summary summary;
    int err = pd_query_document_parse(body, others, &document, error);

    err = err ? err : pd_fleet_forest_parse(json_object_get(body, "children"), &forest, error);
    err = err ? err
              : pd_fleet_execute_deadline(json_object_get(body, "deadline_ms"),
                                          &execution.deadline_ns, error);
    execution.trees = forest.trees;
    execution.trees_len = leave_out ? 0 : forest.trees_len;
    err = err ? err : pd_fleet_execute(&execution, &sink, &summary, error);
    pd_query_document_done(&document);
    pd_fleet_forest_done(&forest);
    return err;
}

static void lie(struct pd_answer *answer, uint64_t asked, uint64_t answered, bool missing)
{
    struct pd_query_sink sink = {answer, pd_http_answer_write};
    struct pd_tib_budget budget = {.left_bytes = 1 << 20};
    struct pd_partial_end end = {.asked = asked, .answered = answered};
    struct pd_partial_writer *writer;

    assert_int_equal(pd_query_partial_begin(&sink, &budget, &writer), 0);
    if (missing) {
        pd_query_partial_put_missing(writer, 4711, "it is not there");
    }
    pd_query_partial_finish(writer, &end);
    pd_query_partial_writer_free(writer);
}

static void pour(struct pd_answer *answer)
{
    static const char block[65536];

    for (int i = 0; i < 100 && !atomic_load(&stopping); i++) {
        pd_http_answer_write(answer, block, sizeof block);
    }
    pd_http_answer_finish(answer);
}

static void wait_long(void)
{
    for (int i = 0; i < SERVER_LATE_MS / 10 && !atomic_load(&stopping); i++) {
        poll(NULL, 0, 10);
    }
}

static void behave(struct host *host, enum manner manner, json_t *body, struct pd_answer *answer,
                   struct pd_problem *problem)
{
    int err = 0;

    switch (manner) {
    case LATE: wait_long(); break;
    case OTHER: json_object_set_new(body, "query", json_string("flowSizes")); break;
    case FAILING: err = pd_fail(&problem->error, -PD_E_BUSY, "no time"); break;
    case REFUSING: err = pd_fail(&problem->error, -PD_E_PROGRAM, "no such thing"); break;
    default: break;
    }
    if (manner == OTHER) {
        json_object_set_new(body, "args", json_pack("{s:s, s:i}", "link", "*-*", "bin_bytes", 10));
    }
    if (manner == GARBAGE) {
        pd_http_answer_write(answer, "{\"top\":[]}", 10);
    } else if (manner == HUGE) {
        pour(answer);
    } else if (manner == LIAR) {
        lie(answer, 2, 1, true);
    } else if (manner == GREEDY) {
        lie(answer, 7, 7, false);
    } else if (!err) {
        err = answer_document(host, body, manner == MUTE, answer, &problem->error);
    }
    if (manner == TRUNCATED) {
        answer->len /= 2;
    }
    if (err) {
        pd_http_answer_problem(answer, problem);
    }
}

static void answer(void *context, const struct pd_http_request *request, struct pd_answer *answer)
{
    struct host *host = context;
    struct pd_problem problem = {.parameter = ""};
    json_t *body;

    atomic_fetch_add(&host->asked, 1);
    if (pd_http_body_json(request->body, request->body_bytes, &body, &problem.error)) {
        pd_http_answer_problem(answer, &problem);
        return;
    }
    behave(host, atomic_load(&host->manner), body, answer, &problem);
    json_decref(body);
}

static void count(void *context, enum pd_http_event event)
{
    (void)context;
    (void)event;
}

/* ---- life ---- */

void servers_start(void)
{
    fanout = pd_fleet_fanout_new();
    assert_non_null(fanout);
    for (unsigned i = 0; i < SERVERS; i++) {
        struct pd_http_service service = {
            .context = &hosts[i], .answer = answer, .count = count, .body_max_bytes = 1 << 16};

        hosts[i].number = i + 1;
        assert_int_equal(pd_http_listen_open("127.0.0.1:0", &hosts[i].listener, NULL), 0);
        snprintf(hosts[i].url, sizeof hosts[i].url, "http://%.40s", hosts[i].listener.name);
        assert_int_equal(pd_http_start(&service, &hosts[i].listener, &hosts[i].http), 0);
    }
}

void servers_stop(void)
{
    atomic_store(&stopping, true);
    for (unsigned i = 0; i < SERVERS; i++) {
        pd_http_stop(hosts[i].http);
        pd_http_listen_close(&hosts[i].listener);
    }
    pd_fleet_fanout_free(fanout);
}

void servers_behave(unsigned host, enum manner manner)
{
    atomic_store(&hosts[host - 1].manner, manner);
}

unsigned servers_asked(unsigned host)
{
    return atomic_load(&hosts[host - 1].asked);
}

struct pd_tree server(unsigned host, struct pd_tree *children, size_t children_len)
{
    bool dead = atomic_load(&hosts[host - 1].manner) == DEAD;

    return (struct pd_tree){.host = host,
                            .url = dead ? "unix:/nonexistent/socket" : hosts[host - 1].url,
                            .children = children,
                            .children_len = children_len};
}
