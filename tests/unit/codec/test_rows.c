/* SPDX-License-Identifier: Apache-2.0 */
/* Rows: executed along every path they do what the reference encoder does; two of one priority
 * never match one packet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/tagging/vl2/vl2.h"
#include "naive.h"

struct switches {
    const struct pd_codec *codec;
    struct pd_codec_rows *rows; /* by switch */
};

/* A packet as a switch sees it. */
struct frame {
    struct pd_addr src, dst;
    uint8_t family;
    uint64_t mark;
};

static bool inside(const struct pd_prefix *prefix, const struct pd_addr *addr)
{
    for (unsigned bit = 0; prefix->ip_version && bit < prefix->bits; bit++) {
        if ((prefix->addr.bytes[bit / 8] ^ addr->bytes[bit / 8]) >> (7 - bit % 8) & 1) {
            return false;
        }
    }
    return true;
}

static bool matches(const struct pd_codec_row *row, uint16_t port, const struct frame *frame)
{
    return (!row->in_port || row->in_port == port) &&
           (!row->family || row->family == frame->family) &&
           (row->dscp == PD_ROW_ANY || row->dscp == pd_tags_dscp(frame->mark)) &&
           (row->depth == PD_ROW_ANY || row->depth == pd_tags_len(frame->mark)) &&
           inside(&row->src, &frame->src) && inside(&row->dst, &frame->dst);
}

/* False: it went to the controller. */
static bool run(const struct pd_codec_rows *rows, uint16_t port, struct frame *frame)
{
    const struct pd_codec_row *found = NULL;
    for (size_t i = 0; i < rows->len; i++) {
        const struct pd_codec_row *row = &rows->rows[i];
        assert_true(i == 0 || rows->rows[i - 1].priority >= row->priority);
        if (!matches(row, port, frame)) {
            continue;
        }
        assert_true(!found || found->priority != row->priority);
        found = found ? found : row;
    }
    assert_non_null(found);
    switch (found->action) {
    case PD_ROW_PASS: return true;
    case PD_ROW_PUSH: frame->mark = pd_tags_push(frame->mark, (uint16_t)found->value); return true;
    case PD_ROW_DSCP:
        frame->mark = pd_tags_set_dscp(frame->mark, (uint8_t)found->value);
        return true;
    default: assert_int_equal(found->action, PD_ROW_PUNT); return false;
    }
}

static const struct pd_host *host_of(const struct pd_topology *t, uint32_t tor)
{
    uint32_t i = 0;
    while (t->hosts[i].tor != tor) {
        i++;
    }
    return &t->hosts[i];
}

static void check_path(void *context, const struct pd_path *path)
{
    const struct switches *s = context;
    const struct pd_topology *t = s->codec->topology;
    uint32_t at = pd_topology_switch(t, path->switches[0]);
    uint32_t end = pd_topology_switch(t, path->switches[path->len - 1]);
    struct pd_encoding encoding;
    assert_int_equal(pd_codec_encode(s->codec, path, &encoding, NULL), 0);
    for (unsigned family = 0; family < 2; family++) {
        struct frame frame = {.src = host_of(t, at)->addrs[family],
                              .dst = host_of(t, end)->addrs[family],
                              .family = family ? 6 : 4};
        uint32_t from = at;
        bool forwarded = true;
        for (unsigned i = 1; i < path->len && forwarded; i++) {
            uint32_t to = pd_topology_switch(t, path->switches[i]);
            forwarded = run(&s->rows[to], pd_topology_link(t, to, from)->port, &frame);
            from = to;
        }
        assert_int_equal(forwarded, !encoding.punted);
        assert_true(frame.mark == encoding.mark);
    }
}

/* `max_hops`: 0, or the length from which paths are suspicious. */
static void check_network(const struct naive *naive, unsigned max_hops)
{
    struct pd_topology *t;
    struct pd_codec *codec =
        max_hops ? naive_codec_within(naive, max_hops, &t) : naive_codec(naive, &t);
    struct switches s = {codec, calloc(t->switches_len, sizeof *s.rows)};
    assert_non_null(s.rows);
    for (uint32_t sw = 0; sw < t->switches_len; sw++) {
        assert_int_equal(pd_codec_rows_make(codec, sw, PD_DEPTH_PCP, &s.rows[sw]), 0);
    }
    for (uint32_t a = 0; a < t->switches_len; a++) {
        for (uint32_t b = 0; b < t->switches_len; b++) {
            if (pd_topology_role_is_tor(t->switches[a].role) &&
                pd_topology_role_is_tor(t->switches[b].role)) {
                naive_paths(t, t->switches[a].id, t->switches[b].id, 8, check_path, &s);
            }
        }
    }
    for (uint32_t sw = 0; sw < t->switches_len; sw++) {
        pd_codec_rows_done(&s.rows[sw]);
    }
    free(s.rows);
    pd_codec_free(codec);
    pd_topology_free(t);
}

static void rows_do_what_the_encoder_does(void **state)
{
    static const struct naive networks[] = {{.kind = NAIVE_FAT_TREE, .k = 4},
                                            {.kind = NAIVE_VL2, .k = 4},
                                            {.kind = NAIVE_LEAF_SPINE, .k = 3, .leaves = 4}};
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        check_network(&networks[i], 0);
        check_network(&networks[i], 4);
    }
}

/* The proof for any scheme agrees with decoding. */
static void decoded_walks_are_proven(void **state)
{
    struct naive naive = {.kind = NAIVE_FAT_TREE, .k = 4};
    struct pd_topology *t;
    struct pd_codec *codec = naive_codec(&naive, &t);
    struct pd_walk walk = {.len = 5, .switches = {0, 8, 16, 10, 2}};
    const struct pd_tags tags = {.vids = {9}, .len = 1};
    (void)state;
    assert_int_equal(pd_codec_prove(codec, &walk, pd_tags_pack(&tags), NULL), 0);
    assert_int_equal(pd_codec_prove(codec, &walk, 0, NULL), -PD_E_INFEASIBLE);
    walk.switches[3] = 8;
    assert_int_equal(pd_codec_prove(codec, &walk, pd_tags_pack(&tags), NULL), -PD_E_INFEASIBLE);
    walk.switches[3] = 9;
    assert_int_equal(pd_codec_prove(codec, &walk, pd_tags_pack(&tags), NULL), -PD_E_INFEASIBLE);
    pd_codec_free(codec);
    pd_topology_free(t);
}

/* Takes the first agg, whatever the DSCP says. */
static int rebuild_without_dscp(const struct pd_tagging *tagging, uint32_t src_tor,
                                uint32_t dst_tor, const struct pd_tags *tags,
                                struct pd_walk *ret_walk, struct pd_error *error)
{
    struct pd_tags first = *tags;
    for (first.dscp = 1; first.dscp < 64; first.dscp++) {
        if (!pd_vl2_codec.rebuild(tagging, src_tor, dst_tor, &first, ret_walk, error) &&
            pd_topology_link(tagging->head.topology, src_tor, ret_walk->switches[1])) {
            return 0;
        }
    }
    return -PD_E_INFEASIBLE;
}

/* A walk counts only if the rules put this DSCP on it, whoever rebuilt it. */
static void the_dscp_is_part_of_the_proof(void **state)
{
    struct naive naive = {.kind = NAIVE_VL2, .k = 4};
    struct pd_topology *t;
    struct pd_codec *codec = naive_codec(&naive, &t);
    struct pd_tagging *tagging = (struct pd_tagging *)codec;
    struct pd_tagging_ops ops = *tagging->ops;
    uint32_t src = t->hosts[0].tor, agg = t->switches[src].neighbours[0].node, dst = PD_NONE;
    struct pd_path path;
    (void)state;
    for (uint32_t i = 0; i < t->switches[agg].switch_neighbours && dst == PD_NONE; i++) {
        uint32_t to = t->switches[agg].neighbours[i].node;
        dst = pd_topology_role_is_tor(t->switches[to].role) && to != src ? to : dst;
    }
    assert_int_not_equal(dst, PD_NONE);
    const struct pd_walk walk = {.len = 3, .switches = {src, agg, dst}};
    struct pd_tags tags = {.dscp = 1};
    assert_int_equal(pd_codec_prove(codec, &walk, pd_tags_pack(&tags), NULL), 0);
    assert_int_equal(pd_codec_decode(codec, src, dst, pd_tags_pack(&tags), &path, NULL), 0);
    tags.dscp = 2;
    assert_int_equal(pd_codec_prove(codec, &walk, pd_tags_pack(&tags), NULL), -PD_E_INFEASIBLE);
    assert_int_equal(pd_codec_decode(codec, src, dst, pd_tags_pack(&tags), &path, NULL), 0);
    assert_int_equal(pd_codec_decode(codec, src, src, pd_tags_pack(&tags), &path, NULL),
                     -PD_E_INFEASIBLE); /* within a rack nothing is written */
    ops.rebuild = rebuild_without_dscp;
    tagging->ops = &ops;
    assert_int_equal(pd_codec_decode(codec, src, dst, pd_tags_pack(&tags), &path, NULL),
                     -PD_E_INFEASIBLE);
    pd_codec_free(codec);
    pd_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_do_what_the_encoder_does),
        cmocka_unit_test(decoded_walks_are_proven),
        cmocka_unit_test(the_dscp_is_part_of_the_proof),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
