/* SPDX-License-Identifier: Apache-2.0 */
/* wrong-modification: a switch that changes ports, one that writes wrong tags, and everything that
 * looks like it and is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "apps/rows.h"
#include "tests/unit/apps/fake_world.h"

#define S   1000000
#define APP "wrong-modification"

static void know(struct fake_world *w, const struct pd_flow_id *flow, uint64_t ago_us)
{
    uint32_t host = pd_app_host_of(w->topology, &flow->src, flow->ip_version);
    json_t *row;

    fake_world_poor(w, host, flow, 0, 1000);
    row = json_array_get(w->poor, json_array_size(w->poor) - 1);
    json_object_set_new(row, "first_us", json_integer((json_int_t)(w->now_us - ago_us)));
}

/* A connection whose packets arrive as they were sent; both kernels know it. */
static void right(struct fake_world *w, const char *src, uint16_t port, const char *dst,
                  const char *path)
{
    struct pd_tib_record *record =
        fake_world_record(w, src, port, dst, 80, path, 10 * S, 8 * S, 9000, 9);

    know(w, &record->flow, 10 * S);
}

/* The switch puts 81 in place of the port 80. The receiver answers with a reset. */
static void changed(struct fake_world *w, const char *src, uint16_t port, const char *dst,
                    const char *path)
{
    struct pd_tib_record *record =
        fake_world_record(w, src, port, dst, 80, path, 10 * S, 8 * S, 120, 2);

    know(w, &record->flow, 10 * S);
    record->flow.dst_port = 81;
    fake_world_record(w, dst, 81, src, port, "3,11,17,9,1", 10 * S, 8 * S, 80, 2);
}

/* Everything is right on paths that do not have core 17. */
static struct fake_world *new_world(void)
{
    struct fake_world *w = fake_world_new(4);

    right(w, "10.1.1.2", 1000, "10.2.1.2", "1,9,18,11,3");
    right(w, "10.1.1.3", 1001, "10.2.1.3", "1,9,18,11,3");
    right(w, "10.1.1.2", 1002, "10.2.1.2", "1,10,19,12,3");
    right(w, "10.2.1.2", 1003, "10.1.1.2", "3,11,18,9,1");
    return w;
}

static size_t len_of(const json_t *json, const char *list)
{
    return json_array_size(json_object_get(json, list));
}

static void nothing_is_wrong(void **unused)
{
    struct fake_world *w = new_world();
    json_t *json = fake_world_run(w, APP, NULL);

    (void)unused;
    assert_int_equal(len_of(json, "links") + len_of(json, "switches") + len_of(json, "flows") +
                         len_of(json, "lacks"),
                     0);
    assert_false(report_certain(json));
    json_decref(json);
    fake_world_free(w);
}

static void a_switch_that_changes_ports(void **unused)
{
    struct fake_world *w = new_world();
    json_t *json;

    (void)unused;
    for (uint16_t port = 2000; port < 2004; port++) {
        changed(w, port % 2 ? "10.1.1.2" : "10.1.1.3", port, "10.2.1.2", "1,9,17,11,3");
    }
    json = fake_world_run(w, APP, NULL);
    assert_int_equal(len_of(json, "flows"), 4);
    assert_int_equal(len_of(json, "switches"), 1);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(json, "switches"), 0)), 17);
    assert_int_equal(len_of(json, "links"), 2); /* into it and out of it */
    assert_int_equal(json_array_size(report_rows(json, "modified")), 4);
    assert_true(report_certain(json));
    assert_true(report_has(json, "evidence", "word of host 25 alone"));
    assert_true(report_has(json, "evidence", "sent by several hosts"));
    json_decref(json);
    w->edges.open = 1;
    json = fake_world_run(w, APP, NULL);
    assert_int_equal(len_of(json, "flows"), 4);
    assert_false(report_certain(json));
    json_decref(json);
    w->edges.open = 0;
    fake_world_missing(w, 30, "connection refused");
    json = fake_world_run(w, APP, NULL);
    assert_int_equal(len_of(json, "flows"), 4);
    assert_false(report_certain(json));
    json_decref(json);
    fake_world_free(w);
}

/* A program with a raw socket, or a virtual machine: nobody's kernel knows it, and no flow is
 * missing for it. */
static void flows_of_strangers_are_not_certain(void **unused)
{
    struct fake_world *w = new_world();
    json_t *json;

    (void)unused;
    for (uint16_t port = 2000; port < 2005; port++) {
        fake_world_record(w, "10.1.1.2", port, "10.2.1.2", 80, "1,9,17,11,3", 9 * S, 8 * S, 500, 5);
    }
    json = fake_world_run(w, APP, NULL);
    assert_int_equal(len_of(json, "flows"), 5);
    assert_false(report_certain(json));
    json_decref(json);
    fake_world_free(w);
}

/* The sender's host does not answer; the flow is older than what monitors keep; a reset of a closed
 * port; UDP. */
static void what_cannot_be_judged(void **unused)
{
    struct fake_world *w = new_world();
    struct pd_tib_record *record;
    json_t *json;

    (void)unused;
    record =
        fake_world_record(w, "10.1.1.2", 3000, "10.2.1.2", 53, "1,9,17,11,3", 9 * S, 8 * S, 80, 1);
    record->flow.protocol = 17;
    record =
        fake_world_record(w, "10.1.1.2", 3001, "10.2.1.2", 81, "1,9,17,11,3", 9 * S, 8 * S, 60, 1);
    know(w, &record->flow, 9 * S);
    fake_world_record(w, "10.2.1.2", 81, "10.1.1.2", 3001, "3,11,17,9,1", 9 * S, 8 * S, 40, 1);
    json = fake_world_run(w, APP, "{\"seconds\": 1000}");
    assert_int_equal(len_of(json, "flows"), 0);
    assert_int_equal(len_of(json, "lacks"), 0);
    json_decref(json);
    json = fake_world_run(w, APP, "{\"protocol\": \"udp\"}");
    assert_true(report_has(json, "lacks", "only TCP"));
    json_decref(json);
    fake_world_record(w, "10.4.2.3", 4000, "10.2.1.2", 80, "8,15,17,11,3", 9 * S, 8 * S, 500, 5);
    fake_world_missing(w, pd_app_host_of(w->topology, &w->records[w->records_len - 1].flow.src, 4),
                       "timed out");
    json = fake_world_run(w, APP, NULL);
    assert_int_equal(len_of(json, "flows"), 0);
    assert_true(report_has(json, "lacks", "timed out"));
    json_decref(json);
    fake_world_free(w);
}

/* Core 17 writes tags that fit no path. */
static void a_switch_that_writes_wrong_tags(void **unused)
{
    struct fake_world *w = new_world();
    struct pd_tib_record *record = NULL;
    json_t *json;

    (void)unused;
    right(w, "10.1.1.2", 1009, "10.2.1.2", "1,10,20,12,3");
    for (uint16_t port = 2000; port < 2003; port++) {
        record = fake_world_record(w, "10.1.1.2", port, "10.2.1.2", 80, "", 9 * S, 8 * S, 500, 5);
        know(w, &record->flow, 9 * S);
    }
    fake_world_alarm(w, 25, "INFEASIBLE_PATH", &record->flow);
    json = fake_world_run(w, APP, NULL);
    assert_int_equal(len_of(json, "switches"), 1);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(json, "switches"), 0)), 17);
    assert_int_equal(json_array_size(report_rows(json, "infeasible")), 3);
    assert_true(report_certain(json));
    json_decref(json);
    fake_world_free(w);
}

/* Monitors that poll, forget, or speak of other hosts' connections; answers that are none. */
static void answers_that_prove_nothing(void **unused)
{
    static const char poor[] =
        "{\"flows\":[{\"flow_id\":{\"src_ip\":\"10.1.1.2\",\"dst_ip\":\"10.2.1.2\",\"src_port\":1,"
        "\"dst_port\":2,\"protocol\":6},\"host\":30},7,{\"flow_id\":\"x\"}],\"complete\":true,";
    struct fake_world *w = new_world();
    char answer[600];
    json_t *json;

    (void)unused;
    snprintf(answer, sizeof answer, "%s\"source\":\"mixed\",\"since_us\":0,\"forgotten\":7}", poor);
    fake_world_canned(w, "getPoorTCPFlows", answer);
    json = fake_world_run(w, APP, NULL);
    assert_int_equal(len_of(json, "flows"), 0);
    assert_true(report_has(json, "lacks", "forgot 7"));
    assert_true(report_has(json, "lacks", "bpf"));
    json_decref(json);
    fake_world_free(w);
    w = new_world();
    snprintf(answer, sizeof answer, "%s\"source\":\"bpf\",\"since_us\":-4,\"forgotten\":\"\"}",
             poor);
    fake_world_canned(w, "getPoorTCPFlows", answer);
    json = fake_world_run(w, APP, NULL);
    assert_int_equal(len_of(json, "flows"), 0);
    assert_true(report_has(json, "lacks", "cannot be"));
    json_decref(json);
    fake_world_free(w);
    w = new_world();
    fake_world_canned(w, "getFlows", "[]");
    assert_true(fake_world_fails(w, APP, NULL) < 0);
    fake_world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_wrong),
        cmocka_unit_test(a_switch_that_changes_ports),
        cmocka_unit_test(flows_of_strangers_are_not_certain),
        cmocka_unit_test(what_cannot_be_judged),
        cmocka_unit_test(a_switch_that_writes_wrong_tags),
        cmocka_unit_test(answers_that_prove_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
