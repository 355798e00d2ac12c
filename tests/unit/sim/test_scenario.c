/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios: what is read, and that each error names its member. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/scenario.h"
#include "topology/links.h"

static int parse(const char *json, struct pd_sim_scenario *scenario, struct pd_error *error)
{
    return pd_sim_scenario_parse(json, strlen(json), "x.json", false, scenario, error);
}

static void a_whole_scenario_is_read(void **state)
{
    struct pd_sim_scenario s;
    struct pd_error error = {0};
    (void)state;
    assert_int_equal(
        parse("{\"topology\":{\"fat_tree\":4},\"link_mbps\":100,\"load\":0.5,\"duration_s\":3,"
              "\"flow_sizes\":\"hadoop\",\"spray\":true,\"level\":\"packet\",\"period_ms\":100,"
              "\"faults\":[{\"link\":\"9-17\",\"loss\":0.25,\"start_s\":1},"
              "{\"link\":\"17-9\",\"blackhole\":true}]}",
              &s, &error),
        0);
    assert_int_equal(s.topology->switches_len, 20);
    assert_int_equal(s.link_mbps, 100);
    assert_true(s.load == 0.5 && s.duration_s == 3 && s.spray && s.level == PD_SIM_PACKETS);
    assert_int_equal(s.period_ms, 100);
    assert_int_equal(s.faults_len, 2);
    assert_int_equal(pd_topology_links_from_id(s.topology, s.faults[0].links[0]), 9);
    assert_int_equal(pd_topology_links_to_id(s.topology, s.faults[0].links[0]), 17);
    assert_true(s.faults[0].loss == 0.25 && s.faults[0].start_s == 1 && s.faults[1].loss == 1);
    pd_sim_scenario_done(&s);
}

static void bad_choices_and_flows_are_read(void **state)
{
    struct pd_sim_scenario s;
    struct pd_error error = {0};
    (void)state;
    assert_int_equal(parse("{\"topology\":{\"fat_tree\":4},\"load\":0,\"flows\":[{\"src\":22,"
                           "\"dst\":36,\"bytes\":5,"
                           "\"start_s\":2},{\"src\":21,\"dst\":36,\"bytes\":7,\"src_port\":9,\"dst_"
                           "port\":8}],\"faults\":["
                           "{\"switch\":9,\"split_bytes\":1e6,\"start_s\":3},{\"switch\":9,"
                           "\"weights\":{\"18\":0.5}}]}",
                           &s, &error),
                     0);
    assert_int_equal(s.planned_len, 2); /* by start */
    assert_true(s.planned[0].bytes == 7 && s.planned[0].src_port == 9 && !s.planned[0].start_s);
    assert_true(s.planned[1].start_s == 2 && s.planned[1].dst_port == 80 && s.load == 0);
    assert_true(s.faults[0].kind == PD_SIM_SPLIT && s.faults[0].split_bytes == 1e6);
    assert_true(s.faults[1].kind == PD_SIM_WEIGHTS && s.faults[0].start_s == 3);
    const struct pd_switch *nine = &s.topology->switches[s.faults[1].sw];
    for (uint32_t n = 0; n < nine->switch_neighbours; n++) {
        bool is_18 = s.topology->switches[nine->neighbours[n].node].id == 18;
        assert_true(s.faults[1].weights[n] == (is_18 ? 0.5 : 1));
    }
    pd_sim_scenario_done(&s);
}

static void defaults_are_those_of_the_paper(void **state)
{
    struct pd_sim_scenario s;
    (void)state;
    assert_int_equal(parse("{\"topology\":{\"vl2\":4}}", &s, NULL), 0);
    assert_true(s.link_mbps == 1000 && s.load == 0.7 && s.period_ms == 200 && !s.spray);
    assert_true(s.level == PD_SIM_FLOWS && s.faults_len == 0);
    assert_true(s.sizes.mean_bytes > 1.5e6 && s.sizes.mean_bytes < 2e6);
    pd_sim_scenario_done(&s);
}

static void each_error_names_its_member(void **state)
{
    static const char *const cases[][2] = {
        {"", "x.json:1:"},
        {"[]", "x.json: expected an object"},
        {"{\"topology\":{\"fat_tree\":4}", "x.json:1:"},
        {"{}", "x.json: topology: "},
        {"{\"topology\":7}", "x.json: topology: "},
        {"{\"topology\":{\"fat_tree\":5}}", "x.json: topology: "},
        {"{\"topology\":{\"fat_tree\":1e9}}", "x.json: topology: "},
        {"{\"topology\":{\"vl2\":64}}", "x.json: topology: "},
        {"{\"topology\":{\"fat_tree\":4,\"vl2\":4}}", "x.json: topology: "},
        {"{\"topology\":\"/etc/passwd\"}", "x.json: topology: "},
        {"{\"topology\":{\"fat_tree\":4},\"load\":0}", "x.json: load: "},
        {"{\"topology\":{\"fat_tree\":4},\"load\":1.5}", "x.json: load: "},
        {"{\"topology\":{\"fat_tree\":4},\"load\":\"much\"}", "x.json: load: "},
        {"{\"topology\":{\"fat_tree\":4},\"link_mbps\":0}", "x.json: link_mbps: "},
        {"{\"topology\":{\"fat_tree\":4},\"link_mbps\":1.5}", "x.json: link_mbps: "},
        {"{\"topology\":{\"fat_tree\":4},\"duration_s\":-1}", "x.json: duration_s: "},
        {"{\"topology\":{\"fat_tree\":4},\"flow_sizes\":3}", "x.json: flow_sizes: "},
        {"{\"topology\":{\"fat_tree\":4},\"flow_sizes\":\"/dev/zero\"}", "x.json: flow_sizes: "},
        {"{\"topology\":{\"fat_tree\":4},\"spray\":1}", "x.json: spray: "},
        {"{\"topology\":{\"fat_tree\":4},\"level\":\"bit\"}", "x.json: level: "},
        {"{\"topology\":{\"fat_tree\":4},\"lod\":0.7}", "x.json: lod: unknown member"},
        {"{\"topology\":{\"fat_tree\":4},\"load\":0.5,\"load\":0.6}", "x.json:1:"},
        {"{\"topology\":{\"fat_tree\":4},\"faults\":{}}", "x.json: faults: "},
        {"{\"topology\":{\"fat_tree\":4},\"faults\":[3]}", "x.json: faults[0]: "},
        {"{\"topology\":{\"fat_tree\":4},\"faults\":[{}]}", "x.json: faults[0]: expected \"link\""},
        {"{\"topology\":{\"fat_tree\":4},\"faults\":[{\"link\":\"9-17\"}]}", "x.json: faults[0]: "},
        {"{\"topology\":{\"fat_tree\":4},\"faults\":[{\"link\":\"9-17\",\"loss\":0.1,\"blackhole\":"
         "true}]}",
         "x.json: faults[0]: "},
        {"{\"topology\":{\"fat_tree\":4},\"faults\":[{\"link\":\"9-17\",\"loss\":0.1},{\"link\":"
         "\"9-20\",\"loss\":0.1}]}",
         "x.json: faults[1]: link: the topology has no link 9-20"},
        {"{\"topology\":{\"fat_tree\":4},\"faults\":[{\"link\":\"*-17\",\"loss\":0.1}]}",
         "x.json: faults[0]: link: "},
        {"{\"topology\":{\"fat_tree\":4},\"faults\":[{\"link\":\"9-17\",\"loss\":2}]}",
         "x.json: faults[0]: loss: "},
        {"{\"topology\":{\"fat_tree\":4},\"faults\":[{\"link\":\"9-17\",\"lost\":0.1}]}",
         "x.json: faults[0]: lost: unknown member"},
        {"{\"topology\":{\"fat_tree\":4},\"faults\":[{\"switch\":99,\"split_bytes\":9}]}",
         "x.json: faults[0]: switch: "},
        {"{\"topology\":{\"fat_tree\":4},\"faults\":[{\"switch\":9}]}", "x.json: faults[0]: "},
        {"{\"topology\":{\"fat_tree\":4},\"faults\":[{\"switch\":9,\"split_bytes\":0}]}",
         "x.json: faults[0]: split_bytes: "},
        {"{\"topology\":{\"fat_tree\":4},\"faults\":[{\"switch\":99,\"loss\":1}]}",
         "x.json: faults[0]: switch: "},
        {"{\"topology\":{\"fat_tree\":4},\"faults\":[{\"switch\":9,\"card\":1,\"loss\":1}]}",
         "x.json: faults[0]: card: switch 9 has no port on it"},
        {"{\"topology\":{\"fat_tree\":4},\"faults\":[{\"link\":\"9-17\",\"loss\":0.1,"
         "\"burst\":{\"mean_pkts\":0}}]}",
         "x.json: faults[0]: mean_pkts: "},
        {"{\"topology\":{\"fat_tree\":4},\"faults\":[{\"link\":\"9-17\",\"blackhole\":true,"
         "\"burst\":{\"mean_pkts\":2}}]}",
         "x.json: faults[0]: burst: "},
        {"{\"topology\":{\"fat_tree\":4},\"faults\":[{\"link\":\"9-17\",\"blackhole\":true,"
         "\"prefix\":\"10.2.1.1/24\"}]}",
         "x.json: faults[0]: prefix: "},
        {"{\"topology\":{\"fat_tree\":4},\"faults\":[{\"link\":\"9-17\",\"blackhole\":true,"
         "\"hash\":[5,4]}]}",
         "x.json: faults[0]: hash: "},
        {"{\"topology\":{\"fat_tree\":4},\"faults\":[{\"link\":\"9-17\",\"loss\":0.1,"
         "\"start_s\":2,\"end_s\":2}]}",
         "x.json: faults[0]: end_s: "},
        {"{\"topology\":{\"fat_tree\":4},\"faults\":[{\"switch\":9,\"weights\":{}}]}",
         "x.json: faults[0]: weights: "},
        {"{\"topology\":{\"fat_tree\":4},\"faults\":[{\"switch\":9,\"weights\":{\"17\":-1}}]}",
         "x.json: faults[0]: weights: 17: "},
        {"{\"topology\":{\"fat_tree\":4},\"faults\":[{\"switch\":9,\"weights\":{\"20\":1}}]}",
         "x.json: faults[0]: weights: the topology has no link 9-20"},
        {"{\"topology\":{\"fat_tree\":4},\"faults\":[{\"switch\":9,\"weights\":{\"x\":1}}]}",
         "x.json: faults[0]: weights: "},
        {"{\"topology\":{\"fat_tree\":4},\"flows\":{}}", "x.json: flows: "},
        {"{\"topology\":{\"fat_tree\":4},\"flows\":[],\"load\":0}", "x.json: load: "},
        {"{\"topology\":{\"fat_tree\":4},\"flows\":[{\"src\":1}]}", "x.json: flows[0]: src: "},
        {"{\"topology\":{\"fat_tree\":4},\"flows\":[{\"src\":21,\"dst\":21,\"bytes\":9}]}",
         "x.json: flows[0]: dst: "},
        {"{\"topology\":{\"fat_tree\":4},\"flows\":[{\"src\":21,\"dst\":22}]}",
         "x.json: flows[0]: bytes: "},
        {"{\"topology\":{\"fat_tree\":4},\"flows\":[{\"src\":21,\"dst\":22,\"bytes\":9,\"src_"
         "port\":1.5}]}",
         "x.json: flows[0]: src_port: "},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pd_sim_scenario s;
        struct pd_error error = {0};
        assert_true(parse(cases[i][0], &s, &error) < 0);
        if (strncmp(error.text, cases[i][1], strlen(cases[i][1])) != 0) {
            fail_msg("%s\n gives \"%s\", not \"%s…\"", cases[i][0], error.text, cases[i][1]);
        }
        assert_null(strchr(error.text, '\n'));
    }
}

static void sizes_are_checked_by_line(void **state)
{
    static const char *const cases[][2] = {
        {"", "x.csv: expected at least two lines"},
        {"bytes,share\n0,0\n", "x.csv: expected at least two lines"},
        {"0,0\n10,0.5\n", "x.csv: expected at least two lines"},
        {"0,0\n10,0.5\n10,1\n", "x.csv:3: "},
        {"0,0.5\n10,0.4\n20,1\n", "x.csv:2: "},
        {"0,0\n10,2\n", "x.csv:2: "},
        {"0,0\n10\n", "x.csv:2: "},
        {"0,0\n1e300,1\n", "x.csv:2: "},
        {"0,0\nnan,1\n", "x.csv:2: "},
        {"0,0\n0.1,1\n", "x.csv: the mean"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pd_sim_sizes sizes;
        struct pd_error error = {0};
        assert_true(pd_sim_sizes_parse(cases[i][0], strlen(cases[i][0]), "x.csv", &sizes, &error) <
                    0);
        if (strncmp(error.text, cases[i][1], strlen(cases[i][1])) != 0) {
            fail_msg("%s\n gives \"%s\", not \"%s…\"", cases[i][0], error.text, cases[i][1]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_scenario_is_read),
        cmocka_unit_test(bad_choices_and_flows_are_read),
        cmocka_unit_test(defaults_are_those_of_the_paper),
        cmocka_unit_test(each_error_names_its_member),
        cmocka_unit_test(sizes_are_checked_by_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
