/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of queries: what each text sets, and what each error names. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include <stdio.h>
#include <string.h>

#include "query/protocol.h"
#include "query/query.h"

#define US UINT64_C(1000000)

static const struct {
    const char *name, *value;
    int err;
} texts[] = {
    {"link", "9-17", 0},
    {"link", "*-17", 0},
    {"link", "9-*", 0},
    {"link", "*-*", 0},
    {"link", "*", 0},
    {"link", "9", -PD_E_VALUE},
    {"link", "nine-17", -PD_E_VALUE},
    {"link", "9-17-3", -PD_E_VALUE},
    {"link", "", -PD_E_VALUE},
    {"link", "0-17", -PD_E_VALUE},
    {"src_ip", "10.1.1.2", 0},
    {"src_ip", "fd00:0:1:1::2", 0},
    {"src_ip", "*", 0},
    {"src_ip", "10.1.1", -PD_E_VALUE},
    {"src_ip", "10.1.1.256", -PD_E_VALUE},
    {"src_ip", "", -PD_E_VALUE},
    {"dst_ip", "10.2.1.2", 0},
    {"dst_ip", "localhost", -PD_E_VALUE},
    {"src_port", "0", 0},
    {"src_port", "65535", 0},
    {"src_port", "*", 0},
    {"src_port", "65536", -PD_E_VALUE},
    {"src_port", "70000", -PD_E_VALUE},
    {"src_port", "-1", -PD_E_VALUE},
    {"src_port", "+1", -PD_E_VALUE},
    {"src_port", "1e3", -PD_E_VALUE},
    {"src_port", "", -PD_E_VALUE},
    {"dst_port", "99999999999999999999", -PD_E_VALUE},
    {"protocol", "6", 0},
    {"protocol", "tcp", 0},
    {"protocol", "255", 0},
    {"protocol", "*", 0},
    {"protocol", "256", -PD_E_VALUE},
    {"protocol", "tpc", -PD_E_VALUE},
    {"path", "1,9,17,11,3", 0},
    {"path", "1", 0},
    {"path", "1,x", -PD_E_VALUE},
    {"path", "1,,2", -PD_E_VALUE},
    {"path", "", -PD_E_VALUE},
    {"from", "1700000000.25", 0},
    {"from", "2026-11-21T01:02:03Z", 0},
    {"from", "yesterday", -PD_E_VALUE},
    {"from", "*", -PD_E_VALUE},
    {"to", "-1", -PD_E_VALUE},
    {"live", "true", 0},
    {"live", "0", 0},
    {"live", "maybe", -PD_E_VALUE},
    {"since", "1f-00000012.7:a_B", 0},
    {"since", "", -PD_E_VALUE},
    {"since", "*", -PD_E_VALUE},
    {"since", "a\"b", -PD_E_VALUE},
    {"since", "\xc3\xa4", -PD_E_VALUE},
    {"k", "1", 0},
    {"k", "4294967295", 0},
    {"k", "0", -PD_E_VALUE},
    {"k", "4294967296", -PD_E_VALUE},
    {"k", "99999999999999999999", -PD_E_VALUE},
    {"k", "-1", -PD_E_VALUE},
    {"k", "*", -PD_E_VALUE},
    {"by", "bytes", 0},
    {"by", "pkts", 0},
    {"by", "packets", -PD_E_VALUE},
    {"bin_bytes", "1", 0},
    {"bin_bytes", "9007199254740991", 0},
    {"bin_bytes", "9007199254740992", -PD_E_VALUE},
    {"bin_bytes", "0", -PD_E_VALUE},
    {"bin_bytes", "1.5", -PD_E_VALUE},
    {"of", "flows", 0},
    {"of", "sources", 0},
    {"of", "hosts", -PD_E_VALUE},
    {"origin", "trace", 0},
    {"origin", "any", 0},
    {"origin", "sim", -PD_E_VALUE},
    {"origin", "", -PD_E_VALUE},
    {"max_hops", "0", 0},
    {"max_hops", "127", 0},
    {"max_hops", "128", -PD_E_VALUE},
    {"max_hops", "*", -PD_E_VALUE},
    {"avoid", "17", 0},
    {"avoid", "17,18,4294967295", 0},
    {"avoid", "", -PD_E_VALUE},
    {"avoid", "17,", -PD_E_VALUE},
    {"avoid", "0", -PD_E_VALUE},
    {"must_pass", "9,17", 0},
    {"must_pass", "9-17", -PD_E_VALUE},
    {"allow", "10.0.0.0/24>10.1.0.0/16", 0},
    {"allow", "10.0.0.0/24>10.1.0.0/16,fd00::/8>::/0,0.0.0.0/0>10.1.1.2/32", 0},
    {"allow", "10.0.0.0/24", -PD_E_VALUE},
    {"allow", "10.0.0.0/24>", -PD_E_VALUE},
    {"allow", "10.0.0.0>10.1.0.0/16", -PD_E_VALUE},
    {"allow", "10.0.0.0/24>10.1.0.1/16", -PD_E_VALUE},
    {"allow", "10.0.0.0/24>fd00::/8", -PD_E_VALUE},
    {"allow", "10.0.0.0/24>10.1.0.0/16,", -PD_E_VALUE},
    {"allow", "10.0.0.0/24>10.1.0.0/16>10.2.0.0/16", -PD_E_VALUE},
    {"allow", ",", -PD_E_VALUE},
    {"bogus", "1", -PD_E_UNKNOWN_KEY},
    {"src-ip", "10.1.1.2", -PD_E_UNKNOWN_KEY},
    {"", "1", -PD_E_UNKNOWN_KEY},
};

static bool same(const struct pd_query *a, const struct pd_query *b)
{
    const struct pd_tib_filter *f = &a->filter, *g = &b->filter;
    return a->given == b->given && a->live == b->live && f->flow.fields == g->flow.fields &&
           pd_flow_id_equal(&f->flow.id, &g->flow.id) && f->link.from == g->link.from &&
           f->link.to == g->link.to && a->path.len == b->path.len && f->from_us == g->from_us &&
           f->to_us == g->to_us && a->k == b->k && a->by == b->by && a->of == b->of &&
           a->bin_bytes == b->bin_bytes && a->rules.max_hops == b->rules.max_hops &&
           a->rules.avoid.len == b->rules.avoid.len && a->rules.allow_len == b->rules.allow_len &&
           !strcmp(a->since, b->since);
}

/* Every error begins with the name of its parameter, and leaves the query as it was. */
static void texts_are_accepted_or_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct pd_query query, before;
        struct pd_error error = {0};
        pd_query_init(&query, PD_QUERY_GET_FLOWS);
        before = query;
        int err = pd_query_set(&query, texts[i].name, texts[i].value, &error);
        if (err != texts[i].err) {
            fail_msg("%s=%s: %d instead of %d", texts[i].name, texts[i].value, err, texts[i].err);
        }
        if (!err) {
            continue;
        }
        assert_int_equal(error.code, err);
        assert_memory_equal(error.text, texts[i].name, strlen(texts[i].name));
        assert_true(same(&query, &before));
    }
}

static void set(struct pd_query *query, const char *name, const char *value)
{
    assert_int_equal(pd_query_set(query, name, value, NULL), 0);
}

static void values_land_in_the_filter(void **state)
{
    struct pd_query query;
    (void)state;
    pd_query_init(&query, PD_QUERY_GET_COUNT);
    assert_int_equal(query.filter.flow.fields, 0);
    assert_true(query.filter.to_us == UINT64_MAX);
    set(&query, "link", "9-*");
    set(&query, "src_ip", "10.1.1.2");
    set(&query, "dst_port", "443");
    set(&query, "protocol", "udp");
    set(&query, "path", "1,9,2");
    set(&query, "from", "10.5");
    set(&query, "to", "1970-01-01T00:01:00Z");
    assert_int_equal(query.filter.link.from, 9);
    assert_int_equal(query.filter.link.to, 0);
    assert_int_equal(query.filter.flow.fields,
                     PD_FLOW_SRC_IP | PD_FLOW_DST_PORT | PD_FLOW_PROTOCOL);
    assert_int_equal(query.filter.flow.id.ip_version, 4);
    assert_memory_equal(query.filter.flow.id.src.bytes, "\x0a\1\1\2", 4);
    assert_int_equal(query.filter.flow.id.dst_port, 443);
    assert_int_equal(query.filter.flow.id.protocol, 17);
    assert_ptr_equal(pd_query_filter(&query).path, &query.path);
    assert_int_equal(query.path.len, 3);
    assert_int_equal(query.filter.from_us, 10 * US + US / 2);
    assert_int_equal(query.filter.to_us, 60 * US);
    assert_int_equal(pd_query_finish(&query, NULL), 0);
}

static void wildcards_set_nothing(void **state)
{
    static const char *const names[] = {"link",     "src_ip",   "dst_ip",
                                        "src_port", "dst_port", "protocol"};
    struct pd_query query;
    (void)state;
    pd_query_init(&query, PD_QUERY_GET_FLOWS);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        set(&query, names[i], "*");
    }
    assert_int_equal(query.filter.flow.fields, 0);
    assert_int_equal(query.filter.link.from + query.filter.link.to, 0);
}

static void a_parameter_twice_is_an_error(void **state)
{
    (void)state;
    for (const struct pd_question_param *param = pd_query_params; param->name; param++) {
        static const char *const values[] = {"*",     "1",     "1.2.3.4",   "true",
                                             "bytes", "flows", "::/0>::/0", "trace"};
        struct pd_query query;
        struct pd_error error = {0};
        size_t i = 0;
        pd_query_init(&query, PD_QUERY_GET_FLOWS);
        while (pd_query_set(&query, param->name, values[i], NULL)) {
            assert_true(++i < sizeof values / sizeof *values);
        }
        assert_int_equal(pd_query_set(&query, param->name, values[i], &error), -PD_E_VALUE);
        assert_non_null(strstr(error.text, param->name));
    }
}

static void addresses_are_of_one_family(void **state)
{
    struct pd_query query;
    struct pd_error error = {0};
    (void)state;
    pd_query_init(&query, PD_QUERY_GET_FLOWS);
    set(&query, "src_ip", "10.1.1.2");
    assert_int_equal(pd_query_set(&query, "dst_ip", "fd00::2", &error), -PD_E_CONFLICT);
    assert_non_null(strstr(error.text, "dst_ip"));
    assert_int_equal(query.filter.flow.id.ip_version, 4);
}

static void a_range_ends_after_it_begins(void **state)
{
    struct pd_query query;
    struct pd_error error = {0};
    (void)state;
    pd_query_init(&query, PD_QUERY_GET_FLOWS);
    set(&query, "from", "20");
    set(&query, "to", "10");
    assert_int_equal(pd_query_finish(&query, &error), -PD_E_VALUE);
    assert_memory_equal(error.text, "to:", 3);
    pd_query_init(&query, PD_QUERY_GET_FLOWS);
    set(&query, "from", "20");
    set(&query, "to", "20");
    assert_int_equal(pd_query_finish(&query, NULL), 0);
}

/* Each query takes its own parameters alone, and says which are missing. */
static void parameters_belong_to_queries(void **state)
{
    static const struct {
        enum pd_query_name name;
        const char *given, *value; /* NULL: nothing */
        int err;
        const char *words;
    } cases[] = {
        {PD_QUERY_GET_FLOWS, "k", "3", -PD_E_UNKNOWN_KEY, "k: getFlows does not take it"},
        {PD_QUERY_TOP_LINKS, "k", "3", 0, NULL},
        {PD_QUERY_TOP_HOSTS, "bin_bytes", "3", -PD_E_UNKNOWN_KEY,
         "bin_bytes: topHosts does not take it"},
        {PD_QUERY_FLOW_SIZES, "bin_bytes", "3", -PD_E_VALUE, "link: is missing; flowSizes needs"},
        {PD_QUERY_FLOW_SIZES, "link", "9-17", -PD_E_VALUE,
         "bin_bytes: is missing; flowSizes needs"},
        {PD_QUERY_DISTINCT, NULL, NULL, -PD_E_VALUE, "of: is missing; distinct needs"},
        {PD_QUERY_DISTINCT, "of", "sources", 0, NULL},
        {PD_QUERY_TRAFFIC_MATRIX, "by", "pkts", -PD_E_UNKNOWN_KEY,
         "by: trafficMatrix does not take it"},
        {PD_QUERY_PATH_BYTES, "since", "t", 0, NULL},
        {PD_QUERY_CONFORMANCE, "protocol", "6", -PD_E_VALUE, "max_hops: is missing; conformance"},
        {PD_QUERY_CONFORMANCE, "max_hops", "0", 0, NULL},
        {PD_QUERY_CONFORMANCE, "avoid", "17", 0, NULL},
        {PD_QUERY_CONFORMANCE, "must_pass", "17,18", 0, NULL},
        {PD_QUERY_CONFORMANCE, "allow", "10.0.0.0/8>10.0.0.0/8", 0, NULL},
        {PD_QUERY_GET_PATHS, "avoid", "17", -PD_E_UNKNOWN_KEY, "avoid: getPaths does not take it"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pd_query query;
        struct pd_error error = {0};
        pd_query_init(&query, cases[i].name);
        if (cases[i].given) {
            set(&query, cases[i].given, cases[i].value);
        }
        assert_int_equal(pd_query_finish(&query, &error), cases[i].err);
        if (cases[i].words) {
            assert_memory_equal(error.text, cases[i].words, strlen(cases[i].words));
        }
    }
}

static void names_and_params_are_tables(void **state)
{
    enum pd_query_name name;
    (void)state;
    for (int i = 0; i < PD_QUERY_COUNT; i++) {
        assert_int_equal(pd_query_name_parse(pd_query_name_text((enum pd_query_name)i), &name), 0);
        assert_int_equal(name, i);
    }
    assert_int_equal(pd_query_name_parse("getflows", &name), -PD_E_NOT_FOUND);
    for (const struct pd_question_param *param = pd_query_params; param->name; param++) {
        assert_int_equal(strlen(param->name), strlen(param->flag));
        for (size_t i = 0; param->name[i]; i++) {
            assert_int_equal(param->name[i] == '_' ? '-' : param->name[i], param->flag[i]);
        }
    }
}

static void protocols_have_names(void **state)
{
    unsigned number = 0;
    (void)state;
    assert_string_equal(pd_query_protocol_name(6), "tcp");
    assert_string_equal(pd_query_protocol_name(58), "icmpv6");
    assert_null(pd_query_protocol_name(254));
    for (unsigned i = 0; i < 256; i++) {
        if (!pd_query_protocol_name(i)) {
            continue;
        }
        assert_int_equal(pd_query_protocol_number(pd_query_protocol_name(i), &number), 0);
        assert_int_equal(number, i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_accepted_or_named),
        cmocka_unit_test(values_land_in_the_filter),
        cmocka_unit_test(wildcards_set_nothing),
        cmocka_unit_test(a_parameter_twice_is_an_error),
        cmocka_unit_test(addresses_are_of_one_family),
        cmocka_unit_test(a_range_ends_after_it_begins),
        cmocka_unit_test(parameters_belong_to_queries),
        cmocka_unit_test(names_and_params_are_tables),
        cmocka_unit_test(protocols_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
