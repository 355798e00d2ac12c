/* SPDX-License-Identifier: Apache-2.0 */
/* The programs of examples/programs in the real worker, asked about records that are known: what
 * they answer, ask, alarm and merge. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "program/program.h"

#define ID(port)                                                           \
    "{\"src_ip\":\"10.1.1.2\",\"dst_ip\":\"10.2.1.2\",\"src_port\":" #port \
    ",\"dst_port\":80,\"protocol\":6}"
#define ROW(port, path, bytes)                  \
    "{\"flow_id\":" ID(port) ",\"path\":[" path \
                             "],\"stime_us\":1,\"etime_us\":2,\"bytes\":" #bytes ",\"pkts\":1}\n"

static struct pd_programs *programs;
static struct pd_error error;

/* Two flow IDs, one of them on two paths, and one whose tags fit no path. */
static const char flows[] = ROW(1, "1,9,17,11,3", 25000) ROW(2, "1,9,17,11,3", 400)
    ROW(2, "1,9,17,13,18,11,3", 30000) ROW(3, "", 99000);
static const char paths[] = "[1,9,17,11,3]\n[1,9,17,13,18,11,3]\n";

/* What was asked, in order: "get_flows {…}" and so on, a line each. */
static FILE *asked;
static char *asked_text;
static size_t asked_len;

static int answer(void *context, const char *name, const json_t *args, FILE *lines,
                  struct pd_error *ret_error)
{
    char *text = json_dumps(args, JSON_COMPACT | JSON_SORT_KEYS);
    (void)context;
    (void)ret_error;
    fprintf(asked, "%s %s\n", name, text);
    free(text);
    if (!strcmp(name, "get_flows")) {
        fputs(flows, lines);
    } else if (!strcmp(name, "get_paths")) {
        fputs(paths, lines);
    } else if (!strcmp(name, "get_poor_tcp_flows")) {
        fputs(ID(1) "\n" ID(2) "\n", lines);
    } else if (!strcmp(name, "get_count")) {
        fprintf(lines, "[%d,1]\n",
                json_array_size(json_object_get(args, "path")) == 7 ? 30000 : 400);
    }
    return 0;
}

static struct pd_program_limits limits(void)
{
    return (struct pd_program_limits){PD_PROGRAM_INSTRUCTIONS_DEFAULT,
                                      PD_PROGRAM_MEMORY_DEFAULT_BYTES,
                                      pd_clock_monotonic_ns() + 60 * PD_NS_PER_S};
}

static char *source_of(const char *name)
{
    char path[300], *text = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "%s/examples/programs/%s.lua", PD_SOURCE_DIR, name);
    FILE *in = fopen(path, "re");
    assert_non_null(in);
    assert_true(getdelim(&text, &size, '\0', in) > 0);
    fclose(in);
    return text;
}

static void expect_json(const json_t *got, const char *wanted)
{
    json_t *expected = json_loads(wanted, JSON_DECODE_ANY, NULL);
    assert_non_null(expected);
    if (!json_equal(got, expected)) {
        char *text = json_dumps(got, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
        fail_msg("%s instead of %s", text, wanted);
    }
    json_decref(expected);
}

/* What run(args) gives; *ret_asked (freed with the next run) is what it asked. */
static json_t *run(const char *name, const char *args, const char **ret_asked)
{
    static const struct pd_program_host host = {NULL, answer};
    struct pd_program_limits limit = limits();
    char *source = source_of(name);
    json_t *given = json_loads(args, 0, NULL), *result = NULL;
    free(asked_text);
    asked = open_memstream(&asked_text, &asked_len);
    int err = pd_programs_run(programs, source, given, &limit, &host, &result, &error);
    fclose(asked);
    if (err) {
        fail_msg("%s: %s", name, error.text);
    }
    json_decref(given);
    free(source);
    *ret_asked = asked_text;
    return result;
}

static void expect_merge(const char *name, json_t *a, json_t *b, const char *wanted)
{
    struct pd_program_limits limit = limits();
    char *source = source_of(name);
    json_t *result = NULL;
    if (pd_programs_merge(programs, source, a, b, &limit, &result, &error)) {
        fail_msg("%s: %s", name, error.text);
    }
    expect_json(result, wanted);
    json_decref(result);
    free(source);
}

static void conformance_names_bad_paths(void **state)
{
    const char *calls;
    (void)state;
    json_t *result = run("conformance", "{\"flow_id\":" ID(2) "}", &calls);
    expect_json(result, "[[1,9,17,13,18,11,3]]");
    assert_non_null(strstr(calls, "alarm {\"flow_id\":{"));
    assert_non_null(strstr(calls, "\"paths\":[[1,9,17,13,18,11,3]],\"reason\":\"USER_PC_FAIL\""));
    expect_merge("conformance", result, result, "[[1,9,17,13,18,11,3],[1,9,17,13,18,11,3]]");
    json_decref(result);
    result = run("conformance", "{\"switch\":13,\"max_hops\":9}", &calls);
    expect_json(result, "[[1,9,17,13,18,11,3]]");
    json_decref(result);
    result = run("conformance", "{\"max_hops\":6,\"event\":{\"flow_id\":" ID(7) "}}", &calls);
    expect_json(result, "[]");
    assert_null(strstr(calls, "alarm"));
    assert_non_null(strstr(calls, "\"src_port\":7"));
    json_decref(result);
}

static void imbalance_is_a_distribution_for_each_link(void **state)
{
    const char *calls;
    (void)state;
    json_t *result = run("load_imbalance", "{\"links\":[\"9-17\",\"9-18\"],\"from\":5}", &calls);
    const char *once = "{\"9-17\":{\"0\":3,\"30000\":1},\"9-18\":{\"0\":3,\"30000\":1}}";
    expect_json(result, once);
    assert_non_null(strstr(calls, "get_flows {\"from\":5,\"link\":\"9-17\"}"));
    assert_non_null(strstr(calls, "get_count {\"flow_id\":{"));
    json_t *other = json_loads("{\"9-17\":{\"0\":1,\"70000\":2},\"9-18\":[]}", 0, NULL);
    expect_merge("load_imbalance", result, other,
                 "{\"9-17\":{\"0\":4,\"30000\":1,\"70000\":2},\"9-18\":{\"0\":3,\"30000\":1}}");
    expect_merge("load_imbalance", other, result,
                 "{\"9-17\":{\"0\":4,\"30000\":1,\"70000\":2},\"9-18\":{\"0\":3,\"30000\":1}}");
    json_decref(other);
    json_decref(result);
}

static void poor_flows_are_alarmed(void **state)
{
    const char *calls;
    (void)state;
    json_t *result = run("silent_drops", "{}", &calls);
    expect_json(result, "[" ID(1) "," ID(2) "]");
    assert_non_null(strstr(calls, "get_poor_tcp_flows {\"threshold\":3}"));
    assert_non_null(strstr(calls, "\"paths\":[],\"reason\":\"USER_POOR_PERF\""));
    expect_merge("silent_drops", result, result, "[" ID(1) "," ID(2) "," ID(1) "," ID(2) "]");
    json_decref(result);
    result = run("failure_signature", "{\"flow_id\":" ID(1) ",\"from\":7}", &calls);
    expect_json(result, "[[1,9,17,11,3],[1,9,17,13,18,11,3]]");
    assert_non_null(strstr(calls, "\"from\":7"));
    json_decref(result);
}

#define TOP(bytes, port, path) "[" #bytes ",{\"flow_id\":" ID(port) ",\"path\":[" path "]}]"

static void top_flows_are_the_largest(void **state)
{
    const char *calls;
    (void)state;
    json_t *result = run("top_flows", "{\"k\":2}", &calls);
    expect_json(result, "{\"k\":2,\"flows\":[" TOP(30000, 2, "1,9,17,13,18,11,3") "," TOP(99000, 3,
                                                                                          "") "]}");
    json_t *other =
        json_loads("{\"k\":2,\"flows\":[" TOP(50000, 8, "1") "," TOP(60000, 9, "1") "]}", 0, NULL);
    expect_merge("top_flows", result, other,
                 "{\"k\":2,\"flows\":[" TOP(60000, 9, "1") "," TOP(99000, 3, "") "]}");
    json_decref(other);
    json_decref(result);
}

static void racks_have_their_heavy_hitters(void **state)
{
    const char *calls;
    (void)state;
    json_t *result = run("heavy_hitters_by_rack", "{\"k\":1}", &calls);
    expect_json(result, "{\"k\":1,\"racks\":{\"3\":{\"bytes\":55400,\"top\":[{\"flow_id\":" ID(
                            2) ",\"bytes\":30400,\"paths\":2}]}}}");
    json_t *other = json_loads("{\"k\":1,\"racks\":{\"3\":{\"bytes\":7,\"top\":[{\"flow_id\":" ID(
                                   9) ",\"bytes\":31000,\"paths\":1}]},"
                                      "\"4\":{\"bytes\":1,\"top\":[]}}}",
                               0, NULL);
    expect_merge("heavy_hitters_by_rack", result, other,
                 "{\"k\":1,\"racks\":{\"3\":{\"bytes\":55407,\"top\":[{\"flow_id\":" ID(
                     9) ",\"bytes\":31000,\"paths\":1}]},\"4\":{\"bytes\":1,\"top\":[]}}}");
    json_decref(other);
    json_decref(result);
}

static int set_up(void **state)
{
    (void)state;
    return pd_programs_new(PD_BIN_DIR "/pathdump-program", &programs);
}

static int tear_down(void **state)
{
    (void)state;
    pd_programs_free(programs);
    free(asked_text);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conformance_names_bad_paths),
        cmocka_unit_test(imbalance_is_a_distribution_for_each_link),
        cmocka_unit_test(poor_flows_are_alarmed),
        cmocka_unit_test(top_flows_are_the_largest),
        cmocka_unit_test(racks_have_their_heavy_hitters),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
