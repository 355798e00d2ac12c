/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of answers: read when they are in order, counted when not; what an answer lacks; alarms;
 * hosts by address; shortest paths; reports and their bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "apps/rows.h"
#include "topology/paths.h"

#define FLOW                                                                              \
    "{\"src_ip\":\"10.1.1.2\",\"dst_ip\":\"10.2.1.2\",\"src_port\":1000,\"dst_port\":80," \
    "\"protocol\":6}"

static struct pd_topology *topology;

static json_t *json(const char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);

    if (!value) {
        fail_msg("%s", text);
    }
    return value;
}

static bool reads(const char *text, struct pd_app_row *ret_row)
{
    json_t *object = json(text);
    bool read = pd_app_row_read(object, ret_row);

    json_decref(object);
    return read;
}

static void rows(void **state)
{
    char text[PD_APP_PATH_TEXT_BYTES];
    struct pd_app_row row;

    (void)state;
    assert_true(reads("{\"flow_id\":" FLOW ",\"path\":[1,9,17,11,3],\"stime_us\":5,\"etime_us\":9,"
                      "\"bytes\":1500,\"pkts\":2,\"more\":{}}",
                      &row));
    assert_int_equal(row.flow.src_port, 1000);
    assert_string_equal(pd_app_path_text(&row.path, text), "1-9-17-11-3");
    assert_true(row.has_path && row.stime_us == 5 && row.etime_us == 9 && row.bytes == 1500 &&
                row.pkts == 2);
    assert_true(pd_app_path_exists(topology, &row.path));
    row.path.switches[1] = 11;
    assert_false(pd_app_path_exists(topology, &row.path));
    assert_true(reads("{\"flow_id\":" FLOW ",\"path\":[],\"tags\":[9,9],\"dscp\":3}", &row));
    assert_true(row.has_path && !row.path.len);
    assert_false(pd_app_path_exists(topology, &row.path));
    assert_true(reads("{\"path\":[1],\"bytes\":7}", &row));
    assert_int_equal(row.flow.ip_version, 0);
    assert_true(reads("{\"flow_id\":" FLOW "}", &row));
    assert_false(row.has_path);
}

static void hostile_rows(void **state)
{
    static const char *const wrong[] = {
        "{}",
        "7",
        "null",
        "[]",
        "{\"bytes\":7}",
        "{\"flow_id\":null}",
        "{\"flow_id\":{}}",
        "{\"flow_id\":" FLOW ",\"path\":7}",
        "{\"flow_id\":" FLOW ",\"path\":[0]}",
        "{\"flow_id\":" FLOW ",\"path\":[\"1\"]}",
        "{\"flow_id\":" FLOW ",\"path\":[4294967296]}",
        "{\"flow_id\":" FLOW ",\"bytes\":-1}",
        "{\"flow_id\":" FLOW ",\"bytes\":1.5}",
        "{\"flow_id\":" FLOW ",\"pkts\":9007199254740992}",
        "{\"path\":[],\"tags\":[1,2,3,4,5]}",
        "{\"path\":[],\"tags\":[65536]}",
        "{\"flow_id\":{\"src_ip\":\"10.1.1.2\",\"dst_ip\":\"fd00::1\",\"src_port\":1,\"dst_port\":"
        "2,"
        "\"protocol\":6}}",
        "{\"flow_id\":{\"src_ip\":\"x\",\"dst_ip\":\"10.1.1.2\",\"src_port\":1,\"dst_port\":2,"
        "\"protocol\":6}}",
        "{\"flow_id\":{\"src_ip\":\"10.1.1.1\",\"dst_ip\":\"10.1.1.2\",\"src_port\":65536,"
        "\"dst_port\":2,\"protocol\":6}}",
    };
    struct pd_app_row row;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (reads(wrong[i], &row)) {
            fail_msg("%s was read", wrong[i]);
        }
    }
}

static int count(void *context, const struct pd_app_row *row, const json_t *object)
{
    assert_true(row->bytes && json_is_object(object));
    return ++*(int *)context == 3 ? -PD_E_FULL : 0;
}

static void lists(void **state)
{
    json_t *answer =
        json("{\"flows\":[{\"flow_id\":" FLOW ",\"bytes\":1},7,{\"path\":[1],\"bytes\":2}]}");
    struct pd_report report;
    struct pd_error error;
    int seen = 0;

    (void)state;
    pd_app_report_init(&report);
    assert_int_equal(pd_app_rows(answer, "flows", &report, count, &seen, &error), 0);
    assert_int_equal(seen, 2);
    assert_int_equal(json_array_size(report.lacks), 1);
    assert_non_null(strstr(json_string_value(json_array_get(report.lacks, 0)), "1 rows"));
    assert_int_equal(pd_app_rows(answer, "flows", &report, count, &seen, &error), -PD_E_FULL);
    assert_int_equal(pd_app_rows(answer, "none", &report, count, &seen, &error), -PD_E_VALUE);
    pd_app_report_done(&report);
    json_decref(answer);
}

static void alarms(void **state)
{
    json_t *good =
               json("{\"id\":7,\"host\":21,\"time_us\":5,\"reason\":\"POOR_PERF\",\"flow_id\":" FLOW
                    ",\"paths\":[],\"detail\":\"\"}"),
           *bare = json("{\"time_us\":5,\"reason\":\"X\",\"flow_id\":null}"),
           *wrong = json("{\"time_us\":5,\"reason\":\"X\",\"flow_id\":7}");
    struct pd_app_alarm alarm;

    (void)state;
    assert_true(pd_app_alarm_read(good, &alarm));
    assert_true(alarm.id == 7 && alarm.host == 21 && alarm.flow.dst_port == 80);
    assert_true(pd_app_alarm_read(bare, &alarm));
    assert_int_equal(alarm.flow.ip_version, 0);
    assert_false(pd_app_alarm_read(wrong, &alarm));
    json_decref(good);
    json_decref(bare);
    json_decref(wrong);
}

static void hosts(void **state)
{
    struct pd_addr addr;
    uint8_t version;

    (void)state;
    for (uint32_t i = 0; i < topology->hosts_len; i++) {
        for (uint32_t k = 0; k < topology->hosts[i].addrs_len; k++) {
            assert_int_equal(pd_app_host_of(topology, &topology->hosts[i].addrs[k],
                                            topology->hosts[i].ip_versions[k]),
                             topology->hosts[i].id);
        }
    }
    assert_int_equal(pd_addr_parse("10.1.1.99", &addr, &version), 0);
    assert_int_equal(pd_app_host_of(topology, &addr, version), 0);
    assert_int_equal(pd_addr_parse("192.0.2.1", &addr, &version), 0);
    assert_int_equal(pd_app_host_of(topology, &addr, version), 0);
}

/* Racks 5 and 9 have one prefix: 30 hangs at the second alone, 31 at both. */
static void hosts_of_racks_that_share_a_prefix(void **state)
{
    static const char text[] =
        "{\"nodes\":[{\"id\":5,\"role\":\"switch\",\"prefixes\":[\"10.0.1.0/24\"]},"
        "{\"id\":9,\"role\":\"switch\",\"prefixes\":[\"10.0.1.0/24\"]},"
        "{\"id\":30,\"role\":\"host\",\"addrs\":[\"10.0.1.30\"]},"
        "{\"id\":31,\"role\":\"host\",\"addrs\":[\"10.0.1.31\"]}],\"links\":["
        "{\"source\":5,\"target\":9},{\"source\":30,\"target\":9},"
        "{\"source\":31,\"target\":9},{\"source\":31,\"target\":5}]}";
    static const char *const addrs[] = {"10.0.1.30", "10.0.1.31", "10.0.1.32"};
    static const uint32_t ids[] = {30, 31, 0};
    struct pd_topology *two = NULL;
    struct pd_error error = {0};

    (void)state;
    if (pd_topology_parse(text, strlen(text), "two", &two, &error)) {
        fail_msg("%s", error.text);
    }
    for (size_t i = 0; i < sizeof addrs / sizeof *addrs; i++) {
        struct pd_addr addr;
        uint8_t version;

        assert_int_equal(pd_addr_parse(addrs[i], &addr, &version), 0);
        assert_int_equal(pd_app_host_of(two, &addr, version), ids[i]);
    }
    pd_topology_free(two);
}

static void shortest(void **state)
{
    struct pd_path paths[8];
    uint32_t one = pd_topology_switch(topology, 1), two = pd_topology_switch(topology, 2),
             three = pd_topology_switch(topology, 3);

    (void)state;
    assert_int_equal(pd_topology_shortest_list(topology, one, one, paths, 8), 1);
    assert_int_equal(paths[0].len, 1);
    assert_int_equal(pd_topology_shortest_list(topology, one, two, paths, 8), 2);
    assert_int_equal(paths[1].len, 3);
    assert_int_equal(pd_topology_shortest_list(topology, one, three, paths, 2), 4);
    assert_int_equal(pd_topology_shortest_list(topology, one, three, paths, 8), 4);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(paths[i].len, 5);
        assert_true(pd_app_path_exists(topology, &paths[i]));
        assert_true(!i || memcmp(paths[i - 1].switches, paths[i].switches, 20) != 0);
    }
}

/* Everything that grows has a bound, what is beyond it is told, and nothing is certain then. */
static void bounds(void **state)
{
    struct pd_report report;
    json_t *object;

    (void)state;
    pd_app_report_init(&report);
    for (int i = 0; i < PD_REPORT_FLOWS_MAX + 5; i++) {
        pd_app_report_flow(&report, json_pack("{s:i}", "n", i));
    }
    pd_app_report_link(&report, 9, 17);
    pd_app_report_link(&report, 9, 17);
    report.certain = true;
    report.confidence = 7;
    pd_app_report_say(&report, "%s", "found");
    object = pd_app_report_json(&report, "any");
    assert_int_equal(json_array_size(json_object_get(object, "flows")), PD_REPORT_FLOWS_MAX);
    assert_int_equal(json_array_size(json_object_get(object, "links")), 1);
    assert_true(json_is_false(json_object_get(object, "certain")));
    assert_int_equal(json_array_size(json_object_get(object, "lacks")), 1);
    assert_true(json_real_value(json_object_get(object, "confidence")) <= 1);
    json_decref(object);
    pd_app_report_done(&report);
}

/* Words that are cut within a character are still text. */
static void long_words(void **state)
{
    char words[PD_REPORT_TEXT_BYTES + 9] = "";
    struct pd_report report;
    json_t *object;

    (void)state;
    while (strlen(words) < PD_REPORT_TEXT_BYTES + 2) {
        strcat(words, "λ");
    }
    pd_app_report_init(&report);
    pd_app_report_say(&report, "%s", words);
    pd_app_report_evidence(&report, "%s", words);
    object = pd_app_report_json(&report, "any");
    assert_non_null(object);
    assert_int_equal(json_array_size(json_object_get(object, "evidence")), 1);
    json_decref(object);
    pd_app_report_done(&report);
}

/* A network of which nothing is known is not one that is well. */
static void evidence_that_is_not_there_is_said(void **state)
{
    static const struct {
        unsigned wanted, has;
        size_t lacks;
    } cases[] = {{PD_APP_PROBES, PD_APP_FLOWS, 1},
                 {PD_APP_PROBES, PD_APP_FLOWS | PD_APP_PROBES, 0},
                 {PD_APP_METERS, PD_APP_FLOWS, 1},
                 {PD_APP_METERS, PD_APP_METERS, 0},
                 {PD_APP_FLOWS | PD_APP_METERS, PD_APP_FLOWS, 0},
                 {PD_APP_FLOWS, PD_APP_FLOWS, 0}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pd_report report;

        pd_app_report_init(&report);
        pd_app_lacks_evidence(cases[i].wanted, cases[i].has, &report);
        assert_int_equal(json_array_size(report.lacks), cases[i].lacks);
        pd_app_report_done(&report);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows),       cmocka_unit_test(hostile_rows),
        cmocka_unit_test(lists),      cmocka_unit_test(alarms),
        cmocka_unit_test(hosts),      cmocka_unit_test(hosts_of_racks_that_share_a_prefix),
        cmocka_unit_test(shortest),   cmocka_unit_test(bounds),
        cmocka_unit_test(long_words), cmocka_unit_test(evidence_that_is_not_there_is_said),
    };
    struct pd_error error;

    if (pd_topology_fat_tree(4, &topology, &error)) {
        return 1;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    pd_topology_free(topology);
    return failed;
}
