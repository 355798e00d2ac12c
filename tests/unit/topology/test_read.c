/* SPDX-License-Identifier: Apache-2.0 */
/* The reader: files as operators and other tools write them; what is not JSON; limits. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "topology/topology.h"

/* A small network in no order, with gaps in the IDs, keys of NetworkX and D3, names and no codec.
 */
static const char operator_file[] =
    "{\"directed\":false,\"multigraph\":false,\"graph\":{\"by\":[\"hand\"]},\"nodes\":["
    "{\"id\":900,\"role\":\"host\",\"addrs\":[\"192.0.2.9\"],\"x\":1.5,\"y\":-2,\"name\":\"db "
    "\\\"one\\\"\"},"
    "{\"id\":70,\"role\":\"spine\",\"name\":\"Rückgrat\"},"
    "{\"id\":12,\"role\":\"leaf\",\"prefixes\":[\"192.0.2.0/25\",\"2001:db8::/64\"]},"
    "{\"id\":800,\"role\":\"host\"},"
    "{\"id\":4000000000,\"role\":\"leaf\",\"prefixes\":[\"192.0.2.128/25\"]}],"
    "\"links\":[{\"source\":900,\"target\":12,\"key\":0},"
    "{\"source\":4000000000,\"target\":70,\"weight\":1.0,\"target_port\":48,\"tag\":77},"
    "{\"source\":70,\"target\":12,\"source_port\":1000},{\"source\":12,\"target\":800}]}";

static struct pd_topology *parse(const char *text)
{
    struct pd_topology *t = NULL;
    struct pd_error error = {0};
    if (pd_topology_parse(text, strlen(text), "file", &t, &error)) {
        fail_msg("%s", error.text);
    }
    return t;
}

static void operators_files_are_read(void **state)
{
    (void)state;
    struct pd_topology *t = parse(operator_file);
    assert_string_equal(t->name, "");
    assert_string_equal(t->codec, "");
    assert_int_equal(t->switches_len, 3);
    assert_int_equal(t->hosts_len, 2);
    assert_int_equal(t->switches[0].id, 12);
    assert_int_equal(t->switches[1].id, 70);
    assert_int_equal(t->switches[2].id, 4000000000U);
    assert_string_equal(t->switches[0].name, "12");
    assert_string_equal(t->switches[1].name, "Rückgrat");
    assert_int_equal(t->hosts[0].id, 800);
    assert_int_equal(t->hosts[0].addrs_len, 0);
    assert_string_equal(t->hosts[1].name, "db \"one\"");
    assert_int_equal(t->hosts[1].tor, 0);
    pd_topology_free(t);
}

/* Ports: rank of the neighbour, switches first, unless the link says another. */
static void ports_are_ranks_or_given(void **state)
{
    (void)state;
    struct pd_topology *t = parse(operator_file);
    const struct pd_switch *leaf = &t->switches[0], *spine = &t->switches[1];
    assert_int_equal(leaf->neighbours_len, 3);
    assert_int_equal(leaf->switch_neighbours, 1);
    for (uint16_t i = 0; i < 3; i++) {
        assert_int_equal(leaf->neighbours[i].port, i + 1);
        assert_int_equal(leaf->neighbours[i].is_host, i > 0);
    }
    assert_int_equal(leaf->neighbours[1].node, 0); /* host 800 before host 900 */
    assert_int_equal(spine->neighbours[0].port, 1000);
    assert_int_equal(spine->neighbours[1].port, 48);
    assert_int_equal(spine->neighbours[1].link_tag, 77);
    assert_int_equal(pd_topology_link(t, 2, 1)->link_tag, 77);
    assert_int_equal(pd_topology_link(t, 2, 1)->port, 1);
    pd_topology_free(t);
}

/* Writing keeps names, ports and tags. */
static void writing_keeps_what_was_given(void **state)
{
    (void)state;
    struct pd_topology *t = parse(operator_file);
    char *texts[2];
    size_t bytes[2];
    for (int i = 0; i < 2; i++) {
        FILE *out = open_memstream(&texts[i], &bytes[i]);
        assert_int_equal(pd_topology_write(t, out), 0);
        fclose(out);
        pd_topology_free(t);
        t = parse(texts[i]);
    }
    assert_string_equal(texts[0], texts[1]);
    assert_non_null(strstr(texts[0], "{\"source\":12,\"target\":70,\"target_port\":1000}"));
    assert_non_null(
        strstr(texts[0], "{\"source\":70,\"target\":4000000000,\"source_port\":48,\"tag\":77}"));
    assert_non_null(strstr(texts[0], "\"name\":\"db \\\"one\\\"\""));
    pd_topology_free(t);
    free(texts[0]);
    free(texts[1]);
}

static void expect_error(const char *text, size_t bytes, int err, const char *words)
{
    struct pd_topology *t = NULL;
    struct pd_error error = {0};
    assert_int_equal(pd_topology_parse(text, bytes, "x.json", &t, &error), err);
    if (!strstr(error.text, words)) {
        fail_msg("`%s` is not in `%s`", words, error.text);
    }
    assert_null(t);
}

static void what_is_no_json_is_named_with_its_line(void **state)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"", "x.json: line 1, column 0"},
        {"{\"nodes\":[\n{\"id\":1,}]}", "x.json: line 2, column"},
        {"{\"nodes\":[],\"nodes\":[],\"links\":[]}", "duplicate object key"},
        {"{\"nodes\":[],\"links\":[]} {", "x.json: line 1, column"},
        {"\xff\xfe{}", "x.json: line 1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        expect_error(bad[i].text, strlen(bad[i].text), -PD_E_SYNTAX, bad[i].words);
    }
    expect_error("{\"name\":\"a\\u0000b\"}", 18, -PD_E_SYNTAX, "x.json: line 1");
    expect_error("[]", 2, -PD_E_TOPOLOGY,
                 "x.json: expected an object with \"nodes\" and \"links\"");
}

static void deep_nesting_is_refused(void **state)
{
    size_t bytes = 1 << 20;
    char *text = malloc(bytes);
    (void)state;
    assert_non_null(text);
    memset(text, '[', bytes);
    expect_error(text, bytes, -PD_E_SYNTAX, "x.json: line 1");
    free(text);
}

static void too_much_is_too_large(void **state)
{
    (void)state;
    expect_error("{}", ((size_t)512 << 20) + 1, -PD_E_TOO_LARGE, "x.json: 536870913 bytes");
    /* 2,097,153 nodes, the smallest JSON values there are */
    size_t nodes = 2097153, at = 0;
    char *text = malloc(2 * nodes + 64);
    assert_non_null(text);
    at += (size_t)sprintf(text, "{\"nodes\":[0");
    for (size_t i = 1; i < nodes; i++) {
        text[at++] = ',';
        text[at++] = '0';
    }
    at += (size_t)sprintf(text + at, "],\"links\":[]}");
    expect_error(text, at, -PD_E_TOO_LARGE, "x.json: more than 2097152 nodes");
    free(text);
}

/* More links at one switch than ports are counted for. */
static void a_switch_has_at_most_4096_links(void **state)
{
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    (void)state;
    fputs("{\"nodes\":[{\"id\":1,\"role\":\"spine\"}", out);
    for (int i = 2; i < 4099; i++) {
        fprintf(out, ",{\"id\":%d,\"role\":\"leaf\"}", i);
    }
    fputs("],\"links\":[{\"source\":1,\"target\":2}", out);
    for (int i = 3; i < 4099; i++) {
        fprintf(out, ",{\"source\":1,\"target\":%d}", i);
    }
    fputs("]}", out);
    fclose(out);
    expect_error(text, bytes, -PD_E_TOPOLOGY,
                 "x.json: nodes[0]: switch 1 has 4097 links, expected at most 4096");
    free(text);
}

static void files_that_cannot_be_read_are_named(void **state)
{
    struct pd_topology *t = NULL;
    struct pd_error error = {0};
    (void)state;
    assert_int_equal(pd_topology_read("/no/such/file.json", &t, &error), -ENOENT);
    assert_non_null(strstr(error.text, "/no/such/file.json: "));
    assert_int_equal(pd_topology_read("/", &t, &error), -EISDIR);
    assert_int_equal(pd_topology_check("/no/such/file.json", NULL, NULL, &error), -ENOENT);
    assert_null(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_files_are_read),
        cmocka_unit_test(ports_are_ranks_or_given),
        cmocka_unit_test(writing_keeps_what_was_given),
        cmocka_unit_test(what_is_no_json_is_named_with_its_line),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(too_much_is_too_large),
        cmocka_unit_test(a_switch_has_at_most_4096_links),
        cmocka_unit_test(files_that_cannot_be_read_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
