/* SPDX-License-Identifier: Apache-2.0 */
/* Records read from lines of JSON: good ones, and every way that a line can be wrong. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <stdlib.h>
#include <string.h>

#include "cli/ndjson.h"
#include "codec/tagging/mark.h"

#define ID                                                                                         \
    "\"flow_id\":{\"src_ip\":\"10.1.1.2\",\"dst_ip\":\"10.2.1.2\",\"src_port\":1,\"dst_port\":80," \
    "\"protocol\":6}"
#define ID6                                                                                     \
    "\"flow_id\":{\"src_ip\":\"fd00::2\",\"dst_ip\":\"fd00::3\",\"src_port\":0,\"dst_port\":0," \
    "\"protocol\":58}"
#define PATH  "\"path\":[1,9,2]"
#define TIMES "\"stime_us\":10,\"etime_us\":20"
#define SUMS  "\"bytes\":1500,\"pkts\":2"
#define GOOD  "{" ID "," PATH "," TIMES "," SUMS "}"
#define WRONG "{" ID6 ",\"path\":[],\"tags\":[9,14],\"dscp\":3," TIMES "," SUMS "}"

#define TEN   "1,2,3,4,5,6,7,8,9,1,"
#define SIXTY TEN TEN TEN TEN TEN TEN

struct taken {
    struct pd_tib_record records[8];
    struct pd_path paths[8];
    struct pd_claim claims[8];
    size_t len;
    uint64_t bytes;
    int err; /* to return */
};

static int take(void *context, const struct pd_tib_record *records, size_t n, uint64_t bytes)
{
    struct taken *taken = context;
    assert_true(n && n <= 8 - taken->len);
    for (size_t i = 0; i < n; i++) {
        taken->records[taken->len] = records[i];
        taken->claims[taken->len] = pd_tib_claim(&records[i]);
        taken->paths[taken->len++] = *records[i].path;
    }
    taken->bytes = bytes;
    return taken->err;
}

static int read_text(const char *text, size_t len, struct taken *taken, struct pd_error *error)
{
    const struct pd_ndjson_taker taker = {take, taken};
    FILE *in = tmpfile();
    assert_non_null(in);
    assert_int_equal(fwrite(text, 1, len, in), len);
    rewind(in);
    int err = pd_cli_ndjson_read(in, &taker, error);
    fclose(in);
    return err;
}

static void lines_become_records(void **state)
{
    static const char text[] = GOOD "\n\n" WRONG "\r\n" GOOD; /* the last line has no end */
    struct taken taken = {.len = 0};
    struct pd_error error = {0};
    (void)state;
    assert_int_equal(read_text(text, strlen(text), &taken, &error), 0);
    assert_int_equal(taken.len, 3);
    assert_int_equal(taken.bytes, strlen(text));
    assert_int_equal(taken.records[0].flow.ip_version, 4);
    assert_int_equal(taken.records[0].flow.dst_port, 80);
    assert_int_equal(taken.records[0].stime_us, 10);
    assert_int_equal(taken.records[0].etime_us, 20);
    assert_int_equal(taken.records[0].bytes, 1500);
    assert_int_equal(taken.records[0].pkts, 2);
    assert_int_equal(taken.paths[0].len, 3);
    assert_int_equal(taken.paths[0].switches[2], 2);
    assert_int_equal(taken.records[1].flow.ip_version, 6);
    assert_int_equal(taken.paths[1].len, 0);
    const struct pd_mark mark = pd_tagging_mark((uint16_t[]){9, 14}, 2, 3);
    assert_true(pd_mark_equal(&taken.claims[1].mark, &mark));
    assert_int_equal(taken.claims[1].state, PD_CLAIM_INFEASIBLE);
    assert_int_equal(taken.claims[0].state, PD_CLAIM_EXACT);
    assert_true(pd_path_equal(&taken.paths[0], &taken.paths[2]));
}

static const struct {
    const char *line, *place;
} bad[] = {
    {"[7]", "not an object"},
    {"7", "not JSON"},
    {"{", "not JSON"},
    {GOOD GOOD, "not JSON"},
    {"\"", "not JSON"},
    {"{}", "flow_id:"},
    {"{" PATH "," TIMES "," SUMS "}", "flow_id:"},
    {"{" ID "," TIMES "," SUMS "}", "path:"},
    {"{" ID "," PATH ",\"etime_us\":20," SUMS "}", "stime_us:"},
    {"{" ID "," PATH ",\"stime_us\":21,\"etime_us\":20," SUMS "}", "etime_us:"},
    {"{" ID "," PATH ",\"stime_us\":1,\"etime_us\":9007199254740992," SUMS "}", "etime_us:"},
    {"{" ID "," PATH "," TIMES ",\"pkts\":2}", "bytes:"},
    {"{" ID "," PATH "," TIMES ",\"bytes\":-1,\"pkts\":2}", "bytes:"},
    {"{" ID "," PATH "," TIMES ",\"bytes\":1e3,\"pkts\":2}", "bytes:"},
    {"{" ID "," PATH "," TIMES ",\"bytes\":9223372036854775808,\"pkts\":2}", "not JSON"},
    {"{" ID "," PATH "," TIMES "," SUMS "," SUMS "}", "duplicate"},
    {"{" ID "," PATH "," TIMES "," SUMS ",\"byte\":1}", "byte:"},
    {"{" ID "," PATH "," TIMES "," SUMS ",\"tags\":[1]}", "tags:"},
    {"{" ID ",\"path\":[]," TIMES "," SUMS "}", "tags:"},
    {"{" ID ",\"path\":[],\"tags\":[1,2,3,4,5]," TIMES "," SUMS "}", "tags:"},
    {"{" ID ",\"path\":[],\"tags\":[],\"dscp\":256," TIMES "," SUMS "}", "dscp:"},
    {"{" ID ",\"path\":[1,0]," TIMES "," SUMS "}", "path:"},
    {"{" ID ",\"path\":[4294967296]," TIMES "," SUMS "}", "path:"},
    {"{" ID ",\"path\":\"1\"," TIMES "," SUMS "}", "path:"},
    {"{" ID ",\"path\":[" SIXTY SIXTY "1,2,3,4,5,6,7,8,9]," TIMES "," SUMS "}", "path:"}, /* 129 */
    {"{" ID ",\"path\":[1,0],\"state\":\"exact\"," TIMES "," SUMS "}", "path:"},
    {"{" ID ",\"path\":[],\"state\":\"exact\"," TIMES "," SUMS "}", "path:"},
    {"{" ID "," PATH ",\"state\":\"odd\"," TIMES "," SUMS "}", "state:"},
    {"{" ID "," PATH ",\"origin\":7," TIMES "," SUMS "}", "origin:"},
    {"{" ID "," PATH ",\"candidates\":2," TIMES "," SUMS "}", "candidates:"},
    {"{" ID "," PATH "," TIMES "," SUMS ",\"retransmissions\":4294967296}", "retransmissions:"},
    {"{" ID "," PATH "," TIMES "," SUMS ",\"extra\":[{\"kind\":1,\"bytes\":\"0\"}]}", "extra:"},
    {"{" ID ",\"path\":[],\"mark\":{\"scheme\":200,\"bytes\":\"00\"}," TIMES "," SUMS "}", "mark:"},
    {"{" ID
     ",\"path\":[],\"mark\":{\"scheme\":1,\"bytes\":\"0000000000000000000000000000000000\"}," TIMES
     "," SUMS "}",
     "mark:"}, /* 17 bytes */
    {"{\"flow_id\":[]," PATH "," TIMES "," SUMS "}", "flow_id:"},
    {"{\"flow_id\":{\"src_ip\":\"10.1.1.2\",\"dst_ip\":\"fd00::1\",\"src_port\":1,\"dst_port\":1,"
     "\"protocol\":6}," PATH "," TIMES "," SUMS "}",
     "dst_ip:"},
    {"{\"flow_id\":{\"src_ip\":\"10.1.1.2\",\"dst_ip\":\"10.1.1.3\",\"src_port\":65536,"
     "\"dst_port\":1,\"protocol\":6}," PATH "," TIMES "," SUMS "}",
     "src_port:"},
    {"{\"flow_id\":{\"src_ip\":\"10.1.1.2\",\"dst_ip\":\"10.1.1.3\",\"src_port\":1,\"dst_port\":1,"
     "\"protocol\":6,\"vlan\":1}," PATH "," TIMES "," SUMS "}",
     "vlan:"},
};

/* The error names the line and the member; what stood before was taken. */
static void a_wrong_line_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct taken taken = {.len = 0};
        struct pd_error error = {0};
        char text[2000];
        snprintf(text, sizeof text, GOOD "\n" GOOD "\n%s\n" GOOD "\n", bad[i].line);
        assert_int_equal(read_text(text, strlen(text), &taken, &error), -PD_E_SYNTAX);
        if (!strstr(error.text, "line 3: ") || !strstr(error.text, bad[i].place)) {
            fail_msg("%s: \"%s\" does not name line 3 and %s", bad[i].line, error.text,
                     bad[i].place);
        }
        assert_int_equal(taken.len, 2);
    }
}

/* Zeros, lines without end, and lines just below the limit. */
static void lines_are_bounded(void **state)
{
    size_t len = 3 * PD_NDJSON_LINE_BYTES;
    char *text = malloc(len);
    (void)state;
    assert_non_null(text);
    for (unsigned fill = 0; fill < 3; fill++) {
        struct taken taken = {.len = 0};
        struct pd_error error = {0};
        memset(text, "\0 {"[fill], len);
        assert_int_equal(read_text(text, len, &taken, &error), -PD_E_SYNTAX);
        assert_non_null(strstr(error.text, "line 1: longer"));
        assert_int_equal(taken.len, 0);
    }
    struct taken taken = {.len = 0};
    struct pd_error error = {0};
    memset(text, ' ', len);
    memcpy(text, GOOD, strlen(GOOD));
    text[PD_NDJSON_LINE_BYTES] = '\n';
    memcpy(text + PD_NDJSON_LINE_BYTES + 1, GOOD "\n", strlen(GOOD "\n"));
    assert_int_equal(read_text(text, PD_NDJSON_LINE_BYTES + 1 + strlen(GOOD "\n"), &taken, &error),
                     0);
    assert_int_equal(taken.len, 2);
    free(text);
}

static void a_store_that_fails_stops_it(void **state)
{
    static const char text[] = GOOD "\n" GOOD "\n";
    struct taken taken = {.err = -PD_E_FULL};
    struct pd_error error = {0};
    (void)state;
    assert_int_equal(read_text(text, strlen(text), &taken, &error), -PD_E_FULL);
    assert_int_equal(taken.len, 2);
    assert_string_equal(error.text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_become_records),
        cmocka_unit_test(a_wrong_line_is_named),
        cmocka_unit_test(lines_are_bounded),
        cmocka_unit_test(a_store_that_fails_stops_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
