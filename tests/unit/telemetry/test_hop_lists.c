/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of hops by number, and the codec that reads them as paths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/codec.h"
#include "resolve/resolve.h"
#include "telemetry/hop_lists.h"
#include "tests/shared/random.h"

extern const struct pd_codec_ops pd_telemetry_codec;

static uint64_t mark_of(const uint32_t *nodes, uint32_t len, bool cut)
{
    struct pd_telemetry telemetry = {.kind = PD_TELEMETRY_SR_INT, .cut = cut, .hops_len = len};
    for (uint32_t n = 0; n < len; n++) {
        telemetry.hops[n].node = nodes[n];
        telemetry.hops[n].known = nodes[n] ? PD_TELEMETRY_NODE : 0;
    }
    return pd_telemetry_hop_lists_mark(&telemetry);
}

static void equal_lists_have_one_number_and_are_found_again(void **state)
{
    enum { LISTS = 20000 };
    struct random random = {test_seed()};
    uint64_t seed = random.state, *marks = calloc(LISTS, sizeof *marks);
    (void)state;
    for (int round = 0; round < 2; round++) {
        random.state = seed;
        for (uint32_t n = 0; n < LISTS; n++) {
            uint32_t nodes[PD_TELEMETRY_HOPS_MAX],
                len = 1 + (uint32_t)random_below(&random, PD_TELEMETRY_HOPS_MAX);
            for (uint32_t i = 0; i < len; i++) {
                nodes[i] = (uint32_t)random_below(&random, 4);
            }
            uint64_t mark = mark_of(nodes, len, n % 2);
            assert_true(!round || mark == marks[n]);
            marks[n] = mark;
            struct pd_hop_list list;
            assert_int_equal(pd_telemetry_hop_lists_find(mark, &list), 0);
            assert_int_equal(list.len, len);
            assert_int_equal(list.cut, n % 2);
            assert_memory_equal(list.nodes, nodes, len * sizeof *nodes);
        }
    }
    struct pd_hop_list list;
    assert_int_equal(pd_telemetry_hop_lists_find(0, &list), -PD_E_NOT_FOUND);
    assert_int_equal(pd_telemetry_hop_lists_find(UINT64_MAX, &list), -PD_E_VALUE);
    assert_int_equal(pd_telemetry_hop_lists_find(UINT64_C(1) << PD_HOP_LISTS_SHIFT, &list),
                     -PD_E_LIMIT);
    free(marks);
}

static int decode(const struct pd_codec *codec, uint32_t to, uint64_t mark,
                  struct pd_decoding *ret_decoding)
{
    return codec->ops->decode(codec, 0, to, mark, ret_decoding, NULL);
}

/* Fat-tree 4: racks 1 and 3, 1-9-17-11-3. */
static void a_list_is_exact_partial_or_infeasible(void **state)
{
    static const uint32_t path[] = {1, 9, 17, 11, 3}, gap[] = {1, 9, 0, 11, 3},
                          stranger[] = {1, 9, 99, 11, 3}, no_link[] = {1, 9, 11, 3},
                          loop[] = {1, 9, 17, 9, 17, 11, 3};
    struct pd_topology *topology;
    struct pd_codec *codec;
    struct pd_decoding decoding;
    (void)state;
    assert_int_equal(pd_topology_fat_tree(4, &topology, NULL), 0);
    assert_int_equal(pd_telemetry_codec.new(&pd_telemetry_codec, topology, NULL, &codec, NULL), 0);
    uint32_t to = pd_topology_switch(topology, 3);
    assert_int_equal(decode(codec, to, mark_of(path, 5, false), &decoding), 0);
    assert_int_equal(decoding.state, PD_DECODING_EXACT);
    assert_int_equal(decoding.walk.len, 5);
    assert_int_equal(topology->switches[decoding.walk.switches[2]].id, 17);
    assert_int_equal(decode(codec, to, mark_of(loop, 7, false), &decoding), 0);
    assert_int_equal(decoding.state, PD_DECODING_EXACT);
    assert_int_equal(decode(codec, to, mark_of(path, 5, true), &decoding), 0);
    assert_int_equal(decoding.state, PD_DECODING_PARTIAL);
    assert_int_equal(decode(codec, to, mark_of(path + 1, 4, false), &decoding), 0);
    assert_int_equal(decoding.state, PD_DECODING_PARTIAL);
    assert_true(decoding.walk.switches[0] == PD_NONE && decoding.walk.len == 5);
    assert_int_equal(decode(codec, to, mark_of(path, 4, false), &decoding), 0);
    assert_int_equal(decoding.state, PD_DECODING_PARTIAL);
    assert_true(decoding.walk.switches[4] == PD_NONE && decoding.walk.len == 5);
    assert_int_equal(decode(codec, to, mark_of(gap, 5, false), &decoding), 0);
    assert_int_equal(decoding.state, PD_DECODING_PARTIAL);
    assert_int_equal(decode(codec, to, mark_of(stranger, 5, false), &decoding), -PD_E_INFEASIBLE);
    assert_int_equal(decode(codec, to, mark_of(no_link, 4, false), &decoding), -PD_E_INFEASIBLE);
    assert_int_equal(decode(codec, to, 0, &decoding), -PD_E_UNSUPPORTED);
    assert_int_equal(decode(codec, 0, 0, &decoding), 0);
    assert_int_equal(decoding.state, PD_DECODING_EXACT);
    pd_codec_free(codec);
    pd_topology_free(topology);
}

/* A line of three switches, a rack at each end. */
static const char line[] = "{\"codec\":\"telemetry\",\"nodes\":["
                           "{\"id\":1,\"role\":\"switch\",\"prefixes\":[\"10.0.1.0/24\"]},"
                           "{\"id\":2,\"role\":\"switch\"},"
                           "{\"id\":3,\"role\":\"switch\",\"prefixes\":[\"10.0.3.0/24\"]}],"
                           "\"links\":[{\"source\":1,\"target\":2},{\"source\":2,\"target\":3}]}";

static void a_claim_has_the_path_and_where_it_has_gaps(void **state)
{
    static const uint32_t path[] = {1, 2, 3}, gap[] = {1, 2, 0};
    struct pd_topology *topology;
    struct pd_codec_set codecs;
    struct pd_resolver *resolver;
    struct pd_claim claim;
    struct pd_flow_id flow = {.ip_version = 4, .src = {{10, 0, 1, 9}}, .dst = {{10, 0, 3, 9}}};
    (void)state;
    assert_int_equal(pd_topology_parse(line, sizeof line - 1, "line", &topology, NULL), 0);
    assert_int_equal(pd_codec_set_init(&codecs, topology, NULL), 0);
    assert_ptr_equal(codecs.read_mark, pd_telemetry_hop_lists_read);
    assert_int_equal(pd_resolver_new(&codecs, 16, &resolver), 0);
    for (int round = 0; round < 2; round++) { /* decoded, and from the cache */
        assert_int_equal(pd_resolver_claim(resolver, &flow, mark_of(path, 2, false), &claim), 0);
        assert_int_equal(claim.state, PD_CLAIM_PARTIAL);
        assert_int_equal(claim.path->len, 3);
        assert_memory_equal(claim.path->switches, gap, sizeof gap);
        assert_int_equal(pd_resolver_claim(resolver, &flow, mark_of(path, 3, false), &claim), 0);
        assert_int_equal(claim.state, PD_CLAIM_EXACT);
        assert_memory_equal(claim.path->switches, path, sizeof path);
        assert_int_equal(pd_resolver_claim(resolver, &flow, 0, &claim), -PD_E_UNSUPPORTED);
    }
    pd_resolver_free(resolver);
    pd_codec_set_done(&codecs);
    pd_topology_free(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_lists_have_one_number_and_are_found_again),
        cmocka_unit_test(a_list_is_exact_partial_or_infeasible),
        cmocka_unit_test(a_claim_has_the_path_and_where_it_has_gaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
