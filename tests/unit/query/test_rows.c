/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, times, paths and tables as people read them. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <stdlib.h>
#include <string.h>

#include "codec/tagging/mark.h"
#include "query/rows/cells.h"
#include "query/rows/record.h"
#include "query/rows/text.h"

static const struct {
    const char *(*format)(uint64_t number, char text[PD_TEXT_NUMBER_BYTES]);
    uint64_t number;
    const char *text;
} numbers[] = {
    {pd_row_text_number, 0, "0"},
    {pd_row_text_number, 999, "999"},
    {pd_row_text_number, 1000, "1,000"},
    {pd_row_text_number, 1234567, "1,234,567"},
    {pd_row_text_number, UINT64_MAX, "18,446,744,073,709,551,615"},
    {pd_row_text_bytes, 0, "0 B"},
    {pd_row_text_bytes, 1023, "1023 B"},
    {pd_row_text_bytes, 1024, "1.0 KiB"},
    {pd_row_text_bytes, 1536, "1.5 KiB"},
    {pd_row_text_bytes, 1024 * 1024 - 1, "1.0 MiB"},
    {pd_row_text_bytes, UINT64_C(5) << 40, "5.0 TiB"},
    {pd_row_text_bytes, UINT64_MAX, "16.0 EiB"},
    {pd_row_text_span, 0, "0 s"},
    {pd_row_text_span, 999, "999 us"},
    {pd_row_text_span, 1000, "1.000 ms"},
    {pd_row_text_span, 12345, "12.345 ms"},
    {pd_row_text_span, 1204567, "1.204 s"},
    {pd_row_text_span, 65000000, "1 min 05 s"},
    {pd_row_text_span, UINT64_C(3) * 3600000000 + 120000000, "3 h 02 min"},
};

static void numbers_read_well(void **state)
{
    char text[PD_TEXT_NUMBER_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        assert_string_equal(numbers[i].format(numbers[i].number, text), numbers[i].text);
    }
}

static void paths_read_well(void **state)
{
    const struct pd_style ascii = {.utf8 = false}, utf8 = {.utf8 = true};
    struct pd_path path = {.len = 3, .switches = {1, 9, 4294967295}};
    struct pd_claim wrong = {.path = &pd_path_empty, .state = PD_CLAIM_INFEASIBLE};
    struct pd_claim partial = {.path = &path, .state = PD_CLAIM_PARTIAL};
    char text[PD_TEXT_WAY_BYTES];
    (void)state;
    assert_string_equal(pd_row_text_path(&path, &ascii, text), "1-9-4294967295");
    assert_string_equal(pd_row_text_path(&path, &utf8, text), "1\u21929\u21924294967295");
    assert_string_equal(pd_row_text_way(&wrong, &utf8, text), "no tags");
    wrong.mark = pd_tagging_mark((uint16_t[]){9, 14}, 2, 0);
    assert_string_equal(pd_row_text_way(&wrong, &utf8, text), "tags 9,14");
    wrong.mark = pd_tagging_mark(NULL, 0, 3);
    assert_string_equal(pd_row_text_way(&wrong, &utf8, text), "no tags dscp 3");
    assert_string_equal(pd_row_text_way(&partial, &ascii, text), "1-9-4294967295 (partial)");
    partial.origin = PD_ORIGIN_TRACE;
    assert_string_equal(pd_row_text_way(&partial, &ascii, text), "1-9-4294967295 (partial, trace)");
    path.len = PD_PATH_MAX; /* the longest text there is */
    for (unsigned i = 0; i < PD_PATH_MAX; i++) {
        path.switches[i] = UINT32_MAX;
    }
    assert_int_equal(strlen(pd_row_text_path(&path, &utf8, text)), PD_PATH_MAX * 13 - 3);
}

static char *print(const struct pd_rows_table *table)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    assert_int_equal(pd_rows_print(table, out), 0);
    fclose(out);
    return text;
}

static void tables_are_aligned(void **state)
{
    static const struct pd_rows_column columns[] = {
        {.title = "NAME"}, {.title = "N", .right = true}, {.title = "PATH"}};
    static const char *const cells[] = {"a", "1,000", "1→2→3", "longer", "7", "1"};
    struct pd_style style = {.utf8 = true};
    struct pd_rows_table *table = pd_rows_new(columns, 3, &style);
    (void)state;
    char *text = print(table);
    assert_string_equal(text, "");
    free(text);
    for (size_t i = 0; i < 6; i++) {
        pd_rows_cell(table, cells[i]);
    }
    text = print(table);
    assert_string_equal(text, "NAME        N  PATH\n"
                              "a       1,000  1→2→3\n"
                              "longer      7  1\n");
    free(text);
    style = (struct pd_style){.colour = true};
    text = print(table);
    assert_memory_equal(text, "\033[1mNAME", 8);
    assert_non_null(strstr(text, "PATH\033[0m\n"));
    free(text);
    pd_rows_free(table);
}

/* What is needed least goes first, and the first column never; a line says so. */
static void narrow_terminals_get_less(void **state)
{
    static const struct pd_rows_column columns[] = {{.title = "NAME"},
                                                    {.title = "SPARE", .spare = 2},
                                                    {.title = "N", .right = true, .spare = 1},
                                                    {.title = "LAST"}};
    static const struct {
        unsigned width;
        const char *text;
    } cases[] = {
        {20, "NAME  SPARE  N  LAST\na     b      7  c\n"},
        {19, "NAME  N  LAST\na     7  c\n(too narrow for SPARE)\n"},
        {12, "NAME  LAST\na     c\n(too narrow for SPARE,\n N)\n"},
        {1, "NAME\na\n(too narrow for SPARE,\n N,\n LAST)\n"},
    };
    struct pd_style style = {.utf8 = true};
    struct pd_rows_table *table = pd_rows_new(columns, 4, &style);
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        pd_rows_cell(table, (const char *const[]){"a", "b", "7", "c"}[i]);
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        style.width = cases[i].width;
        char *text = print(table);
        assert_string_equal(text, cases[i].text);
        free(text);
    }
    pd_rows_free(table);
}

/* Flows have five columns in CSV; rows go out at once. */
static void csv_streams(void **state)
{
    const struct pd_style style = {.csv = true};
    struct pd_path path = {.len = 2, .switches = {1, 9}};
    const struct pd_tib_record record = {.flow = {.ip_version = 4, .src_port = 5, .protocol = 6},
                                         .path = &path,
                                         .stime_us = 1700000000000000,
                                         .etime_us = 1700000000000007,
                                         .bytes = 1234,
                                         .pkts = 2};
    struct pd_rows_table *rows =
        pd_rows_new(pd_rows_record_columns, PD_ROWS_RECORD_COLUMNS, &style);
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    (void)state;
    pd_rows_stream(rows, out);
    pd_rows_record(rows, &record);
    fflush(out);
    assert_string_equal(
        text, "src_ip,src_port,dst_ip,dst_port,protocol,path,first_packet,lasted_us,packets,bytes\n"
              "0.0.0.0,5,0.0.0.0,0,6,1-9,2023-11-14T22:13:20.000000Z,7,2,1234\n");
    assert_int_equal(pd_rows_print(rows, out), 0);
    fclose(out);
    pd_rows_free(rows);
    free(text);
}

static const char *name_of(void *context, uint32_t id)
{
    return id == 9 ? context : NULL;
}

static void switches_have_names(void **state)
{
    char name[] = "agg\n1-1", text[PD_TEXT_PATH_BYTES];
    const struct pd_style_names names = {name, name_of};
    const struct pd_style ascii = {.names = &names}, utf8 = {.utf8 = true, .names = &names};
    struct pd_path path = {.len = 2, .switches = {1, 9}};
    (void)state;
    assert_string_equal(pd_row_text_path(&path, &ascii, text), "1:agg?1-1");
    assert_string_equal(pd_row_text_path(&path, &utf8, text), "1\u2192agg?1-1");
}

static void csv_is_quoted_where_it_has_to_be(void **state)
{
    static const struct pd_rows_column columns[] = {{.title = "FIRST PACKET"},
                                                    {.title = "BYTES", .right = true},
                                                    {.title = "X", .csv = "x_us"}};
    struct pd_style style = pd_row_style_as(stdout, true);
    struct pd_rows_table *table = pd_rows_new(columns, 3, &style);
    (void)state;
    char *text = print(table);
    assert_string_equal(text, "first_packet,bytes,x_us\n");
    free(text);
    pd_rows_cell(table, "a,b");
    pd_rows_number(table, 1234567);
    pd_rows_span(table, 1500000);
    pd_rows_cell(table, "say \"no\"\n");
    pd_rows_bytes(table, 2048);
    pd_rows_cell(table, "-");
    pd_rows_time(table, 1700000000250000);
    pd_rows_word(table, "a word that is whole", 4);
    pd_rows_cell(table, " blank");
    text = print(table);
    assert_string_equal(text, "first_packet,bytes,x_us\n"
                              "\"a,b\",1234567,1500000\n"
                              "\"say \"\"no\"\"\n\",2048,\n"
                              "2023-11-14T22:13:20.250000Z,a word that is whole,\" blank\"\n");
    free(text);
    pd_rows_free(table);
}

/* Neither files nor NO_COLOR nor dumb terminals get colour. */
static void colour_is_for_terminals(void **state)
{
    FILE *file = tmpfile();
    (void)state;
    assert_non_null(file);
    assert_false(pd_row_style_of(file).colour);
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_read_well),
        cmocka_unit_test(paths_read_well),
        cmocka_unit_test(tables_are_aligned),
        cmocka_unit_test(narrow_terminals_get_less),
        cmocka_unit_test(csv_streams),
        cmocka_unit_test(switches_have_names),
        cmocka_unit_test(csv_is_quoted_where_it_has_to_be),
        cmocka_unit_test(colour_is_for_terminals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
