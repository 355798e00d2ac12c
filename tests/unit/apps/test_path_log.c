/* SPDX-License-Identifier: Apache-2.0 */
/* path-log: what agents logged, in order of time; agents that cannot, and agents that say anything.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "tests/unit/apps/fake_world.h"

#define ROW(time, port, path)                                                               \
    "{\"time_us\":" #time ",\"bytes\":100,\"flow_id\":{\"src_ip\":\"10.1.1.2\",\"dst_ip\":" \
    "\"10.2.1.2\",\"src_port\":" #port ",\"dst_port\":80,\"protocol\":6},\"path\":[" path   \
    "],\"tags\":[],\"dscp\":0}"
#define LOGGED(packets, more, rows)                                                                \
    "{\"packets\":" #packets ",\"dropped\":0,\"too_late\":0,\"bytes\":999" more ",\"rows\":[" rows \
    "]}"

/* What each of two hosts says; NULL: it does not answer. */
static struct {
    const char *logged[2];
    const char *refused; /* by host 25 */
    json_t *wanted;
    unsigned looks; /* until all have finished */
} agents;

static json_t *reply(unsigned host, json_t *answer, const char *error)
{
    return answer ? json_pack("{s:i, s:o}", "host", host, "answer", answer)
                  : json_pack("{s:i, s:s}", "host", host, "error", error);
}

static json_t *log_list(void)
{
    json_t *id = json_object_get(agents.wanted, "id");

    if (agents.looks) {
        agents.looks--;
    }
    return json_pack("{s:[{s:O, s:s}]}", "logs", "id", id, "state",
                     agents.looks ? "running" : "finished");
}

static int request(void *context, const char *method, const char *route, const json_t *body,
                   const json_t *hosts, json_t **ret_answers, struct pd_error *error)
{
    json_t *answers = json_array();

    (void)context;
    (void)error;
    if (!strcmp(method, "POST")) {
        assert_string_equal(route, "/v1/logs");
        json_decref(agents.wanted);
        agents.wanted = json_deep_copy(body);
    }
    for (unsigned i = 0; i < 2; i++) {
        const unsigned host = 25 + i;
        json_t *answer = NULL;

        if (hosts && json_integer_value(json_array_get(hosts, 0)) != (json_int_t)host &&
            json_integer_value(json_array_get(hosts, 1)) != (json_int_t)host) {
            continue;
        }
        if (!strcmp(method, "POST")) {
            answer = host == 25 && agents.refused ? NULL : json_pack("{s:i}", "id", 1);
        } else if (!strcmp(route, "/v1/logs")) {
            answer = log_list();
        } else if (agents.logged[i]) {
            answer = json_loads(agents.logged[i], 0, NULL);
        }
        json_array_append_new(answers, reply(host, answer, agents.refused ? agents.refused : "no"));
    }
    *ret_answers = answers;
    return 0;
}

static json_t *run(const char *args, const char *first, const char *second)
{
    struct fake_world *w = fake_world_new(4);
    struct pd_app_world_ops ops = *w->world.ops;
    json_t *report;

    ops.request = request;
    w->world.ops = &ops;
    agents.logged[0] = first;
    agents.logged[1] = second;
    report = fake_world_run(w, "path-log", args);
    fake_world_free(w);
    return report;
}

static void end(json_t *report)
{
    json_decref(report);
    json_decref(agents.wanted);
    memset(&agents, 0, sizeof agents);
}

static const char *text(const json_t *rows, size_t i, const char *name)
{
    return json_string_value(json_object_get(json_array_get(rows, i), name));
}

static void packets_of_all_hosts_in_order(void **unused)
{
    json_t *report = run("{\"link\":\"9-17\",\"protocol\":\"tcp\",\"src_port\":7}",
                         LOGGED(2, "", ROW(5, 1, "1,9,17,11,3") "," ROW(1, 1, "1,9,17,11,3")),
                         LOGGED(1, "", ROW(3, 2, "1,9,18,11,3")));
    const json_t *rows = report_rows(report, "packets");

    (void)unused;
    assert_string_equal(report_verdict(report), "3 packets at 2 hosts, 2 flows and paths");
    assert_false(report_certain(report));
    assert_true(report_has(report, "lacks", "14 of 16 hosts have no agent"));
    assert_int_equal(json_array_size(rows), 3);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(rows, 1), "time_us")), 3);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(rows, 1), "host")), 26);
    assert_string_equal(text(rows, 0, "path"), "1-9-17-11-3");
    assert_int_equal(json_array_size(json_object_get(report, "flows")), 2);
    assert_int_equal(json_array_size(report_rows(report, "files")), 2);
    assert_string_equal(json_string_value(json_object_get(agents.wanted, "link")), "9-17");
    assert_string_equal(json_string_value(json_object_get(agents.wanted, "protocol")), "tcp");
    assert_int_equal(json_integer_value(json_object_get(agents.wanted, "src_port")), 7);
    end(report);
}

static void receiver_alone_is_asked(void **unused)
{
    json_t *report = run("{\"dst_ip\":\"10.2.1.2\",\"rows\":1}",
                         LOGGED(2000, "", ROW(5, 1, "1,9,17,11,3") "," ROW(6, 1, "1,9,17,11,3")),
                         LOGGED(7, "", ""));

    (void)unused;
    assert_string_equal(report_verdict(report), "2000 packets at 1 host, 1 flows and paths");
    assert_int_equal(json_array_size(report_rows(report, "packets")), 1);
    assert_true(report_has(report, "evidence", "2 of 2000"));
    assert_true(report_certain(report));
    end(report);
}

static void what_is_missing_is_said(void **unused)
{
    static const struct {
        const char *logged, *words;
    } cases[] = {
        {"{\"packets\":1,\"dropped\":3,\"too_late\":0,\"rows\":[]}", "dropped 3 packets"},
        {"{\"packets\":1,\"dropped\":0,\"too_late\":9,\"rows\":[]}", "as many packets as"},
        {"{\"packets\":-1}", "not in order"},
        {"{\"packets\":1,\"dropped\":0,\"too_late\":0,\"rows\":7}", "not in order"},
        {"{}", "not in order"},
        {LOGGED(1, "", ROW(1, 1, "1,9,99,3")), "the topology does not have"},
        {LOGGED(1, "", ROW(-1, 1, "1,9,17,11,3")), "not in order"},
        {LOGGED(1, "", "{\"time_us\":1},7,null"), "not in order"},
        {NULL, "host 26: no"},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *report = run(NULL, LOGGED(1, "", ROW(5, 1, "1,9,17,11,3")), cases[i].logged);

        if (report_certain(report) || !report_has(report, "lacks", cases[i].words)) {
            fail_msg("case %zu: %s", i, json_dumps(report, 0));
        }
        assert_int_equal(json_array_size(report_rows(report, "packets")), 1);
        end(report);
    }
}

static void one_host_refuses(void **unused)
{
    json_t *report;

    (void)unused;
    agents.refused = "the switch hands on records, not packets";
    agents.looks = 5;
    report = run(NULL, NULL, LOGGED(0, "", ""));
    assert_true(report_has(report, "lacks", "host 25: the switch hands on records"));
    assert_string_equal(report_verdict(report), "no packet was wanted by the filter at 1 host");
    assert_false(report_certain(report));
    end(report);
    agents.refused = "no";
    report = run("{\"dst_ip\":\"10.2.1.2\"}", NULL, NULL);
    assert_string_equal(report_verdict(report), "no host could log packets");
    assert_false(report_certain(report));
    end(report);
}

static void no_path(void **unused)
{
    json_t *report =
        run(NULL,
            "{\"packets\":1,\"dropped\":0,\"too_late\":0,\"rows\":[{\"time_us\":1,"
            "\"bytes\":60,\"flow_id\":{\"src_ip\":\"10.1.1.2\",\"dst_ip\":\"10.2.1.2\","
            "\"src_port\":1,\"dst_port\":2,\"protocol\":6},\"path\":[],\"tags\":[4000],"
            "\"dscp\":0}]}",
            LOGGED(0, "", ""));

    (void)unused;
    assert_string_equal(text(report_rows(report, "packets"), 0, "path"),
                        "none: its tags fit no path");
    end(report);
}

static void worlds_without_agents(void **unused)
{
    struct fake_world *w = fake_world_new(4);

    (void)unused;
    assert_int_equal(fake_world_fails(w, "path-log", NULL), -PD_E_UNSUPPORTED);
    assert_int_equal(fake_world_fails(w, "path-log", "{\"seconds\":61}"), -PD_E_VALUE);
    assert_int_equal(fake_world_fails(w, "path-log", "{\"seconds\":0}"), -PD_E_VALUE);
    assert_int_equal(fake_world_fails(w, "path-log", "{\"rows\":100000}"), -PD_E_VALUE);
    assert_int_equal(fake_world_fails(w, "path-log", "{\"protocol\":\"NaN\"}"), -PD_E_VALUE);
    assert_int_equal(fake_world_fails(w, "path-log", "{\"protocol\":256}"), -PD_E_VALUE);
    assert_int_equal(fake_world_fails(w, "path-log", "{\"protocol\":\"udp\"}"), -PD_E_UNSUPPORTED);
    assert_int_equal(fake_world_fails(w, "path-log", "{\"dst_port\":65536}"), -PD_E_VALUE);
    assert_int_equal(fake_world_fails(w, "path-log", "{\"path\":\"9-17-18\"}"), -PD_E_VALUE);
    fake_world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_of_all_hosts_in_order),
        cmocka_unit_test(receiver_alone_is_asked),
        cmocka_unit_test(what_is_missing_is_said),
        cmocka_unit_test(one_host_refuses),
        cmocka_unit_test(no_path),
        cmocka_unit_test(worlds_without_agents),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
