/* SPDX-License-Identifier: Apache-2.0 */
/* Query documents: every form of a value is that of its text, every mistake is named, and what is
 * written back is read as the same. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <stdlib.h>
#include <string.h>

#include "query/document.h"

static const char *const others[] = {"deadline_ms", "children", NULL};

static int parse(const char *text, struct pd_document *document, struct pd_error *error)
{
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    int err = pd_query_document_parse(json, others, document, error);
    json_decref(json);
    return err;
}

/* As the text form says the same: what a query is made of. */
static const struct {
    const char *json, *name, *value; /* of the parameter */
    const char *query;
} values[] = {
    {"\"9-17\"", "link", "9-17", "getFlows"},
    {"80", "dst_port", "80", "getFlows"},
    {"80.0", "dst_port", "80", "getFlows"},
    {"\"80\"", "dst_port", "80", "getFlows"},
    {"6", "protocol", "tcp", "getFlows"},
    {"true", "live", "true", "getFlows"},
    {"[1,9,17]", "path", "1,9,17", "getFlows"},
    {"[\"1\",9]", "path", "1,9", "getFlows"},
    {"\"1,9\"", "path", "1,9", "getFlows"},
    {"1700000000.25", "from", "1700000000.25", "getFlows"},
    {"1700000000", "from", "1700000000", "getFlows"},
    {"10000", "k", "10000", "topFlows"},
    {"5", "max_hops", "5", "conformance"},
    {"[17,18]", "avoid", "17,18", "conformance"},
    {"17", "avoid", "17", "conformance"},
    {"[9]", "must_pass", "9", "conformance"},
    {"[[\"10.0.0.0/24\",\"10.1.0.0/16\"],\"fd00::/8>::/0\"]", "allow",
     "10.0.0.0/24>10.1.0.0/16,fd00::/8>::/0", "conformance"},
};

static bool same_filter(const struct pd_tib_filter *a, const struct pd_tib_filter *b)
{
    return pd_flow_id_equal(&a->flow.id, &b->flow.id) && a->flow.fields == b->flow.fields &&
           a->link.from == b->link.from && a->link.to == b->link.to && a->from_us == b->from_us &&
           a->to_us == b->to_us;
}

static bool same_query(const struct pd_query *a, const struct pd_query *b)
{
    return a->name == b->name && same_filter(&a->filter, &b->filter) &&
           pd_path_equal(&a->path, &b->path) && a->k == b->k && a->live == b->live &&
           a->given == b->given && memcmp(&a->rules, &b->rules, sizeof a->rules) == 0;
}

static void values_have_several_forms(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char text[300];
        struct pd_document document;
        struct pd_query wanted;
        struct pd_error error = {0};
        enum pd_query_name name = PD_QUERY_COUNT;
        snprintf(text, sizeof text, "{\"query\":\"%s\",\"args\":{\"%s\":%s}}", values[i].query,
                 values[i].name, values[i].json);
        assert_int_equal(pd_query_name_parse(values[i].query, &name), 0);
        pd_query_init(&wanted, name);
        assert_int_equal(pd_query_set(&wanted, values[i].name, values[i].value, NULL), 0);
        if (parse(text, &document, &error)) {
            fail_msg("%s: %s", text, error.text);
        }
        assert_true(same_query(pd_query_document_query(&document), &wanted));
        pd_query_document_done(&document);
    }
}

static const struct {
    const char *text;
    int err;
    const char *words; /* the beginning */
} wrong[] = {
    {"{}", -PD_E_VALUE, "query: either"},
    {"{\"query\":\"getFlows\",\"program\":\"x\"}", -PD_E_VALUE, "query: either"},
    {"{\"query\":7}", -PD_E_VALUE, "query: expected a text"},
    {"{\"query\":\"getflows\"}", -PD_E_VALUE, "query: there is no query \"getflows\""},
    {"{\"query\":\"a\\nb\"}", -PD_E_VALUE, "query: there is no query \"a?b\""},
    {"{\"query\":\"getFlows\",\"arg\":{}}", -PD_E_UNKNOWN_KEY, "arg: unknown member"},
    {"{\"query\":\"getFlows\",\"hosts\":\"all\"}", -PD_E_UNKNOWN_KEY, "hosts: unknown member"},
    {"{\"query\":\"getFlows\",\"\\u00e4\\n\":1}", -PD_E_UNKNOWN_KEY, "???: unknown member"},
    {"{\"query\":\"getFlows\",\"args\":[]}", -PD_E_VALUE, "args: expected an object"},
    {"{\"query\":\"getFlows\",\"args\":null}", -PD_E_VALUE, "args: expected an object"},
    {"{\"query\":\"getFlows\",\"args\":{\"k\":1}}", -PD_E_UNKNOWN_KEY, "args.k: getFlows does not"},
    {"{\"query\":\"getFlows\",\"args\":{\"bogus\":1}}", -PD_E_UNKNOWN_KEY, "args.bogus: unknown"},
    {"{\"query\":\"topFlows\",\"args\":{\"k\":\"many\"}}", -PD_E_VALUE,
     "args.k: expected a number from 1 to 4294967295, not \"many\""},
    {"{\"query\":\"topFlows\",\"args\":{\"k\":-1}}", -PD_E_VALUE, "args.k: expected a number"},
    {"{\"query\":\"topFlows\",\"args\":{\"k\":1.5}}", -PD_E_VALUE, "args.k: expected a number"},
    {"{\"query\":\"topFlows\",\"args\":{\"k\":1e300}}", -PD_E_VALUE, "args.k: expected a number"},
    {"{\"query\":\"topFlows\",\"args\":{\"k\":null}}", -PD_E_VALUE,
     "args.k: expected a text, a number"},
    {"{\"query\":\"topFlows\",\"args\":{\"k\":[1]}}", -PD_E_VALUE,
     "args.k: expected a text, a number"},
    {"{\"query\":\"topFlows\",\"args\":{\"k\":{}}}", -PD_E_VALUE,
     "args.k: expected a text, a number"},
    {"{\"query\":\"getFlows\",\"args\":{\"path\":[]}}", -PD_E_VALUE,
     "args.path: expected a list of 1"},
    {"{\"query\":\"getFlows\",\"args\":{\"path\":[1,true]}}", -PD_E_VALUE,
     "args.path: expected items"},
    {"{\"query\":\"getFlows\",\"args\":{\"path\":[\"1,9\"]}}", -PD_E_VALUE,
     "args.path: expected items"},
    {"{\"query\":\"getFlows\",\"args\":{\"path\":[[1]]}}", -PD_E_VALUE,
     "args.path: expected items"},
    {"{\"query\":\"getFlows\",\"args\":{\"path\":[0]}}", -PD_E_VALUE,
     "args.path: expected switch IDs"},
    {"{\"query\":\"getFlows\",\"args\":{\"from\":20,\"to\":10}}", -PD_E_VALUE, "args.to: "},
    {"{\"query\":\"flowSizes\"}", -PD_E_VALUE, "args.link: is missing"},
    {"{\"query\":\"conformance\",\"args\":{}}", -PD_E_VALUE, "args.max_hops: is missing"},
    {"{\"query\":\"conformance\",\"args\":{\"allow\":[[\"10.0.0.0/8\"]]}}", -PD_E_VALUE,
     "args.allow: expected pairs"},
    {"{\"query\":\"conformance\",\"args\":{\"allow\":[[\"10.0.0.0/8\",\"10.0.0.1/8\"]]}}",
     -PD_E_VALUE, "args.allow: expected 1 to 256 pairs of prefixes"},
    {"{\"query\":\"conformance\",\"args\":{\"allow\":[[\"::/0>::/0,::/0\",\"::/0\"]]}}",
     -PD_E_VALUE, "args.allow: expected items"},
    {"{\"program\":\"\"}", -PD_E_VALUE, "program: is empty"},
    {"{\"program\":7}", -PD_E_VALUE, "program: expected a text"},
};

static void mistakes_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct pd_document document;
        struct pd_error error = {0};
        int err = parse(wrong[i].text, &document, &error);
        if (err != wrong[i].err || strncmp(error.text, wrong[i].words, strlen(wrong[i].words))) {
            fail_msg("%s: %d, %s", wrong[i].text, err, error.text);
        }
        assert_int_equal(error.code, err);
    }
}

static void programs_keep_their_arguments(void **state)
{
    struct pd_document document, copy;
    struct pd_error error = {0};
    (void)state;
    assert_int_equal(
        parse("{\"program\":\"function run(a) return a end\",\"args\":{\"x\":[1,{\"y\":null}]},"
              "\"deadline_ms\":5,\"children\":[]}",
              &document, &error),
        0);
    assert_ptr_equal(document.question, &pd_query_question_program);
    assert_null(pd_query_document_query(&document));
    assert_string_equal(document.text, "function run(a) return a end");
    assert_int_equal(pd_query_document_copy(&document, &copy), 0);
    pd_query_document_done(&document);
    json_t *json = pd_query_document_json(&copy);
    char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(
        text, "{\"args\":{\"x\":[1,{\"y\":null}]},\"program\":\"function run(a) return a end\"}");
    free(text);
    json_decref(json);
    pd_query_document_done(&copy);
}

static void what_is_written_is_read_as_the_same(void **state)
{
    struct pd_document document, again;
    struct pd_error error = {0};
    (void)state;
    assert_int_equal(parse("{\"query\":\"conformance\",\"args\":{\"max_hops\":5,\"avoid\":[17],"
                           "\"path\":[1,9],\"allow\":[[\"10.0.0.0/8\",\"10.0.0.0/8\"]]}}",
                           &document, &error),
                     0);
    json_t *json = pd_query_document_json(&document);
    assert_int_equal(pd_query_document_parse(json, NULL, &again, &error), 0);
    const struct pd_query *query = pd_query_document_query(&again);
    assert_true(same_query(pd_query_document_query(&document), query));
    assert_ptr_equal(pd_query_filter(query).path, &query->path);
    json_decref(json);
    pd_query_document_done(&document);
    pd_query_document_done(&again);
}

/* ---- limits ---- */

static void expect_too_large(json_t *json, const char *words)
{
    struct pd_document document;
    struct pd_error error = {0};
    assert_int_equal(pd_query_document_parse(json, others, &document, &error), -PD_E_TOO_LARGE);
    assert_memory_equal(error.text, words, strlen(words));
    json_decref(json);
}

static void what_is_too_large_is_refused(void **state)
{
    char *long_text = malloc(PD_PROGRAM_SOURCE_MAX_BYTES + 2);
    json_t *deep = json_array(), *list = json_array();
    struct pd_document document;
    struct pd_error error = {0};
    (void)state;
    assert_non_null(long_text);
    memset(long_text, 'x', PD_PROGRAM_SOURCE_MAX_BYTES + 1);
    long_text[PD_PROGRAM_SOURCE_MAX_BYTES + 1] = '\0';
    expect_too_large(json_pack("{s:s}", "program", long_text), "program: longer than 1048576");
    expect_too_large(json_pack("{s:s,s:{s:s}}", "program", "x", "args", "a", long_text),
                     "args: larger than 1048576");
    for (int i = 0; i < 40; i++) {
        deep = json_pack("[o]", deep);
    }
    expect_too_large(json_pack("{s:s,s:{s:o}}", "program", "x", "args", "a", deep),
                     "args: lists and objects");
    for (int i = 0; i < 300; i++) {
        json_array_append_new(list, json_integer(1));
    }
    json_t *json = json_pack("{s:s,s:{s:o}}", "query", "conformance", "args", "avoid", list);
    assert_int_equal(pd_query_document_parse(json, NULL, &document, &error), -PD_E_VALUE);
    assert_memory_equal(error.text, "args.avoid: expected a list", 27);
    json_decref(json);
    free(long_text);
}

/* Texts with NULs cannot come from JSON texts, but from JSON that was made otherwise. */
static void nuls_are_refused(void **state)
{
    json_t *json = json_pack("{s:s#}", "query", "getFlows\0x", 10);
    struct pd_document document;
    struct pd_error error = {0};
    (void)state;
    assert_int_equal(pd_query_document_parse(json, NULL, &document, &error), -PD_E_VALUE);
    assert_string_equal(error.text, "query: expected a text without NULs");
    json_decref(json);
    json = json_pack("{s:s,s:{s:s#}}", "query", "getFlows", "args", "link", "9-17\0x", 6);
    assert_int_equal(pd_query_document_parse(json, NULL, &document, &error), -PD_E_VALUE);
    assert_string_equal(error.text, "args.link: expected a text without NULs");
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_have_several_forms),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(programs_keep_their_arguments),
        cmocka_unit_test(what_is_written_is_read_as_the_same),
        cmocka_unit_test(what_is_too_large_is_refused),
        cmocka_unit_test(nuls_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
