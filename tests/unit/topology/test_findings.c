/* SPDX-License-Identifier: Apache-2.0 */
/* The checker: each way to spoil a good file gives its finding, with the exact place in the file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "topology/topology.h"

/* One change of a JSON document: the value at a path ("nodes/3/id"; "-" at the end of a list)
 * becomes `value`, or goes away where that is NULL. */
struct edit {
    const char *path;
    const char *value;
};

struct bad_file {
    const char *what;
    enum { FAT_TREE_4, VL2_4, LEAF_SPINE_3_2 } base;
    struct edit edits[4];
    const char *finding; /* without the file's name */
};

/* Places in the files: fat-tree(4) has ToRs nodes[0..7], aggs [8..15], cores [16..19], hosts
 * [20..35], and links of ToR i (0-based) at 4i: two aggs, two hosts; of agg i at 32 + 2i. IDs are
 * places + 1. */
static const struct bad_file bad_files[] = {
    {"ID of another node",
     FAT_TREE_4,
     {{"nodes/3/id", "3"}},
     "nodes[3].id: 3 is also the ID of nodes[2]"},
    {"ID of a switch at a host",
     FAT_TREE_4,
     {{"nodes/20/id", "1"}},
     "nodes[20].id: 1 is also the ID of nodes[0]"},
    {"ID 0",
     FAT_TREE_4,
     {{"nodes/3/id", "0"}},
     "nodes[3].id: wrong, expected an integer from 1 to 4294967295"},
    {"negative ID",
     FAT_TREE_4,
     {{"nodes/3/id", "-4"}},
     "nodes[3].id: wrong, expected an integer from 1 to 4294967295"},
    {"ID too large",
     FAT_TREE_4,
     {{"nodes/3/id", "4294967296"}},
     "nodes[3].id: wrong, expected an integer from 1 to 4294967295"},
    {"ID that is text",
     FAT_TREE_4,
     {{"nodes/3/id", "\"4\""}},
     "nodes[3].id: wrong, expected an integer from 1 to 4294967295"},
    {"ID with a fraction",
     FAT_TREE_4,
     {{"nodes/3/id", "4.0"}},
     "nodes[3].id: wrong, expected an integer from 1 to 4294967295"},
    {"no ID",
     FAT_TREE_4,
     {{"nodes/3/id", NULL}},
     "nodes[3].id: missing, expected an integer from 1 to 4294967295"},
    {"node that is no object",
     FAT_TREE_4,
     {{"nodes/3", "4"}},
     "nodes[3]: wrong, expected an object"},
    {"unknown role",
     FAT_TREE_4,
     {{"nodes/8/role", "\"router\""}},
     "nodes[8].role: `router`, expected tor, agg, core, intermediate, leaf, spine, switch or host"},
    {"role with control characters",
     FAT_TREE_4,
     {{"nodes/8/role", "\"\\u001b[2J\""}},
     "nodes[8].role: `?[2J`, expected tor, agg, core, intermediate, leaf, spine, switch or host"},
    {"no role",
     FAT_TREE_4,
     {{"nodes/8/role", NULL}},
     "nodes[8].role: ``, expected tor, agg, core, intermediate, leaf, spine, switch or host"},
    {"name that is a number",
     FAT_TREE_4,
     {{"nodes/0/name", "7"}},
     "nodes[0].name: wrong, expected a string of at most 64 bytes without control characters"},
    {"name with a control character",
     FAT_TREE_4,
     {{"nodes/0/name", "\"a\\nb\""}},
     "nodes[0].name: wrong, expected a string of at most 64 bytes without control characters"},
    {"codec that is an object",
     FAT_TREE_4,
     {{"codec", "{}"}},
     "codec: wrong, expected a string of at most 64 bytes without control characters, or a list of "
     "such"},
    {"codecs of which one is a number",
     FAT_TREE_4,
     {{"codec", "[\"a\",1]"}},
     "codec[1]: wrong, expected the name of a codec, each once"},
    {"codecs of which one is there twice",
     FAT_TREE_4,
     {{"codec", "[\"a\",\"b\",\"a\"]"}},
     "codec[2]: wrong, expected the name of a codec, each once"},
    {"nine codecs",
     FAT_TREE_4,
     {{"codec", "[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\"]"}},
     "codec: 9 names, expected at most 8"},
    {"options that are a list",
     FAT_TREE_4,
     {{"codec_options", "[]"}},
     "codec_options: wrong, expected an object"},
    {"options of no codec",
     FAT_TREE_4,
     {{"codec", "[\"a\",\"b\"]"}, {"codec_options", "{\"c\":{}}"}},
     "codec_options: `c` is no codec of this file"},
    {"unknown TPID",
     FAT_TREE_4,
     {{"codec_options", "{\"tpid\":\"0x9100\"}"}},
     "codec_options.tpid: wrong, expected \"0x8100\" or \"0x88a8\""},
    {"datapath ID that is a number",
     FAT_TREE_4,
     {{"nodes/0/dpid", "17"}},
     "nodes[0].dpid: ``, expected 1 to 16 hexadecimal digits, as \"0x00001b21abcd0009\""},
    {"datapath ID of 65 bits",
     FAT_TREE_4,
     {{"nodes/0/dpid", "\"0x10000000000000000\""}},
     "nodes[0].dpid: `0x10000000000000000`, expected 1 to 16 hexadecimal digits, as "
     "\"0x00001b21abcd0009\""},
    {"datapath ID 0",
     FAT_TREE_4,
     {{"nodes/0/dpid", "\"0x0\""}},
     "nodes[0].dpid: `0x0`, expected 1 to 16 hexadecimal digits, as \"0x00001b21abcd0009\""},
    {"datapath ID that is another switch's ID",
     FAT_TREE_4,
     {{"nodes/0/dpid", "\"0x2\""}},
     "nodes: switches 1 and 2 have the datapath ID 2 both"},
    {"edge of no kind",
     FAT_TREE_4,
     {{"codec_options", "{\"edge\":\"ajar\"}"}},
     "codec_options.edge: wrong, expected \"drop\", \"strip\" or \"open\""},
    {"edge that is a number",
     FAT_TREE_4,
     {{"codec_options", "{\"edge\":1}"}},
     "codec_options.edge: wrong, expected \"drop\", \"strip\" or \"open\""},
    {"TPID that is a number",
     FAT_TREE_4,
     {{"codec_options", "{\"tpid\":34984}"}},
     "codec_options.tpid: wrong, expected \"0x8100\" or \"0x88a8\""},
    {"no hops, of one codec of two",
     FAT_TREE_4,
     {{"codec", "[\"a\",\"b\"]"}, {"codec_options", "{\"b\":{\"max_hops\":0}}"}},
     "codec_options.b.max_hops: wrong, expected an integer from 1 to 127"},
    {"position 0",
     FAT_TREE_4,
     {{"nodes/0/position", "0"}},
     "nodes[0].position: wrong, expected an integer from 1 to 65535"},
    {"coordinate that is text",
     FAT_TREE_4,
     {{"nodes/0/x", "\"left\""}},
     "nodes[0].x: wrong, expected a number"},
    {"capacity 0",
     FAT_TREE_4,
     {{"links/0/mbps", "0"}},
     "links[0].mbps: wrong, expected an integer from 1 to 100000000"},
    {"interface address that is none",
     FAT_TREE_4,
     {{"links/0/target_addrs", "[\"10.1.1.1\",\"x\"]"}},
     "links[0].target_addrs[1]: `x`, expected an address like \"10.1.1.2\""},
    {"addresses of a switch that are no list",
     FAT_TREE_4,
     {{"nodes/0/addrs", "\"10.1.1.1\""}},
     "nodes[0].addrs: wrong, expected a list of at most 64 strings"},
    {"pod that is text",
     FAT_TREE_4,
     {{"nodes/0/pod", "\"1\""}},
     "nodes[0].pod: wrong, expected an integer from 1 to 65535"},
    {"prefixes that are no list",
     FAT_TREE_4,
     {{"nodes/0/prefixes", "\"10.1.1.0/24\""}},
     "nodes[0].prefixes: wrong, expected a list of at most 64 strings"},
    {"prefix too long",
     FAT_TREE_4,
     {{"nodes/0/prefixes/0", "\"10.1.1.0/33\""}},
     "nodes[0].prefixes[0]: `10.1.1.0/33`, expected a prefix like \"10.1.1.0/24\", zero behind its "
     "length"},
    {"prefix with host bits",
     FAT_TREE_4,
     {{"nodes/0/prefixes/1", "\"fd00:0:1:1::1/64\""}},
     "nodes[0].prefixes[1]: `fd00:0:1:1::1/64`, expected a prefix like \"10.1.1.0/24\", zero "
     "behind its length"},
    {"prefix without length",
     FAT_TREE_4,
     {{"nodes/0/prefixes/0", "\"10.1.1.0\""}},
     "nodes[0].prefixes[0]: `10.1.1.0`, expected a prefix like \"10.1.1.0/24\", zero behind its "
     "length"},
    {"prefixes of a host",
     FAT_TREE_4,
     {{"nodes/20/prefixes", "[\"10.9.9.0/24\"]"}},
     "nodes[20].prefixes: a host has none"},
    {"address that is none",
     FAT_TREE_4,
     {{"nodes/20/addrs/0", "\"10.1.1\""}},
     "nodes[20].addrs[0]: `10.1.1`, expected an address like \"10.1.1.2\""},
    {"link without target",
     FAT_TREE_4,
     {{"links/12/target", NULL}},
     "links[12].target: missing, expected an integer from 1 to 4294967295"},
    {"port 0",
     FAT_TREE_4,
     {{"links/12/source_port", "0"}},
     "links[12].source_port: wrong, expected an integer from 1 to 65535"},
    {"tag 4095",
     FAT_TREE_4,
     {{"links/12/tag", "4095"}},
     "links[12].tag: wrong, expected an integer from 1 to 4094"},
    {"link that is no object",
     FAT_TREE_4,
     {{"links/12", "[1,2]"}},
     "links[12]: wrong, expected an object"},
    {"no nodes", FAT_TREE_4, {{"nodes", NULL}}, "nodes: missing, expected a list"},
    {"links that are no list", FAT_TREE_4, {{"links", "{}"}}, "links: wrong, expected a list"},
    {"link to nowhere",
     FAT_TREE_4,
     {{"links/12/target", "99"}},
     "links[12].target: no node has the ID 99"},
    {"link from nowhere",
     FAT_TREE_4,
     {{"links/12/source", "4294967295"}},
     "links[12].source: no node has the ID 4294967295"},
    {"link of a node with itself",
     FAT_TREE_4,
     {{"links/12/target", "4"}},
     "links[12]: joins node 4 with itself"},
    {"link given twice, turned around",
     FAT_TREE_4,
     {{"links/-", "{\"source\":9,\"target\":1}"}},
     "links[48]: 9 – 1 is given already as links[0], and parallel links need ports"},
    {"parallel links, one of them without a port",
     FAT_TREE_4,
     {{"links/-", "{\"source\":9,\"target\":1,\"source_port\":7,\"target_port\":8}"},
      {"links/0/source_port", "9"}},
     "links[48]: 9 – 1 is given already as links[0], and parallel links need ports"},
    {"parallel links with the same ports",
     FAT_TREE_4,
     {{"links/-", "{\"source\":9,\"target\":1,\"source_port\":7,\"target_port\":8}"},
      {"links/0/source_port", "8"},
      {"links/0/target_port", "7"}},
     "links[48].target_port: port 8 of switch 1 is also that of links[0]"},
    {"parallel links with different tags",
     FAT_TREE_4,
     {{"codec", NULL},
      {"links/-", "{\"source\":9,\"target\":1,\"source_port\":7,\"target_port\":8,\"tag\":5}"},
      {"links/0", "{\"source\":1,\"target\":9,\"source_port\":9,\"target_port\":9,\"tag\":6}"}},
     "links[0].tag: 6, but a parallel link has 5"},
    {"host at a host",
     FAT_TREE_4,
     {{"links/2/source", "22"}},
     "links[2]: joins host 22 and host 21, expected a switch at one end"},
    {"prefix around another",
     FAT_TREE_4,
     {{"nodes/1/prefixes/0", "\"10.1.0.0/16\""}},
     "nodes[1].prefixes[0]: 10.1.0.0/16 overlaps 10.1.1.0/24, nodes[0].prefixes[0]"},
    {"prefix given twice at a node",
     FAT_TREE_4,
     {{"nodes/0/prefixes/-", "\"10.1.1.0/24\""}},
     "nodes[0].prefixes[2]: 10.1.1.0/24 overlaps 10.1.1.0/24, nodes[0].prefixes[0]"},
    {"prefix inside another, IPv6",
     FAT_TREE_4,
     {{"nodes/5/prefixes/1", "\"fd00:0:1:1:8000::/65\""}},
     "nodes[5].prefixes[1]: fd00:0:1:1:8000::/65 overlaps fd00:0:1:1::/64, nodes[0].prefixes[1]"},
    {"address of another host",
     FAT_TREE_4,
     {{"nodes/21/addrs/0", "\"10.1.1.2\""}},
     "nodes[21].addrs[0]: 10.1.1.2 is also nodes[20].addrs[0]"},
    {"address of another rack",
     FAT_TREE_4,
     {{"nodes/20/addrs/0", "\"10.1.2.9\""}},
     "nodes[20].addrs[0]: 10.1.2.9 lies outside the prefixes of its rack, switch 1"},
    {"address of no rack",
     FAT_TREE_4,
     {{"nodes/20/addrs/1", "\"::1\""}},
     "nodes[20].addrs[1]: ::1 lies outside the prefixes of its rack, switch 1"},
    {"host without link",
     FAT_TREE_4,
     {{"links/2", NULL}},
     "nodes[20]: host 21 hangs at 0 switches, expected 1 to 64"},
    {"prefix at two switches without a host at both",
     FAT_TREE_4,
     {{"nodes/1/prefixes/-", "\"10.1.1.0/24\""}},
     "nodes[1].prefixes[2]: 10.1.1.0/24 overlaps 10.1.1.0/24, nodes[0].prefixes[0]"},
    {"prefix inside that of a switch with a host at both",
     FAT_TREE_4,
     {{"nodes/1/prefixes/-", "\"10.1.1.0/25\""}, {"links/-", "{\"source\":2,\"target\":21}"}},
     "nodes[1].prefixes[2]: 10.1.1.0/25 overlaps 10.1.1.0/24, nodes[0].prefixes[0]"},
    {"address of a switch that a host has",
     FAT_TREE_4,
     {{"nodes/0/addrs", "[\"10.0.0.1\",\"10.1.1.2\"]"}},
     "nodes[20].addrs[0]: 10.1.1.2 is also nodes[0].addrs[1]"},
    {"address of a link that a switch has",
     FAT_TREE_4,
     {{"nodes/8/addrs", "[\"10.0.0.1\"]"}, {"links/4/target_addrs", "[\"10.0.0.1\"]"}},
     "links[4].target_addrs[0]: 10.0.0.1 is also nodes[8].addrs[0]"},
    {"address at both ends of a link",
     FAT_TREE_4,
     {{"links/4/source_addrs", "[\"fd01::1\"]"}, {"links/4/target_addrs", "[\"fd01::1\"]"}},
     "links[4].target_addrs[0]: fd01::1 is also links[4].source_addrs[0]"},
    {"port used by rank",
     FAT_TREE_4,
     {{"links/0/source_port", "2"}},
     "links[1].source_port: port 2 of switch 1 is also that of links[0]"},
    {"port used twice at a target",
     FAT_TREE_4,
     {{"links/0/target_port", "7"}, {"links/4/target_port", "7"}},
     "links[4].target_port: port 7 of switch 9 is also that of links[0]"},
    {"no switch", FAT_TREE_4, {{"nodes", "[]"}, {"links", "[]"}}, "nodes: there is no switch"},
    {"leaf in a fat-tree",
     FAT_TREE_4,
     {{"nodes/0/role", "\"leaf\""}},
     "nodes[0]: switch 1 is a leaf, which no fat-tree has"},
    {"agg in place of a core",
     FAT_TREE_4,
     {{"nodes/19/role", "\"agg\""}},
     "links[35]: joins agg 10 and agg 20, which no fat-tree does"},
    {"agg without a place",
     FAT_TREE_4,
     {{"nodes/-", "{\"id\":99,\"role\":\"agg\",\"pod\":1}"},
      {"links/-", "{\"source\":99,\"target\":1}"}},
     "nodes[36]: agg 99 has no place: no \"position\", and no name like a generator's"},
    {"link past a layer",
     FAT_TREE_4,
     {{"links/-", "{\"source\":1,\"target\":17}"}},
     "links[48]: joins tor 1 and core 17, which no fat-tree does"},
    {"link inside a layer",
     FAT_TREE_4,
     {{"links/-", "{\"source\":10,\"target\":9}"}},
     "links[48]: joins agg 9 and agg 10, which no fat-tree does"},
    {"pod of nobody else",
     FAT_TREE_4,
     {{"nodes/0/pod", "9"}},
     "links[0]: joins tor 1 of pod 9 and agg 9 of pod 1, expected the same pod"},
    {"no pod",
     FAT_TREE_4,
     {{"nodes/9/pod", NULL}},
     "nodes[9]: agg 10 is in pod 0, expected 1 to 4"},
    {"pod of others", FAT_TREE_4, {{"nodes/2/pod", "1"}}, "nodes[2]: tor 3 has the place of tor 1"},
    {"link into another pod",
     FAT_TREE_4,
     {{"links/0/target", "11"}},
     "links[0]: joins tor 1 of pod 1 and agg 11 of pod 2, expected the same pod"},
    {"core with two links into a pod",
     FAT_TREE_4,
     {{"links/34/target", "17"}, {"links/36/target", "19"}},
     "links[34]: joins agg 10, number 2 of its pod, and core 17 of group 1, expected the same"},
    {"core groups that differ by pod",
     FAT_TREE_4,
     {{"links/37/target", "19"}, {"links/38/target", "18"}},
     "links[37]: joins agg 11, number 1 of its pod, and core 19 of group 2, expected the same"},
    {"position beyond all shapes",
     FAT_TREE_4,
     {{"links/0", NULL}, {"nodes/0/position", "40"}},
     "nodes: places for k = 80, expected at most 72"},
    {"place of another",
     FAT_TREE_4,
     {{"links/0", NULL}, {"nodes/0/position", "2"}},
     "nodes[1]: tor 2 has the place of tor 1"},
    {"prefixes of an agg",
     FAT_TREE_4,
     {{"nodes/8/prefixes", "[\"10.9.9.0/24\"]"}},
     "nodes[8]: agg 9 has hosts or prefixes, which none of a fat-tree has"},
    {"host at a core",
     FAT_TREE_4,
     {{"links/-", "{\"source\":17,\"target\":21}"}},
     "nodes[16]: core 17 has hosts or prefixes, which none of a fat-tree has"},
    {"spine in a VL2",
     VL2_4,
     {{"nodes/8/role", "\"spine\""}},
     "nodes[8]: switch 9 is a spine, which no VL2 has"},
    {"agg in place of an intermediate",
     VL2_4,
     {{"nodes/8/role", "\"agg\""}},
     "links[88]: joins agg 5 and agg 9, which no VL2 does"},
    {"intermediate without a place",
     VL2_4,
     {{"nodes/-", "{\"id\":99,\"role\":\"intermediate\"}"},
      {"links/-", "{\"source\":99,\"target\":5}"}},
     "nodes[90]: intermediate 99 has no place: no \"position\", and no name like a generator's"},
    {"aggs that are no pair",
     VL2_4,
     {{"links/23/target", "7"}, {"links/44/target", "6"}},
     "links[23]: joins tor 2 of pair 1 and agg 7 of pair 2, expected the same"},
    {"leaves linked with each other",
     LEAF_SPINE_3_2,
     {{"links/-", "{\"source\":1,\"target\":2}"}},
     "links[9]: joins leaf 1 and leaf 2, which no leaf-spine does"},
    {"place of another leaf",
     LEAF_SPINE_3_2,
     {{"nodes/0/position", "2"}, {"codec_options", "{\"leaves\":9}"}},
     "nodes[1]: leaf 2 has the place of leaf 1"},
    {"no spine",
     LEAF_SPINE_3_2,
     {{"nodes/4/role", "\"leaf\""}, {"nodes/3/role", "\"leaf\""}},
     "nodes: 5 leaves and 0 spines, expected at least 2 and 1 with a product of at most 4094"},
};

/* ---- editing JSON */

static json_t *base_document(int base)
{
    struct pd_topology *t = NULL;
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    int failed = base == FAT_TREE_4 ? pd_topology_fat_tree(4, &t, NULL)
                 : base == VL2_4    ? pd_topology_vl2(4, &t, NULL)
                                    : pd_topology_leaf_spine(3, 2, 1, &t, NULL);
    assert_int_equal(failed, 0);
    assert_int_equal(pd_topology_write(t, out), 0);
    fclose(out);
    pd_topology_free(t);
    json_t *root = json_loadb(text, bytes, 0, NULL);
    assert_non_null(root);
    free(text);
    return root;
}

static void apply(json_t *root, const struct edit *edit)
{
    char path[64];
    json_t *at = root, *value = edit->value ? json_loads(edit->value, JSON_DECODE_ANY, NULL) : NULL;
    assert_true(value || !edit->value);
    snprintf(path, sizeof path, "%s", edit->path);
    char *step = path, *slash;
    for (; (slash = strchr(step, '/')); step = slash + 1) {
        *slash = 0;
        at = json_is_array(at) ? json_array_get(at, strtoul(step, NULL, 10))
                               : json_object_get(at, step);
        assert_non_null(at);
    }
    int failed;
    if (json_is_object(at)) {
        failed = value ? json_object_set_new(at, step, value) : json_object_del(at, step);
    } else if (!strcmp(step, "-")) {
        failed = json_array_append_new(at, value);
    } else if (value) {
        failed = json_array_set_new(at, strtoul(step, NULL, 10), value);
    } else {
        failed = json_array_remove(at, strtoul(step, NULL, 10));
    }
    assert_int_equal(failed, 0);
}

/* ---- checking */

static char file_name[] = "/tmp/pd-topology-XXXXXX";

static void write_file(const char *text)
{
    FILE *out = fopen(file_name, "w");
    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

struct expected {
    char finding[600];
    bool found;
    unsigned len;
};

static void compare(void *context, const char *finding)
{
    struct expected *expected = context;
    expected->found |= !strcmp(expected->finding, finding);
    expected->len++;
}

static void check_bad_file(const struct bad_file *bad)
{
    struct expected expected = {.len = 0};
    struct pd_error error = {0}, read_error = {0};
    struct pd_topology *t = NULL;
    json_t *root = base_document(bad->base);
    for (const struct edit *edit = bad->edits; edit->path; edit++) {
        apply(root, edit);
    }
    char *text = json_dumps(root, 0);
    write_file(text);
    snprintf(expected.finding, sizeof expected.finding, "%s: %s", file_name, bad->finding);
    int err = pd_topology_check(file_name, compare, &expected, &error);
    if (err != -PD_E_TOPOLOGY || !expected.found) {
        fail_msg("%s: code %d, expected `%s`, first of %u is `%s`", bad->what, err,
                 expected.finding, expected.len, error.text);
    }
    assert_int_equal(pd_topology_read(file_name, &t, &read_error), -PD_E_TOPOLOGY);
    assert_string_equal(read_error.text, error.text);
    assert_null(t);
    free(text);
    json_decref(root);
}

static void each_spoiled_file_is_found_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_files / sizeof *bad_files; i++) {
        check_bad_file(&bad_files[i]);
    }
}

static void all_findings_are_reported_up_to_the_limit(void **state)
{
    struct expected expected = {.finding = "149 more findings"};
    struct pd_error error = {0};
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    (void)state;
    fputs("{\"nodes\":[{\"id\":1,\"role\":\"tor\"}", out);
    for (int i = 0; i < 249; i++) {
        fputs(",{\"id\":1,\"role\":\"tor\"}", out);
    }
    fputs("],\"links\":[]}", out);
    fclose(out);
    write_file(text);
    assert_int_equal(pd_topology_check(file_name, compare, &expected, &error), -PD_E_TOPOLOGY);
    assert_true(expected.found);
    assert_int_equal(expected.len, 101);
    assert_non_null(strstr(error.text, "(and 248 more findings)"));
    free(text);
}

static void good_files_have_no_finding(void **state)
{
    struct expected expected = {.len = 0};
    (void)state;
    for (int base = FAT_TREE_4; base <= LEAF_SPINE_3_2; base++) {
        json_t *root = base_document(base);
        char *text = json_dumps(root, JSON_INDENT(2));
        write_file(text);
        assert_int_equal(pd_topology_check(file_name, compare, &expected, NULL), 0);
        free(text);
        json_decref(root);
    }
    assert_int_equal(expected.len, 0);
}

static int make_file(void **state)
{
    (void)state;
    int file = mkstemp(file_name);
    return file < 0 ? -1 : close(file);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(file_name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_spoiled_file_is_found_out),
        cmocka_unit_test(all_findings_are_reported_up_to_the_limit),
        cmocka_unit_test(good_files_have_no_finding),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
