/* SPDX-License-Identifier: Apache-2.0 */
/* The file form of evidence: what is written is read again, and each line that is no evidence is
 * refused with its number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "evidence/file.h"

#define FLOW(more)                                                                            \
    "{\"flow_id\":{\"src_ip\":\"10.1.1.2\",\"dst_ip\":\"10.2.1.2\",\"src_port\":1,"           \
    "\"dst_port\":80,\"protocol\":6},\"retransmissions\":2,\"pkts\":9,\"paths\":[{\"path\":[" \
    "1,9,0,3],\"pkts\":9,\"origin\":\"trace\",\"reached\":false}]" more "}\n"

struct seen {
    size_t rows, periods, parts;
    uint64_t lost, nodes;
    FILE *copy; /* NULL: nothing is written */
};

static int take(void *context, const struct pd_evidence_period *period)
{
    struct seen *seen = context;
    seen->periods += !period->continues;
    seen->parts++;
    for (size_t i = 0; i < period->rows_len; i++) {
        seen->rows++;
        seen->lost += period->rows[i].lost;
        for (size_t w = 0; w < period->rows[i].ways_len; w++) {
            seen->nodes += period->rows[i].ways[w].nodes_len;
        }
    }
    return seen->copy ? pd_evidence_write(seen->copy, period) : 0;
}

static int read_text(const char *text, size_t bytes, struct seen *seen, struct pd_error *error)
{
    const struct pd_evidence_sink sink = {seen, take};
    FILE *in = fmemopen((void *)(uintptr_t)text, bytes, "r");
    assert_non_null(in);
    memset(error, 0, sizeof *error);
    int err = pd_evidence_read(in, "x.ndjson", &sink, error);
    fclose(in);
    return err;
}

static void both_kinds_are_read(void **state)
{
    static const char text[] = FLOW("") "\n{\"path\":[17,9,1],\"pkts\":1000,\"lost\":3}\n"
                                        "{\"path\":[21,1],\"pkts\":0,\"lost\":0,\"origin\":\"x\"}";
    struct seen seen = {0};
    struct pd_error error;
    (void)state;
    assert_int_equal(read_text(text, sizeof text - 1, &seen, &error), 0);
    assert_int_equal(seen.rows, 3);
    assert_int_equal(seen.lost, 5);
    assert_int_equal(seen.nodes, 9);
    assert_int_equal(seen.periods, 1);
}

static void times_make_periods(void **state)
{
    static const char text[] = FLOW(",\"t_s\":0.2") FLOW(",\"t_s\":0.2") FLOW(",\"t_s\":0.4");
    struct seen seen = {0};
    struct pd_error error;
    (void)state;
    assert_int_equal(read_text(text, sizeof text - 1, &seen, &error), 0);
    assert_int_equal(seen.periods, 2);
    assert_int_equal(seen.rows, 3);
}

static void what_is_written_is_read_again(void **state)
{
    static const char text[] = FLOW(",\"srtt_us\":17,\"t_s\":1.5")
        FLOW(",\"t_s\":1.5") "{\"path\":[17,9,1],\"pkts\":1000,\"lost\":3,\"t_s\":1.5}\n";
    char *first = NULL, *second = NULL;
    size_t first_bytes, second_bytes;
    struct seen seen = {.copy = open_memstream(&first, &first_bytes)};
    struct pd_error error;
    (void)state;
    assert_int_equal(read_text(text, sizeof text - 1, &seen, &error), 0);
    fclose(seen.copy);
    seen = (struct seen){.copy = open_memstream(&second, &second_bytes)};
    assert_int_equal(read_text(first, first_bytes, &seen, &error), 0);
    /* cppcheck-suppress useClosedFile ; it is another one by now */
    fclose(seen.copy);
    assert_int_equal(seen.rows, 3);
    assert_string_equal(first, second);
    free(first);
    free(second);
}

static void bad_lines_are_refused_with_their_number(void **state)
{
    static const char *const lines[] = {
        "{",
        "[]",
        "null",
        "{}",
        "{\"flow_id\":{}}",
        "{\"path\":[],\"pkts\":1,\"lost\":0}",
        "{\"path\":[1,2],\"pkts\":1,\"lost\":2}",
        "{\"path\":[1,2],\"pkts\":-1,\"lost\":0}",
        "{\"path\":[1,2.5],\"pkts\":1,\"lost\":0}",
        "{\"path\":[1,4294967296],\"pkts\":1,\"lost\":0}",
        "{\"path\":[1,2],\"lost\":0}",
        "{\"path\":[1,2],\"pkts\":1e400,\"lost\":0}",
        "{\"path\":[1,2],\"pkts\":9,\"pkts\":9,\"lost\":0}",
        "{\"path\":[1,2],\"pkts\":9,\"lost\":0,\"t_s\":-1}",
        "{\"path\":[1,2],\"pkts\":9,\"lost\":0,\"origin\":1}",
        "\x80",
    };
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char text[1000];
        struct seen seen = {0};
        struct pd_error error;
        snprintf(text, sizeof text, "%s%s\n%s", FLOW(""), lines[i], FLOW(""));
        if (!read_text(text, strlen(text), &seen, &error)) {
            fail_msg("taken: %s", lines[i]);
        }
        assert_int_equal(strncmp(error.text, "x.ndjson:2: ", 12), 0);
        assert_true(seen.rows <= 1);
    }
}

/* More packets on a path than the flow sent. */
static void counts_that_contradict_are_refused(void **state)
{
    char text[] = FLOW("");
    struct seen seen = {0};
    struct pd_error error;
    (void)state;
    strstr(text, "\"pkts\":9,\"paths\"")[7] = '8';
    assert_true(read_text(text, strlen(text), &seen, &error) < 0);
    assert_non_null(strstr(error.text, "x.ndjson:1: "));
}

static void a_long_line_is_refused(void **state)
{
    size_t bytes = 3 * (size_t)PD_EVIDENCE_LINE_BYTES;
    char *text = malloc(bytes);
    struct seen seen = {0};
    struct pd_error error;
    (void)state;
    assert_non_null(text);
    memset(text, '[', bytes);
    assert_true(read_text(text, bytes, &seen, &error) < 0);
    assert_non_null(strstr(error.text, "x.ndjson:1: "));
    free(text);
}

/* A period longer than a part is given in several, and is still one. */
static void long_periods_come_in_parts(void **state)
{
    static const char line[] = "{\"path\":[1,2],\"pkts\":9,\"lost\":1}\n";
    size_t lines = 2 * PD_EVIDENCE_PART + 1, bytes = lines * (sizeof line - 1);
    char *text = malloc(bytes);
    struct seen seen = {0};
    struct pd_error error;
    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < lines; i++) {
        memcpy(text + i * (sizeof line - 1), line, sizeof line - 1);
    }
    assert_int_equal(read_text(text, bytes, &seen, &error), 0);
    assert_int_equal(seen.rows, lines);
    assert_int_equal(seen.parts, 3);
    assert_int_equal(seen.periods, 1);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_kinds_are_read),
        cmocka_unit_test(times_make_periods),
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(bad_lines_are_refused_with_their_number),
        cmocka_unit_test(counts_that_contradict_are_refused),
        cmocka_unit_test(a_long_line_is_refused),
        cmocka_unit_test(long_periods_come_in_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
