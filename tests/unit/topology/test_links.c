/* SPDX-License-Identifier: Apache-2.0 */
/* Any graph: parallel links, hosts at several switches, addresses of interfaces; the numbering of
 * links. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "topology/links.h"

/* Two parts. 5 and 9 are joined three times, host 30 hangs at both, twice at 9. */
static const char graph[] =
    "{\"codec\":[\"a\",\"b\"],\"codec_options\":{\"b\":{\"tpid\":\"0x88a8\",\"max_hops\":6,"
    "\"own\":[1]}},\"nodes\":["
    "{\"id\":9,\"role\":\"switch\",\"prefixes\":[\"10.0.1.0/24\"],\"addrs\":[\"10.9.9.9\"],"
    "\"x\":1.5,\"y\":-2},"
    "{\"id\":5,\"role\":\"switch\",\"prefixes\":[\"10.0.1.0/24\",\"10.0.2.0/24\"],\"position\":3},"
    "{\"id\":70,\"role\":\"core\"},{\"id\":71,\"role\":\"core\","
    "\"dpid\":\"0x1b21ABCD0009\",\"prefixes\":[\"10.0.3.0/24\"]},"
    "{\"id\":30,\"role\":\"host\",\"addrs\":[\"10.0.1.30\"]},"
    "{\"id\":31,\"role\":\"host\",\"addrs\":[\"10.0.2.31\"]}],\"links\":["
    "{\"source\":9,\"target\":5,\"source_port\":3,\"target_port\":5,\"mbps\":40000},"
    "{\"source\":5,\"target\":9,\"source_port\":4,\"target_port\":8,"
    "\"source_addrs\":[\"172.16.0.0\"],\"target_addrs\":[\"172.16.0.1\",\"fd01::1\"]},"
    "{\"source\":9,\"target\":5,\"source_port\":2,\"target_port\":6},"
    "{\"source\":30,\"target\":9,\"source_port\":1,\"target_port\":20},"
    "{\"source\":9,\"target\":30,\"source_port\":21},"
    "{\"source\":30,\"target\":5},{\"source\":71,\"target\":70},{\"source\":5,\"target\":31}]}";

static struct pd_topology *parse(const char *text)
{
    struct pd_topology *t = NULL;
    struct pd_error error = {0};
    if (pd_topology_parse(text, strlen(text), "file", &t, &error)) {
        fail_msg("%s", error.text);
    }
    return t;
}

static uint32_t tor_alone(const struct pd_topology *t, const char *text)
{
    struct pd_addr addr;
    uint8_t version;

    assert_int_equal(pd_addr_parse(text, &addr, &version), 0);
    return pd_topology_tor_alone(t, &addr, version);
}

static uint32_t tors_of(const struct pd_topology *t, const char *text, uint32_t tors[PD_HOMES_MAX])
{
    struct pd_addr addr;
    uint8_t version;
    assert_int_equal(pd_addr_parse(text, &addr, &version), 0);
    return pd_topology_tors_of(t, &addr, version, tors);
}

static void links_have_one_numbering(void **state)
{
    static const char *const texts[] = {"5:4-9:8", "5:5-9:3", "5:6-9:2",   "70-71",
                                        "5-30",    "5-31",    "9:20-30:1", "9:21-30"};
    struct pd_topology *t = parse(graph);
    char text[PD_LINKS_TEXT_BYTES];
    (void)state;
    assert_int_equal(t->links_len, 8);
    assert_int_equal(t->fabric_links_len, 4);
    assert_int_equal(pd_links_directed(t), 16);
    assert_int_equal(t->components, 2);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(t->links[i].is_host, i >= 4);
    }
    assert_int_equal(t->links[1].mbps, 40000);
    assert_int_equal(t->links[0].mbps, 0);
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t first, len;
        assert_string_equal(pd_topology_links_format(t, 2 * i, text), texts[i]);
        assert_int_equal(pd_topology_links_parse(t, text, &first, &len), 0);
        assert_int_equal(first, 2 * i);
        assert_int_equal(len, 1);
    }
    pd_topology_free(t);
}

static void links_are_looked_up(void **state)
{
    struct pd_topology *t = parse(graph);
    uint32_t parallel = 0, first, len;
    (void)state;
    assert_int_equal(pd_topology_links_between(t, 0, 1, &parallel), 0);
    assert_int_equal(parallel, 3);
    assert_int_equal(pd_topology_links_between(t, 1, 0, &parallel), 1);
    assert_int_equal(pd_topology_links_between(t, 0, 2, NULL), PD_NONE);
    assert_int_equal(pd_topology_links_by_ids(t, 30, 9, &parallel), 13);
    assert_int_equal(parallel, 2);
    assert_int_equal(pd_topology_links_by_ids(t, 9, 31, NULL), PD_NONE);
    assert_int_equal(pd_topology_links_by_ids(t, 30, 31, NULL), PD_NONE);
    assert_int_equal(pd_topology_links_by_port(t, 1, 2), 5);
    assert_int_equal(pd_topology_links_by_port(t, 1, 21), 14);
    assert_int_equal(pd_topology_links_by_port(t, 1, 1), PD_NONE);
    assert_int_equal(pd_topology_links_pair(t, 5), 1);
    assert_int_equal(pd_topology_links_pair(t, 6), 6);
    assert_int_equal(pd_topology_links_pair(t, 14), 12);
    assert_int_equal(pd_topology_links_from_id(t, 5), 9);
    assert_int_equal(pd_topology_links_to_id(t, 5), 5);
    assert_int_equal(pd_topology_links_to_id(t, 12), 30);
    assert_int_equal(pd_topology_links_parse(t, "9-5", &first, &len), 0);
    assert_int_equal(first, 1);
    assert_int_equal(len, 3);
    assert_int_equal(pd_topology_links_parse(t, "9:2-5", &first, &len), 0);
    assert_int_equal(first, 5);
    assert_int_equal(len, 1);
    static const char *const wrong[] = {"",    "9",         "9-",           "9-5-1", "9:-5",
                                        "0-5", "9:70000-5", "4294967296-5", " 9-5",  "*-5"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(pd_topology_links_parse(t, wrong[i], &first, &len), -PD_E_SYNTAX);
    }
    assert_int_equal(pd_topology_links_parse(t, "9:2-5:5", &first, &len), -PD_E_VALUE);
    assert_int_equal(pd_topology_links_parse(t, "9-70", &first, &len), -PD_E_VALUE);
    pd_topology_free(t);
}

/* One neighbour for all parallel links, so that a path of switches is one path. */
static void parallel_links_are_one_neighbour(void **state)
{
    struct pd_topology *t = parse(graph);
    const struct pd_switch *five = &t->switches[0], *nine = &t->switches[1];
    (void)state;
    assert_int_equal(five->switch_neighbours, 1);
    assert_int_equal(five->neighbours_len, 3);
    assert_int_equal(five->neighbours[0].parallel, 3);
    assert_int_equal(five->neighbours[0].port, 4);
    assert_int_equal(five->neighbours[1].port, 2); /* host 30, by rank */
    assert_int_equal(nine->neighbours_len, 2);
    assert_int_equal(nine->neighbours[1].parallel, 2);
    assert_true(pd_topology_switch_has_rack(nine));
    assert_true(pd_topology_switch_has_rack(&t->switches[3]));
    assert_false(pd_topology_switch_has_rack(&t->switches[2]));
    pd_topology_free(t);
}

static void a_host_may_hang_at_several_switches(void **state)
{
    uint32_t tors[PD_HOMES_MAX];
    struct pd_topology *t = parse(graph);
    (void)state;
    assert_int_equal(t->hosts[0].tors_len, 2);
    assert_int_equal(t->hosts[0].tor, 0);
    assert_int_equal(t->hosts[0].tors[1], 1);
    assert_true(pd_host_hangs_at(&t->hosts[0], 0) && pd_host_hangs_at(&t->hosts[0], 1));
    assert_false(pd_host_hangs_at(&t->hosts[0], 3));
    assert_int_equal(tors_of(t, "10.0.1.30", tors), 2);
    assert_int_equal(tors[0], 0);
    assert_int_equal(tors[1], 1);
    assert_int_equal(tors_of(t, "10.0.1.77", tors), 2); /* the prefix that both share */
    assert_int_equal(tors_of(t, "10.0.2.31", tors), 1);
    assert_int_equal(tors[0], 0);
    assert_int_equal(tors_of(t, "10.0.3.1", tors), 1);
    assert_int_equal(tors[0], 3);
    assert_int_equal(tors_of(t, "10.0.4.1", tors), 0);
    assert_int_equal(tor_alone(t, "10.0.1.30"), PD_NONE);
    assert_int_equal(tor_alone(t, "10.0.1.77"), PD_NONE);
    assert_int_equal(tor_alone(t, "10.0.4.1"), PD_NONE);
    assert_int_equal(tor_alone(t, "10.0.3.1"), 3);
    pd_topology_free(t);
}

static void interfaces_are_looked_up(void **state)
{
    static const struct {
        const char *addr;
        uint32_t sw, link;
    } known[] = {{"10.9.9.9", 1, PD_NONE},
                 {"172.16.0.0", 0, 0},
                 {"172.16.0.1", 1, 1},
                 {"fd01::1", 1, 1},
                 {"10.0.1.30", PD_NONE, 77}};
    struct pd_topology *t = parse(graph);
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct pd_addr addr;
        uint8_t version;
        uint32_t link = 77;
        assert_int_equal(pd_addr_parse(known[i].addr, &addr, &version), 0);
        assert_int_equal(pd_topology_interface(t, &addr, version, &link), known[i].sw);
        assert_int_equal(link, known[i].link);
    }
    pd_topology_free(t);
}

static void codecs_have_options(void **state)
{
    struct pd_topology *t = parse(graph);
    (void)state;
    assert_string_equal(t->codec, "a");
    assert_int_equal(t->codecs_len, 2);
    assert_string_equal(t->codecs[0].options, "");
    assert_int_equal(t->codecs[0].tpid, 0x8100);
    assert_int_equal(t->codecs[0].max_hops, 0);
    assert_int_equal(t->codecs[1].tpid, 0x88a8);
    assert_int_equal(t->codecs[1].max_hops, 6);
    assert_string_equal(t->codecs[1].options, "{\"tpid\":\"0x88a8\",\"max_hops\":6,\"own\":[1]}");
    pd_topology_free(t);
    t = parse("{\"codec\":[\"x\"],\"codec_options\":{\"own\":1},\"nodes\":[{\"id\":1,\"role\":"
              "\"switch\"}],\"links\":[]}");
    assert_int_equal(t->codecs_len, 1);
    assert_string_equal(t->codecs[0].options, "{\"own\":1}");
    pd_topology_free(t);
}

/* What is written is read as the same, whatever the order in the file. */
static void switches_are_known_by_their_datapaths(void **state)
{
    struct pd_topology *t = parse(graph);
    (void)state;
    assert_int_equal(pd_topology_datapath(t, UINT64_C(0x1b21abcd0009)), pd_topology_switch(t, 71));
    assert_int_equal(pd_topology_datapath(t, 70), pd_topology_switch(t, 70));
    assert_int_equal(pd_topology_datapath(t, 71), PD_NONE);
    assert_int_equal(pd_topology_datapath(t, UINT64_C(0x100000046)), PD_NONE);
    assert_int_equal(pd_topology_ioam(t, 71), pd_topology_switch(t, 71));
    pd_topology_free(t);
}

static void writing_keeps_all(void **state)
{
    struct pd_topology *t = parse(graph);
    char *texts[2];
    size_t bytes[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        FILE *out = open_memstream(&texts[i], &bytes[i]);
        assert_int_equal(pd_topology_write(t, out), 0);
        fclose(out);
        pd_topology_free(t);
        t = parse(texts[i]);
    }
    static const char *const parts[] = {
        "\"codec\":[\"a\",\"b\"],\"codec_options\":{\"b\":{\"tpid\":\"0x88a8\",\"max_hops\":6,"
        "\"own\":[1]}}",
        "{\"id\":5,\"name\":\"5\",\"role\":\"switch\",\"position\":3,\"prefixes\"",
        "\"prefixes\":[\"10.0.1.0/24\"],\"addrs\":[\"10.9.9.9\"],\"x\":1.5,\"y\":-2}",
        "{\"source\":5,\"target\":9,\"source_port\":4,\"target_port\":8,\"source_addrs\":"
        "[\"172.16.0.0\"],\"target_addrs\":[\"172.16.0.1\",\"fd01::1\"]}",
        "{\"source\":5,\"target\":9,\"source_port\":5,\"target_port\":3,\"mbps\":40000}",
        "{\"source\":9,\"target\":30,\"source_port\":20,\"target_port\":1}",
        "{\"source\":70,\"target\":71}",
        "[\"10.0.3.0/24\"],\"dpid\":\"0x00001b21abcd0009\""};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!strstr(texts[0], parts[i])) {
            fail_msg("`%s` is not in %s", parts[i], texts[0]);
        }
    }
    assert_string_equal(texts[0], texts[1]);
    pd_topology_free(t);
    free(texts[0]);
    free(texts[1]);
}

/* A host at `len` switches, and as many links at switch 1. */
static int parse_star(uint32_t len, bool parallel, struct pd_error *error)
{
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    struct pd_topology *t = NULL;
    fputs("{\"nodes\":[{\"id\":9999,\"role\":\"host\"},{\"id\":1,\"role\":\"switch\"}", out);
    for (uint32_t i = 2; i <= len; i++) {
        fprintf(out, ",{\"id\":%u,\"role\":\"switch\"}", i);
    }
    fputs("],\"links\":[{\"source\":9999,\"target\":1,\"target_port\":5000}", out);
    for (uint32_t i = 2; i <= len; i++) {
        fprintf(out, ",{\"source\":9999,\"target\":%u", parallel ? 1 : i);
        fprintf(out, ",\"target_port\":%u}", i);
    }
    fputs("]}", out);
    fclose(out);
    int failed = pd_topology_parse(text, bytes, "x.json", &t, error);
    pd_topology_free(t);
    free(text);
    return failed;
}

static void a_host_hangs_at_64_switches_at_most(void **state)
{
    struct pd_error error = {0};
    (void)state;
    assert_int_equal(parse_star(64, false, &error), 0);
    assert_int_equal(parse_star(65, false, &error), -PD_E_TOPOLOGY);
    assert_string_equal(error.text,
                        "x.json: nodes[0]: host 9999 hangs at 65 switches, expected 1 to 64");
    assert_int_equal(parse_star(4096, true, &error), 0);
    assert_int_equal(parse_star(4097, true, &error), -PD_E_TOPOLOGY);
    assert_string_equal(error.text,
                        "x.json: nodes[1]: switch 1 has 4097 links, expected at most 4096");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_have_one_numbering),
        cmocka_unit_test(links_are_looked_up),
        cmocka_unit_test(parallel_links_are_one_neighbour),
        cmocka_unit_test(a_host_may_hang_at_several_switches),
        cmocka_unit_test(interfaces_are_looked_up),
        cmocka_unit_test(codecs_have_options),
        cmocka_unit_test(switches_are_known_by_their_datapaths),
        cmocka_unit_test(writing_keeps_all),
        cmocka_unit_test(a_host_hangs_at_64_switches_at_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
