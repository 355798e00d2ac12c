/* SPDX-License-Identifier: Apache-2.0 */
/* The edge: no mark that a host makes comes in, whatever tags it sends; the proof finds the port
 * where one does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/edge.h"
#include "codec/openflow.h"
#include "flows.h"
#include "naive.h"
#include "topology/links.h"

static const struct naive networks[] = {{.kind = NAIVE_FAT_TREE, .k = 4},
                                        {.kind = NAIVE_VL2, .k = 4},
                                        {.kind = NAIVE_LEAF_SPINE, .k = 3, .leaves = 4}};

/* ---- the text, executed on packets of hosts */

static bool faces_host(const struct pd_topology *t, uint32_t sw, uint32_t port)
{
    uint32_t number = pd_topology_links_by_port(t, sw, (uint16_t)port);
    assert_int_not_equal(number, PD_NONE);
    return pd_links_of(t, number)->is_host;
}

/* Tags with every VID and PCP, in stacks of 0 to 3. */
static struct flow_packet forge(unsigned n, bool arp)
{
    struct flow_packet packet = {.ip_version = arp     ? 1
                                               : n & 1 ? 6
                                                       : 4,
                                 .dscp = arp ? 0 : (uint8_t)(n % 64),
                                 .vlans_len = n / 2 % 4};
    for (unsigned i = 0; i < packet.vlans_len; i++) {
        packet.vlans[i].vid = (uint16_t)(n * 2654435761U >> (3 + i) & 4095);
        packet.vlans[i].pcp = (uint8_t)((n / 8 + i) % 8);
    }
    return packet;
}

static void check_port(const struct flow_table *table, uint32_t port, enum pd_edge_option edge,
                       bool uses_dscp)
{
    struct flow_packet old = {.ip_version = 2};
    assert_int_equal(flow_table_run(table, port, &old), FLOW_DROP);
    for (unsigned n = 0; n < 4096; n++) {
        struct flow_packet packet = forge(n, n % 16 == 15);
        unsigned tags = packet.vlans_len;
        uint8_t dscp = packet.dscp;
        bool stays = !tags || (edge == PD_EDGE_STRIP && tags <= 2);
        enum flow_verdict verdict = flow_table_run(table, port, &packet);
        assert_int_equal(verdict, stays ? FLOW_FORWARD : FLOW_DROP);
        if (verdict == FLOW_FORWARD) {
            assert_int_equal(packet.vlans_len, 0);
            assert_int_equal(packet.dscp, uses_dscp ? 0 : dscp);
        }
    }
}

static void check_network(const struct naive *naive, const char *options, enum pd_edge_option edge)
{
    struct pd_topology *t;
    struct pd_codec *codec = naive_codec_told(naive, options, &t);
    for (uint32_t sw = 0; sw < t->switches_len; sw++) {
        char *text;
        size_t bytes;
        FILE *out = open_memstream(&text, &bytes);
        assert_int_equal(pd_codec_openflow_write(codec, sw, PD_DEPTH_PCP, out), 0);
        fclose(out);
        struct flow_table *table = flow_table_read(text);
        uint32_t faced = 0;
        for (uint32_t port = 1; port <= t->switches[sw].neighbours_len; port++) {
            if (faces_host(t, sw, port)) {
                check_port(table, port, edge, naive->kind == NAIVE_VL2);
                faced++;
            }
        }
        assert_int_equal(pd_codec_edge_ports(t, sw), faced);
        flow_table_free(table);
        free(text);
    }
    pd_codec_free(codec);
    pd_topology_free(t);
}

static void no_tag_of_a_host_comes_in(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        check_network(&networks[i], "{}", PD_EDGE_DROP);
        check_network(&networks[i], "{\"edge\":\"drop\"}", PD_EDGE_DROP);
        check_network(&networks[i], "{\"edge\":\"strip\"}", PD_EDGE_STRIP);
    }
}

/* ---- the proof */

static struct pd_codec_edge_proof prove(const struct naive *naive, const char *options)
{
    struct pd_topology *t;
    struct pd_codec *codec = naive_codec_told(naive, options, &t);
    struct pd_codec_edge_proof proofs[2];
    assert_int_equal(pd_codec_edge_prove(codec, PD_DEPTH_PCP, &proofs[0]), 0);
    assert_int_equal(pd_codec_edge_prove(codec, PD_DEPTH_PLAIN, &proofs[1]), 0);
    assert_memory_equal(&proofs[0], &proofs[1], sizeof proofs[0]);
    assert_int_equal(proofs[0].ports, t->hosts_len);
    assert_int_equal(proofs[0].unknown, 0);
    pd_codec_free(codec);
    pd_topology_free(t);
    return proofs[0];
}

static void the_proof_finds_open_edges(void **state)
{
    static const char *const held[] = {"{}", "{\"edge\":\"strip\"}", "{\"tpid\":\"0x88a8\"}",
                                       "{\"tpid\":\"0x88a8\",\"edge\":\"strip\"}"};
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned h = 0; h < 4; h++) {
            struct pd_codec_edge_proof proof = prove(&networks[i], held[h]);
            assert_int_equal(proof.leaks, 0);
            assert_true(proof.rows >= proof.ports);
        }
        struct pd_codec_edge_proof open = prove(&networks[i], "{\"edge\":\"open\"}");
        assert_int_equal(open.leaks, open.ports);
        assert_int_equal(open.rows, 0);
    }
}

/* Each row of the edge is needed: the table without it lets something in, or keeps tenants out. */
static void each_row_is_needed(void **state)
{
    static const char *const options[] = {"{}", "{\"edge\":\"strip\"}"};
    (void)state;
    for (unsigned o = 0; o < 2; o++) {
        struct pd_topology *t;
        struct pd_codec *codec = naive_codec_told(&networks[1], options[o], &t);
        struct pd_codec_rows rows;
        uint32_t sw = t->hosts[0].tor;
        assert_int_equal(pd_codec_rows_make(codec, sw, PD_DEPTH_PCP, &rows), 0);
        for (size_t i = 0; i < rows.len; i++) {
            const struct pd_codec_row kept = rows.rows[i];
            if (!pd_codec_is_edge_row(&kept)) {
                continue;
            }
            struct pd_codec_edge_packet packet = {.in_port = kept.in_port,
                                                  .family = kept.family,
                                                  .dscp = kept.family != PD_ROW_ARP ? 5 : 0,
                                                  .len = kept.depth == PD_ROW_TAGGED ||
                                                         kept.family == PD_ROW_OLD};
            packet.tags[0] = (struct pd_codec_edge_tag){
                .tpid = kept.family == PD_ROW_OLD ? 0x9100 : 0x8100, .vid = 9, .pcp = 1};
            struct pd_codec_edge_packet with = packet, without = packet;
            enum pd_codec_edge_fate fate = pd_codec_edge_take(&rows, &with);
            rows.rows[i].in_port = UINT16_MAX;
            assert_true(fate != pd_codec_edge_take(&rows, &without) || with.len != without.len ||
                        with.dscp != without.dscp);
            rows.rows[i] = kept;
        }
        pd_codec_rows_done(&rows);
        pd_codec_free(codec);
        pd_topology_free(t);
    }
}

/* What the proof says of a table in which the rows of this action are missing. */
static bool leaks_without(const struct pd_codec *codec, const struct pd_codec_rows *rows,
                          uint16_t port, enum pd_row_action action)
{
    struct pd_codec_rows fewer = {.tpid = rows->tpid};
    for (size_t i = 0; i < rows->len; i++) {
        if (!pd_codec_is_edge_row(&rows->rows[i]) || rows->rows[i].action != action) {
            assert_int_equal(pd_codec_rows_add(&fewer, &rows->rows[i]), 0);
        }
    }
    assert_true(fewer.len < rows->len);
    bool leaks = pd_codec_edge_leaks(codec, &fewer, port);
    pd_codec_rows_done(&fewer);
    return leaks;
}

/* A tag that stays, and a DSCP that stays: each by itself is a leak. */
static void the_proof_sees_tags_and_dscp(void **state)
{
    static const char *const options[] = {"{}", "{\"edge\":\"strip\"}"};
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct pd_topology *t;
        struct pd_codec *codec = naive_codec_told(&networks[1], options[i], &t);
        struct pd_codec_rows rows;
        uint32_t sw = t->hosts[0].tor;
        const struct pd_switch *entry = &t->switches[sw];
        uint16_t port = entry->neighbours[entry->switch_neighbours].port;
        assert_int_equal(pd_codec_rows_make(codec, sw, PD_DEPTH_PCP, &rows), 0);
        assert_false(pd_codec_edge_leaks(codec, &rows, port));
        assert_true(leaks_without(codec, &rows, port, PD_ROW_DSCP));
        assert_true(i || leaks_without(codec, &rows, port, PD_ROW_DROP));
        pd_codec_rows_done(&rows);
        pd_codec_free(codec);
        pd_topology_free(t);
    }
}

/* A row for one DSCP is met by IP packets with that one alone. */
static void rows_ask_for_their_dscp(void **state)
{
    static const struct {
        uint8_t family, dscp;
        enum pd_codec_edge_fate fate;
    } cases[] = {{4, 5, PD_EDGE_DROPPED}, {6, 5, PD_EDGE_DROPPED}, {4, 4, PD_EDGE_PASSES},
                 {6, 0, PD_EDGE_PASSES},  {0, 5, PD_EDGE_PASSES},  {PD_ROW_ARP, 5, PD_EDGE_PASSES}};
    struct pd_codec_row row = {.dscp = 5, .depth = PD_ROW_ANY, .action = PD_ROW_DROP};
    const struct pd_codec_rows rows = {.rows = &row, .len = 1, .tpid = 0x8100};
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pd_codec_edge_packet packet = {
            .in_port = 1, .family = cases[i].family, .dscp = cases[i].dscp};
        row.family = 0;
        assert_int_equal(pd_codec_edge_take(&rows, &packet), cases[i].fate);
    }
}

/* ---- the encoder */

static struct pd_encoding encode(const struct naive *naive, const char *options, uint64_t own)
{
    const struct pd_path path = {.len = 5, .switches = {1, 9, 17, 11, 3}};
    struct pd_topology *t;
    struct pd_codec *codec = naive_codec_told(naive, options, &t);
    struct pd_encoding encoding;
    assert_int_equal(pd_codec_encode_own(codec, &path, own, &encoding, NULL), 0);
    pd_codec_free(codec);
    pd_topology_free(t);
    return encoding;
}

static void the_encoder_begins_with_the_edge(void **state)
{
    const struct pd_tags tags = {.vids = {14}, .len = 1, .dscp = 3};
    uint64_t own = pd_tags_pack(&tags), clean = encode(&networks[0], "{}", 0).mark;
    (void)state;
    struct pd_encoding dropped = encode(&networks[0], "{}", own);
    assert_true(dropped.dropped && !dropped.punted);
    struct pd_encoding stripped = encode(&networks[0], "{\"edge\":\"strip\"}", own);
    assert_true(!stripped.dropped && stripped.mark == clean);
    struct pd_encoding open = encode(&networks[0], "{\"edge\":\"open\"}", own);
    assert_int_equal(pd_tags_len(open.mark), pd_tags_len(clean) + 1);
    assert_int_equal(pd_tags_vid(open.mark, 0), 14);
    struct pd_encoding only_dscp = encode(&networks[0], "{}", pd_tags_set_dscp(0, 3));
    assert_true(!only_dscp.dropped && only_dscp.mark == clean); /* this codec has none */
}

/* ---- tenants */

static enum pd_codec_edge_fate send_tags(const struct pd_codec_rows *rows, uint16_t port,
                                         uint16_t outer, uint16_t inner,
                                         struct pd_codec_edge_packet *packet)
{
    *packet = (struct pd_codec_edge_packet){.in_port = port, .family = 4, .dscp = 9, .len = 2};
    packet->tags[0] = (struct pd_codec_edge_tag){.tpid = outer, .vid = 7};
    packet->tags[1] = (struct pd_codec_edge_tag){.tpid = inner, .vid = 8};
    return pd_codec_edge_take(rows, packet);
}

static void tenants_of_another_type_pass(void **state)
{
    struct pd_topology *t;
    struct pd_codec *codec =
        naive_codec_told(&networks[1], "{\"tpid\":\"0x88a8\",\"edge\":\"strip\"}", &t);
    struct pd_codec_rows rows;
    struct pd_codec_edge_packet packet;
    uint32_t sw = t->hosts[0].tor;
    uint16_t port = t->switches[sw].neighbours[t->switches[sw].switch_neighbours].port;
    (void)state;
    assert_int_equal(pd_codec_rows_make(codec, sw, PD_DEPTH_PLAIN, &rows), 0);
    assert_int_equal(send_tags(&rows, port, 0x8100, 0x88a8, &packet), PD_EDGE_PASSES);
    assert_int_equal(packet.len, 2); /* what lies inside of a tenant's tag is no link tag */
    assert_int_equal(packet.dscp, 0);
    assert_int_equal(send_tags(&rows, port, 0x88a8, 0x8100, &packet), PD_EDGE_PASSES);
    assert_int_equal(packet.len, 1);
    assert_int_equal(packet.tags[0].tpid, 0x8100);
    assert_int_equal(packet.dscp, 0);
    assert_int_equal(send_tags(&rows, port, 0x88a8, 0x88a8, &packet), PD_EDGE_PASSES);
    assert_int_equal(packet.len, 0);
    pd_codec_rows_done(&rows);
    pd_codec_free(codec);
    pd_topology_free(t);
}

/* A rack whose hosts the topology does not have: nobody knows where they hang. */
static void racks_without_hosts_are_told(void **state)
{
    static const char file[] =
        "{\"codec\":\"cherrypick-leaf-spine\",\"nodes\":["
        "{\"id\":1,\"role\":\"leaf\",\"prefixes\":[\"10.1.1.0/24\"]},"
        "{\"id\":2,\"role\":\"leaf\",\"prefixes\":[\"10.1.2.0/24\"]},"
        "{\"id\":3,\"role\":\"spine\"}],"
        "\"links\":[{\"source\":1,\"target\":3},{\"source\":2,\"target\":3}]}";
    struct pd_topology *t;
    struct pd_codec *codec;
    struct pd_codec_edge_proof proof;
    (void)state;
    assert_int_equal(pd_topology_parse(file, strlen(file), "file", &t, NULL), 0);
    assert_int_equal(pd_codec_new(t, &codec, NULL), 0);
    assert_int_equal(pd_codec_edge_prove(codec, PD_DEPTH_PCP, &proof), 0);
    assert_int_equal(proof.ports, 0);
    assert_int_equal(proof.unknown, 2);
    pd_codec_free(codec);
    pd_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_tag_of_a_host_comes_in),
        cmocka_unit_test(the_proof_finds_open_edges),
        cmocka_unit_test(each_row_is_needed),
        cmocka_unit_test(the_proof_sees_tags_and_dscp),
        cmocka_unit_test(rows_ask_for_their_dscp),
        cmocka_unit_test(the_encoder_begins_with_the_edge),
        cmocka_unit_test(tenants_of_another_type_pass),
        cmocka_unit_test(racks_without_hosts_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
