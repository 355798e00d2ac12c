/* SPDX-License-Identifier: Apache-2.0 */
/* Resolver with cache: the same answers as decoding each time, however small the cache; its
 * counters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/marks.h"
#include "codec/tagging/mark.h"
#include "naive.h"
#include "packet/tags.h"
#include "resolve/resolve.h"
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

struct network {
    struct pd_topology *t;
    struct pd_codec_set codecs;
    const struct pd_codec *codec; /* the first */
    struct pd_resolver *resolver;
};

static void use_topology(struct network *n, struct pd_topology *t, size_t entries)
{
    struct pd_error error = {0};
    n->t = t;
    if (pd_codec_set_init(&n->codecs, t, &error)) {
        fail_msg("%s", error.text);
    }
    n->codec = pd_codec_set_find(&n->codecs, NULL);
    assert_int_equal(pd_resolver_new(&n->codecs, entries, &n->resolver), 0);
}

static void network_init(struct network *n, const struct naive *naive, size_t entries)
{
    struct pd_topology *t;
    pd_codec_free(naive_codec(naive, &t));
    use_topology(n, t, entries);
}

static void network_done(struct network *n)
{
    pd_resolver_free(n->resolver);
    pd_codec_set_done(&n->codecs);
    pd_topology_free(n->t);
}

static void check_answers(const struct naive *naive, size_t entries, unsigned rounds)
{
    struct network n;
    uint64_t feasible = 0, infeasible = 0;
    network_init(&n, naive, entries);
    const struct pd_topology *t = n.t;
    for (unsigned i = 0; i < rounds; i++) {
        uint32_t src = (uint32_t)rand() % t->hosts_len, dst = (uint32_t)rand() % t->hosts_len;
        struct pd_flow_id flow = flow_between(t, src, dst, rand() % 2);
        uint64_t mark = random_mark();
        struct pd_claim claim;
        struct pd_path wanted;
        int code =
            pd_codec_decode(n.codec, t->hosts[src].tor, t->hosts[dst].tor, mark, &wanted, NULL);
        assert_int_equal(pd_resolver_claim(n.resolver, &flow, mark, &claim), code);
        assert_int_equal(claim.state, code ? PD_CLAIM_INFEASIBLE : PD_CLAIM_EXACT);
        if (code) {
            uint16_t vids[PD_TAGGING_TAGS_MAX];
            uint8_t dscp;
            unsigned len = pd_tagging_mark_read(&claim.mark, vids, &dscp);
            assert_int_equal(claim.path->len, 0);
            assert_int_equal(len, pd_tags_len(mark)); /* kept as it came */
            assert_int_equal(len ? vids[0] : 0, pd_tags_vid(mark, 0));
            infeasible++;
        } else {
            assert_true(pd_path_equal(claim.path, &wanted));
            assert_int_equal(claim.mark.scheme, PD_MARK_NONE);
            feasible++;
        }
    }
    const struct pd_resolver_counters *counters = pd_resolver_counters(n.resolver);
    assert_int_equal(counters->hits + counters->misses, rounds);
    assert_int_equal(counters->infeasible, infeasible);
    assert_int_equal(counters->unknown_hosts, 0);
    assert_true(counters->hits && counters->misses && feasible && infeasible);
    network_done(&n);
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
    struct network n;
    struct naive naive = {.kind = NAIVE_FAT_TREE, .k = 4};
    struct pd_tags tags = {.vids = {9}, .len = 1}, wrong = {.vids = {1}, .len = 1};
    struct pd_claim claim;
    (void)state;
    network_init(&n, &naive, 64);
    struct pd_flow_id flow = flow_between(n.t, 0, 4, 0);
    for (unsigned i = 0; i < 10; i++) {
        tags.dscp = (uint8_t)i;
        assert_int_equal(pd_resolver_claim(n.resolver, &flow, pd_tags_pack(&tags), &claim), 0);
        assert_int_equal(claim.path->len, 5);
        assert_int_equal(pd_resolver_claim(n.resolver, &flow, pd_tags_pack(&wrong), &claim),
                         -PD_E_INFEASIBLE);
    }
    assert_int_equal(pd_resolver_counters(n.resolver)->misses, 2);
    assert_int_equal(pd_resolver_counters(n.resolver)->hits, 18);
    assert_int_equal(pd_resolver_counters(n.resolver)->infeasible, 10);
    network_done(&n);
}

static void hostile_input_is_counted(void **state)
{
    struct network n;
    struct naive naive = {.kind = NAIVE_VL2, .k = 4};
    struct pd_claim claim;
    const uint64_t marks[] = {7, UINT64_C(1) << 63, UINT64_MAX};
    (void)state;
    network_init(&n, &naive, 64);
    struct pd_flow_id flow = flow_between(n.t, 0, 40, 0), outside = flow;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(pd_resolver_claim(n.resolver, &flow, marks[i], &claim), -PD_E_INFEASIBLE);
        assert_int_equal(pd_codec_mark_check(&claim.mark), 0);
    }
    const struct pd_resolver_counters *counters = pd_resolver_counters(n.resolver);
    assert_int_equal(counters->infeasible, 3);
    outside.dst.bytes[0] = 192;
    assert_int_equal(pd_resolver_claim(n.resolver, &outside, 0, &claim), -PD_E_UNKNOWN_HOST);
    outside = flow;
    outside.ip_version = 0;
    assert_int_equal(pd_resolver_claim(n.resolver, &outside, 0, &claim), -PD_E_UNKNOWN_HOST);
    assert_int_equal(claim.path->len, 0);
    assert_int_equal(counters->unknown_hosts, 2);
    assert_int_equal(counters->hits + counters->misses, 3);
    struct pd_resolver *none;
    assert_true(pd_resolver_new(&n.codecs, SIZE_MAX, &none) < 0);
    pd_resolver_free(NULL);
    network_done(&n);
}

/* ---- hosts at two switches */

/* Leaves 1 and 2 share a rack, whose host 10 hangs at both; leaf 3 has host 11. */
static const char two_homes[] =
    "{\"codec\":\"cherrypick-leaf-spine\",\"nodes\":["
    "{\"id\":1,\"role\":\"leaf\",\"prefixes\":[\"10.1.1.0/24\"]},"
    "{\"id\":2,\"role\":\"leaf\",\"prefixes\":[\"10.1.1.0/24\"]},"
    "{\"id\":3,\"role\":\"leaf\",\"prefixes\":[\"10.1.3.0/24\"]},"
    "{\"id\":4,\"role\":\"spine\"},{\"id\":5,\"role\":\"spine\"},"
    "{\"id\":10,\"role\":\"host\",\"addrs\":[\"10.1.1.2\"]},"
    "{\"id\":11,\"role\":\"host\",\"addrs\":[\"10.1.3.2\"]}],\"links\":["
    "{\"source\":1,\"target\":4},{\"source\":1,\"target\":5},"
    "{\"source\":2,\"target\":4},{\"source\":2,\"target\":5},"
    "{\"source\":3,\"target\":4},{\"source\":3,\"target\":5},"
    "{\"source\":1,\"target\":10},{\"source\":2,\"target\":10},"
    "{\"source\":3,\"target\":11}]}";

static struct pd_topology *parse(const char *text)
{
    struct pd_topology *t = NULL;
    struct pd_error error = {0};
    if (pd_topology_parse(text, strlen(text), "file", &t, &error)) {
        fail_msg("%s", error.text);
    }
    return t;
}

/* A tag is that of a leaf and a spine: from the host at two leaves one fits, to it both do. */
static void both_racks_of_a_host_are_tried(void **state)
{
    struct network n;
    struct pd_claim claim;
    (void)state;
    use_topology(&n, parse(two_homes), 64);
    struct pd_flow_id out = flow_between(n.t, 0, 1, 0), in = flow_between(n.t, 1, 0, 0);
    const uint64_t from_1 = pd_tags_push(0, 1), from_2 = pd_tags_push(0, 3);
    const uint64_t from_3 = pd_tags_push(0, 5), none = pd_tags_push(0, 7);
    for (unsigned again = 0; again < 2; again++) {
        assert_int_equal(pd_resolver_claim(n.resolver, &out, from_1, &claim), 0);
        assert_int_equal(claim.path->switches[0], 1);
        assert_int_equal(pd_resolver_claim(n.resolver, &out, from_2, &claim), 0);
        assert_int_equal(claim.path->switches[0], 2);
        assert_int_equal(claim.path->len, 3);
        assert_int_equal(pd_resolver_claim(n.resolver, &in, from_3, &claim), -PD_E_AMBIGUOUS);
        assert_int_equal(claim.state, PD_CLAIM_AMBIGUOUS);
        assert_int_equal(claim.candidates, 2);
        assert_int_equal(claim.path->len, 0);
        assert_int_equal(pd_resolver_claim(n.resolver, &in, none, &claim), -PD_E_INFEASIBLE);
    }
    assert_int_equal(pd_resolver_counters(n.resolver)->ambiguous, 2);
    network_done(&n);
}

/* ---- codecs side by side */

#define SECOND_BITS (UINT64_C(0x7f) << 57) /* above the link tags */

static int second_result;

/* Says leaf 1, spine 4, leaf 3 for the value 1, spine 5 for the value 2; nothing for others. */
static int second_decode(const struct pd_codec *codec, uint32_t src_tor, uint32_t dst_tor,
                         uint64_t mark, struct pd_decoding *ret_decoding, struct pd_error *error)
{
    uint64_t value = mark >> 57;
    (void)codec;
    (void)error;
    ret_decoding->state = PD_DECODING_EXACT;
    ret_decoding->walk =
        (struct pd_walk){.len = 3, .switches = {src_tor, value == 1 ? 3 : 4, dst_tor}};
    return value ? second_result : -PD_E_INFEASIBLE;
}

/* One codec that knows the way is enough; two that contradict each other are ambiguous. */
static void codecs_stand_side_by_side(void **state)
{
    static const struct pd_codec_ops ops = {.name = "second", .decode = second_decode};
    static struct pd_codec second = {.ops = &ops, .mark_bits = SECOND_BITS};
    const uint64_t over_4 = pd_tags_push(0, 1), wrong = pd_tags_push(0, 7);
    struct network n;
    struct pd_claim claim;
    (void)state;
    use_topology(&n, parse(two_homes), 64);
    struct pd_flow_id out = flow_between(n.t, 0, 1, 0);
    n.codecs.keys[n.codecs.keys_len++] = n.codecs.len;
    n.codecs.codecs[n.codecs.len] = &second;
    n.codecs.mark_bits = UINT64_MAX & ~PD_TAGS_DSCP_MASK;
    assert_int_equal(pd_resolver_claim(n.resolver, &out, over_4, &claim), 0);
    assert_int_equal(claim.path->switches[1], 4);
    assert_int_equal(pd_resolver_claim(n.resolver, &out, over_4 | UINT64_C(2) << 57, &claim),
                     -PD_E_AMBIGUOUS);
    assert_true(claim.candidates >= 2);
    second_result = -PD_E_INFEASIBLE;
    assert_int_equal(pd_resolver_claim(n.resolver, &out, wrong | UINT64_C(1) << 57, &claim),
                     -PD_E_INFEASIBLE);
    network_done(&n);
}

static void a_set_is_made_whole_or_not_at_all(void **state)
{
    static const char format[] = "{\"codec\":%s,\"nodes\":[{\"id\":1,\"role\":\"leaf\"},"
                                 "{\"id\":2,\"role\":\"leaf\"},{\"id\":3,\"role\":\"spine\"}],"
                                 "\"links\":[{\"source\":1,\"target\":3},"
                                 "{\"source\":2,\"target\":3}]}";
    struct pd_codec_set set;
    struct pd_error error = {0};
    char text[400], names[64];
    (void)state;
    snprintf(text, sizeof text, format, "[\"cherrypick-leaf-spine\",\"morse\"]");
    struct pd_topology *t = parse(text);
    assert_int_equal(pd_codec_set_init(&set, t, &error), -PD_E_UNSUPPORTED);
    assert_string_equal(error.text, "there is no codec `morse`");
    assert_int_equal(set.len, 0);
    pd_topology_free(t);
    snprintf(text, sizeof text, format, "[\"cherrypick-leaf-spine\"]");
    t = parse(text);
    assert_int_equal(pd_codec_set_init(&set, t, &error), 0);
    assert_string_equal(pd_codec_set_names(&set, names, sizeof names), "cherrypick-leaf-spine");
    assert_ptr_equal(pd_codec_set_find(&set, "cherrypick-leaf-spine"), set.codecs[0]);
    assert_null(pd_codec_set_find(&set, "morse"));
    pd_codec_set_done(&set);
    pd_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_do_not_depend_on_the_cache),
        cmocka_unit_test(what_was_asked_is_kept),
        cmocka_unit_test(hostile_input_is_counted),
        cmocka_unit_test(both_racks_of_a_host_are_tried),
        cmocka_unit_test(codecs_stand_side_by_side),
        cmocka_unit_test(a_set_is_made_whole_or_not_at_all),
    };
    srand((unsigned)test_seed());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
