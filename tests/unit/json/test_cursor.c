/* SPDX-License-Identifier: Apache-2.0 */
/* Members of JSON objects: what is taken, what is refused with which words, and that outputs stay.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "json/cursor.h"

#define TEXT                                                                                \
    "{\"n\":7,\"most\":9007199254740992,\"less\":-1,\"real\":7.5,\"yes\":true,\"no\":null," \
    "\"words\":\"two words\",\"nul\":\"a\\u0000b\",\"red\":\"red\",\"ip\":\"10.0.0.1\"}"

static struct pd_error error;
static json_t *object;
static struct pd_json_cursor at;

static int setup(void **state)
{
    (void)state;
    object = json_loads(TEXT, JSON_ALLOW_NUL, NULL);
    at = (struct pd_json_cursor){
        .object = object, .file = "x.json", .line = 3, .err = -PD_E_SYNTAX, .error = &error};
    return object ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    json_decref(object);
    return 0;
}

static void assert_refused(int err, const char *words)
{
    assert_int_equal(err, -PD_E_SYNTAX);
    assert_string_equal(error.text, words);
}

static void test_numbers(void **state)
{
    uint64_t number = 1;
    (void)state;
    assert_int_equal(pd_json_number(&at, "n", 7, 7, &number), 0);
    assert_int_equal(number, 7);
    assert_int_equal(pd_json_number(&at, "most", 0, PD_JSON_NUMBER_MAX, &number), 0);
    assert_true(number == PD_JSON_NUMBER_MAX);
    number = 1;
    assert_refused(pd_json_number(&at, "n", 8, 9, &number),
                   "x.json:3: n: expects a number from 8 to 9");
    static const char *const others[] = {"less", "real", "yes", "no", "words", "missing"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_int_equal(pd_json_number(&at, others[i], 0, UINT64_MAX, &number), -PD_E_SYNTAX);
    }
    assert_int_equal(number, 1);
    assert_int_equal(pd_json_number_or(&at, "missing", 8, 9, &number), 0);
    assert_int_equal(pd_json_number_or(&at, "no", 0, 9, &number), -PD_E_SYNTAX);
    assert_int_equal(number, 1);
}

static void test_reals(void **state)
{
    double number = 0.25;
    (void)state;
    assert_int_equal(pd_json_real_or(&at, "missing", 1, 2, &number), 0);
    assert_true(number == 0.25);
    assert_refused(pd_json_real_or(&at, "n", 0, 6.5, &number),
                   "x.json:3: n: expects a number from 0 to 6.5");
    assert_int_equal(pd_json_real_or(&at, "words", 0, 10, &number), -PD_E_SYNTAX);
    assert_true(number == 0.25);
    assert_int_equal(pd_json_real_or(&at, "n", 7, 7, &number), 0);
    assert_true(number == 7);
}

static void test_lists(void **state)
{
    json_t *lists = json_loads("{\"three\":[1,2,9],\"odd\":[1,\"2\"],\"none\":[]}", 0, NULL);
    const struct pd_json_cursor some = {.object = lists, .err = -PD_E_SYNTAX, .error = &error};
    uint64_t values[3] = {7, 7, 7};
    const json_t *list = NULL;
    size_t len = 5;
    (void)state;
    assert_int_equal(pd_json_list_or(&some, "missing", 1, 2, &list), 0);
    assert_null(list);
    assert_refused(pd_json_list(&some, "missing", 1, 2, &list),
                   "missing: expects a list of 1 to 2 members");
    assert_refused(pd_json_list_or(&some, "none", 1, 2, &list),
                   "none: expects a list of 1 to 2 members");
    assert_int_equal(pd_json_list(&some, "three", 1, 2, &list), -PD_E_SYNTAX);
    assert_int_equal(pd_json_list(&some, "three", 3, 3, &list), 0);
    assert_int_equal(json_array_size(list), 3);
    assert_refused(pd_json_numbers(&some, "odd", 0, 3, 9, values, &len),
                   "odd[1]: expects a number from 0 to 9");
    assert_refused(pd_json_numbers(&some, "three", 0, 3, 8, values, &len),
                   "three[2]: expects a number from 0 to 8");
    assert_int_equal(values[0] + len, 12);
    assert_int_equal(pd_json_numbers(&some, "three", 0, 3, 9, values, &len), 0);
    assert_int_equal(len, 3);
    assert_int_equal(values[2], 9);
    json_decref(lists);
}

static void test_words(void **state)
{
    static const char *const colours[] = {"green", "blue", "red"};
    const char *words = NULL;
    char text[10] = "as it was";
    unsigned index = 1;
    bool flag = false;
    (void)state;
    assert_int_equal(pd_json_words(&at, "words", &words), 0);
    assert_string_equal(words, "two words");
    assert_refused(pd_json_words(&at, "nul", &words), "x.json:3: nul: expects a text");
    assert_int_equal(pd_json_text(&at, "nul", text, sizeof text), -PD_E_SYNTAX);
    assert_refused(pd_json_text(&at, "words", text, 9),
                   "x.json:3: words: expects a text of less than 9 bytes");
    assert_string_equal(text, "as it was");
    assert_int_equal(pd_json_text(&at, "words", text, sizeof text), 0);
    assert_int_equal(pd_json_word_or(&at, "missing", colours, 3, &index), 0);
    assert_int_equal(index, 1);
    assert_refused(pd_json_word_or(&at, "words", colours, 3, &index),
                   "x.json:3: words: expects \"green\", \"blue\" or \"red\"");
    assert_int_equal(pd_json_word_or(&at, "red", colours, 3, &index), 0);
    assert_int_equal(index, 2);
    assert_int_equal(pd_json_flag_or(&at, "missing", &flag), 0);
    assert_false(flag);
    assert_int_equal(pd_json_flag_or(&at, "yes", &flag), 0);
    assert_true(flag);
    assert_int_equal(pd_json_flag_or(&at, "n", &flag), -PD_E_SYNTAX);
}

static void test_places(void **state)
{
    static const char *const some[] = {"n", NULL};
    struct pd_json_cursor other = {.object = object, .err = -PD_E_SYNTAX, .error = &error};
    (void)state;
    assert_refused(pd_json_wrong(&other, "a", "%d of them", 3), "a: expects 3 of them");
    other.place = "queries[1]";
    assert_refused(pd_json_wrong(&other, "a", "b"), "queries[1].a: expects b");
    assert_refused(pd_json_wrong(&other, "", "b"), "queries[1]: expects b");
    assert_int_equal(pd_json_only(&other, some), -PD_E_UNKNOWN_KEY);
    assert_non_null(strstr(error.text, ": unknown member"));
    other.object = NULL;
    assert_refused(pd_json_only(&other, some), "queries[1]: expects an object");
    other.error = NULL;
    assert_int_equal(pd_json_only(&other, some), -PD_E_SYNTAX);
}

static void test_flow(void **state)
{
    static const struct {
        const char *json, *words;
    } cases[] = {
        {"[]", "flow_id: expects an object"},
        {"{\"src_ip\":\"10.0.0.256\"}", "flow_id.src_ip: expects an IPv4 or IPv6 address"},
        {"{\"src_ip\":\"10.0.0.1\",\"dst_ip\":\"::1\",\"src_port\":1,\"dst_port\":2,\"protocol\":"
         "6}",
         "flow_id.dst_ip: expects an address of the family of src_ip"},
        {"{\"src_ip\":\"10.0.0.1\",\"dst_ip\":\"10.0.0.2\",\"src_port\":65536}",
         "flow_id.src_port: expects a number from 0 to 65535"},
    };
    struct pd_flow_id flow = {.src_port = 9};
    struct pd_json_cursor id = {.place = "flow_id", .err = -PD_E_SYNTAX, .error = &error};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *json = json_loads(cases[i].json, 0, NULL);
        id.object = json;
        assert_refused(pd_json_flow(&id, &flow), cases[i].words);
        assert_int_equal(flow.src_port, 9);
        json_decref(json);
    }
    json_t *good = json_pack("{s:s, s:s, s:i, s:i, s:i}", "src_ip", "10.0.0.1", "dst_ip",
                             "10.0.0.2", "src_port", 1, "dst_port", 2, "protocol", 6);
    id.object = good;
    assert_int_equal(pd_json_flow(&id, &flow), 0);
    assert_int_equal(flow.src_port, 1);
    assert_int_equal(flow.protocol, 6);
    assert_int_equal(flow.ip_version, 4);
    json_decref(good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_numbers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reals, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lists, setup, teardown),
        cmocka_unit_test_setup_teardown(test_words, setup, teardown),
        cmocka_unit_test_setup_teardown(test_places, setup, teardown),
        cmocka_unit_test_setup_teardown(test_flow, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
