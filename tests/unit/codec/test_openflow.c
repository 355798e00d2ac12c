/* SPDX-License-Identifier: Apache-2.0 */
/* OpenFlow text: executed along every path it tags as the formula says; ovs-ofctl accepts it; it
 * grows linearly. */
#include <fcntl.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "codec/openflow.h"
#include "flows.h"
#include "naive.h"

struct fabric {
    const struct pd_codec *codec;
    const struct naive *naive;
    enum pd_depth depth;
    struct flow_table **tables; /* by switch */
};

static char *openflow_text(const struct pd_codec *codec, uint32_t sw, enum pd_depth depth)
{
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(pd_codec_openflow_write(codec, sw, depth, out), 0);
    fclose(out);
    return text;
}

static void fabric_init(struct fabric *f, const struct pd_codec *codec, const struct naive *naive,
                        enum pd_depth depth)
{
    uint32_t len = codec->topology->switches_len;
    *f = (struct fabric){codec, naive, depth, calloc(len, sizeof(struct flow_table *))};
    assert_non_null(f->tables);
    for (uint32_t sw = 0; sw < len; sw++) {
        char *text = openflow_text(codec, sw, depth);
        f->tables[sw] = flow_table_read(text);
        free(text);
    }
}

static void fabric_done(struct fabric *f)
{
    for (uint32_t sw = 0; sw < f->codec->topology->switches_len; sw++) {
        flow_table_free(f->tables[sw]);
    }
    free(f->tables);
}

/* ---- packets through the tables of all switches on a path */

static uint32_t any_host(const struct pd_topology *t, uint32_t tor)
{
    for (uint32_t i = 0; i < t->hosts_len; i++) {
        if (t->hosts[i].tor == tor) {
            return i;
        }
    }
    fail_msg("no host at switch %u", t->switches[tor].id);
    return 0;
}

static void run_path(const struct fabric *f, const struct pd_path *path, unsigned family)
{
    const struct pd_topology *t = f->codec->topology;
    uint32_t at = pd_topology_switch(t, path->switches[0]);
    uint32_t end = pd_topology_switch(t, path->switches[path->len - 1]);
    uint32_t src = any_host(t, at), dst = any_host(t, end), in_port = 0;
    struct flow_packet packet = {.src = t->hosts[src].addrs[family],
                                 .dst = t->hosts[dst].addrs[family],
                                 .ip_version = family ? 6 : 4};
    for (uint32_t i = 0; i < t->switches[at].neighbours_len; i++) {
        if (t->switches[at].neighbours[i].is_host && t->switches[at].neighbours[i].node == src) {
            in_port = t->switches[at].neighbours[i].port;
        }
    }
    assert_int_not_equal(in_port, 0);
    enum flow_verdict verdict = flow_table_run(f->tables[at], in_port, &packet);
    for (unsigned i = 1; i < path->len && verdict == FLOW_FORWARD; i++) {
        uint32_t to = pd_topology_switch(t, path->switches[i]);
        in_port = pd_topology_link(t, to, at)->port;
        verdict = flow_table_run(f->tables[to], in_port, &packet);
        at = to;
    }
    uint16_t vids[PD_PATH_MAX];
    uint8_t dscp;
    unsigned len = naive_tags(f->naive, path, vids, &dscp);
    bool punts = f->depth == PD_DEPTH_PCP && len > pd_tagging(f->codec)->ops->max_vlans;
    assert_int_equal(verdict, punts ? FLOW_CONTROLLER : FLOW_FORWARD);
    assert_int_equal(packet.vlans_len, punts ? pd_tagging(f->codec)->ops->max_vlans : len);
    for (unsigned i = 0; i < packet.vlans_len; i++) {
        assert_int_equal(packet.vlans[i].vid, vids[i]);
        assert_int_equal(packet.vlans[i].pcp, f->depth == PD_DEPTH_PCP ? i + 1 : 0);
    }
    assert_int_equal(packet.dscp, dscp);
}

static void run_both_families(void *context, const struct pd_path *path)
{
    run_path(context, path, 0);
    run_path(context, path, 1);
}

static void run_all_paths(const struct pd_codec *codec, const struct naive *naive,
                          unsigned max_hops)
{
    const struct pd_topology *t = codec->topology;
    for (enum pd_depth depth = PD_DEPTH_PCP; depth <= PD_DEPTH_PLAIN; depth++) {
        struct fabric f;
        fabric_init(&f, codec, naive, depth);
        for (uint32_t s = 0; s < t->switches_len; s++) {
            for (uint32_t d = 0; d < t->switches_len; d++) {
                if (pd_topology_role_is_tor(t->switches[s].role) &&
                    pd_topology_role_is_tor(t->switches[d].role)) {
                    naive_paths(t, t->switches[s].id, t->switches[d].id, max_hops,
                                run_both_families, &f);
                }
            }
        }
        fabric_done(&f);
    }
}

static void text_tags_every_path_like_the_formula(void **state)
{
    static const struct naive networks[] = {{.kind = NAIVE_FAT_TREE, .k = 4},
                                            {.kind = NAIVE_VL2, .k = 4},
                                            {.kind = NAIVE_LEAF_SPINE, .k = 3, .leaves = 4}};
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct pd_topology *t;
        struct pd_codec *codec = naive_codec(&networks[i], &t);
        run_all_paths(codec, &networks[i], 8);
        pd_codec_free(codec);
        pd_topology_free(t);
    }
}

/* ---- prefixes of an operator: pods interleaved, so that few can be joined */

static void replace_all(char *text, const char *from, const char *to)
{
    char *at;
    assert_int_equal(strlen(from), strlen(to));
    while ((at = strstr(text, from))) {
        memcpy(at, to, strlen(to));
    }
}

static void move_rack(char *text, unsigned pod, unsigned tor, unsigned rack)
{
    char from[40], to[40];
    snprintf(from, sizeof from, "\"10.%u.%u.", pod, tor);
    snprintf(to, sizeof to, "\"10.9.%u.", rack);
    replace_all(text, from, to);
    snprintf(from, sizeof from, "\"fd00:0:%x:%x::", pod, tor);
    snprintf(to, sizeof to, "\"fd00:0:9:%x::", rack);
    replace_all(text, from, to);
}

/* Racks of fat-tree(4) become 10.9.R and fd00:0:9:R; R = 0 … 7 in an order that mixes pods. */
static void interleaved_pods_are_told_apart(void **state)
{
    static const unsigned racks[] = {0, 3, 1, 2, 4, 6, 5, 7};
    struct naive naive = {.kind = NAIVE_FAT_TREE, .k = 4};
    struct pd_topology *t, *other = NULL;
    struct pd_codec *codec = naive_codec(&naive, &t);
    struct pd_error error = {0};
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    (void)state;
    assert_int_equal(pd_topology_write(t, out), 0);
    fclose(out);
    pd_codec_free(codec);
    pd_topology_free(t);
    for (unsigned rack = 0; rack < 8; rack++) {
        move_rack(text, rack / 2 + 1, rack % 2 + 1, racks[rack]);
    }
    if (pd_topology_parse(text, bytes, "interleaved", &other, &error) ||
        pd_codec_new(other, &codec, &error)) {
        fail_msg("%s", error.text);
    }
    run_all_paths(codec, &naive, 6);
    char *rules = openflow_text(codec, 8, PD_DEPTH_PLAIN); /* an agg of pod 1, racks 0 and 3 */
    assert_non_null(strstr(rules, ",nw_dst=10.9.0.0/24,"));
    assert_non_null(strstr(rules, ",nw_dst=10.9.3.0/24,"));
    free(rules);
    rules = openflow_text(codec, 10,
                          PD_DEPTH_PLAIN); /* pod 2, racks 1 and 2: their join would hold 0 and 3 */
    assert_non_null(strstr(rules, ",nw_dst=10.9.1.0/24,"));
    free(rules);
    free(text);
    pd_codec_free(codec);
    pd_topology_free(other);
}

/* ---- ovs-ofctl */

/* Exit code of ovs-ofctl with its output in `output`; 127 when it is not there. */
static int parse_flows(const char *file, const char *output)
{
    const char *const arguments[] = {"ovs-ofctl", "-O", "OpenFlow13", "parse-flows", file, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status;
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_TRUNC | O_CREAT, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    int failed =
        posix_spawnp(&child, arguments[0], &actions, NULL, (char *const *)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed) {
        return 127;
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static unsigned count_flow_mods(const char *file)
{
    char line[1024];
    unsigned len = 0;
    FILE *in = fopen(file, "r");
    assert_non_null(in);
    while (fgets(line, sizeof line, in)) {
        len += !strncmp(line, "OFPT_FLOW_MOD (OF1.3)", 21);
    }
    fclose(in);
    return len;
}

/* All switches in one file: ovs-ofctl need not start for each. */
static void check_ovs_ofctl(const struct naive *naive, enum pd_depth depth)
{
    struct pd_topology *t;
    struct pd_codec *codec = naive_codec(naive, &t);
    char file[] = "/tmp/pd-flows-XXXXXX", output[sizeof file + 4];
    unsigned wanted = 0;
    int fd = mkstemp(file);
    assert_true(fd >= 0);
    FILE *out = fdopen(fd, "w");
    assert_non_null(out);
    for (uint32_t sw = 0; sw < t->switches_len; sw++) {
        char *text = openflow_text(codec, sw, depth);
        struct flow_table *table = flow_table_read(text);
        wanted += flow_table_len(table);
        fputs(text, out);
        flow_table_free(table);
        free(text);
    }
    fclose(out);
    snprintf(output, sizeof output, "%s.out", file);
    int err = parse_flows(file, output);
    unsigned parsed = err == 127 ? 0 : count_flow_mods(output);
    unlink(file);
    unlink(output);
    pd_codec_free(codec);
    pd_topology_free(t);
    if (err == 127) {
        print_message(
            "SKIPPED: ovs-ofctl is not installed, so that nobody but us has read the rules\n");
        skip();
    }
    assert_int_equal(err, 0);
    assert_int_equal(parsed, wanted);
}

static void ovs_ofctl_accepts_the_text(void **state)
{
    static const struct naive networks[] = {{.kind = NAIVE_FAT_TREE, .k = 8},
                                            {.kind = NAIVE_VL2, .k = 6},
                                            {.kind = NAIVE_LEAF_SPINE, .k = 3, .leaves = 4}};
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        for (enum pd_depth depth = PD_DEPTH_PCP; depth <= PD_DEPTH_PLAIN; depth++) {
            check_ovs_ofctl(&networks[i], depth);
        }
    }
}

/* ---- size */

/* Flows of a core, for both families: one per port in the plain form, three with the depth; and the
 * miss. A rack has two more for each host. */
static void flows_grow_linearly_with_ports(void **state)
{
    (void)state;
    for (uint32_t k = 4; k <= 48; k += 22) {
        struct naive naive = {.kind = NAIVE_FAT_TREE, .k = k};
        struct pd_topology *t;
        struct pd_codec *codec = naive_codec(&naive, &t);
        uint32_t at[] = {0, k * k / 2, k * k};
        unsigned rules[] = {k / 2, k / 2, k}, more[] = {2 + k, 0, 0};
        for (int i = 0; i < 3; i++) {
            for (unsigned states = 1; states <= 3; states += 2) {
                char *text =
                    openflow_text(codec, at[i], states == 1 ? PD_DEPTH_PLAIN : PD_DEPTH_PCP);
                struct flow_table *table = flow_table_read(text);
                assert_int_equal(flow_table_len(table), 2 * states * rules[i] + more[i] + 1);
                flow_table_free(table);
                free(text);
            }
        }
        pd_codec_free(codec);
        pd_topology_free(t);
    }
}

static void a_full_device_is_an_error(void **state)
{
    struct naive naive = {.kind = NAIVE_FAT_TREE, .k = 4};
    struct pd_topology *t;
    struct pd_codec *codec = naive_codec(&naive, &t);
    FILE *full = fopen("/dev/full", "w");
    (void)state;
    assert_non_null(full);
    assert_true(pd_codec_openflow_write(codec, 0, PD_DEPTH_PCP, full) < 0);
    fclose(full);
    pd_codec_free(codec);
    pd_topology_free(t);
}

/* Link tags of their own type: one flow more for a packet that has a tenant's tag. */
static void tenants_tags_stay_inside(void **state)
{
    static const char file[] =
        "{\"codec\":\"cherrypick-leaf-spine\",\"codec_options\":{\"tpid\":\"0x88a8\"},"
        "\"nodes\":[{\"id\":1,\"role\":\"leaf\"},{\"id\":2,\"role\":\"leaf\"},"
        "{\"id\":3,\"role\":\"spine\"}],"
        "\"links\":[{\"source\":1,\"target\":3},{\"source\":2,\"target\":3}]}";
    struct pd_topology *t = NULL;
    struct pd_codec *codec = NULL;
    (void)state;
    assert_int_equal(pd_topology_parse(file, strlen(file), "file", &t, NULL), 0);
    assert_int_equal(pd_codec_new(t, &codec, NULL), 0);
    char *text = openflow_text(codec, 2, PD_DEPTH_PCP);
    assert_non_null(strstr(text, ",ip,in_port=1,dl_vlan_pcp=0,actions=push_vlan:0x88a8,set_field:"
                                 "4097->vlan_vid,set_field:1->vlan_pcp,goto_table:1\n"));
    assert_non_null(strstr(text, ",ip,in_port=1,vlan_tci=0x0000/0x1000,actions=push_vlan:0x88a8,"));
    assert_null(strstr(text, "0x8100"));
    free(text);
    pd_codec_free(codec);
    pd_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_tags_every_path_like_the_formula),
        cmocka_unit_test(interleaved_pods_are_told_apart),
        cmocka_unit_test(flows_grow_linearly_with_ports),
        cmocka_unit_test(a_full_device_is_an_error),
        cmocka_unit_test(tenants_tags_stay_inside),
        cmocka_unit_test(ovs_ofctl_accepts_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
