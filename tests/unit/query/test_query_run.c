/* SPDX-License-Identifier: Apache-2.0 */
/* The queries over a store in memory: their JSON is parsed back and compared. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "query/query.h"

/* ---- records ---- */

static const struct pd_path far = {.len = 5, .switches = {1, 9, 17, 11, 3}};
static const struct pd_path far_again = {.len = 5, .switches = {1, 9, 17, 11, 3}};
static const struct pd_path near = {.len = 3, .switches = {1, 9, 2}};
static const struct pd_path rack = {.len = 1, .switches = {1}};
/* tags 9 and 9, DSCP 3 */
static const struct pd_claim wrong_claim = {
    .path = &pd_path_empty,
    .state = PD_CLAIM_INFEASIBLE,
    .mark = {.scheme = 1, .len = 10, .bytes = {0, 9, 0, 9, [8] = 2, 3}}};

#define FLOW(last, port)                                                                     \
    {                                                                                        \
        .src = {{10, 1, 1, 2}}, .dst = {{10, 2, 1, last}}, .src_port = port, .dst_port = 80, \
        .protocol = 6, .ip_version = 4                                                       \
    }
#define FLOW6                                                                                 \
    {                                                                                         \
        .src = {{0xfd, [15] = 2}}, .dst = {{0xfd, [15] = 3}}, .protocol = 58, .ip_version = 6 \
    }

static const struct pd_tib_record records[] = {
    {.flow = FLOW6, .path = &rack, .stime_us = 900, .etime_us = 950, .bytes = 64, .pkts = 1},
    {.flow = FLOW(9, 1000),
     .path = &far,
     .stime_us = 3000,
     .etime_us = 4000,
     .bytes = 1500,
     .pkts = 2},
    {.flow = FLOW(2, 1000),
     .path = &far,
     .stime_us = 1000,
     .etime_us = 2000,
     .bytes = 100,
     .pkts = 1},
    {.flow = FLOW(2, 1000),
     .path = &near,
     .stime_us = 1500,
     .etime_us = 1600,
     .bytes = 40,
     .pkts = 1},
    {.flow = FLOW(2, 1000),
     .path = &far_again,
     .stime_us = 2000,
     .etime_us = 2500,
     .bytes = 200,
     .pkts = 3},
    {.flow = FLOW(2, 2000),
     .path = &pd_path_empty,
     .claim = &wrong_claim,
     .stime_us = 5000,
     .etime_us = 5000,
     .bytes = 60,
     .pkts = 1},
};
#define RECORDS (sizeof records / sizeof records[0])

/* ---- asking ---- */

struct text {
    char bytes[64 * 1024];
    size_t len;
    size_t pieces;
    int err; /* to return */
};

static int keep(void *context, const char *bytes, size_t len)
{
    struct text *text = context;
    text->pieces++;
    if (text->err) {
        return text->err;
    }
    assert_true(len && len < sizeof text->bytes - text->len);
    memcpy(text->bytes + text->len, bytes, len);
    text->len += len;
    text->bytes[text->len] = '\0';
    return 0;
}

#define TOKEN ",\"token\":\"t-1\""

/* Takes the token out, which stands before "complete" where there is a store. */
static void take_token(char *text, bool wanted)
{
    char *at = strstr(text, TOKEN ",\"complete\"");
    assert_int_equal(at != NULL, wanted);
    if (at) {
        memmove(at, at + strlen(TOKEN), strlen(at + strlen(TOKEN)) + 1);
    }
}

static void expect_answer(struct pd_tib_snapshot *snapshot, const char *name, const char *params,
                          const char *expected)
{
    struct text *text = calloc(1, sizeof *text);
    const struct pd_query_sink sink = {text, keep};
    struct pd_query query = make_query(name, params);
    bool complete = false;
    assert_int_equal(pd_query_run(&query, snapshot, NULL, 0, &sink, &complete, NULL), 0);
    take_token(text->bytes, true);
    if (strcmp(text->bytes, expected) != 0) {
        fail_msg("%s %s:\n%s\ninstead of\n%s", name, params, text->bytes, expected);
    }
    json_t *json = json_loads(text->bytes, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    assert_int_equal(json_is_true(json_object_get(json, "complete")), complete);
    json_decref(json);
    free(text);
}

#define ID(last, port)                                                                        \
    "{\"flow_id\":{\"src_ip\":\"10.1.1.2\",\"dst_ip\":\"10.2.1." last "\",\"src_port\":" port \
    ",\"dst_port\":80,\"protocol\":6},\"path\":"
#define ROW_NEAR \
    ID("2", "1000") "[1,9,2],\"stime_us\":1500,\"etime_us\":1600,\"bytes\":40,\"pkts\":1}"
#define ROW_FAR \
    ID("2", "1000") "[1,9,17,11,3],\"stime_us\":1000,\"etime_us\":2500,\"bytes\":300,\"pkts\":4}"
#define ROW_OTHER \
    ID("9", "1000") "[1,9,17,11,3],\"stime_us\":3000,\"etime_us\":4000,\"bytes\":1500,\"pkts\":2}"
#define ROW_WRONG                                                                                \
    ID("2", "2000")                                                                              \
    "[],\"tags\":[9,9],\"dscp\":3,\"state\":\"infeasible\",\"stime_us\":5000,\"etime_us\":5000," \
    "\"bytes\":60,\"pkts\":1}"
#define ROW_RACK                                                                                 \
    "{\"flow_id\":{\"src_ip\":\"fd00::2\",\"dst_ip\":\"fd00::3\",\"src_port\":0,\"dst_port\":0," \
    "\"protocol\":58},\"path\":[1],\"stime_us\":900,\"etime_us\":950,\"bytes\":64,\"pkts\":1}"
#define END                    ",\"complete\":true}"
#define TOKEN                  ",\"token\":\"t-1\""
#define SUMS_OPEN(bytes, pkts) "\"bytes\":" #bytes ",\"pkts\":" #pkts
#define SUMS(bytes, pkts)      "\"bytes\":" #bytes ",\"pkts\":" #pkts "}"
#define RECORD(from, to, bytes, pkts) \
    "[1,9,17,11,3],\"stime_us\":" #from ",\"etime_us\":" #to "," SUMS(bytes, pkts)
#define TOP_FLOW(last, port)                                                                  \
    "{\"flow_id\":{\"src_ip\":\"10.1.1.2\",\"dst_ip\":\"10.2.1." last "\",\"src_port\":" port \
    ",\"dst_port\":80,\"protocol\":6},"
#define TOP_FLOW6                                                                                \
    "{\"flow_id\":{\"src_ip\":\"fd00::2\",\"dst_ip\":\"fd00::3\",\"src_port\":0,\"dst_port\":0," \
    "\"protocol\":58},"
#define HOST(ip)                       "{\"src_ip\":\"" ip "\","
#define LINK(link)                     "{\"link\":\"" link "\","
#define PAIR(src, dst)                 "{\"src_switch\":" #src ",\"dst_switch\":" #dst ","
#define BROKEN(last, port, path, rule) ID(last, port) path ",\"rule\":\"" rule "\"}"
#define ID6                                                                                      \
    "{\"src_ip\":\"fd00::2\",\"dst_ip\":\"fd00::3\",\"src_port\":0,\"dst_port\":0,\"protocol\":" \
    "58}"
#define BIN(from, n) "{\"from_bytes\":" #from ",\"flows\":" #n "}"

static const struct {
    const char *name, *params, *answer;
} cases[] = {
    {"getFlows", "",
     "{\"flows\":[" ROW_NEAR "," ROW_FAR "," ROW_WRONG "," ROW_OTHER "," ROW_RACK "]" END},
    {"getFlows", "link=*-*",
     "{\"flows\":[" ROW_NEAR "," ROW_FAR "," ROW_WRONG "," ROW_OTHER "," ROW_RACK "]" END},
    {"getFlows", "link=9-17", "{\"flows\":[" ROW_FAR "," ROW_OTHER "]" END},
    {"getFlows", "link=17-9", "{\"flows\":[]" END},
    {"getFlows", "link=*-2", "{\"flows\":[" ROW_NEAR "]" END},
    {"getFlows", "path=1,9,2", "{\"flows\":[" ROW_NEAR "]" END},
    {"getFlows", "from=0.003 to=0.0045", "{\"flows\":[" ROW_OTHER "]" END},
    {"getFlows", "src_ip=fd00::2", "{\"flows\":[" ROW_RACK "]" END},
    {"getPaths", "src_ip=10.1.1.2 dst_ip=10.2.1.2 src_port=1000",
     "{\"paths\":[[1,9,2],[1,9,17,11,3]]" END},
    {"getPaths", "link=9-17", "{\"paths\":[[1,9,17,11,3]]" END},
    {"getPaths", "",
     "{\"paths\":[[1],[1,9,2],[1,9,17,11,3]],\"infeasible\":[{\"tags\":[9,9],\"dscp\":3}]" END},
    {"getPaths", "dst_port=81", "{\"paths\":[]" END},
    {"getCount", "path=1,9,17,11,3 dst_ip=10.2.1.2", "{\"bytes\":300,\"pkts\":4" END},
    {"getCount", "protocol=17", "{\"bytes\":0,\"pkts\":0" END},
    {"getDuration", "dst_ip=10.2.1.2 src_port=1000",
     "{\"stime_us\":1000,\"etime_us\":2500,\"duration_us\":1500" END},
    {"getDuration", "dst_port=81", "{\"stime_us\":null,\"etime_us\":null,\"duration_us\":0" END},
    {"topRecords", "k=2",
     "{\"top\":[" ID("9", "1000") RECORD(3000, 4000, 1500, 2) "," ID("2", "1000")
         RECORD(2000, 2500, 200, 3) "]" END},
    {"topRecords", "k=2 by=pkts",
     "{\"top\":[" ID("2", "1000") RECORD(2000, 2500, 200, 3) "," ID("9", "1000")
         RECORD(3000, 4000, 1500, 2) "]" END},
    {"topRecords", "src_port=2000", "{\"top\":[" ROW_WRONG "]" END},
    {"topRecords", "src_port=9", "{\"top\":[]" END},
    {"topFlows", "",
     "{\"top\":[" TOP_FLOW("9", "1000") SUMS(1500, 2) "," TOP_FLOW("2", "1000")
         SUMS(340, 5) "," TOP_FLOW6 SUMS(64, 1) "," TOP_FLOW("2", "2000") SUMS(60, 1) "]" END},
    {"topFlows", "by=pkts k=1 link=9-17", "{\"top\":[" TOP_FLOW("2", "1000") SUMS(300, 4) "]" END},
    {"topHosts", "k=9",
     "{\"top\":[" HOST("10.1.1.2") SUMS(1900, 8) "," HOST("fd00::2") SUMS(64, 1) "]" END},
    {"topLinks", "",
     "{\"top\":[" LINK("1-9") SUMS(1840, 7) "," LINK("9-17") SUMS(1800, 6) "," LINK("11-3")
         SUMS(1800, 6) "," LINK("17-11") SUMS(1800, 6) "," LINK("9-2") SUMS(40, 1) "]" END},
    {"topLinks", "k=1 link=9-2", "{\"top\":[" LINK("1-9") SUMS(40, 1) "]" END},
    {"flowSizes", "link=9-17 bin_bytes=1000", "{\"bins\":[" BIN(0, 1) "," BIN(1000, 1) "]" END},
    {"flowSizes", "link=*-* bin_bytes=50",
     "{\"bins\":[" BIN(0, 1) "," BIN(50, 2) "," BIN(300, 1) "," BIN(1500, 1) "]" END},
    {"flowSizes", "link=17-9 bin_bytes=50", "{\"bins\":[]" END},
    {"trafficMatrix", "",
     "{\"pairs\":[" PAIR(1, 1) SUMS(64, 1) "," PAIR(1, 2) SUMS(40, 1) "," PAIR(1, 3)
         SUMS(1800, 6) "]" END},
    {"pathBytes", "dst_ip=10.2.1.2",
     "{\"paths\":[{\"path\":[],\"tags\":[9,9],\"dscp\":3," SUMS(60, 1) ",{\"path\":[1,9,2]," SUMS(
         40, 1) ",{\"path\":[1,9,17,11,3]," SUMS(300, 4) "]" END},
    {"conformance", "max_hops=4", "{\"violations\":[],\"infeasible\":1" END},
    {"conformance", "max_hops=3",
     "{\"violations\":[" BROKEN("2", "1000", "[1,9,17,11,3]", "max_hops") "," BROKEN(
         "9", "1000", "[1,9,17,11,3]", "max_hops") "],\"infeasible\":1" END},
    {"conformance", "max_hops=0 link=9-2",
     "{\"violations\":[" BROKEN("2", "1000", "[1,9,2]", "max_hops") "]" END},
    {"conformance", "avoid=77,2 must_pass=1,17 src_port=1000",
     "{\"violations\":[" BROKEN("2", "1000", "[1,9,2]", "avoid") "," BROKEN("2", "1000", "[1,9,2]",
                                                                            "must_pass") "]" END},
    {"conformance", "must_pass=1", "{\"violations\":[],\"infeasible\":1" END},
    {"conformance", "allow=10.1.0.0/16>10.2.0.0/16 protocol=6", "{\"violations\":[]" END},
    {"conformance", "allow=10.1.1.0/24>10.2.1.2/32,::/0>::/0",
     "{\"violations\":[" BROKEN("9", "1000", "[1,9,17,11,3]", "allow") "]" END},
    {"conformance", "allow=10.1.1.0/24>10.2.1.8/29,fd00::/127>fd00::/127",
     "{\"violations\":[" BROKEN("2", "1000", "[1,9,2]", "allow") "," BROKEN(
         "2", "1000", "[1,9,17,11,3]",
         "allow") "," BROKEN("2", "2000", "[],\"tags\":[9,9],\"dscp\":3",
                             "allow") ","
                                      "{\"flow_id\":" ID6 ",\"path\":[1],\"rule\":\"allow\"}]" END},
    {"distinct", "of=flows", "{\"count\":4" END},
    {"distinct", "of=sources", "{\"count\":2" END},
    {"distinct", "of=sources dst_port=81", "{\"count\":0" END},
    {"distinct", "of=flows link=9-17 since=t-1", "{\"count\":2" END},
};

static void answers_are_those_of_the_contract(void **state)
{
    struct store store;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_answer(open_store(&store, records, RECORDS), cases[i].name, cases[i].params,
                      cases[i].answer);
    }
}

/* The order of the records does not show in the answer. */
static void equal_stores_give_equal_bytes(void **state)
{
    struct pd_tib_record reversed[RECORDS];
    struct store store;
    (void)state;
    for (size_t i = 0; i < RECORDS; i++) {
        reversed[i] = records[RECORDS - 1 - i];
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_answer(open_store(&store, reversed, RECORDS), cases[i].name, cases[i].params,
                      cases[i].answer);
    }
}

/* Half of the records in the store, half live: the same answers, and those that do not match are
 * left out. */
static void live_records_count_like_stored_ones(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t stored = 0; stored <= RECORDS; stored++) {
            struct text *text = calloc(1, sizeof *text);
            const struct pd_query_sink sink = {text, keep};
            struct pd_query query = make_query(cases[i].name, cases[i].params);
            struct store store;
            bool complete = false;
            assert_int_equal(
                pd_query_run(&query, stored ? open_store(&store, records, stored) : NULL,
                             records + stored, RECORDS - stored, &sink, &complete, NULL),
                0);
            take_token(text->bytes, stored);
            assert_string_equal(text->bytes, cases[i].answer);
            assert_true(complete);
            free(text);
        }
    }
}

/* A row a line, then an object with the rest. */
static const struct {
    const char *name, *params, *answer;
} lines[] = {
    {"getFlows", "link=9-17", ROW_FAR "\n" ROW_OTHER "\n{\"token\":\"t-1\",\"complete\":true}\n"},
    {"getFlows", "link=17-9", "{\"token\":\"t-1\",\"complete\":true}\n"},
    {"getPaths", "",
     "[1]\n[1,9,2]\n[1,9,17,11,3]\n{\"infeasible\":[{\"tags\":[9,9],\"dscp\":3}]" TOKEN
     ",\"complete\":true}\n"},
    {"getCount", "protocol=17", "{\"bytes\":0,\"pkts\":0" TOKEN ",\"complete\":true}\n"},
    {"flowSizes", "link=9-17 bin_bytes=1000",
     BIN(0, 1) "\n" BIN(1000, 1) "\n{\"token\":\"t-1\",\"complete\":true}\n"},
    {"conformance", "max_hops=1 link=9-2",
     BROKEN("2", "1000", "[1,9,2]", "max_hops") "\n{\"token\":\"t-1\",\"complete\":true}\n"},
};

static void ndjson_has_a_row_a_line(void **state)
{
    struct store store;
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct bytes bytes = {NULL, 0};
        const struct pd_query_sink sink = {&bytes, bytes_keep};
        struct pd_query query = make_query(lines[i].name, lines[i].params);
        bool complete = false;
        assert_int_equal(pd_query_run_as(&query, PD_FORM_NDJSON,
                                         open_store(&store, records, RECORDS), NULL, 0, &sink,
                                         &complete, NULL),
                         0);
        assert_string_equal(bytes.at, lines[i].answer);
        assert_true(complete);
        bytes_free(&bytes);
    }
}

static void damage_makes_the_answer_incomplete(void **state)
{
    struct store store;
    struct text *text = calloc(1, sizeof *text);
    const struct pd_query_sink sink = {text, keep};
    struct pd_query query = make_query("getCount", "dst_ip=10.2.1.2");
    bool complete = true;
    (void)state;
    open_store(&store, records, RECORDS)->damaged = 1;
    assert_int_equal(pd_query_run(&query, &store.head, NULL, 0, &sink, &complete, NULL), 0);
    assert_false(complete);
    assert_string_equal(text->bytes, "{\"bytes\":400,\"pkts\":6" TOKEN ",\"complete\":false}");
    free(text);
}

/* Tags when nothing else is asked for; what others told of is never added to that. */
static void origins_are_kept_apart(void **state)
{
    static const struct pd_claim trace = {.path = &far, .origin = PD_ORIGIN_TRACE};
    static const struct pd_path gap = {.len = 3, .switches = {1, 0, 2}};
    static const struct pd_claim probe = {
        .path = &gap, .origin = PD_ORIGIN_PROBE, .state = PD_CLAIM_PARTIAL};
    struct pd_tib_record both[3] = {records[1], records[1], records[1]};
    struct pd_error error = {0};
    struct store store;
    struct pd_tib_snapshot *snapshot;
    (void)state;
    both[1].claim = &trace;
    both[1].path = &far;
    both[1].retransmissions = 7;
    both[2].claim = &probe;
    both[2].path = &gap;
    snapshot = open_store(&store, both, 3);
    expect_answer(snapshot, "getCount", "", "{" SUMS_OPEN(1500, 2) END);
    expect_answer(snapshot, "getCount", "origin=trace", "{" SUMS_OPEN(1500, 2) END);
    expect_answer(
        snapshot, "pathBytes", "origin=any",
        "{\"paths\":[{\"path\":[1,0,2],\"origin\":\"probe\",\"state\":\"partial\"," SUMS(
            1500, 2) ",{\"path\":[1,9,17,11,3]," SUMS(1500,
                                                      2) ",{\"path\":[1,9,17,11,3],\"origin\":"
                                                         "\"trace\"," SUMS(1500, 2) "]" END);
    expect_answer(snapshot, "getPaths", "origin=any", "{\"paths\":[[1,0,2],[1,9,17,11,3]]" END);
    expect_answer(snapshot, "getPaths", "link=*-2 origin=any", "{\"paths\":[]" END);
    struct pd_query query;
    pd_query_init(&query, PD_QUERY_GET_COUNT);
    assert_int_equal(pd_query_set(&query, "origin", "any", NULL), 0);
    assert_int_equal(pd_query_finish(&query, &error), -PD_E_VALUE);
    assert_memory_equal(error.text, "origin:", 7);
}

static void failures_write_nothing(void **state)
{
    struct store store;
    struct text *text = calloc(1, sizeof *text);
    const struct pd_query_sink sink = {text, keep};
    struct pd_query query = make_query("getFlows", "");
    struct pd_error error = {0};
    bool complete;
    (void)state;
    open_store(&store, records, RECORDS);
    store.code = -EIO;
    assert_int_equal(pd_query_run(&query, &store.head, NULL, 0, &sink, &complete, &error), -EIO);
    assert_non_null(strstr(error.text, "getFlows"));
    store.code = 0;
    assert_int_equal(pd_query_set(&query, "since", "t-2", NULL), 0);
    assert_int_equal(pd_query_run(&query, &store.head, NULL, 0, &sink, &complete, &error),
                     -PD_E_CONFLICT);
    assert_memory_equal(error.text, "since:", 6);
    *query.since = '\0';
    query.memory_bytes = 1000;
    assert_int_equal(pd_query_run(&query, &store.head, NULL, 0, &sink, &complete, &error),
                     -PD_E_TOO_LARGE);
    assert_non_null(strstr(error.text, "memory"));
    assert_int_equal(text->pieces, 0);
    text->err = -EPIPE;
    query.memory_bytes = PD_QUERY_MEMORY_BYTES;
    assert_int_equal(pd_query_run(&query, &store.head, NULL, 0, &sink, &complete, &error), -EPIPE);
    assert_int_equal(text->pieces, 1);
    free(text);
}

/* A sum that reached the end of exact numbers stays there, and says so. */
static void capped_sums_make_the_answer_incomplete(void **state)
{
    static const char *const names[] = {"getFlows", "getCount", "topRecords",    "topFlows",
                                        "topHosts", "topLinks", "trafficMatrix", "pathBytes"};
    struct pd_tib_record large[2] = {records[1], records[1]};
    (void)state;
    large[0].bytes = large[1].bytes = PD_TIB_SUM_MAX / 2 + 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct text *text = calloc(1, sizeof *text);
        const struct pd_query_sink sink = {text, keep};
        struct pd_query query = make_query(names[i], "");
        struct store store;
        bool complete = false, capped = strcmp(names[i], "topRecords") != 0;
        assert_int_equal(
            pd_query_run(&query, open_store(&store, large, 2), NULL, 0, &sink, &complete, NULL), 0);
        assert_int_equal(complete, !capped);
        assert_int_equal(strstr(text->bytes, "\"bytes\":9007199254740991") != NULL, capped);
        free(text);
    }
}

static void long_answers_come_in_pieces(void **state)
{
    enum { N = 300 };
    struct pd_tib_record *many = calloc(N, sizeof *many);
    struct text *text = calloc(1, sizeof *text);
    const struct pd_query_sink sink = {text, keep};
    struct pd_query query = make_query("getFlows", "");
    struct store store;
    bool complete = false;
    (void)state;
    for (unsigned i = 0; i < N; i++) {
        many[i] = records[1];
        many[i].flow.src_port = (uint16_t)(i * 7 % N);
    }
    open_store(&store, many, N);
    assert_int_equal(pd_query_run(&query, &store.head, NULL, 0, &sink, &complete, NULL), 0);
    assert_true(text->pieces > 2);
    json_t *json = json_loads(text->bytes, 0, NULL);
    json_t *flows = json_object_get(json, "flows");
    assert_int_equal(json_array_size(flows), N);
    for (unsigned i = 0; i < N; i++) {
        json_t *id = json_object_get(json_array_get(flows, i), "flow_id");
        assert_int_equal(json_integer_value(json_object_get(id, "src_port")), i);
    }
    json_decref(json);
    free(text);
    free(many);
}

/* ---- linkLoad ---- */

/* Sums of a link in an answer's list; 0 where it is not in it. */
static void add_link(const json_t *list, const char *link, uint64_t ret_sums[2])
{
    json_t *row;
    size_t i;
    json_array_foreach(list, i, row)
    {
        if (!strcmp(json_string_value(json_object_get(row, "link")), link)) {
            ret_sums[0] += (uint64_t)json_integer_value(json_object_get(row, "bytes"));
            ret_sums[1] += (uint64_t)json_integer_value(json_object_get(row, "pkts"));
        }
    }
}

static json_t *ask(const char *name, const char *params)
{
    struct text *text = calloc(1, sizeof *text);
    const struct pd_query_sink sink = {text, keep};
    struct pd_query query = make_query(name, params);
    struct store store;
    bool complete = false;
    assert_int_equal(pd_query_finish(&query, NULL), 0);
    assert_int_equal(
        pd_query_run(&query, open_store(&store, records, RECORDS), NULL, 0, &sink, &complete, NULL),
        0);
    json_t *json = json_loads(text->bytes, 0, NULL);
    if (!json) {
        fail_msg("%s", text->bytes);
    }
    free(text);
    return json;
}

/* However time is cut, the parts are the whole; and one window is what the formula says. */
static void windows_that_adjoin_add_up(void **state)
{
    static const char *const links[] = {"1-9", "9-17", "17-11", "11-3", "9-2"};
    static const unsigned edges_us[] = {0,    999,  1000, 1001, 1533, 2000,
                                        2211, 2501, 3777, 4001, 9000};
    json_t *whole = ask("topLinks", "k=100");
    (void)state;
    for (size_t l = 0; l < sizeof links / sizeof *links; l++) {
        uint64_t wanted[2] = {0}, found[2] = {0};
        add_link(json_object_get(whole, "top"), links[l], wanted);
        for (size_t i = 1; i < sizeof edges_us / sizeof *edges_us; i++) {
            char params[64];
            snprintf(params, sizeof params, "from=0.%06u to=0.%06u", edges_us[i - 1], edges_us[i]);
            json_t *part = ask("linkLoad", params);
            add_link(json_object_get(part, "links"), links[l], found);
            assert_int_equal(json_integer_value(json_object_get(part, "from_us")), edges_us[i - 1]);
            assert_int_equal(json_integer_value(json_object_get(part, "to_us")), edges_us[i]);
            json_decref(part);
        }
        assert_int_equal(found[0], wanted[0]);
        assert_int_equal(found[1], wanted[1]);
    }
    json_decref(whole);
    /* 1500 bytes, 2 packets in 1001 us from 3000 on: F(3501) = floor(1500 * 501 / 1001) = 750 */
    uint64_t half[2] = {0};
    json_t *part = ask("linkLoad", "from=0.003 to=0.003501 src_port=1000 dst_ip=10.2.1.9");
    add_link(json_object_get(part, "links"), "9-17", half);
    assert_int_equal(half[0], 750);
    assert_int_equal(half[1], 1);
    assert_int_equal(json_array_size(json_object_get(part, "links")), 4);
    json_decref(part);
}

/* Nothing is so long ago. */
static void the_last_ten_seconds_are_meant(void **state)
{
    json_t *answer = ask("linkLoad", "");
    const json_int_t from = json_integer_value(json_object_get(answer, "from_us"));
    const json_int_t to = json_integer_value(json_object_get(answer, "to_us"));
    (void)state;
    assert_int_equal(to - from, PD_QUERY_WINDOW_US);
    assert_int_equal(json_array_size(json_object_get(answer, "links")), 0);
    json_decref(answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_of_the_contract),
        cmocka_unit_test(equal_stores_give_equal_bytes),
        cmocka_unit_test(live_records_count_like_stored_ones),
        cmocka_unit_test(ndjson_has_a_row_a_line),
        cmocka_unit_test(damage_makes_the_answer_incomplete),
        cmocka_unit_test(origins_are_kept_apart),
        cmocka_unit_test(failures_write_nothing),
        cmocka_unit_test(capped_sums_make_the_answer_incomplete),
        cmocka_unit_test(long_answers_come_in_pieces),
        cmocka_unit_test(windows_that_adjoin_add_up),
        cmocka_unit_test(the_last_ten_seconds_are_meant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
