/* SPDX-License-Identifier: Apache-2.0 */
/* Answers as tables, good ones and those that an agent should never give. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <stdlib.h>
#include <string.h>

#include "cli/view.h"

#define ID                                                                                         \
    "\"flow_id\":{\"src_ip\":\"10.1.1.2\",\"dst_ip\":\"10.2.1.2\",\"src_port\":1000,\"dst_port\":" \
    "80,\"protocol\":6}"
#define ID6                                                                                     \
    "\"flow_id\":{\"src_ip\":\"fd00::2\",\"dst_ip\":\"fd00::3\",\"src_port\":0,\"dst_port\":0," \
    "\"protocol\":58}"
#define TIMES "\"stime_us\":1700000000250000,\"etime_us\":1700000001454000"
#define SUMS  "\"bytes\":1536,\"pkts\":1200"

static const struct {
    enum pd_query_name name;
    const char *json, *text;
} good[] = {
    {PD_QUERY_GET_FLOWS,
     "{\"flows\":[{" ID ",\"path\":[1,9,2]," TIMES "," SUMS "},{" ID6
     ",\"path\":[],\"tags\":[9,9],\"dscp\":3," TIMES ",\"bytes\":1,\"pkts\":1}],\"complete\":true}",
     "SOURCE         DESTINATION  PROTO   PATH             FIRST PACKET                  LASTED  "
     "PACKETS    BYTES\n"
     "10.1.1.2:1000  10.2.1.2:80  tcp     1-9-2            2023-11-14 22:13:20.250000Z  1.204 s    "
     "1,200  1.5 KiB\n"
     "fd00::2        fd00::3      icmpv6  tags 9,9 dscp 3  2023-11-14 22:13:20.250000Z  1.204 s    "
     "    1      1 B\n"
     "\n2 flows, 1,201 packets, 1.5 KiB\n"},
    {PD_QUERY_GET_FLOWS, "{\"flows\":[],\"complete\":true}", "0 flows\n"},
    {PD_QUERY_GET_PATHS, "{\"paths\":[[1],[1,9,17,11,3]],\"complete\":true}",
     "HOPS  PATH\n   0  1\n   4  1-9-17-11-3\n\n2 paths\n"},
    {PD_QUERY_GET_PATHS, "{\"paths\":[],\"infeasible\":[{\"tags\":[9,9]}],\"complete\":true}",
     "HOPS  PATH\n   ?  tags 9,9\n\n0 paths, 1 infeasible trajectory\n"},
    {PD_QUERY_GET_PATHS, "{\"paths\":[],\"complete\":true}", "0 paths\n"},
    {PD_QUERY_GET_COUNT, "{\"bytes\":1536,\"pkts\":2,\"complete\":true}",
     "packets  2\nbytes    1,536 (1.5 KiB)\n"},
    {PD_QUERY_GET_COUNT, "{\"bytes\":0,\"pkts\":0,\"complete\":true}", "packets  0\nbytes    0\n"},
    {PD_QUERY_GET_DURATION, "{" TIMES ",\"duration_us\":1204000,\"complete\":true}",
     "first packet  2023-11-14 22:13:20.250000Z\n"
     "last packet   2023-11-14 22:13:21.454000Z\n"
     "lasted        1.204 s\n"},
    {PD_QUERY_GET_DURATION,
     "{\"stime_us\":null,\"etime_us\":null,\"duration_us\":0,\"complete\":true}", "no packet\n"},
    {PD_QUERY_TOP_RECORDS, "{\"top\":[],\"token\":\"t\",\"complete\":true}", "0 records\n"},
    {PD_QUERY_TOP_FLOWS, "{\"top\":[{" ID "," SUMS "}],\"complete\":true}",
     "SOURCE         DESTINATION  PROTO  PACKETS    BYTES\n"
     "10.1.1.2:1000  10.2.1.2:80  tcp      1,200  1.5 KiB\n"
     "\n1 flow, 1,200 packets, 1.5 KiB\n"},
    {PD_QUERY_TOP_HOSTS, "{\"top\":[{\"src_ip\":\"fd00::2\"," SUMS "}],\"complete\":true}",
     "SOURCE   PACKETS    BYTES\n"
     "fd00::2    1,200  1.5 KiB\n"
     "\n1 host, 1,200 packets, 1.5 KiB\n"},
    {PD_QUERY_TOP_LINKS, "{\"top\":[{\"link\":\"9-17\"," SUMS "}],\"complete\":true}",
     "LINK  PACKETS    BYTES\n"
     "9-17    1,200  1.5 KiB\n"
     "\n1 link\n"},
    {PD_QUERY_FLOW_SIZES,
     "{\"bins\":[{\"from_bytes\":0,\"flows\":2},{\"from_bytes\":30000,\"flows\":1}],"
     "\"complete\":true}",
     "FROM BYTES  FLOWS\n"
     "         0      2\n"
     "    30,000      1\n"
     "\n2 bins\n"},
    {PD_QUERY_TRAFFIC_MATRIX,
     "{\"pairs\":[{\"src_switch\":1,\"dst_switch\":1003," SUMS "}],\"complete\":true}",
     "FROM SWITCH  TO SWITCH  PACKETS    BYTES\n"
     "          1       1003    1,200  1.5 KiB\n"
     "\n1 pair, 1,200 packets, 1.5 KiB\n"},
    {PD_QUERY_PATH_BYTES,
     "{\"paths\":[{\"path\":[],\"tags\":[9]," SUMS "},{\"path\":[1,9,2]," SUMS
     "}],\"complete\":true}",
     "HOPS  PATH    PACKETS    BYTES\n"
     "   ?  tags 9    1,200  1.5 KiB\n"
     "   2  1-9-2     1,200  1.5 KiB\n"
     "\n2 paths, 2,400 packets, 3.0 KiB\n"},
    {PD_QUERY_CONFORMANCE,
     "{\"violations\":[{" ID ",\"path\":[1,9,2],\"rule\":\"avoid\"}],\"complete\":true}",
     "SOURCE         DESTINATION  PROTO  PATH   RULE\n"
     "10.1.1.2:1000  10.2.1.2:80  tcp    1-9-2  avoid\n"
     "\n1 violation\n"},
    {PD_QUERY_CONFORMANCE, "{\"violations\":[],\"infeasible\":2,\"complete\":true}",
     "0 violations\n2 flows with an infeasible trajectory cannot be judged\n"},
    {PD_QUERY_DISTINCT, "{\"count\":1234,\"complete\":true}", "count  1,234\n"},
};

static int view(enum pd_query_name name, const char *json, char **ret_text,
                struct pd_cli_outcome *ret_outcome, struct pd_error *error)
{
    const struct pd_style style = {.utf8 = false, .colour = false};
    size_t bytes;
    FILE *out = open_memstream(ret_text, &bytes);
    assert_non_null(out);
    int err = pd_cli_view(&pd_query_question_queries[name], json, strlen(json), &style, out,
                          ret_outcome, error);
    fclose(out);
    return err;
}

static void answers_become_tables(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct pd_error error = {0};
        char *text = NULL;
        struct pd_cli_outcome outcome = {0};
        if (view(good[i].name, good[i].json, &text, &outcome, &error)) {
            fail_msg("%s: %s", good[i].json, error.text);
        }
        assert_string_equal(text, good[i].text);
        assert_true(outcome.complete);
        free(text);
    }
}

#define TEN   "1,2,3,4,5,6,7,8,9,1,"
#define SIXTY TEN TEN TEN TEN TEN TEN

static const struct {
    enum pd_query_name name;
    const char *json, *place;
} bad[] = {
    {PD_QUERY_GET_FLOWS, "", "JSON"},
    {PD_QUERY_GET_FLOWS, "{\"flows\":[", "JSON"},
    {PD_QUERY_GET_FLOWS, "[]", "complete"},
    {PD_QUERY_GET_FLOWS, "{\"flows\":[]}", "complete"},
    {PD_QUERY_GET_FLOWS, "{\"flows\":{},\"complete\":true}", "flows"},
    {PD_QUERY_GET_FLOWS, "{\"flows\":[7],\"complete\":true}", "flow_id"},
    {PD_QUERY_GET_FLOWS,
     "{\"flows\":[{" ID ",\"path\":[1,-9]," TIMES "," SUMS "}],\"complete\":true}", "path"},
    {PD_QUERY_GET_FLOWS, "{\"flows\":[{" ID ",\"path\":[]," TIMES "," SUMS "}],\"complete\":true}",
     "tags"},
    {PD_QUERY_GET_FLOWS,
     "{\"flows\":[{" ID ",\"path\":[1],\"stime_us\":2,\"etime_us\":1," SUMS "}],\"complete\":true}",
     "etime_us"},
    {PD_QUERY_GET_FLOWS,
     "{\"flows\":[{" ID ",\"path\":[1]," TIMES ",\"bytes\":1e3,\"pkts\":1}],\"complete\":true}",
     "bytes"},
    {PD_QUERY_GET_PATHS,
     "{\"paths\":[[" SIXTY SIXTY "1,2,3,4,5,6,7,8,9]],\"complete\":true}", /* 129 */
     "path"},
    {PD_QUERY_GET_PATHS, "{\"paths\":[1],\"complete\":true}", "path"},
    {PD_QUERY_CONFORMANCE,
     "{\"violations\":[{" ID ",\"path\":[1],\"rule\":\"odd\"}],\"complete\":true}", "rule"},
    {PD_QUERY_GET_PATHS, "{\"paths\":[],\"infeasible\":[{\"tags\":[1,2,3,4,5]}],\"complete\":true}",
     "tags"},
    {PD_QUERY_GET_COUNT, "{\"bytes\":-1,\"pkts\":0,\"complete\":true}", "bytes"},
    {PD_QUERY_GET_DURATION, "{\"stime_us\":1,\"complete\":true}", "etime_us"},
    {PD_QUERY_GET_PATHS, "{\"paths\":[[1,0]],\"complete\":true}", "path"},
    {PD_QUERY_TOP_FLOWS, "{\"top\":[{" ID "}],\"complete\":true}", "bytes"},
    {PD_QUERY_TOP_HOSTS, "{\"top\":[{\"src_ip\":7," SUMS "}],\"complete\":true}", "src_ip"},
    {PD_QUERY_TOP_LINKS, "{\"top\":[{\"link\":\"*-9\"," SUMS "}],\"complete\":true}", "link"},
    {PD_QUERY_TOP_LINKS, "{\"top\":{},\"complete\":true}", "top"},
    {PD_QUERY_FLOW_SIZES, "{\"bins\":[{\"from_bytes\":0}],\"complete\":true}", "flows"},
    {PD_QUERY_TRAFFIC_MATRIX,
     "{\"pairs\":[{\"src_switch\":1,\"dst_switch\":4294967296," SUMS "}],\"complete\":true}",
     "dst_switch"},
    {PD_QUERY_PATH_BYTES, "{\"paths\":[{\"path\":[]," SUMS "}],\"complete\":true}", "tags"},
    {PD_QUERY_DISTINCT, "{\"count\":-1,\"complete\":true}", "count"},
};

/* Nothing is printed, and the error names the place. */
static void nonsense_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct pd_error error = {0};
        char *text = NULL;
        struct pd_cli_outcome outcome;
        assert_int_equal(view(bad[i].name, bad[i].json, &text, &outcome, &error), -PD_E_SYNTAX);
        if (!strstr(error.text, bad[i].place)) {
            fail_msg("%s: \"%s\" does not name %s", bad[i].json, error.text, bad[i].place);
        }
        assert_string_equal(text, "");
        free(text);
    }
}

static void partial_answers_say_so(void **state)
{
    struct pd_error error = {0};
    char *text = NULL;
    struct pd_cli_outcome outcome = {.complete = true};
    (void)state;
    assert_int_equal(view(PD_QUERY_GET_COUNT, "{\"bytes\":1,\"pkts\":1,\"complete\":false}", &text,
                          &outcome, &error),
                     0);
    assert_false(outcome.complete);
    free(text);
}

/* Nothing but the table, and values as they are. */
static void rows_become_csv(void **state)
{
    static const struct {
        enum pd_query_name name;
        const char *json, *csv;
    } cases[] = {
        {PD_QUERY_GET_FLOWS,
         "{\"flows\":[{\"flow_id\":{\"src_ip\":\"10.1.1.2\",\"dst_ip\":\"10.2.1.2\",\"src_port\":1,"
         "\"dst_port\":80,\"protocol\":6},\"path\":[1,9,3],\"stime_us\":1700000000000000,"
         "\"etime_us\":1700000000001500,\"bytes\":12345,\"pkts\":1000}],\"complete\":true}",
         "src_ip,src_port,dst_ip,dst_port,protocol,path,first_packet,lasted_us,packets,bytes\n"
         "10.1.1.2,1,10.2.1.2,80,6,1-9-3,2023-11-14T22:13:20.000000Z,1500,1000,12345\n"},
        {PD_QUERY_TOP_LINKS, "{\"top\":[],\"complete\":true}", "link,packets,bytes\n"},
        {PD_QUERY_GET_PATHS,
         "{\"paths\":[[1,9,3]],\"infeasible\":[{\"tags\":[9,9]}],\"complete\":true}",
         "hops,path\n2,1-9-3\n?,\"tags 9,9\"\n"},
        {PD_QUERY_GET_COUNT, "{\"bytes\":2048,\"pkts\":1000,\"complete\":true}",
         "packets,bytes\n1000,2048\n"},
        {PD_QUERY_GET_DURATION,
         "{\"stime_us\":null,\"etime_us\":null,\"duration_us\":0,\"complete\":true}",
         "first_packet,last_packet,lasted_us\n"},
        {PD_QUERY_DISTINCT, "{\"count\":1234,\"complete\":true}", "count\n1234\n"},
    };
    const struct pd_style style = {.csv = true};
    struct pd_cli_outcome outcome;
    struct pd_error error = {0};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = NULL;
        size_t bytes;
        FILE *out = open_memstream(&text, &bytes);

        assert_int_equal(pd_cli_view(&pd_query_question_queries[cases[i].name], cases[i].json,
                                     strlen(cases[i].json), &style, out, &outcome, &error),
                         0);
        fclose(out);
        assert_string_equal(text, cases[i].csv);
        free(text);
    }
    assert_int_equal(pd_cli_view(&pd_query_question_program, "{\"result\":1}", 12, &style, stdout,
                                 &outcome, &error),
                     -PD_E_VALUE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_become_csv),
        cmocka_unit_test(answers_become_tables),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(partial_answers_say_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
