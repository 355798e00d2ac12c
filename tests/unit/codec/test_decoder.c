/* SPDX-License-Identifier: Apache-2.0 */
/* Decoder with cache: the same answers as decoding each time, however small the cache; its
 * counters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/decoder.h"
#include "naive.h"
#include "tests/shared/random.h"

static struct pd_flow_id flow_between(const struct pd_topology *t, uint32_t src_host,
                                      uint32_t dst_host, int family)
{
    struct pd_flow_id flow = {
        .src_port = (uint16_t)rand(), .protocol = 6, .ip_version = family ? 6 : 4};
    flow.src = t->hosts[src_host].addrs[family];
    flow.dst = t->hosts[dst_host].addrs[family];
    return flow;
}

static uint64_t random_mark(void)
{
    struct pd_tags tags = {.len = (uint8_t)(rand() % 3), .dscp = (uint8_t)(rand() % 9)};
    for (unsigned i = 0; i < tags.len; i++) {
        tags.vids[i] = (uint16_t)(rand() % 24);
    }
    return pd_tags_pack(&tags);
}

static void check_answers(const struct naive *naive, size_t entries, unsigned rounds)
{
    struct pd_topology *t;
    struct pd_codec *codec = naive_codec(naive, &t);
    struct pd_decoder *decoder;
    uint64_t feasible = 0, infeasible = 0;
    assert_int_equal(pd_decoder_new(codec, entries, &decoder), 0);
    for (unsigned i = 0; i < rounds; i++) {
        uint32_t src = (uint32_t)rand() % t->hosts_len, dst = (uint32_t)rand() % t->hosts_len;
        struct pd_flow_id flow = flow_between(t, src, dst, rand() % 2);
        uint64_t mark = random_mark();
        const struct pd_path *path = NULL;
        struct pd_path wanted;
        int code =
            pd_codec_decode(codec, t->hosts[src].tor, t->hosts[dst].tor, mark, &wanted, NULL);
        assert_int_equal(pd_decoder_path(decoder, &flow, mark, &path), code);
        if (code) {
            assert_null(path);
            infeasible++;
        } else {
            assert_true(pd_path_equal(path, &wanted));
            feasible++;
        }
    }
    const struct pd_decoder_counters *counters = pd_decoder_counters(decoder);
    assert_int_equal(counters->hits + counters->misses, rounds);
    assert_int_equal(counters->infeasible, infeasible);
    assert_int_equal(counters->unknown_hosts, 0);
    assert_true(counters->hits && counters->misses && feasible && infeasible);
    pd_decoder_free(decoder);
    pd_codec_free(codec);
    pd_topology_free(t);
}

static void answers_do_not_depend_on_the_cache(void **state)
{
    static const struct naive networks[] = {{.kind = NAIVE_FAT_TREE, .k = 4},
                                            {.kind = NAIVE_VL2, .k = 4},
                                            {.kind = NAIVE_LEAF_SPINE, .k = 3, .leaves = 4}};
    static const size_t entries[] = {0, 1, 5, 64, 100000};
    (void)state;
    for (unsigned n = 0; n < 3; n++) {
        for (unsigned e = 0; e < 5; e++) {
            check_answers(&networks[n], entries[e], 50000);
        }
    }
}

/* What was asked is there the next time; a DSCP that the codec does not use makes no difference. */
static void what_was_asked_is_kept(void **state)
{
    struct pd_topology *t;
    struct naive naive = {.kind = NAIVE_FAT_TREE, .k = 4};
    struct pd_codec *codec = naive_codec(&naive, &t);
    struct pd_decoder *decoder;
    struct pd_tags tags = {.vids = {9}, .len = 1}, wrong = {.vids = {1}, .len = 1};
    const struct pd_path *path;
    (void)state;
    assert_int_equal(pd_decoder_new(codec, 64, &decoder), 0);
    struct pd_flow_id flow = flow_between(t, 0, 4, 0);
    for (unsigned i = 0; i < 10; i++) {
        tags.dscp = (uint8_t)i;
        assert_int_equal(pd_decoder_path(decoder, &flow, pd_tags_pack(&tags), &path), 0);
        assert_int_equal(path->len, 5);
        assert_int_equal(pd_decoder_path(decoder, &flow, pd_tags_pack(&wrong), &path),
                         -PD_E_INFEASIBLE);
    }
    assert_int_equal(pd_decoder_counters(decoder)->misses, 2);
    assert_int_equal(pd_decoder_counters(decoder)->hits, 18);
    assert_int_equal(pd_decoder_counters(decoder)->infeasible, 10);
    pd_decoder_free(decoder);
    pd_codec_free(codec);
    pd_topology_free(t);
}

static void hostile_input_is_counted(void **state)
{
    struct pd_topology *t;
    struct naive naive = {.kind = NAIVE_VL2, .k = 4};
    struct pd_codec *codec = naive_codec(&naive, &t);
    struct pd_decoder *decoder;
    const struct pd_path *path = NULL;
    const uint64_t too_many = 7, no_tag_but_bits = UINT64_C(1) << 63, all = UINT64_MAX;
    (void)state;
    assert_int_equal(pd_decoder_new(codec, 64, &decoder), 0);
    struct pd_flow_id flow = flow_between(t, 0, 40, 0), outside = flow;
    assert_int_equal(pd_decoder_path(decoder, &flow, too_many, &path), -PD_E_INFEASIBLE);
    assert_int_equal(pd_decoder_path(decoder, &flow, no_tag_but_bits, &path), -PD_E_INFEASIBLE);
    assert_int_equal(pd_decoder_path(decoder, &flow, all, &path), -PD_E_INFEASIBLE);
    assert_int_equal(pd_decoder_counters(decoder)->infeasible, 3);
    outside.dst.bytes[0] = 192;
    assert_int_equal(pd_decoder_path(decoder, &outside, too_many, &path), -PD_E_UNKNOWN_HOST);
    outside = flow;
    outside.ip_version = 0;
    assert_int_equal(pd_decoder_path(decoder, &outside, too_many, &path), -PD_E_UNKNOWN_HOST);
    assert_int_equal(pd_decoder_counters(decoder)->unknown_hosts, 2);
    assert_int_equal(pd_decoder_counters(decoder)->hits + pd_decoder_counters(decoder)->misses, 3);
    assert_null(path);
    assert_true(pd_decoder_new(codec, SIZE_MAX, &decoder) < 0);
    pd_decoder_free(decoder);
    pd_decoder_free(NULL);
    pd_codec_free(codec);
    pd_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_do_not_depend_on_the_cache),
        cmocka_unit_test(what_was_asked_is_kept),
        cmocka_unit_test(hostile_input_is_counted),
    };
    srand((unsigned)test_seed());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
